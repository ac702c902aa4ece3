/* The few facts about the normal law that trimming rests on. */
#ifndef GAUSSNET_NORMAL_H
#define GAUSSNET_NORMAL_H

#include "kernels.h"

#define ROOT_HALF 0.70710678118654752440
#define ROOT_TWO_PI 2.50662827463100050242
/* 1 / Phi^-1(3/4): turns a median absolute deviation into a standard deviation. */
#define NORMAL_MAD 1.482602218505602

/* Chance that a standard normal value lies beyond +-limit. */
static double farther_than(double limit) { return erfc(limit * ROOT_HALF); }

/* The deviation that a standard normal value exceeds, on either side, with this chance: a
 * rational first guess (Abramowitz and Stegun 26.2.23), mended by Halley's method. */
static double two_sided_point(double chance)
{
    if (!(chance > 0.0 && chance < 1.0))
        return chance >= 1.0 ? 0.0 : INFINITY;
    const double t = sqrt(-2.0 * log(0.5 * chance));
    double point = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                           (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for (int step = 0; step < 2; step++) {
        const double density = exp(-0.5 * point * point) / ROOT_TWO_PI;
        const double error = 0.5 * (farther_than(point) - chance) / density;
        if (!(density > 0.0))
            break;
        point += error / (1.0 - 0.5 * point * error);
    }
    return point;
}

/* Variance of a standard normal value given that it lies within +-limit. */
static double truncated_variance(double limit)
{
    if (limit > 8.0)
        return 1.0;
    const double density = exp(-0.5 * limit * limit) / ROOT_TWO_PI;
    return 1.0 - 2.0 * limit * density / erf(limit * ROOT_HALF);
}

/* The deviation that a Student t value exceeds, on either side, with this chance: Wallace's
 * formula, turned around. */
static double student_point(double chance, double freedom)
{
    const double root = two_sided_point(chance) * (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0);
    return sqrt(freedom * expm1(root * root / freedom));
}

#endif
