/* Solutions of the square systems of successive windows of rows, LANES windows side by side.
 *
 * Elimination with partial pivoting, the choice of rows made lane by lane. Whether a system is
 * singular beside rounding error is judged cheaply, and with care only where that leaves doubt.
 */
#include "core/lower.h"
#include "core/windows.h"

/* Up to this many rows a step of the elimination has code of its own. */
#define MOST_FIXED_ROWS 12

/* No value of a column is taken to be smaller than this when pivots are judged: their inverses
 * stay finite. */
#define SMALLEST_CEILING 1e-290

/* LANES systems side by side, one a lane. */
typedef struct {
    Lanes *system;   /* (size + 1, size): column after column, the right side last */
    Lanes *inverse;  /* (size): inverse pivots */
    Lanes *ratios;   /* (size): what multiples of the pivot's row a step takes off the others */
    Mask *chosen;    /* (size): which row a step brings up */
    Lanes *rows;     /* (size + 1): one column of the windows */
} Group;

#define GROUP_LENGTH(size) ((size) * ((size) + 5) + 1)

INLINE Group group_at(const ptrdiff_t size, Lanes *memory)
{
    Lanes *after = memory + size * (size + 1);
    return (Group){memory, after, after + size, (Mask *)(after + 2 * size), after + 3 * size};
}

/* Windows that begin at every row: also those of a single row that follow each other. */
INLINE int is_sliding(const WindowRun *run) { return run->step == 1; }

/* Choose, lane by lane, which of the last `rows` rows has the largest entry in its column. */
INLINE void choose_pivot(const ptrdiff_t rows, const ptrdiff_t size, const Group *group)
{
    const Lanes *column = group->system + (size - rows) * (size + 1);
    Lanes best = absolute(column[0]), pivot = column[0];
    Mask row = mask_of(0);
    UNROLL for (ptrdiff_t i = 1; i < rows; i++) {
        const Lanes entry = absolute(column[i]);
        const Mask better = is_greater(entry, best);
        best = blend(better, entry, best);
        pivot = blend(better, column[i], pivot);
        row = choose(better, mask_of(i), row);
    }
    const Lanes inverse = broadcast(1.0) / pivot;
    group->inverse[size - rows] = inverse;
    UNROLL for (ptrdiff_t i = 1; i < rows; i++) {
        group->chosen[i] = is_equal(row, mask_of(i));
        group->ratios[i] = blend(group->chosen[i], column[0], column[i]) * inverse;
    }
}

/* Bring the chosen row's entry of a later column up, and clear the rows below with it. */
INLINE void clear_entries(const ptrdiff_t rows, Lanes *column, const Group *group)
{
    const Lanes first = column[0];
    Lanes top = first;
    UNROLL for (ptrdiff_t i = 1; i < rows; i++)
        top = blend(group->chosen[i], column[i], top);
    column[0] = top;
    UNROLL for (ptrdiff_t i = 1; i < rows; i++)
        column[i] = blend(group->chosen[i], first, column[i]) - group->ratios[i] * top;
}

/* The step of elimination that has `rows` rows left. */
INLINE void clear_column(const ptrdiff_t rows, const ptrdiff_t size, const Group *group)
{
    choose_pivot(rows, size, group);
    for (ptrdiff_t k = 1; k <= rows; k++)
        clear_entries(rows, group->system + (size - rows) * (size + 1) + k * size, group);
}

/* The same, with a number of rows that the compiler knows if it is small. */
static void clear_some_column(ptrdiff_t rows, ptrdiff_t size, const Group *group)
{
#define ROWS(n) case n: clear_column(n, size, group); break;
    switch (rows) {
    ROWS(1) ROWS(2) ROWS(3) ROWS(4) ROWS(5) ROWS(6)
    ROWS(7) ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12)
    default: clear_column(rows, size, group); break;
    }
#undef ROWS
}

/* Unknown j, and what it takes off the right sides before it. */
INLINE void substitute(const ptrdiff_t size, const ptrdiff_t j, const Group *group)
{
    Lanes *right = group->system + size * size;
    const Lanes unknown = right[j] * group->inverse[j];
    right[j] = unknown;
    UNROLL for (ptrdiff_t i = 0; i < j; i++)
        right[i] -= group->system[j * size + i] * unknown;
}

/* Solve the systems; the answer is left in the right sides. */
INLINE void eliminate(const ptrdiff_t size, const Group *group)
{
#define CLEAR(j) if (j < size) clear_column(size - j, size, group);
#define SUBSTITUTE(j) if (j < size) substitute(size, j, group);
    EIGHT_TIMES(CLEAR)
    EIGHT_TIMES_BACK(SUBSTITUTE)
#undef CLEAR
#undef SUBSTITUTE
}

/* The same for any size. */
INLINE void eliminate_large(const ptrdiff_t size, const Group *group)
{
    for (ptrdiff_t rows = size; rows > 0; rows--)
        clear_some_column(rows, size, group);
    for (ptrdiff_t j = size - 1; j >= 0; j--)
        substitute(size, j, group);
}

/* Column c of the systems of LANES windows, which begin at every row if `sliding`, else one
 * after the other; with `centre` the first row of a window is subtracted from the others. */
INLINE void load_column(const double *from, const ptrdiff_t size, const ptrdiff_t c,
                        const int sliding, const int centre, const Group *group)
{
    Lanes *column = group->system + c * size, *rows = centre ? group->rows : column;
    if (sliding)
        UNROLL for (ptrdiff_t r = 0; r < size + centre; r++)
            rows[r] = load(from + r);
    else
        deal(from, size + centre, rows);
    if (centre)
        UNROLL for (ptrdiff_t r = 0; r < size; r++)
            column[r] = rows[r + 1] - rows[0];
}

INLINE void load_systems(const double *const *columns, const ptrdiff_t size, ptrdiff_t first,
                         const int sliding, const int centre, const Group *group)
{
    if (size <= MOST_FIXED_SIZE)
        UNROLL for (ptrdiff_t c = 0; c <= size; c++)
            load_column(columns[c] + first, size, c, sliding, centre, group);
    else
        for (ptrdiff_t c = 0; c <= size; c++)
            load_column(columns[c] + first, size, c, sliding, centre, group);
}

/* What each pivot of systems that were just filled must exceed: rounding error, and what can
 * be inverted. Rounding error is of the size of the values before the first row was subtracted.
 * The column that has most of it beside its spread counts for all. */
static void set_limits(const WindowRun *run, ptrdiff_t first, const Lanes *system, Lanes *limit)
{
    const Lanes tiny = broadcast(DBL_MIN);
    Lanes worst = broadcast(1.0);
    for (ptrdiff_t j = 0; j < run->size; j++) {
        const double *from = run->columns[j] + first;
        Lanes spread = tiny, largest = absolute(load_strided(from, run->step));
        for (ptrdiff_t i = 0; i < run->size; i++) {
            const Lanes value = load_strided(from + i + run->centre, run->step);
            largest = larger(absolute(value), largest);
            spread = larger(absolute(system[j * run->size + i]), spread);
        }
        worst = larger(largest / spread, worst);
        limit[j] = spread;
    }
    for (ptrdiff_t j = 0; j < run->size; j++)
        limit[j] = larger(limit[j] * worst * broadcast(SINGULAR), tiny);
}

/* Which of LANES windows are not singular, by the definition: every pivot exceeds its limit. */
static Mask regular_windows(const WindowRun *run, ptrdiff_t first, Lanes *scratch)
{
    const ptrdiff_t size = run->size;
    const Group group = group_at(size, scratch);
    Lanes *limit = scratch + GROUP_LENGTH(size);
    Mask regular = mask_of(-1);
    load_systems(run->columns, size, first, is_sliding(run), run->centre, &group);
    set_limits(run, first, group.system, limit);
    for (ptrdiff_t j = 0; j < size; j++) {
        clear_some_column(size - j, size, &group);
        regular &= is_greater(broadcast(1.0) / limit[j], absolute(group.inverse[j]));
    }
    return regular;
}

/* Whether all windows are surely regular. Column k had no value above ceilings[k]; elimination
 * at most doubles the entries at each step, so that its spread was at least the pivot over 2^k:
 * both sides of the definition's inequality are known up to a factor. */
INLINE int surely_regular(const WindowRun *run, const ptrdiff_t size, const int centre,
                          const Lanes *inverse)
{
    const double limit = centre ? sqrt(0.25 / SINGULAR) : 0.5 / SINGULAR;
    Lanes worst = broadcast(0.0);
    double growth = 1.0;
    UNROLL for (ptrdiff_t k = 0; k < size; k++) {
        worst = larger(absolute(inverse[k]) * broadcast(growth * run->ceilings[k]), worst);
        growth *= centre ? 2.0 : 1.0;
    }
    return all_hold(is_greater(broadcast(limit), worst));
}

/* Solve LANES windows from `at` on. */
INLINE void solve_group(const WindowRun *run, const ptrdiff_t size, const int sliding,
                        const int centre, ptrdiff_t at, Lanes *scratch)
{
    Lanes fixed[GROUP_LENGTH(MOST_FIXED_SIZE)];
    const Group group = group_at(size, size <= MOST_FIXED_SIZE ? fixed : scratch);
    const ptrdiff_t first = run->first + at * (sliding ? 1 : size + centre);
    Mask regular = mask_of(-1);
    load_systems(run->columns, size, first, sliding, centre, &group);
    if (size <= MOST_FIXED_SIZE)
        eliminate(size, &group);
    else
        eliminate_large(size, &group);
    if (!surely_regular(run, size, centre, group.inverse))
        regular = regular_windows(run, first, scratch + GROUP_LENGTH(size));
    UNROLL for (ptrdiff_t i = 0; i < size; i++)
        store(run->out + at + i * run->stride,
              blend(regular, group.system[size * size + i], broadcast(NAN)));
}

/* Solve at least LANES windows. The last LANES may overlap with those before: a window's
 * solution does not depend on its lane. */
INLINE void solve_run(const WindowRun *run, const ptrdiff_t size, const int sliding,
                      const int centre, Lanes *scratch)
{
    for (ptrdiff_t w = 0; w < run->count; w += LANES)
        solve_group(run, size, sliding, centre, smaller(w, run->count - LANES), scratch);
}

/* Solve windows whose size the compiler knows, and so the distances between all rows. */
INLINE void solve_fixed(const WindowRun *run, const ptrdiff_t size, Lanes *scratch)
{
    if (is_sliding(run) && run->centre)
        solve_run(run, size, 1, 1, scratch);
    else if (is_sliding(run))
        solve_run(run, size, 1, 0, scratch);
    else if (run->centre)
        solve_run(run, size, 0, 1, scratch);
    else
        solve_run(run, size, 0, 0, scratch);
}

static void solve_squares(const WindowRun *run, void *scratch)
{
#define SIZE(n) case n: solve_fixed(run, n, scratch); break;
    switch (run->size) {
    SIZE(1) SIZE(2) SIZE(3) SIZE(4) SIZE(5) SIZE(6)
    SIZE(7) SIZE(8) SIZE(9) SIZE(10) SIZE(11) SIZE(12)
    default: solve_run(run, run->size, is_sliding(run), run->centre, scratch); break;
    }
#undef SIZE
}

static ptrdiff_t solve_windows(const Argument *given, Sink sink)
{
    void *memory;
    const Families *families = &given[1].families;
    const ptrdiff_t largest = largest_size(families);
    Lanes *scratch = new_lanes(2 * GROUP_LENGTH(largest) + largest + 1, &memory);
    if (!scratch)
        return NO_MEMORY;
    const Solver solver = {solve_squares, scratch, SMALLEST_CEILING};
    const int failed =
        solve_page(&given[0].matrix, families, &given[2].windows, solver, sink);
    free(memory);
    return failed;
}

static ptrdiff_t square_solutions(const Argument *given)
{
    return solve_windows(given, (Sink){.all = given[3].values});
}

/* Only solutions inside brackets are kept, one bracket a coefficient. */
static ptrdiff_t split_solutions(const Argument *given)
{
    const Families *families = &given[1].families;
    Splitter splitter = read_splitter(given + 4, (ptrdiff_t)families->offsets[families->count]);
    if (splitter.draw.stride < 1)
        return REFUSED;
    return solve_windows(given, (Sink){.transforms = given[3].values, .splitter = &splitter});
}
