// What the diagonal of a matrix says of a failure; a tile looks at one matrix.
#include "tile.cuh"

// info[i] := 1 + the index of the first entry on the diagonal of matrix i that is zero (`positive`: that is
// not greater than zero; NaN is not), if there is one and no smaller index than info[i] said before.
// Matrices are `step` entries apart, rows `ld`.
extern "C" __global__ void first_bad(const SCALAR *__restrict__ X, long long step, int ld, int n,
                                     int positive, int *info, int count) {
    int i = item();
    if (i >= count) return;
    const SCALAR *x = X + i * step;
    int first = n;
    for (int k = lane(); k < n && first == n; k += WIDTH) {
        SCALAR d = x[k * (ld + 1LL)];
        if (positive ? !(real(d) > 0) : is_zero(d)) first = k;
    }
    first = -largest(-first);
    if (lane() == 0 && first < n && (info[i] == 0 || first + 1 < info[i])) info[i] = first + 1;
}
