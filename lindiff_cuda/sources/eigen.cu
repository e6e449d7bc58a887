// Symmetric eigendecomposition, A = Uᵀ diag(λ) U, λ ascending, rows of U are eigenvectors; real, n <= WIDTH,
// one tile each, in place. Expressions: Seeger et al. (2017), section 4.4 and appendix, "syevd".
#include "gaps.cuh"
#include "jacobi.cuh"
#include "matrix.cuh"

// A := K A Kᵀ, U := K U, K the rotations of the pairs of a round
DEVICE void rotate(REAL *A, REAL *U, const Rotation *rotations, int r, int m) {
    const int pairs = m / 2, l = lane() % pairs, step = WIDTH / pairs;
    const Match columns(l, r, m);
    const Rotation right = rotations[l];
    for (int k = lane() / pairs; k < pairs; k += step) {
        if (lane() >= step * pairs) break;
        turn_block(A, LD, Match(k, r, m), columns, rotations[k], right);
    }
    for (int k = 0; k < pairs; ++k) {
        const Match rows(k, r, m);
        rotations[k].apply(U[rows.p * LD + lane()], U[rows.q * LD + lane()]);
    }
}

// Jacobi's rotations, n / 2 at a time, until no off-diagonal entry counts; whether that was reached. Golub
// and Van Loan (2013), sections 8.5.2 and 8.5.5
DEVICE bool diagonalize(REAL *A, REAL *U, Rotation *rotations, int n, REAL negligible) {
    const int m = n + n % 2, k = lane();
    if (n < 2) return true;
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        bool rotated = false;
        for (int r = 0; r < m - 1; ++r) {
            int rotates = 0;
            if (k < m / 2) {
                const Match pair(k, r, m);
                const Rotation own = rotation_of(A, LD, pair, negligible);
                rotates = own.t != 0;
                rotations[k] = own;
            }
            sync();
            if (largest(rotates)) {
                rotate(A, U, rotations, r, m);
                rotated = true;
            }
            sync();
        }
        if (!rotated) return true;
    }
    return false;
}

// A := U, lam from the lower triangle of A. info: 0, 1 without convergence, -1 for NaN or infinity; such a
// matrix and its lam become NaN
extern "C" __global__ void syevd(REAL *matrices, REAL *eigenvalues, int *info, int count, int n) {
    if (item() >= count) return;
    REAL *A = shared_of_tile<REAL>(2 * WIDTH * LD + 2 * WIDTH), *U = A + WIDTH * LD;
    Rotation *rotations = reinterpret_cast<Rotation *>(U + WIDTH * LD);   // WIDTH / 2 of them
    REAL *own = matrices + entries_before(item(), n), *lam = eigenvalues + (long long) item() * n;
    const int c = lane();
    REAL size = 0;
    int infinite = 0;
    for (int i = 0; i < WIDTH; ++i) {
        REAL a = c <= i && i < n ? own[i * n + c] : 0;
        if (!(a - a == 0)) infinite = 1;
        size = fabs(a) > size ? fabs(a) : size;
        if (c <= i) {
            A[i * LD + c] = a;
            A[c * LD + i] = a;
        }
        U[i * LD + c] = i == c;
    }
    infinite = largest(infinite);
    size = largest(size);
    sync();
    int failed = infinite ? -1 : 0;
    if (!failed && !diagonalize(A, U, rotations, n, size * Epsilon<REAL>::value / 2)) failed = 1;
    if (c == 0) info[item()] = failed;
    if (failed) {
        for (int i = 0; i < n; ++i)
            if (c < n) own[i * n + c] = not_a_number<REAL>();
        if (c < n) lam[c] = not_a_number<REAL>();
        return;
    }
    int rank = 0;
    if (c < n) {
        const REAL value = A[c * LD + c];
        int place = 0;
        for (int j = 0; j < n; ++j) {
            REAL other = A[j * LD + j];
            rank += other < value || (other == value && j < c);
            if (fabs(U[c * LD + j]) > fabs(U[c * LD + place])) place = j;
        }
        REAL turn = turn_of(U[c * LD + place]);
        for (int j = 0; j < n; ++j) U[c * LD + j] *= turn;
        lam[rank] = value;
    }
    sync();
    for (int i = 0; i < n; ++i) {
        int row = broadcast(rank, i);
        if (c < n) own[row * n + c] = U[i * LD + c];
    }
}

// x := T U for T and U in shared memory
DEVICE void multiply_by(const REAL *T, const REAL *U, int n, Column &x) {
    fill(x, 0);
    for (int j = 0; j < n; ++j) {
        REAL u = U[j * LD + lane()];
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) x[i] += T[i * LD + j] * u;
    }
}

// x := X Uᵀ
DEVICE void multiply_by_transposed(const REAL *X, const REAL *U, int n, Column &x) {
    fill(x, 0);
    for (int j = 0; j < n; ++j) {
        REAL u = U[lane() * LD + j];
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) x[i] += X[i * LD + j] * u;
    }
}

DEVICE REAL largest_of(const Column &x, int n) {
    REAL size = 0;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
        if (i < n && lane() < n && fabs(x[i]) > size) size = fabs(x[i]);
    return largest(size);
}

// U_bar := A_bar = Uᵀ (sym(U_bar Uᵀ ∘ F) + diag(lam_bar)) U. Without `has_vectors` U_bar, without
// `has_values` lam_bar counts as zero
extern "C" __global__ void syevd_pullback(const REAL *vectors, const REAL *values, REAL *vector_bars,
                                          const REAL *value_bars, int count, int n, int has_vectors,
                                          int has_values) {
    if (item() >= count) return;
    REAL *T = shared_of_tile<REAL>(2 * WIDTH * LD), *U = T + WIDTH * LD;
    REAL *own = vector_bars + entries_before(item(), n);
    const REAL *lam = values + (long long) item() * n;
    const int c = lane();
    const REAL lam_c = c < n ? lam[c] : 0;
    const REAL bar = has_values && c < n ? value_bars[(long long) item() * n + c] : 0;
    Column x;
    load(vectors + entries_before(item(), n), n, x);
    spread(U, WIDTH, x);
    if (has_vectors) {
        load(own, n, x);
        spread(T, WIDTH, x);
        sync();
        multiply_by_transposed(T, U, n, x);
        sync();
        spread(T, WIDTH, x);
        sync();
        const Gaps gaps(n, lam[0], lam[n - 1], largest_of(x, n));
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) {
            REAL gap = broadcast(lam_c, i) - lam_c;   // of i > c; the upper triangle is the mirror image
            REAL t = x[i] - T[c * LD + i];
            x[i] = i == c ? bar : gaps.over(i < c ? -t : t, i < c ? -gap : gap) * REAL(0.5);
        }
        sync();
        spread(T, WIDTH, x);
        sync();
        multiply_by(T, U, n, x);
    } else {
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) x[i] *= broadcast(bar, i);
        sync();
    }
    sync();
    for (int i = 0; i < n; ++i) {
        REAL a = 0;
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) a += U[j * LD + i] * x[j];
        T[i * LD + c] = a;
    }
    sync();
    for (int i = 0; i < n; ++i)
        if (c < n) own[i * n + c] = i < c ? T[c * LD + i] : T[i * LD + c];
}

// M = U A_dot Uᵀ, lam_dot = diag(M), A_dot := U_dot = (M ∘ F) U; the lower triangle of A_dot is read
extern "C" __global__ void syevd_pushforward(const REAL *vectors, const REAL *values, REAL *matrices,
                                             REAL *value_dots, int count, int n) {
    if (item() >= count) return;
    REAL *T = shared_of_tile<REAL>(2 * WIDTH * LD), *U = T + WIDTH * LD;
    REAL *own = matrices + entries_before(item(), n);
    const REAL *lam = values + (long long) item() * n;
    const int c = lane();
    const REAL lam_c = c < n ? lam[c] : 0;
    Column x;
    load(vectors + entries_before(item(), n), n, x);
    spread(U, WIDTH, x);
    load(own, n, x);
#pragma unroll
    for (int i = 0; i < WIDTH; ++i)
        if (i >= c) {
            T[i * LD + c] = x[i];
            T[c * LD + i] = x[i];
        }
    sync();
    multiply_by_transposed(T, U, n, x);
    sync();
    for (int i = 0; i < WIDTH; ++i) {
        REAL a = 0;
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) a += U[i * LD + j] * x[j];
        T[i * LD + c] = a;
    }
    sync();
    if (c < n) value_dots[(long long) item() * n + c] = T[c * LD + c];
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) x[i] = T[i * LD + c];
    const Gaps gaps(n, lam[0], lam[n - 1], largest_of(x, n));
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
        REAL gap = broadcast(lam_c, i) - lam_c;   // of i > c; the upper triangle is minus the mirror image
        if (i < c) x[i] = -gaps.over(T[c * LD + i], -gap);
        if (i > c) x[i] = gaps.over(x[i], gap);
        if (i == c) x[i] = 0;
    }
    sync();
    spread(T, WIDTH, x);
    sync();
    multiply_by(T, U, n, x);
    store(own, n, x);
}
