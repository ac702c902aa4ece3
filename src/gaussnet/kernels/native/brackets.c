/* Where the values of each row lie beside its bracket, and which lie strictly inside.
 *
 * One pass: comparisons with both ends are counted lane by lane, and lanes inside are written
 * next to each other.
 */
#include "lanes.h"

/* Counts of a row: below its bracket, at the low end, at the high end, above. */
enum { BELOW, AT_LOW, AT_HIGH, ABOVE, PLACES };

/* Split one row; gives how many values were kept. `to` has room for LANES more than `count`. */
static ptrdiff_t split_row(const double *from, ptrdiff_t count, double low_end, double high_end,
                           double *to, int64_t *counts, double *largest)
{
    const Lanes low = broadcast(low_end), high = broadcast(high_end);
    Mask not_below = mask_of(0), beyond_low = mask_of(0);
    Mask not_above = mask_of(0), before_high = mask_of(0);
    Lanes largest_below = broadcast(-INFINITY);
    ptrdiff_t kept = 0, k = 0;
    for (; k + LANES <= count; k += LANES) {
        const Lanes value = load(from + k);
        const Mask reaches = is_at_least(value, low), stays = is_at_least(high, value);
        const Mask after = is_greater(value, low), before = is_greater(high, value);
        not_below += reaches;
        not_above += stays;
        beyond_low += after;
        before_high += before;
        largest_below = larger(blend(reaches, broadcast(-INFINITY), value), largest_below);
        kept += store_kept(to + kept, value, after & before);
    }
    ptrdiff_t reaching = count_mask(not_below), staying = count_mask(not_above);
    ptrdiff_t after = count_mask(beyond_low), before = count_mask(before_high);
    *largest = -INFINITY;
    for (int lane = 0; lane < LANES; lane++)
        *largest = fmax(*largest, LANE(largest_below, lane));
    for (; k < count; k++) {
        const double value = from[k];
        reaching += value >= low_end;
        staying += value <= high_end;
        after += value > low_end;
        before += value < high_end;
        if (value < low_end && value > *largest)
            *largest = value;
        to[kept] = value;
        kept += value > low_end && value < high_end;
    }
    if (isnan(low_end))
        *largest = -INFINITY;
    counts[AT_LOW] = reaching - after;
    counts[AT_HIGH] = low_end == high_end ? 0 : staying - before;
    counts[BELOW] = before - kept - (low_end == high_end ? 0 : counts[AT_LOW]);
    counts[ABOVE] = after - kept - counts[AT_HIGH];
    return kept;
}

/* Split every row; `kept` has room for LANES more than all values. */
static int split_rows(const double *values, const int64_t *starts, ptrdiff_t rows,
                      const Brackets *brackets)
{
    ptrdiff_t kept = 0;
    brackets->kept_starts[0] = 0;
    for (ptrdiff_t r = 0; r < rows; r++) {
        kept += split_row(values + starts[r], (ptrdiff_t)(starts[r + 1] - starts[r]),
                          brackets->lows[r], brackets->highs[r], brackets->kept + kept,
                          brackets->counts + PLACES * r, brackets->largest + r);
        brackets->kept_starts[r + 1] = kept;
    }
    return 0;
}
