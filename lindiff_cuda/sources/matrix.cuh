// Square matrices of order n <= WIDTH, one per tile: every lane keeps a column in registers, `x[i]` the entry
// of row i; the matrix that it is multiplied with lies in shared memory, in rows of LD entries.
//
// Columns are what a row-major array gives without detour: the lanes of a tile read one row after the other.
// Loops run to WIDTH without a branch, so that they unroll and x stays in registers; what is behind n is zero
// and stays so. `L` is a lower triangle, of which an entry 1 / l_kk stands behind row k; its strict upper
// triangle is free, and is where columns are exchanged.
#pragma once
#include "tile.cuh"

#define LD (WIDTH + 1)

typedef SCALAR Column[WIDTH];

DEVICE long long entries_before(int item, int n) { return (long long) item * n * n; }

// x := column `lane` of A
DEVICE void load(const SCALAR *A, int n, Column &x) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) x[i] = i < n && lane() < n ? A[i * n + lane()] : SCALAR(0);
}

DEVICE void store(SCALAR *A, int n, const Column &x) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
        if (i < n && lane() < n) A[i * n + lane()] = x[i];
}

// X := the columns, and x := column `lane` of Xᴴ after a sync
DEVICE void spread(SCALAR *X, int n, const Column &x) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
        if (i < n) X[i * LD + lane()] = x[i];
}

DEVICE void gather_adjoint(const SCALAR *X, int n, Column &x) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
        if (i < n) x[i] = conj(X[lane() * LD + i]);
}

// x := column `lane` of Xᴴ for the matrix X of the columns x, through a scratch matrix
DEVICE void adjoint(SCALAR *scratch, int n, Column &x) {
    spread(scratch, n, x);
    sync();
    gather_adjoint(scratch, n, x);
    sync();
}

// The strict upper triangle behind L := the transpose of what the columns have below the diagonal
DEVICE void spread_beside(SCALAR *L, int n, const Column &x) {
    const int c = lane();
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
        if (c < i && i < n) L[c * LD + i] = x[i];
    sync();
}

// `adjoint` through the strict upper triangle behind L
DEVICE void adjoint_beside(SCALAR *L, int n, Column &x) {
    const int c = lane();
    spread_beside(L, n, x);
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
        if (i < c && c < n) {   // nobody else reads this entry
            SCALAR other = L[i * LD + c];
            L[i * LD + c] = x[i];
            x[i] = conj(other);
        }
        if (i == c) x[i] = conj(x[i]);
    }
    sync();
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
        if (c < i && i < n) x[i] = conj(L[c * LD + i]);
    sync();
}

// x := that of the Hermitian matrix with the lower triangle of X, through the strict upper one behind L
DEVICE void mirror_beside(SCALAR *L, int n, Column &x) {
    const int c = lane();
    spread_beside(L, n, x);
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
        if (i < c && c < n) x[i] = conj(L[i * LD + c]);
        if (i == c) x[i] = real(x[i]);
    }
    sync();
}

// L := the lower triangle, or the adjoint of the upper one, of A, and the reciprocals of its diagonal.
// Returns 1 + the index of the first zero on the diagonal, or 0.
DEVICE int load_triangle(const SCALAR *A, int n, bool lower, SCALAR *L) {
    const int c = lane();
    int zero = WIDTH + 1;
    for (int i = n; i < WIDTH; ++i) {
        L[i * LD + c] = 0;
        L[i * LD + WIDTH] = 0;
    }
    for (int i = 0; i < n; ++i) {
        if (c >= n || (lower ? i < c : c < i)) continue;
        SCALAR a = A[i * n + c];
        if (i == c) {
            L[i * LD + WIDTH] = reciprocal(lower ? a : conj(a));
            if (is_zero(a)) zero = i + 1;
        }
        if (lower)
            L[i * LD + c] = a;
        else
            L[c * LD + i] = conj(a);
    }
    sync();
    zero = -largest(-zero);
    return zero > WIDTH ? 0 : zero;
}

// x := column `lane` of the lower triangle of A, or of the adjoint of its upper one; zero above
DEVICE void load_lower(const SCALAR *A, int n, bool lower, SCALAR *scratch, Column &x) {
    load(A, n, x);
    if (!lower) adjoint(scratch, n, x);
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
        if (i < lane()) x[i] = 0;
}

// A := the lower triangle of the columns, or its adjoint; zero in the other triangle
DEVICE void store_lower(SCALAR *A, int n, bool lower, SCALAR *scratch, Column &x) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
        if (i < lane()) x[i] = 0;
    if (!lower) adjoint(scratch, n, x);
    store(A, n, x);
}

DEVICE void fill(Column &x, SCALAR value) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) x[i] = value;
}

DEVICE void scale(Column &x, REAL factor) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) x[i] *= factor;
}

// The products below read L anew, after a sync: entries that a compiler would keep for the next product are
// more than there are registers.

// x := L⁻¹ x
DEVICE void solve(const SCALAR *L, Column &x) {
    sync();
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) {
        x[k] *= L[k * LD + WIDTH];
#pragma unroll
        for (int j = k + 1; j < WIDTH; ++j) x[j] -= L[j * LD + k] * x[k];
    }
}

// x := L⁻ᴴ x
DEVICE void solve_adjoint(const SCALAR *L, Column &x) {
    sync();
#pragma unroll
    for (int k = WIDTH - 1; k >= 0; --k) {
        x[k] *= conj(L[k * LD + WIDTH]);
#pragma unroll
        for (int j = 0; j < k; ++j) x[j] -= conj(L[k * LD + j]) * x[k];
    }
}

// x := L x
DEVICE void multiply(const SCALAR *L, Column &x) {
    sync();
#pragma unroll
    for (int k = WIDTH - 1; k >= 0; --k) {
#pragma unroll
        for (int j = k + 1; j < WIDTH; ++j) x[j] += L[j * LD + k] * x[k];
        x[k] *= L[k * LD + k];
    }
}

// x := Lᴴ x
DEVICE void multiply_adjoint(const SCALAR *L, Column &x) {
    sync();
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) {
#pragma unroll
        for (int j = 0; j < k; ++j) x[j] += conj(L[k * LD + j]) * x[k];
        x[k] *= conj(L[k * LD + k]);
    }
}
