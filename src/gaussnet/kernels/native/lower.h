/* Small systems side by side: packed lower triangles, one system a lane. */
#ifndef GAUSSNET_LOWER_H
#define GAUSSNET_LOWER_H

#include "lanes.h"

/* Up to this many parents a system is solved by code of its own size. */
#define MOST_FIXED_SIZE 8

/* Factor the packed lower triangles of (size + 1) rows, child last, as L D L' and solve for the
 * child. Afterwards the diagonal of `lower` holds the pivots, the last of them the residual sum
 * of squares, and the last row the coefficients. `column` is room for size + 1 values.
 *
 * Scaling the columns would change neither the coefficients nor a pivot's ratio to its own
 * diagonal entry, so nothing is scaled. */
INLINE void factor_and_solve(const ptrdiff_t size, Lanes *lower, Lanes *column)
{
    UNROLL for (ptrdiff_t j = 0; j < size; j++) {
        Lanes pivot = lower[triangle_length(j + 1) - 1];
        Lanes one = broadcast(1.0);
        Lanes inverse = one / blend(is_greater(pivot, broadcast(0.0)), pivot, one);
        UNROLL for (ptrdiff_t i = j + 1; i <= size; i++)
            column[i] = lower[triangle_length(i) + j];
        UNROLL for (ptrdiff_t i = j + 1; i <= size; i++) {
            Lanes ratio = column[i] * inverse;
            UNROLL for (ptrdiff_t k = j + 1; k <= i; k++)
                lower[triangle_length(i) + k] -= ratio * column[k];
            lower[triangle_length(i) + j] = ratio;
        }
    }
    Lanes *solution = lower + triangle_length(size);
    UNROLL for (ptrdiff_t j = size - 1; j >= 0; j--)
        UNROLL for (ptrdiff_t i = j + 1; i < size; i++)
            solution[j] -= lower[triangle_length(i) + j] * solution[i];
}

/* Packed triangles that lie `step` apart, the last of `count` again in the lanes after it. */
INLINE void load_triangles(const double *packed, ptrdiff_t step, ptrdiff_t count,
                           const ptrdiff_t length, Lanes *lower)
{
    if (count >= LANES)
        for (ptrdiff_t k = 0; k < length; k++)
            lower[k] = load_strided(packed + k, step);
    else
        for (ptrdiff_t k = 0; k < length; k++)
            lower[k] = load_strided_part(packed + k, step, count);
}

/* Memory for `count` Lanes, at an address that suits them; free what *memory holds. */
static Lanes *new_lanes(ptrdiff_t count, void **memory)
{
    *memory = malloc((size_t)(count + 1) * sizeof(Lanes));
    uintptr_t address = (uintptr_t)*memory + sizeof(Lanes) - 1;
    return *memory ? (Lanes *)(address / sizeof(Lanes) * sizeof(Lanes)) : NULL;
}

#endif
