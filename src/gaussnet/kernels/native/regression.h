/* One child and its columns over the rows to be judged, and trials of coefficients. */
#ifndef GAUSSNET_REGRESSION_H
#define GAUSSNET_REGRESSION_H

#include "cutoffs.h"
#include "kept.h"

/* What is smaller than this, beside the child's values, is rounding error. */
#define ROUNDING_LEVEL (4.0 * DBL_EPSILON)
/* Sums over kept rows are found by taking the others off if they are at least this share. */
#define ENOUGH 0.05

/* Coefficients, the factor that they were found with, what they leave of the child, and the
 * median of the absolute residuals. */
typedef struct {
    double *coefficients, *whitener, *residuals;
    double median;
} Trial;

/* A regression over all rows to be judged, and room to work in. */
typedef struct {
    const TrimLimits *limits;
    ptrdiff_t rows;
    double **columns;  /* those of the factor, then the residuals */
    double **kept;     /* room for the kept rows of a piece of each */
    const double **pieces;
    double *child, *magnitudes, *search, *deviations[2];
    double reference, typical, smallest;
    Trial trial, whole;
    double *whole_products; /* of the columns over all rows, packed */
    int has_whole;
    Factor factor;
    Tail tail;
} Regression;

/* Memory that serves one regression after the other. */
typedef struct {
    void *data;
    size_t bytes;
} Memory;

static void *take_memory(Memory *memory, size_t bytes)
{
    if (memory->bytes < bytes) {
        free(memory->data);
        memory->data = malloc(bytes);
        memory->bytes = memory->data ? bytes : 0;
    }
    return memory->data;
}

/* Room in `memory` for a regression over `rows` rows with `size` columns. */
static int open_regression(Regression *own, ptrdiff_t size, ptrdiff_t rows, Memory *memory)
{
    const ptrdiff_t stride = rows + LANES, piece = PIECE + LANES, square = size * size;
    const ptrdiff_t few = triangle_length(size + 1) + triangle_length(size) + 4 * size + 3 * square;
    const size_t values = (size_t)((size + 9) * stride + (size + 1) * piece + few);
    double *next = take_memory(
        memory, values * sizeof(double) + (size_t)(3 * size + 3) * sizeof(double *));
    if (!next)
        return -1;
#define TAKE(values) (next += (values), next - (values))
    Trial *trials[2] = {&own->trial, &own->whole};
    for (int k = 0; k < 2; k++) {
        trials[k]->residuals = TAKE(stride);
        trials[k]->coefficients = TAKE(size);
        trials[k]->whitener = TAKE(square);
    }
    own->child = TAKE(stride);
    own->magnitudes = TAKE(stride);
    own->tail.values = TAKE(stride);
    own->search = TAKE(2 * stride);
    own->deviations[0] = TAKE(stride);
    own->deviations[1] = TAKE(stride);
    own->factor.size = size;
    own->factor.packed = TAKE(triangle_length(size + 1));
    own->whole_products = TAKE(triangle_length(size));
    own->factor.lower = TAKE(square);
    own->factor.scales = TAKE(size);
    own->factor.white = TAKE(size);
    own->factor.whitener = own->trial.whitener;
    double *columns = TAKE(size * stride), *kept = TAKE((size + 1) * piece);
#undef TAKE
    own->columns = (double **)next;
    own->kept = own->columns + size + 1;
    own->pieces = (const double **)(own->kept + size + 1);
    for (ptrdiff_t c = 0; c <= size; c++) {
        own->columns[c] = c < size ? columns + c * stride : own->trial.residuals;
        own->kept[c] = kept + c * piece;
    }
    own->rows = rows;
    return 0;
}

static void shift_column(double *column, ptrdiff_t rows, double origin)
{
    for (ptrdiff_t r = 0; r < rows; r++)
        column[r] -= origin;
}

static double median_of(Regression *own, const double *values)
{
    int64_t used;
    return row_median(values, own->rows, own->search, &used);
}

/* Copy the sound rows of the parents and of the child. */
static void take_sound(Regression *own, const Matrix *x, const TrimTask *task,
                       const double *unsound)
{
    const ptrdiff_t constant = task->intercept ? 1 : 0;
    double *residuals = own->columns[own->factor.size];
    own->columns[own->factor.size] = own->child;
    for (ptrdiff_t s = 0; s <= task->size; s++) {
        const int64_t column = s < task->size ? task->parents[s] : task->child;
        own->pieces[s] = (const double *)(x->data + column * x->column_stride);
    }
    keep_rows(unsound, 0.0, own->pieces, task->size + 1, x->rows, own->columns + constant);
    own->columns[own->factor.size] = residuals;
}

/* Fill in child and columns: with an intercept a constant comes first, parents are centred at
 * their means and the child at its median. `unsound` is 0 for the rows to be judged. */
static void fill_regression(Regression *own, const Matrix *x, const TrimTask *task,
                            const double *unsound, double *centres)
{
    const ptrdiff_t constant = task->intercept ? 1 : 0, rows = own->rows;
    take_sound(own, x, task, unsound);
    for (ptrdiff_t r = 0; constant && r < rows; r++)
        own->columns[0][r] = 1.0;
    for (ptrdiff_t s = 0; s < task->size; s++) {
        double *column = own->columns[constant + s];
        centres[s] = constant ? column_sum(column, rows) / (double)rows : 0.0;
        shift_column(column, rows, centres[s]);
    }
    own->reference = constant ? median_of(own, own->child) : 0.0;
    shift_column(own->child, rows, own->reference);
    take_absolute(own->child, rows, own->magnitudes);
    own->typical = median_of(own, own->magnitudes);
    const double rounding = ROUNDING_LEVEL * (own->typical + fabs(own->reference));
    own->smallest = fmax(rounding, DBL_MIN);
}

static double freedom_of(const Regression *own)
{
    return (double)greater(own->rows - own->factor.size, 1);
}

static void copy_trial(const Regression *own, const Trial *from, Trial *to)
{
    const size_t size = (size_t)own->factor.size;
    memcpy(to->coefficients, from->coefficients, size * sizeof(double));
    memcpy(to->whitener, from->whitener, size * size * sizeof(double));
    memcpy(to->residuals, from->residuals, (size_t)own->rows * sizeof(double));
    to->median = from->median;
}

static void return_to(Regression *own, const Trial *trial)
{
    copy_trial(own, trial, &own->trial);
    take_absolute(own->trial.residuals, own->rows, own->magnitudes);
}

/* Begin with all coefficients 0. */
static void clear_trial(Regression *own)
{
    memset(own->trial.coefficients, 0, (size_t)own->factor.size * sizeof(double));
    memcpy(own->trial.residuals, own->child, (size_t)own->rows * sizeof(double));
}

/* Factor what was summed and find the step that it asks for; gives what that explains of the
 * residuals, or -1 if digits are lacking. */
static double explain(Regression *own)
{
    if (!factor_products(&own->factor))
        return -1.0;
    find_whitener(&own->factor);
    return fit_white(&own->factor);
}

/* Sum the products over all rows, and keep those of the columns. */
static void sum_whole(Regression *own)
{
    clear_products(&own->factor);
    add_rows(&own->factor, (const double *const *)own->columns, own->rows);
    own->has_whole = 1;
    memcpy(own->whole_products, own->factor.packed,
           (size_t)triangle_length(own->factor.size) * sizeof(double));
}

/* Sum the products over the rows with |judged| <= limit: those of the columns over all rows less
 * those over the rows left out, if that leaves enough of them to have all digits. */
static void sum_within(Regression *own, const double *judged, double limit)
{
    Factor *factor = &own->factor;
    const double *const *columns = (const double *const *)own->columns;
    int precise = own->has_whole;
    if (precise) {
        sum_others(factor, judged, limit, columns, own->rows, own->pieces, own->kept);
        for (ptrdiff_t c = 0; c < factor->size; c++) {
            const ptrdiff_t place = triangle_length(c + 1) - 1;
            const double all = own->whole_products[place];
            precise = precise && all - factor->packed[place] >= ENOUGH * all;
        }
    }
    if (!precise) {
        sum_kept(factor, judged, limit, columns, own->rows, own->pieces, own->kept);
        return;
    }
    for (ptrdiff_t k = 0; k < triangle_length(factor->size); k++)
        factor->packed[k] = own->whole_products[k] - factor->packed[k];
    fit_within(factor, judged, limit, columns, own->rows);
}

/* The same as `explain`, for the rows with |judged| <= limit. */
static double explain_within(Regression *own, const double *judged, double limit)
{
    if (limit < INFINITY)
        sum_within(own, judged, limit);
    else
        sum_whole(own);
    return explain(own);
}

/* Take the step that was found. */
static void take_step(Regression *own)
{
    Trial *trial = &own->trial;
    add_step(&own->factor, trial->coefficients);
    add_combination((const double *const *)own->columns, own->factor.size, trial->coefficients,
                    -1.0, own->child, own->rows, trial->residuals);
    take_absolute(trial->residuals, own->rows, own->magnitudes);
}

/* The same, and find the median of the absolute residuals. */
static void take_step_to_median(Regression *own)
{
    take_step(own);
    own->trial.median = median_of(own, own->magnitudes);
}

#endif
