/* Tiles: a run of successive rows, held column after column in scratch that fits the cache.
 *
 * Kernels read columns. Data in C order are transposed one tile at a time, so that no copy of all
 * of them is ever made; float64 columns that lie in memory one value after the other are read
 * where they are.
 */
#ifndef GAUSSNET_TILES_H
#define GAUSSNET_TILES_H

#include "core/lanes.h"

/* Scratch that outlives a call: memory fresh from the system costs a page fault every 4 KiB, which
 * for a tile is more than what is done with it. At most two blocks are kept for later calls. */

#define CACHE_LINE 64
#define MOST_SPARE_BYTES ((size_t)16 << 20)
#define SPARE_BLOCKS 2

#ifdef __GNUC__
static char *spare_blocks[SPARE_BLOCKS];
#endif

/* What a block begins with. */
typedef struct {
    size_t bytes;
} BlockHead;

static char *swap_spare(int k, char *block)
{
#ifdef __GNUC__
    return __atomic_exchange_n(&spare_blocks[k], block, __ATOMIC_ACQ_REL);
#else
    (void)k;
    return block;
#endif
}

static void give_scratch(char *block)
{
    if (!block || ((BlockHead *)block)->bytes > MOST_SPARE_BYTES) {
        free(block);
        return;
    }
    for (int k = 0; block && k < SPARE_BLOCKS; k++)
        block = swap_spare(k, block);
    free(block);
}

/* A block of at least so many bytes, to be given back; values begin a cache line after it. */
static char *take_scratch(size_t bytes)
{
    for (int k = 0; k < SPARE_BLOCKS; k++) {
        char *block = swap_spare(k, NULL);
        if (block && ((BlockHead *)block)->bytes >= bytes)
            return block;
        if (block)
            free(swap_spare(k, block));
    }
    char *block = malloc(bytes + 2 * CACHE_LINE);
    if (block)
        ((BlockHead *)block)->bytes = bytes;
    return block;
}

typedef struct {
    const Matrix *source;
    ptrdiff_t height;        /* rows a tile; its halo comes on top */
    ptrdiff_t used_count;    /* how many columns occur in the families */
    ptrdiff_t *used;         /* which, in increasing order */
    const double **columns;  /* by column number: where the first row of the tile lies */
    double *ceilings;        /* by column number, on demand: the largest absolute value */
    double *scratch;         /* NULL if the columns are read in place */
    ptrdiff_t stride;        /* from one column in scratch to the next */
    void *memory;            /* what scratch was allocated as */
} Tile;

/* While rows are copied, what comes next is fetched: the rows after them if those are near, else
 * what lies so far ahead in the same rows. */
#define NEAR_BYTES (1 << 15)
#define WITHIN_ROW_BYTES 512

/* Whether float64 columns of x lie in memory one value after the other. */
static int has_whole_columns(const Matrix *x)
{
    return !x->single && (x->row_stride == (ptrdiff_t)sizeof(double) || x->rows <= 1);
}

/* Largest number of parents of any family. */
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

static void tile_close(Tile *tile)
{
    give_scratch(tile->memory);
    free(tile->ceilings);
    free(tile->columns);
    free(tile->used);
    memset(tile, 0, sizeof *tile);
}

/* Take memory for the columns of all families with at least `least_size` parents, for tiles of a
 * standard height and, for windows, `halo` rows more; `copy` asks for scratch that may be written. */
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

/* Transpose 2 * LANES rows of LANES neighbouring columns, and have what lies `ahead` bytes
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
    const int blocks = rows == 2 * LANES && source->column_stride == value_bytes;
    const ptrdiff_t ahead = fetched_ahead(source);
    ptrdiff_t u = 0;
    while (u < tile->used_count) {
        const char *column = from + used[u] * source->column_stride;
        double *to = tile->scratch + u * tile->stride + at;
        if (blocks && u + LANES <= tile->used_count &&
            used[u + LANES - 1] - used[u] == LANES - 1) {
            copy_block(column, source->row_stride, ahead, to, tile->stride, single);
            u += LANES;
        } else {
            copy_column(column, source->row_stride, rows, to, single);
            u += 1;
        }
    }
}

/* Hold rows first .. first + rows. */
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
        const char *row = from + r * source->row_stride;
        if (source->single)
            copy_rows(tile, row, smaller(2 * LANES, rows - r), r, 1);
        else
            copy_rows(tile, row, smaller(2 * LANES, rows - r), r, 0);
    }
}

/* The same for scratch that the kernel fills itself, column u from tile_origin. */
static void tile_prepare(Tile *tile, ptrdiff_t first, ptrdiff_t rows)
{
    if (!has_whole_columns(tile->source))
        tile_move(tile, first, rows);
    for (ptrdiff_t u = 0; u < tile->used_count; u++)
        tile->columns[tile->used[u]] = tile->scratch + u * tile->stride;
}

/* Where the values of column u are: in the scratch, unless columns are read in place. */
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

/* Write the columns in scratch back to rows first .. first + rows of a float64 source. */
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

/* Have the cache line fetched that the next tile has where this value is, if its column is read in
 * position and tiles are as tall as can be; else it does no harm. */
INLINE void fetch_next_tile(const double *value)
{
    fetch_ahead((const char *)(value + TALLEST_TILE));
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

/* Find the ceilings of `rows` rows; no smaller than `least`. */
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

/* Column pointers of family f: its parents, then its child. */
static void tile_family(const Tile *tile, const Families *families, ptrdiff_t f,
                        const double **own)
{
    const int64_t *parents = families->parents + families->offsets[f];
    const ptrdiff_t size = family_size(families, f);
    for (ptrdiff_t slot = 0; slot < size; slot++)
        own[slot] = tile->columns[parents[slot]];
    own[size] = tile->columns[families->children[f]];
}

/* Have the columns of family f fetched, if there is such a family with parents and its columns are
 * too short for the processor to foresee what is read. */
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

#endif
