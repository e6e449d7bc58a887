// Quotients by differences of eigenvalues, F_ij = 1 / h(λ_i - λ_j).
//
// h(t) = max(|t|, ε) sgn(t), ε the rounding of the largest eigenvalue. For eigenvalues that are equal up to
// rounding, a numerator that is zero up to rounding gives zero: a function that does not depend on the choice
// of eigenvectors has a finite gradient.
#pragma once
#include "tile.cuh"

struct Gaps {
    REAL eps, ties, zero;

    // Ascending eigenvalues begin with `first` and end with `last`; numerators are up to `most` large
    __device__ __forceinline__ Gaps(int n, REAL first, REAL last, REAL most) {
        first = fabs(first);
        last = fabs(last);
        eps = Epsilon<REAL>::value * (first > last ? first : last);
        if (!(eps > Epsilon<REAL>::tiny)) eps = Epsilon<REAL>::tiny;
        ties = n * eps;
        zero = n * most * Epsilon<REAL>::value;
    }

    __device__ __forceinline__ SCALAR over(SCALAR x, REAL gap) const {
        if (is_zero(x) || (fabs(gap) <= ties && magnitude(x) <= zero)) return 0;
        if (fabs(gap) < eps) gap = gap >= 0 ? eps : -eps;
        return x * (1 / gap);
    }
};

// A non-negative REAL as bits that are ordered as its values are
template <class R> struct Bits;
template <> struct Bits<float> { typedef unsigned type; };
template <> struct Bits<double> { typedef unsigned long long type; };
typedef Bits<REAL>::type BITS;

DEVICE unsigned bits_of(float x) { return __float_as_uint(x); }
DEVICE unsigned long long bits_of(double x) { return __double_as_longlong(x); }
DEVICE float value_of(unsigned x) { return __uint_as_float(x); }
DEVICE double value_of(unsigned long long x) { return __longlong_as_double(x); }
