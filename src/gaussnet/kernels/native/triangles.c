/* Upper triangles U of the parents of each family, U'U being their cross-products, and systems
 * with them. */
#include "kernels.h"

/* U from the packed lower triangle of U'U: row after row. */
static void factor_upper(ptrdiff_t size, const double *packed, double *upper)
{
    memset(upper, 0, (size_t)(size * size) * sizeof *upper);
    for (ptrdiff_t j = 0; j < size; j++)
        for (ptrdiff_t i = 0; i <= j; i++) {
            double rest = packed[triangle_length(j) + i];
            for (ptrdiff_t k = 0; k < i; k++)
                rest -= upper[k * size + i] * upper[k * size + j];
            upper[i * size + j] = i < j ? rest / upper[i * size + i] : sqrt(rest);
        }
}

static void set_identity(ptrdiff_t size, double *upper)
{
    memset(upper, 0, (size_t)(size * size) * sizeof *upper);
    for (ptrdiff_t i = 0; i < size; i++)
        upper[i * size + i] = 1.0;
}

/* The triangles of all families, one after the other; the identity where `lost` holds. */
static int upper_triangles(const Families *families, const double *products,
                           const unsigned char *lost, double *uppers)
{
    for (ptrdiff_t f = 0; f < families->count; f++) {
        const ptrdiff_t size = family_size(families, f);
        if (lost[f])
            set_identity(size, uppers);
        else
            factor_upper(size, products, uppers);
        products += triangle_length(size + 1);
        uppers += size * size;
    }
    return 0;
}

/* Solutions of U x = y for `count` triangles of `size` rows; NaN where a diagonal entry is 0. */
static int solve_triangles(ptrdiff_t count, ptrdiff_t size, const double *uppers,
                           const double *right, double *out)
{
    for (ptrdiff_t f = 0; f < count; f++, uppers += size * size, right += size, out += size) {
        int regular = 1;
        for (ptrdiff_t i = size - 1; i >= 0; i--) {
            double rest = right[i];
            for (ptrdiff_t j = i + 1; j < size; j++)
                rest -= uppers[i * size + j] * out[j];
            regular = regular && uppers[i * size + i] != 0.0;
            out[i] = rest / uppers[i * size + i];
        }
        for (ptrdiff_t i = 0; !regular && i < size; i++)
            out[i] = NAN;
    }
    return 0;
}
