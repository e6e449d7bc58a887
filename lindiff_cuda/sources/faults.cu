// What is wrong with the numbers of arrays, of all in one pass.
#include "tile.cuh"

// What the host says of an array: where it is, how many numbers it has, or rows of stacked matrices of order
// n > 0, and which lanes have their share of them: so many from number `first` on.
struct Asked {
    long long x, count, n, first, lanes;
};

// own[0..2] := 1 for NaN, an infinite number, a number that is not at least 0
DEVICE void look(REAL a, int *own) {
    if (a != a) own[0] = 1;
    if (a == a && a - a != 0) own[1] = 1;
    if (!(a >= 0)) own[2] = 1;
}

// The same, and own[3] := 1 for what no covariance has but by rounding: a negative variance, asymmetry, or a
// correlation beyond 1. One division a lane, for the place of its first row; from there on it is counted.
DEVICE void look_at_rows(const Asked &asked, int row, int *own) {
    const REAL rounding = sqrt(Epsilon<REAL>::value);
    const int n = asked.n, lanes = asked.lanes, further = lanes % n;
    int i = row % n;   // of the row in its matrix
    for (long long r = row; r < asked.count; r += lanes) {
        const REAL *x = (const REAL *)asked.x + r * n, *matrix = x - (long long)i * n;
        const REAL *mirrored = matrix + i, *variance = matrix;
        const REAL deviation = sqrt(fabs(x[i]));
        if (!(x[i] >= 0)) own[3] = 1;
        for (int j = 0; j < n; ++j, mirrored += n, variance += n + 1) {
            const REAL most = deviation * sqrt(fabs(*variance)), slack = rounding * most;
            look(x[j], own);
            if (!(fabs(x[j] - *mirrored) <= slack) || !(fabs(x[j]) <= most + slack)) own[3] = 1;
        }
        i += further;
        if (i >= n) i -= n;
    }
}

// flags, four for each array, := 1 where it has such a fault. COVARIANCE: any of the arrays holds matrices.
extern "C" __global__ void faults(const long long *table, int arrays, int lanes, int *flags) {
    const Asked *asked = (const Asked *)table;
    if (item() >= lanes) return;
    int k = 0;
    while (k + 1 < arrays && item() >= asked[k + 1].first) ++k;
    const int share = item() - (int)asked[k].first;
    int *own = flags + 4 * k;
    if (COVARIANCE && asked[k].n > 0) {
        look_at_rows(asked[k], share, own);
        return;
    }
    const REAL *x = (const REAL *)asked[k].x;
    const long long count = asked[k].count, step = asked[k].lanes;
#pragma unroll 1   // else the compiler divides to count the steps
    for (long long e = share; e < count; e += step) look(x[e], own);
}
