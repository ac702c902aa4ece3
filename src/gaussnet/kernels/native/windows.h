/* The windows of a page, tile by tile and family by family. */
#ifndef GAUSSNET_WINDOWS_H
#define GAUSSNET_WINDOWS_H

#include "tiles.h"

/* Successive windows of one family: window k begins at row first + k * step of the columns and
 * has `height` rows; unknown i of its system goes to out[i * stride + k]. */
typedef struct {
    const double *const *columns;
    ptrdiff_t size, height, first, step, count;
    int centre;
    double *out;
    ptrdiff_t stride;
} WindowRun;

typedef void (*SolveRun)(const WindowRun *run, void *scratch);

/* Call `solve` for the windows of every family with parents, `least` or more windows at a time.
 * The solutions of a family are (size, windows), one family after the other. */
static int solve_page(const Matrix *page, const Families *families, const Windows *windows,
                      SolveRun solve, ptrdiff_t least, void *scratch, double *solutions);

#endif
