/* Linear combinations and products of columns. */
#ifndef GAUSSNET_COLUMNS_H
#define GAUSSNET_COLUMNS_H

#include "core/lanes.h"

/* Linear combinations of columns. */

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

/* Products of the columns of one family, summed over the rows of a tile.
 *
 * A family of a few columns is done in one sweep: every column is loaded once and all pairs
 * are summed in registers. A larger family is a small triangle of that kind and, below it,
 * blocks of two columns against four.
 */

#define TRIANGLE_SIDE 5

/* A few sums at a time, with `unroll` partial sums of each to keep the multipliers busy. */
#define MOST_SUMS 16

/* The values of `count` columns in rows r .. r + LANES, zeros beyond `rows`. */
INLINE void load_columns(const double *const *columns, const int count, ptrdiff_t r,
                         ptrdiff_t rows, Lanes *values)
{
    UNROLL for (int c = 0; c < count; c++)
        values[c] = load_some(columns[c] + r, rows - r);
}

/* totals[k] += the sum over the lanes of sums[k]. */
INLINE void add_sums(Lanes *sums, const int count, double *totals)
{
    UNROLL for (int k = 0; k < count; k += LANES) {
        double four[LANES];
        UNROLL for (int l = count; l < k + LANES; l++)
            sums[l] = broadcast(0.0);
        store(four, sum_each(sums + k));
        const int some = count - k < LANES ? count - k : LANES;
        UNROLL for (int l = 0; l < some; l++)
            totals[k + l] += four[l];
    }
}

/* All pairs among `side` columns, in the order (0,0), (1,0), (1,1), ...; without `diagonal`
 * only those of different columns. */
INLINE void triangle_sums(const double *const *columns, const int side, const int diagonal,
                          const int unroll, ptrdiff_t rows, double *totals)
{
    Lanes sums[4 * MOST_SUMS];
    const int count = diagonal ? side * (side + 1) / 2 : side * (side - 1) / 2;
    UNROLL for (int k = 0; k < count; k++)
        UNROLL for (int u = 0; u < unroll; u++)
            sums[u * MOST_SUMS + k] = broadcast(0.0);
    ptrdiff_t r = 0;
    for (; r + unroll * LANES <= rows; r += unroll * LANES)
        UNROLL for (int u = 0; u < unroll; u++) {
            Lanes values[TRIANGLE_SIDE];
            UNROLL for (int c = 0; c < side; c++)
                values[c] = load(columns[c] + r + u * LANES);
            int k = 0;
            UNROLL for (int i = 0; i < side; i++)
                UNROLL for (int j = 0; j < i + diagonal; j++)
                    sums[u * MOST_SUMS + k++] += values[i] * values[j];
        }
    for (; r < rows; r += LANES) {
        Lanes values[TRIANGLE_SIDE];
        load_columns(columns, side, r, rows, values);
        int k = 0;
        UNROLL for (int i = 0; i < side; i++)
            UNROLL for (int j = 0; j < i + diagonal; j++)
                sums[k++] += values[i] * values[j];
    }
    UNROLL for (int u = 1; u < unroll; u++)
        UNROLL for (int k = 0; k < count; k++)
            sums[k] += sums[u * MOST_SUMS + k];
    add_sums(sums, count, totals);
}

/* Pairs of `above` columns with `beside` other columns: above[i] beside[j] at i * beside + j. */
INLINE void block_sums(const double *const *above, const int height,
                       const double *const *beside, const int width, ptrdiff_t rows,
                       double *totals)
{
    Lanes sums[MOST_SUMS];
    UNROLL for (int k = 0; k < height * width; k++)
        sums[k] = broadcast(0.0);
    for (ptrdiff_t r = 0; r < rows; r += LANES) {
        Lanes left[2], right[4];
        if (r + LANES <= rows) {
            UNROLL for (int i = 0; i < height; i++)
                left[i] = load(above[i] + r);
            UNROLL for (int j = 0; j < width; j++)
                right[j] = load(beside[j] + r);
        } else {
            load_columns(above, height, r, rows, left);
            load_columns(beside, width, r, rows, right);
        }
        UNROLL for (int i = 0; i < height; i++)
            UNROLL for (int j = 0; j < width; j++)
                sums[i * width + j] += left[i] * right[j];
    }
    add_sums(sums, height * width, totals);
}

/* Add the products of different columns of a small family to its packed lower triangle. */
INLINE void small_triangle(const double *const *columns, const int side, const int unroll,
                           ptrdiff_t rows, double *packed)
{
    double totals[MOST_SUMS] = {0.0};
    triangle_sums(columns, side, 0, unroll, rows, totals);
    int k = 0;
    UNROLL for (int i = 1; i < side; i++)
        UNROLL for (int j = 0; j < i; j++)
            packed[i * (i + 1) / 2 + j] += totals[k++];
}

/* Add the products of columns i .. i + height with those of columns j .. j + width. */
INLINE void one_block(const double *const *columns, ptrdiff_t i, const int height, ptrdiff_t j,
                      const int width, ptrdiff_t rows, double *packed)
{
    double totals[MOST_SUMS] = {0.0};
    block_sums(columns + i, height, columns + j, width, rows, totals);
    for (int a = 0; a < height; a++)
        for (int b = 0; b < width; b++)
            packed[triangle_length(i + a) + j + b] += totals[a * width + b];
}

/* The blocks of columns i .. i + height against all columns before them. */
INLINE void row_of_blocks(const double *const *columns, ptrdiff_t i, const int height,
                          ptrdiff_t rows, double *packed)
{
    ptrdiff_t j = 0;
    for (; j + 4 <= i; j += 4)
        one_block(columns, i, height, j, 4, rows, packed);
    for (; j < i; j++)
        one_block(columns, i, height, j, 1, rows, packed);
}

/* Add to the packed lower triangle the products of every two different columns. */
static void add_products(const double *const *columns, ptrdiff_t side, ptrdiff_t rows,
                         double *packed)
{
    switch (smaller(side, TRIANGLE_SIDE)) {
    case 2: small_triangle(columns, 2, 4, rows, packed); break;
    case 3: small_triangle(columns, 3, 3, rows, packed); break;
    case 4: small_triangle(columns, 4, 2, rows, packed); break;
    case 5: small_triangle(columns, 5, 1, rows, packed); break;
    }
    for (ptrdiff_t i = TRIANGLE_SIDE; i < side; i += 2) {
        if (i + 1 == side) {
            row_of_blocks(columns, i, 1, rows, packed);
        } else {
            row_of_blocks(columns, i, 2, rows, packed);
            one_block(columns, i + 1, 1, i, 1, rows, packed);
        }
    }
}

#define PARTIAL_SUMS 4

static double column_sum(const double *column, ptrdiff_t rows)
{
    Lanes sums[PARTIAL_SUMS];
    UNROLL for (int u = 0; u < PARTIAL_SUMS; u++)
        sums[u] = broadcast(0.0);
    ptrdiff_t r = 0;
    for (; r + PARTIAL_SUMS * LANES <= rows; r += PARTIAL_SUMS * LANES)
        UNROLL for (int u = 0; u < PARTIAL_SUMS; u++)
            sums[u] += load(column + r + u * LANES);
    for (; r < rows; r += LANES)
        sums[0] += load_some(column + r, rows - r);
    return sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

static double column_squares(const double *column, ptrdiff_t rows)
{
    Lanes sums[PARTIAL_SUMS];
    UNROLL for (int u = 0; u < PARTIAL_SUMS; u++)
        sums[u] = broadcast(0.0);
    ptrdiff_t r = 0;
    for (; r + PARTIAL_SUMS * LANES <= rows; r += PARTIAL_SUMS * LANES)
        UNROLL for (int u = 0; u < PARTIAL_SUMS; u++) {
            Lanes value = load(column + r + u * LANES);
            sums[u] += value * value;
        }
    for (; r < rows; r += LANES) {
        Lanes value = load_some(column + r, rows - r);
        sums[0] += value * value;
    }
    return sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

#endif
