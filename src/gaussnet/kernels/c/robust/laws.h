/* The density of wrong values: a mixture of errors of either sign, of values drawn again from the
 * column, and of values of a kind of their own (see numpy_mixture.py). */
#ifndef GAUSSNET_LAWS_H
#define GAUSSNET_LAWS_H

#include "core/lanes.h"

#define MOST_LAWS 8
#define HALF_LOG_2PI 0.91893853320467274178
/* Below this, terms may have lost digits, and logs take their place. */
#define VANISHING 1e-290

/* What the caller tells of a column. */
enum { UNIT, LOG_POOLED, LOG_SHIFTED, SHIFT, SHIFT_VARIANCE, LOG_REDRAWN, VARIANCE, LOG_OWN, CENTRE,
       OWN_VARIANCE, PARAMETERS };

/* The laws of errors of one column: those that all columns share, and after them its own. Laws that
 * are not there have the weight 0. */
typedef struct {
    double weights[MOST_LAWS], shifts[MOST_LAWS], variances[MOST_LAWS];
    double log_redrawn, half_redrawn; /* log of the height, half the precision */
    double log_own, half_own, centre;
} ColumnLaws;

/* A recorded value, as far as its density if wrong does not depend on the other cells. */
typedef struct {
    double redrawn, own; /* densities as a value drawn again, or of a kind of its own */
    double deviation, apart; /* from the mean, and from the centre of that kind */
} ValueLaws;

/* The exponentials of numbers that are not positive, to a few units in the last place; below -700
 * they are taken at -700. */
INLINE Lanes decay(Lanes x)
{
    static const double inverse_factorials[] = {1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
                                                1.0 / 40320.0,    1.0 / 5040.0,    1.0 / 720.0,
                                                1.0 / 120.0,      1.0 / 24.0,      1.0 / 6.0,
                                                0.5,              1.0,             1.0};
    const Lanes shifter = broadcast(0x1.8p52);
    x = larger(x, broadcast(-700.0));
    const Lanes shifted = x * broadcast(1.44269504088896340736) + shifter, whole = shifted - shifter;
    const Lanes r = (x - whole * broadcast(0x1.62e42fefa0000p-1)) - whole * broadcast(0x1.cf79abc9e3b39p-40);
    Lanes power = broadcast(1.0 / 479001600.0);
    UNROLL for (int k = 0; k < 12; k++)
        power = power * r + broadcast(inverse_factorials[k]);
    return power * power_of_two(shifted);
}

/* The same for `count` numbers, a multiple of the lanes. */
INLINE void decay_all(const double *powers, ptrdiff_t count, double *found)
{
    for (ptrdiff_t k = 0; k < count; k += LANES)
        store(found + k, decay(load(powers + k)));
}

/* The laws of a column, ready for use. */
static void open_laws(const double *shared, ptrdiff_t count, const double *own, ColumnLaws *laws)
{
    for (ptrdiff_t k = 0; k < MOST_LAWS; k++) {
        const double *law = k < count ? shared + 3 * k : NULL, spread = law ? law[2] * own[UNIT] : 1.0;
        laws->weights[k] = law ? 0.5 * exp(law[0] + own[LOG_POOLED]) : 0.0;
        laws->shifts[k] = law ? law[1] * own[UNIT] : 0.0;
        laws->variances[k] = spread * spread;
    }
    laws->weights[count] = 0.5 * exp(own[LOG_SHIFTED]);
    laws->shifts[count] = own[SHIFT];
    laws->variances[count] = own[SHIFT_VARIANCE];
    laws->log_redrawn = own[LOG_REDRAWN] - 0.5 * log(own[VARIANCE]);
    laws->half_redrawn = 0.5 / own[VARIANCE];
    laws->log_own = own[LOG_OWN] - 0.5 * log(own[OWN_VARIANCE]);
    laws->half_own = 0.5 / own[OWN_VARIANCE];
    laws->centre = own[CENTRE];
}

/* Densities of an error under each law, times the root of 2 pi and the law's weight; their sum. */
INLINE double law_terms(const ColumnLaws *laws, double error, double variance, double *terms)
{
    const double size = fabs(error);
    double sum = 0.0, near[MOST_LAWS], far[MOST_LAWS], heights[MOST_LAWS];
    for (ptrdiff_t k = 0; k < MOST_LAWS; k++) {
        const double half = 0.5 / (variance + laws->variances[k]);
        const double less = size - laws->shifts[k], more = size + laws->shifts[k];
        heights[k] = laws->weights[k] * sqrt(2.0 * half);
        near[k] = -half * less * less;
        far[k] = -half * more * more;
    }
    decay_all(near, MOST_LAWS, near);
    decay_all(far, MOST_LAWS, far);
    for (ptrdiff_t k = 0; k < MOST_LAWS; k++)
        sum += terms[k] = heights[k] * (near[k] + far[k]);
    return sum;
}

/* What of a recorded value's density does not depend on the other cells. */
INLINE ValueLaws value_laws(const ColumnLaws *laws, double deviation, double value)
{
    const double apart = value - laws->centre;
    return (ValueLaws){exp(laws->log_redrawn - laws->half_redrawn * deviation * deviation),
                       exp(laws->log_own - laws->half_own * apart * apart), deviation, apart};
}

/* Logs of all terms, for values so far off that the terms themselves vanish; the largest. */
static double log_terms(const ColumnLaws *laws, const ValueLaws *value, double error, double variance,
                        double *logs)
{
    const double size = fabs(error);
    double most = -INFINITY;
    for (ptrdiff_t k = 0; k < MOST_LAWS; k++) {
        const double wide = variance + laws->variances[k], near = size - laws->shifts[k];
        const double fold = 2.0 * size * laws->shifts[k] / wide;
        logs[k] = log(laws->weights[k]) - 0.5 * log(wide) - 0.5 * near * near / wide +
                  log1p(exp(-fold));
    }
    logs[MOST_LAWS] = laws->log_redrawn - laws->half_redrawn * value->deviation * value->deviation;
    logs[MOST_LAWS + 1] = laws->log_own - laws->half_own * value->apart * value->apart;
    for (ptrdiff_t k = 0; k < MOST_LAWS + 2; k++)
        most = fmax(most, logs[k]);
    return most;
}

/* Log density of an error and its recorded value, plus half the log of 2 pi. */
static double log_law(const ColumnLaws *laws, const ValueLaws *value, double error, double variance)
{
    double terms[MOST_LAWS + 2], sum = law_terms(laws, error, variance, terms);
    sum += value->redrawn + value->own;
    if (sum > VANISHING)
        return log(sum);
    const double most = log_terms(laws, value, error, variance, terms);
    sum = 0.0;
    for (ptrdiff_t k = 0; k < MOST_LAWS + 2; k++)
        sum += exp(terms[k] - most);
    return most + log(sum);
}

/* The shares of the laws in the density: errors law by law, drawn again, of a kind of its own. */
static void law_shares(const ColumnLaws *laws, const ValueLaws *value, double error, double variance,
                       double *shares)
{
    double sum = law_terms(laws, error, variance, shares);
    shares[MOST_LAWS] = value->redrawn;
    shares[MOST_LAWS + 1] = value->own;
    sum += value->redrawn + value->own;
    if (!(sum > VANISHING)) {
        const double most = log_terms(laws, value, error, variance, shares);
        sum = 0.0;
        for (ptrdiff_t k = 0; k < MOST_LAWS + 2; k++)
            sum += shares[k] = exp(shares[k] - most);
    }
    for (ptrdiff_t k = 0; k < MOST_LAWS + 2; k++)
        shares[k] /= sum;
}

#endif
