// What is wrong with the numbers of an array, in one pass.
#include "tile.cuh"

// flags[0..3] := 1 where there is a NaN, an infinite number, a number that is not at least 0, or, in a stack of
// n x n matrices, what no covariance has but by rounding: a negative variance, asymmetry, or a correlation beyond 1.
// Every lane has its share of the numbers.
extern "C" __global__ void faults(const REAL *x, long long count, int n, int lanes, int *flags) {
    const REAL rounding = sqrt(Epsilon<REAL>::value);
    for (long long e = item(); e < count; e += lanes) {
        const REAL a = x[e];
        if (a != a) flags[0] = 1;
        if (a == a && a - a != 0) flags[1] = 1;
        if (!(a >= 0)) flags[2] = 1;
        const long long matrix = e / ((long long)n * n) * n * n;
        const long long i = (e - matrix) / n, j = (e - matrix) % n;
        const REAL own = x[matrix + i * n + i], other = x[matrix + j * n + j];
        const REAL most = sqrt(fabs(own)) * sqrt(fabs(other)), slack = rounding * most;
        if (!(own >= 0) || !(fabs(a - x[matrix + j * n + i]) <= slack) || !(fabs(a) <= most + slack)) flags[3] = 1;
    }
}
