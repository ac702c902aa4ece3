/* Trimmed least squares: rounds of rejecting rows and refitting to the others. */
#ifndef GAUSSNET_TRIMMING_H
#define GAUSSNET_TRIMMING_H

#include "robust/steps.h"

/* Rounds of rejecting rows and refitting to the others. */

/* Squares less what is explained of them have all digits if they are at least this share. */
#define REMAINING 0.5

/* What rejecting and refitting has come to: least squares over all rows but those that the trial
 * does without, none if the cutoff is infinite, and the sum of their squared residuals. */
typedef struct {
    double scale, cutoff, squares;
} Trimmed;

static void copy_trial(const Regression *own, const Trial *from, Trial *to)
{
    const size_t size = (size_t)own->factor.size;
    memcpy(to->coefficients, from->coefficients, size * sizeof(double));
    memcpy(to->whitener, from->whitener, size * size * sizeof(double));
    to->median = from->median;
    to->squares = from->squares;
}

/* What least squares over all rows comes to. */
static Trimmed whole_state(const Regression *own)
{
    const double squares = own->whole.squares;
    const double scale = fmax(sqrt(squares / freedom_of(own)), own->smallest);
    return (Trimmed){scale, INFINITY, squares};
}

/* Least squares over all rows, whose residuals are to be found again. */
static void return_to_whole(Regression *own, Trimmed *state)
{
    const size_t length = (size_t)triangle_length(own->factor.size + 1);
    copy_trial(own, &own->whole, &own->trial);
    memcpy(own->sums, own->whole_sums, length * sizeof(double));
    own->fitted = own->whole_fitted;
    own->out.count = 0;
    own->stale = 1;
    own->far.floor = INFINITY;
    *state = whole_state(own);
}

/* The tail of what the far rows have beyond a limit; `body` are the squares of all other rows. */
static void find_far_tail(Regression *own, const double *values, double limit, double body)
{
    find_tail(&own->tail, values, own->far.rows.count, limit);
    own->tail.count = own->rows;
    own->tail.body += body;
}

/* Measure the deviations of rows left out by the error of prediction. */
static void allow_for_prediction(Regression *own)
{
    const Rows *far = &own->far.rows, *out = &own->out;
    ptrdiff_t k = 0;
    for (ptrdiff_t first = 0; first < out->count; first += PIECE) {
        const double *numbers = out->numbers + first;
        const ptrdiff_t count = smaller(PIECE, out->count - first);
        const double *const *kept = gather(own, own->constant, own->factor.size, numbers, count);
        prediction_scales(&own->factor, kept, count, own->spare);
        for (ptrdiff_t j = 0; j < count; j++) {
            while (k < far->count && far->numbers[k] < numbers[j])
                k++;
            if (k < far->count && far->numbers[k] == numbers[j])
                own->deviations[k] /= own->spare[j];
        }
    }
}

/* Absolute residuals of far rows in scales, and the tail of all. */
static void find_deviations(Regression *own, const Trimmed *state)
{
    const FarRows *far = &own->far;
    const double inverse = 1.0 / state->scale;
    reach_down(own, SMALLEST_CUTOFF * state->scale);
    for (ptrdiff_t k = 0; k < far->rows.count; k++)
        own->deviations[k] = fabs(far->residuals[k]) * inverse;
    if (isfinite(state->cutoff) && own->factor.size > 0)
        allow_for_prediction(own);
    find_far_tail(own, own->deviations, SMALLEST_CUTOFF, far->body * inverse * inverse);
}

/* Residuals of far rows after a step; those of the others may have moved by its root. */
static void move_far(Regression *own, double explained)
{
    gather_residuals(own, &own->far.rows, own->far.residuals);
    own->far.floor += sqrt(explained);
    own->stale = 1;
}

/* Least squares over all rows but the next to be left out, those with deviations beyond a limit;
 * gives the sum of their squared residuals, or -1 if digits are lacking. */
static double refit(Regression *own, double limit)
{
    FarRows *far = &own->far;
    const ptrdiff_t size = far->rows.count;
    ptrdiff_t count;
    const double before =
        far->body + core_squares(far->residuals, own->deviations, limit, size, &count);
    const double explained = step_without_next(own, before), squares = before - explained;
    if (explained < 0.0)
        return -1.0;
    if (squares >= REMAINING * before) {
        move_far(own, explained);
        far->body =
            squares - core_squares(far->residuals, own->deviations, limit, size, &count);
        return squares;
    }
    find_residuals(own, NULL);
    overwrite_residuals(own, &own->out, 0.0);
    const double found = column_squares(own->residuals, own->rows);
    restore(own, &own->out);
    return found;
}

static int is_same(const Rows *left, const Rows *right)
{
    return left->count == right->count &&
           !memcmp(left->numbers, right->numbers, (size_t)left->count * sizeof(double));
}

/* Least squares over the rows with deviations within the limit, or over all if that leaves too
 * few or rejects none. Gives 1 if more rounds are needed, 0 if not, -1 if digits are lacking. */
static int trim_round(Regression *own, Trimmed *state, double limit)
{
    const int had_all = !isfinite(state->cutoff);
    const ptrdiff_t size = own->factor.size;
    leave_out_beyond(own, own->deviations, limit);
    const ptrdiff_t count = own->rows - own->next.count;
    if (count == own->rows || count < size + 2) {
        return_to_whole(own, state);
        return !had_all;
    }
    const int changed = had_all || !is_same(&own->out, &own->next);
    if (changed)
        state->squares = refit(own, limit);
    if (state->squares < 0.0)
        return -1;
    const double variance = state->squares / (double)greater(count - size, 1);
    state->scale = fmax(sqrt(variance / truncated_variance(limit)), own->smallest);
    state->cutoff = limit;
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
        const double limit = find_cutoff(&own->tail, gate, level, freedom);
        more = trim_round(own, state, final ? widen_by_band(&own->tail, limit) : limit);
    }
    return more < 0 ? -1 : 0;
}

/* One node of the robust estimator: least squares over the rows that trimming leaves.
 *
 * The steps and their limits are those of gaussnet.methods.robust.trimming, which is the
 * definition. Cross-products that lack the digits for a Cholesky factor are left to it.
 */

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
        find_median(own, guess_median(own));
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
    if (limits->suspected == 0.0) {
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
static void write_rejected(Regression *own, ptrdiff_t all_rows, TrimAnswer *answer)
{
    const Rows *out = &own->out;
    const int is_part = own->rows < all_rows;
    gather_residuals(own, out, answer->residuals);
    for (ptrdiff_t k = 0; k < out->count; k++) {
        const double position = out->numbers[k];
        answer->rejected[k] = (int64_t)(is_part ? own->numbers[(ptrdiff_t)position] : position);
    }
}

/* Write down the answer; a scale of NaN says that digits are lacking. */
static void write_answer(Regression *own, const Trimmed *state, ptrdiff_t all_rows, TrimAnswer *answer)
{
    const size_t size = (size_t)own->factor.size;
    const ptrdiff_t rejected = isfinite(state->cutoff) ? own->out.count : 0;
    if (rejected)
        write_rejected(own, all_rows, answer);
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
    write_answer(own, &state, x->rows, answer);
    if (failed)
        answer->numbers[0] = NAN;
    return 0;
}

#endif
