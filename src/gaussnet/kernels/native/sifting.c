#include "sifting.h"

#include "combination.h"
#include "tiles.h"

static void sift_run(Sieve *sieve, ptrdiff_t row, const double *values, ptrdiff_t count)
{
    Bracket bracket = {sieve->lows[row], sieve->highs[row], 0, 0, 0};
    const int64_t used = sieve->starts[sieve->runs];
    const int fits = used + count + LANES <= sieve->room;
    keep_inside(values, count, &bracket, fits ? sieve->kept + used : sieve->spare);
    sieve->below[row] += bracket.below;
    sieve->above[row] += bracket.above;
    sieve->starts[++sieve->runs] = used + bracket.inside;
}

/* Residuals of each family, or their distances from a centre each, sifted. */
static int sift_residuals(const Matrix *x, const Families *families, const double *coefficients,
                          const double *centres, Sieve *sieve)
{
    Tile tile;
    if (tile_open(&tile, x, families, 0, 0, 0) < 0)
        return -1;
    const double **own = malloc((size_t)(largest_size(families) + 1) * sizeof *own);
    double *rest = malloc(2 * (size_t)(tile.height + LANES) * sizeof *rest);
    sieve->spare = rest + tile.height + LANES;
    for (ptrdiff_t first = 0; own && rest && first < x->rows; first += tile.height) {
        const ptrdiff_t rows = smaller(tile.height, x->rows - first);
        tile_move(&tile, first, rows);
        for (ptrdiff_t f = 0; f < families->count; f++) {
            const ptrdiff_t size = family_size(families, f);
            tile_family(&tile, families, f, own);
            add_combination(own, size, coefficients + families->offsets[f], -1.0, own[size],
                            rows, rest);
            for (ptrdiff_t r = 0; centres && r < rows; r++)
                rest[r] = fabs(rest[r] - centres[f]);
            sift_run(sieve, f, rest, rows);
        }
    }
    const int failed = !own || !rest;
    tile_close(&tile);
    free((void *)own);
    free(rest);
    return failed ? -1 : 0;
}

/* Values of a row in all parts. */
static ptrdiff_t sifted_count(const Sifted *sifted, ptrdiff_t row)
{
    int64_t count = 0;
    for (ptrdiff_t k = 0; k < sifted->count; k++)
        for (ptrdiff_t t = 0; t < sifted->tiles[k]; t++) {
            const int64_t *starts = sifted->starts[k] + t * sifted->rows + row;
            count += starts[1] - starts[0];
        }
    return (ptrdiff_t)count;
}

static void gather_row(const Sifted *sifted, ptrdiff_t row, double *to)
{
    for (ptrdiff_t k = 0; k < sifted->count; k++)
        for (ptrdiff_t t = 0; t < sifted->tiles[k]; t++) {
            const int64_t *starts = sifted->starts[k] + t * sifted->rows + row;
            const size_t count = (size_t)(starts[1] - starts[0]);
            memcpy(to, sifted->kept[k] + starts[0], count * sizeof(double));
            to += count;
        }
}

/* The value of rank `rank` among `count`, and in *lower that of the rank before, if there is one.
 * `memory` has room for twice as many values and LANES more each. */
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

/* Of each row the values of two ranks, counted from 0; NaN where the rank is not there. */
static int sifted_ranks(const Sifted *sifted, const int64_t *low_ranks,
                        const int64_t *high_ranks, double *at_low, double *at_high)
{
    ptrdiff_t most = 0;
    for (ptrdiff_t r = 0; r < sifted->rows; r++)
        most = greater(most, sifted_count(sifted, r));
    double *values = malloc(3 * (size_t)(most + LANES) * sizeof *values);
    for (ptrdiff_t r = 0; values && r < sifted->rows; r++) {
        const ptrdiff_t count = sifted_count(sifted, r);
        const int64_t low = low_ranks[r], high = high_ranks[r];
        double *memory = values + most + LANES, lower, before = NAN;
        gather_row(sifted, r, values);
        at_high[r] = high < 0 || high >= count
                         ? NAN
                         : value_at_rank(values, count, (ptrdiff_t)high, memory, &lower);
        if (low == high)
            before = at_high[r];
        else if (low >= 0 && low == high - 1 && high < count)
            before = lower;
        else if (low >= 0 && low < count)
            before = value_at_rank(values, count, (ptrdiff_t)low, memory, &lower);
        at_low[r] = before;
    }
    const int failed = !values;
    free(values);
    return failed ? -1 : 0;
}

/* The kept values of each row, one row after the other, split at the ends of its bracket. */
static int split_sifted(const Sifted *sifted, const Brackets *brackets)
{
    ptrdiff_t most = 0, kept = 0;
    for (ptrdiff_t r = 0; r < sifted->rows; r++)
        most = greater(most, sifted_count(sifted, r));
    double *values = malloc((size_t)(most + LANES) * sizeof *values);
    brackets->kept_starts[0] = 0;
    for (ptrdiff_t r = 0; values && r < sifted->rows; r++) {
        gather_row(sifted, r, values);
        kept += split_row(values, sifted_count(sifted, r), brackets->lows[r], brackets->highs[r],
                          brackets->kept + kept, brackets->counts + PLACES * r,
                          brackets->largest + r);
        brackets->kept_starts[r + 1] = kept;
    }
    const int failed = !values;
    free(values);
    return failed ? -1 : 0;
}
