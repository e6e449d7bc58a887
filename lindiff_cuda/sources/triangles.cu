// Triangles, symmetry and eigengaps of square matrices of any order, in place. Rows of a matrix lie `row`
// entries apart, matrices `next`: blocks of larger matrices will do. WIDTH is 32.
//
// What concerns one row is done by one tile. What sets an entry against its mirror image is done for tiles of
// 32 x 32 entries and their mirror images, so that memory is read and written along rows.
#include "gaps.cuh"

#define LD (WIDTH + 1)

// The row that a tile works on: item = matrix * n + row
template <class T> struct Row {
    int matrix, i;
    T *x;

    __device__ __forceinline__ Row(T *X, int n, long long row, long long next)
        : matrix(item() / n), i(item() % n), x(X + matrix * next + i * row) {}
};

// X := its lower or upper triangle; the real part of its diagonal times `diagonal`, unless that is 1
extern "C" __global__ void keep_triangle(SCALAR *X, REAL diagonal, long long row, long long next, int count,
                                         int n, int lower) {
    if (item() >= count) return;
    Row<SCALAR> r(X, n, row, next);
    for (int j = (lower ? r.i + 1 : 0) + lane(); j < (lower ? n : r.i); j += WIDTH) r.x[j] = 0;
    if (diagonal != 1 && lane() == 0) r.x[r.i] = real(r.x[r.i]) * diagonal;
}

// Every matrix whose info is not 0 becomes NaN
extern "C" __global__ void refuse(SCALAR *X, const int *info, long long row, long long next, int count, int n,
                                  int columns) {
    if (item() >= count) return;
    Row<SCALAR> r(X, n, row, next);
    if (info[r.matrix] == 0) return;
    for (int j = lane(); j < columns; j += WIDTH) r.x[j] = not_a_number<SCALAR>();
}

// A row whose entry of largest magnitude (of equal ones the first) is not positive is turned
extern "C" __global__ void fix_signs(SCALAR *X, long long row, long long next, int count, int n) {
    if (item() >= count) return;
    Row<SCALAR> r(X, n, row, next);
    REAL size = -1;
    int place = n;
    for (int j = lane(); j < n; j += WIDTH) {
        REAL s = magnitude(r.x[j]);
        if (s > size) {
            size = s;
            place = j;
        }
    }
    REAL most = largest(size);
    place = -largest(size == most ? -place : -n);
    if (place >= n) return;   // all NaN
    SCALAR turn = turn_of(r.x[place]);
    sync();
    for (int j = lane(); j < n; j += WIDTH) r.x[j] *= turn;
}

// bits[matrix] := the largest |x| of the matrix as the bits of a REAL, which are ordered as its values are;
// set to zero before
extern "C" __global__ void largest_entry(const SCALAR *X, BITS *bits, long long row, long long next,
                                         int count, int n) {
    if (item() >= count) return;
    Row<const SCALAR> r(X, n, row, next);
    REAL size = 0;
    for (int j = lane(); j < n; j += WIDTH) {
        REAL s = magnitude(r.x[j]);
        size = s > size ? s : size;
    }
    size = largest(size);
    if (lane() == 0) atomicMax(bits + r.matrix, bits_of(size));
}

// A pair of mirrored tiles: item = (matrix, I, J) with I >= J; their entries in shared memory
struct Pair {
    int matrix, top, left;
    SCALAR *x, *below, *above;
    long long row;

    __device__ __forceinline__ Pair(SCALAR *X, int n, long long row, long long next) : row(row) {
        const int tiles = (n + WIDTH - 1) / WIDTH;
        matrix = item() / (tiles * tiles);
        top = item() / tiles % tiles * WIDTH;
        left = item() % tiles * WIDTH;
        x = X + matrix * next;
        below = shared_of_tile<SCALAR>(2 * WIDTH * LD);
        above = below + WIDTH * LD;
    }

    // `below` := the tile at (top, left), `above` := its mirror image
    __device__ __forceinline__ void load(int n, bool lower, bool upper) {
        for (int r = 0; r < WIDTH; ++r) {
            int i = top + r, j = left + lane();
            if (lower && i < n && j < n) below[r * LD + lane()] = x[i * row + j];
            i = left + r, j = top + lane();
            if (upper && i < n && j < n) above[r * LD + lane()] = x[i * row + j];
        }
        sync();
    }

    // The entry i, j of the matrix, i >= j, and its mirror image, by their places r, c in the tile
    __device__ __forceinline__ SCALAR lower_entry(int r, int c) const { return below[r * LD + c]; }
    __device__ __forceinline__ SCALAR upper_entry(int r, int c) const { return above[c * LD + r]; }

    // x_ij := below, x_ji := above for all i > j of the tile, and the diagonal from `below`
    __device__ __forceinline__ void store(int n) {
        sync();
        for (int r = 0; r < WIDTH; ++r) {
            int i = top + r, j = left + lane();
            if (i < n && j <= i) x[i * row + j] = below[r * LD + lane()];
            i = left + r, j = top + lane();
            if (j < n && i < j) x[i * row + j] = above[r * LD + lane()];
        }
    }
};

// Every lane's part of the entries i >= j of a pair: row r, column `lane`
#define EACH_ENTRY(pair)                                                        \
    for (int r = 0, c = lane(), i = pair.top, j = pair.left + c; r < WIDTH; ++r, ++i) \
        if (i < n && j <= i)

#define PAIR                                             \
    if (item() >= count) return;                         \
    Pair pair(X, n, row, next);                          \
    if (pair.left > pair.top) return;

// X := scale times the Hermitian (or without `hermitian` the symmetric) matrix with the named triangle of X
extern "C" __global__ void mirror(SCALAR *X, REAL scale, long long row, long long next, int count, int n,
                                  int lower, int hermitian) {
    PAIR
    pair.load(n, lower, !lower);
    EACH_ENTRY(pair) {
        SCALAR a = (lower ? pair.lower_entry(r, c) : conj_if(hermitian, pair.upper_entry(r, c))) * scale;
        if (hermitian && i == j) a = real(a);
        pair.below[r * LD + c] = a;
        pair.above[c * LD + r] = conj_if(hermitian, a);
    }
    pair.store(n);
}

// X := scale (X + Xᴴ)
extern "C" __global__ void symmetrize(SCALAR *X, REAL scale, long long row, long long next, int count,
                                      int n) {
    PAIR
    pair.load(n, true, true);
    EACH_ENTRY(pair) {
        SCALAR a = (pair.lower_entry(r, c) + conj(pair.upper_entry(r, c))) * scale;
        if (i == j) a = real(a);
        pair.below[r * LD + c] = a;
        pair.above[c * LD + r] = conj(a);
    }
    pair.store(n);
}

// found := which entries of the named triangle of X have no mirror image: where that is zero, or differs by more
// than `rounding`, relatively
extern "C" __global__ void find_unpaired(SCALAR *X, bool *found, REAL rounding, long long row, long long next,
                                         int count, int n, int lower, int hermitian) {
    PAIR
    pair.load(n, true, true);
    bool *own = found + (long long) pair.matrix * n * n;
    EACH_ENTRY(pair) {
        SCALAR a = lower ? pair.lower_entry(r, c) : pair.upper_entry(r, c);
        SCALAR b = conj_if(hermitian, lower ? pair.upper_entry(r, c) : pair.lower_entry(r, c));
        bool unpaired = i != j && (is_zero(b) || !(size_of(a - b) <= rounding * size_of(b)));
        own[(long long) i * n + j] = unpaired && lower;
        if (i != j) own[(long long) j * n + i] = unpaired && !lower;
    }
}

// X, symmetric, has the whole of a pair at an entry that was `found`, and 0 opposite
extern "C" __global__ void give_to_unpaired(SCALAR *X, const bool *found, long long of_matrix, long long row,
                                            long long next, int count, int n) {
    PAIR
    pair.load(n, true, true);
    const bool *own = found + pair.matrix * of_matrix;
    EACH_ENTRY(pair) {
        SCALAR below = pair.lower_entry(r, c), above = pair.upper_entry(r, c);
        if (own[(long long) i * n + j]) below += below, above = 0;
        else if (own[(long long) j * n + i]) above += above, below = 0;
        pair.below[r * LD + c] = below;
        pair.above[c * LD + r] = above;
    }
    pair.store(n);
}

// T := sym(T ∘ F) + diag(lam_bar), F_ij = 1 / h(λ_i - λ_j); without `has_bar` lam_bar counts as zero.
// `bits` are those of `largest_entry`. Rule and reason: gaps.cuh
extern "C" __global__ void divide_by_gaps(SCALAR *X, const REAL *lam, const REAL *lam_bar, const BITS *bits,
                                          long long row, long long next, int count, int n, int has_bar) {
    PAIR
    const REAL *own = lam + (long long) pair.matrix * n;
    const Gaps gaps(n, own[0], own[n - 1], value_of(bits[pair.matrix]));
    pair.load(n, true, true);
    EACH_ENTRY(pair) {
        SCALAR a = pair.lower_entry(r, c) - conj(pair.upper_entry(r, c));
        a = gaps.over(a, own[i] - own[j]) * REAL(0.5);
        if (i == j) a = has_bar ? lam_bar[(long long) pair.matrix * n + i] : 0;
        pair.below[r * LD + c] = a;
        pair.above[c * LD + r] = conj(a);
    }
    pair.store(n);
}

// lam_dot := the diagonal of the Hermitian T, T := T ∘ F; the lower triangle of T is read
extern "C" __global__ void rotate_by_gaps(SCALAR *X, const REAL *lam, REAL *lam_dot, const BITS *bits,
                                          long long row, long long next, int count, int n) {
    PAIR
    const REAL *own = lam + (long long) pair.matrix * n;
    const Gaps gaps(n, own[0], own[n - 1], value_of(bits[pair.matrix]));
    pair.load(n, true, false);
    EACH_ENTRY(pair) {
        SCALAR a = pair.lower_entry(r, c);
        if (i == j) {
            lam_dot[(long long) pair.matrix * n + i] = real(a);
            a = 0;
        } else {
            a = gaps.over(a, own[i] - own[j]);
        }
        pair.below[r * LD + c] = a;
        pair.above[c * LD + r] = -conj(a);
    }
    pair.store(n);
}
