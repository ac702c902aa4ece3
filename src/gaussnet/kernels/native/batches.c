/* Least squares of each child on its parents, batch by batch.
 *
 * The Gram matrix of each batch is summed on its own, with rows as lanes; the matrices of LANES
 * batches are then solved side by side.
 */
#include "lower.h"
#include "products.h"
#include "windows.h"

typedef struct {
    double *rows;          /* (size + 1, padded): the rows of one batch, centred */
    const double **own;    /* where the columns of the batch lie */
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

/* Copy the rows of one batch of a column, less their mean, and zeros after them. The first row
 * goes first, so that a constant column becomes exactly zero. */
INLINE void copy_centred(const double *from, ptrdiff_t height, double *to)
{
    const Lanes first = broadcast(from[0]);
    const ptrdiff_t whole = height / LANES * LANES, rest = height - whole;
    Lanes sum = broadcast(0.0);
    for (ptrdiff_t r = 0; r < whole; r += LANES)
        sum += load(from + r) - first;
    const Lanes last = keep_first(load_part(from + whole, rest) - first, rest);
    const Lanes mean = broadcast(sum_lanes(sum + last) / (double)height);
    for (ptrdiff_t r = 0; r < whole; r += LANES)
        store(to + r, load(from + r) - first - mean);
    if (rest)
        store(to + whole, keep_first(last - mean, rest));
}

/* The columns of one batch in scratch->own, copied if they are to be centred. Gives how many
 * rows they have now, whole Lanes if they were copied. */
INLINE ptrdiff_t batch_columns(const WindowRun *run, const ptrdiff_t size, ptrdiff_t first,
                               BatchScratch *scratch)
{
    const ptrdiff_t padded = (run->height + LANES - 1) / LANES * LANES;
    for (ptrdiff_t c = 0; c <= size; c++) {
        scratch->own[c] = run->columns[c] + first;
        if (run->centre) {
            copy_centred(scratch->own[c], run->height, scratch->rows + c * padded);
            scratch->own[c] = scratch->rows + c * padded;
        }
    }
    return run->centre ? padded : run->height;
}

/* Packed Gram matrix of one batch of a small family: all products in one sweep. */
INLINE void small_gram(const WindowRun *run, const int size, const int unroll, ptrdiff_t first,
                       BatchScratch *scratch, double *packed)
{
    double totals[MOST_SUMS] = {0.0};
    const ptrdiff_t rows = batch_columns(run, size, first, scratch);
    triangle_sums(scratch->own, size + 1, 1, unroll, rows, totals);
    UNROLL for (int k = 0; k < (size + 1) * (size + 2) / 2; k++)
        packed[k] = totals[k];
}

static void large_gram(const WindowRun *run, ptrdiff_t first, BatchScratch *scratch,
                       double *packed)
{
    const ptrdiff_t rows = batch_columns(run, run->size, first, scratch);
    memset(packed, 0, (size_t)triangle_length(run->size + 1) * sizeof(double));
    add_products(scratch->own, run->size + 1, rows, packed);
    for (ptrdiff_t c = 0; c <= run->size; c++)
        packed[triangle_length(c + 1) - 1] = column_squares(scratch->own[c], rows);
}

static void batch_gram(const WindowRun *run, ptrdiff_t first, BatchScratch *scratch,
                       double *packed)
{
    switch (run->size) {
    case 1: small_gram(run, 1, 2, first, scratch, packed); break;
    case 2: small_gram(run, 2, 1, first, scratch, packed); break;
    case 3: small_gram(run, 3, 1, first, scratch, packed); break;
    default: large_gram(run, first, scratch, packed); break;
    }
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
    if (size <= MOST_FIXED_SIZE)
        factor_and_solve(size, lower, lower + length);
    else
        factor_and_solve_large(size, lower, lower + length);
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
            batch_gram(run, run->first + (b + k) * run->step, scratch,
                       scratch->triangles + k * length);
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
        failed = solve_page(page, families, windows, (Solver){solve_batches, &scratch, 0.0},
                            solutions);
    close_batches(&scratch);
    return failed;
}
