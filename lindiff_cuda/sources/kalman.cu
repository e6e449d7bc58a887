// The Kalman filter and the gradient of its sums: all steps of all series in one launch each way.
//
// The formulas are those of lindiff/kernels/kalman.pyx (Durbin & Koopman 2012, sections 4.3 to 4.5; elements
// one after the other: Koopman & Durbin 2000), for one series a tile.  Lane i has row i of P, or of N, and
// component i of every vector; what the others need of it goes through the tile's shared memory.  A product
// A X Aᵀ with a symmetric X is two products of a row with the whole of A and a transposition between them.
//
// Constants: n = STATES <= WIDTH, p = OUTPUTS observations a step, INDEPENDENT: obs_cov is a row of variances,
// d = COLUMNS: the series itself and zero data from the unit vector of every diffuse state.  BLOCKWISE: what the
// way back needs is kept of a block of steps at a time, and where each block starts.  STEPWISE: the way forth
// gives the terms of every step, and no sums.  SMOOTHING: the way back gives the states, and no gradient.  ROOM: entries of shared memory for one tile.
//
// Nothing here conjugates, and only real parts decide: in complex arithmetic the imaginary part of a sum or
// gradient is the derivative of its real part.
#include "tile.cuh"

constexpr int n = STATES, p = OUTPUTS, d = COLUMNS;
constexpr int PITCH = n | 1;             // odd: rows of a square begin in different banks
constexpr int OWN_COLUMNS = (d + WIDTH - 1) / WIDTH;
constexpr int OWN_OF_R = INDEPENDENT ? p : (p * p + WIDTH - 1) / WIDTH;
// Loops over a row that a lane keeps in registers unroll, so that it stays there. Of loops around them those of larger
// matrices go two rounds at a time, for all that is unrolled does not fit into the registers
constexpr int ROUNDS = n <= 8 ? n : 2;
constexpr int UNROLLED_ELEMENTS = p * n <= (INDEPENDENT ? 16 : 64) ? p : 1;   // loops over observations
constexpr int UNROLLED_R = OWN_OF_R <= 4 ? OWN_OF_R : 1;
constexpr int KEPT_ROWS = n + d + p;                          // of P_f, m_f and Kᵀ, one entry a lane
constexpr int KEPT_NUMBERS = (INDEPENDENT ? p : p * p) + p * d;   // S⁻¹, or of single elements, and w

// ---- arguments -----------------------------------------------------------------------------------

// An array (series, steps, size) whose first two axes have length 1 where series share it, where it is constant
struct Parameter {
    const SCALAR *x;
    int series, steps, size;
};

DEVICE const SCALAR *at(const Parameter &g, int s, int t) {
    long long place = (g.series > 1 ? (long long)s * g.steps : 0) + (g.steps > 1 ? t : 0);
    return g.x + place * g.size;
}

struct Model {
    int series, steps, block;
    const SCALAR *y;   // (series, steps, p), NaN where missing
    Parameter A, B, Q, R, m, P, c;   // c.x is null where there is none
    unsigned diffuse;  // the bits of the diffuse states
    SCALAR *starts;    // (blocks, n + d, series, n): P and m predicted for the first step of each block
    SCALAR *rows;      // (block, KEPT_ROWS, series, n)
    SCALAR *numbers;   // (block, KEPT_NUMBERS, series)
};

// The model of a kernel's arguments
#define MODEL                                                                                               \
    {series, steps, block, y, {A, A_series, A_steps, n * n}, {B, B_series, B_steps, p * n},                 \
     {Q, Q_series, Q_steps, n * n}, {R, R_series, R_steps, INDEPENDENT ? p : p * p}, {m, m_series, 1, n},   \
     {P, P_series, 1, n * n}, {c, c_series, c_steps, n}, (unsigned)diffuse, starts, rows, numbers}

// What the lanes of a tile show each other
struct Room {
    SCALAR square[n * PITCH];      // where products are transposed
    SCALAR transposed[n * PITCH];  // and symmetric matrices: what one is read for may last until the other is
    SCALAR mean[d * n];      // m, a row for each column of the means; backward r
    SCALAR next[d * n];      // backward u = Aᵀ r
    SCALAR gain[n];          // P b; backward ν = N k
    SCALAR error[p * d];     // v; backward e
    SCALAR gains[p * n];     // Kᵀ
    SCALAR omega[d * d];
#if !INDEPENDENT
    SCALAR B[p * n];         // rows of missing elements are zero, here and in what follows
    SCALAR C[p * n];         // B P, then W = L⁻¹ B P; backward Kᵀ F, then Z
    SCALAR z[p * d];         // L⁻¹ v
    SCALAR S[p * p];         // S, then L; backward D
    SCALAR inverse[p * p];   // L⁻¹
#endif
};
static_assert(sizeof(Room) <= ROOM * sizeof(SCALAR), "ROOM is less than what a tile needs");

// A matrix of `size` numbers that every lane reads the whole of at every step: in registers if small
constexpr int SMALL = 16;
template <int size, bool small = (size <= SMALL)> struct Held {
    SCALAR x[size];
};
template <int size> struct Held<size, false> {
    const SCALAR *x;
};
template <int size> DEVICE void read(Held<size, true> &A, const SCALAR *x) {
#pragma unroll
    for (int k = 0; k < size; ++k) A.x[k] = x[k];
}
template <int size> DEVICE void read(Held<size, false> &A, const SCALAR *x) { A.x = x; }

// The matrices of a step
struct Step {
    Held<n * n> A;
    Held<p * n> B;
};

DEVICE void read_step(const Model &g, int s, int t, bool first, Step &step) {
    if (first || g.A.steps > 1) read(step.A, at(g.A, s, t));
    if (first || g.B.steps > 1) read(step.B, at(g.B, s, t));
}

// ---- numbers -------------------------------------------------------------------------------------

DEVICE bool is_missing(SCALAR y) { return real(y) != real(y); }
DEVICE bool is_finite(SCALAR x) { return real(x) - real(x) == 0; }
DEVICE bool is_positive(SCALAR x) { return real(x) > 0 && is_finite(x); }

DEVICE float logarithm(float x) { return logf(x); }
DEVICE double logarithm(double x) { return log(x); }
template <class R> DEVICE Complex<R> logarithm(Complex<R> x) {
    return {log(hypot(x.re, x.im)), atan2(x.im, x.re)};
}

// √x for x of positive real part
DEVICE float root(float x) { return sqrtf(x); }
DEVICE double root(double x) { return sqrt(x); }
template <class R> DEVICE Complex<R> root(Complex<R> x) {
    R re = sqrt((hypot(x.re, x.im) + x.re) / 2);
    return {re, x.im / (2 * re)};
}

// Σ x_k y_k
template <class X, class Y> DEVICE SCALAR dot(const X *x, const Y *y) {
    SCALAR total = 0;
#pragma unroll
    for (int k = 0; k < n; ++k) total += x[k] * y[k];
    return total;
}

// ---- forward -------------------------------------------------------------------------------------

// Σ log x: of products as long as these are far from overflow and underflow, for logarithms take time
template <class T> struct LogSum {
    T total, product;
};
template <class T> DEVICE bool is_moderate(T x) {
    const T most = sizeof(T) == 4 ? T(1e12f) : T(1e100);
    return x < most && x * most > 1;
}
template <class T> DEVICE void add_log(LogSum<T> &sum, T x) {
    if (is_moderate(sum.product) && is_moderate(x)) {
        sum.product *= x;
    } else {
        sum.total += logarithm(sum.product);
        sum.product = x;
    }
}
template <class R> DEVICE void add_log(LogSum<Complex<R>> &sum, Complex<R> x) { sum.total += logarithm(x); }

// The sums over steps: of vᵀ S⁻¹ v between columns (own columns of them), and log |S|
struct Sums {
    SCALAR gram[OWN_COLUMNS][d];
    LogSum<SCALAR> logdet;
};

DEVICE Sums no_sums() {
    Sums sums = {};
    sums.logdet.product = 1;
    return sums;
}

DEVICE SCALAR log_determinant(const Sums &sums) { return sums.logdet.total + logarithm(sums.logdet.product); }

// This lane's places in what is kept of a step
struct Kept {
    SCALAR *row, *number;
    long long rows, numbers;   // from one row, or number, to the next
};

DEVICE Kept kept_of(const Model &g, int s, int step) {
    int i = lane() < n ? lane() : 0;
    long long rows = (long long)g.series * n, numbers = g.series;
    return {g.rows + (long long)step * KEPT_ROWS * rows + (long long)s * n + i,
            g.numbers + (long long)step * KEPT_NUMBERS * numbers + s, rows, numbers};
}

#if INDEPENDENT

// Whether the variance f of element a, given those before it, is rounding of what it was without them
DEVICE bool is_rounding(Room &room, const SCALAR *y, const SCALAR *b, SCALAR noise, SCALAR f, const Kept &kept,
                        int a) {
    const REAL rounding = 10 * (p + n) * Epsilon<REAL>::value;
    if (real(noise) > rounding * real(f)) return false;
    REAL total = real(f);
    for (int before = 0; before < a; ++before) {
        if (is_missing(y[before])) continue;
        REAL x = real(dot(room.gains + before * n, b));
        total += x * x / real(kept.number[before * kept.numbers]);
    }
    return real(f) <= rounding * total;
}

// Conditions P and the means on the observed elements, one after the other; false where one has no variance
DEVICE bool update(const Model &g, int s, int t, Room &room, const Step &step, SCALAR *P, Sums &sums,
                   const Kept &kept) {
    const int i = lane();
    const SCALAR *R = at(g.R, s, t), *y = g.y + ((long long)s * g.steps + t) * p;
#pragma unroll UNROLLED_ELEMENTS
    for (int a = 0; a < p; ++a) {
        SCALAR gain = 0;
        if (!is_missing(y[a])) {
            const SCALAR *b = step.B.x + a * n;
            gain = dot(P, b);
            if (i < n) room.gain[i] = gain;
            for (int c = i; c < d; c += WIDTH)
                room.error[c] = (c > 0 ? SCALAR(0) : y[a]) - dot(b, room.mean + c * n);
            sync();
            SCALAR f = R[a] + dot(b, room.gain);
            if (!is_positive(f) || is_rounding(room, y, b, R[a], f, kept, a)) return false;
            SCALAR inverse = reciprocal(f);
#pragma unroll
            for (int j = 0; j < n; ++j) P[j] -= gain * room.gain[j] * inverse;
            gain *= inverse;
#pragma unroll
            for (int q = 0; q < OWN_COLUMNS; ++q) {
                int c = i + q * WIDTH;
                if (c >= d) continue;
                SCALAR w = room.error[c] * inverse;
                kept.number[(p + a * d + c) * kept.numbers] = w;
#pragma unroll
                for (int e = 0; e < d; ++e) sums.gram[q][e] += w * room.error[e];
            }
            if (i == 0) {
                kept.number[a * kept.numbers] = inverse;
                add_log(sums.logdet, f);
            }
            if (i < n) {
                room.gains[a * n + i] = gain;
#pragma unroll
                for (int c = 0; c < d; ++c) room.mean[c * n + i] += gain * room.error[c];
            }
            sync();
        }
        if (i < n) kept.row[(n + d + a) * kept.rows] = gain;
    }
    return true;
}
#else
// Few observations are factored by every lane for itself, in registers, which none has to wait for
constexpr bool ALONE = p <= 4;
constexpr int UNROLLED_FACTOR = ALONE ? p : 1;

// S := its Cholesky factor L with 1 / L_jj on the diagonal, inverse := L⁻¹; false where a pivot is rounding of its
// variance
DEVICE bool factor(SCALAR *S, SCALAR *inverse, Sums &sums) {
    const int first = ALONE ? 0 : lane(), stride = ALONE ? 1 : WIDTH;
    const REAL rounding = 10 * (p + n) * Epsilon<REAL>::value;
#pragma unroll UNROLLED_FACTOR
    for (int j = 0; j < p; ++j) {
        SCALAR x = S[j * p + j];
        REAL variance = real(x);
#pragma unroll UNROLLED_FACTOR
        for (int k = 0; k < j; ++k) x -= S[j * p + k] * S[j * p + k];
        if (!is_positive(x) || !(real(x) > rounding * variance)) return false;
        SCALAR one_over = reciprocal(root(x));
        if (lane() == 0) add_log(sums.logdet, x);
        if (!ALONE) sync();
#pragma unroll UNROLLED_FACTOR
        for (int a = first; a < p; a += stride) {
            if (a == j) S[a * p + j] = one_over;   // the diagonal is needed for divisions alone
            if (a <= j) continue;
            SCALAR entry = S[a * p + j];
#pragma unroll UNROLLED_FACTOR
            for (int k = 0; k < j; ++k) entry -= S[a * p + k] * S[j * p + k];
            S[a * p + j] = entry * one_over;
        }
        if (!ALONE) sync();
    }
#pragma unroll UNROLLED_FACTOR
    for (int b = first; b < p; b += stride) {
#pragma unroll UNROLLED_FACTOR
        for (int a = 0; a < p; ++a) {
            SCALAR total = a == b ? 1 : 0;
#pragma unroll UNROLLED_FACTOR
            for (int k = b; k < a; ++k) total -= S[a * p + k] * inverse[k * p + b];
            inverse[a * p + b] = a < b ? SCALAR(0) : total * S[a * p + a];
        }
    }
    return true;
}

// Conditions P and the means on the observed elements together; false where S is not positive definite
DEVICE bool update(const Model &g, int s, int t, Room &room, const Step &, SCALAR *P, Sums &sums,
                   const Kept &kept) {
    const int i = lane();
    const SCALAR *B = at(g.B, s, t), *R = at(g.R, s, t), *y = g.y + ((long long)s * g.steps + t) * p;
    const SCALAR *inverse = room.inverse;
    for (int e = i; e < p * n; e += WIDTH) room.B[e] = is_missing(y[e / n]) ? SCALAR(0) : B[e];
    sync();
    if (i < n)
        for (int a = 0; a < p; ++a) room.C[a * n + i] = dot(P, room.B + a * n);
    for (int e = i; e < p * d; e += WIDTH) {   // v = y - B m
        int a = e / d, c = e % d;
        SCALAR observed = c > 0 || is_missing(y[a]) ? SCALAR(0) : y[a];
        room.error[e] = observed - dot(room.B + a * n, room.mean + c * n);
    }
    sync();
    for (int e = i; e < p * p; e += WIDTH) {
        int a = e / p, b = e % p;
        if (b > a) continue;
        bool observed = !is_missing(y[a]) && !is_missing(y[b]);
        room.S[e] = observed ? R[e] + dot(room.C + a * n, room.B + b * n) : SCALAR(a == b ? 1 : 0);
    }
    sync();
    if (ALONE) {
        SCALAR S[p * p], alone[p * p];
#pragma unroll
        for (int e = 0; e < p * p; ++e) S[e] = e / p < e % p ? SCALAR(0) : room.S[e];
        if (!factor(S, alone, sums)) return false;
#pragma unroll
        for (int e = 0; e < p * p; ++e)
            if (i == 0) room.inverse[e] = alone[e];
    } else if (!factor(room.S, room.inverse, sums)) {
        return false;
    }
    sync();
    for (int e = i; e < p * d; e += WIDTH) {   // z = L⁻¹ v
        SCALAR total = 0;
        for (int b = 0; b <= e / d; ++b) total += inverse[e / d * p + b] * room.error[b * d + e % d];
        room.z[e] = total;
    }
    for (int e = i; e < p * p; e += WIDTH) {   // S⁻¹ = L⁻ᵀ L⁻¹
        int a = e / p, b = e % p;
        SCALAR total = 0;
        for (int k = a > b ? a : b; k < p; ++k) total += inverse[k * p + a] * inverse[k * p + b];
        kept.number[e * kept.numbers] = total;
    }
    if (i < n)
        for (int a = p - 1; a >= 0; --a) {     // W = L⁻¹ C
            SCALAR total = 0;
            for (int b = 0; b <= a; ++b) total += inverse[a * p + b] * room.C[b * n + i];
            room.C[a * n + i] = total;
        }
    sync();
    for (int a = 0; a < p; ++a) {
        SCALAR w = i < n ? room.C[a * n + i] : SCALAR(0), gain = 0;
#pragma unroll
        for (int j = 0; j < n; ++j) P[j] -= w * room.C[a * n + j];
        if (i >= n) continue;
        for (int c = 0; c < d; ++c) room.mean[c * n + i] += w * room.z[a * d + c];
        for (int b = a; b < p; ++b) gain += inverse[b * p + a] * room.C[b * n + i];   // Kᵀ = L⁻ᵀ W
        kept.row[(n + d + a) * kept.rows] = gain;
    }
    for (int e = i; e < p * d; e += WIDTH) {   // w = L⁻ᵀ z
        SCALAR total = 0;
        for (int b = e / d; b < p; ++b) total += inverse[b * p + e / d] * room.z[b * d + e % d];
        kept.number[(p * p + e) * kept.numbers] = total;
    }
#pragma unroll
    for (int q = 0; q < OWN_COLUMNS; ++q) {
        int c = i + q * WIDTH;
        if (c >= d) continue;
        for (int a = 0; a < p; ++a)
#pragma unroll
            for (int e = 0; e < d; ++e) sums.gram[q][e] += room.z[a * d + c] * room.z[a * d + e];
    }
    sync();
    return true;
}
#endif

// x := ½ (x + xᵀ), the lanes' rows of a square; all lanes arrive
DEVICE void make_symmetric(Room &room, SCALAR *x) {
    const int i = lane(), row = i < n ? i : 0;
#pragma unroll
    for (int j = 0; j < n; ++j)
        if (i < n) room.transposed[j * PITCH + i] = x[j];
    sync();
#pragma unroll
    for (int j = 0; j < n; ++j) x[j] = REAL(0.5) * (x[j] + room.transposed[row * PITCH + j]);
}

// P := A P Aᵀ + Q, m := A m + c
DEVICE void predict(const Model &g, int s, int t, Room &room, const Held<n * n> &A, SCALAR *P) {
    const int i = lane(), row = i < n ? i : 0;
    const SCALAR *own = at(g.A, s, t) + row * n, *Q = at(g.Q, s, t) + row * n;
#pragma unroll ROUNDS
    for (int j = 0; j < n; ++j) {   // P Aᵀ, transposed
        SCALAR x = dot(P, A.x + j * n);
        if (i < n) room.square[j * PITCH + i] = x;
    }
    SCALAR m[d];
#pragma unroll
    for (int c = 0; c < d; ++c) m[c] = dot(own, room.mean + c * n);
    if (g.c.x) m[0] += at(g.c, s, t)[row];
    sync();
#pragma unroll
    for (int j = 0; j < n; ++j) P[j] = 0;
#pragma unroll ROUNDS
    for (int k = 0; k < n; ++k) {
        const SCALAR x = room.square[row * PITCH + k];
#pragma unroll
        for (int j = 0; j < n; ++j) P[j] += A.x[j * n + k] * x;
    }
#pragma unroll
    for (int j = 0; j < n; ++j) P[j] += Q[j];
    if (i < n)
#pragma unroll
        for (int c = 0; c < d; ++c) room.mean[c * n + i] = m[c];
    make_symmetric(room, P);
}

// P and m where the filter starts: at unit vectors in the columns of the diffuse states
DEVICE void start(const Model &g, int s, Room &room, SCALAR *P) {
    const int i = lane(), row = i < n ? i : 0;
    const SCALAR *m = at(g.m, s, 0), *P_0 = at(g.P, s, 0) + row * n;
#pragma unroll
    for (int j = 0; j < n; ++j) P[j] = P_0[j];
    if (i < n) room.mean[i] = m[i];
    int c = 0;
    for (int j = 0; j < n; ++j) {
        if (!(g.diffuse >> j & 1)) continue;
        ++c;
        if (i < n) room.mean[c * n + i] = i == j;
    }
    sync();
}

// Where the moments predicted for the first step of a block are kept
DEVICE SCALAR *start_of_block(const Model &g, int s, int t) {
    int row = lane() < n ? lane() : 0;
    return g.starts + ((long long)(t / g.block) * (n + d) * g.series + s) * n + row;
}

// The filter over steps first to last, from P and the means predicted for the first; the step without a positive
// definite S, or -1.  terms (steps, series): -½ (vᵀ S⁻¹ v + log |S|) of each step, if STEPWISE
DEVICE int filter_steps(const Model &g, int s, int first, int last, Room &room, SCALAR *P, Sums &sums,
                        int &overflow, SCALAR *terms) {
    const int i = lane();
    Step step;
    for (int t = first; t < last; ++t) {
        Kept kept = kept_of(g, s, t - first);
        read_step(g, s, t, t == first, step);
        if (STEPWISE) sums = no_sums();
        if (!update(g, s, t, room, step, P, sums, kept)) return t;
        if (STEPWISE && i == 0)
            terms[(long long)t * g.series + s] = REAL(-0.5) * (sums.gram[0][0] + log_determinant(sums));
        if (i < n) {
#pragma unroll
            for (int j = 0; j < n; ++j) kept.row[j * kept.rows] = P[j];
#pragma unroll
            for (int c = 0; c < d; ++c) kept.row[(n + c) * kept.rows] = room.mean[c * n + i];
        }
        if (t + 1 == g.steps) break;
        predict(g, s, t, room, step.A, P);
        SCALAR total = i < n ? room.mean[i] : SCALAR(0);
#pragma unroll
        for (int j = 0; j < n; ++j) total += P[j];
        if (!is_finite(total) && overflow > t + 1) overflow = t + 1;
    }
    return -1;
}

extern "C" __global__ void kalman_filter(
    int series, int steps, int block, const SCALAR *y, const SCALAR *A, int A_series, int A_steps,
    const SCALAR *B, int B_series, int B_steps, const SCALAR *Q, int Q_series, int Q_steps, const SCALAR *R,
    int R_series, int R_steps, const SCALAR *m, int m_series, const SCALAR *P, int P_series, const SCALAR *c,
    int c_series, int c_steps, int diffuse, SCALAR *starts, SCALAR *rows, SCALAR *numbers,
    SCALAR *gram, SCALAR *logdet, int *info, SCALAR *terms) {
    const Model g = MODEL;
    const int s = item(), i = lane();
    if (s >= series) return;
    Room &room = *reinterpret_cast<Room *>(shared_of_tile<SCALAR>(ROOM));
    SCALAR P_row[n];
    Sums sums = no_sums();
    int overflow = steps, failed = -1;
    start(g, s, room, P_row);
    for (int first = 0; first < steps && failed < 0; first += block) {
        if (BLOCKWISE && i < n) {
            SCALAR *kept = start_of_block(g, s, first);
#pragma unroll
            for (int j = 0; j < n; ++j) kept[j * (long long)series * n] = P_row[j];
            for (int c = 0; c < d; ++c) kept[(n + c) * (long long)series * n] = room.mean[c * n + i];
        }
        failed = filter_steps(g, s, first, first + block < steps ? first + block : steps, room, P_row, sums,
                              overflow, terms);
    }
    overflow = -largest(-overflow);
    const bool wrong = failed >= 0 || overflow < steps;
    if (i == 0) {
        logdet[s] = wrong ? not_a_number<SCALAR>() : log_determinant(sums);
        info[s] = overflow < steps ? -overflow - 1 : failed + 1;
    }
    for (int q = 0; q < OWN_COLUMNS; ++q) {
        int c = i + q * WIDTH;
        if (c >= d) continue;
        for (int e = 0; e < d; ++e)
            gram[((long long)s * d + c) * d + e] = wrong ? not_a_number<SCALAR>() : sums.gram[q][e];
    }
}

// ---- backward ------------------------------------------------------------------------------------

// Where gradients go, (series, steps or 1, ...); null for what is not wanted. Those of arrays that series share and
// that vary in time have but the steps `from` to `until` of this launch: they are summed over series after each
struct Bars {
    SCALAR *y, *A, *B, *Q, *R, *m, *P, *c;
    int from, until;
};

// Whether the gradient of an array goes to its place at step t, and which place
DEVICE bool is_due(const Bars &bars, const Parameter &x, int t) { return t == bars.from || x.steps > 1; }
DEVICE long long place_of(const Model &g, const Bars &bars, const Parameter &x, int s, int t) {
    if (x.steps == 1) return s;
    if (x.series == g.series) return (long long)s * g.steps + t;
    return (long long)s * (bars.until - bars.from) + (t - bars.from);
}

// Where smoothed moments go: means (series, steps, d, n), covariances (series, steps, n, n)
struct Smoothed {
    SCALAR *M, *V;
};

// What this lane adds up of them: row i of Q̄, column i of Ā and B̄, entries i, i + WIDTH, … of R̄
struct Totals {
    SCALAR *A, *B, *Q, *R, c;
};

// Σ_e x_e Ω_ec, x_e at a distance from one to the next
DEVICE SCALAR weighted(const Room &room, const SCALAR *x, int distance, int c) {
    SCALAR total = 0;
#pragma unroll
    for (int e = 0; e < d; ++e) total += x[e * distance] * room.omega[e * d + c];
    return total;
}

// What is added up goes to its place: of a step where the array varies in time, else with the first step of a launch,
// to what later ones have found
DEVICE void put(SCALAR &total, SCALAR &place, bool add) {
    place = add ? place + total : total;
    total = 0;
}
DEVICE void write_totals(const Model &g, const Bars &bars, int s, int t, Totals &totals) {
    const int i = lane();
    const bool later = bars.until < g.steps;
    if (bars.A && i < n && is_due(bars, g.A, t)) {
        SCALAR *out = bars.A + place_of(g, bars, g.A, s, t) * n * n;
#pragma unroll ROUNDS
        for (int j = 0; j < n; ++j) put(totals.A[j], out[j * n + i], later && g.A.steps == 1);
    }
    if (bars.B && i < n && is_due(bars, g.B, t)) {
        SCALAR *out = bars.B + place_of(g, bars, g.B, s, t) * p * n;
#pragma unroll UNROLLED_ELEMENTS
        for (int a = 0; a < p; ++a) put(totals.B[a], out[a * n + i], later && g.B.steps == 1);
    }
    if (bars.Q && i < n && is_due(bars, g.Q, t)) {
        SCALAR *out = bars.Q + (place_of(g, bars, g.Q, s, t) * n + i) * n;
#pragma unroll ROUNDS
        for (int j = 0; j < n; ++j) put(totals.Q[j], out[j], later && g.Q.steps == 1);
    }
    if (bars.R && is_due(bars, g.R, t)) {
        SCALAR *out = bars.R + place_of(g, bars, g.R, s, t) * g.R.size;
#pragma unroll UNROLLED_R
        for (int q = 0; q < OWN_OF_R; ++q) {
            int e = INDEPENDENT ? q : i + q * WIDTH;
            if (e < g.R.size && (!INDEPENDENT || i == 0)) put(totals.R[q], out[e], later && g.R.steps == 1);
            else totals.R[q] = 0;
        }
    }
    if (bars.c && i < n && is_due(bars, g.c, t))
        put(totals.c, bars.c[place_of(g, bars, g.c, s, t) * n + i], later && g.c.steps == 1);
}

// Where this lane's rows of N and r wait for the launch of the steps before: carried (n + d, series, n)
DEVICE SCALAR *carried_of(const Model &g, SCALAR *carried, int s) {
    return carried + (long long)s * n + (lane() < n ? lane() : 0);
}

// From the r and N of the step after t to u = Aᵀ r and F = Aᵀ N A, with what A, Q and c get of them; M, the
// lanes' smoothed means times Ω, is m_f Ω on entry
DEVICE void back_in_time(const Model &g, const Bars &bars, int s, int t, Room &room, const Held<n * n> &A,
                         const SCALAR *P, SCALAR *N, SCALAR *M, SCALAR omega, Totals &totals) {
    const int i = lane(), row = i < n ? i : 0;
    const SCALAR *own = at(g.A, s, t) + row;
    SCALAR r[d];   // r Ω
#pragma unroll
    for (int c = 0; c < d; ++c) {
        SCALAR u = 0;
#pragma unroll ROUNDS
        for (int k = 0; k < n; ++k) u += own[k * n] * room.mean[c * n + k];
        if (i < n) room.next[c * n + i] = u;
        r[c] = weighted(room, room.mean + row, n, c);
    }
#pragma unroll ROUNDS
    for (int j = 0; j < n; ++j) {   // N A, transposed
        SCALAR x = 0;
#pragma unroll
        for (int k = 0; k < n; ++k) x += N[k] * A.x[k * n + j];
        if (i < n) room.square[j * PITCH + i] = x;
    }
    if (bars.Q)
#pragma unroll
        for (int j = 0; j < n; ++j) {
            SCALAR x = -omega * N[j];
#pragma unroll
            for (int c = 0; c < d; ++c) x += r[c] * room.mean[c * n + j];
            totals.Q[j] += REAL(0.5) * x;
        }
    totals.c += r[0];
    sync();
    SCALAR moved[d];
#pragma unroll
    for (int c = 0; c < d; ++c) moved[c] = dot(P, room.next + c * n);
#pragma unroll
    for (int c = 0; c < d; ++c) M[c] += weighted(room, moved, 1, c);
    if (bars.A)
#pragma unroll ROUNDS
        for (int j = 0; j < n; ++j) {
            SCALAR x = 0;
#pragma unroll
            for (int k = 0; k < n; ++k) x -= room.square[k * PITCH + j] * P[k];
            x *= omega;
#pragma unroll
            for (int c = 0; c < d; ++c) x += room.mean[c * n + j] * M[c];
            totals.A[j] += x;
        }
#pragma unroll
    for (int j = 0; j < n; ++j) N[j] = 0;
#pragma unroll ROUNDS
    for (int k = 0; k < n; ++k) {
        SCALAR x = room.square[row * PITCH + k];
#pragma unroll
        for (int j = 0; j < n; ++j) N[j] += A.x[k * n + j] * x;
    }
    make_symmetric(room, N);
    if (i < n)
#pragma unroll
        for (int c = 0; c < d; ++c) room.mean[c * n + i] = room.next[c * n + i];
    sync();
}

// The smoothed moments: V = P_f - P_f F P_f, F the lanes' rows of N, and zero at the last step
DEVICE void write_smoothed(const Model &g, const Smoothed &smoothed, int s, int t, Room &room, const SCALAR *P,
                           const SCALAR *N, const SCALAR *M) {
    const int i = lane();
    const long long place = (long long)s * g.steps + t;
    const SCALAR *own = room.square + (i < n ? i : 0) * PITCH;
    SCALAR product[n] = {};   // P_f F
#pragma unroll
    for (int j = 0; j < n; ++j) {
        if (i >= n) continue;
        room.square[i * PITCH + j] = P[j];
        room.transposed[j * PITCH + i] = N[j];
    }
    sync();
#pragma unroll ROUNDS
    for (int k = 0; k < n; ++k)
#pragma unroll
        for (int j = 0; j < n; ++j) product[j] += own[k] * room.transposed[j * PITCH + k];
    if (i < n) {
#pragma unroll ROUNDS
        for (int j = 0; j < n; ++j)
            smoothed.V[(place * n + i) * n + j] = own[j] - dot(product, room.square + j * PITCH);
        for (int c = 0; c < d; ++c) smoothed.M[(place * d + c) * n + i] = M[c];
    }
    sync();
}

#if INDEPENDENT
// From u and F to the r and N of step t, with what y, B and R get; P: from P_f to that before the step
DEVICE void back_through_data(const Model &g, const Bars &bars, int s, int t, Room &room, const Step &step,
                              const Kept &kept, SCALAR *P, SCALAR *N, const SCALAR *M, SCALAR omega,
                              Totals &totals) {
    const int i = lane(), row = i < n ? i : 0;
    const SCALAR *B = at(g.B, s, t), *y = g.y + ((long long)s * g.steps + t) * p;
    SCALAR *y_bar = bars.y ? bars.y + ((long long)s * g.steps + t) * p : nullptr;
#pragma unroll UNROLLED_ELEMENTS
    for (int a = p - 1; a >= 0; --a) {
        if (is_missing(y[a])) {
            if (y_bar && i == 0) y_bar[a] = 0;
            continue;
        }
        const SCALAR *b = step.B.x + a * n, *gain = room.gains + a * n;
        const SCALAR nu = dot(N, gain), inverse = kept.number[a * kept.numbers];
        if (i < n) room.gain[i] = nu;
        for (int c = i; c < d; c += WIDTH)
            room.error[c] = kept.number[(p + a * d + c) * kept.numbers] - dot(gain, room.mean + c * n);
        sync();
        const SCALAR delta = inverse + dot(gain, room.gain);
        if (bars.R) {
            SCALAR x = -omega * delta;
#pragma unroll
            for (int c = 0; c < d; ++c) x += weighted(room, room.error, 1, c) * room.error[c];
            totals.R[a] += REAL(0.5) * x;
        }
        if (y_bar && i == 0) y_bar[a] = -weighted(room, room.error, 1, 0);
        if (bars.B) {
            SCALAR x = omega * (dot(P, room.gain) - gain[row]);
#pragma unroll
            for (int c = 0; c < d; ++c) x += room.error[c] * M[c];
            totals.B[a] += x;
            if (a > 0) {
                const SCALAR f = reciprocal(inverse);
#pragma unroll
                for (int j = 0; j < n; ++j) P[j] += gain[row] * gain[j] * f;
            }
        }
        const SCALAR half = REAL(0.5) * delta, own = B[a * n + row], zeta = half * own - nu;
#pragma unroll
        for (int j = 0; j < n; ++j) N[j] += own * (half * b[j] - room.gain[j]) + zeta * b[j];
        if (i < n)
#pragma unroll
            for (int c = 0; c < d; ++c) room.mean[c * n + i] += own * room.error[c];
        sync();
    }
}
#else
// From u and F to the r and N of step t, with what y, B and R get
DEVICE void back_through_data(const Model &g, const Bars &bars, int s, int t, Room &room, const Step &,
                              const Kept &kept, SCALAR *P, SCALAR *N, const SCALAR *M, SCALAR omega,
                              Totals &totals) {
    const int i = lane(), row = i < n ? i : 0;
    const SCALAR *B = at(g.B, s, t), *y = g.y + ((long long)s * g.steps + t) * p;
    for (int e = i; e < p * n; e += WIDTH) room.B[e] = is_missing(y[e / n]) ? SCALAR(0) : B[e];
    if (i < n)
        for (int a = 0; a < p; ++a) room.C[a * n + i] = dot(N, room.gains + a * n);   // Kᵀ F
    for (int e = i; e < p * d; e += WIDTH)
        room.error[e] = kept.number[(p * p + e) * kept.numbers] - dot(room.gains + e / d * n, room.mean + e % d * n);
    sync();
#pragma unroll UNROLLED_R
    for (int q = 0; q < OWN_OF_R; ++q) {
        int e = i + q * WIDTH, a = e / p, b = e % p;
        if (e >= p * p) continue;
        SCALAR D = kept.number[e * kept.numbers] + dot(room.C + a * n, room.gains + b * n);
        room.S[e] = D;
        if (!bars.R || is_missing(y[a]) || is_missing(y[b])) continue;
        SCALAR x = -omega * D;
        for (int c = 0; c < d; ++c) x += weighted(room, room.error + a * d, 1, c) * room.error[b * d + c];
        totals.R[q] += REAL(0.5) * x;
    }
    if (bars.y)
        for (int a = i; a < p; a += WIDTH)
            bars.y[((long long)s * g.steps + t) * p + a] = -weighted(room, room.error + a * d, 1, 0);
#pragma unroll UNROLLED_ELEMENTS
    for (int a = 0; a < p; ++a) {
        SCALAR x = 0;
        if (bars.B) x = omega * (dot(P, room.C + a * n) - room.gains[a * n + row]);
        for (int c = 0; c < d; ++c) {
            x += room.error[a * d + c] * M[c];
            if (i < n) room.mean[c * n + i] += room.B[a * n + i] * room.error[a * d + c];
        }
        totals.B[a] += x;
    }
    sync();
    if (i < n)
        for (int a = 0; a < p; ++a) {   // Z = ½ D B - Kᵀ F
            SCALAR total = 0;
            for (int b = 0; b < p; ++b) total += room.S[a * p + b] * room.B[b * n + i];
            room.C[a * n + i] = REAL(0.5) * total - room.C[a * n + i];
        }
    sync();
    for (int a = 0; a < p; ++a) {
        const SCALAR b = room.B[a * n + row], zeta = room.C[a * n + row];
#pragma unroll
        for (int j = 0; j < n; ++j) N[j] += b * room.C[a * n + j] + zeta * room.B[a * n + j];
    }
    sync();
}
#endif

extern "C" __global__ void kalman_gradient(
    int series, int steps, int block, const SCALAR *y, const SCALAR *A, int A_series, int A_steps,
    const SCALAR *B, int B_series, int B_steps, const SCALAR *Q, int Q_series, int Q_steps, const SCALAR *R,
    int R_series, int R_steps, const SCALAR *m, int m_series, const SCALAR *P, int P_series, const SCALAR *c,
    int c_series, int c_steps, int diffuse, SCALAR *starts, SCALAR *rows, SCALAR *numbers,
    const int *info, const SCALAR *mixing, const SCALAR *logdet_bar, SCALAR *y_bar, SCALAR *A_bar,
    SCALAR *B_bar, SCALAR *Q_bar, SCALAR *R_bar, SCALAR *m_bar, SCALAR *P_bar, SCALAR *c_bar, SCALAR *means,
    SCALAR *covariances, int from, int until, SCALAR *carried) {
    const Model g = MODEL;
    const Smoothed smoothed = {means, covariances};
    const Bars bars = {y_bar, A_bar, B_bar, Q_bar, R_bar, m_bar, P_bar, c_bar, from, until};
    const int s = item(), i = lane(), row = i < n ? i : 0;
    if (s >= series) return;
    Room &room = *reinterpret_cast<Room *>(shared_of_tile<SCALAR>(ROOM));
    const bool failed = info[s] != 0;
    const SCALAR omega = failed ? not_a_number<SCALAR>() : REAL(-2) * logdet_bar[s];
    SCALAR N[n], P_row[n], M[d];
    // arrays by themselves: what a loop that is not unrolled picks from would keep all of a struct out of registers
    SCALAR A_total[n] = {}, B_total[p] = {}, Q_total[n] = {}, R_total[OWN_OF_R] = {};
    Totals totals = {A_total, B_total, Q_total, R_total, 0};
    Step step;
#pragma unroll
    for (int j = 0; j < n; ++j) N[j] = 0;
    const long long next = (long long)series * n;
    SCALAR *const own = carried_of(g, carried, s);
    if (until < steps)
#pragma unroll
        for (int j = 0; j < n; ++j) N[j] = own[j * next];
    for (int e = i; e < d * d; e += WIDTH)
        room.omega[e] = failed ? not_a_number<SCALAR>() : mixing[(long long)s * d * d + e];
    if (i < n)
        for (int c = 0; c < d; ++c) room.mean[c * n + i] = until < steps ? own[(n + c) * next] : SCALAR(0);
    sync();
    const int last_block = until > 0 ? (until - 1) / block * block : -1;
    for (int first = last_block; first > from - block && first >= 0; first -= block) {
        const int end = first + block < steps ? first + block : steps, last = end < until ? end : until;
        if (BLOCKWISE && !failed && last == end) {   // the filter again: no block is kept
            Sums unused = {};
            int overflow = steps;
            SCALAR r[d];
            const SCALAR *kept = start_of_block(g, s, first);
#pragma unroll
            for (int j = 0; j < n; ++j) P_row[j] = kept[j * (long long)series * n];
            for (int c = 0; c < d; ++c) {
                r[c] = room.mean[c * n + row];
                sync();
                if (i < n) room.mean[c * n + i] = kept[(n + c) * (long long)series * n];
            }
            sync();
            filter_steps(g, s, first, last, room, P_row, unused, overflow, nullptr);
            sync();
            for (int c = 0; c < d; ++c)
                if (i < n) room.mean[c * n + i] = r[c];
        }
        sync();
        for (int t = last - 1; t >= first && t >= from; --t) {
            Kept kept = kept_of(g, s, t - first);
            SCALAR m[d];
#pragma unroll
            for (int j = 0; j < n; ++j)
                P_row[j] = SMOOTHING && failed ? not_a_number<SCALAR>() : kept.row[j * kept.rows];
#pragma unroll
            for (int c = 0; c < d; ++c) m[c] = kept.row[(n + c) * kept.rows];
            if (i < n)
                for (int a = 0; a < p; ++a) room.gains[a * n + i] = kept.row[(n + d + a) * kept.rows];
#pragma unroll
            for (int c = 0; c < d; ++c) M[c] = weighted(room, m, 1, c);
            read_step(g, s, t, t == until - 1, step);
            if (t < steps - 1)
                back_in_time(g, bars, s, t, room, step.A, P_row, N, M, omega, totals);
            else
                sync();
            if (SMOOTHING) write_smoothed(g, smoothed, s, t, room, P_row, N, M);
            back_through_data(g, bars, s, t, room, step, kept, P_row, N, M, omega, totals);
            write_totals(g, bars, s, t, totals);
        }
    }
    if (i >= n) return;
    if (from > 0) {
#pragma unroll
        for (int j = 0; j < n; ++j) own[j * next] = N[j];
        for (int c = 0; c < d; ++c) own[(n + c) * next] = room.mean[c * n + i];
        return;
    }
#pragma unroll
    for (int j = 0; j < n; ++j) {
        SCALAR x = -omega * N[j];
        for (int c = 0; c < d; ++c) x += weighted(room, room.mean + i, n, c) * room.mean[c * n + j];
        if (P_bar) P_bar[((long long)s * n + i) * n + j] = REAL(0.5) * x;
    }
    if (m_bar) m_bar[(long long)s * n + i] = weighted(room, room.mean + i, n, 0);
}
