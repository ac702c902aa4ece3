/* Rows of noise into rows of a network. */
#include "combination.h"
#include "tiles.h"

static int propagate(const Matrix *rows, const Families *families, const int64_t *order,
                     ptrdiff_t order_count, const double *coefficients)
{
    Tile tile;
    if (tile_open(&tile, rows, families, 0, 0, 0) < 0)
        return -1;
    const double **own = malloc((size_t)(largest_size(families) + 1) * sizeof *own);
    for (ptrdiff_t first = 0; own && first < rows->rows; first += tile.height) {
        const ptrdiff_t count = smaller(tile.height, rows->rows - first);
        tile_move(&tile, first, count);
        for (ptrdiff_t k = 0; k < order_count; k++) {
            const ptrdiff_t node = (ptrdiff_t)order[k];
            const ptrdiff_t size = family_size(families, node);
            tile_family(&tile, families, node, own);
            add_combination(own, size, coefficients + families->offsets[node], 1.0, own[size],
                            count, (double *)own[size]);
        }
        if (tile.scratch)
            tile_write(&tile, first, count);
    }
    tile_close(&tile);
    free((void *)own);
    return own ? 0 : -1;
}
