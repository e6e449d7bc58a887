// What kernels that read a triangular factor begin with.
#pragma once
#define LOCKSTEP
#include "matrix.cuh"

// Room for L, the matrix X that is changed, and a column
#define BEGIN(factors, matrices)                                \
    BEGIN_ITEM(count)                                           \
    SCALAR *L = shared_of_tile<SCALAR>(WIDTH * LD);             \
    SCALAR *X = matrices + entries_before(own, n);              \
    Column x;

// X becomes NaN
#define REFUSE                           \
    {                                    \
        fill(x, not_a_number<SCALAR>()); \
        store(X, n, x);                  \
    }

// L and info. If L is singular, X becomes NaN: at the end, for tiles go in lockstep, but one that is a warp leaves, and
// then products read L anew after a sync, as they should
#define LOAD_FACTOR                                                                      \
    const int singular = load_triangle(factors + entries_before(own, n), n, lower, L);   \
    if (lane() == 0) info[own] = singular;                                               \
    if (WIDTH == 32 && singular) {                                                       \
        REFUSE                                                                           \
        return;                                                                          \
    }
#define REFUSE_SINGULAR \
    if (singular) REFUSE

// Two passes over one text: a product with L is a thousand instructions of order 32, which take time to compile
// and room in the cache of instructions
#define TWICE                                       \
    _Pragma("unroll 1") for (int pass = 0; pass < 2; ++pass)
