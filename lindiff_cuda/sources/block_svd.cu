// Singular values, A = Jᵀ diag(s) W of a square real A; one block of threads each. One-sided Jacobi: rotations of
// rows, Jᵀ of all of them, until all rows are orthogonal to each other up to rounding of their lengths, small ones
// too. Hestenes (1958); Golub and Van Loan (2013), section 8.6.3; the criterion: Demmel and Veselić (1992).
#include "block.cuh"
#include "jacobi.cuh"
#include "rows.cuh"

// Squares of lengths from which on their products are exact enough. Shorter rows, of a matrix whose entries are
// about 1, are left as they are: they have no direction that could be relied on
constexpr REAL LEAST = Epsilon<REAL>::tiny / Epsilon<REAL>::value / Epsilon<REAL>::value;

// Rows of A := rows that are orthogonal to each other, J := K J of all rotations K; whether that was reached
DEVICE bool orthogonalize(REAL *A, REAL *J, int n, int row, int j_row) {
    const int m = n + n % 2;
    const REAL rounding = sqrt(REAL(n)) * Epsilon<REAL>::value;
    for (int sweep = 0; sweep < 2 * SWEEPS; ++sweep) {   // rows of mixed lengths take several times as many
        int rotated = 0;
        for (int r = 0; r < m - 1; ++r) {
            for (int k = n % 2 + tile(); k < m / 2; k += warps()) {
                const Match pair(k, r, m);
                REAL *x = A + pair.p * row, *y = A + pair.q * row;
                REAL xx = 0, yy = 0, xy = 0;
#pragma unroll 2
                for (int c = lane(); c < n; c += WIDTH) {
                    xx += x[c] * x[c];
                    yy += y[c] * y[c];
                    xy += x[c] * y[c];
                }
                xx = sum(xx), yy = sum(yy), xy = sum(xy);
                if (!(xx > LEAST && yy > LEAST && fabs(xy) > rounding * sqrt(xx) * sqrt(yy))) continue;
                const Rotation turn = rotation_by(xx, yy, xy);
                rotated = 1;
#pragma unroll 2
                for (int c = lane(); c < n; c += WIDTH) {
                    turn.apply(x[c], y[c]);
                    turn.apply(J[pair.p * j_row + c], J[pair.q * j_row + c]);
                }
            }
            __syncthreads();
        }
        if (!__syncthreads_or(rotated)) return true;
    }
    return false;
}

// Row i of W, where `known` rows are of length 1 and the others zero, becomes one more of them: of the unit
// vectors one that is not in their span, less what is (twice, for rounding: Giraud et al. 2005). d: n places
DEVICE void complete(REAL *W, int n, int row, int i, int known, REAL *d, int *place) {
    if (threadIdx.x == 0) *place = n;
    __syncthreads();
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        REAL total = 0;
#pragma unroll 1
        for (int r = 0; r < n; ++r) total += r == i ? 0 : W[r * row + c] * W[r * row + c];
        if (total * n <= known + REAL(0.5)) atomicMin(place, c);   // as for the average vector
    }
    __syncthreads();
    for (int c = threadIdx.x; c < n; c += blockDim.x) W[i * row + c] = c == *place;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
        __syncthreads();
        for (int r = tile(); r < n; r += warps()) {
            REAL total = 0;
#pragma unroll 1
            for (int c = lane(); c < n; c += WIDTH) total += W[r * row + c] * W[i * row + c];
            total = sum(total);
            if (lane() == 0) d[r] = r == i ? 0 : total;
        }
        __syncthreads();
        for (int c = threadIdx.x; c < n; c += blockDim.x) {
            REAL total = 0;
#pragma unroll 1
            for (int r = 0; r < n; ++r) total += d[r] * W[r * row + c];
            W[i * row + c] -= total;
        }
    }
    __syncthreads();
    const REAL length = norm_of(W + i * row, n);   // in each warp
    __syncthreads();
    for (int c = threadIdx.x; c < n; c += blockDim.x) W[i * row + c] /= length;
    __syncthreads();
}

// s descending, left := J and right := W, their rows in that order; A is lost. J is made in `rotated`, or in
// shared memory if PLACED is 2; A is there if it is at least 1. info: 0, 1 without convergence or for NaN; s, J
// and W of such a matrix become NaN
extern "C" __global__ void __launch_bounds__(1024) gesvd(REAL *matrices, REAL *values, REAL *left, REAL *right,
                                                         REAL *rotated, int *info, int n, int row) {
    const long long offset = (long long) blockIdx.x * n * n;
    REAL *own = matrices + offset, *s = values + (long long) blockIdx.x * n;
    REAL *scratch = shared_memory<REAL>(), *length = scratch + WIDTH, *d = length + n, *shared = d + 2 * n;
    int *rank = reinterpret_cast<int *>(d + n), *place = reinterpret_cast<int *>(scratch);
    REAL *A = PLACED >= 1 ? shared : own, *J = PLACED == 2 ? shared + n * row : rotated + offset;
    const int j_row = PLACED == 2 ? row : n;
    REAL size = 0, infinite = 0;
    FOR_ENTRIES(n, n) {
        const REAL a = own[i * n + j];
        if (!(a - a == 0)) infinite = 1;
        size = fabs(a) > size ? fabs(a) : size;
    }
    infinite = largest_of_block(infinite, scratch);
    size = largest_of_block(size, scratch);
    FOR_ENTRIES(n, n) {   // entries of size 1: squares do not overflow
        A[i * row + j] = size > 0 ? own[i * n + j] / size : 0;
        J[i * j_row + j] = i == j;
    }
    __syncthreads();
    const bool failed = infinite > 0 || !orthogonalize(A, J, n, row, j_row);
    if (threadIdx.x == 0) info[blockIdx.x] = failed;
    const REAL least = sqrt(LEAST) * 2;
    for (int r = tile(); r < n; r += warps()) {
        const REAL own_length = norm_of(A + r * row, n);
        if (lane() == 0) length[r] = own_length;
        for (int c = lane(); c < n; c += WIDTH) A[r * row + c] = own_length > least ? A[r * row + c] / own_length : 0;
    }
    __syncthreads();
    int known = 0;
    for (int r = 0; r < n; ++r) known += length[r] > least;
    for (int r = 0; r < n && !failed; ++r)
        if (!(length[r] > least)) complete(A, n, row, r, known++, d, place);
    for (int c = threadIdx.x; c < n; c += blockDim.x) {
        int order = 0;
        for (int j = 0; j < n; ++j) order += length[j] > length[c] || (length[j] == length[c] && j < c);
        rank[c] = failed ? c : order;
        s[rank[c]] = failed ? not_a_number<REAL>() : length[c] * size;
    }
    __syncthreads();
    FOR_ENTRIES(n, n) {
        const long long entry = offset + rank[i] * n + j;
        left[entry] = failed ? not_a_number<REAL>() : J[i * j_row + j];
        right[entry] = failed ? not_a_number<REAL>() : A[i * row + j];
    }
}
