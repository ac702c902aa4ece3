/* Sifting: of many rows of values, count those below and above a bracket and keep those inside.
 *
 * Values come a run at a time, while they are in the cache, and need not be kept. So a median
 * whose region is known takes little memory, and the counts prove it.
 */
#ifndef GAUSSNET_SIFTING_H
#define GAUSSNET_SIFTING_H

#include "lanes.h"

typedef struct {
    double low, high;                /* both ends belong to it */
    ptrdiff_t below, inside, above;  /* how many values lie where; NaN lie nowhere */
} Bracket;

/* Copy the values inside the bracket and count all. */
static void keep_inside(const double *from, ptrdiff_t count, Bracket *bracket, double *to);

/* Sift the next run, which is of row `row`. */
static void sift_run(Sieve *sieve, ptrdiff_t row, const double *values, ptrdiff_t count);

#endif
