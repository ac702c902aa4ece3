/* Exact median of absolute values that are met a piece at a time. */
#ifndef GAUSSNET_MIDDLE_H
#define GAUSSNET_MIDDLE_H

#include "lanes.h"

/* The values of a bracket that should hold the median of `count` absolute values. */
typedef struct {
    ptrdiff_t count;
    Bracket bracket;
    double *kept;  /* room for twice as many values and LANES more */
} Middle;

static void meet_values(Middle *middle, const double *values, ptrdiff_t count)
{
    Bracket *all = &middle->bracket, piece = *all;
    keep_between(values, count, 1, &piece, middle->kept + all->inside);
    all->below += piece.below;
    all->inside += piece.inside;
    all->above += piece.above;
}

/* The median of all that was met, or NaN if the bracket lacks it or its neighbour. */
static double find_middle(const Middle *middle)
{
    const Bracket *bracket = &middle->bracket;
    int64_t used = bracket->below + bracket->inside + bracket->above;
    Search search = {.values = middle->kept, .count = bracket->inside, .bracket = *bracket};
    double lower;
    search.rank = (ptrdiff_t)(used / 2) - bracket->below;
    search.spare[0] = middle->kept;
    search.spare[1] = middle->kept + middle->count + LANES;
    if (used != middle->count || search.rank < 0 || search.rank >= search.count)
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

/* The same from the values themselves, if it was not found; `spare` has room for them. */
static double absolute_median(Middle *middle, const double *values, double *spare)
{
    int64_t used;
    const double median = find_middle(middle);
    if (!isnan(median))
        return median;
    take_absolute(values, middle->count, spare);
    return row_median(spare, middle->count, middle->kept, &used);
}

#endif
