/* Natural logarithms of many values. */
#ifndef GAUSSNET_LOGARITHMS_H
#define GAUSSNET_LOGARITHMS_H

#include "kernels.h"

/* The bits of 1 and of the root of 1/2; those below them hold the fraction. */
#define ONE_BITS 0x3ff0000000000000u
#define ROOT_HALF_BITS 0x3fe6a09e667f3bcdu
#define FRACTION_BITS 0x000fffffffffffffu
/* A double with these bits and an integer in its fraction is 2^52 and that integer. */
#define INTEGER_BITS 0x4330000000000000u
#define LOG_TWO 0.69314718055994530942

/* The logarithm of a positive normal number: with x = 2^k m, m between the roots of 1/2 and 2, and
 * s = (m - 1) / (m + 1), it is k log 2 + 2 (s + s^3 / 3 + s^5 / 5 + ...). No branches, so that the
 * compiler makes lanes of a loop over it. */
INLINE double log_of_normal(double x)
{
    uint64_t bits;
    double power, part;
    memcpy(&bits, &x, sizeof bits);
    bits += ONE_BITS - ROOT_HALF_BITS;
    const uint64_t exponent = (bits >> 52) | INTEGER_BITS;
    bits = (bits & FRACTION_BITS) + ROOT_HALF_BITS;
    memcpy(&power, &exponent, sizeof power);
    memcpy(&part, &bits, sizeof part);
    power -= 4503599627370496.0 + 1023.0;
    const double s = (part - 1.0) / (part + 1.0), z = s * s;
    double series = 1.0 / 21.0;
    series = series * z + 1.0 / 19.0;
    series = series * z + 1.0 / 17.0;
    series = series * z + 1.0 / 15.0;
    series = series * z + 1.0 / 13.0;
    series = series * z + 1.0 / 11.0;
    series = series * z + 1.0 / 9.0;
    series = series * z + 1.0 / 7.0;
    series = series * z + 1.0 / 5.0;
    series = series * z + 1.0 / 3.0;
    return power * LOG_TWO + 2.0 * (s + s * z * series);
}

/* Logarithms of `count` values, in place. */
static void take_logs(double *values, ptrdiff_t count)
{
    int normal = 1;
    for (ptrdiff_t k = 0; k < count; k++)
        normal &= (values[k] >= DBL_MIN) & (values[k] <= DBL_MAX);
    if (normal)
        for (ptrdiff_t k = 0; k < count; k++)
            values[k] = log_of_normal(values[k]);
    else
        for (ptrdiff_t k = 0; k < count; k++)
            values[k] = log(values[k]);
}

#endif
