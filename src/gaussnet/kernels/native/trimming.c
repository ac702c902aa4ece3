/* One node of the robust estimator: least squares over the rows that trimming leaves.
 *
 * The steps and their limits are those of gaussnet.estimate.robust.trimming, which is the
 * definition. Cross-products that lack the digits for a Cholesky factor are left to it.
 */
#include "checks.h"

#define GARBAGE 1e8
#define PRECISE 1e-4
#define GROSS 5.0
#define GROSS_ROUNDS 3
#define GROSS_GAIN 0.7
#define MOST_CONCENTRATIONS 40
#define SETTLED 0.1
#define FEWEST_IN_CORE 5
#define INNER_CORE 1.75
#define SHRINKING_ROUNDS 8
#define SHRINKING_GAIN 0.99
#define LOOSE_ROUNDS 8
#define FINAL_ROUNDS 3
#define SPARE_ROWS 3
#define ROUNDING_LEVEL (4.0 * DBL_EPSILON)

/* A trial: coefficients and the factor that they were found with, what they leave of the child,
 * and the median of the absolute residuals. */
typedef struct {
    double *coefficients, *whitener, *residuals;
    double median;
} Trial;

/* A regression over all rows to be judged, and room to work in. */
typedef struct {
    const TrimLimits *limits;
    ptrdiff_t rows;
    double **columns;  /* those of the factor, then the residuals */
    double **kept;     /* room for the kept rows of each */
    double *child, *magnitudes, *deviations, *search;
    double reference, typical, smallest;
    Trial trial, whole, spare;
    Factor factor;
    Tail tail;
} Regression;

/* What rejecting and refitting has come to. */
typedef struct {
    double scale, cutoff;
    int all;              /* whether all rows are kept */
    unsigned char *kept;  /* which, if not */
} Trimmed;

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

/* Least squares over `rows` rows of these columns, from where the trial is; gives what the step
 * explains of the residuals there, or -1 if digits are lacking. */
static double step_over(Regression *own, double *const *columns, ptrdiff_t rows)
{
    int64_t used;
    Factor *factor = &own->factor;
    sum_products(factor, columns, rows);
    if (!factor_products(factor))
        return -1.0;
    find_whitener(factor);
    const double explained = fit_white(factor);
    add_step(factor, own->trial.coefficients);
    add_combination((const double *const *)own->columns, factor->size, own->trial.coefficients,
                    -1.0, own->child, own->rows, own->trial.residuals);
    take_absolute(own->trial.residuals, own->rows, own->magnitudes);
    own->trial.median = row_median(own->magnitudes, own->rows, own->search, &used);
    return explained;
}

/* The same over the rows with |judged| <= limit. */
static double step_within(Regression *own, const double *judged, double limit)
{
    const ptrdiff_t count = keep_rows(judged, limit, (const double *const *)own->columns,
                                      own->factor.size + 1, own->rows, own->kept);
    return step_over(own, own->kept, count);
}

static double median_scale(const Regression *own)
{
    const double share = (double)own->rows / freedom_of(own);
    return fmax(NORMAL_MAD * own->trial.median * sqrt(share), own->smallest);
}

/* Standard deviation of the noise by the squares of all residuals. */
static double whole_scale(const Regression *own)
{
    const double squares = column_squares(own->whole.residuals, own->rows);
    return fmax(sqrt(squares / freedom_of(own)), own->smallest);
}

/* Least squares over all rows, to all digits; garbage is left out. */
static int first_trial(Regression *own)
{
    const double limit = GARBAGE * own->typical;
    const double before = column_squares(own->child, own->rows);
    double largest = 0.0, explained = 0.0;
    for (ptrdiff_t r = 0; r < own->rows; r++)
        largest = fabs(own->child[r]) > largest ? fabs(own->child[r]) : largest;
    clear_trial(own);
    for (int step = 0; step < 2 && explained >= 0.0; step++) {
        if (limit > 0.0 && largest > limit)
            explained = step_within(own, own->child, limit);
        else
            explained = step_over(own, own->columns, own->rows);
        const double squares = column_squares(own->trial.residuals, own->rows);
        if (own->factor.pivot > PRECISE && squares > PRECISE * before)
            break;
    }
    copy_trial(own, &own->trial, &own->whole);
    return explained < 0.0 ? -1 : 0;
}

/* Whether least squares passes the three checks; changes the trial. -1 if digits are lacking. */
static int looks_clean(Regression *own)
{
    const TrimLimits *limits = own->limits;
    const double left = freedom_of(own), median = own->trial.median;
    const Checks checks = {own->rows, left, median, limits->spread, limits->gate_level};
    const double squares = column_squares(own->trial.residuals, own->rows);
    if (!is_narrow(&checks, squares) || !is_gate_shut(&checks, &own->tail, own->magnitudes))
        return 0;
    if (own->factor.size == 0)
        return 1;
    const double explained = step_within(own, own->trial.residuals, median);
    if (explained < 0.0)
        return -1;
    return half_statistic(&checks, explained) <= limits->half;
}

/* Least squares without gross residuals, again while the scale drops. */
static int leave_out_gross(Regression *own)
{
    double scale = median_scale(own);
    const ptrdiff_t fewest = greater(own->rows / 2, own->factor.size + 2);
    for (int round = 0; round < GROSS_ROUNDS; round++) {
        ptrdiff_t count;
        core_squares(own->magnitudes, own->magnitudes, GROSS * scale, own->rows, &count);
        if (count < fewest || count >= own->rows)
            break;
        if (step_within(own, own->trial.residuals, GROSS * scale) < 0.0)
            return -1;
        const double before = scale;
        scale = median_scale(own);
        if (scale > GROSS_GAIN * before)
            break;
    }
    return 0;
}

/* Least squares over the half with the smallest residuals, until that half is stable; gives
 * whether that was needed, or -1 if digits are lacking. */
static int concentrate(Regression *own)
{
    copy_trial(own, &own->trial, &own->spare);
    for (int round = 0; round < MOST_CONCENTRATIONS; round++) {
        const Checks checks = {own->rows, freedom_of(own), own->trial.median, 0.0, 0.0};
        if (!(own->trial.median > own->smallest))
            return round > 0;
        const double explained = step_within(own, own->trial.residuals, own->trial.median);
        if (explained < 0.0)
            return -1;
        const double found = half_statistic(&checks, explained);
        if (round == 0 && found <= own->limits->half) {
            return_to(own, &own->spare);
            return 0;
        }
        if (round >= 2 && found <= SETTLED * (double)own->factor.size)
            break;
    }
    return 1;
}

/* Scale from the residuals within `limit` scales, corrected for the truncation. */
static double core_scale(const Regression *own, double scale, double limit)
{
    ptrdiff_t count;
    const double *values = own->magnitudes;
    const double squares = core_squares(values, values, limit * scale, own->rows, &count);
    if (count < FEWEST_IN_CORE)
        return scale;
    return sqrt(squares / (double)count / truncated_variance(limit));
}

/* The scale that rounds start from, and whether the core holds more than a clean core would. */
static double start_scale(const Regression *own, int *spread)
{
    ptrdiff_t count;
    double scale = median_scale(own);
    const double *values = own->magnitudes;
    const double squares = core_squares(values, values, GROSS * scale, own->rows, &count);
    const double widest = scale * own->limits->spread;
    *spread = squares > (double)count * widest * widest;
    for (int round = 0; *spread && round < SHRINKING_ROUNDS; round++) {
        const double inner = core_scale(own, scale, INNER_CORE);
        if (!(inner < SHRINKING_GAIN * scale))
            break;
        scale = inner;
    }
    for (int round = 0; round < 2; round++)
        scale = fmax(core_scale(own, scale, CORE), own->smallest);
    return scale;
}

/* Absolute residuals in scales; those of rows left out, with the error of prediction. */
static void find_deviations(Regression *own, const Trimmed *state)
{
    for (ptrdiff_t r = 0; r < own->rows; r++)
        own->deviations[r] = own->magnitudes[r] / state->scale;
    for (ptrdiff_t r = 0; !state->all && own->factor.size && r < own->rows; r++)
        if (!state->kept[r])
            own->deviations[r] /= sqrt(
                1.0 + leverage_at(&own->factor, (const double *const *)own->columns, r));
}

/* Mark the rows within the limit; gives whether any is marked otherwise than before. */
static int mark_kept(const Regression *own, unsigned char *kept, double limit)
{
    int changed = 0;
    for (ptrdiff_t r = 0; r < own->rows; r++) {
        const unsigned char stays = own->deviations[r] <= limit;
        changed |= kept[r] ^ stays;
        kept[r] = stays;
    }
    return changed;
}

/* Least squares over the rows within the limit, or over all if that leaves too few or rejects
 * none. Gives 1 if more rounds are needed, 0 if not, -1 if digits are lacking. */
static int trim_round(Regression *own, Trimmed *state, double limit)
{
    ptrdiff_t count;
    const int had_all = state->all;
    core_squares(own->deviations, own->deviations, limit, own->rows, &count);
    if (count == own->rows || count < own->factor.size + 2) {
        return_to(own, &own->whole);
        state->scale = whole_scale(own);
        state->cutoff = INFINITY;
        state->all = 1;
        return !had_all;
    }
    const int changed = mark_kept(own, state->kept, limit) || had_all;
    if (changed && step_within(own, own->deviations, limit) < 0.0)
        return -1;
    const double squares =
        core_squares(own->trial.residuals, own->deviations, limit, own->rows, &count);
    const double freedom = (double)greater(count - own->factor.size, 1);
    state->scale = fmax(sqrt(squares / freedom / truncated_variance(limit)), own->smallest);
    state->cutoff = limit;
    state->all = 0;
    return changed;
}

/* Rounds until the rows no longer change; `final` ones are gated and know the band. */
static int trim_rounds(Regression *own, Trimmed *state, int final, double level, int most)
{
    const TrimLimits *limits = own->limits;
    const double freedom = fmax(freedom_of(own) - 1.0, 2.0);
    const double gate = final ? limits->gate_level : level;
    int more = 1;
    for (int round = 0; more > 0 && round < most; round++) {
        find_deviations(own, state);
        find_tail(&own->tail, own->deviations, own->rows, SMALLEST_CUTOFF);
        const double limit = find_cutoff(&own->tail, gate, level, freedom);
        more = trim_round(own, state, final ? widen_by_band(&own->tail, limit) : limit);
    }
    return more < 0 ? -1 : 0;
}

/* Trim the rows of a regression; -1 if digits are lacking. */
static int trim_regression(Regression *own, Trimmed *state)
{
    const TrimLimits *limits = own->limits;
    if (first_trial(own) < 0)
        return -1;
    state->scale = whole_scale(own);
    state->cutoff = INFINITY;
    state->all = 1;
    if (own->rows < own->factor.size + SPARE_ROWS || !(own->trial.median > own->smallest))
        return 0;
    if (!limits->suspected) {
        const int clean = looks_clean(own);
        return_to(own, &own->whole);
        if (clean)
            return clean < 0 ? -1 : 0;
    }
    int spread, moved = 0;
    if (own->factor.size) {
        if (leave_out_gross(own) < 0)
            return -1;
        moved = concentrate(own);
        if (moved < 0)
            return -1;
    }
    state->scale = start_scale(own, &spread);
    const double level = spread ? limits->wide_level : limits->extent_level;
    if ((moved || spread) && trim_rounds(own, state, 0, level, LOOSE_ROUNDS) < 0)
        return -1;
    return trim_rounds(own, state, 1, limits->extent_level, FINAL_ROUNDS);
}

/* Room for a regression over `rows` rows with `size` columns; what it points to is *memory. */
static int open_regression(Regression *own, ptrdiff_t size, ptrdiff_t rows, void **memory)
{
    const ptrdiff_t stride = rows + LANES, tall = 2 * size + 11, square = size * size;
    const ptrdiff_t few = 3 * (size + square) + triangle_length(size + 1) + square + 2 * size;
    *memory = malloc((size_t)(tall * stride + few) * sizeof(double) +
                     (size_t)(2 * size + 2) * sizeof(double *));
    if (!*memory)
        return -1;
    double *next = (double *)*memory;
#define TAKE(values) (next += (values), next - (values))
    Trial *trials[3] = {&own->trial, &own->whole, &own->spare};
    for (int k = 0; k < 3; k++) {
        trials[k]->residuals = TAKE(stride);
        trials[k]->coefficients = TAKE(size);
        trials[k]->whitener = TAKE(square);
    }
    own->child = TAKE(stride);
    own->magnitudes = TAKE(stride);
    own->deviations = TAKE(stride);
    own->tail.values = TAKE(stride);
    own->search = TAKE(2 * stride);
    own->factor.size = size;
    own->factor.packed = TAKE(triangle_length(size + 1));
    own->factor.lower = TAKE(square);
    own->factor.scales = TAKE(size);
    own->factor.white = TAKE(size);
    own->factor.whitener = own->trial.whitener;
    double *columns = TAKE(size * stride), *kept = TAKE((size + 1) * stride);
#undef TAKE
    own->columns = (double **)next;
    own->kept = own->columns + size + 1;
    for (ptrdiff_t c = 0; c <= size; c++) {
        own->columns[c] = c < size ? columns + c * stride : own->trial.residuals;
        own->kept[c] = kept + c * stride;
    }
    own->rows = rows;
    return 0;
}

/* Copy the wanted rows of a column. */
static void take_rows(const Matrix *x, int64_t column, const TrimTask *task, double *to)
{
    const double *from = (const double *)(x->data + column * x->column_stride);
    for (ptrdiff_t r = 0; r < task->row_count; r++)
        to[r] = from[task->rows[r]];
}

static double median_of(Regression *own, const double *values)
{
    int64_t used;
    return row_median(values, own->rows, own->search, &used);
}

/* Fill in child and columns: with an intercept a constant comes first, parents are centred at
 * their means and the child at its median. */
static void fill_regression(Regression *own, const Matrix *x, const TrimTask *task,
                            double *centres)
{
    const ptrdiff_t constant = task->intercept ? 1 : 0;
    for (ptrdiff_t r = 0; constant && r < own->rows; r++)
        own->columns[0][r] = 1.0;
    for (ptrdiff_t s = 0; s < task->size; s++) {
        double *column = own->columns[constant + s];
        take_rows(x, task->parents[s], task, column);
        centres[s] = constant ? column_sum(column, own->rows) / (double)own->rows : 0.0;
        for (ptrdiff_t r = 0; constant && r < own->rows; r++)
            column[r] -= centres[s];
    }
    take_rows(x, task->child, task, own->child);
    own->reference = constant ? median_of(own, own->child) : 0.0;
    for (ptrdiff_t r = 0; constant && r < own->rows; r++)
        own->child[r] -= own->reference;
    take_absolute(own->child, own->rows, own->magnitudes);
    own->typical = median_of(own, own->magnitudes);
    const double rounding = ROUNDING_LEVEL * (own->typical + fabs(own->reference));
    own->smallest = fmax(rounding, DBL_MIN);
}

static int trim_family(const Matrix *x, const TrimTask *task, const TrimLimits *limits,
                       TrimAnswer *answer)
{
    void *memory;
    Regression own = {.limits = limits};
    Trimmed state = {.kept = answer->kept};
    const ptrdiff_t size = task->size + (task->intercept ? 1 : 0);
    if (open_regression(&own, size, task->row_count, &memory) < 0)
        return -1;
    memset(answer->kept, 1, (size_t)own.rows);
    fill_regression(&own, x, task, answer->centres);
    const int failed = trim_regression(&own, &state) < 0;
    const double numbers[4] = {failed ? NAN : state.scale, state.cutoff, own.reference,
                               own.factor.pivot};
    memcpy(answer->numbers, numbers, sizeof numbers);
    Trial out = {answer->coefficients, answer->whitener, answer->residuals, 0.0};
    copy_trial(&own, &own.trial, &out);
    free(memory);
    return 0;
}
