// A tile: WIDTH lanes of one warp (a power of two, at most 32) that work on one item together.
// A block has blockDim.x / WIDTH tiles; a tile past the last item must leave the kernel as a whole.
#pragma once
#include "scalar.cuh"

DEVICE int lane() { return threadIdx.x & (WIDTH - 1); }

// This tile's number in its block, and the item it works on
DEVICE int tile() { return threadIdx.x / WIDTH; }
DEVICE int item() { return blockIdx.x * (blockDim.x / WIDTH) + tile(); }

// The lanes that wait for each other: those of this tile; with LOCKSTEP those of the warp, whose mask is a constant
// and takes no instructions. For that all tiles of a warp must take the same way from barrier to barrier, and blocks
// be whole warps.
DEVICE unsigned tile_mask() {
#ifdef LOCKSTEP
    return 0xffffffffu;
#else
    return (0xffffffffu >> (32 - WIDTH)) << (threadIdx.x & 31 & ~(WIDTH - 1));
#endif
}

#ifdef LOCKSTEP
// `own` is this tile's item. Tiles past the last one do its work once more, and write what it writes; warps of such
// tiles alone leave
#define BEGIN_ITEM(count)                                                                \
    if (item() - tile() % (32 / WIDTH) >= count) return;                                 \
    const int own = item() < count ? item() : count - 1;
#endif

// All lanes arrive, and see what the others have written to memory before
DEVICE void sync() { __syncwarp(tile_mask()); }

// x of lane `from`
template <class T> DEVICE T broadcast(T x, int from) { return __shfl_sync(tile_mask(), x, from, WIDTH); }
template <class R> DEVICE Complex<R> broadcast(Complex<R> x, int from) {
    return {broadcast(x.re, from), broadcast(x.im, from)};
}

// x of the lane whose number differs in the bits of `other`
template <class T> DEVICE T exchange(T x, int other) { return __shfl_xor_sync(tile_mask(), x, other, WIDTH); }
template <class R> DEVICE Complex<R> exchange(Complex<R> x, int other) {
    return {exchange(x.re, other), exchange(x.im, other)};
}

// Σ x over the lanes, for every lane
template <class T> DEVICE T sum(T x) {
#pragma unroll
    for (int other = WIDTH / 2; other > 0; other /= 2) x += exchange(x, other);
    return x;
}

// The largest x, for every lane; NaN of one lane may be lost
template <class T> DEVICE T largest(T x) {
#pragma unroll
    for (int other = WIDTH / 2; other > 0; other /= 2) {
        T y = exchange(x, other);
        x = y > x ? y : x;
    }
    return x;
}

// The dynamic shared memory of the block
template <class T> DEVICE T *shared_memory() {
    extern __shared__ __align__(16) unsigned char dynamic_memory[];
    return reinterpret_cast<T *>(dynamic_memory);
}

// This tile's part of it: `size` entries for every tile of the block
template <class T> DEVICE T *shared_of_tile(int size) { return shared_memory<T>() + tile() * size; }
