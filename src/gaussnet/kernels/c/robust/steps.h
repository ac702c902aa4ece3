/* Steps of a regression of the robust method, and a start that wrong values cannot move. */
#ifndef GAUSSNET_STEPS_H
#define GAUSSNET_STEPS_H

#include "robust/regression.h"

/* Steps of least squares over changing sets of rows.
 *
 * A trial is fitted to all rows but some. Its residuals have no product with the columns over
 * those rows, so that the step to another set asks only for the rows in which the two differ;
 * and no residual of a row that is fitted moves farther than the root of what the step explains.
 * Rows with small residuals need not be looked at again: only far rows are. */

/* Sums over fitted rows follow from others if they are at least this share of those of all. */
#define ENOUGH 0.05
/* With pivots and residuals above this share of their columns, one step has all digits. */
#define PRECISE 1e-4
/* The list of far rows reaches lower than it must, lest it be made again. */
#define LOWER 0.875
/* A step that moves residuals by less than this share of their median leaves that nearly alone. */
#define SHORT_STEP 0.1
#define SHORT_WAY 0.04

/* Where the median of the absolute residuals should be, by those of a few rows. */
static Bracket guess_median(Regression *own)
{
    double sample[MOST_SAMPLES + LANES], numbers[MOST_SAMPLES];
    const ptrdiff_t size = sample_size(own->rows);
    for (ptrdiff_t k = 0; k < size; k++)
        numbers[k] = (double)sample_index(k, size, own->rows);
    take_absolute(gather_rows(own, numbers, size)[own->factor.size], size, sample);
    return bracket_of_sample(sample, size, 0.5, 0);
}

/* The same after a step from coefficients whose median is known. */
static Bracket guess_next_median(Regression *own, double explained)
{
    const double median = own->trial.median, way = sqrt(explained / (double)own->rows);
    if (!(way < SHORT_STEP * median))
        return guess_median(own);
    const double width = SHORT_WAY * median + way;
    return (Bracket){median - width, median + width, 0, 0, 0};
}

/* Residuals of all rows. */
static void find_residuals(Regression *own, SoughtMedian *sought)
{
    const ptrdiff_t size = own->factor.size;
    for (ptrdiff_t first = 0; first < own->rows; first += PIECE) {
        const double *const *piece = find_piece(own, first);
        const ptrdiff_t rows = smaller(PIECE, own->rows - first);
        add_combination(piece, size, own->trial.coefficients, -1.0, piece[size + 1], rows,
                        own->residuals + first);
        if (sought)
            meet_values(sought, own->residuals + first, rows);
    }
    own->stale = 0;
    own->far.floor = INFINITY;
}

/* Residuals of all rows and the median of their absolute values, which should be in a bracket. */
static void find_median(Regression *own, Bracket bracket)
{
    SoughtMedian sought = {own->rows, bracket, own->search};
    find_residuals(own, &sought);
    own->trial.median = absolute_median(&sought, own->residuals, own->spare);
}

/* Sum of the squared residuals of all rows that some coefficients leave. */
static double squares_left(Regression *own, const double *coefficients)
{
    memcpy(own->trial.coefficients, coefficients, (size_t)own->factor.size * sizeof(double));
    find_residuals(own, NULL);
    return column_squares(own->residuals, own->rows);
}

/* Number the values beyond a floor; gives how many, and the sum of the squares of the others. */
static ptrdiff_t number_far(const double *values, ptrdiff_t count, double floor, double *numbers,
                            double *squares)
{
    const Lanes limit = broadcast(floor), zero = broadcast(0.0);
    Lanes next = count_lanes(), sums = zero;
    ptrdiff_t far = 0, k = 0;
    for (; k + LANES <= count; k += LANES) {
        const Lanes value = load(values + k);
        const Mask beyond = is_greater(absolute(value), limit);
        const Lanes inner = blend(beyond, zero, value);
        far += store_kept(numbers + far, next, beyond);
        sums += inner * inner;
        next += broadcast((double)LANES);
    }
    *squares = sum_lanes(sums);
    for (; k < count; k++) {
        const int beyond = fabs(values[k]) > floor;
        numbers[far] = (double)k;
        far += beyond;
        *squares += beyond ? 0.0 : values[k] * values[k];
    }
    return far;
}

/* List the rows with absolute residuals beyond a floor. */
static void list_far(Regression *own, double floor)
{
    FarRows *far = &own->far;
    far->floor = floor;
    far->rows.count =
        number_far(own->residuals, own->rows, floor, far->rows.numbers, &far->body);
    pick(own->residuals, far->rows.numbers, far->rows.count, far->residuals);
}

/* Let the list of far rows reach down to a limit. */
static void reach_down(Regression *own, double limit)
{
    if (own->far.floor <= limit)
        return;
    if (own->stale)
        find_residuals(own, NULL);
    list_far(own, LOWER * limit);
}

/* Make the far rows whose values are beyond a limit the next to be left out. */
static void leave_out_beyond(Regression *own, const double *values, double limit)
{
    const Rows *far = &own->far.rows;
    const Lanes farthest = broadcast(limit);
    ptrdiff_t count = 0;
    for (ptrdiff_t k = 0; k < far->count; k += LANES) {
        const Mask beyond = is_greater(absolute(load_some(values + k, far->count - k)), farthest);
        count += store_kept(own->next.numbers + count, load(far->numbers + k), beyond);
    }
    own->next.count = count;
}

/* Sum of squared residuals and number of the rows with absolute residuals up to a limit. */
static double core_of(const Regression *own, double limit, ptrdiff_t *count)
{
    const FarRows *far = &own->far;
    if (!(far->floor <= limit))
        return core_squares(own->residuals, own->residuals, limit, own->rows, count);
    const double squares =
        core_squares(far->residuals, far->residuals, limit, far->rows.count, count);
    *count += own->rows - far->rows.count;
    return far->body + squares;
}

/* The rows that only one of two sets leaves out. */
static void find_changes(Regression *own)
{
    const Rows *before = &own->out, *after = &own->next;
    ptrdiff_t i = 0, j = 0, gone = 0, back = 0;
    while (i < before->count || j < after->count) {
        while (i < before->count && j < after->count && before->numbers[i] == after->numbers[j])
            i++, j++;
        const double left = i < before->count ? before->numbers[i] : INFINITY;
        const double right = j < after->count ? after->numbers[j] : INFINITY;
        own->gone.numbers[gone] = right;
        own->back.numbers[back] = left;
        gone += right < left;
        back += left < right;
        i += left <= right;
        j += right <= left;
    }
    own->gone.count = gone;
    own->back.count = back;
}

/* Add to the sums the products over some rows, or take them off. */
static void add_listed(Regression *own, const Rows *rows, double sign)
{
    Factor *factor = &own->factor;
    clear_products(factor);
    for (ptrdiff_t first = 0; first < rows->count; first += PIECE) {
        const ptrdiff_t count = smaller(PIECE, rows->count - first);
        add_rows(factor, gather_rows(own, rows->numbers + first, count), count);
    }
    for (ptrdiff_t k = 0; k < triangle_length(factor->size + 1); k++)
        own->sums[k] += sign * factor->packed[k];
}

/* Change the sums from the rows of the trial to the next; 0 if that costs digits. */
static int change_sums(Regression *own)
{
    const ptrdiff_t size = own->factor.size;
    if (!own->fitted)
        return 0;
    memset(own->sums + triangle_length(size), 0, (size_t)(size + 1) * sizeof(double));
    find_changes(own);
    add_listed(own, &own->gone, -1.0);
    add_listed(own, &own->back, 1.0);
    for (ptrdiff_t c = 0; c < size; c++) {
        const ptrdiff_t position = triangle_length(c + 1) - 1;
        if (!(own->sums[position] >= ENOUGH * own->whole_sums[position]))
            return 0;
    }
    return 1;
}

/* Sum the products of columns and residuals over the rows with |judged| <= limit. */
static void sum_within(Regression *own, const double *judged, double limit)
{
    clear_products(&own->factor);
    for (ptrdiff_t first = 0; first < own->rows; first += PIECE)
        add_within(&own->factor, judged + first, limit, find_piece(own, first),
                   smaller(PIECE, own->rows - first), own->kept);
}

/* Put a value in place of some residuals, and those back. */
static void overwrite_residuals(Regression *own, const Rows *rows, double value)
{
    for (ptrdiff_t k = 0; k < rows->count; k++) {
        double *residual = own->residuals + (ptrdiff_t)rows->numbers[k];
        own->spare[k] = *residual;
        *residual = value;
    }
}

static void restore(Regression *own, const Rows *rows)
{
    for (ptrdiff_t k = 0; k < rows->count; k++)
        own->residuals[(ptrdiff_t)rows->numbers[k]] = own->spare[k];
}

/* Sum the products over all rows but the next to be left out. */
static void sum_afresh(Regression *own)
{
    if (own->stale)
        find_residuals(own, NULL);
    overwrite_residuals(own, &own->next, NAN);
    sum_within(own, own->residuals, DBL_MAX);
    restore(own, &own->next);
}

/* Factor what was summed and find the step that it asks for; gives what that explains of the
 * residuals, or -1 if digits are lacking. */
static double explain(Regression *own)
{
    if (!factor_products(&own->factor))
        return -1.0;
    find_whitener(&own->factor);
    return fit_white(&own->factor);
}

/* Take the step to least squares over all rows but the next to be left out; `squares` are those
 * of their residuals before it. Gives what the step explains of them, or -1 if digits are
 * lacking. The residuals are still to be found. */
static double step_without_next(Regression *own, double squares)
{
    const size_t length = (size_t)triangle_length(own->factor.size + 1) * sizeof(double);
    const Rows out = own->out;
    if (change_sums(own)) {
        memcpy(own->factor.packed, own->sums, length);
    } else {
        sum_afresh(own);
        memcpy(own->sums, own->factor.packed, length);
    }
    const double explained = explain(own);
    if (explained < 0.0)
        return -1.0;
    add_step(&own->factor, own->trial.coefficients);
    own->fitted = own->factor.pivot > PRECISE && squares - explained > PRECISE * explained;
    own->out = own->next;
    own->next = out;
    return explained;
}

/* A start for trimming that wrong values of the child cannot move, as in
 * gaussnet.methods.robust.trimming, which is the definition. */

#define GROSS 5.0
#define GROSS_ROUNDS 3
#define GROSS_GAIN 0.7
#define MOST_CONCENTRATIONS 40
#define SETTLED 0.1
#define FEWEST_IN_CORE 5
#define INNER_CORE 1.75
#define SHRINKING_ROUNDS 8
#define SHRINKING_GAIN 0.99

static double median_scale(const Regression *own)
{
    const double share = (double)own->rows / freedom_of(own);
    return fmax(NORMAL_MAD * own->trial.median * sqrt(share), own->smallest);
}

/* Least squares without gross residuals, again while the scale drops. */
static int leave_out_gross(Regression *own)
{
    double scale = median_scale(own);
    const ptrdiff_t fewest = greater(own->rows / 2, own->factor.size + 2);
    for (int round = 0; round < GROSS_ROUNDS; round++) {
        ptrdiff_t count;
        reach_down(own, GROSS * scale);
        const double squares = core_of(own, GROSS * scale, &count);
        if (count < fewest || count >= own->rows)
            break;
        leave_out_beyond(own, own->far.residuals, GROSS * scale);
        const double explained = step_without_next(own, squares);
        if (explained < 0.0)
            return -1;
        find_median(own, guess_next_median(own, explained));
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
    for (int round = 0; round < MOST_CONCENTRATIONS; round++) {
        const double median = own->trial.median;
        const Checks checks = {own->rows, freedom_of(own), median, 0.0, 0.0};
        if (!(median > own->smallest))
            return round > 0;
        sum_within(own, own->residuals, median);
        const double explained = explain(own);
        if (explained < 0.0)
            return -1;
        const double found = half_statistic(&checks, explained);
        if (round == 0 && found <= own->limits->half)
            return 0;
        add_step(&own->factor, own->trial.coefficients);
        own->fitted = 0;
        find_median(own, guess_next_median(own, explained));
        if (round >= 2 && found <= SETTLED * (double)own->factor.size)
            break;
    }
    return 1;
}

/* Scale from the residuals within `limit` scales, corrected for the truncation. */
static double core_scale(const Regression *own, double scale, double limit)
{
    ptrdiff_t count;
    const double squares = core_of(own, limit * scale, &count);
    if (count < FEWEST_IN_CORE)
        return scale;
    return sqrt(squares / (double)count / truncated_variance(limit));
}

/* The scale that rounds start from, and whether the core holds more than a clean core would. */
static double start_scale(Regression *own, int *spread)
{
    ptrdiff_t count;
    double scale = median_scale(own);
    reach_down(own, SMALLEST_CUTOFF * scale);
    const double squares = core_of(own, GROSS * scale, &count);
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

#endif
