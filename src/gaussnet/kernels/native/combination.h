/* Linear combinations of columns. */
#ifndef GAUSSNET_COMBINATION_H
#define GAUSSNET_COMBINATION_H

#include "lanes.h"

/* Columns that are combined in one sweep without a loop over them. */
#define MOST_COMBINED 6

/* to = from + sign * sum of coefficients[s] * columns[s], over the rows of a tile. */
static void add_columns(const double *const *columns, ptrdiff_t size, const double *coefficients,
                        double sign, const double *from, ptrdiff_t rows, double *to)
{
    ptrdiff_t r = 0;
    for (; r + 4 * LANES <= rows; r += 4 * LANES) {
        Lanes sums[4];
        UNROLL for (int u = 0; u < 4; u++)
            sums[u] = load(from + r + u * LANES);
        for (ptrdiff_t s = 0; s < size; s++) {
            const Lanes coefficient = broadcast(sign * coefficients[s]);
            UNROLL for (int u = 0; u < 4; u++)
                sums[u] += coefficient * load(columns[s] + r + u * LANES);
        }
        UNROLL for (int u = 0; u < 4; u++)
            store(to + r + u * LANES, sums[u]);
    }
    for (; r < rows; r += LANES) {
        const ptrdiff_t some = smaller(LANES, rows - r);
        Lanes sum = load_some(from + r, some);
        for (ptrdiff_t s = 0; s < size; s++)
            sum += broadcast(sign * coefficients[s]) * load_some(columns[s] + r, some);
        store_part(to + r, sum, some);
    }
}

/* The same for a few columns, whose coefficients stay in registers. */
INLINE void add_few_columns(const double *const *columns, const int size,
                            const double *coefficients, double sign, const double *from,
                            ptrdiff_t rows, double *to)
{
    const double *own[MOST_COMBINED];
    Lanes factors[MOST_COMBINED];
    UNROLL for (int s = 0; s < size; s++) {
        own[s] = columns[s];
        factors[s] = broadcast(sign * coefficients[s]);
    }
    ptrdiff_t r = 0;
    for (; r + 2 * LANES <= rows; r += 2 * LANES) {
        Lanes left = load(from + r), right = load(from + r + LANES);
        UNROLL for (int s = 0; s < size; s++) {
            left += factors[s] * load(own[s] + r);
            right += factors[s] * load(own[s] + r + LANES);
        }
        store(to + r, left);
        store(to + r + LANES, right);
    }
    UNROLL for (int s = 0; s < size; s++)
        own[s] += r;
    add_columns(own, size, coefficients, sign, from + r, rows - r, to + r);
}

static void add_combination(const double *const *columns, ptrdiff_t size,
                            const double *coefficients, double sign, const double *from,
                            ptrdiff_t rows, double *to)
{
#define ADD(size) add_few_columns(columns, size, coefficients, sign, from, rows, to)
    switch (size) {
    case 0: ADD(0); break;
    case 1: ADD(1); break;
    case 2: ADD(2); break;
    case 3: ADD(3); break;
    case 4: ADD(4); break;
    case 5: ADD(5); break;
    case 6: ADD(6); break;
    default: add_columns(columns, size, coefficients, sign, from, rows, to);
    }
#undef ADD
}

/* to = the sum of factors[k] * row k, over `count` rows that lie `length` values apart; `to` may be
 * the first of them. Every product is rounded. */
INLINE void mix_some_rows(const double *rows, ptrdiff_t length, const ptrdiff_t count,
                          const double *factors, double *to)
{
    ptrdiff_t v = 0;
    for (; v + LANES <= length; v += LANES) {
        Lanes sum = rounded(broadcast(factors[0]) * load(rows + v));
        UNROLL for (ptrdiff_t k = 1; k < count; k++)
            sum += rounded(broadcast(factors[k]) * load(rows + k * length + v));
        store(to + v, sum);
    }
    if (v < length) {
        Lanes sum = rounded(broadcast(factors[0]) * load_part(rows + v, length - v));
        for (ptrdiff_t k = 1; k < count; k++)
            sum += rounded(broadcast(factors[k]) * load_part(rows + k * length + v, length - v));
        store_part(to + v, sum, length - v);
    }
}

static void mix_rows(const double *rows, ptrdiff_t length, ptrdiff_t count, const double *factors,
                     double *to)
{
#define MIX(count) mix_some_rows(rows, length, count, factors, to)
    switch (count) {
    case 1: MIX(1); break;
    case 2: MIX(2); break;
    case 3: MIX(3); break;
    case 4: MIX(4); break;
    case 5: MIX(5); break;
    default: MIX(count); break;
    }
#undef MIX
}

#endif
