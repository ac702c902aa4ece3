/* Rows with suspicious parents that come back as good leverage points. */
#ifndef GAUSSNET_READMISSION_H
#define GAUSSNET_READMISSION_H

#include "regression.h"

#define LACKS_DIGITS 2

/* Coefficients, and the sum of squared residuals of the rows that they rest on. */
typedef struct {
    double *coefficients;
    double squares;
} Readmission;

/* Rows of node f that agree with its parents as recorded. */
typedef struct {
    ptrdiff_t f;
    const int64_t *rows;
    ptrdiff_t count;
} Events;

/* The columns of such rows, Z, as they are and in orthogonal directions, G = W Z; what the
 * coefficients leave of the child; and I + G G', factored. */
typedef struct {
    ptrdiff_t size, count;
    const double **columns, **white;
    double *child, *residuals, *step, *coefficients;
    Factor factor;
} Returning;

static double column_product(const double *left, const double *right, ptrdiff_t rows)
{
    Lanes sums = broadcast(0.0);
    ptrdiff_t r = 0;
    for (; r + LANES <= rows; r += LANES)
        sums += load(left + r) * load(right + r);
    double total = sum_lanes(sums);
    for (; r < rows; r++)
        total += left[r] * right[r];
    return total;
}

static int open_returning(Returning *own, ptrdiff_t size, ptrdiff_t count, Memory *memory)
{
    const ptrdiff_t stride = count + LANES, square = size * size;
    const ptrdiff_t values = (2 * size + 2) * stride + triangle_length(size + 1) + 2 * square +
                             4 * size;
    double *next = take_memory(
        memory, (size_t)values * sizeof(double) + (size_t)(2 * size + 1) * sizeof(double *));
    if (!next)
        return -1;
    own->size = own->factor.size = size;
    own->count = count;
    own->columns = (const double **)(next + values);
    own->white = own->columns + size;
#define TAKE(values) (next += (values), next - (values))
    for (ptrdiff_t c = 0; c < 2 * size; c++)
        own->columns[c] = TAKE(stride);
    own->child = TAKE(stride);
    own->residuals = TAKE(stride);
    own->factor.packed = TAKE(triangle_length(size + 1));
    own->factor.lower = TAKE(square);
    own->factor.whitener = TAKE(square);
    own->factor.scales = TAKE(size);
    own->factor.white = TAKE(size);
    own->step = TAKE(size);
    own->coefficients = TAKE(size);
#undef TAKE
    return 0;
}

static void read_rows(const Matrix *x, int64_t column, const Events *events, double centre,
                      double *to)
{
    const double *from = (const double *)(x->data + column * x->column_stride);
    for (ptrdiff_t k = 0; k < events->count; k++)
        to[k] = from[events->rows[k]] - centre;
}

/* Read the rows, and turn them by the whitener of the rows kept. */
static void fill_returning(Returning *own, const Matrix *x, const Walk *walk, const Events *events,
                           const TrimAnswer *trimmed)
{
    const ptrdiff_t constant = walk->intercept ? 1 : 0;
    const int64_t *parents = walk->families->parents + walk->families->offsets[events->f];
    for (ptrdiff_t k = 0; constant && k < own->count; k++)
        ((double *)own->columns[0])[k] = 1.0;
    for (ptrdiff_t c = constant; c < own->size; c++)
        read_rows(x, parents[c - constant], events, trimmed->centres[c - constant],
                  (double *)own->columns[c]);
    read_rows(x, events->f, events, trimmed->numbers[2], own->child);
    memset(own->residuals, 0, (size_t)own->count * sizeof(double));
    for (ptrdiff_t i = 0; i < own->size; i++)
        add_combination(own->columns, i + 1, trimmed->whitener + i * own->size, 1.0,
                        own->residuals, own->count, (double *)own->white[i]);
}

/* Factor I + G G'; 0 if digits are lacking. */
static int factor_returning(Returning *own)
{
    for (ptrdiff_t i = 0; i < own->size; i++)
        for (ptrdiff_t j = 0; j <= i; j++)
            own->factor.packed[triangle_length(i) + j] =
                column_product(own->white[i], own->white[j], own->count) + (i == j ? 1.0 : 0.0);
    if (!factor_products(&own->factor))
        return 0;
    find_whitener(&own->factor);
    return 1;
}

/* What the coefficients leave of the child. */
static void leave_residuals(Returning *own)
{
    add_combination(own->columns, own->size, own->coefficients, -1.0, own->child, own->count,
                    own->residuals);
}

/* Find the step that the rows ask for, (I + G G')^-1 G r in orthogonal directions, in two goes. */
static void find_return(Returning *own, const TrimAnswer *trimmed)
{
    const ptrdiff_t size = own->size;
    memset(own->step, 0, (size_t)size * sizeof(double));
    memcpy(own->coefficients, trimmed->coefficients, (size_t)size * sizeof(double));
    leave_residuals(own);
    for (int go = 0; go < 2; go++) {
        double *wanted = own->factor.packed + triangle_length(size);
        for (ptrdiff_t i = 0; i < size; i++)
            wanted[i] = column_product(own->white[i], own->residuals, own->count) - own->step[i];
        fit_white(&own->factor);
        add_step(&own->factor, own->step);
        for (ptrdiff_t j = 0; j < size; j++) {
            double sum = 0.0;
            for (ptrdiff_t i = j; i < size; i++)
                sum += trimmed->whitener[i * size + j] * own->step[i];
            own->coefficients[j] = trimmed->coefficients[j] + sum;
        }
        leave_residuals(own);
    }
}

/* Take the rows back if they fit: 1 if they do, 0 if not, LACKS_DIGITS, or -1 without memory. */
static int readmit(const Matrix *x, const Walk *walk, const Events *events,
                   const TrimAnswer *trimmed, Memory *memory, Readmission *result)
{
    Returning own;
    const ptrdiff_t parents = family_size(walk->families, events->f);
    const double variance = trimmed->numbers[0] * trimmed->numbers[0], count = (double)events->count;
    if (open_returning(&own, parents + (walk->intercept ? 1 : 0), events->count, memory) < 0)
        return -1;
    fill_returning(&own, x, walk, events, trimmed);
    if (!factor_returning(&own))
        return LACKS_DIGITS;
    find_return(&own, trimmed);
    const double moved = column_product(own.step, own.step, own.size);
    const double squares = column_product(own.residuals, own.residuals, own.count);
    if (moved > variance * walk->farthest[events->f] ||
        squares > variance * (count + 3.0 * sqrt(2.0 * count)))
        return 0;
    *result = (Readmission){own.coefficients, result->squares + moved + squares};
    return 1;
}

/* Take the events out of the rows left out; both ascend. */
static void leave_out_less(Judged *judged)
{
    ptrdiff_t kept = 0, event = 0;
    for (ptrdiff_t k = 0; k < judged->left_count; k++) {
        const int64_t row = judged->left_out[k];
        if (event < judged->event_count && judged->events[event] == row)
            event++;
        else
            judged->left_out[kept++] = row;
    }
    judged->left_count = kept;
}

#endif
