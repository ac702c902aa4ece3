/* Whether all values are finite. */
#include "lanes.h"

/* A finite value minus itself is 0, any other gives NaN. Plain loops: the compiler makes lanes
 * of them. */
static int doubles_finite(const double *values, ptrdiff_t count)
{
    int64_t bad = 0;
    for (ptrdiff_t k = 0; k < count; k++)
        bad |= values[k] - values[k] == 0.0 ? 0 : -1;
    return bad == 0;
}

/* Copy values, and say whether all are finite. */
static int copy_finite(const double *restrict from, ptrdiff_t count, double *restrict to)
{
    int64_t bad = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        to[k] = from[k];
        bad |= from[k] - from[k] == 0.0 ? 0 : -1;
    }
    return bad == 0;
}

static int floats_finite(const float *values, ptrdiff_t count)
{
    int32_t bad = 0;
    for (ptrdiff_t k = 0; k < count; k++)
        bad |= values[k] - values[k] == 0.0f ? 0 : -1;
    return bad == 0;
}

static int run_finite(const char *from, ptrdiff_t count, int single)
{
    return single ? floats_finite((const float *)from, count)
                  : doubles_finite((const double *)from, count);
}

static int all_finite(const Matrix *x)
{
    const ptrdiff_t value_bytes = x->single ? sizeof(float) : sizeof(double);
    const int by_column = x->row_stride == value_bytes && x->column_stride != value_bytes;
    const ptrdiff_t runs = by_column ? x->columns : x->rows;
    const ptrdiff_t length = by_column ? x->rows : x->columns;
    const ptrdiff_t run_stride = by_column ? x->column_stride : x->row_stride;
    const ptrdiff_t stride = by_column ? x->row_stride : x->column_stride;
    for (ptrdiff_t r = 0; r < runs; r++) {
        const char *run = x->data + r * run_stride;
        if (stride == value_bytes) {
            if (!run_finite(run, length, x->single))
                return 0;
        } else {
            for (ptrdiff_t k = 0; k < length; k++)
                if (!run_finite(run + k * stride, 1, x->single))
                    return 0;
        }
    }
    return 1;
}
