// A block of threads that works on one matrix, blockIdx.x the number of the matrix. Its warps are tiles of
// WIDTH = 32 lanes: `tile()` is a warp's number.
//
// A matrix lies in shared memory, or, where it is too large for that, in global memory: PLACED is a constant,
// so that the compiler knows which. What threads write there others see after `__syncthreads`, too.
#pragma once
#include "tile.cuh"

static_assert(WIDTH == 32, "a tile is a warp");

DEVICE int warps() { return blockDim.x / WIDTH; }

// x_ij of a matrix (m, n) for all of its entries, shared among the threads: neighbours have neighbouring j
#define FOR_ENTRIES(m, n)                          \
    for (int i = tile(); i < (m); i += warps())   \
        for (int j = lane(); j < (n); j += WIDTH)

// The largest x >= 0 of all threads, for each of them; `scratch` has 32 places. A barrier for everything else, too
template <class T> DEVICE T largest_of_block(T x, T *scratch) {
    x = largest(x);
    __syncthreads();
    if (lane() == 0) scratch[tile()] = x;
    __syncthreads();
    return largest(lane() < warps() ? scratch[lane()] : T(0));
}
