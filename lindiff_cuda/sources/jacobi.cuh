// Jacobi's rotations, n / 2 at a time. Golub and Van Loan (2013), sections 8.5.2 and 8.5.5.
#pragma once
#include "scalar.cuh"

constexpr int SWEEPS = 30;   // six to ten suffice

// The k-th of the pairs of round r that meet all of m players in m - 1 rounds, m even: one player stays, the
// others go round
struct Match {
    int p, q;

    __device__ __forceinline__ Match(int k, int r, int m) {
        const int others = m - 1;
        p = r + k < others ? r + k : r + k - others;
        q = r >= k ? r - k : r - k + others;
        if (k == 0) q = others;
    }
};

// A rotation by an angle φ: s = sin φ, tau = tan φ/2, t = tan φ
struct Rotation {
    REAL s, tau, t;

    // (x, y) := (c x - s y, s x + c y) without c, which rounds to 1 where it matters most: Rutishauser (1966)
    __device__ __forceinline__ void apply(REAL &x, REAL &y) const {
        const REAL old = x;
        x -= s * (y + tau * x);
        y += s * (old - tau * y);
    }
};

// The rotation after which the symmetric matrix (pp, g; g, qq) is diagonal
DEVICE Rotation rotation_by(REAL pp, REAL qq, REAL g) {
    const REAL theta = (qq - pp) / (2 * g), size = fabs(theta);
    REAL t = size < 1 / Epsilon<REAL>::value ? 1 / (size + sqrt(1 + size * size)) : REAL(0.5) / size;
    t = theta < 0 ? -t : t;
    const REAL c = rsqrt(1 + t * t);
    return {t * c, t * c / (1 + c), t};
}

// The one that makes a_pq zero, none if that does not count
DEVICE Rotation rotation_of(const REAL *A, int row, const Match &pair, REAL negligible) {
    const REAL g = A[pair.p * row + pair.q];
    if (!(fabs(g) > negligible)) return {0, 0, 0};
    return rotation_by(A[pair.p * row + pair.p], A[pair.q * row + pair.q], g);
}

// The four entries of A where the rows of one pair meet the columns of another, A := K A Kᵀ
DEVICE void turn_block(REAL *A, int row, const Match &rows, const Match &columns, const Rotation &left,
                       const Rotation &right) {
    REAL *p = A + rows.p * row, *q = A + rows.q * row;
    REAL pp = p[columns.p], pq = p[columns.q], qp = q[columns.p], qq = q[columns.q];
    if (rows.p == columns.p) {
        pp -= right.t * pq;
        qq += right.t * pq;
        pq = right.t == 0 ? pq : 0;
        qp = pq;
    } else {
        left.apply(pp, qp);
        left.apply(pq, qq);
        right.apply(pp, pq);
        right.apply(qp, qq);
    }
    p[columns.p] = pp;
    p[columns.q] = pq;
    q[columns.p] = qp;
    q[columns.q] = qq;
}
