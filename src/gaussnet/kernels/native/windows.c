#include "windows.h"

#include "combination.h"

/* What a call of solve_page holds. */
typedef struct {
    const Families *families;
    const Windows *windows;
    Solver solver;
    Sink sink;
    double *found;          /* solutions on their way to the sieve */
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
    if (page->sink.sieve)
        page->found = malloc((side + 1) * longest * sizeof(double));
    if (page->found)
        page->sink.sieve->spare = page->found + side * longest;
    return page->own && page->rows && (page->found || !page->sink.sieve) ? 0 : -1;
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

/* Draw the values at some places from the run of a row that begins at value `first`. */
static void draw_run(const Draw *draw, ptrdiff_t row, const double *values, ptrdiff_t first,
                     ptrdiff_t count)
{
    ptrdiff_t j = first / draw->stride;
    for (; j < draw->count && draw->places[j] < first + count; j++)
        if (draw->places[j] >= first)
            draw->values[row * draw->count + j] = values[draw->places[j] - first];
}

/* Turn the solutions of these windows of family f, if there is something to turn by, and sift
 * them. Gives how many values turn them. */
static ptrdiff_t sift_all(Page *page, WindowRun run, ptrdiff_t f, ptrdiff_t row,
                          const double *turn)
{
    const Sink *sink = &page->sink;
    run.stride = run.count;
    run.out = page->found;
    solve_run_of(page, &run);
    for (ptrdiff_t i = 0; i < run.size; i++) {
        const ptrdiff_t edge = page->families->offsets[f] + i;
        double *values = page->found + i * run.count;
        if (turn)
            mix_rows(values, run.count, run.size - i, turn + i * run.size + i, values);
        if (sink->draw)
            draw_run(sink->draw, edge, values, (run.first + row) / run.step, run.count);
        sift_run(sink->sieve, edge, values, run.count);
    }
    return run.size * run.size;
}

/* All windows that begin in rows row..end, which the tile holds. */
static void solve_tile(Page *page, const Tile *tile, ptrdiff_t row, ptrdiff_t end)
{
    double *all = page->sink.all;
    const double *turn = page->sink.turns;
    for (ptrdiff_t f = 0; f < page->families->count; f++) {
        if (family_size(page->families, f) == 0)
            continue;
        fetch_family(tile, page->families, f + 1, end - row);
        const WindowRun run = family_run(page, tile, f, row, end);
        if (!page->sink.sieve)
            all += keep_all(page, run, tile->source->rows, row, all);
        else if (turn)
            turn += sift_all(page, run, f, row, turn);
        else
            sift_all(page, run, f, row, NULL);
    }
}

static int solve_page(const Matrix *source, const Families *families, const Windows *windows,
                      Solver solver, Sink sink)
{
    Tile tile;
    Page page = {.families = families, .windows = windows, .solver = solver, .sink = sink};
    const ptrdiff_t largest = largest_size(families);
    const ptrdiff_t tallest = window_height(windows, largest);
    const ptrdiff_t stop = smaller(windows->stop, source->rows);
    if (tile_open(&tile, source, families, 1, tallest, 0) < 0)
        return -1;
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
