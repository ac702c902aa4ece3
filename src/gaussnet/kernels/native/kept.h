/* Least squares of one child on its columns, over the rows that are kept.
 *
 * The kept rows are copied next to each other and their cross-products summed; the step that
 * they ask for is added to the coefficients, and the residuals of all rows follow. */
#ifndef GAUSSNET_KEPT_H
#define GAUSSNET_KEPT_H

#include "combination.h"
#include "products.h"

/* Smallest pivot of scaled cross-products from which repeated steps still converge. */
#define REFINABLE 1e-10
/* Rows that are copied at a time: they should stay in the nearest cache. */
#define PIECE 512
/* Columns whose products with what is fitted are summed together. */
#define MOST_FITTED 4

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

/* Copy the rows with |judged| <= limit of one column or more; gives how many. */
static ptrdiff_t keep_rows(const double *judged, double limit, const double *const *columns,
                           ptrdiff_t count, ptrdiff_t rows, double *const *to)
{
    const Lanes farthest = broadcast(limit);
    ptrdiff_t kept = 0, r = 0;
    for (; r + LANES <= rows; r += LANES) {
        const Mask stays = is_at_least(farthest, absolute(load(judged + r)));
        const ptrdiff_t more = store_kept(to[0] + kept, load(columns[0] + r), stays);
        for (ptrdiff_t c = 1; c < count; c++)
            store_kept(to[c] + kept, load(columns[c] + r), stays);
        kept += more;
    }
    for (; r < rows; r++) {
        for (ptrdiff_t c = 0; c < count; c++)
            to[c][kept] = columns[c][r];
        kept += fabs(judged[r]) <= limit;
    }
    return kept;
}

/* Add the products of `size` + 1 columns, the last being what is fitted. */
static void add_rows(Factor *factor, const double *const *columns, ptrdiff_t rows)
{
    const ptrdiff_t side = factor->size + 1;
    add_products(columns, side, rows, factor->packed);
    for (ptrdiff_t c = 0; c < side; c++)
        factor->packed[triangle_length(c + 1) - 1] += column_squares(columns[c], rows);
}

static void clear_products(Factor *factor)
{
    memset(factor->packed, 0, (size_t)triangle_length(factor->size + 1) * sizeof(double));
}

/* Sum the products over the rows with |judged| <= limit, a piece at a time, which `kept` has room
 * for; gives how many rows. `from` is room for as many pointers as there are columns. */
static ptrdiff_t sum_kept(Factor *factor, const double *judged, double limit,
                          const double *const *columns, ptrdiff_t rows, const double **from,
                          double *const *kept)
{
    ptrdiff_t count = 0;
    clear_products(factor);
    for (ptrdiff_t first = 0; first < rows; first += PIECE) {
        for (ptrdiff_t c = 0; c <= factor->size; c++)
            from[c] = columns[c] + first;
        const ptrdiff_t piece = keep_rows(judged + first, limit, from, factor->size + 1,
                                          smaller(PIECE, rows - first), kept);
        add_rows(factor, (const double *const *)kept, piece);
        count += piece;
    }
    return count;
}

/* Copy the rows without |judged| <= limit; gives how many. */
static ptrdiff_t keep_others(const double *judged, double limit, const double *const *columns,
                             ptrdiff_t count, ptrdiff_t rows, double *const *to)
{
    const Lanes farthest = broadcast(limit);
    ptrdiff_t kept = 0, r = 0;
    for (; r + LANES <= rows; r += LANES) {
        const Mask stays = is_at_least(farthest, absolute(load(judged + r)));
        if (holds_everywhere(stays))
            continue;
        ptrdiff_t more = 0;
        for (ptrdiff_t c = 0; c < count; c++)
            more = store_kept(to[c] + kept, load(columns[c] + r), ~stays);
        kept += more;
    }
    for (; r < rows; r++) {
        for (ptrdiff_t c = 0; c < count; c++)
            to[c][kept] = columns[c][r];
        kept += !(fabs(judged[r]) <= limit);
    }
    return kept;
}

/* Sum the products of the columns, not of what is fitted, over the rows without |judged| <= limit. */
static void sum_others(Factor *factor, const double *judged, double limit,
                       const double *const *columns, ptrdiff_t rows, const double **from,
                       double *const *kept)
{
    const ptrdiff_t size = factor->size;
    clear_products(factor);
    for (ptrdiff_t first = 0; first < rows; first += PIECE) {
        for (ptrdiff_t c = 0; c < size; c++)
            from[c] = columns[c] + first;
        const ptrdiff_t piece =
            keep_others(judged + first, limit, from, size, smaller(PIECE, rows - first), kept);
        add_products((const double *const *)kept, size, piece, factor->packed);
        for (ptrdiff_t c = 0; c < size; c++)
            factor->packed[triangle_length(c + 1) - 1] += column_squares(kept[c], piece);
    }
}

/* Products of the columns with what is fitted, the last of them, over the rows with
 * |judged| <= limit: sums[c] = sum of columns[c] * fitted. */
INLINE void fitted_sums(const double *judged, double limit, const double *const *columns,
                        const int count, const double *fitted, ptrdiff_t rows, double *sums)
{
    const Lanes farthest = broadcast(limit), zero = broadcast(0.0);
    Lanes even[MOST_FITTED], odd[MOST_FITTED];
    UNROLL for (int c = 0; c < count; c++)
        even[c] = odd[c] = zero;
    ptrdiff_t r = 0;
    for (; r + 2 * LANES <= rows; r += 2 * LANES) {
        const ptrdiff_t s = r + LANES;
        const Mask first = is_at_least(farthest, absolute(load(judged + r)));
        const Mask second = is_at_least(farthest, absolute(load(judged + s)));
        const Lanes left = blend(first, load(fitted + r), zero);
        const Lanes right = blend(second, load(fitted + s), zero);
        UNROLL for (int c = 0; c < count; c++) {
            even[c] += left * load(columns[c] + r);
            odd[c] += right * load(columns[c] + s);
        }
    }
    UNROLL for (int c = 0; c < count; c++)
        sums[c] = sum_lanes(even[c] + odd[c]);
    for (; r < rows; r++)
        for (int c = 0; fabs(judged[r]) <= limit && c < count; c++)
            sums[c] += columns[c][r] * fitted[r];
}

/* Write these products into the last row of the packed ones, a few columns at a time; its own
 * square is not needed. */
static void fit_within(Factor *factor, const double *judged, double limit,
                       const double *const *columns, ptrdiff_t rows)
{
    const double *fitted = columns[factor->size];
    double *sums = factor->packed + triangle_length(factor->size);
    for (ptrdiff_t c = 0; c < factor->size; c += MOST_FITTED) {
        switch (smaller(factor->size - c, MOST_FITTED)) {
        case 1: fitted_sums(judged, limit, columns + c, 1, fitted, rows, sums + c); break;
        case 2: fitted_sums(judged, limit, columns + c, 2, fitted, rows, sums + c); break;
        case 3: fitted_sums(judged, limit, columns + c, 3, fitted, rows, sums + c); break;
        default: fitted_sums(judged, limit, columns + c, 4, fitted, rows, sums + c); break;
        }
    }
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

/* x' (Z Z')^-1 x, for row r of the columns. */
static double leverage_at(const Factor *factor, const double *const *columns, ptrdiff_t r)
{
    double squares = 0.0;
    for (ptrdiff_t i = 0; i < factor->size; i++) {
        double sum = 0.0;
        for (ptrdiff_t j = 0; j <= i; j++)
            sum += factor->whitener[i * factor->size + j] * columns[j][r];
        squares += sum * sum;
    }
    return squares;
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

static void take_absolute(const double *from, ptrdiff_t rows, double *to)
{
    for (ptrdiff_t r = 0; r < rows; r++)
        to[r] = fabs(from[r]);
}

#endif
