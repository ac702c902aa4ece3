/* The kernels for any processor that the compiler's own settings allow for. */
#include "kernels.h"

#define TABLE kernels_baseline
#define TABLE_NAME "baseline"
#include "every_kernel.h"
