// What kernels that read a triangular factor begin with.
#pragma once
#include "matrix.cuh"

// Room for L, the matrix X that is changed, and a column
#define BEGIN(factors, matrices)                                \
    if (item() >= count) return;                                \
    SCALAR *L = shared_of_tile<SCALAR>(WIDTH * LD);             \
    SCALAR *X = matrices + entries_before(n);                   \
    Column x;

// L and info; X becomes NaN if L is singular
#define LOAD_FACTOR                                                                 \
    const int singular = load_triangle(factors + entries_before(n), n, lower, L);   \
    if (lane() == 0) info[item()] = singular;                                       \
    if (singular) {                                                                 \
        fill(x, not_a_number<SCALAR>());                                            \
        store(X, n, x);                                                             \
        return;                                                                     \
    }

// Two passes over one text: a product with L is a thousand instructions of order 32, which take time to compile
// and room in the cache of instructions
#define TWICE                                       \
    _Pragma("unroll 1") for (int pass = 0; pass < 2; ++pass)
