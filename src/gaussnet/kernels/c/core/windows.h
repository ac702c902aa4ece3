/* The windows of a page, tile by tile and family by family. */
#ifndef GAUSSNET_WINDOWS_H
#define GAUSSNET_WINDOWS_H

#include "core/columns.h"
#include "medians/split.h"
#include "core/tiles.h"

/* Successive windows of one family: window k begins at row first + k * step of the columns and
 * has `height` rows; unknown i of its system goes to out[i * stride + k]. */
typedef struct {
    const double *const *columns;
    const double *ceilings; /* no value of column c is larger; NULL if nobody asked */
    ptrdiff_t size, height, first, step, count;
    int centre;
    double *out;
    ptrdiff_t stride;
} WindowRun;

/* How to solve LANES or more windows. */
typedef struct {
    void (*solve)(const WindowRun *run, void *scratch);
    void *scratch;
    double least_ceiling; /* ceilings are wanted, none smaller than this; 0 if not wanted */
} Solver;

/* Where solutions go: either all of them to `all`, (size, windows) for a family, one family after
 * the other; or, multiplied by an upper triangle a family if there are any, to a splitter. */
typedef struct {
    double *all;
    const double *transforms;
    Splitter *splitter;
} Sink;

/* What a call of solve_page holds. */

typedef struct {
    const Families *families;
    const Windows *windows;
    Solver solver;
    Sink sink;
    double *found;          /* solutions on their way to the splitter */
    const double **own;     /* the columns of the family at work */
    const double **filled;  /* the same with fewer than LANES windows filled up, */
    double *rows;           /* which lie here, */
    double *solutions;      /* and their solutions here */
    double *ceilings;       /* of the family at work */
} Page;

static int open_page(Page *page, ptrdiff_t largest, ptrdiff_t height, ptrdiff_t tile_height)
{
    const size_t side = (size_t)largest + 1;
    page->own = malloc(2 * side * sizeof *page->own);
    page->filled = page->own + side;
    page->rows = malloc((side * (size_t)height * LANES + side * LANES + side) * sizeof(double));
    page->solutions = page->rows + side * (size_t)height * LANES;
    page->ceilings = page->solutions + side * LANES;
    const size_t longest = (size_t)tile_height + LANES;
    if (page->sink.splitter)
        page->found = malloc((side + 1) * longest * sizeof(double));
    if (page->found)
        page->sink.splitter->spare = page->found + side * longest;
    return page->own && page->rows && (page->found || !page->sink.splitter) ? 0 : NO_MEMORY;
}

static void close_page(Page *page)
{
    free((void *)page->own);
    free(page->rows);
    free(page->found);
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

/* The windows of one family that begin in rows row..end, which the tile holds. */
static WindowRun family_run(Page *page, const Tile *tile, ptrdiff_t f, ptrdiff_t row,
                            ptrdiff_t end)
{
    const Windows *windows = page->windows;
    const ptrdiff_t size = family_size(page->families, f);
    const ptrdiff_t height = window_height(windows, size);
    const WindowRange here =
        window_range(row, end, tile->source->rows, height, windows->sliding);
    tile_family(tile, page->families, f, page->own);
    for (ptrdiff_t c = 0; tile->ceilings && c < size; c++)
        page->ceilings[c] =
            tile->ceilings[page->families->parents[page->families->offsets[f] + c]];
    return (WindowRun){
        .columns = page->own,
        .ceilings = page->ceilings,
        .size = size,
        .height = height,
        .first = here.first * here.step - row,
        .step = here.step,
        .count = here.last - here.first,
        .centre = windows->centre,
    };
}

static void solve_run_of(Page *page, const WindowRun *run)
{
    if (run->count >= LANES)
        page->solver.solve(run, page->solver.scratch);
    else if (run->count > 0)
        solve_few(page, run);
}

/* Keep the solutions of these windows of family f among those of all its windows. Gives how many
 * values these are. */
static ptrdiff_t keep_all(Page *page, WindowRun run, ptrdiff_t page_rows, ptrdiff_t row,
                          double *all)
{
    const Windows *windows = page->windows;
    const WindowRange every = window_range(windows->start, windows->stop, page_rows, run.height,
                                           windows->sliding);
    run.stride = every.last - every.first;
    run.out = all + (run.first + row) / every.step - every.first;
    solve_run_of(page, &run);
    return run.size * run.stride;
}

/* Multiply the solutions of these windows of family f by its triangle, if there is one, and split
 * them. Gives how many values the triangle has. */
static ptrdiff_t split_all(Page *page, WindowRun run, ptrdiff_t f, ptrdiff_t row,
                           const double *transform)
{
    const ptrdiff_t before = (page->windows->start + run.step - 1) / run.step;
    run.stride = run.count;
    run.out = page->found;
    solve_run_of(page, &run);
    for (ptrdiff_t i = 0; i < run.size; i++) {
        double *values = page->found + i * run.count;
        if (transform)
            mix_rows(values, run.count, run.size - i, transform + i * run.size + i, values);
        split_run(page->sink.splitter, page->families->offsets[f] + i, values,
                  (run.first + row) / run.step - before, run.count);
    }
    return run.size * run.size;
}

/* All windows that begin in rows row..end, which the tile holds. */
static void solve_tile(Page *page, const Tile *tile, ptrdiff_t row, ptrdiff_t end)
{
    double *all = page->sink.all;
    const double *transform = page->sink.transforms;
    for (ptrdiff_t f = 0; f < page->families->count; f++) {
        if (family_size(page->families, f) == 0)
            continue;
        fetch_family(tile, page->families, f + 1, end - row);
        const WindowRun run = family_run(page, tile, f, row, end);
        if (!page->sink.splitter)
            all += keep_all(page, run, tile->source->rows, row, all);
        else if (transform)
            transform += split_all(page, run, f, row, transform);
        else
            split_all(page, run, f, row, NULL);
    }
}

/* Solve the windows of every family with parents. */
static int solve_page(const Matrix *source, const Families *families, const Windows *windows,
                      Solver solver, Sink sink)
{
    Tile tile;
    Page page = {.families = families, .windows = windows, .solver = solver, .sink = sink};
    const ptrdiff_t largest = largest_size(families);
    const ptrdiff_t tallest = window_height(windows, largest);
    const ptrdiff_t stop = smaller(windows->stop, source->rows);
    if (tile_open(&tile, source, families, 1, tallest, 0) < 0)
        return NO_MEMORY;
    int failed = open_page(&page, largest, tallest, tile.height);
    for (ptrdiff_t row = windows->start; !failed && row < stop; row += tile.height) {
        const ptrdiff_t end = smaller(row + tile.height, stop);
        const ptrdiff_t rows = smaller(end + tallest, source->rows) - row;
        tile_move(&tile, row, rows);
        if (solver.least_ceiling > 0.0)
            failed = tile_ceilings(&tile, rows, solver.least_ceiling);
        if (!failed)
            solve_tile(&page, &tile, row, end);
    }
    close_page(&page);
    tile_close(&tile);
    return failed;
}

#endif
