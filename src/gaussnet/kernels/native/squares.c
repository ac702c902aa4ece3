/* Solutions of the square systems of successive windows of rows, LANES windows at a time. */
#include "lower.h"
#include "windows.h"

/* Solve a system of `size` rows, each with its right side last, by elimination with partial
 * pivoting: rows trade places lane by lane. The answer is left in the right sides.
 *
 * A pivot that vanishes beside its column, or is too small to be inverted, makes the inverse
 * NaN, which then spreads to every unknown. `limit` and `inverse` are room for `size` each. */
INLINE void eliminate(const ptrdiff_t size, Lanes *system, Lanes *limit, Lanes *inverse)
{
    const ptrdiff_t width = size + 1;
    UNROLL for (ptrdiff_t j = 0; j < size; j++) {
        limit[j] = broadcast(DBL_MIN / SINGULAR);
        UNROLL for (ptrdiff_t i = 0; i < size; i++)
            limit[j] = larger(absolute(system[i * width + j]), limit[j]);
        limit[j] *= broadcast(SINGULAR);
    }
    UNROLL for (ptrdiff_t j = 0; j < size; j++) {
        Lanes *upper = system + j * width;
        UNROLL for (ptrdiff_t i = j + 1; i < size; i++) {
            Lanes *row = system + i * width;
            Mask trade = is_greater(absolute(row[j]), absolute(upper[j]));
            UNROLL for (ptrdiff_t k = j; k <= size; k++) {
                Lanes kept = blend(trade, row[k], upper[k]);
                row[k] = blend(trade, upper[k], row[k]);
                upper[k] = kept;
            }
        }
        inverse[j] = blend(is_greater(absolute(upper[j]), limit[j]),
                           broadcast(1.0) / upper[j], broadcast(NAN));
        UNROLL for (ptrdiff_t i = j + 1; i < size; i++) {
            Lanes *row = system + i * width;
            Lanes ratio = row[j] * inverse[j];
            UNROLL for (ptrdiff_t k = j + 1; k <= size; k++)
                row[k] -= ratio * upper[k];
        }
    }
    UNROLL for (ptrdiff_t j = size - 1; j >= 0; j--) {
        Lanes *row = system + j * width;
        UNROLL for (ptrdiff_t i = j + 1; i < size; i++)
            row[size] -= row[i] * system[i * width + size];
        row[size] *= inverse[j];
    }
}

/* Fill the systems of `count` windows that lie `step` rows apart. */
INLINE void load_systems(const double *const *columns, const ptrdiff_t size, ptrdiff_t first,
                         ptrdiff_t step, ptrdiff_t count, int centre, Lanes *system)
{
    const ptrdiff_t skip = centre ? 1 : 0;
    UNROLL for (ptrdiff_t c = 0; c <= size; c++) {
        const double *from = columns[c] + first;
        Lanes origin = broadcast(0.0);
        if (count < LANES) {
            if (centre)
                origin = load_strided_part(from, step, count);
            for (ptrdiff_t r = 0; r < size; r++)
                system[r * (size + 1) + c] = load_strided_part(from + r + skip, step, count);
        } else if (step == 1) {
            if (centre)
                origin = load(from);
            UNROLL for (ptrdiff_t r = 0; r < size; r++)
                system[r * (size + 1) + c] = load(from + r + skip);
        } else {
            if (centre)
                origin = load_strided(from, step);
            UNROLL for (ptrdiff_t r = 0; r < size; r++)
                system[r * (size + 1) + c] = load_strided(from + r + skip, step);
        }
        if (centre)
            UNROLL for (ptrdiff_t r = 0; r < size; r++)
                system[r * (size + 1) + c] -= origin;
    }
}

INLINE void solve_squares_of(const WindowRun *run, const ptrdiff_t size, Lanes *scratch)
{
    for (ptrdiff_t w = 0; w < run->count; w += LANES) {
        Lanes fixed[MOST_FIXED_SIZE * (MOST_FIXED_SIZE + 3)];
        Lanes *system = size <= MOST_FIXED_SIZE ? fixed : scratch;
        Lanes *limit = system + size * (size + 1);
        const ptrdiff_t some = smaller(LANES, run->count - w);
        load_systems(run->columns, size, run->first + w * run->step, run->step, some,
                     run->centre, system);
        eliminate(size, system, limit, limit + size);
        UNROLL for (ptrdiff_t i = 0; i < size; i++) {
            Lanes value = system[i * (size + 1) + size];
            if (some == LANES)
                store(run->out + i * run->stride + w, value);
            else
                store_part(run->out + i * run->stride + w, value, some);
        }
    }
}

static void solve_squares(const WindowRun *run, void *scratch)
{
    switch (run->size) {
    case 1: solve_squares_of(run, 1, scratch); break;
    case 2: solve_squares_of(run, 2, scratch); break;
    case 3: solve_squares_of(run, 3, scratch); break;
    case 4: solve_squares_of(run, 4, scratch); break;
    case 5: solve_squares_of(run, 5, scratch); break;
    case 6: solve_squares_of(run, 6, scratch); break;
    case 7: solve_squares_of(run, 7, scratch); break;
    case 8: solve_squares_of(run, 8, scratch); break;
    default: solve_squares_of(run, run->size, scratch); break;
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
    int failed = solve_page(page, families, windows, solve_squares, scratch, solutions);
    free(memory);
    return failed;
}
