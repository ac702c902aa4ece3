/* Rows of values split at the ends of brackets.
 *
 * Values come a run at a time, while they are in the cache, and need not be kept. So a median
 * whose region is known takes little memory, and the counts prove it.
 */
#ifndef GAUSSNET_SPLIT_H
#define GAUSSNET_SPLIT_H

#include "core/columns.h"
#include "medians/medians.h"
#include "core/tiles.h"

/* Values of each row that may be written beyond those kept. */
#define MOST_LANES 8

/* Counts of a row: below its bracket, at the low end, at the high end, above. */
enum { BELOW, AT_LOW, AT_HIGH, ABOVE, COUNTS };

/* Split one row; gives how many values were kept. `to` has space for LANES more than `count`. */
static ptrdiff_t split_row(const double *from, ptrdiff_t count, double low_end, double high_end,
                           double *to, int64_t *counts)
{
    const Lanes low = broadcast(low_end), high = broadcast(high_end);
    Mask not_below = mask_of(0), beyond_low = mask_of(0);
    Mask not_above = mask_of(0), before_high = mask_of(0);
    ptrdiff_t kept = 0, k = 0;
    for (; k + LANES <= count; k += LANES) {
        const Lanes value = load(from + k);
        const Mask reaches = is_at_least(value, low), stays = is_at_least(high, value);
        const Mask after = is_greater(value, low), before = is_greater(high, value);
        not_below += reaches;
        not_above += stays;
        beyond_low += after;
        before_high += before;
        kept += store_kept(to + kept, value, after & before);
    }
    ptrdiff_t reaching = count_mask(not_below), staying = count_mask(not_above);
    ptrdiff_t after = count_mask(beyond_low), before = count_mask(before_high);
    for (; k < count; k++) {
        const double value = from[k];
        reaching += value >= low_end;
        staying += value <= high_end;
        after += value > low_end;
        before += value < high_end;
        to[kept] = value;
        kept += value > low_end && value < high_end;
    }
    counts[AT_LOW] = reaching - after;
    counts[AT_HIGH] = low_end == high_end ? 0 : staying - before;
    counts[BELOW] = before - kept - (low_end == high_end ? 0 : counts[AT_LOW]);
    counts[ABOVE] = after - kept - counts[AT_HIGH];
    return kept;
}

/* A sample of rows of values, (rows, count): value indices[j] of each row, one of each `stride`
 * successive ones. */
typedef struct {
    const int64_t *indices;
    ptrdiff_t count, stride;
    double *values;
} Draw;

/* The draw that three arguments ask for: indices or None, stride, and where the values go. */
static Draw read_draw(const Argument *given)
{
    const int asked = given[0].values && given[2].values;
    return (Draw){given[0].values, asked ? given[0].length : 0, given[1].number, given[2].values};
}

/* Draw values from the run of a row that begins at value `first`. */
static void draw_run(const Draw *draw, ptrdiff_t row, const double *values, ptrdiff_t first,
                     ptrdiff_t count)
{
    ptrdiff_t j = draw->count ? first / draw->stride : 0;
    for (; j < draw->count && draw->indices[j] < first + count; j++)
        if (draw->indices[j] >= first)
            draw->values[row * draw->count + j] = values[draw->indices[j] - first];
}

/* Rows of values that are split run by run: a bracket and four counts for each; and the values
 * strictly inside. The runs come row after row, tile after tile; run k of the kept values begins
 * at starts[k]. */
typedef struct {
    Draw draw;
    const double *lows, *highs;
    double *kept;
    ptrdiff_t capacity; /* of `kept`; values beyond it are counted but not kept */
    int64_t *counts, *starts;
    ptrdiff_t runs; /* so far */
    double *spare;  /* space for the longest run, and LANES more */
} Splitter;

/* The splitter of `rows` rows that the last arguments of a kernel ask for. */
static Splitter read_splitter(const Argument *given, ptrdiff_t rows)
{
    Splitter splitter = {.draw = read_draw(given), .lows = given[3].values,
                         .highs = given[4].values, .kept = given[5].values,
                         .capacity = given[5].length, .counts = given[6].values,
                         .starts = given[7].values};
    memset(splitter.counts, 0, COUNTS * (size_t)rows * sizeof *splitter.counts);
    splitter.starts[0] = 0;
    return splitter;
}

/* Whether a value equals one of two others. */

static int has_either(const double *values, ptrdiff_t count, double left, double right)
{
    int64_t found = 0;
    for (ptrdiff_t k = 0; k < count; k++)
        found |= (values[k] == left ? -1 : 0) | (values[k] == right ? -1 : 0);
    return found != 0;
}

/* Split the next run, which is of row `row` and begins at its value `first`. Few values are at the
 * ends, so that these are looked for among the values inside. */
static void split_run(Splitter *splitter, ptrdiff_t row, const double *values, ptrdiff_t first,
                      ptrdiff_t count)
{
    Bracket bracket = {splitter->lows[row], splitter->highs[row], 0, 0, 0};
    const int64_t used = splitter->starts[splitter->runs];
    const int fits = used + count + LANES <= splitter->capacity;
    double *kept = fits ? splitter->kept + used : splitter->spare;
    int64_t *counts = splitter->counts + COUNTS * row, own[COUNTS];
    draw_run(&splitter->draw, row, values, first, count);
    keep_inside(values, count, &bracket, kept);
    counts[BELOW] += bracket.below;
    counts[ABOVE] += bracket.above;
    if (has_either(kept, bracket.inside, bracket.low, bracket.high)) {
        bracket.inside = split_row(kept, bracket.inside, bracket.low, bracket.high, kept, own);
        counts[AT_LOW] += own[AT_LOW];
        counts[AT_HIGH] += own[AT_HIGH];
    }
    splitter->starts[++splitter->runs] = used + bracket.inside;
}

/* Residuals of each family, or their distances from a centre each, split. */
static ptrdiff_t split_residuals(const Argument *given)
{
    const Matrix *x = &given[0].matrix;
    const Families *families = &given[1].families;
    const double *coefficients = given[2].values, *centres = given[3].values;
    Splitter splitter = read_splitter(given + 4, families->count);
    Tile tile;
    if (splitter.draw.stride < 1)
        return REFUSED;
    if (tile_open(&tile, x, families, 0, 0, 0) < 0)
        return NO_MEMORY;
    const double **own = malloc((size_t)(largest_size(families) + 1) * sizeof *own);
    double *rest = malloc(2 * (size_t)(tile.height + LANES) * sizeof *rest);
    splitter.spare = rest + tile.height + LANES;
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
            split_run(&splitter, f, rest, first, rows);
        }
    }
    const int failed = !own || !rest;
    tile_close(&tile);
    free((void *)own);
    free(rest);
    return failed ? NO_MEMORY : 0;
}

/* The values of runs that follow each other tile by tile, one row after the other. */
static ptrdiff_t joined_runs(const Argument *given)
{
    const double *values = given[0].values;
    const int64_t *starts = given[1].values;
    const ptrdiff_t runs = given[1].length - 1, rows = given[2].number;
    double *kept = given[4].values;
    int64_t *kept_starts = given[5].values;
    if (runs < 0 || (rows ? runs % rows : runs) || starts[runs] - starts[0] != given[3].number)
        return REFUSED;
    kept_starts[0] = 0;
    for (ptrdiff_t r = 0; r < rows; r++) {
        int64_t used = kept_starts[r];
        for (ptrdiff_t run = r; run < runs; run += rows) {
            const int64_t count = starts[run + 1] - starts[run];
            memcpy(kept + used, values + starts[run], (size_t)count * sizeof(double));
            used += count;
        }
        kept_starts[r + 1] = used;
    }
    return 0;
}

/* Split rows that are all there; `kept` has space for MOST_LANES more than all values. */
static ptrdiff_t split_rows(const Argument *given)
{
    const double *values = given[0].values, *lows = given[2].values, *highs = given[3].values;
    const int64_t *starts = given[1].values;
    int64_t *counts = given[4].values, *kept_starts = given[6].values;
    double *kept = given[5].values;
    kept_starts[0] = 0;
    for (ptrdiff_t r = 0; r < given[2].length; r++)
        kept_starts[r + 1] =
            kept_starts[r] + split_row(values + starts[r], (ptrdiff_t)(starts[r + 1] - starts[r]),
                                       lows[r], highs[r], kept + kept_starts[r],
                                       counts + COUNTS * r);
    return 0;
}

#endif
