/* All kernels and the table of them, for any processor that the compiler's own settings allow for;
 * avx2.c includes this once more. */
#include "kernels.h"

#ifndef BUILD
#define BUILD baseline_build
#define BUILD_NAME "baseline"
#endif

#include "core/rows.c"

#include "core/batches.c"
#include "likelihood/expected.c"
#include "robust/learning.c"
#include "robust/mixture.c"
#include "core/moments.c"
#include "core/pairs.c"
#include "medians/parts.c"
#include "robust/screening.c"
#include "core/squares.c"

#define KERNEL_FUNCTION(name, signature) name,
const Build BUILD = {BUILD_NAME, {EVERY_KERNEL(KERNEL_FUNCTION)}};
