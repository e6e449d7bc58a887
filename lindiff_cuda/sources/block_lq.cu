// LQ, A = L Q with Q Qᵀ = I and a positive diagonal of L; A is (m, n), m <= n, of any size; one block of
// threads each. Householder's reflections, Golub and Van Loan (2013), algorithm 5.1.1, one warp for some rows at
// a time; expressions: Seeger et al. (2017), section 4.3.
#include "block.cuh"
#include "rows.cuh"

constexpr int TOGETHER = 4;   // rows that a warp works on: v is read once for them, their sums wait together

// The reflection x H = x - tau (x vᵀ) v, v = (1, scale x_1, scale x_2, ...) for the row x of which it is made
struct Reflection {
    const REAL *x;
    REAL scale, tau;
};

// x := x H for the rows begin, begin + 1, ... < m of S, from column `first` on, where v begins. With `of_identity`
// the entries of that column count as zero. Every warp takes rows of its own
DEVICE void reflect(REAL *S, int row, int begin, int m, int n, int first, const Reflection &H, bool of_identity) {
    for (int p = begin + tile() * TOGETHER; p < m; p += warps() * TOGETHER) {
        REAL *x[TOGETHER], s[TOGETHER];
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k) {
            x[k] = S + (long long) (p + k < m ? p + k : m - 1) * row;   // of a row too many nothing is written
            s[k] = 0;
        }
#pragma unroll 2
        for (int j = first + 1 + lane(); j < n; j += WIDTH) {
            const REAL v = H.x[j] * H.scale;   // at most 1: no product overflows
#pragma unroll
            for (int k = 0; k < TOGETHER; ++k) s[k] += x[k][j] * v;
        }
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k)
            s[k] = H.tau * ((of_identity ? 0 : x[k][first]) + sum(s[k]));
        sync();
#pragma unroll 2
        for (int j = first + 1 + lane(); j < n; j += WIDTH) {
            const REAL v = H.x[j] * H.scale;
#pragma unroll
            for (int k = 0; k < TOGETHER; ++k)
                if (p + k < m) x[k][j] -= s[k] * v;
        }
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k)
            if (lane() == 0 && p + k < m) x[k][first] = (of_identity ? 0 : x[k][first]) - s[k];
    }
}

// x := e_i - tau v, row i of H. A warp does it
DEVICE void write_reflected(REAL *x, int n, int i, REAL scale, REAL tau) {
    for (int j = i + 1 + lane(); j < n; j += WIDTH) x[j] *= -tau * scale;
    if (lane() == 0) x[i] = 1 - tau;
    sync();
}

// L, A := Q; without `with_q` A is lost. A lies in shared memory if it is PLACED there, else where it comes from
extern "C" __global__ void __launch_bounds__(1024) gelqf(REAL *matrices, REAL *triangles, int m, int n,
                                                         int with_q, int row) {
    REAL *A = matrices + (long long) blockIdx.x * m * n, *L = triangles + (long long) blockIdx.x * m * m;
    REAL *scale = shared_memory<REAL>(), *tau = scale + m, *S = PLACED ? tau + m : A;
    if (PLACED) {
        FOR_ENTRIES(m, n) S[i * row + j] = A[i * n + j];
        __syncthreads();
    }
    for (int i = 0; i < m; ++i) {
        const REAL *x = S + (long long) i * row;
        const REAL norm = norm_of(x + i, n - i), size = fabs(x[i]), direction = turn_of(x[i]);   // in each warp
        Reflection H = {x, 0, 0};
        if (norm != 0) {
            H.scale = direction / (norm + size);
            H.tau = (norm + size) / norm;
        }
        if (threadIdx.x == 0) {
            scale[i] = H.scale;
            tau[i] = H.tau;
            L[i * m + i] = norm;
        }
        reflect(S, row, i + 1, m, n, i, H, false);
        __syncthreads();
    }
    // the reflections make the diagonal -direction * norm: its sign goes to a column of L and a row of Q
    FOR_ENTRIES(m, m) {
        if (j == i) continue;
        L[i * m + j] = j > i ? 0 : scale[j] > 0 ? -S[(long long) i * row + j] : S[(long long) i * row + j];
    }
    if (!with_q) return;
    __syncthreads();
    // the reflections applied to the rows of the identity, the last one first. A row of which a reflection is made
    // becomes one of Q just before the next reflection, when nobody reads it any more
    for (int i = m - 2; i >= 0; --i) {
        if (tile() == 0) write_reflected(S + (long long) (i + 1) * row, n, i + 1, scale[i + 1], tau[i + 1]);
        reflect(S, row, i + 1, m, n, i, {S + (long long) i * row, scale[i], tau[i]}, true);
        __syncthreads();
    }
    if (tile() == 0) write_reflected(S, n, 0, scale[0], tau[0]);
    __syncthreads();
    FOR_ENTRIES(m, n) {
        const REAL q = S[(long long) i * row + j];
        A[(long long) i * n + j] = scale[i] > 0 ? -q : q;
    }
}
