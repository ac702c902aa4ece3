/* Mean and squared deviations of each family's residuals, without keeping these. */
#include "combination.h"
#include "products.h"
#include "tiles.h"

/* Merge one more tile of residuals into what is known of those before it, `before` rows with this
 * mean (less their first) and these squares about it. Overwrites the residuals. */
static void add_residuals(double *rest, ptrdiff_t rows, ptrdiff_t before, double origin,
                          double *mean, double *squares)
{
    const double share = (double)rows / (double)(before + rows);
    const double step = subtract_mean(rest, rows, origin) - *mean;
    *squares += column_squares(rest, rows) + (double)before * share * step * step;
    *mean += share * step;
}

static int residual_moments(const Matrix *x, const Families *families,
                            const double *coefficients, double *means, double *squares)
{
    Tile tile;
    if (tile_open(&tile, x, families, 0, 0, 0) < 0)
        return -1;
    const double **own = malloc((size_t)(largest_size(families) + 1) * sizeof *own);
    double *rest = malloc((size_t)(tile.height + families->count + 1) * sizeof *rest);
    double *origin = rest + tile.height;
    memset(means, 0, (size_t)families->count * sizeof *means);
    memset(squares, 0, (size_t)families->count * sizeof *squares);
    for (ptrdiff_t first = 0; own && rest && first < x->rows; first += tile.height) {
        const ptrdiff_t rows = smaller(tile.height, x->rows - first);
        tile_move(&tile, first, rows);
        for (ptrdiff_t f = 0; f < families->count; f++) {
            const ptrdiff_t size = family_size(families, f);
            tile_family(&tile, families, f, own);
            add_combination(own, size, coefficients + families->offsets[f], -1.0, own[size],
                            rows, rest);
            if (first == 0)
                origin[f] = rest[0];
            add_residuals(rest, rows, first, origin[f], means + f, squares + f);
        }
    }
    const int failed = !own || !rest;
    for (ptrdiff_t f = 0; !failed && x->rows && f < families->count; f++)
        means[f] += origin[f];
    tile_close(&tile);
    free((void *)own);
    free(rest);
    return failed ? -1 : 0;
}
