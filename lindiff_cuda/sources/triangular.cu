// Products and solves with triangles of order n <= WIDTH, B := alpha t(L) B and the like, for B of k vectors;
// one tile for each L, in place. Formulas: Seeger et al. (2017), section 4.2 and appendix, "trmm" and "trsm".
//
// All cases are one: a lower triangle T stands to the left of vectors, one per lane. They are B's columns, or
// its rows where L stands on the right. T is L, transposed or not, conjugated or not; an upper triangle is
// turned by 180 degrees, and so are then the vectors.
#define LOCKSTEP
#include "matrix.cuh"

// How T and the vectors lie in memory
struct Layout {
    int own, n, k, rightside, transposed, conjugate, turned;

    __device__ __forceinline__ int index(int i) const { return turned ? n - 1 - i : i; }
};

// L := T; 1 + the index of the first zero on the diagonal, or 0
DEVICE int load_t(const SCALAR *A, const Layout &layout, SCALAR *L) {
    const int c = lane(), n = layout.n;
    int zero = WIDTH + 1;
    for (int i = n; i < WIDTH; ++i) {
        L[i * LD + c] = 0;
        L[i * LD + WIDTH] = 0;
    }
    for (int i = 0; i < n; ++i) {
        int row = layout.index(layout.transposed ? c : i), column = layout.index(layout.transposed ? i : c);
        if (c >= n || row < column) continue;
        SCALAR a = conj_if(layout.conjugate, A[i * n + c]);
        L[row * LD + column] = a;
        if (i == c) {
            L[row * LD + WIDTH] = reciprocal(a);
            if (is_zero(a) && i < zero) zero = i + 1;
        }
    }
    sync();
    zero = -largest(-zero);
    return zero > WIDTH ? 0 : zero;
}

// X := the vectors of B from `first` on, one in every column, zero behind the last
DEVICE void load_block(const SCALAR *B, const Layout &layout, int first, SCALAR *X) {
    const int c = lane(), n = layout.n, k = layout.k;
#pragma unroll 8
    for (int r = 0; r < WIDTH; ++r) {
        const int i = layout.rightside ? c : r, v = layout.rightside ? r : c;   // entry i of vector v
        const long long place = layout.rightside ? (first + v) * (long long) n + i : i * (long long) k + first + v;
        X[(i < n ? layout.index(i) : i) * LD + v] = i < n && first + v < k ? B[place] : SCALAR(0);
    }
    sync();
}

DEVICE void store_block(SCALAR *B, const Layout &layout, int first, const SCALAR *X) {
    const int c = lane(), n = layout.n, k = layout.k;
    sync();
#pragma unroll 8
    for (int r = 0; r < WIDTH; ++r) {
        const int i = layout.rightside ? c : r, v = layout.rightside ? r : c;
        const long long place = layout.rightside ? (first + v) * (long long) n + i : i * (long long) k + first + v;
        if (i < n && first + v < k) B[place] = X[layout.index(i) * LD + v];
    }
    sync();
}

// x := column `lane` of X
DEVICE void load_column(const SCALAR *X, Column &x) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) x[i] = X[i * LD + lane()];
}

// x := vector first + lane of B; rows go through `stage`
DEVICE void load_vectors(const SCALAR *B, const Layout &layout, int first, SCALAR *stage, Column &x) {
    const int v = first + lane(), n = layout.n, k = layout.k;
    if (layout.rightside) {
        load_block(B, layout, first, stage);
        load_column(stage, x);
    } else {
#pragma unroll
        for (int i = 0; i < WIDTH; ++i)
            x[i] = i < n && v < k ? B[layout.index(i) * k + v] : SCALAR(0);
    }
}

DEVICE void store_vectors(SCALAR *B, const Layout &layout, int first, SCALAR *stage, const Column &x) {
    const int v = first + lane(), n = layout.n, k = layout.k;
    if (layout.rightside) {
        spread(stage, n, x);
        store_block(B, layout, first, stage);
    } else {
#pragma unroll
        for (int i = 0; i < WIDTH; ++i)
            if (i < n && v < k) B[layout.index(i) * k + v] = x[i];
    }
}

// A becomes NaN
DEVICE void refuse(SCALAR *A, int entries) {
    for (int e = lane(); e < entries; e += WIDTH) A[e] = not_a_number<SCALAR>();
}

// B := alpha T⁻¹ B, or alpha T B; `triangles` lie `stride` entries apart, 0 for one that serves all.
// info: 1 + the index of the first zero on the diagonal, where T is inverted
template <bool SOLVE>
DEVICE void apply(const SCALAR *triangles, SCALAR *matrices, int *info, REAL alpha, long long stride,
                  const Layout &layout) {
    const int size = WIDTH * LD;
    SCALAR *L = shared_of_tile<SCALAR>(layout.rightside ? 2 * size : size), *stage = L + size;
    SCALAR *B = matrices + (long long) layout.own * layout.n * layout.k;
    Column x;
    const int zero = load_t(triangles + layout.own * stride, layout, L);
    if (SOLVE && lane() == 0) info[layout.own] = zero;
    for (int first = 0; first < layout.k; first += WIDTH) {
        load_vectors(B, layout, first, stage, x);
        if (SOLVE)
            solve(L, x);
        else
            multiply(L, x);
        scale(x, alpha);
        store_vectors(B, layout, first, stage, x);
    }
    sync();
    if (SOLVE && zero) refuse(B, layout.n * layout.k);
}

extern "C" __global__ void trsm(const SCALAR *triangles, SCALAR *matrices, int *info, REAL alpha,
                                long long stride, int count, int n, int k, int rightside, int transposed,
                                int conjugate, int turned) {
    BEGIN_ITEM(count)
    apply<true>(triangles, matrices, info, alpha, stride, {own, n, k, rightside, transposed, conjugate, turned});
}

extern "C" __global__ void trmm(const SCALAR *triangles, SCALAR *matrices, REAL alpha, long long stride,
                                int count, int n, int k, int rightside, int transposed, int conjugate,
                                int turned) {
    BEGIN_ITEM(count)
    apply<false>(triangles, matrices, nullptr, alpha, stride,
                 {own, n, k, rightside, transposed, conjugate, turned});
}

// L_bar := the triangle of t, column `lane` of the cotangent of T; the other triangle is zero
DEVICE void store_triangle(SCALAR *A, const Layout &layout, SCALAR *stage, const Column &t) {
    const int c = lane(), n = layout.n;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
        if (i >= n || c >= n) continue;
        int row = layout.index(layout.transposed ? c : i), column = layout.index(layout.transposed ? i : c);
        stage[row * LD + column] = i < c ? SCALAR(0) : conj_if(layout.conjugate, t[i]);
    }
    sync();
    for (int i = 0; i < n; ++i)
        if (c < n) A[i * n + c] = stage[i * LD + c];
}

// For X = alpha T⁻¹ A: Y = T⁻ᴴ X_bar, A_bar = alpha Y, T_bar = -tril(Y Xᴴ); for B = alpha T A:
// A_bar = alpha Tᴴ B_bar, T_bar = alpha tril(B_bar Aᴴ). A_bar overwrites the cotangent `bars`; `others` are X
// or A. No division by alpha, which may be 0.
template <bool SOLVE>
DEVICE void pull_back(const SCALAR *triangles, const SCALAR *others, SCALAR *bars, SCALAR *triangle_bars,
                      int *info, REAL alpha, long long stride, const Layout &layout) {
    const int size = WIDTH * LD, n = layout.n, k = layout.k;
    SCALAR *L = shared_of_tile<SCALAR>(3 * size), *Y = L + size, *X = Y + size;
    const long long offset = (long long) layout.own * n * k;
    SCALAR *L_bar = triangle_bars + entries_before(layout.own, n);
    Column x, t;
    const int zero = load_t(triangles + layout.own * stride, layout, L);
    if (SOLVE && lane() == 0) info[layout.own] = zero;
    fill(t, 0);
    for (int first = 0; first < k; first += WIDTH) {
        load_block(bars + offset, layout, first, X);
        load_column(X, x);
        if (SOLVE) solve_adjoint(L, x);
        spread(Y, WIDTH, x);
        if (!SOLVE) multiply_adjoint(L, x);
        scale(x, alpha);
        spread(X, WIDTH, x);
        store_block(bars + offset, layout, first, X);
        load_block(others + offset, layout, first, X);
#pragma unroll 1
        for (int v = 0; v < WIDTH; ++v) {
            SCALAR other = conj(X[lane() * LD + v]);
#pragma unroll
            for (int i = 0; i < WIDTH; ++i) t[i] += Y[i * LD + v] * other;
        }
        sync();
    }
    scale(t, SOLVE ? REAL(-1) : alpha);
    store_triangle(L_bar, layout, Y, t);
    sync();
    if (SOLVE && zero) {
        refuse(bars + offset, n * k);
        refuse(L_bar, n * n);
    }
}

extern "C" __global__ void trsm_pullback(const SCALAR *triangles, const SCALAR *others, SCALAR *bars,
                                         SCALAR *triangle_bars, int *info, REAL alpha, long long stride,
                                         int count, int n, int k, int rightside, int transposed,
                                         int conjugate, int turned) {
    BEGIN_ITEM(count)
    pull_back<true>(triangles, others, bars, triangle_bars, info, alpha, stride,
                    {own, n, k, rightside, transposed, conjugate, turned});
}

extern "C" __global__ void trmm_pullback(const SCALAR *triangles, const SCALAR *others, SCALAR *bars,
                                         SCALAR *triangle_bars, REAL alpha, long long stride, int count,
                                         int n, int k, int rightside, int transposed, int conjugate,
                                         int turned) {
    BEGIN_ITEM(count)
    pull_back<false>(triangles, others, bars, triangle_bars, nullptr, alpha, stride,
                     {own, n, k, rightside, transposed, conjugate, turned});
}
