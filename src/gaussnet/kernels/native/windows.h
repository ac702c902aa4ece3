/* The windows of a page, tile by tile and family by family. */
#ifndef GAUSSNET_WINDOWS_H
#define GAUSSNET_WINDOWS_H

#include "sifting.h"
#include "tiles.h"

/* Successive windows of one family: window k begins at row first + k * step of the columns and
 * has `height` rows; unknown i of its system goes to out[i * stride + k]. */
typedef struct {
    const double *const *columns;
    const double *ceilings; /* no value of column c is larger; NULL if nobody asked */
    ptrdiff_t size, height, first, step, count;
    int centre;
    double *out;
    ptrdiff_t stride;
} WindowRun;

/* How to solve LANES or more windows. */
typedef struct {
    void (*solve)(const WindowRun *run, void *scratch);
    void *scratch;
    double least_ceiling; /* ceilings are wanted, none smaller than this; 0 if not wanted */
} Solver;

/* Where solutions go: either all of them to `all`, (size, windows) for a family, one family after
 * the other; or, turned by an upper triangle a family if there are any, through a sieve, and a few
 * of them to a draw if there is one. */
typedef struct {
    double *all;
    const double *turns;
    const Draw *draw;
    Sieve *sieve;
} Sink;

/* Solve the windows of every family with parents. */
static int solve_page(const Matrix *page, const Families *families, const Windows *windows,
                      Solver solver, Sink sink);

#endif
