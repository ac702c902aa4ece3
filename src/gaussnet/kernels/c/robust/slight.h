/* Rows whose cells are at most slightly in doubt, each cell by itself: a block of rows at a time, so
 * that compilers make vectors of it. */
#include "robust/combinations.h"

/* Rows that are looked at side by side. */
#define SIDE 16
/* Odds from which on a row's cells are looked at together, and half a squared z score from which on
 * they are whatever the odds. */
#define SERIOUS 0.05
#define FARTHEST 18.0
/* Laws with a smaller weight say nothing of cells that are slightly in doubt, nor do those whose
 * densities have a smaller exponent: odds grow by exp(FARTHEST) at most. */
#define WEIGHTLESS 1e-11
#define VANISHED (-45.0)

enum { REDRAWN_TERM = MOST_LAWS, OWN_TERM, TERMS };
enum { WRONG, REDRAWN, OWN, OWN_SUM, OWN_SQUARES, SHIFTED, SHIFTED_SUM, SHIFTED_SQUARES, COLUMN_SUMS };

/* The laws of a column for cells that all others are believed beside. */
typedef struct {
    ptrdiff_t count, index[MOST_LAWS];
    double half[MOST_LAWS], height[MOST_LAWS], shift[MOST_LAWS];
    double variance;
    int is_judged, is_redrawn, is_own;
} SlightLaws;

/* The cells of a block of rows that may be in doubt, column by column: number i of column c at
 * [c * SIDE + i], its term k at [(c * TERMS + k) * SIDE + i]. */
typedef struct {
    SlightLaws *laws;
    unsigned char *counts, *rows; /* how many, (columns,), and in which row of the block each is */
    uint16_t *open, *notable;     /* rows in which a cell may be in doubt, and is by itself, (columns,) */
    double *sums, *terms;         /* densities: of all laws, and of each */
    double *odds, *active;        /* by row, cell (c, s) at [c * SIDE + s]: to be wrong, 0 if they are not worth
                                   * a look; 1 if the cell counts by itself, 0 if it does with others */
} SlightCells;

/* Two coupled cells, a and b, beside an empty pattern: the score of both as wrong can be positive only if
 * aa ga^2 + bb gb^2 - ab ga gb exceeds the limit. */
typedef struct {
    ptrdiff_t one, other;
    double coupling, aa, bb, ab, limit;
} CoupledPair;

/* All coupled pairs, (pairs,), and those that are far off in a row of a block. */
typedef struct {
    CoupledPair *every;
    FarPair *far;
    ptrdiff_t count;
} CoupledPairs;

static void open_coupled_pairs(const Mixture *mixture, CoupledPairs *pairs)
{
    pairs->count = 0;
    for (ptrdiff_t a = 0; a < mixture->columns; a++)
        for (int64_t n = mixture->starts[a]; n < mixture->starts[a + 1]; n++) {
            const ptrdiff_t b = (ptrdiff_t)mixture->neighbours[n];
            const double both = mixture->omega[n], one = mixture->diagonal[a], other = mixture->diagonal[b];
            const double det = one * other - both * both, odds = mixture->odds[a] + mixture->odds[b];
            if (b <= a || both == 0.0 || odds < UNJUDGED || !(det > 1e-12 * one * other))
                continue;
            pairs->every[pairs->count++] = (CoupledPair){
                a, b, both, other / det, one / det, 2.0 * both / det, -2.0 * odds - 4.0 * NARROWEST};
        }
}

/* The pairs that are far off in one of some rows of the block though neither cell is in doubt by itself,
 * with these rows; how many. */
static ptrdiff_t find_far_pairs(const CoupledPairs *pairs, const double *gradients,
                                const SlightCells *cells, unsigned chosen)
{
    ptrdiff_t found = 0;
    for (ptrdiff_t p = 0; p < pairs->count; p++) {
        const CoupledPair *pair = &pairs->every[p];
        const double *one = gradients + pair->one * SIDE, *other = gradients + pair->other * SIDE;
        const unsigned open = cells->open[pair->one] & cells->open[pair->other] & chosen;
        const unsigned quiet = open & ~(unsigned)(cells->notable[pair->one] | cells->notable[pair->other]);
        double squares[SIDE];
        int any = 0;
        if (!quiet)
            continue;
        for (ptrdiff_t s = 0; s < SIDE; s++) {
            squares[s] = (pair->aa * one[s] - pair->ab * other[s]) * one[s] + pair->bb * other[s] * other[s];
            any |= squares[s] > pair->limit;
        }
        if (!any)
            continue;
        unsigned rows = 0;
        for (ptrdiff_t s = 0; s < SIDE; s++)
            rows |= (unsigned)(squares[s] > pair->limit) << s;
        if (rows & quiet)
            pairs->far[found++] = (FarPair){pair->one, pair->other, pair->coupling, rows & quiet};
    }
    return found;
}

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

/* Whether one of some exponents says something; else the law is left out for all of them. */
INLINE int any_counts(const double *powers, ptrdiff_t count)
{
    int any = 0;
    for (ptrdiff_t i = 0; i < count; i++)
        any |= powers[i] > VANISHED;
    return any;
}

/* A term of the density, and what it adds to the sum. */
INLINE void add_term(double height, const double *restrict values, ptrdiff_t count, double *restrict term,
                     double *restrict sums)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        term[i] = height * values[i];
        sums[i] += term[i];
    }
}

/* Densities of the errors of some cells of a column under each law; their sums. The count is a multiple
 * of the lanes. */
static void slight_terms(const ColumnLaws *column, const SlightLaws *laws, const double *gradients,
                         const double *deviations, ptrdiff_t count, double mean, double *terms, double *sums)
{
    double sizes[SIDE], powers[SIDE], near[SIDE], far[SIDE];
    for (ptrdiff_t i = 0; i < count; i++) {
        sizes[i] = fabs(gradients[i] * laws->variance);
        sums[i] = 0.0;
    }
    for (ptrdiff_t k = 0; k < laws->count; k++) {
        const double half = -laws->half[k], shift = laws->shift[k];
        for (ptrdiff_t i = 0; i < count; i++)
            powers[i] = half * (sizes[i] - shift) * (sizes[i] - shift);
        if (!any_counts(powers, count)) {
            memset(terms + laws->index[k] * SIDE, 0, SIDE * sizeof *terms);
            continue;
        }
        decay_all(powers, count, near);
        for (ptrdiff_t i = 0; i < count; i++)
            powers[i] = half * (sizes[i] + shift) * (sizes[i] + shift);
        if (any_counts(powers, count)) {
            decay_all(powers, count, far);
            for (ptrdiff_t i = 0; i < count; i++)
                near[i] += far[i];
        }
        add_term(laws->height[k], near, count, terms + laws->index[k] * SIDE, sums);
    }
    if (laws->is_redrawn) {
        for (ptrdiff_t i = 0; i < count; i++)
            powers[i] = -column->half_redrawn * deviations[i] * deviations[i];
        decay_all(powers, count, near);
        add_term(exp(column->log_redrawn), near, count, terms + REDRAWN_TERM * SIDE, sums);
    }
    if (laws->is_own) {
        for (ptrdiff_t i = 0; i < count; i++) {
            const double apart = deviations[i] + mean - column->centre;
            powers[i] = -column->half_own * apart * apart;
        }
        decay_all(powers, count, near);
        add_term(exp(column->log_own), near, count, terms + OWN_TERM * SIDE, sums);
    }
}

/* The rows of a block in which a cell of a column is open to doubt; how many. The list is filled up to a
 * multiple of the lanes. */
INLINE ptrdiff_t list_open_rows(const double *gradients, double limit, unsigned char *rows)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t s = 0; s < SIDE; s++) {
        rows[count] = (unsigned char)s;
        count += gradients[s] * gradients[s] > limit;
    }
    for (ptrdiff_t i = count; count && i % LANES; i++)
        rows[i] = rows[count - 1];
    return count;
}

/* The odds of all cells of a block of rows; gives the rows that have a cell in serious doubt. */
static unsigned find_slight_odds(const Mixture *mixture, const double *means, const double *gradients,
                                 const double *deviations, const SlightCells *cells)
{
    unsigned serious = 0;
    const double least = exp(mixture->least), joint = exp(mixture->joint), scale = exp(FARTHEST);
    memset(cells->odds, 0, (size_t)(mixture->columns * SIDE) * sizeof(double));
    for (ptrdiff_t c = 0; c < mixture->columns; c++) {
        const SlightLaws *laws = &cells->laws[c];
        unsigned char *rows = cells->rows + c * SIDE;
        double *odds = cells->odds + c * SIDE, *sums = cells->sums + c * SIDE;
        const double limit = mixture->thresholds[c] * mixture->diagonal[c];
        const ptrdiff_t count = laws->is_judged ? list_open_rows(gradients + c * SIDE, limit, rows) : 0;
        const ptrdiff_t filled = (count + LANES - 1) / LANES * LANES;
        double gradient[SIDE], deviation[SIDE], powers[SIDE], found[SIDE];
        unsigned open = 0, notable = 0;
        cells->counts[c] = (unsigned char)count;
        cells->open[c] = cells->notable[c] = 0;
        if (!count)
            continue;
        for (ptrdiff_t i = 0; i < filled; i++) {
            gradient[i] = gradients[c * SIDE + rows[i]];
            deviation[i] = deviations[c * SIDE + rows[i]];
        }
        slight_terms(&mixture->by_column[c], laws, gradient, deviation, filled, means[c],
                     cells->terms + c * TERMS * SIDE, sums);
        const double prior = mixture->odds[c] - FARTHEST, root = scale * sqrt(laws->variance);
        for (ptrdiff_t i = 0; i < filled; i++) {
            const double power = prior + 0.5 * gradient[i] * gradient[i] * laws->variance;
            powers[i] = power < 0.0 ? power : 0.0;
        }
        decay_all(powers, filled, found);
        for (ptrdiff_t i = 0; i < count; i++) {
            const int is_far = 0.5 * gradient[i] * gradient[i] * laws->variance > FARTHEST;
            const double own = root * found[i] * sums[i];
            odds[rows[i]] = own > least ? own : 0.0;
            serious |= (unsigned)(is_far || own > SERIOUS) << rows[i];
            notable |= (unsigned)(is_far || own > joint) << rows[i];
            open |= 1u << rows[i];
        }
        cells->open[c] = (uint16_t)open;
        cells->notable[c] = (uint16_t)notable;
    }
    return serious;
}

/* The sum of some numbers, as many as a multiple of the lanes. */
INLINE double sum_some(const double *values, ptrdiff_t count)
{
    Lanes sum = broadcast(0.0);
    for (ptrdiff_t i = 0; i < count; i += LANES)
        sum += load(values + i);
    double total = 0.0;
    for (int l = 0; l < LANES; l++)
        total += LANE(sum, l);
    return total;
}

/* The sum of a * b, likewise. */
INLINE double sum_products(const double *a, const double *b, ptrdiff_t count)
{
    double products[SIDE];
    for (ptrdiff_t i = 0; i < count; i++)
        products[i] = a[i] * b[i];
    return sum_some(products, count);
}

/* What is expected of some cells of a column, each by itself; a multiple of the lanes. */
typedef struct {
    ptrdiff_t count;
    double chances[SIDE], parts[SIDE]; /* weights times chances to be wrong; the same over densities */
    double errors[SIDE], apart[SIDE];  /* errors if wrong; distances from the centre of their own kind */
    double spread[SIDE];               /* variances of the errors, over the chances */
} SlightColumn;

/* Count the cells of a column among the sums of the laws. */
static void count_slight(const Mixture *mixture, ptrdiff_t column, const SlightCells *cells,
                         const SlightColumn *found, double *law_sums, double *own)
{
    const SlightLaws *laws = &cells->laws[column];
    const double *terms = cells->terms + column * TERMS * SIDE, *parts = found->parts;
    const double unit = mixture->parameters[column * PARAMETERS + UNIT];
    const ptrdiff_t count = found->count;
    double sizes[SIDE], squares[SIDE], share[SIDE];
    for (ptrdiff_t i = 0; i < count; i++) {
        sizes[i] = fabs(found->errors[i]);
        squares[i] = found->errors[i] * found->errors[i] - laws->variance;
    }
    own[WRONG] += sum_some(found->chances, count);
    for (ptrdiff_t k = 0; k < laws->count; k++) {
        const double *term = terms + laws->index[k] * SIDE;
        for (ptrdiff_t i = 0; i < count; i++)
            share[i] = parts[i] * term[i];
        const double number = sum_some(share, count), size = sum_products(share, sizes, count);
        const double square = sum_products(share, squares, count);
        if (laws->index[k] == mixture->law_count) {
            own[SHIFTED] += number;
            own[SHIFTED_SUM] += size;
            own[SHIFTED_SQUARES] += square;
        } else {
            double *sums = law_sums + 3 * laws->index[k];
            sums[0] += number;
            sums[1] += size / unit;
            sums[2] += square / (unit * unit);
        }
    }
    if (laws->is_redrawn)
        own[REDRAWN] += sum_products(parts, terms + REDRAWN_TERM * SIDE, count);
    if (laws->is_own) {
        for (ptrdiff_t i = 0; i < count; i++)
            share[i] = parts[i] * terms[OWN_TERM * SIDE + i];
        own[OWN] += sum_some(share, count);
        own[OWN_SUM] += sum_products(share, found->apart, count);
        for (ptrdiff_t i = 0; i < count; i++)
            share[i] *= found->apart[i];
        own[OWN_SQUARES] += sum_products(share, found->apart, count);
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
                product[s] *= 1.0 + cells->active[c * SIDE + s] * cells->odds[c * SIDE + s];
        for (ptrdiff_t s = 0; s < SIDE; s++)
            added[s] += log(product[s]);
    }
}
