/* Least squares of each child on its parents from the packed cross-products. */
#include "lower.h"
#include "tiles.h"

/* The smaller of two, NaN if either is. */
static double smaller_or_nan(double a, double b)
{
    return isnan(a) || a < b ? a : b;
}

/* Families f .. f + count, all with `size` parents; `lower` is room for the triangles and one
 * row more. */
static void solve_some(ptrdiff_t size, ptrdiff_t count, const double *packed, Lanes *lower,
                       double *coefficients, double *squares, double *pivots)
{
    const ptrdiff_t length = triangle_length(size + 1);
    load_triangles(packed, length, count, length, lower);
    factor_and_solve_large(size, lower, lower + length);
    for (ptrdiff_t k = 0; k < count; k++) {
        double smallest = INFINITY;
        for (ptrdiff_t i = 0; size > 0 && i <= size; i++) {
            ptrdiff_t at = triangle_length(i + 1) - 1;
            double diagonal = packed[k * length + at];
            double pivot = LANE(lower[at], k);
            smallest = smaller_or_nan(smallest, diagonal == 0.0 ? 0.0 : pivot / diagonal);
        }
        for (ptrdiff_t i = 0; i < size; i++)
            *coefficients++ = LANE(lower[triangle_length(size) + i], k);
        double rest = LANE(lower[length - 1], k);
        squares[k] = rest < 0.0 ? 0.0 : rest;
        pivots[k] = smallest;
    }
}

static int solve_moments(const Families *families, const double *products,
                         double *coefficients, double *squares, double *pivots)
{
    void *memory;
    const ptrdiff_t largest = largest_size(families);
    Lanes *lower = new_lanes(triangle_length(largest + 1) + largest + 1, &memory);
    if (!lower)
        return -1;
    ptrdiff_t f = 0;
    while (f < families->count) {
        const ptrdiff_t size = family_size(families, f);
        ptrdiff_t count = 1;
        while (count < LANES && f + count < families->count &&
               family_size(families, f + count) == size)
            count++;
        solve_some(size, count, products, lower, coefficients + families->offsets[f],
                   squares + f, pivots + f);
        products += count * triangle_length(size + 1);
        f += count;
    }
    free(memory);
    return 0;
}
