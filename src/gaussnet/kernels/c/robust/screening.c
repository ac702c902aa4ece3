/* Whether least squares over all rows needs no trimming, family by family. */
#include "robust/cutoffs.h"
#include "medians/medians.h"
#include "core/tiles.h"

/* Families first..last of a screen, and their least squares over all rows. */
typedef struct {
    ptrdiff_t first, last;
    const double *coefficients, *intercepts, *squares;
    const double *half;  /* largest half-sample statistics, (families,) */
    const double *means; /* of parents and child, family after family; 0 without an intercept */
    double spread, gate_level;
    int intercept;
} Screen;

/* A column is centred if its mean exceeds so many standard deviations, by its first rows. */
#define FAR 8.0
#define FEW_ROWS 64

/* space for the work on one family. */
typedef struct {
    ptrdiff_t rows;
    const double **columns;  /* a constant if there is an intercept, then the parents */
    const double **pieces;   /* a piece of each about its mean, then of the residuals */
    double **filled, **kept; /* space for a piece of each */
    double *ones, *slopes, *residuals, *search;
    unsigned char *far; /* which columns are to be centred */
    Factor factor;
    Tail tail;
} ScreenSpace;

/* space for families of up to `most` columns. */
static int open_space(ScreenSpace *space, ptrdiff_t most, ptrdiff_t rows, void **memory)
{
    const ptrdiff_t stride = rows + LANES, piece = PIECE + LANES, square = most * most;
    const ptrdiff_t few = triangle_length(most + 1) + 2 * square + 3 * most;
    *memory = malloc((size_t)(4 * stride + (2 * most + 2) * piece + few) * sizeof(double) +
                     (size_t)(4 * most + 4) * sizeof(double *) + (size_t)most + 1);
    if (!*memory)
        return -1;
    double *next = (double *)*memory;
#define TAKE(values) (next += (values), next - (values))
    space->rows = rows;
    space->residuals = TAKE(stride);
    space->search = TAKE(2 * stride);
    space->tail.values = TAKE(stride);
    space->ones = TAKE(piece);
    space->slopes = TAKE(most);
    space->factor.packed = TAKE(triangle_length(most + 1));
    space->factor.lower = TAKE(square);
    space->factor.whitener = TAKE(square);
    space->factor.scales = TAKE(most);
    space->factor.white = TAKE(most);
    double *pieces = TAKE((2 * most + 1) * piece);
#undef TAKE
    space->columns = (const double **)next;
    space->pieces = space->columns + most + 1;
    space->filled = (double **)(space->pieces + most + 1);
    space->kept = space->filled + most + 1;
    space->far = (unsigned char *)(space->kept + most + 1);
    for (ptrdiff_t c = 0; c <= most; c++) {
        space->kept[c] = pieces + c * piece;
        space->filled[c] = pieces + (most + smaller(c + 1, most)) * piece;
    }
    for (ptrdiff_t r = 0; r < piece; r++)
        space->ones[r] = 1.0;
    return 0;
}

/* Find the columns of family f and what they are to be multiplied by. */
static void take_family(ScreenSpace *space, const Matrix *x, const Families *families,
                        const Screen *screen, ptrdiff_t f)
{
    const ptrdiff_t size = family_size(families, f), constant = screen->intercept ? 1 : 0;
    const int64_t first = families->offsets[f];
    space->columns[0] = space->ones;
    space->slopes[0] = screen->intercepts[f];
    for (ptrdiff_t s = 0; s < size; s++) {
        space->slopes[constant + s] = screen->coefficients[first + s];
        space->columns[constant + s] =
            (const double *)(x->data + families->parents[first + s] * x->column_stride);
    }
    space->factor.size = size + constant;
}

/* Where the columns begin at row `first`; the constant is the same everywhere. */
static void find_pieces(ScreenSpace *space, ptrdiff_t first)
{
    for (ptrdiff_t c = 0; c < space->factor.size; c++)
        space->pieces[c] = space->columns[c] + (space->columns[c] == space->ones ? 0 : first);
}

/* Find the residuals, and which of them lie in the bracket that their median is looked for in. */
static void screen_residuals(ScreenSpace *space, const double *child, SoughtMedian *sought)
{
    for (ptrdiff_t first = 0; first < space->rows; first += PIECE) {
        const ptrdiff_t count = smaller(PIECE, space->rows - first);
        double *residuals = space->residuals + first;
        find_pieces(space, first);
        add_combination(space->pieces, space->factor.size, space->slopes, -1.0, child + first,
                        count, residuals);
        meet_values(sought, residuals, count);
    }
}

static void shift_piece(const double *restrict from, ptrdiff_t count, double origin,
                        double *restrict to)
{
    for (ptrdiff_t r = 0; r < count; r++)
        to[r] = from[r] - origin;
}

/* Whether a column lies so far from 0, beside its spread, that products of it would lose digits;
 * its first rows tell. A constant is fitted too, so that otherwise its position does not matter. */
static int lies_far(const double *column, ptrdiff_t rows, double mean)
{
    const ptrdiff_t count = smaller(FEW_ROWS, rows);
    double squares = 0.0;
    for (ptrdiff_t r = 0; r < count; r++)
        squares += (column[r] - mean) * (column[r] - mean);
    return !(mean * mean * (double)count <= FAR * FAR * squares);
}

/* What a step over the half of the rows with the smallest residuals explains of these; NaN if
 * digits are lacking. `means` are those of the parents. */
static double explained_half(ScreenSpace *space, double median, const double *means,
                             int intercept)
{
    Factor *factor = &space->factor;
    clear_products(factor);
    for (ptrdiff_t c = 1; intercept && c < factor->size; c++)
        space->far[c] = (unsigned char)lies_far(space->columns[c], space->rows, means[c - 1]);
    for (ptrdiff_t first = 0; first < space->rows; first += PIECE) {
        const ptrdiff_t count = smaller(PIECE, space->rows - first);
        find_pieces(space, first);
        for (ptrdiff_t c = 1; intercept && c < factor->size; c++) {
            if (!space->far[c])
                continue;
            shift_piece(space->pieces[c], count, means[c - 1], space->filled[c]);
            space->pieces[c] = space->filled[c];
        }
        space->pieces[factor->size] = space->residuals + first;
        add_within(factor, space->residuals + first, median, space->pieces, count, space->kept);
    }
    if (!factor_products(factor))
        return NAN;
    find_whitener(factor);
    return fit_white(factor);
}

/* The smallest median of absolute residuals with which a sum of squares is not too large. */
static double narrowest_median(const Checks *checks, double squares)
{
    Checks one = *checks;
    one.median = 1.0;
    return sqrt(squares / checks->left) / (scale_by_median(&one) * checks->spread);
}

/* 1 if the family passes the checks, 0 if it does not, NaN if digits are lacking. */
static double screen_family(ScreenSpace *space, const Screen *screen, ptrdiff_t f,
                            const double *child, const double *means)
{
    const ptrdiff_t rows = space->rows;
    const double left = (double)greater(rows - space->factor.size, 1);
    Checks checks = {rows, left, 0.0, screen->spread, screen->gate_level};
    if (!isfinite(screen->squares[f]))
        return 0.0;
    const double least = (1.0 - 1e-9) * narrowest_median(&checks, screen->squares[f]);
    const double most = least * screen->spread * (1.0 + 6.0 / sqrt((double)rows));
    SoughtMedian sought = {rows, {least, most, 0, 0, 0}, space->search};
    screen_residuals(space, child, &sought);
    if (sought.bracket.below > rows / 2)
        return 0.0;
    checks.median = absolute_median(&sought, space->residuals, space->tail.values);
    if (!(checks.median > 0.0) || !is_narrow(&checks, screen->squares[f]))
        return 0.0;
    find_tail(&space->tail, space->residuals, rows, core_limit(&checks));
    if (!is_gate_shut(&checks, &space->tail))
        return 0.0;
    if (space->factor.size == 0)
        return 1.0;
    const double explained = explained_half(space, checks.median, means, screen->intercept);
    if (isnan(explained))
        return NAN;
    return half_statistic(&checks, explained) <= screen->half[f] ? 1.0 : 0.0;
}

static ptrdiff_t screen_families(const Argument *given)
{
    const Matrix *x = &given[0].matrix;
    const Families *families = &given[1].families;
    const Screen screen = {.first = given[2].number, .last = given[3].number,
                           .intercept = (int)given[4].number, .spread = given[5].real,
                           .gate_level = given[6].real, .coefficients = given[7].values,
                           .intercepts = given[8].values, .squares = given[9].values,
                           .half = given[10].values, .means = given[11].values};
    double *verdicts = given[12].values;
    void *memory;
    ScreenSpace space;
    if (screen.last > families->count)
        return REFUSED;
    if (open_space(&space, largest_size(families) + 1, x->rows, &memory) < 0)
        return NO_MEMORY;
    for (ptrdiff_t f = screen.first; f < screen.last; f++) {
        take_family(&space, x, families, &screen, f);
        verdicts[f] = screen_family(
            &space, &screen, f,
            (const double *)(x->data + families->children[f] * x->column_stride),
            screen.means + families->offsets[f] + f);
    }
    free(memory);
    return 0;
}
