/* Exact medians by narrowing brackets.
 *
 * A few values of a row tell where its median must almost surely lie. One pass keeps the values
 * inside that bracket and counts those outside, and the counts prove whether the middle value is
 * among the kept. If it is, they are searched the same way; if not, the same pass is made for the
 * side where it is.
 */
#ifndef GAUSSNET_MEDIANS_H
#define GAUSSNET_MEDIANS_H

#include "core/lanes.h"

typedef struct {
    double low, high;                /* both ends belong to it */
    ptrdiff_t below, inside, above;  /* how many values lie where; NaN lie nowhere */
} Bracket;

/* So few candidates are ranked by comparing each with each. */
#define FEW 32
#define MOST_SAMPLES 256
/* After so many passes something is odd about the values, and the rest is sorted. */
#define MOST_PASSES 60

/* Values of ranks `low` and `high`, counted from 0: the value of rank k is the largest with at
 * most k values below it. `values` has space for zeros to LANES more than `count`. */
static void two_ranks(double *values, ptrdiff_t count, ptrdiff_t low, ptrdiff_t high,
                      double *at_low, double *at_high)
{
    const Lanes nothing = broadcast(-INFINITY);
    Lanes lows = nothing, highs = nothing;
    for (ptrdiff_t k = count; k < count + LANES; k++)
        values[k] = INFINITY;
    for (ptrdiff_t i = 0; i < count; i += LANES) {
        const Lanes value = load(values + i);
        Mask below = mask_of(0);
        for (ptrdiff_t k = 0; k < count; k++)
            below -= is_greater(value, broadcast(values[k]));
        lows = larger(blend((Mask)(below > mask_of(low)), nothing, value), lows);
        highs = larger(blend((Mask)(below > mask_of(high)), nothing, value), highs);
    }
    *at_low = *at_high = -INFINITY;
    for (int k = 0; k < LANES; k++) {
        *at_low = LANE(lows, k) > *at_low ? LANE(lows, k) : *at_low;
        *at_high = LANE(highs, k) > *at_high ? LANE(highs, k) : *at_high;
    }
}

/* Copy the values inside the bracket and count all; of `sizes` the absolute values are meant. */
INLINE void keep_between(const double *from, ptrdiff_t count, const int sizes, Bracket *bracket,
                         double *to)
{
    const Lanes low = broadcast(bracket->low), high = broadcast(bracket->high);
    Mask not_below = mask_of(0), not_above = mask_of(0);
    ptrdiff_t kept = 0, k = 0;
    for (; k + LANES <= count; k += LANES) {
        const Lanes value = sizes ? absolute(load(from + k)) : load(from + k);
        const Mask reaches = is_at_least(value, low), stays = is_at_least(high, value);
        not_below += reaches;
        not_above += stays;
        kept += store_kept(to + kept, value, reaches & stays);
    }
    ptrdiff_t reaching = count_mask(not_below), staying = count_mask(not_above);
    for (; k < count; k++) {
        const double value = sizes ? fabs(from[k]) : from[k];
        const int reaches = value >= bracket->low, stays = value <= bracket->high;
        reaching += reaches;
        staying += stays;
        to[kept] = value;
        kept += reaches & stays;
    }
    bracket->inside = kept;
    bracket->above = reaching - kept;
    bracket->below = staying - kept;
}

static void keep_inside(const double *from, ptrdiff_t count, Bracket *bracket, double *to)
{
    keep_between(from, count, 0, bracket, to);
}

/* A larger sample makes a narrower bracket, but ranking it takes its square in time. */
static ptrdiff_t sample_size(ptrdiff_t count)
{
    return count < 256 ? 16 : count < 8000 ? 32 : count < 60000 ? 64 : count < 500000 ? 128 : 256;
}

/* A bracket that holds the value of rank share * count of the values that a sample is taken of,
 * more likely than not by far; `exactly` asks for a single value. The sample has space for LANES
 * more. */
static Bracket bracket_of_sample(double *sample, ptrdiff_t taken, double share, int exactly)
{
    Bracket bracket = {-INFINITY, INFINITY, 0, 0, 0};
    const double middle = share * (double)taken;
    const double spread = exactly ? 0.0 : 2.0 * sqrt((double)taken * share * (1.0 - share)) + 0.5;
    const ptrdiff_t low = (ptrdiff_t)floor(middle - spread);
    const ptrdiff_t high = (ptrdiff_t)floor(middle + spread);
    two_ranks(sample, taken, greater(low, 0), smaller(high, taken - 1), &bracket.low,
              &bracket.high);
    if (low < 0)
        bracket.low = -INFINITY;
    if (high >= taken)
        bracket.high = INFINITY;
    return bracket;
}

/* The position of value k of a sample of `size` from `count` values. */
static ptrdiff_t sample_index(ptrdiff_t k, ptrdiff_t size, ptrdiff_t count)
{
    return (ptrdiff_t)((double)count * ((double)k + 0.5) / (double)size);
}

/* Such a bracket from a few of the values. NaN are left out of the sample. */
static Bracket guess_bracket(const double *values, ptrdiff_t count, double share, int exactly)
{
    double sample[MOST_SAMPLES + LANES];
    const ptrdiff_t size = sample_size(count);
    ptrdiff_t taken = 0;
    for (ptrdiff_t k = 0; k < size; k++) {
        sample[taken] = values[sample_index(k, size, count)];
        taken += !isnan(sample[taken]);
    }
    if (taken < size / 2)
        return (Bracket){-INFINITY, INFINITY, 0, 0, 0};
    return bracket_of_sample(sample, taken, share, exactly);
}

/* Share of the values in a bracket by which they may be spread unevenly. */
#define UNEVEN 0.05

/* A bracket inside one that held the wanted rank, as if the values in it were spread evenly. */
static Bracket narrower_bracket(const Bracket *bracket, double share)
{
    Bracket inner = {bracket->low, bracket->high, 0, 0, 0};
    const double count = (double)bracket->inside, width = bracket->high - bracket->low;
    const double spread = (2.0 * sqrt(count * share * (1.0 - share)) + 2.0) / count + UNEVEN;
    const double low = bracket->low + width * (share - spread);
    const double high = bracket->low + width * (share + spread);
    if (low > inner.low)
        inner.low = low;
    if (high < inner.high)
        inner.high = high;
    return inner;
}

static int compare_doubles(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The largest value of a row that is smaller than `limit`. */
static double largest_below(const double *values, ptrdiff_t count, double limit)
{
    const Lanes end = broadcast(limit), nothing = broadcast(-INFINITY);
    Lanes largest = nothing;
    double found = -INFINITY;
    ptrdiff_t k = 0;
    for (; k + LANES <= count; k += LANES) {
        const Lanes value = load(values + k);
        largest = larger(blend(is_greater(end, value), value, nothing), largest);
    }
    for (int l = 0; l < LANES; l++)
        found = LANE(largest, l) > found ? LANE(largest, l) : found;
    for (; k < count; k++)
        if (values[k] < limit && values[k] > found)
            found = values[k];
    return found;
}

/* A search for the value of rank `rank` among `count` candidates, all of them in the bracket. */
typedef struct {
    const double *values;
    ptrdiff_t count, rank;
    Bracket bracket;
    double *spare[2];  /* candidates are copied from one to the other */
} Search;

/* Leave out NaN. */
static void start_search(Search *search, const double *row, ptrdiff_t count)
{
    ptrdiff_t kept = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        search->spare[0][kept] = row[k];
        kept += !isnan(row[k]);
    }
    search->values = search->spare[0];
    search->count = kept;
    search->rank = kept / 2;
}

/* Make the candidates those of the bracket, or if the wanted rank is not among them those of
 * the side where it is. Until `used` is known, so is the rank not. */
static void keep_bracket(Search *search, Bracket bracket, int64_t *used)
{
    double *kept = search->spare[1];
    keep_inside(search->values, search->count, &bracket, kept);
    if (*used < 0) {
        *used = bracket.below + bracket.inside + bracket.above;
        search->rank = (ptrdiff_t)(*used / 2);
    }
    const int too_high = search->rank < bracket.below;
    const int too_low = !too_high && *used > 0 && search->rank >= bracket.below + bracket.inside;
    if (too_high || too_low) {
        const double end = too_high ? bracket.low : bracket.high;
        bracket.low = too_high ? -INFINITY : nextafter(end, INFINITY);
        bracket.high = too_high ? nextafter(end, -INFINITY) : INFINITY;
        keep_inside(search->values, search->count, &bracket, kept);
    }
    search->spare[1] = search->spare[0];
    search->spare[0] = kept;
    search->values = kept;
    search->count = bracket.inside;
    search->rank -= bracket.below;
    search->bracket = bracket;
}

/* Narrow the candidates until few are left, or all that are left are equal. */
static void narrow(Search *search, int64_t *used)
{
    int slow = 0;
    for (int pass = 0; pass < MOST_PASSES && search->count > FEW; pass++) {
        const ptrdiff_t before = search->count;
        const double share = ((double)search->rank + 0.5) / (double)before;
        const Bracket *bracket = &search->bracket;
        if (bracket->low == bracket->high)
            return;
        if (!slow && isfinite(bracket->high - bracket->low))
            keep_bracket(search, narrower_bracket(bracket, share), used);
        else
            keep_bracket(search, guess_bracket(search->values, before, share, slow > 1), used);
        slow = 2 * search->count > before ? slow + 1 : 0;
    }
}

/* The value of the wanted rank, and in *lower the one before it if the candidates have it. */
static double finish_search(Search *search, double *lower)
{
    double *left = (double *)search->values, upper;
    const ptrdiff_t before = greater(search->rank - 1, 0);
    if (search->count <= FEW) {
        two_ranks(left, search->count, before, search->rank, lower, &upper);
        return upper;
    }
    if (search->bracket.low != search->bracket.high)
        qsort(left, (size_t)search->count, sizeof *left, compare_doubles);
    *lower = left[before];
    return left[search->rank];
}

/* Median of a row of `count` values. */
static double row_median(const double *row, ptrdiff_t count, double *memory, int64_t *used)
{
    Search search = {.values = row, .count = count, .spare = {memory, memory + count + LANES}};
    double lower;
    *used = -1;
    if (count <= FEW) {
        start_search(&search, row, count);
        *used = search.count;
    } else {
        keep_bracket(&search, guess_bracket(row, count, 0.5, 0), used);
        narrow(&search, used);
    }
    if (*used == 0)
        return NAN;
    const double upper = finish_search(&search, &lower);
    if (*used % 2)
        return upper + 0.0;  /* -0.0 becomes 0.0: no order of equal zeros can show */
    if (search.rank == 0)
        lower = largest_below(row, count, upper);
    return 0.5 * lower + 0.5 * upper + 0.0;
}

/* Exact median of `count` absolute values that come a piece at a time: those of a bracket that
 * should hold it. */
typedef struct {
    ptrdiff_t count;
    Bracket bracket;
    double *kept;  /* space for twice as many values and LANES more */
} SoughtMedian;

static void meet_values(SoughtMedian *sought, const double *values, ptrdiff_t count)
{
    Bracket *all = &sought->bracket, piece = *all;
    keep_between(values, count, 1, &piece, sought->kept + all->inside);
    all->below += piece.below;
    all->inside += piece.inside;
    all->above += piece.above;
}

/* The median of all that was met, or NaN if the bracket lacks it or its neighbour. */
static double find_sought(const SoughtMedian *sought)
{
    const Bracket *bracket = &sought->bracket;
    int64_t used = bracket->below + bracket->inside + bracket->above;
    Search search = {.values = sought->kept, .count = bracket->inside, .bracket = *bracket};
    double lower;
    search.rank = (ptrdiff_t)(used / 2) - bracket->below;
    search.spare[0] = sought->kept;
    search.spare[1] = sought->kept + sought->count + LANES;
    if (used != sought->count || search.rank < 0 || search.rank >= search.count)
        return NAN;
    narrow(&search, &used);
    const double upper = finish_search(&search, &lower);
    if (used % 2)
        return upper;
    return search.rank > 0 ? 0.5 * lower + 0.5 * upper : NAN;
}

static void take_absolute(const double *from, ptrdiff_t rows, double *to)
{
    for (ptrdiff_t r = 0; r < rows; r++)
        to[r] = fabs(from[r]);
}

/* The same from the values themselves, if it was not found; `spare` has space for them. */
static double absolute_median(SoughtMedian *sought, const double *values, double *spare)
{
    int64_t used;
    const double median = find_sought(sought);
    if (!isnan(median))
        return median;
    take_absolute(values, sought->count, spare);
    return row_median(spare, sought->count, sought->kept, &used);
}

#endif
