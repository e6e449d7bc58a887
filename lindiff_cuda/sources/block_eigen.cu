// Symmetric eigendecomposition, A = Uᵀ diag(λ) U, λ ascending, rows of U are eigenvectors; real, one block of
// threads each. Jacobi's method as in eigen.cu, all pairs of a round at once.
#include "block.cuh"
#include "jacobi.cuh"

// A := K A Kᵀ, U := K U, K the rotations of the pairs of a round. For odd n the first one is a bye, of player r
DEVICE void rotate(REAL *A, REAL *U, const Rotation *rotations, int r, int n, int row, int u_row) {
    const int m = n + n % 2, pairs = m / 2, first = n % 2;
    for (int k = first + tile(); k < pairs; k += warps()) {
        const Match rows(k, r, m);
        const Rotation left = rotations[k];
        if (first == 1 && lane() == 0) {
            left.apply(A[rows.p * row + r], A[rows.q * row + r]);
            left.apply(A[r * row + rows.p], A[r * row + rows.q]);
        }
#pragma unroll 2
        for (int l = first + lane(); l < pairs; l += WIDTH) {
            const Rotation right = rotations[l];
            if (left.t != 0 || right.t != 0) turn_block(A, row, rows, Match(l, r, m), left, right);
        }
        if (left.t == 0) continue;
#pragma unroll 2
        for (int c = lane(); c < n; c += WIDTH) left.apply(U[rows.p * u_row + c], U[rows.q * u_row + c]);
    }
}

// As in eigen.cu; every thread learns the answer
DEVICE bool diagonalize(REAL *A, REAL *U, Rotation *rotations, int n, int row, int u_row, REAL negligible) {
    const int m = n + n % 2;
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        bool rotated = false;
        for (int r = 0; r < m - 1; ++r) {
            int rotates = 0;
            for (int k = n % 2 + threadIdx.x; k < m / 2; k += blockDim.x) {
                rotations[k] = rotation_of(A, row, Match(k, r, m), negligible);
                rotates |= rotations[k].t != 0;
            }
            if (__syncthreads_or(rotates)) {
                rotate(A, U, rotations, r, n, row, u_row);
                rotated = true;
                __syncthreads();
            }
        }
        if (!rotated) return true;
    }
    return false;
}

// lam, A := U from the lower triangle of A. U is made in `vectors`, or in shared memory if PLACED is 2; A is
// there if it is at least 1. info: 0, 1 without convergence, -1 for NaN or infinity; such a matrix and its lam
// become NaN
extern "C" __global__ void __launch_bounds__(1024) syevd(REAL *matrices, REAL *eigenvalues, REAL *vectors, int *info,
                                                         int n, int row) {
    const long long offset = (long long) blockIdx.x * n * n;
    REAL *own = matrices + offset, *lam = eigenvalues + (long long) blockIdx.x * n;
    REAL *scratch = shared_memory<REAL>();
    Rotation *rotations = reinterpret_cast<Rotation *>(scratch + WIDTH);   // (n + 1) / 2 of them
    REAL *shared = scratch + WIDTH + (n + 1) / 2 * 3;
    REAL *A = PLACED >= 1 ? shared : own, *U = PLACED == 2 ? shared + n * row : vectors + offset;
    const int u_row = PLACED == 2 ? row : n;
    REAL size = 0, infinite = 0;
    FOR_ENTRIES(n, i + 1) {
        const REAL a = own[i * n + j];
        if (!(a - a == 0)) infinite = 1;
        size = fabs(a) > size ? fabs(a) : size;
        A[i * row + j] = a;
        A[j * row + i] = a;
    }
    FOR_ENTRIES(n, n) U[i * u_row + j] = i == j;
    infinite = largest_of_block(infinite, scratch);
    size = largest_of_block(size, scratch);   // a barrier, too
    int failed = infinite > 0 ? -1 : 0;
    if (!failed && !diagonalize(A, U, rotations, n, row, u_row, size * Epsilon<REAL>::value / 2)) failed = 1;
    if (threadIdx.x == 0) info[blockIdx.x] = failed;
    // each row of U to its place; what it is, before A is overwritten
    int *rank = reinterpret_cast<int *>(rotations);   // which nobody reads since the last barrier
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        const REAL value = A[c * row + c];
        int place = 0;
        for (int j = 0; j < n; ++j) {
            const REAL other = A[j * row + j];
            place += other < value || (other == value && j < c);
        }
        rank[c] = failed ? c : place;
        lam[rank[c]] = failed ? not_a_number<REAL>() : value;
    }
    __syncthreads();
    FOR_ENTRIES(n, n) own[rank[i] * n + j] = failed ? not_a_number<REAL>() : U[i * u_row + j];
}
