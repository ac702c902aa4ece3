/* Scratch that outlives a call: memory fresh from the system costs a page fault every 4 KiB, which
 * for a tile is more than what is done with it. At most two blocks are kept for later calls. */
#ifndef GAUSSNET_SCRATCH_H
#define GAUSSNET_SCRATCH_H

#include "kernels.h"

#define CACHE_LINE 64
#define MOST_SPARE_BYTES ((size_t)16 << 20)
#define SPARE_BLOCKS 2

#ifdef __GNUC__
static char *spare_blocks[SPARE_BLOCKS];
#endif

/* What a block begins with. */
typedef struct {
    size_t bytes;
} BlockHead;

static char *swap_spare(int place, char *block)
{
#ifdef __GNUC__
    return __atomic_exchange_n(&spare_blocks[place], block, __ATOMIC_ACQ_REL);
#else
    (void)place;
    return block;
#endif
}

static void give_scratch(char *block)
{
    if (!block || ((BlockHead *)block)->bytes > MOST_SPARE_BYTES) {
        free(block);
        return;
    }
    for (int place = 0; block && place < SPARE_BLOCKS; place++)
        block = swap_spare(place, block);
    free(block);
}

/* A block of at least so many bytes, to be given back; values begin a cache line after it. */
static char *take_scratch(size_t bytes)
{
    for (int place = 0; place < SPARE_BLOCKS; place++) {
        char *block = swap_spare(place, NULL);
        if (block && ((BlockHead *)block)->bytes >= bytes)
            return block;
        if (block)
            free(swap_spare(place, block));
    }
    char *block = malloc(bytes + 2 * CACHE_LINE);
    if (block)
        ((BlockHead *)block)->bytes = bytes;
    return block;
}

#endif
