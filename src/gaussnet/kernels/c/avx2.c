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
#define BUILD avx2_build
#define BUILD_NAME "avx2"
#include "baseline.c"

#ifdef __clang__
#pragma clang attribute pop
#endif

#endif
