#include "windows.h"

/* The part of a family's windows that begin in rows row..end, which the tile holds. */
static WindowRun run_of(const Windows *windows, ptrdiff_t page_rows, ptrdiff_t size,
                        ptrdiff_t row, ptrdiff_t end)
{
    const ptrdiff_t height = window_height(windows, size);
    WindowRange all =
        window_range(windows->start, windows->stop, page_rows, height, windows->sliding);
    WindowRange here = window_range(row, end, page_rows, height, windows->sliding);
    WindowRun run = {
        .size = size,
        .height = height,
        .first = here.first * here.step - row,
        .step = here.step,
        .count = here.last - here.first,
        .centre = windows->centre,
        .stride = all.last - all.first,
    };
    return run;
}

/* Where the first window that begins in row `row` or later goes among a family's windows. */
static ptrdiff_t place_of(const Windows *windows, ptrdiff_t step, ptrdiff_t row)
{
    return (row + step - 1) / step - (windows->start + step - 1) / step;
}

static void solve_tile(const Tile *tile, const Families *families, const Windows *windows,
                       ptrdiff_t row, ptrdiff_t end, const double **own, SolveRun solve,
                       void *scratch, double *out)
{
    for (ptrdiff_t f = 0; f < families->count; f++) {
        const ptrdiff_t size = family_size(families, f);
        if (size == 0)
            continue;
        WindowRun run = run_of(windows, tile->source->rows, size, row, end);
        if (run.count > 0) {
            tile_family(tile, families, f, own);
            run.columns = own;
            run.out = out + place_of(windows, run.step, row);
            solve(&run, scratch);
        }
        out += size * run.stride;
    }
}

static int solve_page(const Matrix *page, const Families *families, const Windows *windows,
                      SolveRun solve, void *scratch, double *solutions)
{
    Tile tile;
    const ptrdiff_t largest = largest_size(families);
    const ptrdiff_t tallest = window_height(windows, largest);
    const ptrdiff_t stop = smaller(windows->stop, page->rows);
    if (tile_open(&tile, page, families, 1, tallest, 0) < 0)
        return -1;
    const double **own = malloc((size_t)(largest + 1) * sizeof *own);
    for (ptrdiff_t row = windows->start; own && row < stop; row += tile.height) {
        const ptrdiff_t end = smaller(row + tile.height, stop);
        tile_move(&tile, row, smaller(end + tallest, page->rows) - row);
        solve_tile(&tile, families, windows, row, end, own, solve, scratch, solutions);
    }
    tile_close(&tile);
    free((void *)own);
    return own ? 0 : -1;
}
