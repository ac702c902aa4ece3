/* Rounds of rejecting rows and refitting to the others. */
#ifndef GAUSSNET_ROUNDS_H
#define GAUSSNET_ROUNDS_H

#include "steps.h"

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
    silence(own, &own->out, 0.0);
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

#endif
