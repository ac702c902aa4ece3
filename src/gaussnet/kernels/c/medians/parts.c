/* Rows of values that come in parts: values of ranks, medians, and median distances from these. No
 * copy of more than a row is made. */
#include "core/columns.h"
#include "medians/medians.h"

/* Values of a row in all parts. */
static ptrdiff_t count_row(const Parts *parts, ptrdiff_t row)
{
    int64_t count = 0;
    for (ptrdiff_t k = 0; k < parts->count; k++)
        count += parts->starts[k][row + 1] - parts->starts[k][row];
    return (ptrdiff_t)count;
}

static void gather_row(const Parts *parts, ptrdiff_t row, double *to)
{
    for (ptrdiff_t k = 0; k < parts->count; k++) {
        const int64_t first = parts->starts[k][row];
        const size_t count = (size_t)(parts->starts[k][row + 1] - first);
        memcpy(to, parts->values[k] + first, count * sizeof(double));
        to += count;
    }
}

/* The value of rank `rank` among `count`, and in *lower that of the rank before, if there is one.
 * `memory` has space for twice as many values and LANES more each. */
static double value_at_rank(double *values, ptrdiff_t count, ptrdiff_t rank, double *memory,
                            double *lower)
{
    Search search = {.values = values, .count = count, .rank = rank,
                     .bracket = {-INFINITY, INFINITY, 0, count, 0},
                     .spare = {memory, memory + count + LANES}};
    int64_t used = count;
    narrow(&search, &used);
    const double value = finish_search(&search, lower);
    if (search.rank == 0 && rank > 0)
        *lower = largest_below(values, count, value);
    return value;
}

/* The values of two ranks among `count`, NaN for one that is not there. */
static void two_values(double *values, ptrdiff_t count, int64_t low, int64_t high, double *memory,
                       double *at_low, double *at_high)
{
    const int has_low = low >= 0 && low < count, has_high = high >= 0 && high < count;
    double lower;
    *at_low = *at_high = NAN;
    if (has_high)
        *at_high = value_at_rank(values, count, (ptrdiff_t)high, memory, &lower);
    if (has_low && has_high && low == high)
        *at_low = *at_high;
    else if (has_low && has_high && low == high - 1)
        *at_low = lower;
    else if (has_low)
        *at_low = value_at_rank(values, count, (ptrdiff_t)low, memory, &lower);
}

/* Of each row the values of two ranks, counted from 0. */
static ptrdiff_t kept_ranks(const Argument *given)
{
    const int64_t *low_ranks = given[0].values, *high_ranks = given[1].values;
    const Parts *parts = &given[2].parts;
    double *at_low = given[3].values, *at_high = given[4].values;
    const ptrdiff_t rows = given[0].length;
    ptrdiff_t most = 0;
    for (ptrdiff_t r = 0; r < rows; r++)
        most = greater(most, count_row(parts, r));
    double *values = malloc(3 * (size_t)(most + LANES) * sizeof *values);
    for (ptrdiff_t r = 0; values && r < rows; r++) {
        gather_row(parts, r, values);
        two_values(values, count_row(parts, r), low_ranks[r], high_ranks[r],
                   values + most + LANES, at_low + r, at_high + r);
    }
    const int failed = !values;
    free(values);
    return failed ? NO_MEMORY : 0;
}

/* Memory for the longest of `rows` rows, for another, and for what row_median needs. */
static double *new_rows(const Parts *parts, ptrdiff_t rows, ptrdiff_t *stride)
{
    *stride = LANES;
    for (ptrdiff_t r = 0; r < rows; r++)
        *stride = greater(*stride, count_row(parts, r) + LANES);
    return malloc(4 * (size_t)*stride * sizeof(double));
}

/* Row r, where it is if it lies in one part, else in `memory`. */
static const double *join_row(const Parts *parts, ptrdiff_t r, double *memory)
{
    if (parts->count == 1)
        return parts->values[0] + parts->starts[0][r];
    gather_row(parts, r, memory);
    return memory;
}

/* Rows first .. first + count times their coefficients, summed, in `memory`. */
static const double *combine_rows(const Parts *parts, ptrdiff_t first, ptrdiff_t count,
                                  const double *coefficients, double *memory)
{
    double *to = memory;
    for (ptrdiff_t k = 0; k < parts->count; k++) {
        const int64_t *starts = parts->starts[k] + first;
        mix_rows(parts->values[k] + starts[0], starts[1] - starts[0], count, coefficients, to);
        to += starts[1] - starts[0];
    }
    return memory;
}

/* Whether all rows of every part are of one length. */
static int are_even(const Parts *parts, ptrdiff_t rows)
{
    int even = 1;
    for (ptrdiff_t k = 0; k < parts->count; k++)
        for (ptrdiff_t r = 1; r < rows; r++)
            even = even && parts->starts[k][r + 1] - parts->starts[k][r] ==
                               parts->starts[k][1] - parts->starts[k][0];
    return even;
}

/* Medians of each row; with `transforms`, (count, size, size) upper triangles, of the `size` rows
 * of each system multiplied by its triangle. `used` are the values that the first row of each
 * system has. */
static ptrdiff_t joined_medians(const Argument *given)
{
    const ptrdiff_t size = given[1].number, rows = given[0].number * size;
    const Parts *parts = &given[2].parts;
    const double *transforms = given[3].values;
    double *medians = given[4].values;
    int64_t *used = given[5].values, found;
    ptrdiff_t stride;
    if (size < 1 || (transforms && !are_even(parts, rows)))
        return REFUSED;
    double *memory = new_rows(parts, rows, &stride);
    for (ptrdiff_t r = 0; memory && r < rows; r++) {
        const ptrdiff_t i = r % size;
        const double *row = transforms ? combine_rows(parts, r, size - i,
                                                      transforms + r * size + i, memory)
                                       : join_row(parts, r, memory);
        medians[r] = row_median(row, count_row(parts, r), memory + 2 * stride, &found);
        if (i == 0)
            used[r / size] = found;
    }
    const int failed = !memory;
    free(memory);
    return failed ? NO_MEMORY : 0;
}

/* Median of each row, and median of the distances of its values from it. */
static ptrdiff_t joined_spreads(const Argument *given)
{
    const ptrdiff_t rows = given[0].number;
    const Parts *parts = &given[1].parts;
    double *medians = given[2].values, *deviations = given[3].values;
    int64_t used;
    ptrdiff_t stride;
    double *memory = new_rows(parts, rows, &stride), *other = memory + stride;
    for (ptrdiff_t r = 0; memory && r < rows; r++) {
        const ptrdiff_t count = count_row(parts, r);
        const double *row = join_row(parts, r, memory);
        const double median = row_median(row, count, memory + 2 * stride, &used);
        for (ptrdiff_t v = 0; v < count; v++)
            other[v] = fabs(row[v] - median);
        medians[r] = median;
        deviations[r] = row_median(other, count, memory + 2 * stride, &used);
    }
    const int failed = !memory;
    free(memory);
    return failed ? NO_MEMORY : 0;
}
