/* Least squares of each child on its parents, batch by batch.
 *
 * The rows of LANES batches are copied next to each other, centred if asked for and filled up
 * with zeros to whole Lanes; their Gram matrices are summed row after row, and the LANES small
 * systems are then solved side by side.
 */
#include "lower.h"
#include "products.h"
#include "windows.h"

typedef struct {
    double *rows;          /* (size + 1, padded): the rows of one batch */
    const double **own;    /* the same by column */
    double *triangles;     /* (LANES, length): the Gram matrices */
    Lanes *lower;          /* (length): the same, one matrix a lane */
    void *memory[2];
    ptrdiff_t padded;      /* rows of the tallest batch in whole Lanes */
} BatchScratch;

static int open_batches(BatchScratch *scratch, ptrdiff_t largest, ptrdiff_t height)
{
    const ptrdiff_t length = triangle_length(largest + 1);
    scratch->padded = (height + LANES - 1) / LANES * LANES;
    ptrdiff_t values = (largest + 1) * scratch->padded + LANES * length;
    scratch->rows = (double *)new_lanes(values / LANES + 1, &scratch->memory[0]);
    scratch->lower = new_lanes(length + largest + 1, &scratch->memory[1]);
    scratch->own = malloc((size_t)(largest + 1) * sizeof *scratch->own);
    scratch->triangles = scratch->rows + (largest + 1) * scratch->padded;
    return scratch->rows && scratch->lower && scratch->own ? 0 : -1;
}

static void close_batches(BatchScratch *scratch)
{
    free(scratch->memory[0]);
    free(scratch->memory[1]);
    free((void *)scratch->own);
}

/* Copy the rows of one batch of a column, less their mean if asked for, and zeros after them;
 * give the sum of their squares. The first row goes first, so that a constant column becomes
 * exactly zero. */
INLINE double copy_batch(const double *from, ptrdiff_t height, int centre, double *to)
{
    const Lanes first = broadcast(centre ? from[0] : 0.0);
    Lanes sum = broadcast(0.0), squares = broadcast(0.0), mean = broadcast(0.0);
    ptrdiff_t r = 0;
    for (; r + LANES <= height; r += LANES) {
        const Lanes value = load(from + r) - first;
        sum += value;
        store(to + r, value);
    }
    if (r < height) {
        for (ptrdiff_t k = 0; k < LANES; k++)
            to[r + k] = r + k < height ? from[r + k] - LANE(first, 0) : 0.0;
        sum += load(to + r);
    }
    if (centre)
        mean = broadcast(sum_lanes(sum) / (double)height);
    for (r = 0; r + LANES <= height; r += LANES) {
        const Lanes value = load(to + r) - mean;
        squares += value * value;
        store(to + r, value);
    }
    if (r < height) {
        for (ptrdiff_t k = 0; r + k < height; k++)
            to[r + k] -= LANE(mean, 0);
        squares += load(to + r) * load(to + r);
    }
    return sum_lanes(squares);
}

/* Packed Gram matrix of one batch. */
static void batch_triangle(const double *const *columns, ptrdiff_t size, ptrdiff_t first,
                           ptrdiff_t height, int centre, BatchScratch *scratch, double *packed)
{
    const ptrdiff_t padded = (height + LANES - 1) / LANES * LANES;
    memset(packed, 0, (size_t)triangle_length(size + 1) * sizeof(double));
    for (ptrdiff_t c = 0; c <= size; c++) {
        double *to = scratch->rows + c * padded;
        scratch->own[c] = to;
        packed[triangle_length(c + 1) - 1] = copy_batch(columns[c] + first, height, centre, to);
    }
    add_products(scratch->own, size + 1, padded, packed);
}

/* Solve the matrices in scratch->triangles; coefficient i of batch k goes to out[i * stride + k].
 * NaN where a pivot of the parents is too small beside its diagonal entry. */
INLINE void solve_triangles(const ptrdiff_t size, ptrdiff_t count, BatchScratch *scratch,
                            double *out, ptrdiff_t stride)
{
    const ptrdiff_t length = triangle_length(size + 1);
    Lanes fixed[(MOST_FIXED_SIZE + 1) * (MOST_FIXED_SIZE + 4) / 2];
    Lanes *lower = size <= MOST_FIXED_SIZE ? fixed : scratch->lower;
    load_triangles(scratch->triangles, length, count, length, lower);
    factor_and_solve(size, lower, lower + length);
    Mask sound = mask_of(-1);
    for (ptrdiff_t i = 0; i < size; i++) {
        const ptrdiff_t at = triangle_length(i + 1) - 1;
        Lanes diagonal = count >= LANES ? load_strided(scratch->triangles + at, length)
                                        : load_strided_part(scratch->triangles + at, length, count);
        sound &= is_at_least(lower[at], broadcast(WELL_CONDITIONED) * diagonal);
        sound &= is_greater(diagonal, broadcast(0.0));
    }
    for (ptrdiff_t i = 0; i < size; i++) {
        Lanes value = blend(sound, lower[triangle_length(size) + i], broadcast(NAN));
        if (count >= LANES)
            store(out + i * stride, value);
        else
            store_part(out + i * stride, value, count);
    }
}

static void solve_triangles_of(ptrdiff_t size, ptrdiff_t count, BatchScratch *scratch,
                               double *out, ptrdiff_t stride)
{
    switch (size) {
    case 1: solve_triangles(1, count, scratch, out, stride); break;
    case 2: solve_triangles(2, count, scratch, out, stride); break;
    case 3: solve_triangles(3, count, scratch, out, stride); break;
    case 4: solve_triangles(4, count, scratch, out, stride); break;
    case 5: solve_triangles(5, count, scratch, out, stride); break;
    case 6: solve_triangles(6, count, scratch, out, stride); break;
    case 7: solve_triangles(7, count, scratch, out, stride); break;
    case 8: solve_triangles(8, count, scratch, out, stride); break;
    default: solve_triangles(size, count, scratch, out, stride); break;
    }
}

static void solve_batches(const WindowRun *run, void *scratch_memory)
{
    BatchScratch *scratch = scratch_memory;
    const ptrdiff_t length = triangle_length(run->size + 1);
    for (ptrdiff_t b = 0; b < run->count; b += LANES) {
        const ptrdiff_t some = smaller(LANES, run->count - b);
        for (ptrdiff_t k = 0; k < some; k++)
            batch_triangle(run->columns, run->size, run->first + (b + k) * run->step,
                           run->height, run->centre, scratch, scratch->triangles + k * length);
        solve_triangles_of(run->size, some, scratch, run->out + b, run->stride);
    }
}

static int batch_solutions(const Matrix *page, const Families *families,
                           const Windows *windows, double *solutions)
{
    BatchScratch scratch;
    const ptrdiff_t largest = largest_size(families);
    int failed = open_batches(&scratch, largest, window_height(windows, largest));
    if (!failed)
        failed = solve_page(page, families, windows, solve_batches, &scratch, solutions);
    close_batches(&scratch);
    return failed;
}
