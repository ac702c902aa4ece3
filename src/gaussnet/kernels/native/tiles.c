#include "scratch.h"
#include "tiles.h"

/* Sums are quickest while a tile stays close to the processor. Windows do more with every row,
 * and many of them side by side; so their tiles are taller. */
#define TILE_BYTES (1 << 20)
#define WINDOW_TILE_BYTES (10 << 20)
#define SHORTEST_TILE 64
/* While rows are copied, what comes next is fetched: the rows after them if those are near, else
 * what lies so far ahead in the same rows. */
#define NEAR_BYTES (1 << 15)
#define WITHIN_ROW_BYTES 512

static int has_whole_columns(const Matrix *x)
{
    return !x->single && (x->row_stride == (ptrdiff_t)sizeof(double) || x->rows <= 1);
}

/* The height depends on nothing but the width of the data: a family's sums come out the same
 * whichever other families are asked for. A multiple of 8 rows fills whole cache lines. */
static ptrdiff_t tile_height(ptrdiff_t columns, ptrdiff_t bytes)
{
    ptrdiff_t rows = bytes / (ptrdiff_t)sizeof(double) / greater(columns, 1) / 8 * 8;
    return greater(SHORTEST_TILE, smaller(rows, TALLEST_TILE));
}

static ptrdiff_t tile_rows(ptrdiff_t columns, int for_windows)
{
    return tile_height(columns, for_windows ? WINDOW_TILE_BYTES : TILE_BYTES);
}

static ptrdiff_t largest_size(const Families *families)
{
    ptrdiff_t largest = 0;
    for (ptrdiff_t f = 0; f < families->count; f++)
        largest = greater(largest, family_size(families, f));
    return largest;
}

/* List the columns that occur in families with enough parents. */
static void find_used(Tile *tile, const Families *families, ptrdiff_t least_size, char *occurs)
{
    for (ptrdiff_t f = 0; f < families->count; f++) {
        if (family_size(families, f) < least_size)
            continue;
        occurs[families->children[f]] = 1;
        for (int64_t e = families->offsets[f]; e < families->offsets[f + 1]; e++)
            occurs[families->parents[e]] = 1;
    }
    for (ptrdiff_t c = 0; c < tile->source->columns; c++)
        if (occurs[c])
            tile->used[tile->used_count++] = c;
}

static int tile_open(Tile *tile, const Matrix *source, const Families *families,
                     ptrdiff_t least_size, ptrdiff_t halo, int copy)
{
    size_t columns = (size_t)source->columns + 1;
    memset(tile, 0, sizeof *tile);
    tile->source = source;
    tile->height = tile_rows(source->columns, halo > 0);
    tile->used = malloc(columns * sizeof *tile->used);
    tile->columns = calloc(columns, sizeof *tile->columns);
    char *occurs = calloc(columns, 1);
    int failed = !tile->used || !tile->columns || !occurs;
    if (!failed)
        find_used(tile, families, least_size, occurs);
    free(occurs);
    if (!failed && (copy || !has_whole_columns(source))) {
        /* An odd number of cache lines a column spreads the columns over the cache's sets. */
        ptrdiff_t rows = smaller(source->rows, tile->height + halo);
        tile->stride = (rows + 15) / 16 * 16 + 8;
        size_t values = (size_t)tile->stride * (size_t)tile->used_count;
        tile->memory = take_scratch(values * sizeof(double));
        failed = !tile->memory;
        uintptr_t address = (uintptr_t)tile->memory + 2 * CACHE_LINE - 1;
        tile->scratch = (double *)(address / CACHE_LINE * CACHE_LINE);
    }
    if (failed)
        tile_close(tile);
    return failed ? -1 : 0;
}

static void tile_close(Tile *tile)
{
    give_scratch(tile->memory);
    free(tile->ceilings);
    free(tile->columns);
    free(tile->used);
    memset(tile, 0, sizeof *tile);
}

INLINE double value_at(const char *from, const int single)
{
    return single ? (double)*(const float *)from : *(const double *)from;
}

INLINE Lanes lanes_at(const char *from, const int single)
{
    return single ? load_floats((const float *)from) : load((const double *)from);
}

/* Copy one column of a run of rows. */
INLINE void copy_column(const char *from, ptrdiff_t row_stride, ptrdiff_t rows, double *to,
                        const int single)
{
    for (ptrdiff_t r = 0; r < rows; r++)
        to[r] = value_at(from + r * row_stride, single);
}

/* How far ahead of the rows that are copied others are fetched. */
INLINE ptrdiff_t fetched_ahead(const Matrix *source)
{
    const ptrdiff_t next = 2 * LANES * source->row_stride;
    return greater(next, -next) <= NEAR_BYTES ? next : WITHIN_ROW_BYTES;
}

/* Turn 2 * LANES rows of LANES neighbouring columns around, and have what lies `ahead` bytes
 * further on fetched meanwhile. */
INLINE void copy_block(const char *from, ptrdiff_t row_stride, ptrdiff_t ahead, double *to,
                       ptrdiff_t stride, const int single)
{
    for (int half = 0; half < 2; half++) {
        Lanes block[LANES];
        for (int k = 0; k < LANES; k++) {
            const char *row = from + (half * LANES + k) * row_stride;
            block[k] = lanes_at(row, single);
            fetch_ahead(row + ahead);
        }
        transpose(block);
        for (int k = 0; k < LANES; k++)
            store(to + k * stride + half * LANES, block[k]);
    }
}

/* Copy `rows` <= 2 * LANES rows of all used columns to offset `at` of the scratch columns. */
INLINE void copy_rows(const Tile *tile, const char *from, ptrdiff_t rows, ptrdiff_t at,
                      const int single)
{
    const Matrix *source = tile->source;
    const ptrdiff_t value_bytes = single ? sizeof(float) : sizeof(double);
    const ptrdiff_t *used = tile->used;
    const int turnable = rows == 2 * LANES && source->column_stride == value_bytes;
    const ptrdiff_t ahead = fetched_ahead(source);
    ptrdiff_t u = 0;
    while (u < tile->used_count) {
        const char *place = from + used[u] * source->column_stride;
        double *to = tile->scratch + u * tile->stride + at;
        if (turnable && u + LANES <= tile->used_count &&
            used[u + LANES - 1] - used[u] == LANES - 1) {
            copy_block(place, source->row_stride, ahead, to, tile->stride, single);
            u += LANES;
        } else {
            copy_column(place, source->row_stride, rows, to, single);
            u += 1;
        }
    }
}

static void tile_move(Tile *tile, ptrdiff_t first, ptrdiff_t rows)
{
    const Matrix *source = tile->source;
    const char *from = source->data + first * source->row_stride;
    if (!tile->scratch) {
        for (ptrdiff_t u = 0; u < tile->used_count; u++)
            tile->columns[tile->used[u]] =
                (const double *)(from + tile->used[u] * source->column_stride);
        return;
    }
    for (ptrdiff_t u = 0; u < tile->used_count; u++)
        tile->columns[tile->used[u]] = tile->scratch + u * tile->stride;
    if (has_whole_columns(source)) {
        for (ptrdiff_t u = 0; u < tile->used_count; u++)
            memcpy(tile->scratch + u * tile->stride,
                   from + tile->used[u] * source->column_stride, (size_t)rows * sizeof(double));
        return;
    }
    for (ptrdiff_t r = 0; r < rows; r += 2 * LANES) {
        const char *place = from + r * source->row_stride;
        if (source->single)
            copy_rows(tile, place, smaller(2 * LANES, rows - r), r, 1);
        else
            copy_rows(tile, place, smaller(2 * LANES, rows - r), r, 0);
    }
}

static void tile_prepare(Tile *tile, ptrdiff_t first, ptrdiff_t rows)
{
    if (!has_whole_columns(tile->source))
        tile_move(tile, first, rows);
    for (ptrdiff_t u = 0; u < tile->used_count; u++)
        tile->columns[tile->used[u]] = tile->scratch + u * tile->stride;
}

static const double *tile_origin(const Tile *tile, ptrdiff_t u, ptrdiff_t first)
{
    const Matrix *source = tile->source;
    if (!has_whole_columns(source))
        return tile->scratch + u * tile->stride;
    return (const double *)(source->data + first * source->row_stride +
                            tile->used[u] * source->column_stride);
}

/* Write LANES rows of LANES neighbouring columns back. */
INLINE void write_block(const double *from, ptrdiff_t stride, char *to, ptrdiff_t row_stride)
{
    Lanes block[LANES];
    for (int k = 0; k < LANES; k++)
        block[k] = load(from + k * stride);
    transpose(block);
    for (int k = 0; k < LANES; k++)
        store((double *)(to + k * row_stride), block[k]);
}

static void tile_write(const Tile *tile, ptrdiff_t first, ptrdiff_t rows)
{
    const Matrix *source = tile->source;
    const ptrdiff_t *used = tile->used;
    for (ptrdiff_t r = 0; r < rows; r += LANES) {
        const int whole = r + LANES <= rows && source->column_stride == sizeof(double);
        ptrdiff_t u = 0;
        while (u < tile->used_count) {
            const double *from = tile->scratch + u * tile->stride + r;
            char *to = source->data + (first + r) * source->row_stride +
                       used[u] * source->column_stride;
            if (whole && u + LANES <= tile->used_count &&
                used[u + LANES - 1] - used[u] == LANES - 1) {
                write_block(from, tile->stride, to, source->row_stride);
                u += LANES;
            } else {
                for (ptrdiff_t k = 0; k < smaller(LANES, rows - r); k++)
                    *(double *)(to + k * source->row_stride) = from[k];
                u += 1;
            }
        }
    }
}

static double largest_absolute(const double *values, ptrdiff_t count)
{
    Lanes left = broadcast(0.0), right = broadcast(0.0);
    ptrdiff_t k = 0;
    for (; k + 2 * LANES <= count; k += 2 * LANES) {
        fetch_next_tile(values + k);
        left = larger(absolute(load(values + k)), left);
        right = larger(absolute(load(values + k + LANES)), right);
    }
    for (; k < count; k += LANES)
        left = larger(absolute(load_some(values + k, count - k)), left);
    left = larger(left, right);
    double largest = 0.0;
    for (int lane = 0; lane < LANES; lane++)
        largest = LANE(left, lane) > largest ? LANE(left, lane) : largest;
    return largest;
}

static int tile_ceilings(Tile *tile, ptrdiff_t rows, double least)
{
    if (!tile->ceilings)
        tile->ceilings = malloc(((size_t)tile->source->columns + 1) * sizeof *tile->ceilings);
    for (ptrdiff_t u = 0; tile->ceilings && u < tile->used_count; u++) {
        const ptrdiff_t c = tile->used[u];
        const double largest = largest_absolute(tile->columns[c], rows);
        tile->ceilings[c] = largest > least ? largest : least;
    }
    return tile->ceilings ? 0 : -1;
}

static void tile_family(const Tile *tile, const Families *families, ptrdiff_t f,
                        const double **own)
{
    const int64_t *parents = families->parents + families->offsets[f];
    const ptrdiff_t size = family_size(families, f);
    for (ptrdiff_t slot = 0; slot < size; slot++)
        own[slot] = tile->columns[parents[slot]];
    own[size] = tile->columns[families->children[f]];
}

INLINE void fetch_family(const Tile *tile, const Families *families, ptrdiff_t f, ptrdiff_t rows)
{
    if (f >= families->count || family_size(families, f) == 0 || tile->height >= TALLEST_TILE)
        return;
    const int64_t end = families->offsets[f + 1];
    for (int64_t e = families->offsets[f]; e <= end; e++) {
        const double *column = tile->columns[e < end ? families->parents[e] : families->children[f]];
        for (ptrdiff_t r = 0; r < rows; r += CACHE_LINE / (ptrdiff_t)sizeof(double))
            fetch_ahead((const char *)(column + r));
    }
}
