/* The kernels for x86 processors with AVX2 and FMA (2013 and later). */
#include "kernels.h"

#ifdef GAUSSNET_HAS_AVX2

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi,bmi2,popcnt")
#endif

#ifndef GAUSSNET_ONE_LANE
#define GAUSSNET_AVX2 1
#endif
#define TABLE kernels_avx2
#define TABLE_NAME "avx2"
#include "every_kernel.h"

#ifdef __clang__
#pragma clang attribute pop
#endif

#endif
