/* Whether least squares over all rows needs no trimming, family by family. */
#include "checks.h"
#include "middle.h"
#include "tiles.h"

/* Room for the work on one family. */
typedef struct {
    ptrdiff_t rows;
    const double **columns;  /* parents, then the residuals */
    double **kept;
    double *residuals, *magnitudes, *search;
    Factor factor;
    Tail tail;
} ScreenSpace;

static int open_space(ScreenSpace *space, ptrdiff_t most, ptrdiff_t rows, void **memory)
{
    const ptrdiff_t stride = rows + LANES, tall = most + 6, square = most * most;
    const ptrdiff_t few = triangle_length(most + 1) + 2 * square + 2 * most;
    *memory = malloc((size_t)(tall * stride + few) * sizeof(double) +
                     (size_t)(2 * most + 2) * sizeof(double *));
    if (!*memory)
        return -1;
    double *next = (double *)*memory;
#define TAKE(values) (next += (values), next - (values))
    space->rows = rows;
    space->residuals = TAKE(stride);
    space->magnitudes = TAKE(stride);
    space->search = TAKE(2 * stride);
    space->tail.values = TAKE(stride);
    space->factor.packed = TAKE(triangle_length(most + 1));
    space->factor.lower = TAKE(square);
    space->factor.whitener = TAKE(square);
    space->factor.scales = TAKE(most);
    space->factor.white = TAKE(most);
    double *kept = TAKE((most + 1) * stride);
#undef TAKE
    space->columns = (const double **)next;
    space->kept = (double **)next + most + 1;
    for (ptrdiff_t c = 0; c <= most; c++)
        space->kept[c] = kept + c * stride;
    return 0;
}

/* What a step over the half of the rows with the smallest residuals explains of these; NaN if
 * digits are lacking. */
static double explained_half(ScreenSpace *space, double median, int intercept)
{
    Factor *factor = &space->factor;
    const ptrdiff_t side = factor->size + 1;
    const ptrdiff_t count =
        keep_rows(space->residuals, median, space->columns, side, space->rows, space->kept);
    double mean = 0.0;
    for (ptrdiff_t c = 0; intercept && c < side; c++) {
        const double origin = space->kept[c][0];
        mean = origin + subtract_mean(space->kept[c], count, origin);
    }
    clear_products(factor);
    add_rows(factor, (const double *const *)space->kept, count);
    if (!factor_products(factor))
        return NAN;
    find_whitener(factor);
    return fit_white(factor) + (intercept ? (double)count * mean * mean : 0.0);
}

/* 1 if the family passes the checks, 0 if it does not, NaN if digits are lacking. */
static double screen_family(ScreenSpace *space, const Screen *screen, ptrdiff_t f, double left)
{
    int64_t used;
    const ptrdiff_t rows = space->rows;
    for (ptrdiff_t r = 0; screen->intercept && r < rows; r++)
        space->residuals[r] -= screen->intercepts[f];
    take_absolute(space->residuals, rows, space->magnitudes);
    const double median = row_median(space->magnitudes, rows, space->search, &used);
    const Checks checks = {rows, left, median, screen->spread, screen->gate_level};
    if (!(median > 0.0) || !isfinite(screen->squares[f]) ||
        !is_narrow(&checks, screen->squares[f]))
        return 0.0;
    find_tail(&space->tail, space->residuals, rows, core_limit(&checks));
    if (!is_gate_shut(&checks, &space->tail))
        return 0.0;
    if (space->factor.size == 0 && !screen->intercept)
        return 1.0;
    const double explained = explained_half(space, median, screen->intercept);
    if (isnan(explained))
        return NAN;
    return half_statistic(&checks, explained) <= screen->half[f] ? 1.0 : 0.0;
}

static int screen_families(const Matrix *x, const Families *families, const Screen *screen,
                           double *verdicts)
{
    void *memory;
    ScreenSpace space;
    if (open_space(&space, largest_size(families), x->rows, &memory) < 0)
        return -1;
    for (ptrdiff_t f = screen->first; f < screen->last; f++) {
        const ptrdiff_t size = family_size(families, f);
        const int64_t *parents = families->parents + families->offsets[f];
        for (ptrdiff_t s = 0; s < size; s++)
            space.columns[s] = (const double *)(x->data + parents[s] * x->column_stride);
        space.columns[size] = space.residuals;
        space.factor.size = size;
        add_combination(space.columns, size, screen->coefficients + families->offsets[f], -1.0,
                        (const double *)(x->data + families->children[f] * x->column_stride),
                        x->rows, space.residuals);
        const ptrdiff_t parameters = size + (screen->intercept ? 1 : 0);
        verdicts[f] = screen_family(&space, screen, f, (double)greater(x->rows - parameters, 1));
    }
    free(memory);
    return 0;
}
