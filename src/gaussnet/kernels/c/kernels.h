/* What the kernels and the Python module share: the list of all kernels, and their arguments.
 *
 * The sources of the kernels are compiled once for every kind of processor (see baseline.c and
 * avx2.c). Each build ends in one table of functions, and module.c picks a table at import.
 */
#ifndef GAUSSNET_KERNELS_H
#define GAUSSNET_KERNELS_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Every kernel and its signature, from which arguments are checked (arguments.h) and converted
 * (native.py). A letter stands for each argument; what follows the arrow is written.
 *
 *   x   rows and columns of float64 or float32 with any strides: their numbers are R and C
 *   X   the same of float64, written in place
 *   c   the same of float64, the values of a column one after the other
 *   f   families (children, offsets, parents) of columns below C if that is known: F families,
 *       E edges, P packed products, S entries of square matrices, one matrix a family
 *   g   families of a graph: the child of family f is f, and parents have families
 *   w   square windows (start, stop, sliding, centre): W values of their solutions
 *   v   batches (start, stop, extra_rows, centre): W values of their solutions
 *   d   array of float64, i of int64, b of bytes or truth values; written if the letter is capital.
 *       Its length stands in brackets: a letter that is not known yet becomes known by it
 *   j   int64 indices [length;limit], from 0 to below the limit
 *   o   int64 offsets [length;limit], which do not fall and lie between 0 and the limit
 *   l   list of pairs of float64 values and offsets into these of the length in brackets
 *   n   number from 0 on; a letter after it becomes known as the number
 *   p   truth value
 *   s   real number
 *   ?   before an array: it may be None
 *
 * T is the number of tiles of the rows of x, or of the windows. */
#define EVERY_KERNEL(KERNEL) \
    KERNEL(all_finite, "x") \
    KERNEL(copy_finite, "d[N] D[N]") \
    KERNEL(checksum, "x n n") \
    KERNEL(transposed_columns, "x -> D[C,R]") \
    KERNEL(residuals, "x f d[E] -> D[F,R]") \
    KERNEL(residual_moments, "x f d[E] -> D[F] D[F]") \
    KERNEL(propagate, "X f j[N;F] d[E]") \
    KERNEL(family_moments, "x f p -> D[E+F] D[P]") \
    KERNEL(solve_moments, "f d[P] -> D[E] D[F] D[F]") \
    KERNEL(upper_triangles, "f d[P] b[F] -> D[S]") \
    KERNEL(solve_triangles, "nK nN d[K,N,N] d[K,N] -> D[K,N]") \
    KERNEL(batch_solutions, "x f v -> D[W]") \
    KERNEL(square_solutions, "x f w -> D[W]") \
    KERNEL(split_solutions, "x f w ?d[S] ?i[J] n ?D[E,J] d[E] d[E] D[K] -> I[E,4] I[ET+1]") \
    KERNEL(split_residuals, "x f d[E] ?d[F] ?i[J] n ?D[F,J] d[F] d[F] D[K] -> I[F,4] I[FT+1]") \
    KERNEL(joined_runs, "d[K] o[L;K] nN nM -> D[M] I[N+1]") \
    KERNEL(split_rows, "d[K] o[N+1;K] d[N] d[N] -> I[N,4] D[K+8] I[N+1]") \
    KERNEL(kept_ranks, "i[N] i[N] l[N+1] -> D[N] D[N]") \
    KERNEL(joined_medians, "nM nN l[MN+1] ?d[M,N,N] -> D[M,N] I[M]") \
    KERNEL(joined_spreads, "nN l[N+1] -> D[N] D[N]") \
    KERNEL(candidate_pairs, "x f d[S] d[E] d[3,F] s I[2,N]") \
    KERNEL(pair_residuals, "c f d[S] d[E] j[N;F] j[N;C] -> D[N] D[N]") \
    KERNEL(expected_rows, "x f d[E] d[C] d[F] -> D[R,C] D[R] D[P]") \
    KERNEL(missing_information, "x f d[E] d[C] d[F] nQ -> D[Q,Q]") \
    KERNEL(screen_families, "c f n n p s s d[E] d[F] d[F] d[F] d[E+F] -> D[F]") \
    KERNEL(learn_nodes, "c g j[N;F] p p d[9] d[F] d[F] b[F] D[E] D[4,F] I[3,F] " \
                        "I[4,F] I[2,K] B[K] D[3,K] D[K] I[4,F] I[2,L] B[L] D[3,L] D[L] I[4]") \
    KERNEL(list_parents, "g i[4,F] i[2,K] b[K] d[3,K] d[F] n I[N]") \
    KERNEL(find_cells, "i[4,F] i[2,K] j[N;F] i[N] -> I[N]") \
    KERNEL(mixture_moments, "x g d[E] d[F] d[F] d[N] o[F+1;N] j[N;F] d[F] d[K,3] d[6,2,F] d[2] s " \
                            "?d[R] s B[R,F] -> D[R] D[R] ?D[R,F] ?D[R,F] D[N] D[F] D[K,3] D[F,8] " \
                            "?D[S+4E+4F]")

/* Rows of data as they came: strides in bytes, of either sign; `single` says float32. */
typedef struct {
    char *data;
    ptrdiff_t rows, columns;
    ptrdiff_t row_stride, column_stride;
    int single;
} Matrix;

/* Family f has the child children[f] and the parents parents[offsets[f] .. offsets[f + 1]]. */
typedef struct {
    ptrdiff_t count;
    const int64_t *children, *offsets, *parents;
} Families;

/* Which windows of a page to solve: those that begin in rows start..stop and fit the page. A
 * family with p parents has windows of p + extra_rows rows, one every row if `sliding`, else
 * one after the other; `centre` removes the mean or the first row, as the kernel says. */
typedef struct {
    ptrdiff_t start, stop, extra_rows;
    int sliding, centre;
} Windows;

/* The windows of one height: numbers first..last, `step` rows apart. */
typedef struct {
    ptrdiff_t first, last, step;
} WindowRange;

/* Rows of values in parts: row r of part k is values[k][starts[k][r] .. starts[k][r + 1]]. */
typedef struct {
    ptrdiff_t count;
    const double **values;
    const int64_t **starts;
} Parts;

/* One argument, as its letter in the signature says. */
typedef struct {
    Matrix matrix;
    Families families;
    Windows windows;
    Parts parts;
    void *values;     /* of an array; NULL for None */
    ptrdiff_t length; /* of an array */
    ptrdiff_t number; /* or truth value */
    double real;
} Argument;

/* A kernel gives 0, or the number that it found, or one of these. */
typedef ptrdiff_t Kernel(const Argument *given);
#define NO_MEMORY (-1)
#define REFUSED (-2) /* the arguments contradict each other */

#define KERNEL_NUMBER(name, signature) NUMBER_##name,
enum { EVERY_KERNEL(KERNEL_NUMBER) KERNEL_COUNT };

/* All kernels as compiled for one kind of processor. */
typedef struct {
    const char *name;
    Kernel *kernels[KERNEL_COUNT];
} Build;

extern const Build baseline_build;
#if defined(__x86_64__) && defined(__GNUC__)
#define GAUSSNET_HAS_AVX2 1
extern const Build avx2_build;
#endif

/* A pivot of a unit-diagonal Gram matrix below this costs a solution more than six digits. */
#define WELL_CONDITIONED 1e-6
/* A pivot this small beside its column is rounding error. */
#define SINGULAR 1e-14

/* Helpers are merged into every build's own code, so that they are compiled for its processor. */
#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline, unused))
#define NOT_INLINE __attribute__((noinline))
#else
#define INLINE static inline
#define NOT_INLINE
#endif

INLINE ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
INLINE ptrdiff_t greater(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

/* Sums and products of lengths; one that is too large is that of no array. */
#define TOO_MANY PTRDIFF_MAX
INLINE ptrdiff_t plus(ptrdiff_t a, ptrdiff_t b) { return a > TOO_MANY - b ? TOO_MANY : a + b; }
INLINE ptrdiff_t times(ptrdiff_t a, ptrdiff_t b)
{
    const int is_small = (a | b) < 1 << 15; /* a division is dear */
    return !is_small && b > 0 && a > TOO_MANY / b ? TOO_MANY : a * b;
}

/* Number of parents of family f. */
INLINE ptrdiff_t family_size(const Families *families, ptrdiff_t f)
{
    return (ptrdiff_t)(families->offsets[f + 1] - families->offsets[f]);
}

/* Length of the packed lower triangle of a matrix with `side` rows. */
INLINE ptrdiff_t triangle_length(ptrdiff_t side) { return side * (side + 1) / 2; }

/* Rows of a window of a family with `size` parents. */
INLINE ptrdiff_t window_height(const Windows *windows, ptrdiff_t size)
{
    return size + windows->extra_rows + (windows->centre ? 1 : 0);
}

/* The windows of `height` rows that begin in rows start..stop and fit the page. */
INLINE WindowRange window_range(ptrdiff_t start, ptrdiff_t stop, ptrdiff_t page_rows,
                                ptrdiff_t height, int sliding)
{
    WindowRange range;
    range.step = sliding ? 1 : height;
    range.first = (start + range.step - 1) / range.step;
    range.last = (stop + range.step - 1) / range.step;
    ptrdiff_t fitting = sliding ? page_rows - height + 1 : page_rows / height;
    range.last = greater(range.first, smaller(range.last, fitting));
    return range;
}

/* Sums are quickest while a tile of rows stays close to the processor. Windows do more with every
 * row, and many of them side by side; so their tiles are taller. */
#define TILE_BYTES (1 << 20)
#define WINDOW_TILE_BYTES (10 << 20)
#define SHORTEST_TILE 64
#define TALLEST_TILE 512

/* Rows of a tile. The height depends on nothing but the width of the data: a family's sums come
 * out the same whichever other families are asked for. A multiple of 8 rows fills whole cache
 * lines. */
INLINE ptrdiff_t tile_rows(ptrdiff_t columns, int for_windows)
{
    const ptrdiff_t values = (for_windows ? WINDOW_TILE_BYTES : TILE_BYTES) / (ptrdiff_t)sizeof(double);
    return greater(SHORTEST_TILE, smaller(values / greater(columns, 1) / 8 * 8, TALLEST_TILE));
}

/* Tiles that `rows` rows take. */
INLINE ptrdiff_t tile_count(ptrdiff_t rows, ptrdiff_t columns, int for_windows)
{
    const ptrdiff_t height = tile_rows(columns, for_windows);
    return (greater(rows, 0) + height - 1) / height;
}

#endif
