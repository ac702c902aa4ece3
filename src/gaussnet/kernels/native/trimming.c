/* One node of the robust estimator: least squares over the rows that trimming leaves.
 *
 * The steps and their limits are those of gaussnet.estimate.robust.trimming, which is the
 * definition. Cross-products that lack the digits for a Cholesky factor are left to it.
 */
#include "filling.h"
#include "rounds.h"
#include "start.h"

#define GARBAGE 1e8
#define LOOSE_ROUNDS 8
#define FINAL_ROUNDS 3
#define SPARE_ROWS 3

/* A value of the child beyond which there is garbage; infinite if no value is. */
static double garbage_limit(const Regression *own)
{
    const ptrdiff_t size = own->factor.size;
    const double *child = own->columns[size + 1];
    const double limit = GARBAGE * own->typical;
    double largest = 0.0;
    if (!(own->whole_sums[triangle_length(size + 1) - 1] > limit * limit))
        return INFINITY;
    for (ptrdiff_t r = 0; r < own->rows; r++)
        largest = fabs(child[r]) > largest ? fabs(child[r]) : largest;
    return limit > 0.0 && largest > limit ? limit : INFINITY;
}

/* Sum the products of columns and residuals for a step over the rows without garbage; before the
 * first the residuals are the child. */
static void sum_first(Regression *own, int step, double limit)
{
    const ptrdiff_t size = own->factor.size;
    const double *child = own->columns[size + 1];
    if (step == 0 && !(limit < INFINITY)) {
        const size_t length = (size_t)triangle_length(size + 1) * sizeof(double);
        memcpy(own->factor.packed, own->whole_sums, length);
        return;
    }
    if (step == 0)
        memcpy(own->residuals, child, (size_t)own->rows * sizeof(double));
    sum_within(own, child, fmin(limit, DBL_MAX));
}

/* Least squares over all rows, to all digits; garbage is left out. */
static int first_trial(Regression *own)
{
    const ptrdiff_t size = own->factor.size;
    const double limit = garbage_limit(own);
    const double before = own->whole_sums[triangle_length(size + 1) - 1];
    memset(own->trial.coefficients, 0, (size_t)size * sizeof(double));
    for (int step = 0; step < 2; step++) {
        sum_first(own, step, limit);
        if (explain(own) < 0.0)
            return -1;
        add_step(&own->factor, own->trial.coefficients);
        find_median(own, guess_middle(own));
        own->trial.squares = column_squares(own->residuals, own->rows);
        if (own->factor.pivot > PRECISE && own->trial.squares > PRECISE * before)
            break;
    }
    own->whole_fitted = own->factor.pivot > PRECISE && !(limit < INFINITY);
    own->fitted = own->whole_fitted;
    own->out.count = 0;
    memcpy(own->sums, own->whole_sums, (size_t)triangle_length(size + 1) * sizeof(double));
    copy_trial(own, &own->trial, &own->whole);
    return 0;
}

/* Whether least squares passes the three checks; -1 if digits are lacking. */
static int looks_clean(Regression *own)
{
    const TrimLimits *limits = own->limits;
    const double median = own->trial.median;
    const Checks checks = {own->rows, freedom_of(own), median, limits->spread, limits->gate_level};
    if (!is_narrow(&checks, own->trial.squares))
        return 0;
    reach_down(own, core_limit(&checks));
    find_far_tail(own, own->far.residuals, core_limit(&checks), own->far.body);
    if (!is_gate_shut(&checks, &own->tail))
        return 0;
    if (own->factor.size == 0)
        return 1;
    sum_within(own, own->residuals, median);
    const double explained = explain(own);
    return explained < 0.0 ? -1 : half_statistic(&checks, explained) <= limits->half;
}

/* Whether there is nothing to judge. */
static int is_beyond_judging(const Regression *own)
{
    return own->rows < own->factor.size + SPARE_ROWS || !(own->trial.median > own->smallest);
}

/* Trim the rows of a regression; -1 if digits are lacking. */
static int trim_regression(Regression *own, Trimmed *state)
{
    const TrimLimits *limits = own->limits;
    if (first_trial(own) < 0)
        return -1;
    *state = whole_state(own);
    if (is_beyond_judging(own))
        return 0;
    if (!limits->suspected) {
        const int clean = looks_clean(own);
        copy_trial(own, &own->whole, &own->trial);
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

/* Write down the rows left out, by their numbers among all, and their residuals. */
static void tell_rejected(Regression *own, ptrdiff_t all_rows, TrimAnswer *answer)
{
    const Rows *out = &own->out;
    const int is_part = own->rows < all_rows;
    gather_residuals(own, out, answer->residuals);
    for (ptrdiff_t k = 0; k < out->count; k++) {
        const double place = out->numbers[k];
        answer->rejected[k] = (int64_t)(is_part ? own->numbers[(ptrdiff_t)place] : place);
    }
}

/* Write down the answer; a scale of NaN says that digits are lacking. */
static void tell(Regression *own, const Trimmed *state, ptrdiff_t all_rows, TrimAnswer *answer)
{
    const size_t size = (size_t)own->factor.size;
    const ptrdiff_t rejected = isfinite(state->cutoff) ? own->out.count : 0;
    if (rejected)
        tell_rejected(own, all_rows, answer);
    const double numbers[6] = {state->scale,  state->cutoff,  own->reference,
                               own->smallest, state->squares, (double)(own->rows - rejected)};
    memcpy(answer->numbers, numbers, sizeof numbers);
    memcpy(answer->coefficients, own->trial.coefficients, size * sizeof(double));
    memcpy(answer->whitener, own->trial.whitener, size * size * sizeof(double));
}

/* Trim the sound rows; the regression stays where it is. */
static int trim_rows(const Matrix *x, const TrimTask *task, Regression *own, Memory *memory,
                     TrimAnswer *answer)
{
    Trimmed state = {.scale = NAN};
    const ptrdiff_t size = task->size + (task->intercept ? 1 : 0);
    if (open_regression(own, size, task->row_count, memory) < 0)
        return -1;
    fill_regression(own, x, task, answer->centres);
    const int failed = trim_regression(own, &state) < 0;
    tell(own, &state, x->rows, answer);
    if (failed)
        answer->numbers[0] = NAN;
    return 0;
}

static int trim_family(const Matrix *x, const TrimTask *task, const TrimLimits *limits,
                       TrimAnswer *answer)
{
    Memory memory = {NULL, 0};
    Regression own = {.limits = limits};
    const int status = trim_rows(x, task, &own, &memory, answer);
    free(memory.data);
    return status;
}
