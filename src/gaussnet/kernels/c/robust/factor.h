/* Least squares of one child on its columns, over the rows that are kept. */
#ifndef GAUSSNET_FACTOR_H
#define GAUSSNET_FACTOR_H

#include "core/columns.h"
#include "core/lanes.h"

/* Least squares of one child on its columns, over the rows that are kept.
 *
 * The kept rows are copied next to each other and their cross-products summed; the step that
 * they ask for is added to the coefficients, and the residuals of all rows follow. */

/* Smallest pivot of scaled cross-products from which repeated steps still converge. */
#define REFINABLE 1e-10
/* Rows that are worked on at a time: they should stay in the nearest cache. */
#define PIECE 512

/* Cross-products of `size` columns of kept rows, factored: with columns Z, (Z Z')^-1 = W' W. */
typedef struct {
    ptrdiff_t size;
    double *packed;    /* lower triangle of the products of the columns, then of what is fitted */
    double *lower;     /* Cholesky factor of the products scaled to unit diagonal, by rows */
    double *whitener;  /* W, lower triangular, by rows */
    double *scales;    /* roots of the diagonal */
    double *white;     /* W Z r: what is fitted, in orthogonal directions */
    double pivot;
} Factor;

/* Columns that are copied together. */
#define MOST_COPIED 4

/* Copy the rows with |judged| <= limit of a few columns; gives how many. */
INLINE ptrdiff_t keep_few(const double *judged, double limit, const double *const *columns,
                          const int count, ptrdiff_t rows, double *const *to)
{
    const Lanes farthest = broadcast(limit);
    const double *source[MOST_COPIED];
    double *copy[MOST_COPIED];
    UNROLL for (int c = 0; c < count; c++) {
        source[c] = columns[c];
        copy[c] = to[c];
    }
    ptrdiff_t kept = 0, r = 0;
    for (; r + LANES <= rows; r += LANES) {
        const Mask stays = is_at_least(farthest, absolute(load(judged + r)));
        ptrdiff_t more = 0;
        UNROLL for (int c = 0; c < count; c++)
            more = store_kept(copy[c] + kept, load(source[c] + r), stays);
        kept += more;
    }
    for (; r < rows; r++) {
        UNROLL for (int c = 0; c < count; c++)
            copy[c][kept] = source[c][r];
        kept += fabs(judged[r]) <= limit;
    }
    return kept;
}

/* The same for one column or more. */
static ptrdiff_t keep_rows(const double *judged, double limit, const double *const *columns,
                           ptrdiff_t count, ptrdiff_t rows, double *const *to)
{
    ptrdiff_t kept = 0;
#define KEEP(count) kept = keep_few(judged, limit, columns + c, count, rows, to + c)
    for (ptrdiff_t c = 0; c < count; c += MOST_COPIED)
        switch (smaller(count - c, MOST_COPIED)) {
        case 1: KEEP(1); break;
        case 2: KEEP(2); break;
        case 3: KEEP(3); break;
        default: KEEP(4); break;
        }
#undef KEEP
    return kept;
}

/* Add the products of `size` + 1 columns, the last being what is fitted. */
static void add_rows(Factor *factor, const double *const *columns, ptrdiff_t rows)
{
    const ptrdiff_t side = factor->size + 1;
#define ADD(side, unroll) triangle_sums(columns, side, 1, unroll, rows, factor->packed)
    switch (side) {
    case 1: ADD(1, 4); return;
    case 2: ADD(2, 4); return;
    case 3: ADD(3, 2); return;
    case 4: ADD(4, 1); return;
    case 5: ADD(5, 1); return;
    }
#undef ADD
    add_products(columns, side, rows, factor->packed);
    for (ptrdiff_t c = 0; c < side; c++)
        factor->packed[triangle_length(c + 1) - 1] += column_squares(columns[c], rows);
}

static void clear_products(Factor *factor)
{
    memset(factor->packed, 0, (size_t)triangle_length(factor->size + 1) * sizeof(double));
}

/* Add the products of all pairs of a few columns, over the rows with |judged| <= limit; `rows` is
 * a multiple of `unroll` * LANES, and so many partial sums keep the multipliers busy. */
INLINE void triangle_within(const double *judged, double limit, const double *const *columns,
                            const int side, const int unroll, ptrdiff_t rows, double *packed)
{
    const Lanes farthest = broadcast(limit), zero = broadcast(0.0);
    const int count = side * (side + 1) / 2;
    Lanes sums[2][MOST_SUMS];
    UNROLL for (int k = 0; k < count; k++)
        sums[0][k] = sums[1][k] = zero;
    for (ptrdiff_t r = 0; r < rows; r += unroll * LANES)
        UNROLL for (int u = 0; u < unroll; u++) {
            const ptrdiff_t at = r + u * LANES;
            const Mask stays = is_at_least(farthest, absolute(load(judged + at)));
            Lanes values[TRIANGLE_SIDE];
            int k = 0;
            UNROLL for (int c = 0; c < side; c++)
                values[c] = blend(stays, load(columns[c] + at), zero);
            UNROLL for (int i = 0; i < side; i++)
                UNROLL for (int j = 0; j <= i; j++)
                    sums[u][k++] += values[i] * values[j];
        }
    UNROLL for (int k = 0; unroll > 1 && k < count; k++)
        sums[0][k] += sums[1][k];
    add_sums(sums[0], count, packed);
}

/* The same for any number of columns, if they are few; gives over how many rows. */
static ptrdiff_t add_few_within(Factor *factor, const double *judged, double limit,
                                const double *const *piece, ptrdiff_t rows)
{
    const ptrdiff_t whole = rows / (2 * LANES) * (2 * LANES);
#define ADD(side, unroll) \
    triangle_within(judged, limit, piece, side, unroll, whole, factor->packed)
    switch (factor->size + 1) {
    case 2: ADD(2, 2); break;
    case 3: ADD(3, 2); break;
    case 4: ADD(4, 1); break;
    case 5: ADD(5, 1); break;
    default: return 0;
    }
#undef ADD
    return whole;
}

/* Add the products over the rows of a piece with |judged| <= limit; `kept` has space for them. */
static void add_within(Factor *factor, const double *judged, double limit, const double **piece,
                       ptrdiff_t rows, double *const *kept)
{
    const ptrdiff_t side = factor->size + 1;
    const ptrdiff_t done = add_few_within(factor, judged, limit, piece, rows);
    if (done == rows)
        return;
    for (ptrdiff_t c = 0; c < side; c++)
        piece[c] += done;
    const ptrdiff_t count = keep_rows(judged + done, limit, piece, side, rows - done, kept);
    add_rows(factor, (const double *const *)kept, count);
}

/* Factor the products of the columns; 0 if they do not have the digits for it. */
static int factor_products(Factor *factor)
{
    const ptrdiff_t size = factor->size;
    double *lower = factor->lower;
    factor->pivot = 1.0;
    for (ptrdiff_t i = 0; i < size; i++) {
        const double *row = factor->packed + triangle_length(i);
        factor->scales[i] = sqrt(row[i]);
        if (!(factor->scales[i] > 0.0 && factor->scales[i] < INFINITY))
            return 0;
        for (ptrdiff_t j = 0; j <= i; j++) {
            double rest = row[j] / factor->scales[i] / factor->scales[j];
            for (ptrdiff_t k = 0; k < j; k++)
                rest -= lower[i * size + k] * lower[j * size + k];
            if (j < i) {
                lower[i * size + j] = rest / lower[j * size + j];
            } else {
                if (!(rest > REFINABLE))
                    return 0;
                factor->pivot = rest < factor->pivot ? rest : factor->pivot;
                lower[i * size + i] = sqrt(rest);
            }
        }
    }
    return 1;
}

/* Invert the factor. */
static void find_whitener(Factor *factor)
{
    const ptrdiff_t size = factor->size;
    const double *lower = factor->lower;
    for (ptrdiff_t i = 0; i < size; i++)
        for (ptrdiff_t j = 0; j < size; j++) {
            double rest = i == j ? 1.0 : 0.0;
            for (ptrdiff_t k = j; k < i; k++)
                rest -= lower[i * size + k] * factor->whitener[k * size + j] * factor->scales[j];
            factor->whitener[i * size + j] =
                j > i ? 0.0 : rest / lower[i * size + i] / factor->scales[j];
        }
}

/* What is fitted of the last column of the products, in orthogonal directions; gives its square. */
static double fit_white(Factor *factor)
{
    const ptrdiff_t size = factor->size;
    const double *fitted = factor->packed + triangle_length(size);
    double squares = 0.0;
    for (ptrdiff_t i = 0; i < size; i++) {
        double sum = 0.0;
        for (ptrdiff_t j = 0; j <= i; j++)
            sum += factor->whitener[i * size + j] * fitted[j];
        factor->white[i] = sum;
        squares += sum * sum;
    }
    return squares;
}

/* Add the step to the coefficients. */
static void add_step(const Factor *factor, double *coefficients)
{
    for (ptrdiff_t j = 0; j < factor->size; j++)
        for (ptrdiff_t i = j; i < factor->size; i++)
            coefficients[j] += factor->whitener[i * factor->size + j] * factor->white[i];
}

/* Roots of 1 + x' (Z Z')^-1 x, for each row x of the columns; space for LANES more. */
static void prediction_scales(const Factor *factor, const double *const *columns, ptrdiff_t rows,
                              double *scales)
{
    const ptrdiff_t size = factor->size;
    for (ptrdiff_t r = 0; r < rows; r += LANES) {
        Lanes squares = broadcast(1.0);
        for (ptrdiff_t i = 0; i < size; i++) {
            Lanes sum = broadcast(0.0);
            for (ptrdiff_t j = 0; j <= i; j++)
                sum += broadcast(factor->whitener[i * size + j]) * load(columns[j] + r);
            squares += sum * sum;
        }
        store(scales + r, squares);
    }
    for (ptrdiff_t r = 0; r < rows; r++)
        scales[r] = sqrt(scales[r]);
}

/* Sum of squares and number of the values with |judged| <= limit. */
static double core_squares(const double *values, const double *judged, double limit,
                           ptrdiff_t rows, ptrdiff_t *count)
{
    const Lanes farthest = broadcast(limit), zero = broadcast(0.0);
    Lanes sums[2] = {zero, zero};
    Mask inside = mask_of(0);
    ptrdiff_t r = 0;
    for (; r + 2 * LANES <= rows; r += 2 * LANES)
        UNROLL for (int u = 0; u < 2; u++) {
            const ptrdiff_t at = r + u * LANES;
            const Mask stays = is_at_least(farthest, absolute(load(judged + at)));
            const Lanes own = blend(stays, load(values + at), zero);
            inside += stays;
            sums[u] += own * own;
        }
    double squares = sum_lanes(sums[0] + sums[1]);
    *count = count_mask(inside);
    for (; r < rows; r++)
        if (fabs(judged[r]) <= limit) {
            squares += values[r] * values[r];
            *count += 1;
        }
    return squares;
}

#endif
