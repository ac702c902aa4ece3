/* All kernels, and the table TABLE of them; included once by each build. */
#include "tiles.c"
#include "windows.c"

#include "batches.c"
#include "brackets.c"
#include "finite.c"
#include "judging.c"
#include "medians.c"
#include "moments.c"
#include "propagate.c"
#include "residuals.c"
#include "screening.c"
#include "solve.c"
#include "spread.c"
#include "squares.c"
#include "trimming.c"
#include "turning.c"

const Kernels TABLE = {
    TABLE_NAME,       all_finite,  family_moments, solve_moments, batch_solutions,
    square_solutions, row_medians, residuals,      residual_moments, propagate,
    turn_columns,     screen_families, judge_rows,     trim_family,
    split_rows,
};
