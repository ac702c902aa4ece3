/* One node of the robust estimator: least squares over the rows that trimming leaves.
 *
 * The steps and their limits are those of gaussnet.estimate.robust.trimming, which is the
 * definition. Cross-products that lack the digits for a Cholesky factor are left to it.
 */
#include "start.h"

#define GARBAGE 1e8
#define PRECISE 1e-4
#define LOOSE_ROUNDS 8
#define FINAL_ROUNDS 3
#define SPARE_ROWS 3

/* What rejecting and refitting has come to: rows with deviations up to the cutoff are kept, all
 * if it is infinite. */
typedef struct {
    double scale, cutoff;
    double *deviations, *spare;
} Trimmed;

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
    double largest = 0.0;
    for (ptrdiff_t r = 0; before > limit * limit && r < own->rows; r++)
        largest = fabs(own->child[r]) > largest ? fabs(own->child[r]) : largest;
    clear_trial(own);
    for (int step = 0; step < 2; step++) {
        const double farthest = limit > 0.0 && largest > limit ? limit : INFINITY;
        if (explain_within(own, own->child, farthest) < 0.0)
            return -1;
        take_step(own);
        const double squares = column_squares(own->trial.residuals, own->rows);
        if (own->factor.pivot > PRECISE && squares > PRECISE * before)
            break;
    }
    own->trial.median = median_of(own, own->magnitudes);
    copy_trial(own, &own->trial, &own->whole);
    return 0;
}

/* Whether least squares passes the three checks; -1 if digits are lacking. */
static int looks_clean(Regression *own)
{
    const TrimLimits *limits = own->limits;
    const double median = own->trial.median;
    const Checks checks = {own->rows, freedom_of(own), median, limits->spread, limits->gate_level};
    const double squares = column_squares(own->trial.residuals, own->rows);
    if (!is_narrow(&checks, squares) || !is_gate_shut(&checks, &own->tail, own->magnitudes))
        return 0;
    if (own->factor.size == 0)
        return 1;
    const double explained = explain_within(own, own->trial.residuals, median);
    return explained < 0.0 ? -1 : half_statistic(&checks, explained) <= limits->half;
}

/* Absolute residuals in scales; those of rows left out, with the error of prediction. */
static void find_deviations(const Regression *own, Trimmed *state)
{
    const ptrdiff_t rows = own->rows;
    const double inverse = 1.0 / state->scale, cutoff = state->cutoff;
    const double *before = state->deviations;
    double *found = state->spare;
    for (ptrdiff_t r = 0; r < rows; r++)
        found[r] = own->magnitudes[r] * inverse;
    if (!isfinite(cutoff) || own->factor.size == 0)
        return;
    for (ptrdiff_t first = 0; first < rows; first += LANES) {
        const ptrdiff_t last = smaller(first + LANES, rows);
        if (last - first == LANES &&
            holds_everywhere(is_at_least(broadcast(cutoff), load(before + first))))
            continue;
        for (ptrdiff_t r = first; r < last; r++)
            if (!(before[r] <= cutoff))
                found[r] /= sqrt(
                    1.0 + leverage_at(&own->factor, (const double *const *)own->columns, r));
    }
}

/* Whether two cutoffs of two sorts of deviations keep different rows. */
static int keep_different(const double *left, double left_limit, const double *right,
                          double right_limit, ptrdiff_t rows)
{
    int64_t different = 0;
    for (ptrdiff_t r = 0; r < rows; r++)
        different |= (int64_t)(left[r] <= left_limit) ^ (int64_t)(right[r] <= right_limit);
    return different != 0;
}

/* Least squares over the rows with spare deviations within the limit, or over all if that leaves
 * too few or rejects none. Gives 1 if more rounds are needed, 0 if not, -1 if digits are lacking. */
static int trim_round(Regression *own, Trimmed *state, double limit)
{
    const int had_all = !isfinite(state->cutoff);
    const ptrdiff_t rows = own->rows;
    double *deviations = state->spare;
    ptrdiff_t count;
    core_squares(deviations, deviations, limit, rows, &count);
    if (count == rows || count < own->factor.size + 2) {
        return_to(own, &own->whole);
        state->scale = whole_scale(own);
        state->cutoff = INFINITY;
        return !had_all;
    }
    const int changed =
        had_all || keep_different(deviations, limit, state->deviations, state->cutoff, rows);
    if (changed) {
        if (explain_within(own, deviations, limit) < 0.0)
            return -1;
        take_step(own);
    }
    const double squares = core_squares(own->trial.residuals, deviations, limit, rows, &count);
    const double freedom = (double)greater(count - own->factor.size, 1);
    state->scale = fmax(sqrt(squares / freedom / truncated_variance(limit)), own->smallest);
    state->cutoff = limit;
    state->spare = state->deviations;
    state->deviations = deviations;
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
        find_tail(&own->tail, state->spare, own->rows, SMALLEST_CUTOFF);
        const double limit = find_cutoff(&own->tail, gate, level, freedom);
        more = trim_round(own, state, final ? widen_by_band(&own->tail, limit) : limit);
    }
    return more < 0 ? -1 : 0;
}

/* Trim the rows of a regression; -1 if digits are lacking. */
static int trim_regression(Regression *own, Trimmed *state)
{
    const TrimLimits *limits = own->limits;
    state->cutoff = INFINITY;
    if (first_trial(own) < 0)
        return -1;
    state->scale = whole_scale(own);
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

/* The first row from r on that is not to be judged. */
static ptrdiff_t next_unsound(const TrimTask *task, ptrdiff_t all_rows, ptrdiff_t r)
{
    const unsigned char *found =
        r < all_rows ? memchr(task->sound + r, 0, (size_t)(all_rows - r)) : NULL;
    return found ? found - task->sound : all_rows;
}

/* Write down the rows beyond the cutoff and their residuals. */
static void tell_rejected(const Regression *own, const Trimmed *state, const TrimTask *task,
                          ptrdiff_t all_rows, TrimAnswer *answer)
{
    const double *deviations = state->deviations;
    ptrdiff_t rejected = 0, skipped = 0, unsound = next_unsound(task, all_rows, 0);
    for (ptrdiff_t place = 0; place < own->rows; place++) {
        if (place + LANES <= own->rows &&
            holds_everywhere(is_at_least(broadcast(state->cutoff), load(deviations + place)))) {
            place += LANES - 1;
            continue;
        }
        if (deviations[place] <= state->cutoff)
            continue;
        for (; unsound <= place + skipped; skipped++)
            unsound = next_unsound(task, all_rows, unsound + 1);
        answer->rejected[rejected] = place + skipped;
        answer->residuals[rejected++] = own->trial.residuals[place];
    }
}

/* Write down the answer; a scale of NaN says that digits are lacking. */
static void tell(const Regression *own, const Trimmed *state, const TrimTask *task,
                 ptrdiff_t all_rows, TrimAnswer *answer)
{
    const size_t size = (size_t)own->factor.size;
    const int all = !isfinite(state->cutoff);
    ptrdiff_t used = own->rows;
    double squares;
    if (all) {
        squares = column_squares(own->trial.residuals, own->rows);
    } else {
        squares = core_squares(own->trial.residuals, state->deviations, state->cutoff, own->rows,
                               &used);
        tell_rejected(own, state, task, all_rows, answer);
    }
    const double numbers[6] = {state->scale,  state->cutoff, own->reference,
                               own->smallest, squares,       (double)used};
    memcpy(answer->numbers, numbers, sizeof numbers);
    memcpy(answer->coefficients, own->trial.coefficients, size * sizeof(double));
    memcpy(answer->whitener, own->trial.whitener, size * size * sizeof(double));
}

/* Trim the rows with `unsound` 0; the regression stays where it is. */
static int trim_rows(const Matrix *x, const TrimTask *task, const double *unsound,
                     Regression *own, Memory *memory, TrimAnswer *answer)
{
    const ptrdiff_t size = task->size + (task->intercept ? 1 : 0);
    if (open_regression(own, size, task->row_count, memory) < 0)
        return -1;
    Trimmed state = {.deviations = own->deviations[0], .spare = own->deviations[1]};
    fill_regression(own, x, task, unsound, answer->centres);
    const int failed = trim_regression(own, &state) < 0;
    tell(own, &state, task, x->rows, answer);
    if (failed)
        answer->numbers[0] = NAN;
    return 0;
}

static int trim_family(const Matrix *x, const TrimTask *task, const TrimLimits *limits,
                       TrimAnswer *answer)
{
    Memory memory = {NULL, 0};
    Regression own = {.limits = limits};
    double *unsound = malloc((size_t)greater(x->rows, 1) * sizeof *unsound);
    int status = unsound ? 0 : -1;
    for (ptrdiff_t r = 0; unsound && r < x->rows; r++)
        unsound[r] = (double)(task->sound[r] == 0);
    if (unsound)
        status = trim_rows(x, task, unsound, &own, &memory, answer);
    free(memory.data);
    free(unsound);
    return status;
}
