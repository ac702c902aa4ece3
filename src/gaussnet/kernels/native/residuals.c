/* Child minus its parents' linear combination. */
#include "combination.h"
#include "tiles.h"

static int residuals(const Matrix *x, const Families *families, const double *coefficients,
                     double *out)
{
    Tile tile;
    if (tile_open(&tile, x, families, 0, 0, 0) < 0)
        return -1;
    const double **own = malloc((size_t)(largest_size(families) + 1) * sizeof *own);
    for (ptrdiff_t first = 0; own && first < x->rows; first += tile.height) {
        const ptrdiff_t rows = smaller(tile.height, x->rows - first);
        tile_move(&tile, first, rows);
        for (ptrdiff_t f = 0; f < families->count; f++) {
            const ptrdiff_t size = family_size(families, f);
            tile_family(&tile, families, f, own);
            add_combination(own, size, coefficients + families->offsets[f], -1.0, own[size],
                            rows, out + f * x->rows + first);
        }
    }
    tile_close(&tile);
    free((void *)own);
    return own ? 0 : -1;
}
