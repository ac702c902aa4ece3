/* A start for trimming that garbage in the child cannot spoil, as in
 * gaussnet.estimate.robust.start, which is the definition. */
#ifndef GAUSSNET_START_H
#define GAUSSNET_START_H

#include "checks.h"
#include "steps.h"

#define GROSS 5.0
#define GROSS_ROUNDS 3
#define GROSS_GAIN 0.7
#define MOST_CONCENTRATIONS 40
#define SETTLED 0.1
#define FEWEST_IN_CORE 5
#define INNER_CORE 1.75
#define SHRINKING_ROUNDS 8
#define SHRINKING_GAIN 0.99

static double median_scale(const Regression *own)
{
    const double share = (double)own->rows / freedom_of(own);
    return fmax(NORMAL_MAD * own->trial.median * sqrt(share), own->smallest);
}

/* Least squares without gross residuals, again while the scale drops. */
static int leave_out_gross(Regression *own)
{
    double scale = median_scale(own);
    const ptrdiff_t fewest = greater(own->rows / 2, own->factor.size + 2);
    for (int round = 0; round < GROSS_ROUNDS; round++) {
        ptrdiff_t count;
        reach_down(own, GROSS * scale);
        const double squares = core_of(own, GROSS * scale, &count);
        if (count < fewest || count >= own->rows)
            break;
        leave_out_beyond(own, own->far.residuals, GROSS * scale);
        const double explained = step_without_next(own, squares);
        if (explained < 0.0)
            return -1;
        find_median(own, guess_next_middle(own, explained));
        const double before = scale;
        scale = median_scale(own);
        if (scale > GROSS_GAIN * before)
            break;
    }
    return 0;
}

/* Least squares over the half with the smallest residuals, until that half is stable; gives
 * whether that was needed, or -1 if digits are lacking. */
static int concentrate(Regression *own)
{
    for (int round = 0; round < MOST_CONCENTRATIONS; round++) {
        const double median = own->trial.median;
        const Checks checks = {own->rows, freedom_of(own), median, 0.0, 0.0};
        if (!(median > own->smallest))
            return round > 0;
        sum_within(own, own->residuals, median);
        const double explained = explain(own);
        if (explained < 0.0)
            return -1;
        const double found = half_statistic(&checks, explained);
        if (round == 0 && found <= own->limits->half)
            return 0;
        add_step(&own->factor, own->trial.coefficients);
        own->fitted = 0;
        find_median(own, guess_next_middle(own, explained));
        if (round >= 2 && found <= SETTLED * (double)own->factor.size)
            break;
    }
    return 1;
}

/* Scale from the residuals within `limit` scales, corrected for the truncation. */
static double core_scale(const Regression *own, double scale, double limit)
{
    ptrdiff_t count;
    const double squares = core_of(own, limit * scale, &count);
    if (count < FEWEST_IN_CORE)
        return scale;
    return sqrt(squares / (double)count / truncated_variance(limit));
}

/* The scale that rounds start from, and whether the core holds more than a clean core would. */
static double start_scale(Regression *own, int *spread)
{
    ptrdiff_t count;
    double scale = median_scale(own);
    reach_down(own, SMALLEST_CUTOFF * scale);
    const double squares = core_of(own, GROSS * scale, &count);
    const double widest = scale * own->limits->spread;
    *spread = squares > (double)count * widest * widest;
    for (int round = 0; *spread && round < SHRINKING_ROUNDS; round++) {
        const double inner = core_scale(own, scale, INNER_CORE);
        if (!(inner < SHRINKING_GAIN * scale))
            break;
        scale = inner;
    }
    for (int round = 0; round < 2; round++)
        scale = fmax(core_scale(own, scale, CORE), own->smallest);
    return scale;
}

#endif
