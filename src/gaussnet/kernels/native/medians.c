/* Exact median of each row, by narrowing.
 *
 * A few values of the row tell where its median must almost surely lie. One pass keeps the
 * values inside that bracket and counts those outside, and the counts prove whether the middle
 * value is among the kept. If it is, they are searched the same way; if not, the same pass is
 * made for the side where it is.
 */
#include "lanes.h"

/* So few candidates are ranked by comparing each with each. */
#define FEW 64
#define MOST_SAMPLES 256
/* After so many passes something is odd about the values, and the rest is sorted. */
#define MOST_PASSES 60

/* Values of ranks `low` and `high`, counted from 0: the value of rank k is the largest with at
 * most k values below it. `values` has room for zeros to LANES more than `count`. */
static void two_ranks(double *values, ptrdiff_t count, ptrdiff_t low, ptrdiff_t high,
                      double *at_low, double *at_high)
{
    const Lanes nothing = broadcast(-INFINITY);
    Lanes lows = nothing, highs = nothing;
    for (ptrdiff_t k = count; k < count + LANES; k++)
        values[k] = INFINITY;
    for (ptrdiff_t i = 0; i < count; i += LANES) {
        const Lanes value = load(values + i);
        Mask even = mask_of(0), odd = mask_of(0);
        ptrdiff_t k = 0;
        for (; k + 2 <= count; k += 2) {
            even += is_greater(value, broadcast(values[k]));
            odd += is_greater(value, broadcast(values[k + 1]));
        }
        if (k < count)
            even += is_greater(value, broadcast(values[k]));
        const Mask below = -(even + odd);
        lows = larger(blend((Mask)(below > mask_of(low)), nothing, value), lows);
        highs = larger(blend((Mask)(below > mask_of(high)), nothing, value), highs);
    }
    *at_low = *at_high = -INFINITY;
    for (int k = 0; k < LANES; k++) {
        *at_low = LANE(lows, k) > *at_low ? LANE(lows, k) : *at_low;
        *at_high = LANE(highs, k) > *at_high ? LANE(highs, k) : *at_high;
    }
}

typedef struct {
    double low, high;                /* both ends belong to it */
    ptrdiff_t below, inside, above;  /* how many values lie where; NaN lie nowhere */
} Bracket;

/* Copy the values inside the bracket and count all. */
static void keep_inside(const double *from, ptrdiff_t count, Bracket *bracket, double *to)
{
    const Lanes low = broadcast(bracket->low), high = broadcast(bracket->high);
    Mask not_below = mask_of(0), not_above = mask_of(0);
    ptrdiff_t kept = 0, k = 0;
    for (; k + LANES <= count; k += LANES) {
        const Lanes value = load(from + k);
        const Mask reaches = is_at_least(value, low), stays = is_at_least(high, value);
        not_below += reaches;
        not_above += stays;
        kept += store_kept(to + kept, value, reaches & stays);
    }
    ptrdiff_t reaching = count_mask(not_below), staying = count_mask(not_above);
    for (; k < count; k++) {
        const int reaches = from[k] >= bracket->low, stays = from[k] <= bracket->high;
        reaching += reaches;
        staying += stays;
        to[kept] = from[k];
        kept += reaches & stays;
    }
    bracket->inside = kept;
    bracket->above = reaching - kept;
    bracket->below = staying - kept;
}

/* A bracket that holds the value of rank share * count, more likely than not by far; `exactly`
 * asks for a single value. NaN are left out of the sample. */
static Bracket guess_bracket(const double *values, ptrdiff_t count, double share, int exactly)
{
    double sample[MOST_SAMPLES + LANES];
    const ptrdiff_t size = count < 4000 ? 32 : count < 30000 ? 64 : count < 300000 ? 128 : 256;
    Bracket bracket = {-INFINITY, INFINITY, 0, 0, 0};
    ptrdiff_t taken = 0;
    for (ptrdiff_t k = 0; k < size; k++) {
        sample[taken] = values[(ptrdiff_t)((double)count * ((double)k + 0.5) / (double)size)];
        taken += !isnan(sample[taken]);
    }
    if (taken < size / 2)
        return bracket;
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

static int compare_doubles(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The largest value of a row that is smaller than `limit`. */
static double largest_below(const double *values, ptrdiff_t count, double limit)
{
    double largest = -INFINITY;
    for (ptrdiff_t k = 0; k < count; k++)
        if (values[k] < limit && values[k] > largest)
            largest = values[k];
    return largest;
}

/* A search for the value of rank `rank` among `count` candidates. */
typedef struct {
    const double *values;
    ptrdiff_t count, rank;
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

/* Keep the candidates of a bracket that holds the wanted rank. */
static void accept(Search *search, const Bracket *bracket)
{
    double *kept = search->spare[1];
    search->spare[1] = search->spare[0];
    search->spare[0] = kept;
    search->values = kept;
    search->count = bracket->inside;
    search->rank -= bracket->below;
}

/* Narrow the candidates once; the first time, `rank` is still to be found and so is how many of
 * the values are not NaN. Gives 1 if all that are left are equal. */
static int narrow(Search *search, int first, int exactly, int64_t *used)
{
    const double share = first ? 0.5 : ((double)search->rank + 0.5) / (double)search->count;
    Bracket bracket = guess_bracket(search->values, search->count, share, exactly);
    keep_inside(search->values, search->count, &bracket, search->spare[1]);
    if (first) {
        *used = bracket.below + bracket.inside + bracket.above;
        search->rank = (ptrdiff_t)(*used / 2);
    }
    if (search->rank < bracket.below) {
        bracket.high = nextafter(bracket.low, -INFINITY);
        bracket.low = -INFINITY;
        keep_inside(search->values, search->count, &bracket, search->spare[1]);
    } else if (search->rank >= bracket.below + bracket.inside && search->rank < *used) {
        bracket.low = nextafter(bracket.high, INFINITY);
        bracket.high = INFINITY;
        keep_inside(search->values, search->count, &bracket, search->spare[1]);
    }
    accept(search, &bracket);
    return bracket.low == bracket.high;
}

/* Median of a row of `count` values. */
static double row_median(const double *row, ptrdiff_t count, double *memory, int64_t *used)
{
    Search search = {row, count, 0, {memory, memory + count + LANES}};
    double lower = NAN, upper = NAN;
    int equal = 0;
    if (count <= FEW) {
        start_search(&search, row, count);
        *used = search.count;
    } else {
        ptrdiff_t before = 2 * count;
        equal = narrow(&search, 1, 0, used);
        for (int pass = 0; search.count > FEW && !equal && pass < MOST_PASSES; pass++) {
            const int slow = 4 * search.count > 3 * before;
            before = search.count;
            equal = narrow(&search, 0, slow, used);
        }
    }
    if (search.count == 0)
        return NAN;
    double *left = (double *)search.values;
    const ptrdiff_t rank = search.rank;
    if (equal) {
        lower = upper = left[0];
    } else if (search.count > FEW) {
        qsort(left, (size_t)search.count, sizeof *left, compare_doubles);
        lower = left[greater(rank - 1, 0)];
        upper = left[rank];
    } else {
        two_ranks(left, search.count, greater(rank - 1, 0), rank, &lower, &upper);
    }
    if (*used % 2)
        lower = upper;
    else if (rank == 0)
        lower = largest_below(row, count, upper);
    return 0.5 * lower + 0.5 * upper;
}

static int row_medians(const Matrix *values, double *medians, int64_t *used)
{
    const size_t room = 2 * ((size_t)values->columns + LANES);
    double *memory = malloc(room * sizeof(double));
    if (!memory)
        return -1;
    for (ptrdiff_t r = 0; r < values->rows; r++)
        medians[r] = row_median((const double *)(values->data + r * values->row_stride),
                                values->columns, memory, used + r);
    free(memory);
    return 0;
}
