/* Linear combinations of columns. */
#ifndef GAUSSNET_COMBINATION_H
#define GAUSSNET_COMBINATION_H

#include "lanes.h"

/* to = from + sign * sum of coefficients[s] * columns[s], over the rows of a tile. */
INLINE void add_columns(const double *const *columns, const ptrdiff_t size,
                        const double *coefficients, double sign, const double *from,
                        ptrdiff_t rows, double *to)
{
    ptrdiff_t r = 0;
    for (; r + 2 * LANES <= rows; r += 2 * LANES) {
        Lanes left = load(from + r), right = load(from + r + LANES);
        UNROLL for (ptrdiff_t s = 0; s < size; s++) {
            const Lanes coefficient = broadcast(sign * coefficients[s]);
            left += coefficient * load(columns[s] + r);
            right += coefficient * load(columns[s] + r + LANES);
        }
        store(to + r, left);
        store(to + r + LANES, right);
    }
    for (; r < rows; r += LANES) {
        const ptrdiff_t some = smaller(LANES, rows - r);
        Lanes left = load_some(from + r, some);
        for (ptrdiff_t s = 0; s < size; s++)
            left += broadcast(sign * coefficients[s]) * load_some(columns[s] + r, some);
        store_part(to + r, left, some);
    }
}

static void add_combination(const double *const *columns, ptrdiff_t size,
                            const double *coefficients, double sign, const double *from,
                            ptrdiff_t rows, double *to)
{
#define ADD(size) add_columns(columns, size, coefficients, sign, from, rows, to)
    switch (size) {
    case 1: ADD(1); break;
    case 2: ADD(2); break;
    case 3: ADD(3); break;
    case 4: ADD(4); break;
    default: ADD(size); break;
    }
#undef ADD
}

#endif
