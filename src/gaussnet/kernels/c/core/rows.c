/* What is done row by row: checks of values, copies of columns, residuals, sampling. */
#include "core/columns.h"
#include "core/tiles.h"

/* Odd numbers without a pattern, for checksums. */
#define ROW_KEY UINT64_C(0x9E3779B97F4A7C15)
#define COLUMN_KEY UINT64_C(0xC2B2AE3D27D4EB4F)
#define LANE_KEY UINT64_C(0x165667B19E3779F9)

/* Whether all values are finite. A finite value minus itself is 0, any other gives NaN. Plain loops:
 * the compiler makes lanes of them, and a few at a time, so that their speed does not depend on
 * where in memory the code comes to lie. */
static int doubles_finite(const double *values, ptrdiff_t count)
{
    int64_t bad = 0;
    UNROLL_FOUR for (ptrdiff_t k = 0; k < count; k++)
        bad |= values[k] - values[k] == 0.0 ? 0 : -1;
    return bad == 0;
}

/* Copy values, and say whether all are finite. */
static ptrdiff_t copy_finite(const Argument *given)
{
    const double *restrict from = given[0].values;
    double *restrict to = given[1].values;
    const ptrdiff_t count = given[0].length;
    int64_t bad = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        to[k] = from[k];
        bad |= from[k] - from[k] == 0.0 ? 0 : -1;
    }
    return bad == 0;
}

static int floats_finite(const float *values, ptrdiff_t count)
{
    int32_t bad = 0;
    UNROLL_FOUR for (ptrdiff_t k = 0; k < count; k++)
        bad |= values[k] - values[k] == 0.0f ? 0 : -1;
    return bad == 0;
}

static int run_finite(const char *from, ptrdiff_t count, int single)
{
    return single ? floats_finite((const float *)from, count)
                  : doubles_finite((const double *)from, count);
}

static ptrdiff_t all_finite(const Argument *given)
{
    const Matrix *x = &given[0].matrix;
    const ptrdiff_t value_bytes = x->single ? sizeof(float) : sizeof(double);
    const int by_column = x->row_stride == value_bytes && x->column_stride != value_bytes;
    const ptrdiff_t runs = by_column ? x->columns : x->rows;
    const ptrdiff_t length = by_column ? x->rows : x->columns;
    const ptrdiff_t run_stride = by_column ? x->column_stride : x->row_stride;
    const ptrdiff_t stride = by_column ? x->row_stride : x->column_stride;
    for (ptrdiff_t r = 0; r < runs; r++) {
        const char *run = x->data + r * run_stride;
        if (stride == value_bytes) {
            if (!run_finite(run, length, x->single))
                return 0;
        } else {
            for (ptrdiff_t k = 0; k < length; k++)
                if (!run_finite(run + k * stride, 1, x->single))
                    return 0;
        }
    }
    return 1;
}

/* Sums of the bits of values, 8 words side by side, and sums of these sums with their upper bits
 * folded down: so the order counts as well. */
#define CHECKSUM_BYTES 64
#define CHECKSUM_LANES (8 / LANES)
typedef struct {
    Words words[CHECKSUM_LANES], sums[CHECKSUM_LANES];
} Checksum;

static void checksum_open(Checksum *own, uint64_t key)
{
    uint64_t words[8];
    for (int k = 0; k < 8; k++)
        words[k] = key + (uint64_t)k * LANE_KEY;
    memcpy(own->words, words, sizeof words);
    memset(own->sums, 0, sizeof own->sums);
}

static void checksum_add(Checksum *own, const char *from, ptrdiff_t blocks)
{
    Checksum here = *own;
    for (const char *end = from + blocks * CHECKSUM_BYTES; from < end; from += CHECKSUM_BYTES)
        UNROLL for (int k = 0; k < CHECKSUM_LANES; k++) {
            Words bits;
            memcpy(&bits, from + k * (int)sizeof bits, sizeof bits);
            here.words[k] += bits;
            here.sums[k] += here.words[k] ^ (here.words[k] >> 29);
        }
    *own = here;
}

static uint64_t checksum_close(const Checksum *own)
{
    uint64_t words[8], sums[8], total = 0;
    memcpy(words, own->words, sizeof words);
    memcpy(sums, own->sums, sizeof sums);
    for (int k = 0; k < 8; k++)
        total = total * LANE_KEY + words[k] + sums[k] * ROW_KEY;
    return total;
}

/* The checksum of values that lie `stride` bytes apart, 0 in place of those that fill a block. */
static uint64_t run_checksum(const char *from, ptrdiff_t count, ptrdiff_t stride, ptrdiff_t size,
                             uint64_t key)
{
    Checksum own;
    const ptrdiff_t held = CHECKSUM_BYTES / size;
    const ptrdiff_t whole = stride == size ? count / held : 0;
    checksum_open(&own, key);
    checksum_add(&own, from, whole);
    for (ptrdiff_t first = whole * held; first < count; first += held) {
        char block[CHECKSUM_BYTES] = {0};
        for (ptrdiff_t k = 0; k < held && first + k < count; k++)
            memcpy(block + k * size, from + (first + k) * stride, (size_t)size);
        checksum_add(&own, block, 1);
    }
    return checksum_close(&own) + (uint64_t)count * COLUMN_KEY;
}

/* A number that changes with the values and their order; see numpy_core.py. */
static ptrdiff_t checksum(const Argument *given)
{
    const Matrix *x = &given[0].matrix;
    const ptrdiff_t size = x->single ? sizeof(float) : sizeof(double);
    if (x->rows == 0 || x->columns == 0)
        return 0;
    const int is_one_run = (x->columns == 1 || x->column_stride == size) &&
                           (x->rows == 1 || x->row_stride == size * x->columns);
    const int by_column = is_one_run ? x->columns == 1 : x->rows > 1 && x->row_stride == size;
    const ptrdiff_t runs = is_one_run ? 1 : by_column ? x->columns : x->rows;
    const ptrdiff_t length = is_one_run ? x->rows * x->columns : by_column ? x->rows : x->columns;
    const ptrdiff_t run_stride = by_column ? x->column_stride : x->row_stride;
    const ptrdiff_t stride = by_column ? x->row_stride : x->column_stride;
    uint64_t key = (uint64_t)given[1].number * ROW_KEY + (uint64_t)given[2].number * COLUMN_KEY;
    uint64_t total = 0;
    for (ptrdiff_t r = 0; r < runs; r++, key += COLUMN_KEY)
        total += run_checksum(x->data + r * run_stride, length, stride, size, key);
    return (ptrdiff_t)(total & PTRDIFF_MAX);
}

/* Up to 2 * LANES rows from row r on, each column to its own run of `out`. */
INLINE void transpose_rows(const Matrix *x, ptrdiff_t r, double *out, const int single)
{
    const ptrdiff_t value_bytes = single ? sizeof(float) : sizeof(double);
    const ptrdiff_t rows = smaller(2 * LANES, x->rows - r), ahead = fetched_ahead(x);
    const ptrdiff_t columns = x->columns, stride = x->rows, row_stride = x->row_stride;
    const char *from = x->data + r * row_stride;
    ptrdiff_t c = 0;
    if (x->column_stride == value_bytes && rows == 2 * LANES)
        for (; c + LANES <= columns; c += LANES)
            copy_block(from + c * value_bytes, row_stride, ahead, out + c * stride + r, stride,
                       single);
    for (; c < columns; c++)
        copy_column(from + c * x->column_stride, row_stride, rows, out + c * stride + r, single);
}

/* All columns of the rows, one after the other. */
static ptrdiff_t transposed_columns(const Argument *given)
{
    const Matrix *x = &given[0].matrix;
    for (ptrdiff_t r = 0; r < x->rows; r += 2 * LANES)
        if (x->single)
            transpose_rows(x, r, given[1].values, 1);
        else
            transpose_rows(x, r, given[1].values, 0);
    return 0;
}

/* Child minus its parents' linear combination. */

static ptrdiff_t residuals(const Argument *given)
{
    const Matrix *x = &given[0].matrix;
    const Families *families = &given[1].families;
    const double *coefficients = given[2].values;
    double *out = given[3].values;
    Tile tile;
    if (tile_open(&tile, x, families, 0, 0, 0) < 0)
        return NO_MEMORY;
    const double **own = malloc((size_t)(largest_size(families) + 1) * sizeof *own);
    for (ptrdiff_t first = 0; own && first < x->rows; first += tile.height) {
        const ptrdiff_t rows = smaller(tile.height, x->rows - first);
        tile_move(&tile, first, rows);
        for (ptrdiff_t f = 0; f < families->count; f++) {
            const ptrdiff_t size = family_size(families, f);
            tile_family(&tile, families, f, own);
            add_combination(own, size, coefficients + families->offsets[f], -1.0, own[size],
                            rows, out + f * x->rows + first);
        }
    }
    const int failed = !own;
    tile_close(&tile);
    free((void *)own);
    return failed ? NO_MEMORY : 0;
}

/* Rows of noise into rows of a network. */

static ptrdiff_t propagate(const Argument *given)
{
    const Matrix *rows = &given[0].matrix;
    const Families *families = &given[1].families;
    const int64_t *order = given[2].values;
    const double *coefficients = given[3].values;
    Tile tile;
    if (tile_open(&tile, rows, families, 0, 0, 0) < 0)
        return NO_MEMORY;
    const double **own = malloc((size_t)(largest_size(families) + 1) * sizeof *own);
    for (ptrdiff_t first = 0; own && first < rows->rows; first += tile.height) {
        const ptrdiff_t count = smaller(tile.height, rows->rows - first);
        tile_move(&tile, first, count);
        for (ptrdiff_t k = 0; k < given[2].length; k++) {
            const ptrdiff_t node = (ptrdiff_t)order[k];
            const ptrdiff_t size = family_size(families, node);
            tile_family(&tile, families, node, own);
            add_combination(own, size, coefficients + families->offsets[node], 1.0, own[size],
                            count, (double *)own[size]);
        }
        if (tile.scratch)
            tile_write(&tile, first, count);
    }
    const int failed = !own;
    tile_close(&tile);
    free((void *)own);
    return failed ? NO_MEMORY : 0;
}
