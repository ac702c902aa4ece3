/* Linear combinations of columns. */
#ifndef GAUSSNET_COMBINATION_H
#define GAUSSNET_COMBINATION_H

#include "lanes.h"

/* to = from + sign * sum of coefficients[s] * columns[s], over the rows of a tile. */
static void add_combination(const double *const *columns, ptrdiff_t size,
                            const double *coefficients, double sign, const double *from,
                            ptrdiff_t rows, double *to)
{
    ptrdiff_t r = 0;
    for (; r + 2 * LANES <= rows; r += 2 * LANES) {
        Lanes left = load(from + r), right = load(from + r + LANES);
        for (ptrdiff_t s = 0; s < size; s++) {
            const Lanes coefficient = broadcast(sign * coefficients[s]);
            left += coefficient * load(columns[s] + r);
            right += coefficient * load(columns[s] + r + LANES);
        }
        store(to + r, left);
        store(to + r + LANES, right);
    }
    for (; r < rows; r += LANES) {
        const ptrdiff_t some = smaller(LANES, rows - r);
        Lanes left = load_part(from + r, some);
        for (ptrdiff_t s = 0; s < size; s++)
            left += broadcast(sign * coefficients[s]) * load_part(columns[s] + r, some);
        store_part(to + r, left, some);
    }
}

#endif
