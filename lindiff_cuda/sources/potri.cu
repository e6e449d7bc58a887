// The inverse from a Cholesky factor, B = (L Lᴴ)⁻¹ or (Rᴴ R)⁻¹, for matrices of order n <= WIDTH; one tile
// each, in place. Expressions: Seeger et al. (2017), section 4.2 and appendix, "potri".
#include "factor.cuh"

// X := B = (L Lᴴ)⁻¹ for the triangle L of X
extern "C" __global__ void potri(SCALAR *factors, int *info, int count, int n, int lower) {
    BEGIN(factors, factors)
    LOAD_FACTOR
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) x[i] = i == lane() && i < n;
    solve(L, x);
    solve_adjoint(L, x);
    mirror_beside(L, n, x);
    store(X, n, x);
    REFUSE_SINGULAR
}

// x := column of X + Xᴴ = 2 sym(X)
DEVICE void symmetrize_twice(SCALAR *scratch, int n, Column &x) {
    spread(scratch, n, x);
    sync();
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
        if (i < n)   // both from memory: a product fused with the sum would break the symmetry
            x[i] = i == lane() ? SCALAR(2 * real(x[i])) : scratch[i * LD + lane()] + conj(scratch[lane() * LD + i]);
    sync();
}

// X := L_bar = -2 tril(B sym(B_bar) L⁻ᴴ), B = L⁻ᴴ L⁻¹, for B_bar in X
extern "C" __global__ void potri_pullback(const SCALAR *factors, SCALAR *matrices, int *info, int count,
                                          int n, int lower) {
    BEGIN(factors, matrices)
    load(X, n, x);
    symmetrize_twice(L, n, x);
    LOAD_FACTOR
    TWICE {   // the second one gives the adjoint of -L_bar, an upper triangle
        solve(L, x);
        if (pass == 0) solve_adjoint(L, x);
        adjoint_beside(L, n, x);
    }
    scale(x, REAL(-1));
    store_lower(X, n, lower, L, x);
    REFUSE_SINGULAR
}

// X := B_dot = -2 sym(B L_dot L⁻¹), B = L⁻ᴴ L⁻¹, for the triangle L_dot of X
extern "C" __global__ void potri_pushforward(const SCALAR *factors, SCALAR *matrices, int *info, int count,
                                             int n, int lower) {
    BEGIN(factors, matrices)
    load_lower(X, n, lower, L, x);
    LOAD_FACTOR
    TWICE {
        if (pass == 0) solve(L, x);
        solve_adjoint(L, x);
        if (pass == 0) adjoint_beside(L, n, x);
    }
    sync();
    symmetrize_twice(L, n, x);
    scale(x, REAL(-1));
    store(X, n, x);
    REFUSE_SINGULAR
}
