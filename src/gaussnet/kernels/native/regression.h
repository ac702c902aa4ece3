/* One child and its columns over the rows to be judged. */
#ifndef GAUSSNET_REGRESSION_H
#define GAUSSNET_REGRESSION_H

#include "cutoffs.h"
#include "kept.h"
#include "middle.h"

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

/* A regression over all rows to be judged, and room to work in. */
typedef struct {
    const TrimLimits *limits;
    ptrdiff_t rows;
    int constant;       /* whether the first column is one, which has PIECE rows for all */
    const double **sources;  /* parents and child before they are centred */
    double **rooms;          /* where they go */
    const double **columns;  /* those of the factor, then residuals and child */
    const double **pieces;   /* where a piece of each begins */
    double **kept;      /* room for a piece of each */
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

/* Values that a regression over `rows` rows with `size` columns needs room for. */
static ptrdiff_t regression_room(ptrdiff_t size, ptrdiff_t rows)
{
    const ptrdiff_t stride = rows + LANES, piece = PIECE + LANES, square = size * size;
    return (size + 14) * stride + (size + 2) * piece + 3 * triangle_length(size + 1) +
           4 * size + 3 * square + 5 * (size + 2);
}

/* Share out room for so many values. */
static void share_room(Regression *own, ptrdiff_t size, ptrdiff_t rows, double *next)
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
    next += stride; /* a search has room for two */
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
    own->rooms = (double **)TAKE(size + 2);
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
    double *next = take_memory(memory, (size_t)regression_room(size, rows) * sizeof(double));
    if (!next)
        return -1;
    share_room(own, size, rows, next);
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

#endif
