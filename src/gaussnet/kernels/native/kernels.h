/* What the kernels share: the shapes of their arguments and the table that names them all.
 *
 * The sources of the kernels are compiled once for every kind of processor (see baseline.c and
 * avx2.c). Each build ends in one table of functions, and module.c picks a table at import.
 */
#ifndef GAUSSNET_KERNELS_H
#define GAUSSNET_KERNELS_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Rows of data as they came: strides in bytes, of either sign; `single` says float32. */
typedef struct {
    char *data;
    ptrdiff_t rows, columns;
    ptrdiff_t row_stride, column_stride;
    int single;
} Matrix;

/* Family f has the child children[f] and the parents parents[offsets[f] .. offsets[f + 1]]. */
typedef struct {
    ptrdiff_t count;
    const int64_t *children, *offsets, *parents;
} Families;

/* Which windows of a page to solve: those that begin in rows start..stop and fit the page. A
 * family with p parents has windows of p + extra_rows rows, one every row if `sliding`, else
 * one after the other; `centre` removes the mean or the first row, as the kernel says. */
typedef struct {
    ptrdiff_t start, stop, extra_rows;
    int sliding, centre;
} Windows;

/* The windows of one height: numbers first..last, `step` rows apart. */
typedef struct {
    ptrdiff_t first, last, step;
} WindowRange;

/* Rows of values in parts: row r of part k begins at data[k] + r * lengths[k]. */
typedef struct {
    ptrdiff_t count, rows;
    ptrdiff_t total; /* values of a row in all parts */
    const double *const *data;
    const ptrdiff_t *lengths;
} Parts;

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

/* A column, and the equation that judges it. */
typedef struct {
    int64_t child;
    const int64_t *parents;
    ptrdiff_t size;
    const int64_t *doubted; /* rows with a suspicious parent, ascending */
    const int64_t *places;  /* where each row stands among them, or -1 */
    ptrdiff_t doubted_count;
    const int64_t *rejected; /* which other rows were rejected, ascending */
    const double *residuals; /* of those */
    ptrdiff_t rejected_count;
    /* Suspicious cells of parent s: firsts[s] .. lasts[s], by row. */
    const int64_t *firsts, *lasts, *cell_rows;
    const double *cell_expected, *cell_variances;
    /* Of the constant, if there is one, and of the parents; `rank` rows of the whitener. */
    const double *coefficients, *centres, *whitener;
    ptrdiff_t width, rank;
    double reference, scale, limit, cleaned_cutoff, largest_vagueness, cap;
} JudgeTask;

/* The suspicious cells of a column by row; rows left out; those of them that agree with the
 * parents as recorded; and the evidence of the doubted rows, together and as far as it counts as
 * testimony on the parents' cells. */
typedef struct {
    int64_t *rows, *left_out, *events;
    unsigned char *statuses;
    double *expected, *variances, *deviations, *spoken;
    ptrdiff_t cell_count, left_count, event_count;
    double evidence;
} Judged;

/* The levels and limits of a walk; `bonferroni` is the largest cutoff. */
typedef struct {
    double gate_level, extent_level, wide_level, spread_limit;
    double bonferroni, cleaned_cutoff, largest_vagueness, cap, evidence;
} WalkLimits;

/* Nodes to be learnt, parents first, and what is known of them before. */
typedef struct {
    const Families *families; /* family f is that of node f, in column f */
    const int64_t *nodes;
    ptrdiff_t count;
    int intercept;
    int mean_square; /* whether the variance is that of all rows with sound parents */
    const WalkLimits *limits;
    const double *half;            /* largest half-sample statistics, (nodes,) */
    const double *farthest;        /* how far readmitted rows may move coefficients, (nodes,) */
    const unsigned char *verdicts; /* IS_CLEAN, HAS_FAILED, IS_HOLED, IS_DISCRETE, (nodes,) */
} Walk;

/* Least squares over all rows looks clean; it fails the checks; a cell of the node is missing; its
 * column has few values, so that it is left to the caller. */
#define IS_CLEAN 1
#define HAS_FAILED 2
#define IS_HOLED 4
#define IS_DISCRETE 8

/* What is learnt of the nodes, (nodes,) each; the coefficients are (edges,). */
typedef struct {
    double *coefficients, *intercepts, *variances, *noise, *cutoffs;
    int64_t *used, *ranks, *returned;
} Learnt;

/* Suspicious cells and rows left out of all nodes: those of node f are firsts[f] .. lasts[f] and
 * left_firsts[f] .. left_lasts[f]. There is room for `room` of each. */
typedef struct {
    int64_t *firsts, *lasts, *left_firsts, *left_lasts;
    int64_t *rows, *left_out;
    unsigned char *statuses;
    double *expected, *variances, *deviations, *testimony;
    ptrdiff_t room;
} CellTable;

/* How far a walk has come: cells and rows left out in the table, nodes done, and whether it
 * stopped for want of room. */
typedef struct {
    int64_t cells, left_out, nodes, is_full;
} Progress;

/* Families first..last of a screen, and their least squares over all rows. */
typedef struct {
    ptrdiff_t first, last;
    const double *coefficients, *intercepts, *squares;
    const double *half;  /* largest half-sample statistics, (families,) */
    const double *means; /* of parents and child, family after family; 0 without an intercept */
    double spread, gate_level;
    int intercept;
} Screen;

/* What trimming has found. Numbers are scale (NaN if digits are lacking), cutoff, the child's
 * reference, the smallest scale that is not rounding error, and the sum of squared residuals and
 * the number of the rows kept; then the rows rejected and their residuals. */
typedef struct {
    double *numbers, *coefficients, *centres, *whitener, *residuals;
    int64_t *rejected;
} TrimAnswer;

/* Brackets of rows of values, one a row, and what a split by them gives: counts of 4 places a
 * row, the largest value below, the values inside and where those of each row start. */
typedef struct {
    const double *lows, *highs;
    int64_t *counts;
    double *largest, *kept;
    int64_t *kept_starts;
} Brackets;

/* A sample of rows of values, (rows, count): value places[j] of each row, one of each `stride`
 * successive ones. */
typedef struct {
    const int64_t *places;
    ptrdiff_t count, stride;
    double *values;
} Draw;

/* Rows of values that are sifted run by run: brackets, both ends of which belong to them; how
 * many values lie below and above; and the values inside. The runs come row after row, tile
 * after tile; run k of the kept values begins at starts[k]. */
typedef struct {
    const double *lows, *highs;
    int64_t *below, *above;
    double *kept;
    ptrdiff_t room; /* values that `kept` has room for; more are counted but not kept */
    int64_t *starts;
    ptrdiff_t runs; /* so far */
    double *spare;  /* room for the longest run, and LANES more */
} Sieve;

/* What calls have sifted out of the same rows: run t * rows + r of a part is of row r. */
typedef struct {
    ptrdiff_t count, rows;
    const double *const *kept;
    const int64_t *const *starts;
    const ptrdiff_t *tiles;
} Sifted;

/* Values that a kernel may write beyond what it keeps. */
#define MOST_LANES 8

/* A pivot of a unit-diagonal Gram matrix below this costs a solution more than six digits. */
#define WELL_CONDITIONED 1e-6
/* A pivot this small beside its column is rounding error. */
#define SINGULAR 1e-14

/* Every kernel that needs scratch memory gives 0, or -1 if there is none to be had. */
typedef struct {
    const char *name;
    int (*all_finite)(const Matrix *x);
    int (*copy_finite)(const double *from, ptrdiff_t count, double *to);
    int (*family_moments)(const Matrix *x, const Families *families, int centre, double *means,
                          double *products);
    int (*solve_moments)(const Families *families, const double *products, double *coefficients,
                         double *squares, double *pivots);
    int (*upper_triangles)(const Families *families, const double *products,
                           const unsigned char *lost, double *uppers);
    int (*solve_triangles)(ptrdiff_t count, ptrdiff_t size, const double *uppers,
                           const double *right, double *out);
    int (*batch_solutions)(const Matrix *page, const Families *families, const Windows *windows,
                           double *solutions);
    int (*square_solutions)(const Matrix *page, const Families *families,
                            const Windows *windows, double *solutions);
    ptrdiff_t (*tile_rows)(ptrdiff_t columns, int for_windows);
    int (*sift_solutions)(const Matrix *page, const Families *families, const Windows *windows,
                          const double *turns, const Draw *draw, Sieve *sieve);
    int (*sift_residuals)(const Matrix *x, const Families *families, const double *coefficients,
                          const double *centres, Sieve *sieve);
    int (*sifted_ranks)(const Sifted *sifted, const int64_t *low_ranks,
                        const int64_t *high_ranks, double *at_low, double *at_high);
    int (*split_sifted)(const Sifted *sifted, const Brackets *brackets);
    int (*row_medians)(const Matrix *values, double *medians, int64_t *used);
    int (*joined_medians)(const Parts *parts, ptrdiff_t size, const double *turns,
                          double *medians, int64_t *used);
    int (*joined_spreads)(const Parts *parts, double *medians, double *deviations);
    int (*residuals)(const Matrix *x, const Families *families, const double *coefficients,
                     double *out);
    int (*residual_moments)(const Matrix *x, const Families *families,
                            const double *coefficients, double *means, double *squares);
    int (*propagate)(const Matrix *rows, const Families *families, const int64_t *order,
                     ptrdiff_t order_count, const double *coefficients);
    int (*turn_columns)(const Matrix *x, double *out);
    int (*screen_families)(const Matrix *x, const Families *families, const Screen *screen,
                           double *verdicts);
    int (*judge_rows)(const Matrix *x, JudgeTask *task, const unsigned char *sound,
                      Judged *judged, double *testimony);
    int (*learn_nodes)(const Matrix *x, const Walk *walk, const CellTable *known, Learnt *learnt,
                       CellTable *found, Progress *progress);
    ptrdiff_t (*list_parents)(const Families *families, const CellTable *table,
                              const double *reach, ptrdiff_t rows, int64_t *keys);
    int (*find_cells)(const CellTable *table, const int64_t *nodes, const int64_t *rows,
                      ptrdiff_t count, int64_t *places);
    int (*trim_family)(const Matrix *x, const TrimTask *task, const TrimLimits *limits,
                       TrimAnswer *answer);
    int (*split_rows)(const double *values, const int64_t *starts, ptrdiff_t rows,
                      const Brackets *brackets);
} Kernels;

extern const Kernels kernels_baseline;
#if defined(__x86_64__) && defined(__GNUC__)
#define GAUSSNET_HAS_AVX2 1
extern const Kernels kernels_avx2;
#endif

/* Helpers are merged into every build's own code, so that they are compiled for its processor. */
#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline, unused))
#define NOT_INLINE __attribute__((noinline))
#else
#define INLINE static inline
#define NOT_INLINE
#endif

INLINE ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
INLINE ptrdiff_t greater(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

/* Number of parents of family f. */
INLINE ptrdiff_t family_size(const Families *families, ptrdiff_t f)
{
    return (ptrdiff_t)(families->offsets[f + 1] - families->offsets[f]);
}

/* Length of the packed lower triangle of a matrix with `side` rows. */
INLINE ptrdiff_t triangle_length(ptrdiff_t side) { return side * (side + 1) / 2; }

/* Rows of a window of a family with `size` parents. */
INLINE ptrdiff_t window_height(const Windows *windows, ptrdiff_t size)
{
    return size + windows->extra_rows + (windows->centre ? 1 : 0);
}

/* The windows of `height` rows that begin in rows start..stop and fit the page. */
INLINE WindowRange window_range(ptrdiff_t start, ptrdiff_t stop, ptrdiff_t page_rows,
                                ptrdiff_t height, int sliding)
{
    WindowRange range;
    range.step = sliding ? 1 : height;
    range.first = (start + range.step - 1) / range.step;
    range.last = (stop + range.step - 1) / range.step;
    ptrdiff_t fitting = sliding ? page_rows - height + 1 : page_rows / height;
    range.last = greater(range.first, smaller(range.last, fitting));
    return range;
}

#endif
