/* The kernels for any processor that the compiler's own settings allow for. */
#include "kernels.h"

/* Where avx2.c serves all but very old processors, plain code is enough here, and it compiles in
 * a fifth of the time. */
#if defined(GAUSSNET_HAS_AVX2) && !defined(GAUSSNET_ONE_LANE)
#define GAUSSNET_ONE_LANE 1
#endif
#define TABLE kernels_baseline
#define TABLE_NAME "baseline"
#include "every_kernel.h"
