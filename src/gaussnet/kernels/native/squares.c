/* Solutions of the square systems of successive windows of rows, LANES windows at a time. */
#include "lower.h"
#include "windows.h"

/* Bring the row with the largest entry of column j up, lane by lane, and clear the column below.
 *
 * A pivot no larger than `limit` makes the inverse NaN, which then spreads to every unknown. */
INLINE void clear_column(const ptrdiff_t size, const ptrdiff_t j, Lanes *system, Lanes limit,
                         Lanes *inverse)
{
    const ptrdiff_t width = size + 1;
    Lanes *upper = system + j * width;
    UNROLL for (ptrdiff_t i = j + 1; i < size; i++) {
        Lanes *row = system + i * width;
        const Mask trade = is_greater(absolute(row[j]), absolute(upper[j]));
        UNROLL for (ptrdiff_t k = j; k <= size; k++) {
            const Lanes kept = blend(trade, row[k], upper[k]);
            row[k] = blend(trade, upper[k], row[k]);
            upper[k] = kept;
        }
    }
    const Mask sound = is_greater(absolute(upper[j]), limit);
    inverse[j] = blend(sound, broadcast(1.0) / upper[j], broadcast(NAN));
    UNROLL for (ptrdiff_t i = j + 1; i < size; i++) {
        Lanes *row = system + i * width;
        const Lanes ratio = row[j] * inverse[j];
        UNROLL for (ptrdiff_t k = j + 1; k <= size; k++)
            row[k] -= ratio * upper[k];
    }
}

/* A pivot must exceed rounding error, and be large enough to be inverted. Rounding error is of
 * the size of the values before the first row was subtracted: limit[j] has their largest in
 * column j. The column that has most of it beside its spread spoils all. */
INLINE void set_limits(const ptrdiff_t size, const Lanes *system, Lanes *limit)
{
    const Lanes tiny = broadcast(DBL_MIN);
    Lanes worst = broadcast(1.0);
    UNROLL for (ptrdiff_t j = 0; j < size; j++) {
        Lanes spread = tiny;
        UNROLL for (ptrdiff_t i = 0; i < size; i++)
            spread = larger(absolute(system[i * (size + 1) + j]), spread);
        worst = larger(limit[j] / spread, worst);
        limit[j] = spread;
    }
    UNROLL for (ptrdiff_t j = 0; j < size; j++)
        limit[j] = larger(limit[j] * worst * broadcast(SINGULAR), tiny);
}

/* Unknown j, from the unknowns after it. */
INLINE void substitute(const ptrdiff_t size, const ptrdiff_t j, Lanes *system,
                       const Lanes *inverse)
{
    Lanes *row = system + j * (size + 1);
    Lanes rest = row[size];
    UNROLL for (ptrdiff_t i = j + 1; i < size; i++)
        rest -= row[i] * system[i * (size + 1) + size];
    row[size] = rest * inverse[j];
}

/* Solve systems of `size` rows, each with its right side last, by elimination with partial
 * pivoting. The answer is left in the right sides; `room` is for 2 * size Lanes, of which the
 * first half holds the largest values of the columns. */
INLINE void eliminate(const ptrdiff_t size, Lanes *system, Lanes *room)
{
    Lanes *limit = room, *inverse = room + size;
#define CLEAR(j) if (j < size) clear_column(size, j, system, limit[j], inverse);
#define SUBSTITUTE(j) if (j < size) substitute(size, j, system, inverse);
    set_limits(size, system, limit);
    EIGHT_TIMES(CLEAR)
    EIGHT_TIMES_BACK(SUBSTITUTE)
#undef CLEAR
#undef SUBSTITUTE
}

/* The same for any size. */
INLINE void eliminate_large(ptrdiff_t size, Lanes *system, Lanes *room)
{
    Lanes *limit = room, *inverse = room + size;
    set_limits(size, system, limit);
    for (ptrdiff_t j = 0; j < size; j++)
        clear_column(size, j, system, limit[j], inverse);
    for (ptrdiff_t j = size - 1; j >= 0; j--)
        substitute(size, j, system, inverse);
}

/* Fill the systems of LANES windows that lie `step` rows apart; with `centre` the first row of
 * a window is subtracted from the others. largest[c] gets the largest value of parent c. */
INLINE void load_systems(const double *const *columns, const ptrdiff_t size, ptrdiff_t first,
                         const ptrdiff_t step, const int centre, Lanes *system, Lanes *largest)
{
    UNROLL for (ptrdiff_t c = 0; c <= size; c++) {
        const double *from = columns[c] + first;
        const Lanes origin = load_strided(from, step);
        UNROLL for (ptrdiff_t r = 0; r < size; r++) {
            const Lanes value = load_strided(from + r + centre, step);
            system[r * (size + 1) + c] = centre ? value - origin : value;
            if (c < size)
                largest[c] = larger(absolute(value), r == 0 ? absolute(origin) : largest[c]);
        }
    }
}

/* Solve at least LANES windows. The last LANES may overlap with those before: a window's
 * solution does not depend on its lane. */
INLINE void solve_run(const WindowRun *run, const ptrdiff_t size, const ptrdiff_t step,
                      const int centre, Lanes *scratch)
{
    const ptrdiff_t count = run->count, stride = run->stride;
    for (ptrdiff_t w = 0; w < count; w += LANES) {
        Lanes fixed[MOST_FIXED_SIZE * (MOST_FIXED_SIZE + 3)];
        Lanes *system = size <= MOST_FIXED_SIZE ? fixed : scratch;
        const ptrdiff_t at = smaller(w, count - LANES);
        load_systems(run->columns, size, run->first + at * step, step, centre, system,
                     system + size * (size + 1));
        if (size <= MOST_FIXED_SIZE)
            eliminate(size, system, system + size * (size + 1));
        else
            eliminate_large(size, system, system + size * (size + 1));
        UNROLL for (ptrdiff_t i = 0; i < size; i++)
            store(run->out + at + i * stride, system[i * (size + 1) + size]);
    }
}

/* Solve windows whose size the compiler knows, and so the distances between all rows. */
INLINE void solve_fixed(const WindowRun *run, const ptrdiff_t size)
{
    if (run->step == 1 && run->centre)
        solve_run(run, size, 1, 1, NULL);
    else if (run->step == 1)
        solve_run(run, size, 1, 0, NULL);
    else if (run->centre)
        solve_run(run, size, size + 1, 1, NULL);
    else
        solve_run(run, size, size, 0, NULL);
}

static void solve_squares(const WindowRun *run, void *scratch)
{
    switch (run->size) {
    case 1: solve_fixed(run, 1); break;
    case 2: solve_fixed(run, 2); break;
    case 3: solve_fixed(run, 3); break;
    case 4: solve_fixed(run, 4); break;
    case 5: solve_fixed(run, 5); break;
    case 6: solve_fixed(run, 6); break;
    default: solve_run(run, run->size, run->step, run->centre, scratch); break;
    }
}

static int square_solutions(const Matrix *page, const Families *families,
                            const Windows *windows, double *solutions)
{
    void *memory;
    const ptrdiff_t largest = largest_size(families);
    Lanes *scratch = new_lanes(largest * (largest + 3) + 1, &memory);
    if (!scratch)
        return -1;
    int failed = solve_page(page, families, windows, solve_squares, LANES, scratch, solutions);
    free(memory);
    return failed;
}
