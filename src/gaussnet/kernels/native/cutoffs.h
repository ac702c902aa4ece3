/* How far from its equation a cell may lie: false discovery rates turned into cutoffs. */
#ifndef GAUSSNET_CUTOFFS_H
#define GAUSSNET_CUTOFFS_H

#include "kept.h"
#include "normal.h"

#define SMALLEST_CUTOFF 2.0
#define FAMILY_LEVEL 0.05
#define NOT_FAR 2.0

/* The large ones among `count` absolute deviations, and the sum of squares of the others. */
typedef struct {
    ptrdiff_t count, size;
    double *values;
    double body;
} Tail;

/* The tail of absolute values beyond a limit; `tail->values` has room for all. */
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

#endif
