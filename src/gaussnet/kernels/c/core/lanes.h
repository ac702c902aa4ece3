/* Lanes: a few float64 values that go through the same arithmetic side by side.
 *
 * With GCC and Clang a Lanes is a vector as wide as the processor's registers, four values with
 * AVX2 and two otherwise, and + - * / act on all of them. With any other compiler it is a single
 * double; the kernels are written for LANES values and do not care. A Mask holds -1 where a
 * comparison held and 0 where it did not.
 */
#ifndef GAUSSNET_LANES_H
#define GAUSSNET_LANES_H

#include "kernels.h"

#if defined(__GNUC__) && !defined(GAUSSNET_ONE_LANE)

#ifdef GAUSSNET_AVX2
#define LANES 4
#else
#define LANES 2
#endif
#define UNROLL _Pragma("GCC unroll 16")
#define UNROLL_FOUR _Pragma("GCC unroll 4")
#define LANE(lanes, k) ((lanes)[k])
typedef double Lanes __attribute__((vector_size(8 * LANES)));
typedef int64_t Mask __attribute__((vector_size(8 * LANES)));
typedef uint64_t Words __attribute__((vector_size(8 * LANES)));
typedef double LooseLanes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef float LooseFloats __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (Mask){__VA_ARGS__})
#endif

INLINE Lanes load(const double *from) { return *(const LooseLanes *)from; }
INLINE void store(double *to, Lanes lanes) { *(LooseLanes *)to = lanes; }
INLINE Lanes load_floats(const float *from)
{
    return __builtin_convertvector(*(const LooseFloats *)from, Lanes);
}
INLINE Mask is_greater(Lanes a, Lanes b) { return (Mask)(a > b); }
INLINE Mask is_at_least(Lanes a, Lanes b) { return (Mask)(a >= b); }
INLINE Mask is_equal(Mask a, Mask b) { return (Mask)(a == b); }
/* 2^n for numbers that hold the integers n in their last bits, as 0x1.8p52 + n does. */
INLINE Lanes power_of_two(Lanes shifted) { return (Lanes)(((Words)shifted + 1023) << 52); }

/* The next group of functions, for either width:
 * load_part: the first `count` < LANES values, and zeros after them; put together in registers,
 *     because a trip through memory would stall.
 * keep_first: the first `count` < LANES lanes, and zeros after them.
 * blend: `yes` where the mask holds, else `no`.
 * larger: the larger of two, the second if either is NaN.
 * sum_each: lane k of the answer is the sum of all lanes of parts[k].
 * transpose: make LANES rows of LANES values into columns.
 * deal_few: to[r] is value r of each of LANES runs of `count` < LANES values. */
#if LANES == 4

INLINE Lanes broadcast(double value) { return (Lanes){value, value, value, value}; }
INLINE Mask mask_of(int64_t value) { return (Mask){value, value, value, value}; }
INLINE Lanes load_strided(const double *from, const ptrdiff_t step)
{
    if (step == 1)
        return load(from);
    return (Lanes){from[0], from[step], from[2 * step], from[3 * step]};
}
INLINE Lanes load_part(const double *from, ptrdiff_t count)
{
    switch (count) {
    case 1: return (Lanes){from[0], 0.0, 0.0, 0.0};
    case 2: return (Lanes){from[0], from[1], 0.0, 0.0};
    case 3: return (Lanes){from[0], from[1], from[2], 0.0};
    default: return broadcast(0.0);
    }
}
INLINE Lanes keep_first(Lanes lanes, ptrdiff_t count)
{
    return (Lanes)((Mask)lanes & ((Mask){0, 1, 2, 3} < mask_of(count)));
}
INLINE Lanes blend(Mask mask, Lanes yes, Lanes no)
{
    return (Lanes)__builtin_ia32_blendvpd256(no, yes, (Lanes)mask);
}
INLINE Lanes larger(Lanes a, Lanes b) { return (Lanes)__builtin_ia32_maxpd256(a, b); }
INLINE double sum_lanes(Lanes lanes)
{
    lanes += SHUFFLE(lanes, lanes, 2, 3, 0, 1);
    return lanes[0] + lanes[1];
}
INLINE Lanes sum_each(const Lanes *parts)
{
    Lanes ab = SHUFFLE(parts[0], parts[1], 0, 4, 2, 6) + SHUFFLE(parts[0], parts[1], 1, 5, 3, 7);
    Lanes cd = SHUFFLE(parts[2], parts[3], 0, 4, 2, 6) + SHUFFLE(parts[2], parts[3], 1, 5, 3, 7);
    return SHUFFLE(ab, cd, 0, 1, 4, 5) + SHUFFLE(ab, cd, 2, 3, 6, 7);
}
INLINE void transpose(Lanes *block)
{
    Lanes a = SHUFFLE(block[0], block[1], 0, 4, 2, 6), b = SHUFFLE(block[0], block[1], 1, 5, 3, 7);
    Lanes c = SHUFFLE(block[2], block[3], 0, 4, 2, 6), d = SHUFFLE(block[2], block[3], 1, 5, 3, 7);
    block[0] = SHUFFLE(a, c, 0, 1, 4, 5);
    block[1] = SHUFFLE(b, d, 0, 1, 4, 5);
    block[2] = SHUFFLE(a, c, 2, 3, 6, 7);
    block[3] = SHUFFLE(b, d, 2, 3, 6, 7);
}
INLINE void deal_few(const double *from, const ptrdiff_t count, Lanes *to)
{
    const Lanes a = load(from), b = count > 1 ? load(from + 4) : a;
    const Lanes c = count > 2 ? load(from + 8) : b;
    if (count == 2) {
        to[0] = SHUFFLE(a, b, 0, 2, 4, 6);
        to[1] = SHUFFLE(a, b, 1, 3, 5, 7);
    } else if (count == 3) {
        const Lanes first = SHUFFLE(SHUFFLE(a, b, 0, 1, 6, 3), c, 0, 5, 2, 3);
        const Lanes second = SHUFFLE(SHUFFLE(b, a, 0, 5, 2, 3), c, 0, 1, 6, 3);
        const Lanes third = SHUFFLE(SHUFFLE(c, b, 0, 5, 2, 3), a, 0, 1, 6, 3);
        to[0] = SHUFFLE(first, first, 0, 3, 2, 1);
        to[1] = SHUFFLE(second, second, 1, 0, 3, 2);
        to[2] = SHUFFLE(third, third, 2, 1, 0, 3);
    } else {
        to[0] = a;
    }
}

#else /* two lanes */

INLINE Lanes broadcast(double value) { return (Lanes){value, value}; }
INLINE Mask mask_of(int64_t value) { return (Mask){value, value}; }
INLINE Lanes load_strided(const double *from, const ptrdiff_t step)
{
    return (Lanes){from[0], from[step]};
}
INLINE Lanes load_part(const double *from, ptrdiff_t count)
{
    return count ? (Lanes){from[0], 0.0} : broadcast(0.0);
}
INLINE Lanes keep_first(Lanes lanes, ptrdiff_t count)
{
    return (Lanes)((Mask)lanes & (Mask){count > 0 ? -1 : 0, 0});
}
INLINE Lanes blend(Mask mask, Lanes yes, Lanes no)
{
    return (Lanes)((mask & (Mask)yes) | (~mask & (Mask)no));
}
INLINE Lanes larger(Lanes a, Lanes b) { return blend(is_greater(a, b), a, b); }
INLINE double sum_lanes(Lanes lanes) { return lanes[0] + lanes[1]; }
INLINE Lanes sum_each(const Lanes *parts)
{
    return SHUFFLE(parts[0], parts[1], 0, 2) + SHUFFLE(parts[0], parts[1], 1, 3);
}
INLINE void transpose(Lanes *block)
{
    const Lanes low = SHUFFLE(block[0], block[1], 0, 2);
    block[1] = SHUFFLE(block[0], block[1], 1, 3);
    block[0] = low;
}
INLINE void deal_few(const double *from, const ptrdiff_t count, Lanes *to)
{
    (void)count;
    to[0] = load(from);
}

#endif

INLINE Lanes absolute(Lanes a) { return (Lanes)((Mask)a & mask_of(INT64_MAX)); }
INLINE int all_hold(Mask mask)
{
#ifdef GAUSSNET_AVX2
    return __builtin_ia32_movmskpd256((Lanes)mask) == 15;
#else
    int64_t every = -1;
    for (int k = 0; k < LANES; k++)
        every &= mask[k];
    return every != 0;
#endif
}
INLINE Mask choose(Mask mask, Mask yes, Mask no) { return (Mask)blend(mask, (Lanes)yes, (Lanes)no); }

#else /* one lane */

#define LANES 1
#define UNROLL
#define UNROLL_FOUR
typedef double Lanes;
typedef int64_t Mask;
typedef uint64_t Words;
#define LANE(lanes, k) (lanes)
INLINE Lanes broadcast(double value) { return value; }
INLINE Lanes load(const double *from) { return *from; }
INLINE void store(double *to, Lanes lanes) { *to = lanes; }
INLINE Lanes load_floats(const float *from) { return *from; }
INLINE Lanes load_strided(const double *from, ptrdiff_t step) { (void)step; return *from; }
INLINE Mask is_greater(Lanes a, Lanes b) { return a > b ? -1 : 0; }
INLINE Mask is_at_least(Lanes a, Lanes b) { return a >= b ? -1 : 0; }
INLINE Mask is_equal(Mask a, Mask b) { return a == b ? -1 : 0; }
INLINE Lanes power_of_two(Lanes shifted)
{
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&shifted, &bits, sizeof shifted);
    return shifted;
}
INLINE Mask mask_of(int64_t value) { return value; }
INLINE Lanes absolute(Lanes a) { return fabs(a); }
INLINE Lanes blend(Mask mask, Lanes yes, Lanes no) { return mask ? yes : no; }
INLINE Mask choose(Mask mask, Mask yes, Mask no) { return mask ? yes : no; }
INLINE int all_hold(Mask mask) { return mask != 0; }
INLINE Lanes larger(Lanes a, Lanes b) { return a > b ? a : b; }
INLINE Lanes load_part(const double *from, ptrdiff_t count) { return count ? *from : 0.0; }
INLINE Lanes keep_first(Lanes lanes, ptrdiff_t count) { return count ? lanes : 0.0; }
INLINE double sum_lanes(Lanes lanes) { return lanes; }
INLINE Lanes sum_each(const Lanes *parts) { return parts[0]; }
INLINE void transpose(Lanes *block) { (void)block; }
INLINE void deal_few(const double *from, ptrdiff_t count, Lanes *to)
{
    (void)count;
    to[0] = *from;
}

#endif

/* The same lanes: a product that is rounded before it is added to. No compiler may merge the two
 * steps into one with a single rounding, so that the bits are those of the NumPy version. */
INLINE Lanes rounded(Lanes product)
{
#if defined(__GNUC__) && defined(__x86_64__)
    __asm__("" : "+x"(product));
#elif defined(__GNUC__) && defined(__aarch64__)
    __asm__("" : "+w"(product));
#elif defined(__GNUC__)
    __asm__("" : "+m"(product));
#endif
    return product;
}

/* Have a line of the cache fetched that will be read soon; it need not be there. A function that does
 * nothing else must be INLINE too: GCC takes it for one without effect and drops its calls. */
INLINE void fetch_ahead(const char *from)
{
#ifdef __GNUC__
    __builtin_prefetch(from);
#else
    (void)from;
#endif
}

/* A loop over 0..7 that is unrolled before the compiler decides what to keep in registers. */
#define EIGHT_TIMES(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define EIGHT_TIMES_BACK(DO) DO(7) DO(6) DO(5) DO(4) DO(3) DO(2) DO(1) DO(0)

/* The first LANES of `count` values, filled up with zeros if there are fewer. */
INLINE Lanes load_some(const double *from, ptrdiff_t count)
{
    return count >= LANES ? load(from) : load_part(from, count);
}

/* LANES runs of `count` values, one after the other, dealt to the lanes: to[r] holds value r of
 * every run. Longer runs are transposed in squares, the last of which may overlap with the
 * one before. */
INLINE void deal(const double *from, const ptrdiff_t count, Lanes *to)
{
    if (count < LANES)
        deal_few(from, count, to);
    else
        UNROLL for (ptrdiff_t r = 0; r < count; r += LANES) {
            const ptrdiff_t at = smaller(r, count - LANES);
            Lanes block[LANES];
            UNROLL for (int k = 0; k < LANES; k++)
                block[k] = load(from + k * count + at);
            transpose(block);
            UNROLL for (int k = 0; k < LANES; k++)
                to[at + k] = block[k];
        }
}

/* Values `step` apart, the last of `count` again in the lanes after it. */
INLINE Lanes load_strided_part(const double *from, ptrdiff_t step, ptrdiff_t count)
{
    double values[LANES];
    for (ptrdiff_t k = 0; k < LANES; k++)
        values[k] = from[smaller(k, count - 1) * step];
    return load(values);
}

INLINE void store_part(double *to, Lanes lanes, ptrdiff_t count)
{
    double values[LANES];
    store(values, lanes);
    for (ptrdiff_t k = 0; k < count; k++)
        to[k] = values[k];
}

INLINE ptrdiff_t count_mask(Mask counts)
{
    ptrdiff_t sum = 0;
    for (int k = 0; k < LANES; k++)
        sum -= (ptrdiff_t)LANE(counts, k);
    return sum;
}

/* The numbers 0, 1, ... of the lanes. */
INLINE Lanes count_lanes(void)
{
    static const double numbers[4] = {0.0, 1.0, 2.0, 3.0};
    return load(numbers);
}

/* holds_everywhere: whether the mask holds in all lanes.
 * store_kept: write the lanes that the mask keeps next to each other; up to LANES values are touched.
 * Gives how many were kept.
 * store_marked: the same by LANES marks, 0 or 1 each, that load_marks brings together as bits. */
#ifdef GAUSSNET_AVX2
typedef int32_t HalfLanes __attribute__((vector_size(32)));
static const HalfLanes kept_first[16] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 4, 5, 6, 7},
    {0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 0, 1, 2, 3, 6, 7}, {0, 1, 4, 5, 2, 3, 6, 7},
    {2, 3, 4, 5, 0, 1, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {6, 7, 0, 1, 2, 3, 4, 5},
    {0, 1, 6, 7, 2, 3, 4, 5}, {2, 3, 6, 7, 0, 1, 4, 5}, {0, 1, 2, 3, 6, 7, 4, 5},
    {4, 5, 6, 7, 0, 1, 2, 3}, {0, 1, 4, 5, 6, 7, 2, 3}, {2, 3, 4, 5, 6, 7, 0, 1},
    {0, 1, 2, 3, 4, 5, 6, 7},
};
INLINE int holds_everywhere(Mask mask) { return __builtin_ia32_movmskpd256((Lanes)mask) == 15; }
INLINE ptrdiff_t store_marked(double *to, Lanes lanes, unsigned kept)
{
    store(to, (Lanes)__builtin_ia32_permvarsi256((HalfLanes)lanes, kept_first[kept]));
    return __builtin_popcount(kept);
}
INLINE ptrdiff_t store_kept(double *to, Lanes lanes, Mask mask)
{
    return store_marked(to, lanes, (unsigned)__builtin_ia32_movmskpd256((Lanes)mask));
}
INLINE unsigned load_marks(const unsigned char *marks)
{
    uint32_t four;
    memcpy(&four, marks, sizeof four);
    return (four * 0x01020408u) >> 24 & 15;
}
#else
INLINE int holds_everywhere(Mask mask) { return count_mask(mask) == LANES; }
INLINE ptrdiff_t store_kept(double *to, Lanes lanes, Mask mask)
{
    ptrdiff_t kept = 0;
    for (int k = 0; k < LANES; k++) {
        to[kept] = LANE(lanes, k);
        kept -= (ptrdiff_t)LANE(mask, k);
    }
    return kept;
}
INLINE ptrdiff_t store_marked(double *to, Lanes lanes, unsigned marks)
{
    ptrdiff_t kept = 0;
    for (int k = 0; k < LANES; k++) {
        to[kept] = LANE(lanes, k);
        kept += marks >> k & 1;
    }
    return kept;
}
INLINE unsigned load_marks(const unsigned char *marks)
{
    unsigned bits = 0;
    for (int k = 0; k < LANES; k++)
        bits |= (unsigned)marks[k] << k;
    return bits;
}
#endif

#endif
