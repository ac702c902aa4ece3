/* Means and cross-products of the columns of each family. */
#include "products.h"
#include "tiles.h"

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

static int family_moments(const Matrix *x, const Families *families, int centre, double *means,
                          double *products)
{
    Tile tile;
    Totals totals;
    if (tile_open(&tile, x, families, 0, 0, centre) < 0)
        return -1;
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
    return failed ? -1 : 0;
}
