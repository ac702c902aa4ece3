/* Means and cross-products of families, and what is solved from them. */
#include "core/columns.h"
#include "core/lower.h"
#include "core/tiles.h"

/* Means and cross-products of the columns of each family. */

/* Write a column less `origin`, from `from` to `to`, which may be the same; gives the sum. */
static double shifted_sum(const double *from, ptrdiff_t rows, double origin, double *to)
{
    const Lanes shift = broadcast(origin);
    Lanes sums[PARTIAL_SUMS];
    UNROLL for (int u = 0; u < PARTIAL_SUMS; u++)
        sums[u] = broadcast(0.0);
    ptrdiff_t r = 0;
    for (; r + PARTIAL_SUMS * LANES <= rows; r += PARTIAL_SUMS * LANES)
        UNROLL for (int u = 0; u < PARTIAL_SUMS; u++) {
            const Lanes value = load(from + r + u * LANES) - shift;
            if (u % 2 == 0) /* a line holds two Lanes or more */
                fetch_next_tile(from + r + u * LANES);
            store(to + r + u * LANES, value);
            sums[u] += value;
        }
    for (; r < rows; r += LANES) {
        const ptrdiff_t count = smaller(LANES, rows - r);
        const Lanes value = load_some(from + r, count) - shift;
        store_part(to + r, value, count);
        sums[0] += count < LANES ? keep_first(value, count) : value;
    }
    return sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/* Subtract the mean of a column where it lies; gives the sum of squares. */
static double centred_squares(double *column, ptrdiff_t rows, double mean)
{
    const Lanes shift = broadcast(mean);
    Lanes sums[PARTIAL_SUMS];
    UNROLL for (int u = 0; u < PARTIAL_SUMS; u++)
        sums[u] = broadcast(0.0);
    ptrdiff_t r = 0;
    for (; r + PARTIAL_SUMS * LANES <= rows; r += PARTIAL_SUMS * LANES)
        UNROLL for (int u = 0; u < PARTIAL_SUMS; u++) {
            const Lanes value = load(column + r + u * LANES) - shift;
            store(column + r + u * LANES, value);
            sums[u] += value * value;
        }
    for (; r < rows; r += LANES) {
        const ptrdiff_t count = smaller(LANES, rows - r);
        Lanes value = load_some(column + r, count) - shift;
        store_part(column + r, value, count);
        value = count < LANES ? keep_first(value, count) : value;
        sums[0] += value * value;
    }
    return sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/* Subtract a column's mean where it lies; gives the mean less `origin`, which goes first. */
static double subtract_mean(double *column, ptrdiff_t rows, double origin)
{
    const double mean = shifted_sum(column, rows, origin, column) / (double)rows;
    centred_squares(column, rows, mean);
    return mean;
}

/* What is known of the columns after some tiles, by column number. The sums of two runs of
 * rows about their own means merge exactly: with d the difference of the means and
 * w = rows * rows' / (rows + rows'), the products of columns i and j add up to
 * S_ij + S'_ij + w d_i d_j. Means are kept as distances from the first row: so one that is
 * large beside the spread does no harm, and a constant column becomes exactly zero. */
typedef struct {
    double *origin;   /* the first row, 0 if not centred */
    double *mean;     /* mean of the rows before this tile, less the origin */
    double *squares;  /* sum of squares about the mean */
    double *step;     /* mean of this tile minus mean of the rows before it */
    double weight;
} Totals;

static void begin_tile(Totals *totals, Tile *tile, ptrdiff_t first, ptrdiff_t rows, int centre)
{
    totals->weight = (double)first * ((double)rows / (double)(first + rows));
    for (ptrdiff_t u = 0; u < tile->used_count; u++) {
        ptrdiff_t c = tile->used[u];
        if (centre) {
            const double *from = tile_origin(tile, u, first);
            double *column = tile->scratch + u * tile->stride;
            if (first == 0)
                totals->origin[c] = from[0];
            double mean = shifted_sum(from, rows, totals->origin[c], column) / (double)rows;
            totals->squares[c] += centred_squares(column, rows, mean);
            totals->step[c] = mean - totals->mean[c];
        } else {
            totals->squares[c] += column_squares(tile->columns[c], rows);
        }
        totals->squares[c] += totals->weight * totals->step[c] * totals->step[c];
    }
}

static void end_tile(Totals *totals, const Tile *tile, ptrdiff_t first, ptrdiff_t rows)
{
    double share = (double)rows / (double)(first + rows);
    for (ptrdiff_t u = 0; u < tile->used_count; u++)
        totals->mean[tile->used[u]] += share * totals->step[tile->used[u]];
}

/* Add what moving the means adds to the products of different columns of a family. */
static void add_steps(const Totals *totals, const int64_t *parents, int64_t child,
                      ptrdiff_t size, double *packed)
{
    for (ptrdiff_t i = 1; i <= size; i++) {
        double factor = totals->weight * totals->step[i < size ? parents[i] : child];
        double *row = packed + triangle_length(i);
        for (ptrdiff_t j = 0; j < i; j++)
            row[j] += factor * totals->step[parents[j]];
    }
}

static void add_tile(const Totals *totals, const Tile *tile, const Families *families,
                     ptrdiff_t rows, int centre, const double **own, double *products)
{
    for (ptrdiff_t f = 0; f < families->count; f++) {
        const ptrdiff_t size = family_size(families, f);
        tile_family(tile, families, f, own);
        add_products(own, size + 1, rows, products);
        if (centre)
            add_steps(totals, families->parents + families->offsets[f], families->children[f],
                      size, products);
        products += triangle_length(size + 1);
    }
}

/* Fill in means and diagonals, which are kept once a column. */
static void finish_moments(const Totals *totals, const Families *families, double *means,
                           double *products)
{
    for (ptrdiff_t f = 0; f < families->count; f++) {
        const int64_t *parents = families->parents + families->offsets[f];
        const ptrdiff_t size = family_size(families, f);
        for (ptrdiff_t i = 0; i <= size; i++) {
            int64_t column = i < size ? parents[i] : families->children[f];
            *means++ = totals->origin[column] + totals->mean[column];
            products[triangle_length(i + 1) - 1] = totals->squares[column];
        }
        products += triangle_length(size + 1);
    }
}

static ptrdiff_t family_moments(const Argument *given)
{
    const Matrix *x = &given[0].matrix;
    const Families *families = &given[1].families;
    const int centre = (int)given[2].number;
    double *means = given[3].values, *products = given[4].values;
    Tile tile;
    Totals totals;
    if (tile_open(&tile, x, families, 0, 0, centre) < 0)
        return NO_MEMORY;
    memset(products, 0, (size_t)given[4].length * sizeof *products);
    size_t columns = (size_t)x->columns + 1;
    double *memory = calloc(4 * columns, sizeof(double));
    const double **own = malloc((size_t)(largest_size(families) + 1) * sizeof *own);
    int failed = !memory || !own;
    if (!failed) {
        totals.mean = memory;
        totals.squares = memory + columns;
        totals.step = memory + 2 * columns;
        totals.origin = memory + 3 * columns;
        for (ptrdiff_t first = 0; first < x->rows; first += tile.height) {
            ptrdiff_t rows = smaller(tile.height, x->rows - first);
            if (centre)
                tile_prepare(&tile, first, rows);
            else
                tile_move(&tile, first, rows);
            begin_tile(&totals, &tile, first, rows, centre);
            add_tile(&totals, &tile, families, rows, centre, own, products);
            end_tile(&totals, &tile, first, rows);
        }
        finish_moments(&totals, families, means, products);
    }
    free(own);
    free(memory);
    tile_close(&tile);
    return failed ? NO_MEMORY : 0;
}

/* Least squares of each child on its parents from the packed cross-products. */

/* The smaller of two, NaN if either is. */
static double smaller_or_nan(double a, double b)
{
    return isnan(a) || a < b ? a : b;
}

/* Families f .. f + count, all with `size` parents; `lower` is space for the triangles and one
 * row more. */
static void solve_some(ptrdiff_t size, ptrdiff_t count, const double *packed, Lanes *lower,
                       double *coefficients, double *squares, double *pivots)
{
    const ptrdiff_t length = triangle_length(size + 1);
    load_triangles(packed, length, count, length, lower);
    factor_and_solve_large(size, lower, lower + length);
    for (ptrdiff_t k = 0; k < count; k++) {
        double smallest = INFINITY;
        for (ptrdiff_t i = 0; size > 0 && i <= size; i++) {
            ptrdiff_t at = triangle_length(i + 1) - 1;
            double diagonal = packed[k * length + at];
            double pivot = LANE(lower[at], k);
            smallest = smaller_or_nan(smallest, diagonal == 0.0 ? 0.0 : pivot / diagonal);
        }
        for (ptrdiff_t i = 0; i < size; i++)
            *coefficients++ = LANE(lower[triangle_length(size) + i], k);
        double rest = LANE(lower[length - 1], k);
        squares[k] = rest < 0.0 ? 0.0 : rest;
        pivots[k] = smallest;
    }
}

static ptrdiff_t solve_moments(const Argument *given)
{
    const Families *families = &given[0].families;
    const double *products = given[1].values;
    double *coefficients = given[2].values, *squares = given[3].values, *pivots = given[4].values;
    void *memory;
    const ptrdiff_t largest = largest_size(families);
    Lanes *lower = new_lanes(triangle_length(largest + 1) + largest + 1, &memory);
    if (!lower)
        return NO_MEMORY;
    ptrdiff_t f = 0;
    while (f < families->count) {
        const ptrdiff_t size = family_size(families, f);
        ptrdiff_t count = 1;
        while (count < LANES && f + count < families->count &&
               family_size(families, f + count) == size)
            count++;
        solve_some(size, count, products, lower, coefficients + families->offsets[f],
                   squares + f, pivots + f);
        products += count * triangle_length(size + 1);
        f += count;
    }
    free(memory);
    return 0;
}

/* Upper triangles U of the parents of each family, U'U being their cross-products, and systems
 * with them. */

/* U from the packed lower triangle of U'U: row after row. */
static void factor_upper(ptrdiff_t size, const double *packed, double *upper)
{
    memset(upper, 0, (size_t)(size * size) * sizeof *upper);
    for (ptrdiff_t j = 0; j < size; j++)
        for (ptrdiff_t i = 0; i <= j; i++) {
            double rest = packed[triangle_length(j) + i];
            for (ptrdiff_t k = 0; k < i; k++)
                rest -= upper[k * size + i] * upper[k * size + j];
            upper[i * size + j] = i < j ? rest / upper[i * size + i] : sqrt(rest);
        }
}

static void set_identity(ptrdiff_t size, double *upper)
{
    memset(upper, 0, (size_t)(size * size) * sizeof *upper);
    for (ptrdiff_t i = 0; i < size; i++)
        upper[i * size + i] = 1.0;
}

/* The triangles of all families, one after the other; the identity where `lost` holds. */
static ptrdiff_t upper_triangles(const Argument *given)
{
    const Families *families = &given[0].families;
    const double *products = given[1].values;
    const unsigned char *lost = given[2].values;
    double *uppers = given[3].values;
    for (ptrdiff_t f = 0; f < families->count; f++) {
        const ptrdiff_t size = family_size(families, f);
        if (lost[f])
            set_identity(size, uppers);
        else
            factor_upper(size, products, uppers);
        products += triangle_length(size + 1);
        uppers += size * size;
    }
    return 0;
}

/* Solutions of U x = y for `count` triangles of `size` rows; NaN where a diagonal entry is 0. */
static ptrdiff_t solve_triangles(const Argument *given)
{
    const ptrdiff_t count = given[0].number, size = given[1].number;
    const double *uppers = given[2].values, *right = given[3].values;
    double *out = given[4].values;
    if (size < 1)
        return REFUSED;
    for (ptrdiff_t f = 0; f < count; f++, uppers += size * size, right += size, out += size) {
        int regular = 1;
        for (ptrdiff_t i = size - 1; i >= 0; i--) {
            double rest = right[i];
            for (ptrdiff_t j = i + 1; j < size; j++)
                rest -= uppers[i * size + j] * out[j];
            regular = regular && uppers[i * size + i] != 0.0;
            out[i] = rest / uppers[i * size + i];
        }
        for (ptrdiff_t i = 0; !regular && i < size; i++)
            out[i] = NAN;
    }
    return 0;
}

/* Mean and squared deviations of each family's residuals, without keeping these. */

/* Merge one more tile of residuals into what is known of those before it, `before` rows with this
 * mean (less their first) and these squares about it. Overwrites the residuals. */
static void add_residuals(double *rest, ptrdiff_t rows, ptrdiff_t before, double origin,
                          double *mean, double *squares)
{
    const double share = (double)rows / (double)(before + rows);
    const double step = subtract_mean(rest, rows, origin) - *mean;
    *squares += column_squares(rest, rows) + (double)before * share * step * step;
    *mean += share * step;
}

static ptrdiff_t residual_moments(const Argument *given)
{
    const Matrix *x = &given[0].matrix;
    const Families *families = &given[1].families;
    const double *coefficients = given[2].values;
    double *means = given[3].values, *squares = given[4].values;
    Tile tile;
    if (tile_open(&tile, x, families, 0, 0, 0) < 0)
        return NO_MEMORY;
    const double **own = malloc((size_t)(largest_size(families) + 1) * sizeof *own);
    double *rest = malloc((size_t)(tile.height + families->count + 1) * sizeof *rest);
    double *origin = rest + tile.height;
    memset(means, 0, (size_t)families->count * sizeof *means);
    memset(squares, 0, (size_t)families->count * sizeof *squares);
    for (ptrdiff_t first = 0; own && rest && first < x->rows; first += tile.height) {
        const ptrdiff_t rows = smaller(tile.height, x->rows - first);
        tile_move(&tile, first, rows);
        for (ptrdiff_t f = 0; f < families->count; f++) {
            const ptrdiff_t size = family_size(families, f);
            tile_family(&tile, families, f, own);
            add_combination(own, size, coefficients + families->offsets[f], -1.0, own[size],
                            rows, rest);
            if (first == 0)
                origin[f] = rest[0];
            add_residuals(rest, rows, first, origin[f], means + f, squares + f);
        }
    }
    const int failed = !own || !rest;
    for (ptrdiff_t f = 0; !failed && x->rows && f < families->count; f++)
        means[f] += origin[f];
    tile_close(&tile);
    free((void *)own);
    free(rest);
    return failed ? NO_MEMORY : 0;
}
