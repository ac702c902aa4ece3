/* Three cheap checks that least squares over all rows needs no trimming. */
#ifndef GAUSSNET_CHECKS_H
#define GAUSSNET_CHECKS_H

#include "cutoffs.h"

#define CORE 2.5

/* What the checks know of a regression over `rows` rows, `left` more than it has coefficients. */
typedef struct {
    ptrdiff_t rows;
    double left;
    double median;      /* of the absolute residuals */
    double spread;      /* largest ratio of the least-squares scale to the median scale */
    double gate_level;
} Checks;

static double scale_by_median(const Checks *checks)
{
    return NORMAL_MAD * checks->median * sqrt((double)checks->rows / checks->left);
}

/* Whether the sum of squared residuals is not larger than their median says. */
static int is_narrow(const Checks *checks, double squares)
{
    const double widest = scale_by_median(checks) * checks->spread;
    return squares <= checks->left * (widest * widest);
}

/* How far the core reaches. */
static double core_limit(const Checks *checks) { return CORE * scale_by_median(checks); }

/* Whether the rule of Benjamini and Hochberg rejects no residual, measured by their core; the
 * tail is what lies beyond that. */
static int is_gate_shut(const Checks *checks, Tail *tail)
{
    const double inside = (double)(checks->rows - tail->size);
    const double core = sqrt(tail->body / inside / truncated_variance(CORE));
    for (ptrdiff_t k = 0; k < tail->size; k++)
        tail->values[k] /= core;
    return rejects_none(tail, checks->gate_level, fmax(checks->left - 1.0, 2.0));
}

/* The half-sample statistic, from what a step over the half explains of its residuals. */
static double half_statistic(const Checks *checks, double explained)
{
    const double scale = NORMAL_MAD * checks->median;
    const double variance = truncated_variance(1.0 / NORMAL_MAD) * scale * scale;
    return explained * (checks->left / (double)checks->rows) / variance;
}

#endif
