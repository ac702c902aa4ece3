/* Medians of rows whose values come in parts, of linear combinations of rows, and of their
 * distances from the median; no copy of more than a row is made. */
#include "combination.h"

/* What is searched for medians: rows of the parts joined, in scratch. */
typedef struct {
    const Parts *parts;
    double *row;       /* room for a row */
    double *other;     /* and for another */
    double *memory;    /* what row_median needs */
} Joined;

static int open_joined(Joined *joined, const Parts *parts)
{
    const size_t room = (size_t)parts->total + LANES;
    joined->parts = parts;
    joined->row = malloc(4 * room * sizeof(double));
    joined->other = joined->row + room;
    joined->memory = joined->other + room;
    return joined->row ? 0 : -1;
}

/* Row r, where it is if it lies in one part. */
static const double *join_row(const Joined *joined, ptrdiff_t r)
{
    const Parts *parts = joined->parts;
    if (parts->count == 1)
        return parts->data[0] + r * parts->lengths[0];
    double *to = joined->row;
    for (ptrdiff_t k = 0; k < parts->count; to += parts->lengths[k], k++)
        memcpy(to, parts->data[k] + r * parts->lengths[k],
               (size_t)parts->lengths[k] * sizeof(double));
    return joined->row;
}

/* Rows first .. first + count times their coefficients, summed. */
static const double *combine_rows(const Joined *joined, ptrdiff_t first, ptrdiff_t count,
                                  const double *coefficients)
{
    const Parts *parts = joined->parts;
    double *to = joined->row;
    for (ptrdiff_t k = 0; k < parts->count; to += parts->lengths[k], k++) {
        const double *rows = parts->data[k] + first * parts->lengths[k];
        mix_rows(rows, parts->lengths[k], count, coefficients, to);
    }
    return joined->row;
}

/* Medians of each row; with `turns`, (rows / size, size, size) upper triangles, of the rows of
 * each system turned by its triangle. `used` are the values that the first row of each system
 * has. */
static int joined_medians(const Parts *parts, ptrdiff_t size, const double *turns,
                          double *medians, int64_t *used)
{
    Joined joined;
    if (open_joined(&joined, parts) < 0)
        return -1;
    for (ptrdiff_t r = 0; r < parts->rows; r++) {
        const ptrdiff_t i = r % size;
        int64_t found;
        const double *row = turns ? combine_rows(&joined, r, size - i, turns + r * size + i)
                                  : join_row(&joined, r);
        medians[r] = row_median(row, parts->total, joined.memory, &found);
        if (i == 0)
            used[r / size] = found;
    }
    free(joined.row);
    return 0;
}

/* Median of each row, and median of the distances of its values from it. */
static int joined_spreads(const Parts *parts, double *medians, double *deviations)
{
    Joined joined;
    if (open_joined(&joined, parts) < 0)
        return -1;
    for (ptrdiff_t r = 0; r < parts->rows; r++) {
        const double *row = join_row(&joined, r);
        int64_t used;
        const double median = row_median(row, parts->total, joined.memory, &used);
        for (ptrdiff_t v = 0; v < parts->total; v++)
            joined.other[v] = fabs(row[v] - median);
        medians[r] = median;
        deviations[r] = row_median(joined.other, parts->total, joined.memory, &used);
    }
    free(joined.row);
    return 0;
}
