/* Which cells of a row are wrong: a search over patterns of wrong cells, and what each explains.
 *
 * Let Omega be the precision of the network, r the row less its mean and g = Omega r. If the
 * cells F are wrong, the others say that the errors of F are e = V g_F, V = (Omega_FF)^-1, and the
 * log density of the row rises by
 *
 *     1/2 g_F' V g_F + 1/2 log det V + sum over F of (1/2 log 2 pi + prior log odds + log f(e)),
 *
 * with f the density of wrong values. A missing cell is in every pattern and has no such term.
 * With L the lower factor of Omega_FF, a cell outside has the couplings c with F, the white
 * couplings w = L^-1 c, the precision Omega_cc - w'w and the gradient g_c - w' L^-1 g_F. */
#include "robust/laws.h"

/* Cells of a row that may be wrong; with more the row is wrong as a whole. */
#define MOST_WRONG 96
/* Cells in doubt that hang together are looked at jointly, in all 2^n combinations; all of them. */
#define MOST_JOINT 6
#define MOST_DOUBTED 24
/* Cells of one row that may go into its pattern: as many as there are columns, up to what an index can
 * count. */
#define MOST_CANDIDATES 32000
#define UNLIKELY (-1e300)
#define UNJUDGED (-1e200)
/* The squares of believed cells are unusual so many standard deviations above their mean; a wrong
 * value is if its log density is below this, in units of the noise; cells are far off from so many
 * standard deviations on. */
#define UNUSUAL 4.0
#define UNUSUAL_ERROR (-10.0)
#define FAR_CELL 3.0
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
    const double *parameters; /* (columns, 10): see laws.h */
    double joint, least;      /* log odds from which on a cell is looked at jointly, or at all */
    ColumnLaws *by_column;    /* the same laws, ready for use */
} Mixture;

/* A pattern of wrong cells: those firmly believed to be wrong, and what follows from them. */
typedef struct {
    ptrdiff_t count;
    ptrdiff_t cells[MOST_WRONG];
    double score, errors[MOST_WRONG], white[MOST_WRONG]; /* white: L^-1 g_F */
    double log_wrong[MOST_WRONG]; /* prior log odds and log densities of the errors */
    double inverse[MOST_WRONG * MOST_WRONG];  /* of L, column by column: entry (i, k) at [k, i] */
    ptrdiff_t ends[MOST_WRONG]; /* column k of the inverse is 0 from here on: wrong cells hang together in
                                 * small groups */
    double variance[MOST_WRONG * MOST_WRONG]; /* V */
} Pattern;

/* A cell that is not in the pattern, given the pattern. */
typedef struct {
    ptrdiff_t cell;
    double gradient, precision, gain;
    ptrdiff_t begin, end, white_end; /* couplings are 0 outside of begin to end, white ones to white_end */
} Candidate;

enum { NOWHERE = -1, IN_PATTERN = -2 };

/* Two coupled cells that may be wrong together, in the rows of a mask. */
typedef struct {
    ptrdiff_t one, other;
    double coupling;
    unsigned rows;
} FarPair;

/* One row, and the space for the work on it. */
typedef struct {
    const double *row, *deviation, *gradient; /* values, values less means, Omega times these */
    const unsigned char *missing;
    Pattern *now, *next;
    ValueLaws *values;    /* (columns,): known where `redrawn` is not negative */
    int16_t *index;       /* (columns,): of the candidate, or where else the cell is */
    int16_t *place;       /* (columns,): in the pattern that is solved, NOWHERE between */
    ptrdiff_t *notable;   /* (columns,): cells that are in doubt by themselves, whatever the pattern */
    ptrdiff_t notable_count;
    const FarPair *far_pairs; /* of the rows beside each other in a block */
    ptrdiff_t far_pair_count;
    const uint16_t *open; /* (columns,): the rows in which a cell can be in doubt, if the pattern is empty */
    unsigned side;        /* the bit of the row in these masks and in those of the pairs */
    ptrdiff_t *diagonals; /* (columns,): where the entries of the diagonal are */
    Candidate *candidates; /* (columns,), MOST_CANDIDATES at most */
    double *couplings, *white; /* (candidates, cells of the pattern) */
    ptrdiff_t candidate_count;
    double worths[MOST_WRONG]; /* of the cells of the pattern */
    ptrdiff_t doubted[MOST_DOUBTED]; /* group after group */
    double doubt[MOST_DOUBTED];
    ptrdiff_t doubted_count;
    ptrdiff_t groups[MOST_DOUBTED + 1]; /* where each group of doubted cells starts */
    ptrdiff_t group_count;
} RowSearch;

/* Where the entry of Omega for two cells is, or -1. */
INLINE int64_t entry_of(const Mixture *mixture, ptrdiff_t a, ptrdiff_t b)
{
    int64_t low = mixture->starts[a], high = mixture->starts[a + 1];
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (mixture->neighbours[middle] < b)
            low = middle + 1;
        else
            high = middle;
    }
    return low < mixture->starts[a + 1] && mixture->neighbours[low] == b ? low : -1;
}

/* Omega between two cells. */
INLINE double coupling(const Mixture *mixture, ptrdiff_t a, ptrdiff_t b)
{
    const int64_t entry = entry_of(mixture, a, b);
    return entry < 0 ? 0.0 : mixture->omega[entry];
}

/* The laws of the recorded value of a cell. */
INLINE const ValueLaws *value_of(const Mixture *mixture, const RowSearch *search, ptrdiff_t cell)
{
    ValueLaws *value = &search->values[cell];
    if (value->redrawn < 0.0)
        *value = value_laws(&mixture->by_column[cell], search->deviation[cell], search->row[cell]);
    return value;
}

/* Prior log odds and log density of an error. */
INLINE double log_wrong(const Mixture *mixture, const RowSearch *search, ptrdiff_t cell, double error,
                        double variance)
{
    return mixture->odds[cell] +
           log_law(&mixture->by_column[cell], value_of(mixture, search, cell), error, variance);
}

/* What believing a cell that is there to be wrong adds to the score, given the others. */
INLINE double cell_gain(const Mixture *mixture, const RowSearch *search, ptrdiff_t cell,
                        double gradient, double precision)
{
    const double variance = 1.0 / precision, error = gradient * variance;
    return 0.5 * gradient * error + 0.5 * log(variance) +
           log_wrong(mixture, search, cell, error, variance);
}

/* The couplings of cell i of a pattern with those before it, and its own precision: a row of Omega_FF.
 * Where it begins: all is 0 before. `place` says where cells of the pattern are. */
static ptrdiff_t couple_cell(const Mixture *mixture, const Pattern *pattern, const int16_t *place, ptrdiff_t i,
                             double *row)
{
    const ptrdiff_t cell = pattern->cells[i];
    ptrdiff_t begin = i;
    memset(row, 0, (size_t)i * sizeof *row);
    row[i] = mixture->diagonal[cell];
    for (int64_t n = mixture->starts[cell]; n < mixture->starts[cell + 1]; n++) {
        const ptrdiff_t other = place[mixture->neighbours[n]];
        if (other < 0 || other >= i)
            continue;
        row[other] = mixture->omega[n];
        begin = smaller(begin, other);
    }
    return begin;
}

/* The lower factor of Omega_FF, and where each of its rows begins. log det Omega_FF, or NaN if there is
 * no factor. */
static double factor_pattern(const Mixture *mixture, const Pattern *pattern, const int16_t *place,
                             double *lower, ptrdiff_t *begins)
{
    double log_det = 0.0;
    for (ptrdiff_t i = 0; i < pattern->count; i++) {
        double *own = lower + i * MOST_WRONG;
        begins[i] = couple_cell(mixture, pattern, place, i, own);
        for (ptrdiff_t j = begins[i]; j <= i; j++) {
            const double *other = lower + j * MOST_WRONG;
            double sum = own[j];
            for (ptrdiff_t k = begins[i] > begins[j] ? begins[i] : begins[j]; k < j; k++)
                sum -= own[k] * other[k];
            own[j] = i == j ? sum : sum / other[j];
        }
        if (!(own[i] > 1e-14 * mixture->diagonal[pattern->cells[i]]))
            return NAN;
        log_det += log(own[i]);
        own[i] = sqrt(own[i]);
    }
    return log_det;
}

/* The inverse of the lower factor, and where its columns end. */
static void invert_factor(Pattern *pattern, const double *lower, const ptrdiff_t *begins)
{
    for (ptrdiff_t j = 0; j < pattern->count; j++) {
        double *column = pattern->inverse + j * MOST_WRONG;
        column[j] = 1.0 / lower[j * MOST_WRONG + j];
        pattern->ends[j] = j + 1;
        for (ptrdiff_t i = j + 1; i < pattern->count; i++) {
            double sum = 0.0;
            if (begins[i] >= pattern->ends[j])
                continue;
            memset(column + pattern->ends[j], 0, (size_t)(i - pattern->ends[j]) * sizeof *column);
            for (ptrdiff_t k = j > begins[i] ? j : begins[i]; k < pattern->ends[j]; k++)
                sum -= lower[i * MOST_WRONG + k] * column[k];
            column[i] = sum / lower[i * MOST_WRONG + i];
            pattern->ends[j] = i + 1;
        }
    }
}

/* The same with all places known, and forgotten again. */
static double invert_pattern(const Mixture *mixture, const RowSearch *search, Pattern *pattern, double *lower)
{
    ptrdiff_t begins[MOST_WRONG];
    for (ptrdiff_t k = 0; k < pattern->count; k++)
        search->place[pattern->cells[k]] = (int16_t)k;
    const double log_det = factor_pattern(mixture, pattern, search->place, lower, begins);
    for (ptrdiff_t k = 0; k < pattern->count; k++)
        search->place[pattern->cells[k]] = NOWHERE;
    if (!isnan(log_det))
        invert_factor(pattern, lower, begins);
    return log_det;
}

/* Prior log odds and log density of the error of cell i; known if the pattern before had the same cell, as
 * its cell j, with the same error. */
INLINE double log_wrong_in(const Mixture *mixture, const RowSearch *search, const Pattern *pattern, ptrdiff_t i,
                           const Pattern *before, ptrdiff_t j)
{
    const ptrdiff_t cell = pattern->cells[i];
    const double error = pattern->errors[i], variance = pattern->variance[i * MOST_WRONG + i];
    if (search->missing[cell])
        return HALF_LOG_2PI;
    if (before && j < before->count && before->errors[j] == error &&
        before->variance[j * MOST_WRONG + j] == variance)
        return before->log_wrong[j];
    return log_wrong(mixture, search, cell, error, variance);
}

/* Errors, variances and score of a pattern; the score is UNLIKELY if it cannot be. `before` is another
 * pattern of the same row that was solved, or NULL; the cells of both are in the same order. */
static void solve_pattern(const Mixture *mixture, const RowSearch *search, Pattern *pattern,
                          const Pattern *before, double *lower)
{
    const ptrdiff_t count = pattern->count, *ends = pattern->ends;
    const double log_det = invert_pattern(mixture, search, pattern, lower);
    double *white = pattern->white, quadratic = 0.0;
    pattern->score = UNLIKELY;
    if (isnan(log_det))
        return;
    memset(white, 0, (size_t)count * sizeof *white);
    for (ptrdiff_t k = 0; k < count; k++)
        for (ptrdiff_t i = k; i < ends[k]; i++)
            white[i] += pattern->inverse[k * MOST_WRONG + i] * search->gradient[pattern->cells[k]];
    for (ptrdiff_t i = 0; i < count; i++)
        memset(pattern->variance + i * MOST_WRONG, 0, (size_t)count * sizeof(double));
    for (ptrdiff_t i = 0; i < count; i++) {
        const double *own = pattern->inverse + i * MOST_WRONG;
        double error = 0.0;
        quadratic += white[i] * white[i];
        for (ptrdiff_t k = i; k < ends[i]; k++)
            error += own[k] * white[k];
        pattern->errors[i] = error;
        for (ptrdiff_t j = 0; j <= i; j++) {
            const double *other = pattern->inverse + j * MOST_WRONG;
            double sum = 0.0;
            if (ends[j] <= i)
                continue;
            for (ptrdiff_t k = i; k < smaller(ends[i], ends[j]); k++)
                sum += own[k] * other[k];
            pattern->variance[i * MOST_WRONG + j] = pattern->variance[j * MOST_WRONG + i] = sum;
        }
    }
    pattern->score = 0.5 * quadratic - 0.5 * log_det;
    for (ptrdiff_t i = 0, j = 0; i < count; i++, j++) {
        while (before && j < before->count && before->cells[j] != pattern->cells[i])
            j++;
        pattern->log_wrong[i] = log_wrong_in(mixture, search, pattern, i, before, j);
        pattern->score += pattern->log_wrong[i];
    }
}

/* Make a cell a candidate without couplings, unless it is one or in the pattern; its index. */
INLINE ptrdiff_t add_candidate(RowSearch *search, ptrdiff_t cell)
{
    const ptrdiff_t count = search->now->count, next = search->candidate_count;
    if (search->index[cell] != NOWHERE || next == MOST_CANDIDATES)
        return search->index[cell];
    search->index[cell] = (int16_t)next;
    search->candidates[next] = (Candidate){.cell = cell, .begin = count};
    memset(search->couplings + next * count, 0, (size_t)count * sizeof(double));
    return search->candidate_count++;
}

/* Gradient, precision and gain of a candidate, given the pattern. */
static void judge_candidate(const Mixture *mixture, const RowSearch *search, ptrdiff_t index,
                            Candidate *candidate)
{
    const Pattern *now = search->now;
    const ptrdiff_t cell = candidate->cell, count = now->count;
    const double *raw = search->couplings + index * count;
    double *white = search->white + index * count, squares = 0.0;
    double gradient = search->gradient[cell];
    ptrdiff_t end = candidate->end;
    for (ptrdiff_t k = candidate->begin; k < candidate->end; k++)
        end = raw[k] != 0.0 && now->ends[k] > end ? now->ends[k] : end;
    for (ptrdiff_t i = candidate->begin; i < end; i++)
        white[i] = 0.0;
    for (ptrdiff_t k = candidate->begin; k < candidate->end; k++)
        if (raw[k] != 0.0)
            for (ptrdiff_t i = k; i < now->ends[k]; i++)
                white[i] += now->inverse[k * MOST_WRONG + i] * raw[k];
    for (ptrdiff_t i = candidate->begin; i < end; i++) {
        squares += white[i] * white[i];
        gradient -= white[i] * now->white[i];
    }
    const double precision = fmax(mixture->diagonal[cell] - squares, 1e-12 * mixture->diagonal[cell]);
    const int is_open = gradient * gradient > mixture->thresholds[cell] * precision;
    candidate->white_end = end;
    candidate->gradient = gradient;
    candidate->precision = precision;
    candidate->gain = is_open ? cell_gain(mixture, search, cell, gradient, precision) : UNLIKELY;
}

/* Forget where cells are. */
static void clear_index(RowSearch *search)
{
    for (ptrdiff_t c = 0; c < search->candidate_count; c++)
        search->index[search->candidates[c].cell] = NOWHERE;
    for (ptrdiff_t k = 0; k < search->now->count; k++)
        search->index[search->now->cells[k]] = NOWHERE;
}

/* The cells outside the pattern that are notable or coupled with it. All others are as likely wrong
 * as beside an empty pattern, which is unlikely. */
static void list_candidates(const Mixture *mixture, RowSearch *search)
{
    const Pattern *now = search->now;
    search->candidate_count = 0;
    for (ptrdiff_t k = 0; k < now->count; k++)
        search->index[now->cells[k]] = IN_PATTERN;
    for (ptrdiff_t k = 0; k < search->notable_count; k++)
        add_candidate(search, search->notable[k]);
    for (ptrdiff_t k = 0; k < now->count; k++)
        for (int64_t n = mixture->starts[now->cells[k]]; n < mixture->starts[now->cells[k] + 1]; n++) {
            const ptrdiff_t index = add_candidate(search, (ptrdiff_t)mixture->neighbours[n]);
            if (index < 0)
                continue;
            search->couplings[index * now->count + k] = mixture->omega[n];
            search->candidates[index].begin = smaller(search->candidates[index].begin, k);
            search->candidates[index].end = k + 1;
        }
    for (ptrdiff_t c = 0; c < search->candidate_count; c++)
        judge_candidate(mixture, search, c, &search->candidates[c]);
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
INLINE double worth(const Pattern *now, ptrdiff_t k)
{
    const double variance = now->variance[k * MOST_WRONG + k], error = now->errors[k];
    return 0.5 * error * error / variance + 0.5 * log(variance) + now->log_wrong[k];
}

/* The gain of candidate c in place of cell k of the pattern; UNLIKELY if it is surely below `least`.
 * Cell k goes back among the believed ones, and with it what it carried over. */
static double swapped_gain(const Mixture *mixture, const RowSearch *search, ptrdiff_t c, ptrdiff_t k,
                           double least)
{
    const Pattern *now = search->now;
    const Candidate *candidate = &search->candidates[c];
    const double *raw = search->couplings + c * now->count, *own = now->variance + k * MOST_WRONG;
    double carried = 0.0; /* row k of V times the couplings with the candidate */
    for (ptrdiff_t i = candidate->begin; i < candidate->end; i++)
        carried += own[i] * raw[i];
    const double part = carried / own[k], precision = candidate->precision + part * carried;
    const double gradient = candidate->gradient + part * now->errors[k];
    if (0.5 * gradient * gradient < (least - mixture->odds[candidate->cell] - NARROWEST) * precision)
        return UNLIKELY;
    return cell_gain(mixture, search, candidate->cell, gradient, precision);
}

/* The gain of a cell by itself and then of another one beside it. */
INLINE double ordered_gain(const Mixture *mixture, const RowSearch *search, const Candidate *first,
                           const Candidate *second, double both)
{
    const double part = both / first->precision;
    const double gain = isnan(first->gain) ? cell_gain(mixture, search, first->cell, first->gradient,
                                                       first->precision)
                                           : first->gain;
    return gain + cell_gain(mixture, search, second->cell, second->gradient - part * first->gradient,
                            second->precision - part * both);
}

/* The gain of two coupled cells beside that of neither, the better one first; UNLIKELY if it is surely
 * below `least`. `both` is their coupling, given the pattern. */
static double pair_gain(const Mixture *mixture, const RowSearch *search, const Candidate *a,
                        const Candidate *b, double both, double least)
{
    const double det = a->precision * b->precision - both * both;
    const double squares = b->precision * a->gradient * a->gradient +
                           a->precision * b->gradient * b->gradient -
                           2.0 * both * a->gradient * b->gradient;
    const double limit = least - mixture->odds[a->cell] - mixture->odds[b->cell] - 2.0 * NARROWEST;
    if (0.5 * squares < limit * det || !(det > 1e-12 * a->precision * b->precision))
        return UNLIKELY;
    return fmax(ordered_gain(mixture, search, a, b, both), ordered_gain(mixture, search, b, a, both));
}

/* A cell that is open to doubt and not coupled with the pattern; its gain is not known. */
INLINE Candidate apart_from_pattern(const Mixture *mixture, const RowSearch *search, ptrdiff_t cell)
{
    return (Candidate){.cell = cell,
                       .gradient = search->gradient[cell],
                       .precision = mixture->diagonal[cell],
                       .gain = NAN};
}

/* The best pair of a candidate and a cell that it is coupled with, each pair once. */
static void consider_pairs_with(const Mixture *mixture, const RowSearch *search, ptrdiff_t a, Move *best)
{
    const Candidate *one = &search->candidates[a];
    const ptrdiff_t count = search->now->count;
    const double *white = search->white + a * count;
    for (int64_t n = mixture->starts[one->cell]; n < mixture->starts[one->cell + 1]; n++) {
        const ptrdiff_t neighbour = (ptrdiff_t)mixture->neighbours[n], b = search->index[neighbour];
        double both = mixture->omega[n];
        if (both == 0.0 || b == IN_PATTERN)
            continue;
        if (b < 0) {
            if (search->open[neighbour] & search->side) {
                const Candidate other = apart_from_pattern(mixture, search, neighbour);
                consider(best, one->cell, neighbour, -1,
                         pair_gain(mixture, search, one, &other, both, best->gain));
            }
        } else if (b > a && search->candidates[b].gain != UNLIKELY) {
            const Candidate *other = &search->candidates[b];
            const ptrdiff_t end = smaller(one->white_end, other->white_end);
            for (ptrdiff_t k = one->begin > other->begin ? one->begin : other->begin; k < end; k++)
                both -= white[k] * search->white[b * count + k];
            consider(best, one->cell, neighbour, -1,
                     pair_gain(mixture, search, one, other, both, best->gain));
        }
    }
}

/* The best pair of coupled cells: a candidate and another cell, or two that are far off together. */
static void consider_pairs(const Mixture *mixture, const RowSearch *search, Move *best)
{
    for (ptrdiff_t a = 0; a < search->candidate_count; a++)
        if (search->candidates[a].gain != UNLIKELY)
            consider_pairs_with(mixture, search, a, best);
    for (ptrdiff_t p = 0; p < search->far_pair_count; p++) {
        const FarPair *pair = &search->far_pairs[p];
        if (!(pair->rows & search->side) || search->index[pair->one] != NOWHERE ||
            search->index[pair->other] != NOWHERE)
            continue;
        const Candidate one = apart_from_pattern(mixture, search, pair->one);
        const Candidate other = apart_from_pattern(mixture, search, pair->other);
        consider(best, pair->one, pair->other, -1,
                 pair_gain(mixture, search, &one, &other, pair->coupling, best->gain));
    }
}

/* The best change of the pattern: one cell in or out, else one in place of another, else two. */
static Move best_move(const Mixture *mixture, RowSearch *search)
{
    Move best = {-1, -1, -1, 1e-9};
    const Pattern *now = search->now;
    for (ptrdiff_t c = 0; c < search->candidate_count; c++)
        consider(&best, search->candidates[c].cell, -1, -1, search->candidates[c].gain);
    for (ptrdiff_t k = 0; k < now->count; k++) {
        if (search->missing[now->cells[k]])
            continue;
        search->worths[k] = worth(now, k);
        consider(&best, -1, -1, k, -search->worths[k]);
    }
    for (ptrdiff_t c = 0; best.gain < 1e-8 && c < search->candidate_count; c++)
        for (ptrdiff_t k = search->candidates[c].begin; k < search->candidates[c].end; k++)
            if (search->couplings[c * now->count + k] != 0.0 && !search->missing[now->cells[k]])
                consider(&best, search->candidates[c].cell, -1, k,
                         swapped_gain(mixture, search, c, k, search->worths[k]) - search->worths[k]);
    if (best.gain < 1e-8)
        consider_pairs(mixture, search, &best);
    return best;
}

/* The pattern after a move; -1 if it has no room. Its cells keep their order: those that hang together stay
 * near each other. */
static int make_move(const Pattern *now, const Move *move, Pattern *next)
{
    next->count = 0;
    for (ptrdiff_t k = 0; k < now->count; k++)
        if (k != move->out)
            next->cells[next->count++] = now->cells[k];
    if (next->count + 2 > MOST_WRONG)
        return -1;
    if (move->in >= 0)
        next->cells[next->count++] = move->in;
    if (move->also_in >= 0)
        next->cells[next->count++] = move->also_in;
    return 0;
}

/* The order that cells are reported in: the last one takes the place of a cell that goes out. */
static void report_move(const Pattern *now, const Move *move, ptrdiff_t *reported)
{
    ptrdiff_t count = now->count;
    if (move->out >= 0) {
        for (ptrdiff_t k = 0; k < count; k++)
            if (reported[k] == now->cells[move->out])
                reported[k] = reported[count - 1];
        count--;
    }
    if (move->in >= 0)
        reported[count++] = move->in;
    if (move->also_in >= 0)
        reported[count] = move->also_in;
}

/* Solve the pattern that is given and list its candidates; -1 if it cannot be. */
static int start_climb(const Mixture *mixture, RowSearch *search, double *lower)
{
    search->candidate_count = 0;
    solve_pattern(mixture, search, search->now, NULL, lower);
    if (search->now->score == UNLIKELY)
        return -1;
    list_candidates(mixture, search);
    return 0;
}

/* Change the pattern while its score rises; candidates are those of the last one. */
static void climb_from(const Mixture *mixture, RowSearch *search, double *lower, ptrdiff_t *reported)
{
    for (int step = 0; step < 4 * MOST_WRONG; step++) {
        const Move move = best_move(mixture, search);
        Pattern *next = search->next;
        if ((move.in < 0 && move.out < 0) || make_move(search->now, &move, next) < 0)
            return;
        solve_pattern(mixture, search, next, search->now, lower);
        if (!(next->score > search->now->score))
            return;
        report_move(search->now, &move, reported);
        clear_index(search);
        search->next = search->now;
        search->now = next;
        list_candidates(mixture, search);
    }
    best_move(mixture, search); /* for the worths */
}

/* The same from the pattern that is given. Of cells in equal doubt the first ones count: so in the end the
 * pattern is in the order of the report. */
static void climb(const Mixture *mixture, RowSearch *search, double *lower)
{
    ptrdiff_t reported[MOST_WRONG];
    memcpy(reported, search->now->cells, (size_t)search->now->count * sizeof *reported);
    if (start_climb(mixture, search, lower) < 0)
        return;
    climb_from(mixture, search, lower, reported);
    const size_t size = (size_t)search->now->count * sizeof *reported;
    if (memcmp(reported, search->now->cells, size) == 0)
        return;
    clear_index(search);
    memcpy(search->now->cells, reported, size);
    if (start_climb(mixture, search, lower) == 0)
        best_move(mixture, search); /* for the worths */
}

/* Whether a pattern leaves a row far from what is usual: its believed cells, or a wrong value that no
 * law makes likely. `squares` is r' g. */
static int is_unusual(const Mixture *mixture, const RowSearch *search, double squares)
{
    const Pattern *now = search->now;
    const double left = (double)(mixture->columns - now->count);
    for (ptrdiff_t k = 0; k < now->count; k++) {
        const ptrdiff_t cell = now->cells[k];
        const double unit = mixture->parameters[cell * PARAMETERS + UNIT];
        squares -= now->errors[k] * search->gradient[cell];
        if (!search->missing[cell] &&
            now->log_wrong[k] - mixture->odds[cell] + log(unit) < UNUSUAL_ERROR)
            return 1;
    }
    return squares > left + UNUSUAL * sqrt(2.0 * left);
}

/* The missing cells, and after them those that are far from what all others expect, while there is
 * room. */
static void start_from_far_cells(const Mixture *mixture, RowSearch *search)
{
    Pattern *now = search->now;
    now->count = 0;
    for (ptrdiff_t c = 0; c < mixture->columns; c++)
        if (search->missing[c])
            now->cells[now->count++] = c;
    for (ptrdiff_t c = 0; c < mixture->columns && now->count + 2 < MOST_WRONG; c++) {
        const double gradient = search->gradient[c];
        const int is_far = gradient * gradient > FAR_CELL * FAR_CELL * mixture->diagonal[c];
        if (!search->missing[c] && is_far && mixture->odds[c] > UNJUDGED)
            now->cells[now->count++] = c;
    }
}

/* The likeliest pattern near the one that is given; if that leaves much open, near that of all cells
 * that are far off, if it is likelier. */
static void find_pattern(const Mixture *mixture, RowSearch *search, double squares, double *lower)
{
    ptrdiff_t cells[MOST_WRONG];
    climb(mixture, search, lower);
    const ptrdiff_t count = search->now->count;
    const double score = search->now->score;
    if (score == UNLIKELY || !is_unusual(mixture, search, squares))
        return;
    memcpy(cells, search->now->cells, (size_t)count * sizeof *cells);
    clear_index(search);
    start_from_far_cells(mixture, search);
    climb(mixture, search, lower);
    if (search->now->score > score)
        return;
    clear_index(search);
    search->now->count = count;
    memcpy(search->now->cells, cells, (size_t)count * sizeof *cells);
    climb(mixture, search, lower);
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
    if (search->doubted_count < MOST_DOUBTED)
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
        const double lost = search->worths[k];
        if (-lost > mixture->joint)
            doubt(search, now->cells[k], -lost);
        for (ptrdiff_t c = 0; c < search->candidate_count; c++) {
            if (search->couplings[c * now->count + k] == 0.0)
                continue;
            const double gain = swapped_gain(mixture, search, c, k, lost + mixture->joint) - lost;
            if (gain > mixture->joint) {
                doubt(search, now->cells[k], gain);
                doubt(search, search->candidates[c].cell, gain);
            }
        }
    }
}

/* The group that a cell stands for, along the links. */
INLINE ptrdiff_t root_of(ptrdiff_t *links, ptrdiff_t cell)
{
    while (links[cell] != cell)
        cell = links[cell] = links[links[cell]];
    return cell;
}

/* Sort the doubted cells into groups that hang together, directly or by wrong cells between them.
 * Of a group that is too large the most doubtful cells stay. The index of all cells must be empty,
 * and is again. */
static void group_doubted_cells(const Mixture *mixture, RowSearch *search)
{
    const Pattern *now = search->now;
    const ptrdiff_t count = search->doubted_count;
    ptrdiff_t cells[MOST_DOUBTED + MOST_WRONG], links[MOST_DOUBTED + MOST_WRONG], all = count;
    double doubt[MOST_DOUBTED];
    for (ptrdiff_t d = 0; d < count; d++) {
        cells[d] = search->doubted[d];
        doubt[d] = search->doubt[d];
        search->index[cells[d]] = (int16_t)d;
    }
    for (ptrdiff_t k = 0; k < now->count; k++)
        if (search->index[now->cells[k]] == NOWHERE) {
            search->index[now->cells[k]] = (int16_t)all;
            cells[all++] = now->cells[k];
        }
    for (ptrdiff_t k = 0; k < all; k++)
        links[k] = k;
    for (ptrdiff_t k = 0; count > 1 && k < all; k++)
        for (int64_t n = mixture->starts[cells[k]]; n < mixture->starts[cells[k] + 1]; n++) {
            const ptrdiff_t other = search->index[mixture->neighbours[n]];
            if (other >= 0) /* even if a coefficient is 0: a family is never in two groups */
                links[root_of(links, other)] = root_of(links, k);
        }
    search->group_count = search->doubted_count = 0;
    for (ptrdiff_t g = 0; g < count; g++) {
        const ptrdiff_t root = root_of(links, g);
        ptrdiff_t size = 0, first = search->doubted_count;
        for (ptrdiff_t d = 0; d < g; d++)
            size += root_of(links, d) == root;
        if (size > 0) /* this group is done */
            continue;
        for (ptrdiff_t d = g; d < count; d++) {
            if (root_of(links, d) != root)
                continue;
            ptrdiff_t ahead = 0; /* cells of the group that are in greater doubt */
            for (ptrdiff_t other = g; other < count; other++)
                ahead += root_of(links, other) == root && (doubt[other] > doubt[d] ||
                                                           (doubt[other] == doubt[d] && other < d));
            if (ahead < MOST_JOINT)
                search->doubted[search->doubted_count++] = cells[d];
        }
        search->groups[search->group_count++] = first;
    }
    search->groups[search->group_count] = search->doubted_count;
    for (ptrdiff_t k = 0; k < all; k++)
        search->index[cells[k]] = NOWHERE;
}
