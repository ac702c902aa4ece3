/* Which cells of a row are wrong: a search over patterns of wrong cells, and what each explains.
 *
 * Let Omega be the precision of the network, r the row less its mean and g = Omega r. If the
 * cells F are wrong, the others say that the errors of F are e = V g_F, V = (Omega_FF)^-1, and the
 * log density of the row rises by
 *
 *     1/2 g_F' V g_F + 1/2 log det V + sum over F of (1/2 log 2 pi + prior log odds + log f(e)),
 *
 * with f the density of wrong values. A missing cell is in every pattern and has no such term. */
#include "kernels.h"

/* Cells of a row that may be wrong; with more the row is wrong as a whole. */
#define MOST_WRONG 96
/* Cells in doubt that are looked at jointly, in all 2^n combinations. */
#define MOST_JOINT 6
#define MOST_LAWS 8
#define MOST_CANDIDATES 512
#define HALF_LOG_2PI 0.91893853320467274178
#define UNLIKELY (-1e300)
/* The density of wrong values exceeds that of an error's own spread by this factor at most, in logs:
 * no law but that of a column's own kind is narrower, and that one not by more. */
#define NARROWEST 2.0

/* What is known of every column, and the laws of wrong values (see numpy_mixture.py). */
typedef struct {
    ptrdiff_t columns, law_count;
    const int64_t *starts, *neighbours; /* of Omega, row by row, ascending, with the diagonal */
    const double *omega, *diagonal;
    const double *odds, *thresholds;
    const double *laws;       /* (laws, 3): log weight, shift, spread, in units of the noise */
    const double *parameters; /* (columns, 10): see the enumeration below */
    double joint, least;      /* log odds from which on a cell is looked at jointly, or at all */
} Mixture;

enum { UNIT, LOG_POOLED, LOG_SHIFTED, SHIFT, SHIFT_VARIANCE, LOG_REDRAWN, VARIANCE, LOG_OWN, CENTRE,
       OWN_VARIANCE, PARAMETERS };

/* A pattern of wrong cells: those firmly believed to be wrong, and what follows from them. */
typedef struct {
    ptrdiff_t count;
    ptrdiff_t cells[MOST_WRONG];
    double score, errors[MOST_WRONG];
    double inverse[MOST_WRONG * MOST_WRONG];  /* of the lower factor of Omega_FF */
    double variance[MOST_WRONG * MOST_WRONG]; /* V */
} Pattern;

/* A cell that is not in the pattern, given the pattern. */
typedef struct {
    ptrdiff_t cell;
    double gradient, precision, gain;
} Candidate;

/* One row, and the space for the work on it. */
typedef struct {
    const double *row, *deviation, *gradient; /* values, values less means, Omega times these */
    const unsigned char *missing;
    Pattern *now, *next;
    Candidate candidates[MOST_CANDIDATES];
    ptrdiff_t candidate_count;
    ptrdiff_t doubted[MOST_JOINT];
    double doubt[MOST_JOINT];
    ptrdiff_t doubted_count;
} RowSearch;

/* Omega between two cells. */
INLINE double coupling(const Mixture *mixture, ptrdiff_t a, ptrdiff_t b)
{
    int64_t low = mixture->starts[a], high = mixture->starts[a + 1];
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (mixture->neighbours[middle] < b)
            low = middle + 1;
        else
            high = middle;
    }
    return low < mixture->starts[a + 1] && mixture->neighbours[low] == b ? mixture->omega[low] : 0.0;
}

/* Log density of an error and its recorded value; shares[] are those of the laws in it. */
static double log_law(const Mixture *mixture, ptrdiff_t cell, double error, double variance,
                      double deviation, double value, double *shares)
{
    const double *own = mixture->parameters + cell * PARAMETERS, size = fabs(error);
    const ptrdiff_t laws = mixture->law_count;
    double logs[MOST_LAWS + 3], most = UNLIKELY, total = 0.0;
    for (ptrdiff_t k = 0; k <= laws; k++) {
        const double *law = mixture->laws + 3 * k;
        const double spread = k < laws ? law[2] * own[UNIT] : 0.0;
        const double shift = k < laws ? law[1] * own[UNIT] : own[SHIFT];
        const double wide = variance + (k < laws ? spread * spread : own[SHIFT_VARIANCE]);
        const double near = size - shift, fold = 2.0 * size * shift / wide;
        logs[k] = (k < laws ? law[0] + own[LOG_POOLED] : own[LOG_SHIFTED]) - M_LN2 -
                  0.5 * log(wide) - 0.5 * near * near / wide;
        if (fold < 40.0)
            logs[k] += log1p(exp(-fold));
    }
    const double apart = value - own[CENTRE];
    logs[laws + 1] = own[LOG_REDRAWN] - 0.5 * log(own[VARIANCE]) -
                     0.5 * deviation * deviation / own[VARIANCE];
    logs[laws + 2] = own[LOG_OWN] - 0.5 * log(own[OWN_VARIANCE]) -
                     0.5 * apart * apart / own[OWN_VARIANCE];
    for (ptrdiff_t k = 0; k < laws + 3; k++)
        most = logs[k] > most ? logs[k] : most;
    for (ptrdiff_t k = 0; k < laws + 3; k++)
        total += logs[k] = logs[k] - most > -40.0 ? exp(logs[k] - most) : 0.0;
    for (ptrdiff_t k = 0; shares && k < laws + 3; k++)
        shares[k] = logs[k] / total;
    return most + log(total) - HALF_LOG_2PI;
}

/* What believing a cell to be wrong adds to the score, given the others of the pattern. */
INLINE double cell_gain(const Mixture *mixture, const RowSearch *search, ptrdiff_t cell,
                        double gradient, double precision)
{
    if (search->missing[cell])
        return 0.5 * gradient * gradient / precision - 0.5 * log(precision) + HALF_LOG_2PI;
    return 0.5 * gradient * gradient / precision - 0.5 * log(precision) + HALF_LOG_2PI +
           mixture->odds[cell] +
           log_law(mixture, cell, gradient / precision, 1.0 / precision, search->deviation[cell],
                   search->row[cell], NULL);
}

/* Lower factor of Omega_FF in `lower`, its inverse in the pattern; log det, or NaN if it has none. */
static double factor_pattern(const Mixture *mixture, Pattern *pattern, double *lower)
{
    const ptrdiff_t count = pattern->count;
    double *inverse = pattern->inverse, log_det = 0.0;
    for (ptrdiff_t i = 0; i < count; i++)
        for (ptrdiff_t j = 0; j <= i; j++) {
            double sum = coupling(mixture, pattern->cells[i], pattern->cells[j]);
            for (ptrdiff_t k = 0; k < j; k++)
                sum -= lower[i * MOST_WRONG + k] * lower[j * MOST_WRONG + k];
            if (i == j && !(sum > 1e-14 * mixture->diagonal[pattern->cells[i]]))
                return NAN;
            lower[i * MOST_WRONG + j] = i == j ? sqrt(sum) : sum / lower[j * MOST_WRONG + j];
            log_det += i == j ? log(sum) : 0.0;
        }
    for (ptrdiff_t j = 0; j < count; j++) {
        inverse[j * MOST_WRONG + j] = 1.0 / lower[j * MOST_WRONG + j];
        for (ptrdiff_t i = j + 1; i < count; i++) {
            double sum = 0.0;
            for (ptrdiff_t k = j; k < i; k++)
                sum -= lower[i * MOST_WRONG + k] * inverse[k * MOST_WRONG + j];
            inverse[i * MOST_WRONG + j] = sum / lower[i * MOST_WRONG + i];
        }
    }
    return log_det;
}

/* Errors, variances and score of a pattern; the score is UNLIKELY if it cannot be. */
static void solve_pattern(const Mixture *mixture, const RowSearch *search, Pattern *pattern,
                          double *lower)
{
    const ptrdiff_t count = pattern->count;
    const double log_det = factor_pattern(mixture, pattern, lower);
    double white[MOST_WRONG], quadratic = 0.0;
    pattern->score = UNLIKELY;
    if (isnan(log_det))
        return;
    for (ptrdiff_t i = 0; i < count; i++) {
        white[i] = 0.0;
        for (ptrdiff_t k = 0; k <= i; k++)
            white[i] += pattern->inverse[i * MOST_WRONG + k] * search->gradient[pattern->cells[k]];
        quadratic += white[i] * white[i];
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        double error = 0.0;
        for (ptrdiff_t k = i; k < count; k++)
            error += pattern->inverse[k * MOST_WRONG + i] * white[k];
        pattern->errors[i] = error;
        for (ptrdiff_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (ptrdiff_t k = i; k < count; k++)
                sum += pattern->inverse[k * MOST_WRONG + i] * pattern->inverse[k * MOST_WRONG + j];
            pattern->variance[i * MOST_WRONG + j] = pattern->variance[j * MOST_WRONG + i] = sum;
        }
    }
    pattern->score = 0.5 * quadratic - 0.5 * log_det + (double)count * HALF_LOG_2PI;
    for (ptrdiff_t i = 0; i < count; i++) {
        const ptrdiff_t cell = pattern->cells[i];
        if (!search->missing[cell])
            pattern->score += mixture->odds[cell] +
                              log_law(mixture, cell, pattern->errors[i],
                                      pattern->variance[i * MOST_WRONG + i], search->deviation[cell],
                                      search->row[cell], NULL);
    }
}

INLINE ptrdiff_t index_in(const Pattern *pattern, ptrdiff_t cell)
{
    for (ptrdiff_t k = 0; k < pattern->count; k++)
        if (pattern->cells[k] == cell)
            return k;
    return -1;
}

/* Couplings of a cell with the pattern, and the inverse factor times these; their square sum. */
INLINE double couplings(const Mixture *mixture, const Pattern *pattern, ptrdiff_t cell, double *raw,
                        double *white)
{
    double squares = 0.0;
    int any = 0;
    for (ptrdiff_t k = 0; k < pattern->count; k++)
        any |= (raw[k] = coupling(mixture, cell, pattern->cells[k])) != 0.0;
    for (ptrdiff_t i = 0; i < pattern->count; i++) {
        white[i] = 0.0;
        for (ptrdiff_t k = 0; any && k <= i; k++)
            white[i] += pattern->inverse[i * MOST_WRONG + k] * raw[k];
        squares += white[i] * white[i];
    }
    return squares;
}

/* Gradient, precision and gain of a candidate, given the pattern. */
static void judge_candidate(const Mixture *mixture, const RowSearch *search, Candidate *candidate)
{
    double raw[MOST_WRONG], white[MOST_WRONG];
    const ptrdiff_t cell = candidate->cell;
    const double squares = couplings(mixture, search->now, cell, raw, white);
    double gradient = search->gradient[cell];
    for (ptrdiff_t k = 0; k < search->now->count; k++)
        gradient -= raw[k] * search->now->errors[k];
    const double precision = fmax(mixture->diagonal[cell] - squares, 1e-12 * mixture->diagonal[cell]);
    const int is_open = gradient * gradient > mixture->thresholds[cell] * precision;
    candidate->gradient = gradient;
    candidate->precision = precision;
    candidate->gain = is_open ? cell_gain(mixture, search, cell, gradient, precision) : UNLIKELY;
}

/* Add a cell to the candidates, unless it is there, in the pattern or missing. */
static void add_candidate(RowSearch *search, ptrdiff_t cell)
{
    for (ptrdiff_t k = 0; k < search->candidate_count; k++)
        if (search->candidates[k].cell == cell)
            return;
    if (search->candidate_count < MOST_CANDIDATES && index_in(search->now, cell) < 0)
        search->candidates[search->candidate_count++].cell = cell;
}

/* The cells outside the pattern that are far from what the others expect. */
static void list_candidates(const Mixture *mixture, RowSearch *search)
{
    const Pattern *now = search->now;
    search->candidate_count = 0;
    for (ptrdiff_t c = 0; c < mixture->columns; c++) {
        const double gradient = search->gradient[c];
        if (gradient * gradient > mixture->thresholds[c] * mixture->diagonal[c])
            add_candidate(search, c);
    }
    for (ptrdiff_t k = 0; k < now->count; k++)
        for (int64_t n = mixture->starts[now->cells[k]]; n < mixture->starts[now->cells[k] + 1]; n++)
            add_candidate(search, (ptrdiff_t)mixture->neighbours[n]);
    for (ptrdiff_t k = 0; k < search->candidate_count; k++)
        judge_candidate(mixture, search, &search->candidates[k]);
}

/* A change of the pattern: cells that go in and the one that comes out, -1 for none. */
typedef struct {
    ptrdiff_t in, also_in, out;
    double gain;
} Move;

INLINE void consider(Move *best, ptrdiff_t in, ptrdiff_t also_in, ptrdiff_t out, double gain)
{
    if (gain > best->gain)
        *best = (Move){in, also_in, out, gain};
}

/* What cell k of the pattern is worth in it. */
INLINE double worth(const Mixture *mixture, const RowSearch *search, ptrdiff_t k)
{
    const Pattern *now = search->now;
    const double precision = 1.0 / now->variance[k * MOST_WRONG + k];
    return cell_gain(mixture, search, now->cells[k], now->errors[k] * precision, precision);
}

/* The gain of a candidate in place of cell k of the pattern; UNLIKELY if it is surely below `least`. */
static double swapped_gain(const Mixture *mixture, const RowSearch *search, const Candidate *candidate,
                           ptrdiff_t k, double least)
{
    const Pattern *now = search->now;
    double carried = 0.0; /* row k of V times the couplings with the candidate */
    for (ptrdiff_t i = 0; i < now->count; i++)
        carried += now->variance[k * MOST_WRONG + i] * coupling(mixture, candidate->cell, now->cells[i]);
    const double own = now->variance[k * MOST_WRONG + k], there = 1.0 / candidate->precision;
    const double both = -carried * there, here = own + carried * carried * there;
    const double det = here * there - both * both; /* of the joint variance of the two */
    const double error = candidate->gradient * there, other = now->errors[k] - carried * error;
    const double precision = here / det, gradient = (here * error - both * other) / det;
    if (!(det > 0.0) ||
        0.5 * gradient * gradient / precision + mixture->odds[candidate->cell] + NARROWEST < least)
        return UNLIKELY;
    return cell_gain(mixture, search, candidate->cell, gradient, precision);
}

/* The gain of a pair of candidates beside that of neither. */
static double pair_gain(const Mixture *mixture, const RowSearch *search, const Candidate *a,
                        const Candidate *b)
{
    double raw[MOST_WRONG], first[MOST_WRONG], second[MOST_WRONG];
    double both = coupling(mixture, a->cell, b->cell);
    if (both == 0.0)
        return UNLIKELY;
    couplings(mixture, search->now, a->cell, raw, first);
    couplings(mixture, search->now, b->cell, raw, second);
    for (ptrdiff_t k = 0; k < search->now->count; k++)
        both -= first[k] * second[k];
    const double det = a->precision * b->precision - both * both;
    if (!(det > 1e-12 * a->precision * b->precision))
        return UNLIKELY;
    const double left = b->gradient - both * a->gradient / a->precision;
    return cell_gain(mixture, search, a->cell, a->gradient, a->precision) +
           cell_gain(mixture, search, b->cell, left, det / a->precision);
}

/* The best change of the pattern: one cell in or out, else one in place of another, else two. */
static Move best_move(const Mixture *mixture, const RowSearch *search)
{
    Move best = {-1, -1, -1, 1e-9};
    const Pattern *now = search->now;
    double worths[MOST_WRONG];
    for (ptrdiff_t c = 0; c < search->candidate_count; c++)
        consider(&best, search->candidates[c].cell, -1, -1, search->candidates[c].gain);
    for (ptrdiff_t k = 0; k < now->count; k++) {
        if (search->missing[now->cells[k]])
            continue;
        worths[k] = worth(mixture, search, k);
        consider(&best, -1, -1, k, -worths[k]);
    }
    for (ptrdiff_t c = 0; best.gain < 1e-8 && c < search->candidate_count; c++)
        for (ptrdiff_t k = 0; k < now->count; k++)
            if (!search->missing[now->cells[k]] &&
                coupling(mixture, search->candidates[c].cell, now->cells[k]) != 0.0)
                consider(&best, search->candidates[c].cell, -1, k,
                         swapped_gain(mixture, search, &search->candidates[c], k, worths[k]) -
                             worths[k]);
    for (ptrdiff_t a = 0; best.gain < 1e-8 && a < search->candidate_count; a++)
        for (ptrdiff_t b = 0; b < search->candidate_count; b++)
            if (a != b && search->candidates[a].gain > UNLIKELY && search->candidates[b].gain > UNLIKELY)
                consider(&best, search->candidates[a].cell, search->candidates[b].cell, -1,
                         pair_gain(mixture, search, &search->candidates[a], &search->candidates[b]));
    return best;
}

/* Change the pattern while its score rises. */
static void climb(const Mixture *mixture, RowSearch *search, double *lower)
{
    solve_pattern(mixture, search, search->now, lower);
    for (int step = 0; step < 4 * MOST_WRONG; step++) {
        list_candidates(mixture, search);
        const Move move = best_move(mixture, search);
        if (move.in < 0 && move.out < 0)
            return;
        Pattern *next = search->next;
        next->count = search->now->count;
        memcpy(next->cells, search->now->cells, (size_t)next->count * sizeof *next->cells);
        if (move.out >= 0)
            next->cells[move.out] = next->cells[--next->count];
        if (next->count + 2 > MOST_WRONG)
            return;
        if (move.in >= 0)
            next->cells[next->count++] = move.in;
        if (move.also_in >= 0)
            next->cells[next->count++] = move.also_in;
        solve_pattern(mixture, search, next, lower);
        if (!(next->score > search->now->score))
            return;
        search->next = search->now;
        search->now = next;
    }
}

/* Remember a cell in doubt; the least doubtful one gives way if there are too many. */
static void doubt(RowSearch *search, ptrdiff_t cell, double gain)
{
    ptrdiff_t least = 0;
    for (ptrdiff_t k = 0; k < search->doubted_count; k++) {
        if (search->doubted[k] == cell) {
            search->doubt[k] = fmax(search->doubt[k], gain);
            return;
        }
        least = search->doubt[k] < search->doubt[least] ? k : least;
    }
    if (search->doubted_count < MOST_JOINT)
        least = search->doubted_count++;
    else if (search->doubt[least] >= gain)
        return;
    search->doubted[least] = cell;
    search->doubt[least] = gain;
}

/* The cells that may be wrong or right: alone, or one in place of another. */
static void list_doubtful_cells(const Mixture *mixture, RowSearch *search)
{
    const Pattern *now = search->now;
    search->doubted_count = 0;
    for (ptrdiff_t c = 0; c < search->candidate_count; c++)
        if (search->candidates[c].gain > mixture->joint)
            doubt(search, search->candidates[c].cell, search->candidates[c].gain);
    for (ptrdiff_t k = 0; k < now->count; k++) {
        if (search->missing[now->cells[k]])
            continue;
        const double lost = worth(mixture, search, k);
        if (-lost > mixture->joint)
            doubt(search, now->cells[k], -lost);
        for (ptrdiff_t c = 0; c < search->candidate_count; c++) {
            const ptrdiff_t cell = search->candidates[c].cell;
            if (coupling(mixture, cell, now->cells[k]) == 0.0)
                continue;
            const double gain =
                swapped_gain(mixture, search, &search->candidates[c], k, lost + mixture->joint) - lost;
            if (gain > mixture->joint) {
                doubt(search, now->cells[k], gain);
                doubt(search, cell, gain);
            }
        }
    }
}
