#include "windows.h"

/* What a call of solve_page holds. */
typedef struct {
    const Families *families;
    const Windows *windows;
    Solver solver;
    const double **own;     /* the columns of the family at work */
    const double **filled;  /* the same with fewer than LANES windows filled up, */
    double *rows;           /* which lie here, */
    double *solutions;      /* and their solutions here */
    double *ceilings;       /* of the family at work */
} Page;

static int open_page(Page *page, ptrdiff_t largest, ptrdiff_t height)
{
    const size_t side = (size_t)largest + 1;
    page->own = malloc(2 * side * sizeof *page->own);
    page->filled = page->own + side;
    page->rows = malloc((side * (size_t)height * LANES + side * LANES + side) * sizeof(double));
    page->solutions = page->rows + side * (size_t)height * LANES;
    page->ceilings = page->solutions + side * LANES;
    return page->own && page->rows ? 0 : -1;
}

static void close_page(Page *page)
{
    free((void *)page->own);
    free(page->rows);
}

/* Solve fewer than LANES windows: the last is repeated, and its extra solutions dropped. */
static void solve_few(Page *page, const WindowRun *run)
{
    const ptrdiff_t height = run->height;
    WindowRun filled = *run;
    filled.columns = page->filled;
    filled.first = 0;
    filled.step = run->step == 1 ? 1 : height;
    filled.count = LANES;
    filled.out = page->solutions;
    filled.stride = LANES;
    const ptrdiff_t used = (run->count - 1) * filled.step + height;
    const ptrdiff_t rows = (LANES - 1) * filled.step + height;
    for (ptrdiff_t c = 0; c <= run->size; c++) {
        double *to = page->rows + c * height * LANES;
        memcpy(to, run->columns[c] + run->first, (size_t)used * sizeof(double));
        for (ptrdiff_t r = used; r < rows; r++)
            to[r] = to[r - filled.step];
        page->filled[c] = to;
    }
    page->solver.solve(&filled, page->solver.scratch);
    for (ptrdiff_t i = 0; i < run->size; i++)
        memcpy(run->out + i * run->stride, page->solutions + i * LANES,
               (size_t)run->count * sizeof(double));
}

/* The windows of one family that begin in rows row..end, which the tile holds; where they begin
 * is `out` for the first window of the call. Gives how many windows the call has. */
static ptrdiff_t solve_family(Page *page, const Tile *tile, ptrdiff_t f, ptrdiff_t row,
                              ptrdiff_t end, double *out)
{
    const Windows *windows = page->windows;
    const ptrdiff_t size = family_size(page->families, f), page_rows = tile->source->rows;
    const ptrdiff_t height = window_height(windows, size);
    const WindowRange all =
        window_range(windows->start, windows->stop, page_rows, height, windows->sliding);
    const WindowRange here = window_range(row, end, page_rows, height, windows->sliding);
    if (here.first < here.last) {
        tile_family(tile, page->families, f, page->own);
        for (ptrdiff_t c = 0; tile->ceilings && c < size; c++)
            page->ceilings[c] =
                tile->ceilings[page->families->parents[page->families->offsets[f] + c]];
        const WindowRun run = {
            .columns = page->own,
            .ceilings = page->ceilings,
            .size = size,
            .height = height,
            .first = here.first * here.step - row,
            .step = here.step,
            .count = here.last - here.first,
            .centre = windows->centre,
            .out = out + here.first - all.first,
            .stride = all.last - all.first,
        };
        if (run.count < LANES)
            solve_few(page, &run);
        else
            page->solver.solve(&run, page->solver.scratch);
    }
    return all.last - all.first;
}

static int solve_page(const Matrix *source, const Families *families, const Windows *windows,
                      Solver solver, double *solutions)
{
    Tile tile;
    Page page = {.families = families, .windows = windows, .solver = solver};
    const ptrdiff_t largest = largest_size(families);
    const ptrdiff_t tallest = window_height(windows, largest);
    const ptrdiff_t stop = smaller(windows->stop, source->rows);
    if (tile_open(&tile, source, families, 1, tallest, 0) < 0)
        return -1;
    int failed = open_page(&page, largest, tallest);
    for (ptrdiff_t row = windows->start; !failed && row < stop; row += tile.height) {
        const ptrdiff_t end = smaller(row + tile.height, stop);
        const ptrdiff_t rows = smaller(end + tallest, source->rows) - row;
        double *out = solutions;
        tile_move(&tile, row, rows);
        if (solver.least_ceiling > 0.0)
            failed = tile_ceilings(&tile, rows, solver.least_ceiling);
        for (ptrdiff_t f = 0; !failed && f < families->count; f++) {
            const ptrdiff_t size = family_size(families, f);
            if (size > 0)
                out += size * solve_family(&page, &tile, f, row, end, out);
        }
    }
    close_page(&page);
    tile_close(&tile);
    return failed;
}
