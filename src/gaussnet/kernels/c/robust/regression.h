/* A regression of the robust method: its columns and its memory. */
#ifndef GAUSSNET_REGRESSION_H
#define GAUSSNET_REGRESSION_H

#include "robust/cutoffs.h"
#include "robust/factor.h"
#include "medians/medians.h"

/* One node to be trimmed: its columns, and the rows to be judged. */
typedef struct {
    int64_t child;
    const int64_t *parents;
    const unsigned char *sound; /* which rows are to be judged */
    ptrdiff_t size, row_count;
    int intercept;
} TrimTask;

/* The limits of the checks and levels of the cutoffs; `suspected` says that the checks fail. */
typedef struct {
    double gate_level, extent_level, wide_level, spread, half, suspected;
} TrimLimits;

/* What trimming has found. Numbers are scale (NaN if digits are lacking), cutoff, the child's
 * reference, the smallest scale that is not rounding error, and the sum of squared residuals and
 * the number of the rows kept; then the rows rejected and their residuals. */
typedef struct {
    double *numbers, *coefficients, *centres, *whitener, *residuals;
    int64_t *rejected;
} TrimAnswer;

/* What is smaller than this, beside the child's values, is rounding error. */
#define ROUNDING_LEVEL (4.0 * DBL_EPSILON)

/* Coefficients, the factor that they were found with, and the median and the sum of squares of
 * the residuals that they leave. */
typedef struct {
    double *coefficients, *whitener;
    double median, squares;
} Trial;

/* Some rows, ascending. */
typedef struct {
    ptrdiff_t count;
    double *numbers;
} Rows;

/* The rows with absolute residuals beyond a floor, their residuals, and the sum of the squares
 * of all others. */
typedef struct {
    Rows rows;
    double *residuals;
    double floor, body;
} FarRows;

/* A regression over all rows to be judged, and memory to work in. */
typedef struct {
    const TrimLimits *limits;
    ptrdiff_t rows;
    int constant;       /* whether the first column is one, which has PIECE rows for all */
    const double **sources;  /* parents and child before they are centred */
    double **targets;          /* where they go */
    const double **columns;  /* those of the factor, then residuals and child */
    const double **pieces;   /* where a piece of each begins */
    double **kept;      /* space for a piece of each */
    double *filled, *child, *residuals, *search, *spare;
    double *numbers;    /* of the rows among all, if some of these are not to be judged */
    double reference, typical, smallest;
    Trial trial, whole;
    Rows out;           /* the rows that the trial does without */
    Rows next, gone, back;
    FarRows far;
    double *sums;       /* products of columns and residuals over the rows of the trial, packed */
    double *whole_sums; /* of columns and child over all rows */
    int fitted, whole_fitted; /* whether products with residuals are 0 but for rounding */
    int stale;          /* whether only the residuals of far rows are those of the trial */
    Factor factor;
    Tail tail;
    double *deviations;
} Regression;

/* Values that a regression over `rows` rows with `size` columns needs space for. */
static ptrdiff_t regression_values(ptrdiff_t size, ptrdiff_t rows)
{
    const ptrdiff_t stride = rows + LANES, piece = PIECE + LANES, square = size * size;
    return (size + 14) * stride + (size + 2) * piece + 3 * triangle_length(size + 1) +
           4 * size + 3 * square + 5 * (size + 2);
}

/* Share out space for so many values. */
static void share_memory(Regression *own, ptrdiff_t size, ptrdiff_t rows, double *next)
{
    const ptrdiff_t stride = rows + LANES, piece = PIECE + LANES, square = size * size;
#define TAKE(values) (next += (values), next - (values))
    double **lists[13] = {&own->child,          &own->residuals,     &own->spare,
                          &own->out.numbers,    &own->next.numbers,  &own->gone.numbers,
                          &own->back.numbers,   &own->far.residuals, &own->far.rows.numbers,
                          &own->tail.values,    &own->deviations,    &own->numbers,
                          &own->search};
    for (int k = 0; k < 13; k++)
        *lists[k] = TAKE(stride);
    next += stride; /* a search has space for two */
    Trial *trials[2] = {&own->trial, &own->whole};
    for (int k = 0; k < 2; k++) {
        trials[k]->coefficients = TAKE(size);
        trials[k]->whitener = TAKE(square);
    }
    own->factor.packed = TAKE(triangle_length(size + 1));
    own->sums = TAKE(triangle_length(size + 1));
    own->whole_sums = TAKE(triangle_length(size + 1));
    own->factor.lower = TAKE(square);
    own->factor.scales = TAKE(size);
    own->factor.white = TAKE(size);
    own->filled = TAKE(size * stride);
    double *kept = TAKE((size + 2) * piece);
    own->sources = (const double **)TAKE(size + 2);
    own->targets = (double **)TAKE(size + 2);
    own->columns = (const double **)TAKE(size + 2);
    own->pieces = (const double **)TAKE(size + 2);
    own->kept = (double **)TAKE(size + 2);
#undef TAKE
    for (ptrdiff_t c = 0; c < size + 2; c++)
        own->kept[c] = kept + c * piece;
    own->factor.size = size;
    own->factor.whitener = own->trial.whitener;
    own->rows = rows;
}

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
    double *next = take_memory(memory, (size_t)regression_values(size, rows) * sizeof(double));
    if (!next)
        return -1;
    share_memory(own, size, rows, next);
    return 0;
}

/* Where a piece of each column begins. */
static const double **find_piece(Regression *own, ptrdiff_t first)
{
    for (ptrdiff_t c = 0; c < own->factor.size + 2; c++)
        own->pieces[c] = own->columns[c] + (own->constant && c == 0 ? 0 : first);
    return own->pieces;
}

/* to[k] = values[numbers[k]]. */
static void pick(const double *values, const double *numbers, ptrdiff_t count, double *to)
{
    ptrdiff_t k = 0;
    for (; k + 4 <= count; k += 4)
        UNROLL for (int u = 0; u < 4; u++)
            to[k + u] = values[(ptrdiff_t)numbers[k + u]];
    for (; k < count; k++)
        to[k] = values[(ptrdiff_t)numbers[k]];
}

/* Copy up to PIECE rows of columns first .. last. */
static const double *const *gather(Regression *own, ptrdiff_t first, ptrdiff_t last,
                                   const double *numbers, ptrdiff_t count)
{
    for (ptrdiff_t c = first; c < last; c++)
        pick(own->columns[c], numbers, count, own->kept[c]);
    return (const double *const *)own->kept;
}

/* Copy up to PIECE rows of all columns and the child, and find their residuals. */
static const double *const *gather_rows(Regression *own, const double *numbers, ptrdiff_t count)
{
    const ptrdiff_t size = own->factor.size;
    const double *const *kept = gather(own, own->constant, size, numbers, count);
    gather(own, size + 1, size + 2, numbers, count);
    add_combination(kept, size, own->trial.coefficients, -1.0, kept[size + 1], count,
                    own->kept[size]);
    return kept;
}

/* The residuals of some rows. */
static void gather_residuals(Regression *own, const Rows *rows, double *to)
{
    for (ptrdiff_t first = 0; first < rows->count; first += PIECE) {
        const ptrdiff_t count = smaller(PIECE, rows->count - first);
        const double *const *kept = gather_rows(own, rows->numbers + first, count);
        memcpy(to + first, kept[own->factor.size], (size_t)count * sizeof(double));
    }
}

static double freedom_of(const Regression *own)
{
    return (double)greater(own->rows - own->factor.size, 1);
}

/* The columns of a regression: sound rows, centred where there is a constant. */

/* Copy the sound rows of a few columns, and their numbers. */
INLINE void keep_sound(const unsigned char *sound, const double *const *from, const int count,
                       ptrdiff_t rows, double *const *to, double *numbers)
{
    const double *source[MOST_COPIED];
    double *kept[MOST_COPIED];
    UNROLL for (int c = 0; c < count; c++) {
        source[c] = from[c];
        kept[c] = to[c];
    }
    Lanes next = count_lanes();
    ptrdiff_t at = 0, r = 0;
    for (; r + LANES <= rows; r += LANES) {
        const unsigned marks = load_marks(sound + r);
        UNROLL for (int c = 0; c < count; c++)
            store_marked(kept[c] + at, load(source[c] + r), marks);
        at += store_marked(numbers + at, next, marks);
        next += broadcast((double)LANES);
    }
    for (; r < rows; r++) {
        UNROLL for (int c = 0; c < count; c++)
            kept[c][at] = source[c][r];
        numbers[at] = (double)r;
        at += sound[r];
    }
}

/* Copy the sound rows of any number of columns, and their numbers. */
static void keep_all_sound(const unsigned char *sound, const double *const *from,
                           ptrdiff_t count, ptrdiff_t rows, double *const *to, double *numbers)
{
#define KEEP(count) keep_sound(sound, from + c, count, rows, to + c, numbers)
    for (ptrdiff_t c = 0; c < count; c += MOST_COPIED)
        switch (smaller(count - c, MOST_COPIED)) {
        case 1: KEEP(1); break;
        case 2: KEEP(2); break;
        case 3: KEEP(3); break;
        default: KEEP(4); break;
        }
#undef KEEP
}

/* Point to the sound rows of the parents and of the child; they are copied if some are not. */
static void take_sound(Regression *own, const Matrix *x, const TrimTask *task)
{
    const ptrdiff_t size = own->factor.size, constant = own->constant, count = task->size + 1;
    double **to = own->targets;
    for (ptrdiff_t s = 0; s < count; s++) {
        const int64_t column = s < task->size ? task->parents[s] : task->child;
        own->sources[s] = (const double *)(x->data + column * x->column_stride);
        to[s] = s < task->size ? own->filled + s * (own->rows + LANES) : own->child;
    }
    if (own->rows < x->rows) {
        keep_all_sound(task->sound, own->sources, count, x->rows, to, own->numbers);
        memcpy(own->sources, to, (size_t)count * sizeof *to);
    }
    for (ptrdiff_t s = 0; s < count; s++)
        own->columns[s < task->size ? constant + s : size + 1] =
            constant ? to[s] : own->sources[s];
    own->columns[size] = own->residuals;
    if (constant)
        own->columns[0] = own->kept[0];
    for (ptrdiff_t k = 0; constant && k < PIECE + LANES; k++)
        own->kept[0][k] = 1.0;
}

/* to = from - origin. */
static void shift(const double *from, ptrdiff_t rows, double origin, double *to)
{
    const Lanes less = broadcast(origin);
    ptrdiff_t r = 0;
    for (; r + 4 * LANES <= rows; r += 4 * LANES)
        UNROLL for (int u = 0; u < 4; u++)
            store(to + r + u * LANES, load(from + r + u * LANES) - less);
    for (; r < rows; r++)
        to[r] = from[r] - origin;
}

/* Centre parents and child. */
static void centre_piece(const Regression *own, ptrdiff_t first, ptrdiff_t rows,
                         const double *centres)
{
    const ptrdiff_t count = own->factor.size;
    for (ptrdiff_t s = 0; s < count; s++)
        shift(own->sources[s] + first, rows, s < count - 1 ? centres[s] : own->reference,
              own->targets[s] + first);
}

/* Where the median absolute value of the child should be. */
static Bracket guess_typical(const Regression *own)
{
    double sample[MOST_SAMPLES + LANES];
    const double *child = own->sources[own->factor.size - own->constant];
    const ptrdiff_t size = sample_size(own->rows);
    for (ptrdiff_t k = 0; k < size; k++)
        sample[k] = fabs(child[sample_index(k, size, own->rows)] - own->reference);
    return bracket_of_sample(sample, size, 0.5, 0);
}

/* Centre the columns, sum their products and find the median absolute value of the child. */
static void fill_pieces(Regression *own, const double *centres)
{
    const ptrdiff_t size = own->factor.size;
    SoughtMedian sought = {own->rows, guess_typical(own), own->search};
    clear_products(&own->factor);
    for (ptrdiff_t first = 0; first < own->rows; first += PIECE) {
        const ptrdiff_t rows = smaller(PIECE, own->rows - first);
        if (own->constant)
            centre_piece(own, first, rows, centres);
        find_piece(own, first);
        own->pieces[size] = own->pieces[size + 1];
        add_rows(&own->factor, own->pieces, rows);
        meet_values(&sought, own->pieces[size], rows);
    }
    const size_t length = (size_t)triangle_length(size + 1);
    memcpy(own->whole_sums, own->factor.packed, length * sizeof(double));
    own->typical = absolute_median(&sought, own->columns[size + 1], own->spare);
}

/* Fill in child and columns: with an intercept a constant comes first, parents are centred at
 * their means and the child at its median. */
static void fill_regression(Regression *own, const Matrix *x, const TrimTask *task,
                            double *centres)
{
    int64_t used;
    own->constant = task->intercept ? 1 : 0;
    take_sound(own, x, task);
    for (ptrdiff_t s = 0; s < task->size; s++)
        centres[s] = own->constant
                         ? column_sum(own->sources[s], own->rows) / (double)own->rows
                         : 0.0;
    const double *child = own->sources[task->size];
    own->reference = own->constant ? row_median(child, own->rows, own->search, &used) : 0.0;
    fill_pieces(own, centres);
    const double rounding = ROUNDING_LEVEL * (own->typical + fabs(own->reference));
    own->smallest = fmax(rounding, DBL_MIN);
}

#endif
