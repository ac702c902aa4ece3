/* All kernels, and the table TABLE of them; included once by each build. */
#include "tiles.c"
#include "windows.c"

#include "batches.c"
#include "brackets.c"
#include "finite.c"
#include "judging.c"
#include "medians.c"
#include "joined.c"
#include "sifting.c"
#include "moments.c"
#include "propagate.c"
#include "residuals.c"
#include "screening.c"
#include "solve.c"
#include "spread.c"
#include "squares.c"
#include "suspecting.c"
#include "triangles.c"
#include "trimming.c"
#include "turning.c"
#include "walking.c"

const Kernels TABLE = {
    .name = TABLE_NAME,
    .all_finite = all_finite,
    .copy_finite = copy_finite,
    .family_moments = family_moments,
    .solve_moments = solve_moments,
    .upper_triangles = upper_triangles,
    .solve_triangles = solve_triangles,
    .batch_solutions = batch_solutions,
    .square_solutions = square_solutions,
    .tile_rows = tile_rows,
    .sift_solutions = sift_solutions,
    .sift_residuals = sift_residuals,
    .sifted_ranks = sifted_ranks,
    .split_sifted = split_sifted,
    .row_medians = row_medians,
    .joined_medians = joined_medians,
    .joined_spreads = joined_spreads,
    .residuals = residuals,
    .residual_moments = residual_moments,
    .propagate = propagate,
    .turn_columns = turn_columns,
    .screen_families = screen_families,
    .judge_rows = judge_rows,
    .learn_nodes = learn_nodes,
    .list_parents = list_parents,
    .find_cells = find_cells,
    .trim_family = trim_family,
    .split_rows = split_rows,
};
