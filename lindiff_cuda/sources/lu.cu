// LU with exchanges of columns, A = L U P, and what is solved with it, for matrices of order n <= WIDTH; one
// tile each, in place. U has a diagonal of ones; column i was exchanged with column piv[i].
#define LOCKSTEP
#include "matrix.cuh"

// The smallest x, for every lane
DEVICE int smallest(int x) { return -largest(-x); }

// A := L and U, by elimination: the largest entry of a row comes to the diagonal, the rows below follow.
// Columns stay in their lanes and only change their `place`. info: 1 + the index of the first zero on the
// diagonal, or 0
extern "C" __global__ void getrf(SCALAR *matrices, int *pivots, int *info, int count, int n) {
    BEGIN_ITEM(count)
    SCALAR *A = matrices + entries_before(own, n);
    int *piv = pivots + (long long) own * n;
    int place = lane() < n ? lane() : WIDTH, singular = 0;
    Column x;
    load(A, n, x);
#pragma unroll
    for (int k = 0; k < WIDTH; ++k) {
        if (k >= n) break;
        REAL size = place < k || place >= n ? REAL(-1) : size_of(x[k]);
        if (!(size >= 0)) size = place == k ? REAL(1) / 0 : REAL(-1);   // NaN stays where it is
        const REAL most = largest(size);
        const int p = smallest(size == most ? place : WIDTH);   // of equal ones the first
        if (lane() == 0) piv[k] = p;
        place = place == p ? k : place == k ? p : place;
        const int owner = smallest(place == k ? lane() : WIDTH);
        const SCALAR pivot = broadcast(x[k], owner);
        const bool zero = is_zero(pivot);
        if (zero && !singular) singular = k + 1;
        if (place > k && !zero) x[k] *= reciprocal(pivot);
#pragma unroll
        for (int i = k + 1; i < WIDTH; ++i) {
            const SCALAR l = broadcast(x[i], owner);
            if (place > k) x[i] -= l * x[k];
        }
    }
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
        if (i < n && lane() < n) A[i * n + place] = x[i];
    if (lane() == 0) info[own] = singular;
}

// M := LU with the reciprocals of its diagonal, order := what P does: (P b)_i = b_order[i]; returns as
// `load_triangle`
DEVICE int load_factors(const SCALAR *LU, const int *piv, int n, SCALAR *M, int *order) {
    const int c = lane();
    const int singular = load_triangle(LU, n, true, M);
    for (int i = 0; i < WIDTH; ++i)
        if (c > i) M[i * LD + c] = c < n ? LU[i * n + c] : SCALAR(0);
    const int exchanged = c < n ? piv[c] : 0;
    int place = c;   // where entry c of b comes to be
    for (int i = 0; i < n; ++i) {
        const int other = broadcast(exchanged, i);
        place = place == other ? i : place == i ? other : place;
    }
    if (c < n) order[place] = c;
    sync();
    return singular;
}

// x := U⁻¹ x
DEVICE void solve_unit_upper(const SCALAR *U, Column &x) {
    sync();
#pragma unroll
    for (int k = WIDTH - 1; k > 0; --k)
#pragma unroll
        for (int j = 0; j < k; ++j) x[j] -= U[j * LD + k] * x[k];
}

// x := U⁻ᴴ x
DEVICE void solve_unit_upper_adjoint(const SCALAR *U, Column &x) {
    sync();
#pragma unroll
    for (int k = 0; k < WIDTH; ++k)
#pragma unroll
        for (int j = k + 1; j < WIDTH; ++j) x[j] -= conj(U[k * LD + j]) * x[k];
}

DEVICE void conjugate(Column &x) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) x[i] = conj(x[i]);
}

// B := A⁻¹ B = Pᵀ U⁻¹ L⁻¹ B, with `adjoint` A⁻ᴴ B = L⁻ᴴ U⁻ᴴ P B, and with `conjugated` A⁻ᵀ B; B is (n, k).
// info: 1 + the index of the first zero on the diagonal of L, or 0; such a B becomes NaN
extern "C" __global__ void getrs(const SCALAR *factors, const int *pivots, SCALAR *matrices, int *info,
                                 int count, int n, int k, int adjoint, int conjugated) {
    BEGIN_ITEM(count)
    SCALAR *M = shared_of_tile<SCALAR>(WIDTH * LD + WIDTH), *B = matrices + (long long) own * n * k;
    int *order = (int *) (M + WIDTH * LD);
    const int *piv = pivots + (long long) own * n;
    const int singular = load_factors(factors + entries_before(own, n), piv, n, M, order);
    if (lane() == 0) info[own] = singular;
    Column x;
    for (int first = 0; first < k; first += WIDTH) {
        const int v = first + lane();
#pragma unroll
        for (int i = 0; i < WIDTH; ++i)
            x[i] = i < n && v < k ? B[(adjoint ? order[i] : i) * k + v] : SCALAR(0);
        if (conjugated) conjugate(x);
        if (adjoint) {
            solve_unit_upper_adjoint(M, x);
            solve_adjoint(M, x);
        } else {
            solve(M, x);
            solve_unit_upper(M, x);
        }
        if (conjugated) conjugate(x);
        if (singular) fill(x, not_a_number<SCALAR>());
#pragma unroll
        for (int i = 0; i < WIDTH; ++i)
            if (i < n && v < k) B[(adjoint ? i : order[i]) * k + v] = x[i];
    }
}

// LU := A⁻¹ = Pᵀ U⁻¹ L⁻¹. info: 1 + the index of the first zero on the diagonal of L, or 0; such a matrix
// becomes NaN
extern "C" __global__ void getri(SCALAR *factors, const int *pivots, int *info, int count, int n) {
    BEGIN_ITEM(count)
    SCALAR *M = shared_of_tile<SCALAR>(WIDTH * LD + WIDTH), *X = factors + entries_before(own, n);
    int *order = (int *) (M + WIDTH * LD);
    const int singular = load_factors(X, pivots + (long long) own * n, n, M, order);
    if (lane() == 0) info[own] = singular;
    Column x;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) x[i] = i == lane() && i < n;
    solve(M, x);
    solve_unit_upper(M, x);
    if (singular) fill(x, not_a_number<SCALAR>());
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
        if (i < n && lane() < n) X[order[i] * n + lane()] = x[i];
}
