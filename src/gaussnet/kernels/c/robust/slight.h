/* Rows whose cells are at most slightly in doubt, each cell by itself: a block of rows at a time, so
 * that compilers make vectors of it. */
#include "robust/combinations.h"

/* Rows that are looked at side by side. */
#define SIDE 16
/* Odds from which on a row's cells are looked at together, and half a squared z score from which on
 * they are whatever the odds. */
#define SERIOUS 0.05
#define FARTHEST 18.0
/* Laws with a smaller weight say nothing of cells that are slightly in doubt. */
#define WEIGHTLESS 1e-11

enum { REDRAWN_TERM = MOST_LAWS, OWN_TERM, TERMS };
enum { WRONG, REDRAWN, OWN, OWN_SUM, OWN_SQUARES, SHIFTED, SHIFTED_SUM, SHIFTED_SQUARES, COLUMN_SUMS };

/* The laws of a column for cells that all others are believed beside. */
typedef struct {
    ptrdiff_t count, index[MOST_LAWS];
    double half[MOST_LAWS], height[MOST_LAWS], shift[MOST_LAWS];
    double variance;
    int is_judged, is_redrawn, is_own;
} SlightLaws;

/* Odds and densities of a block of rows: cell (c, s) at [c * SIDE + s], term k at [(c * TERMS + k) * SIDE + s]. */
typedef struct {
    SlightLaws *laws;
    double *odds, *sums, *terms;
} SlightCells;

static void open_slight_laws(const Mixture *mixture, ptrdiff_t column, SlightLaws *found)
{
    const ColumnLaws *laws = &mixture->by_column[column];
    const double *own = mixture->parameters + column * PARAMETERS;
    found->variance = 1.0 / mixture->diagonal[column];
    found->is_judged = mixture->odds[column] > UNJUDGED;
    found->is_redrawn = own[LOG_REDRAWN] > log(WEIGHTLESS);
    found->is_own = own[LOG_OWN] > log(WEIGHTLESS);
    found->count = 0;
    for (ptrdiff_t k = 0; k < MOST_LAWS; k++)
        if (laws->weights[k] > WEIGHTLESS) {
            const double half = 0.5 / (found->variance + laws->variances[k]);
            found->index[found->count] = k;
            found->half[found->count] = half;
            found->height[found->count] = laws->weights[k] * sqrt(2.0 * half);
            found->shift[found->count++] = laws->shifts[k];
        }
}

/* A term of the density, and what it adds to the sum. */
INLINE void add_term(double height, const double *restrict values, double *restrict term,
                     double *restrict sums)
{
    for (ptrdiff_t s = 0; s < SIDE; s++) {
        term[s] = height * values[s];
        sums[s] += term[s];
    }
}

/* Densities of the errors of a column under each law; their sums. */
static void slight_terms(const ColumnLaws *column, const SlightLaws *laws, const double *gradients,
                         const double *deviations, double mean, double *terms, double *sums)
{
    double sizes[SIDE], powers[SIDE], near[SIDE], far[SIDE];
    for (ptrdiff_t s = 0; s < SIDE; s++) {
        sizes[s] = fabs(gradients[s] * laws->variance);
        sums[s] = 0.0;
    }
    for (ptrdiff_t k = 0; k < laws->count; k++) {
        const double half = -laws->half[k], shift = laws->shift[k];
        for (ptrdiff_t s = 0; s < SIDE; s++)
            powers[s] = half * (sizes[s] - shift) * (sizes[s] - shift);
        decay_all(powers, SIDE, near);
        for (ptrdiff_t s = 0; s < SIDE; s++)
            powers[s] = half * (sizes[s] + shift) * (sizes[s] + shift);
        decay_all(powers, SIDE, far);
        for (ptrdiff_t s = 0; s < SIDE; s++)
            near[s] += far[s];
        add_term(laws->height[k], near, terms + laws->index[k] * SIDE, sums);
    }
    if (laws->is_redrawn) {
        for (ptrdiff_t s = 0; s < SIDE; s++)
            powers[s] = -column->half_redrawn * deviations[s] * deviations[s];
        decay_all(powers, SIDE, near);
        add_term(exp(column->log_redrawn), near, terms + REDRAWN_TERM * SIDE, sums);
    }
    if (laws->is_own) {
        for (ptrdiff_t s = 0; s < SIDE; s++) {
            const double apart = deviations[s] + mean - column->centre;
            powers[s] = -column->half_own * apart * apart;
        }
        decay_all(powers, SIDE, near);
        add_term(exp(column->log_own), near, terms + OWN_TERM * SIDE, sums);
    }
}

/* The odds of all cells of a block of rows; gives the rows that have a cell in serious doubt. */
static unsigned find_slight_odds(const Mixture *mixture, const double *means, const double *gradients,
                                 const double *deviations, const SlightCells *cells)
{
    int serious[SIDE] = {0};
    const double least = exp(mixture->least), scale = exp(FARTHEST);
    for (ptrdiff_t c = 0; c < mixture->columns; c++) {
        const SlightLaws *laws = &cells->laws[c];
        double *odds = cells->odds + c * SIDE, *sums = cells->sums + c * SIDE;
        memset(odds, 0, SIDE * sizeof *odds);
        if (!laws->is_judged)
            continue;
        const double *gradient = gradients + c * SIDE, limit = mixture->thresholds[c] * mixture->diagonal[c];
        slight_terms(&mixture->by_column[c], laws, gradient, deviations + c * SIDE, means[c],
                     cells->terms + c * TERMS * SIDE, sums);
        const double prior = mixture->odds[c] - FARTHEST, root = scale * sqrt(laws->variance);
        double powers[SIDE], found[SIDE];
        for (ptrdiff_t s = 0; s < SIDE; s++) {
            const double power = prior + 0.5 * gradient[s] * gradient[s] * laws->variance;
            powers[s] = power < 0.0 ? power : 0.0;
        }
        decay_all(powers, SIDE, found);
        for (ptrdiff_t s = 0; s < SIDE; s++) {
            const double square = gradient[s] * gradient[s];
            const int is_far = 0.5 * square * laws->variance > FARTHEST, is_open = square > limit;
            const double own = root * found[s] * sums[s];
            odds[s] = is_open && own > least ? own : 0.0;
            serious[s] |= is_open && (is_far || own > SERIOUS);
        }
    }
    unsigned found = 0;
    for (ptrdiff_t s = 0; s < SIDE; s++)
        found |= (unsigned)(serious[s] != 0) << s;
    return found;
}

/* The sum of a number for each row of a block. */
INLINE double sum_side(const double *values)
{
    double four[4] = {0};
    for (ptrdiff_t s = 0; s < SIDE; s += 4)
        for (ptrdiff_t l = 0; l < 4; l++)
            four[l] += values[s + l];
    return (four[0] + four[1]) + (four[2] + four[3]);
}

/* Sums of a * b, and of a * b * c, over the rows of a block. */
INLINE double sum_products(const double *a, const double *b)
{
    double products[SIDE];
    for (ptrdiff_t s = 0; s < SIDE; s++)
        products[s] = a[s] * b[s];
    return sum_side(products);
}

/* Count the cells of a column among the sums of the laws; `parts` are chances over densities. */
static void count_slight(const Mixture *mixture, ptrdiff_t column, const SlightCells *cells,
                         const double *chances, const double *parts, const double *errors,
                         const double *apart, double *law_sums, double *own)
{
    const SlightLaws *laws = &cells->laws[column];
    const double *terms = cells->terms + column * TERMS * SIDE;
    const double unit = mixture->parameters[column * PARAMETERS + UNIT];
    double sizes[SIDE], squares[SIDE], share[SIDE];
    for (ptrdiff_t s = 0; s < SIDE; s++) {
        sizes[s] = fabs(errors[s]);
        squares[s] = errors[s] * errors[s] - laws->variance;
    }
    own[WRONG] += sum_side(chances);
    for (ptrdiff_t k = 0; k < laws->count; k++) {
        const double *term = terms + laws->index[k] * SIDE;
        for (ptrdiff_t s = 0; s < SIDE; s++)
            share[s] = parts[s] * term[s];
        const double count = sum_side(share), size = sum_products(share, sizes);
        const double square = sum_products(share, squares);
        if (laws->index[k] == mixture->law_count) {
            own[SHIFTED] += count;
            own[SHIFTED_SUM] += size;
            own[SHIFTED_SQUARES] += square;
        } else {
            double *sums = law_sums + 3 * laws->index[k];
            sums[0] += count;
            sums[1] += size / unit;
            sums[2] += square / (unit * unit);
        }
    }
    if (laws->is_redrawn)
        own[REDRAWN] += sum_products(parts, terms + REDRAWN_TERM * SIDE);
    if (laws->is_own) {
        for (ptrdiff_t s = 0; s < SIDE; s++)
            share[s] = parts[s] * terms[OWN_TERM * SIDE + s];
        own[OWN] += sum_side(share);
        own[OWN_SUM] += sum_products(share, apart);
        for (ptrdiff_t s = 0; s < SIDE; s++)
            share[s] *= apart[s];
        own[OWN_SQUARES] += sum_products(share, apart);
    }
}

/* The log density that slight doubts add to each row. */
static void slight_densities(const SlightCells *cells, ptrdiff_t columns, double *added)
{
    for (ptrdiff_t s = 0; s < SIDE; s++)
        added[s] = 0.0;
    for (ptrdiff_t first = 0; first < columns; first += 32) { /* 1.05^32 is a small number */
        double product[SIDE];
        for (ptrdiff_t s = 0; s < SIDE; s++)
            product[s] = 1.0;
        for (ptrdiff_t c = first; c < columns && c < first + 32; c++)
            for (ptrdiff_t s = 0; s < SIDE; s++)
                product[s] *= 1.0 + cells->odds[c * SIDE + s];
        for (ptrdiff_t s = 0; s < SIDE; s++)
            added[s] += log(product[s]);
    }
}
