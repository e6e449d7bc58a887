// LQ, A = L Q with Q Qᴴ = I and a positive diagonal of L; A is (m, n), m <= WIDTH, m <= n; one tile each, in
// place. Expressions: Seeger et al. (2017), section 4.3 and appendix, "gelqf".
#include "matrix.cuh"
#include "rows.cuh"

// x := x H, H = I - tau vᴴ v, for a row x of this lane; v begins with a 1 that is not stored. With `first`
// the row's first entry counts as zero
DEVICE void reflect(SCALAR *x, const SCALAR *v, REAL tau, int n, bool first) {
    SCALAR s = first ? SCALAR(0) : x[0];
    for (int j = 1; j < n; ++j) s += x[j] * conj(v[j]);
    s *= tau;
    x[0] = first ? -s : x[0] - s;
    for (int j = 1; j < n; ++j) x[j] -= s * v[j];
}

// A := Q (without `with_q` A stays), L. Householder's reflections, x H = (β, 0, ...) with the Hermitian H of
// Golub and Van Loan (2013), algorithm 5.1.1; a lane for every row, rows `row` entries apart
extern "C" __global__ void gelqf(SCALAR *matrices, SCALAR *triangles, int count, int m, int n, int row,
                                 int with_q) {
    if (item() >= count) return;
    SCALAR *S = shared_of_tile<SCALAR>(m * row + 2 * WIDTH), *beta = S + m * row, *tau = beta + WIDTH;
    SCALAR *A = matrices + (long long) item() * m * n, *L = triangles + (long long) item() * m * m;
    const int p = lane();
    for (int i = 0; i < m; ++i)
        for (int j = p; j < n; j += WIDTH) S[i * row + j] = A[i * n + j];
    sync();
    for (int i = 0; i < m; ++i) {
        SCALAR *v = S + i * row + i;
        const int rest = n - i;
        const REAL norm = norm_of(v, rest);
        const SCALAR direction = conj(turn_of(v[0]));
        const REAL size = magnitude(v[0]), t = norm == 0 ? 0 : (norm + size) / norm;
        sync();
        if (norm != 0) {
            const SCALAR scale = reciprocal(direction * (norm + size));
            for (int j = 1 + p; j < rest; j += WIDTH) v[j] *= scale;
        }
        if (p == 0) {
            beta[i] = direction * -norm;
            tau[i] = t;
        }
        sync();
        if (p > i && p < m) reflect(S + p * row + i, v, t, rest, false);
        sync();
    }
    // the phase of a column of L goes with that of a row of Q
    const SCALAR turn = p < m ? turn_of(beta[p]) : SCALAR(1);
    for (int i = 0; i < m; ++i)
        if (p < m) L[i * m + p] = p < i ? S[i * row + p] * turn : SCALAR(p == i ? magnitude(beta[i]) : 0);
    if (!with_q) return;
    // the reflections applied to the rows of the identity, the last one first
    for (int i = m - 1; i >= 0; --i) {
        SCALAR *v = S + i * row + i;
        const REAL t = real(tau[i]);
        sync();
        if (p > i && p < m) reflect(S + p * row + i, v, t, n - i, true);
        sync();
        for (int j = p; j < n - i; j += WIDTH) v[j] = j == 0 ? SCALAR(1 - t) : v[j] * -t;
    }
    sync();
    for (int i = 0; i < m; ++i) {
        const SCALAR back = conj(turn_of(beta[i]));
        for (int j = p; j < n; j += WIDTH) A[i * n + j] = S[i * row + j] * back;
    }
}

// x := column j of A, (m, n), zero behind the last one
DEVICE void load_column(const SCALAR *A, int m, int n, int j, Column &x) {
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) x[i] = i < m && j < n ? A[i * n + j] : SCALAR(0);
}

// Q_bar := A_bar = L⁻ᴴ (Q_bar + copyltu(M) Q), M = Lᴴ L_bar - Q_bar Qᴴ. Without `has_q` Q_bar, without
// `has_l` L_bar counts as zero. info: 1 + the index of the first zero on the diagonal of L, or 0
extern "C" __global__ void gelqf_pullback(const SCALAR *rows, const SCALAR *triangles, SCALAR *row_bars,
                                          const SCALAR *triangle_bars, int *info, int count, int m, int n,
                                          int has_q, int has_l) {
    if (item() >= count) return;
    SCALAR *L = shared_of_tile<SCALAR>(2 * WIDTH * LD), *M = L + WIDTH * LD;
    const SCALAR *Q = rows + (long long) item() * m * n;
    SCALAR *Q_bar = row_bars + (long long) item() * m * n;
    const int c = lane();
    Column x;
    int singular = load_triangle(triangles + entries_before(item(), m), m, true, L);
    if (c == 0) info[item()] = singular;
    if (singular) {
        for (int e = c; e < m * n; e += WIDTH) Q_bar[e] = not_a_number<SCALAR>();
        return;
    }
    fill(x, 0);
    if (has_l) {
        load_lower(triangle_bars + entries_before(item(), m), m, true, M, x);
        multiply_adjoint(L, x);
    }
    // column c of M, its products from pieces of WIDTH columns of Q_bar and Q
    for (int first = 0; has_q && first < n; first += WIDTH) {
        const int j = first + c;
        sync();
        for (int i = 0; i < WIDTH; ++i) {
            L[i * LD + c] = i < m && j < n ? Q_bar[i * n + j] : SCALAR(0);
            M[i * LD + c] = i < m && j < n ? Q[i * n + j] : SCALAR(0);
        }
        sync();
#pragma unroll 1
        for (int v = 0; v < WIDTH; ++v) {
            const SCALAR q = conj(M[c * LD + v]);
#pragma unroll
            for (int i = 0; i < WIDTH; ++i) x[i] -= L[i * LD + v] * q;
        }
    }
    sync();
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) {
        if (i < c) continue;
        M[c * LD + i] = conj(x[i]);
        M[i * LD + c] = i == c ? SCALAR(real(x[i])) : x[i];
    }
    load_triangle(triangles + entries_before(item(), m), m, true, L);
    for (int first = 0; first < n; first += WIDTH) {
        const int j = first + c;
        load_column(Q_bar, m, has_q ? n : 0, j, x);
#pragma unroll 1
        for (int k = 0; k < m; ++k) {
            const SCALAR q = j < n ? Q[k * n + j] : SCALAR(0);
#pragma unroll
            for (int i = 0; i < WIDTH; ++i) x[i] += M[i * LD + k] * q;
        }
        solve_adjoint(L, x);
#pragma unroll
        for (int i = 0; i < WIDTH; ++i)
            if (i < m && j < n) Q_bar[i * n + j] = x[i];
    }
}
