/* Quantiles of the normal law, cutoffs for residuals, checks of least squares. */
#ifndef GAUSSNET_CUTOFFS_H
#define GAUSSNET_CUTOFFS_H

#include "robust/factor.h"

/* The few facts about the normal law that trimming rests on. */

#define ROOT_HALF 0.70710678118654752440
#define ROOT_TWO_PI 2.50662827463100050242
/* 1 / Phi^-1(3/4): turns a median absolute deviation into a standard deviation. */
#define NORMAL_MAD 1.482602218505602

/* Chance that a standard normal value lies beyond +-limit. */
static double farther_than(double limit) { return erfc(limit * ROOT_HALF); }

/* The deviation that a standard normal value exceeds, on either side, with this chance: a
 * rational first guess (Abramowitz and Stegun 26.2.23), mended by Halley's method. */
static double two_sided_point(double chance)
{
    if (!(chance > 0.0 && chance < 1.0))
        return chance >= 1.0 ? 0.0 : INFINITY;
    const double t = sqrt(-2.0 * log(0.5 * chance));
    double point = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                           (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for (int step = 0; step < 2; step++) {
        const double density = exp(-0.5 * point * point) / ROOT_TWO_PI;
        const double error = 0.5 * (farther_than(point) - chance) / density;
        if (!(density > 0.0))
            break;
        point += error / (1.0 - 0.5 * point * error);
    }
    return point;
}

/* Variance of a standard normal value given that it lies within +-limit. */
static double truncated_variance(double limit)
{
    if (limit > 8.0)
        return 1.0;
    const double density = exp(-0.5 * limit * limit) / ROOT_TWO_PI;
    return 1.0 - 2.0 * limit * density / erf(limit * ROOT_HALF);
}

/* The deviation that a Student t value exceeds, on either side, with this chance: Wallace's
 * formula, turned around. */
static double student_point(double chance, double freedom)
{
    const double root = two_sided_point(chance) * (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0);
    return sqrt(freedom * expm1(root * root / freedom));
}

/* How far from its equation a cell may lie: false discovery rates turned into cutoffs. */

#define SMALLEST_CUTOFF 2.0
#define FAMILY_LEVEL 0.05
#define NOT_FAR 2.0

/* The large ones among `count` absolute deviations, and the sum of squares of the others. */
typedef struct {
    ptrdiff_t count, size;
    double *values;
    double body;
} Tail;

/* The tail of absolute values beyond a limit; `tail->values` has space for all. */
static void find_tail(Tail *tail, const double *values, ptrdiff_t count, double limit)
{
    const Lanes nearest = broadcast(limit), zero = broadcast(0.0);
    Lanes sums[2] = {zero, zero};
    ptrdiff_t size = 0;
    for (ptrdiff_t k = 0; k < count; k += 2 * LANES)
        UNROLL for (int u = 0; u < 2; u++) {
            const ptrdiff_t left = count - k - u * LANES;
            const Lanes value =
                left > 0 ? absolute(load_some(values + k + u * LANES, left)) : zero;
            const Mask beyond = is_greater(value, nearest);
            const Lanes inner = blend(beyond, zero, value);
            size += store_kept(tail->values + size, value, beyond);
            sums[u] += inner * inner;
        }
    tail->count = count;
    tail->body = sum_lanes(sums[0] + sums[1]);
    tail->size = size;
}

static ptrdiff_t count_beyond(const Tail *tail, double limit)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t k = 0; k < tail->size; k++)
        count += tail->values[k] >= limit;
    return count;
}

/* How many values the rule of Benjamini and Hochberg rejects: the most, k, of which all lie
 * beyond the point of level * k / count. */
static ptrdiff_t rejected_by_rule(const Tail *tail, double level, double freedom)
{
    ptrdiff_t rejected = tail->size;
    while (rejected > 0) {
        const double chance = level * (double)rejected / (double)tail->count;
        const ptrdiff_t found = count_beyond(tail, student_point(chance, freedom));
        if (found >= rejected)
            break;
        rejected = found;
    }
    return rejected;
}

/* Whether the rule rejects nothing; a single value that it rejects needs no count of others. */
static int rejects_none(const Tail *tail, double level, double freedom)
{
    const double first = student_point(level / (double)tail->count, freedom);
    return count_beyond(tail, first) == 0 && rejected_by_rule(tail, level, freedom) == 0;
}

/* The largest value below a point, or the smallest cutoff, and the smallest from it on. */
static void find_neighbours(const Tail *tail, double point, double *below, double *above)
{
    const Lanes middle = broadcast(point), nothing = broadcast(-INFINITY);
    Lanes largest = broadcast(SMALLEST_CUTOFF), smallest = nothing;
    for (ptrdiff_t k = 0; k < tail->size; k += LANES) {
        const ptrdiff_t some = tail->size - k;
        const Lanes value = some >= LANES ? load(tail->values + k)
                                          : load_strided_part(tail->values + k, 1, some);
        const Mask reaches = is_at_least(value, middle);
        largest = larger(blend(reaches, nothing, value), largest);
        smallest = larger(blend(reaches, -value, nothing), smallest);
    }
    *below = SMALLEST_CUTOFF;
    *above = INFINITY;
    for (int k = 0; k < LANES; k++) {
        *below = fmax(*below, LANE(largest, k));
        *above = fmin(*above, -LANE(smallest, k));
    }
}

/* Reject deviations beyond this; infinite if the gate rejects nothing. */
static double find_cutoff(const Tail *tail, double gate_level, double level, double freedom)
{
    double below, above;
    if (rejects_none(tail, gate_level, freedom))
        return INFINITY;
    const ptrdiff_t rejected = rejected_by_rule(tail, level, freedom);
    const double chance = level * (double)rejected / (double)tail->count;
    find_neighbours(tail, student_point(chance, freedom), &below, &above);
    return fmin(fmax(below, two_sided_point(chance)), nextafter(above, 0.0));
}

/* How many values of the tail lie beyond a limit, but not beyond another. */
static ptrdiff_t count_between(const Tail *tail, double from, double to)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t k = 0; k < tail->size; k++)
        count += (tail->values[k] > from) & (tail->values[k] <= to);
    return count;
}

/* The Bonferroni point instead of the cutoff, if nothing speaks against the band between. */
static double widen_by_band(const Tail *tail, double limit)
{
    const double far = two_sided_point(FAMILY_LEVEL / (double)tail->count);
    ptrdiff_t near;
    if (!(limit < far))
        return limit;
    const double squares =
        tail->body + core_squares(tail->values, tail->values, far, tail->size, &near);
    const ptrdiff_t beyond = tail->size - near, clean = tail->count - beyond;
    if (beyond == 0)
        return limit;
    const double variance = squares / (double)clean / truncated_variance(far);
    const double usual = (double)clean * (farther_than(limit) - farther_than(far));
    const ptrdiff_t between = count_between(tail, limit * sqrt(variance), far);
    const ptrdiff_t close = count_between(tail, far, NOT_FAR * far);
    const double slack = (double)close <= 0.1 * (double)beyond ? 4.0 : 2.0;
    return (double)between <= usual + slack * sqrt(usual) ? far : limit;
}

/* Three cheap checks that least squares over all rows needs no trimming. */

#define CORE 2.5

/* What the checks know of a regression over `rows` rows, `left` more than it has coefficients. */
typedef struct {
    ptrdiff_t rows;
    double left;
    double median;      /* of the absolute residuals */
    double spread;      /* largest ratio of the least-squares scale to the median scale */
    double gate_level;
} Checks;

static double scale_by_median(const Checks *checks)
{
    return NORMAL_MAD * checks->median * sqrt((double)checks->rows / checks->left);
}

/* Whether the sum of squared residuals is not larger than their median says. */
static int is_narrow(const Checks *checks, double squares)
{
    const double widest = scale_by_median(checks) * checks->spread;
    return squares <= checks->left * (widest * widest);
}

/* How far the core reaches. */
static double core_limit(const Checks *checks) { return CORE * scale_by_median(checks); }

/* Whether the rule of Benjamini and Hochberg rejects no residual, measured by their core; the
 * tail is what lies beyond that. */
static int is_gate_shut(const Checks *checks, Tail *tail)
{
    const double inside = (double)(checks->rows - tail->size);
    const double core = sqrt(tail->body / inside / truncated_variance(CORE));
    for (ptrdiff_t k = 0; k < tail->size; k++)
        tail->values[k] /= core;
    return rejects_none(tail, checks->gate_level, fmax(checks->left - 1.0, 2.0));
}

/* The half-sample statistic, from what a step over the half explains of its residuals. */
static double half_statistic(const Checks *checks, double explained)
{
    const double scale = NORMAL_MAD * checks->median;
    const double variance = truncated_variance(1.0 / NORMAL_MAD) * scale * scale;
    return explained * (checks->left / (double)checks->rows) / variance;
}

#endif
