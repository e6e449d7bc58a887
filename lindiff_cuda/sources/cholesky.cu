// Cholesky A = L Lᴴ, or A = Rᴴ R, for matrices of order n <= WIDTH; one tile each, in place. The upper form
// is the lower one of L = Rᴴ, turned where it is loaded and stored. Expressions: Seeger et al. (2017),
// section 4.2 and appendix; Murray (2016).
#include "factor.cuh"

// A := its factor, the other triangle zero. info: 1 + the index of the first pivot that is not positive, or
// 0; that pivot is kept, and such a matrix becomes NaN.
extern "C" __global__ void potrf(SCALAR *matrices, int *info, REAL *pivots, int count, int n, int lower) {
    BEGIN_ITEM(count)
    SCALAR *R = shared_of_tile<SCALAR>(WIDTH * LD);
    SCALAR *A = matrices + entries_before(own, n);
    const int c = lane();
    int failed = 0;
    REAL pivot = 0;
    Column x;
    load(A, n, x);
    if (lower) adjoint(R, n, x);   // column c of A's upper triangle
    // row k of R is that of A over the root of the pivot; what it contributes leaves the rows below
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) {
        REAL d = broadcast(real(x[k]), k);
        if (!(d > 0) && !failed && k < n) {   // NaN fails as well
            failed = k + 1;
            pivot = d;
        }
        REAL inverse_root = rsqrt(d);
        x[k] = c == k ? SCALAR(root_of(d, inverse_root)) : x[k] * inverse_root;
        R[k * LD + c] = x[k];
        sync();
#pragma unroll
        for (int i = k + 1; i < WIDTH; ++i) x[i] -= conj(R[k * LD + i]) * x[k];
    }
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
        if (i > c) x[i] = 0;
    if (failed) fill(x, not_a_number<SCALAR>());
    sync();
    if (lower) adjoint(R, n, x);
    store(A, n, x);
    if (c == 0) {
        info[own] = failed;
        pivots[own] = pivot;
    }
}

// X := A_bar = ½ L⁻ᴴ copyltu(Lᴴ L_bar) L⁻¹ for the triangle L_bar of X
extern "C" __global__ void potrf_pullback(const SCALAR *factors, SCALAR *matrices, int *info, int count,
                                          int n, int lower) {
    BEGIN(factors, matrices)
    load_lower(X, n, lower, L, x);
    LOAD_FACTOR
    multiply_adjoint(L, x);
    mirror_beside(L, n, x);
    TWICE {
        solve_adjoint(L, x);
        if (pass == 0) adjoint_beside(L, n, x);
    }
    scale(x, REAL(0.5));
    mirror_beside(L, n, x);
    store(X, n, x);
    REFUSE_SINGULAR
}

// X := L_dot = L Φ(L⁻¹ A_dot L⁻ᴴ), Φ = tril with half the diagonal, for the triangle of A_dot in X
extern "C" __global__ void potrf_pushforward(const SCALAR *factors, SCALAR *matrices, int *info, int count,
                                             int n, int lower) {
    BEGIN(factors, matrices)
    load_lower(X, n, lower, L, x);
    LOAD_FACTOR
    mirror_beside(L, n, x);
    TWICE {
        solve(L, x);
        if (pass == 0) adjoint_beside(L, n, x);
    }
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
        if (i < lane()) x[i] = 0;
        if (i == lane()) x[i] = real(x[i]) * REAL(0.5);
    }
    multiply(L, x);
    sync();
    store_lower(X, n, lower, L, x);
    REFUSE_SINGULAR
}
