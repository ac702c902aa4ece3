/* Least squares of each child on its parents, batch by batch, LANES batches side by side. */
#include "core/lower.h"
#include "core/windows.h"

/* Products of a small family are summed in one sweep over its rows. */
#define SWEEP_SIDE 4
/* Products of one more column with so many before it are summed at a time. */
#define MOST_PRODUCTS 12

typedef struct {
    Lanes *rows;      /* (height, size + 1): the rows of the batches, the child last */
    Lanes *gram;      /* packed lower triangle of their products */
    Lanes *diagonal;  /* (size + 1) */
    Lanes *column;    /* (size + 1), for the factorisation */
    void *memory;
} BatchScratch;

static int open_batches(BatchScratch *scratch, ptrdiff_t largest, ptrdiff_t height)
{
    const ptrdiff_t side = largest + 1, length = triangle_length(side);
    scratch->rows = new_lanes(height * side + length + 2 * side, &scratch->memory);
    scratch->gram = scratch->rows + height * side;
    scratch->diagonal = scratch->gram + length;
    scratch->column = scratch->diagonal + side;
    return scratch->rows ? 0 : -1;
}

/* Deal the rows of one column of LANES batches of `height` rows, which follow each other. */
INLINE void deal_column(const double *from, ptrdiff_t height, ptrdiff_t side, Lanes *to)
{
    if (height < LANES) {
        for (ptrdiff_t r = 0; r < height; r++)
            to[r * side] = load_strided(from + r, height);
        return;
    }
    for (ptrdiff_t r = 0; r < height; r += LANES) {
        const ptrdiff_t at = smaller(r, height - LANES);
        Lanes block[LANES];
        UNROLL for (int k = 0; k < LANES; k++)
            block[k] = load(from + k * height + at);
        transpose(block);
        UNROLL for (int k = 0; k < LANES; k++)
            to[(at + k) * side] = block[k];
    }
}

/* Subtract its mean from a column. The first row goes first, so that a constant column becomes
 * exactly zero. */
INLINE void centre_column(ptrdiff_t height, ptrdiff_t side, Lanes *column)
{
    const Lanes first = column[0];
    Lanes sum = broadcast(0.0);
    for (ptrdiff_t r = 0; r < height; r++)
        sum += column[r * side] - first;
    const Lanes mean = sum / broadcast((double)height);
    for (ptrdiff_t r = 0; r < height; r++)
        column[r * side] = column[r * side] - first - mean;
}

/* All products among the first `few` columns, packed. */
INLINE void sweep_products(const int few, ptrdiff_t side, ptrdiff_t height, const Lanes *rows,
                           Lanes *gram)
{
    Lanes sums[SWEEP_SIDE * (SWEEP_SIDE + 1) / 2];
    UNROLL for (int k = 0; k < few * (few + 1) / 2; k++)
        sums[k] = broadcast(0.0);
    for (ptrdiff_t r = 0; r < height; r++) {
        const Lanes *row = rows + r * side;
        UNROLL for (int i = 0; i < few; i++)
            UNROLL for (int j = 0; j <= i; j++)
                sums[i * (i + 1) / 2 + j] += row[i] * row[j];
    }
    UNROLL for (int k = 0; k < few * (few + 1) / 2; k++)
        gram[k] = sums[k];
}

/* Products of a column with `count` others; rows point at the first of these. */
INLINE void column_products(const int count, ptrdiff_t side, ptrdiff_t height, const Lanes *column,
                            const Lanes *rows, Lanes *gram)
{
    Lanes sums[MOST_PRODUCTS];
    UNROLL for (int j = 0; j < count; j++)
        sums[j] = broadcast(0.0);
    for (ptrdiff_t r = 0; r < height; r++) {
        const Lanes value = column[r * side];
        UNROLL for (int j = 0; j < count; j++)
            sums[j] += value * rows[r * side + j];
    }
    UNROLL for (int j = 0; j < count; j++)
        gram[j] = sums[j];
}

static void some_products(ptrdiff_t count, ptrdiff_t side, ptrdiff_t height, const Lanes *column,
                          const Lanes *rows, Lanes *gram)
{
#define COUNT(n) case n: column_products(n, side, height, column, rows, gram); break;
    switch (count) {
    COUNT(1) COUNT(2) COUNT(3) COUNT(4) COUNT(5) COUNT(6)
    COUNT(7) COUNT(8) COUNT(9) COUNT(10) COUNT(11) COUNT(12)
    }
#undef COUNT
}

/* Packed Gram matrices of the rows in scratch. */
INLINE void batch_gram(const ptrdiff_t size, ptrdiff_t height, const BatchScratch *scratch)
{
    const Lanes *rows = scratch->rows;
    const ptrdiff_t side = size + 1;
    switch (smaller(side, SWEEP_SIDE)) {
    case 2: sweep_products(2, side, height, rows, scratch->gram); break;
    case 3: sweep_products(3, side, height, rows, scratch->gram); break;
    default: sweep_products(4, side, height, rows, scratch->gram); break;
    }
    for (ptrdiff_t i = SWEEP_SIDE; i < side; i++)
        for (ptrdiff_t j = 0; j <= i; j += MOST_PRODUCTS)
            some_products(smaller(i + 1 - j, MOST_PRODUCTS), side, height, rows + i, rows + j,
                          scratch->gram + triangle_length(i) + j);
}

/* Solve the Gram matrices; coefficient i of the batch in lane k goes to out[i * stride + k]. NaN
 * where a pivot of the parents is too small beside its diagonal entry. */
INLINE void solve_gram(const ptrdiff_t size, const BatchScratch *scratch, double *out,
                       ptrdiff_t stride)
{
    const ptrdiff_t length = triangle_length(size + 1);
    Lanes fixed[(MOST_FIXED_SIZE + 1) * (MOST_FIXED_SIZE + 4) / 2];
    Lanes *lower = size <= MOST_FIXED_SIZE ? fixed : scratch->gram;
    Mask sound = mask_of(-1);
    for (ptrdiff_t i = 0; i < size; i++)
        scratch->diagonal[i] = scratch->gram[triangle_length(i + 1) - 1];
    if (size <= MOST_FIXED_SIZE) {
        for (ptrdiff_t k = 0; k < length; k++)
            lower[k] = scratch->gram[k];
        factor_and_solve(size, lower, lower + length);
    } else {
        factor_and_solve_large(size, lower, scratch->column);
    }
    for (ptrdiff_t i = 0; i < size; i++) {
        const Lanes diagonal = scratch->diagonal[i];
        sound &= is_at_least(lower[triangle_length(i + 1) - 1],
                             broadcast(WELL_CONDITIONED) * diagonal);
        sound &= is_greater(diagonal, broadcast(0.0));
    }
    for (ptrdiff_t i = 0; i < size; i++)
        store(out + i * stride,
              blend(sound, lower[triangle_length(size) + i], broadcast(NAN)));
}

/* Solve at least LANES batches. The last LANES may overlap with those before: a batch's
 * solution does not depend on its lane. */
INLINE void solve_batches(const WindowRun *run, const ptrdiff_t size, const BatchScratch *scratch)
{
    for (ptrdiff_t b = 0; b < run->count; b += LANES) {
        const ptrdiff_t at = smaller(b, run->count - LANES);
        for (ptrdiff_t c = 0; c <= size; c++) {
            deal_column(run->columns[c] + run->first + at * run->height, run->height, size + 1,
                        scratch->rows + c);
            if (run->centre)
                centre_column(run->height, size + 1, scratch->rows + c);
        }
        batch_gram(size, run->height, scratch);
        solve_gram(size, scratch, run->out + at, run->stride);
    }
}

static void solve_some_batches(const WindowRun *run, void *memory)
{
    const BatchScratch *scratch = memory;
    switch (run->size) {
    case 1: solve_batches(run, 1, scratch); break;
    case 2: solve_batches(run, 2, scratch); break;
    case 3: solve_batches(run, 3, scratch); break;
    case 4: solve_batches(run, 4, scratch); break;
    case 5: solve_batches(run, 5, scratch); break;
    case 6: solve_batches(run, 6, scratch); break;
    case 7: solve_batches(run, 7, scratch); break;
    case 8: solve_batches(run, 8, scratch); break;
    default: solve_batches(run, run->size, scratch); break;
    }
}

static ptrdiff_t batch_solutions(const Argument *given)
{
    const Families *families = &given[1].families;
    const Windows *windows = &given[2].windows;
    BatchScratch scratch;
    const ptrdiff_t largest = largest_size(families);
    if (open_batches(&scratch, largest, window_height(windows, largest)) < 0)
        return NO_MEMORY;
    const Solver solver = {solve_some_batches, &scratch, 0.0};
    const Sink sink = {.all = given[3].values};
    const int failed = solve_page(&given[0].matrix, families, windows, solver, sink);
    free(scratch.memory);
    return failed;
}
