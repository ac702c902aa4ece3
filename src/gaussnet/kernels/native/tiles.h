/* Tiles: a run of successive rows, held column after column in scratch that fits the cache.
 *
 * Kernels read columns. Data in C order are turned around one tile at a time, so that no copy
 * of all of them is ever made; float64 columns that lie in memory one value after the other
 * are read where they are.
 */
#ifndef GAUSSNET_TILES_H
#define GAUSSNET_TILES_H

#include "lanes.h"

/* Rows of a tile of few columns. */
#define TALLEST_TILE 512

typedef struct {
    const Matrix *source;
    ptrdiff_t height;        /* rows a tile; its halo comes on top */
    ptrdiff_t used_count;    /* how many columns occur in the families */
    ptrdiff_t *used;         /* which, in increasing order */
    const double **columns;  /* by column number: where the first row of the tile lies */
    double *ceilings;        /* by column number, on demand: the largest absolute value */
    double *scratch;         /* NULL if the columns are read in place */
    ptrdiff_t stride;        /* from one column in scratch to the next */
    void *memory;            /* what scratch was allocated as */
} Tile;

/* Whether float64 columns of x lie in memory one value after the other. */
static int has_whole_columns(const Matrix *x);

/* Rows of a tile of data with so many columns; tiles for windows are taller. */
static ptrdiff_t tile_rows(ptrdiff_t columns, int for_windows);

/* Make room for the columns of all families with at least `least_size` parents, for tiles of a
 * standard height and, for windows, `halo` rows more; `copy` asks for scratch that may be written. */
static int tile_open(Tile *tile, const Matrix *source, const Families *families,
                     ptrdiff_t least_size, ptrdiff_t halo, int copy);

/* Have the cache line fetched that the next tile has where this value is, if its column is read in
 * place and tiles are as tall as can be; else it does no harm. */
INLINE void fetch_next_tile(const double *value)
{
    fetch_ahead((const char *)(value + TALLEST_TILE));
}

/* Hold rows first .. first + rows. */
static void tile_move(Tile *tile, ptrdiff_t first, ptrdiff_t rows);

/* The same for scratch that the kernel fills itself, column u from tile_origin, which is in the
 * scratch already unless columns are read in place. */
static void tile_prepare(Tile *tile, ptrdiff_t first, ptrdiff_t rows);
static const double *tile_origin(const Tile *tile, ptrdiff_t u, ptrdiff_t first);

/* Write the columns in scratch back to rows first .. first + rows of a float64 source. */
static void tile_write(const Tile *tile, ptrdiff_t first, ptrdiff_t rows);

/* Find the ceilings of `rows` rows; no smaller than `least`. */
static int tile_ceilings(Tile *tile, ptrdiff_t rows, double least);

static void tile_close(Tile *tile);

/* Column pointers of family f: its parents, then its child. */
static void tile_family(const Tile *tile, const Families *families, ptrdiff_t f,
                        const double **own);

/* Have the columns of family f fetched, if there is such a family with parents and its columns are
 * too short for the processor to foresee what is read. */
INLINE void fetch_family(const Tile *tile, const Families *families, ptrdiff_t f, ptrdiff_t rows);

/* Largest number of parents of any family. */
static ptrdiff_t largest_size(const Families *families);

#endif
