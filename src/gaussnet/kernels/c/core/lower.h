/* Small systems side by side: packed lower triangles, one system a lane. */
#ifndef GAUSSNET_LOWER_H
#define GAUSSNET_LOWER_H

#include "core/lanes.h"

/* Up to this many parents a system is solved by code of its own size. */
#define MOST_FIXED_SIZE 8

/* Row i of step j of the factorisation: take column j out of it. `column` holds column j. */
INLINE void reduce_row(const ptrdiff_t j, const ptrdiff_t i, Lanes inverse, Lanes *lower,
                       const Lanes *column)
{
    Lanes *row = lower + triangle_length(i);
    const Lanes ratio = column[i] * inverse;
    UNROLL for (ptrdiff_t k = j + 1; k <= i; k++)
        row[k] -= ratio * column[k];
    row[j] = ratio;
}

/* The pivot's inverse; `column` is filled with the column below it. */
INLINE Lanes take_column(const ptrdiff_t size, const ptrdiff_t j, const Lanes *lower,
                         Lanes *column)
{
    const Lanes one = broadcast(1.0), pivot = lower[triangle_length(j + 1) - 1];
    UNROLL for (ptrdiff_t i = j + 1; i <= size; i++)
        column[i] = lower[triangle_length(i) + j];
    return one / blend(is_greater(pivot, broadcast(0.0)), pivot, one);
}

INLINE void reduce_column(const ptrdiff_t size, const ptrdiff_t j, Lanes *lower, Lanes *column)
{
    const Lanes inverse = take_column(size, j, lower, column);
#define REDUCE(k) if (j + 1 + k <= size) reduce_row(j, j + 1 + k, inverse, lower, column);
    EIGHT_TIMES(REDUCE)
#undef REDUCE
}

INLINE void solve_for(const ptrdiff_t size, const ptrdiff_t j, Lanes *lower)
{
    Lanes *solution = lower + triangle_length(size);
    Lanes rest = solution[j];
    UNROLL for (ptrdiff_t i = j + 1; i < size; i++)
        rest -= lower[triangle_length(i) + j] * solution[i];
    solution[j] = rest;
}

/* Factor the packed lower triangles of (size + 1) rows, child last, as L D L' and solve for the
 * child. Afterwards the diagonal of `lower` holds the pivots, the last of them the residual sum
 * of squares, and the last row the coefficients. `column` is space for size + 1 Lanes.
 *
 * Scaling the columns would change neither the coefficients nor a pivot's ratio to its own
 * diagonal entry, so nothing is scaled. */
INLINE void factor_and_solve(const ptrdiff_t size, Lanes *lower, Lanes *column)
{
#define REDUCE(j) if (j < size) reduce_column(size, j, lower, column);
#define SOLVE(j) if (j < size) solve_for(size, j, lower);
    EIGHT_TIMES(REDUCE)
    EIGHT_TIMES_BACK(SOLVE)
#undef REDUCE
#undef SOLVE
}

/* The same for any size. */
INLINE void factor_and_solve_large(ptrdiff_t size, Lanes *lower, Lanes *column)
{
    for (ptrdiff_t j = 0; j < size; j++) {
        const Lanes inverse = take_column(size, j, lower, column);
        for (ptrdiff_t i = j + 1; i <= size; i++)
            reduce_row(j, i, inverse, lower, column);
    }
    for (ptrdiff_t j = size - 1; j >= 0; j--)
        solve_for(size, j, lower);
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
