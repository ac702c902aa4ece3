/* The density of wrong values: a mixture of errors of either sign, of values drawn again from the
 * column, and of values of a kind of their own (see numpy_mixture.py). */
#ifndef GAUSSNET_LAWS_H
#define GAUSSNET_LAWS_H

#include "kernels.h"

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

/* The exponential of a number that is not positive, to a few units in the last place; below -700
 * it is taken at -700. Written so that compilers make vectors of it. */
INLINE double decay(double x)
{
    const double shifter = 0x1.8p52;
    x = x > -700.0 ? x : -700.0;
    const double shifted = x * 1.44269504088896340736 + shifter, whole = shifted - shifter;
    const double r = (x - whole * 0x1.62e42fefa0000p-1) - whole * 0x1.cf79abc9e3b39p-40;
    double power = 1.0 / 479001600.0;
    power = power * r + 1.0 / 39916800.0;
    power = power * r + 1.0 / 3628800.0;
    power = power * r + 1.0 / 362880.0;
    power = power * r + 1.0 / 40320.0;
    power = power * r + 1.0 / 5040.0;
    power = power * r + 1.0 / 720.0;
    power = power * r + 1.0 / 120.0;
    power = power * r + 1.0 / 24.0;
    power = power * r + 1.0 / 6.0;
    power = power * r + 0.5;
    power = power * r + 1.0;
    power = power * r + 1.0;
    int64_t bits, scale;
    memcpy(&bits, &shifted, sizeof bits);
    scale = (int64_t)((uint64_t)(bits + 1023) << 52);
    double two;
    memcpy(&two, &scale, sizeof two);
    return power * two;
}

/* The laws of a column, ready for use. */
static void open_laws(const double *shared, ptrdiff_t count, const double *own, ColumnLaws *laws)
{
    for (ptrdiff_t k = 0; k < MOST_LAWS; k++) {
        const double *law = shared + 3 * k, spread = k < count ? law[2] * own[UNIT] : 1.0;
        laws->weights[k] = k < count ? 0.5 * exp(law[0] + own[LOG_POOLED]) : 0.0;
        laws->shifts[k] = k < count ? law[1] * own[UNIT] : 0.0;
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
    double sum = 0.0;
    for (ptrdiff_t k = 0; k < MOST_LAWS; k++) {
        const double wide = variance + laws->variances[k], half = 0.5 / wide;
        const double near = size - laws->shifts[k], far = size + laws->shifts[k];
        terms[k] = laws->weights[k] * sqrt(2.0 * half) * (decay(-half * near * near) + decay(-half * far * far));
    }
    for (ptrdiff_t k = 0; k < MOST_LAWS; k++)
        sum += terms[k];
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
