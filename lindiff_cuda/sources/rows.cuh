// Rows of entries one after the other that the lanes of a tile go along together.
#pragma once
#include "tile.cuh"

// √(x xᴴ) of a row, for every lane, also where squares overflow or vanish
DEVICE REAL norm_of(const SCALAR *x, int n) {
    const REAL low = sizeof(REAL) == 4 ? 1e-30 : 1e-280, high = sizeof(REAL) == 4 ? 1e30 : 1e280;
    REAL total = 0, most = 0;
    for (int j = lane(); j < n; j += WIDTH) total += square_of(x[j]);
    total = sum(total);
    if ((total > low && total < high) || total != total) return sqrt(total);
    for (int j = lane(); j < n; j += WIDTH) {
        REAL size = magnitude(x[j]);
        most = size > most ? size : most;
    }
    most = largest(most);
    if (most == 0) return 0;
    total = 0;
    for (int j = lane(); j < n; j += WIDTH) {
        REAL size = magnitude(x[j]) / most;
        total += size * size;
    }
    return most * sqrt(sum(total));
}
