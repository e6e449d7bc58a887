// The element types of kernels: SCALAR is float, double, complex64 or complex128, REAL its real type.
// Real and complex formulas are one text: for real types conj, real and the rest compile to nothing.
#pragma once

#define DEVICE __device__ __forceinline__

template <class R>
struct __align__(2 * sizeof(R)) Complex {
    R re, im;

    Complex() = default;
    __device__ __forceinline__ Complex(R re, R im = 0) : re(re), im(im) {}

    __device__ __forceinline__ Complex &operator+=(Complex y) { re += y.re; im += y.im; return *this; }
    __device__ __forceinline__ Complex &operator-=(Complex y) { re -= y.re; im -= y.im; return *this; }
    __device__ __forceinline__ Complex &operator*=(Complex y) { return *this = *this * y; }
    __device__ __forceinline__ Complex &operator*=(R y) { re *= y; im *= y; return *this; }
    __device__ __forceinline__ Complex operator-() const { return {-re, -im}; }

    friend __device__ __forceinline__ Complex operator+(Complex x, Complex y) {
        return {x.re + y.re, x.im + y.im};
    }
    friend __device__ __forceinline__ Complex operator-(Complex x, Complex y) {
        return {x.re - y.re, x.im - y.im};
    }
    friend __device__ __forceinline__ Complex operator*(Complex x, Complex y) {
        return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
    }
    friend __device__ __forceinline__ Complex operator*(Complex x, R y) { return {x.re * y, x.im * y}; }
    friend __device__ __forceinline__ Complex operator*(R x, Complex y) { return {x * y.re, x * y.im}; }
};

typedef Complex<float> complex64;
typedef Complex<double> complex128;

template <class T> struct Epsilon;
template <> struct Epsilon<float> { static constexpr float value = 1.1920929e-07f, tiny = 1.1754944e-38f; };
template <> struct Epsilon<double> {
    static constexpr double value = 2.2204460492503131e-16, tiny = 2.2250738585072014e-308;
};

// Re x
DEVICE float real(float x) { return x; }
DEVICE double real(double x) { return x; }
template <class R> DEVICE R real(Complex<R> x) { return x.re; }

// x̄
DEVICE float conj(float x) { return x; }
DEVICE double conj(double x) { return x; }
template <class R> DEVICE Complex<R> conj(Complex<R> x) { return {x.re, -x.im}; }

template <class T> DEVICE T conj_if(bool conjugate, T x) { return conjugate ? conj(x) : x; }

// Whether x is exactly zero
DEVICE bool is_zero(float x) { return x == 0; }
DEVICE bool is_zero(double x) { return x == 0; }
template <class R> DEVICE bool is_zero(Complex<R> x) { return x.re == 0 && x.im == 0; }

// |x|²
DEVICE float square_of(float x) { return x * x; }
DEVICE double square_of(double x) { return x * x; }
template <class R> DEVICE R square_of(Complex<R> x) { return x.re * x.re + x.im * x.im; }

// |Re x| + |Im x|, what LAPACK compares pivots by
DEVICE float size_of(float x) { return fabs(x); }
DEVICE double size_of(double x) { return fabs(x); }
template <class R> DEVICE R size_of(Complex<R> x) { return fabs(x.re) + fabs(x.im); }

// |x|, without overflow
DEVICE float magnitude(float x) { return fabs(x); }
DEVICE double magnitude(double x) { return fabs(x); }
template <class R> DEVICE R magnitude(Complex<R> x) { return hypot(x.re, x.im); }

// The unit u that makes x u positive; 1 for zero
DEVICE float turn_of(float x) { return x < 0 ? -1.0f : 1.0f; }
DEVICE double turn_of(double x) { return x < 0 ? -1.0 : 1.0; }
template <class R> DEVICE Complex<R> turn_of(Complex<R> x) {
    R size = magnitude(x);
    return size == 0 ? Complex<R>(1) : Complex<R>(x.re / size, -x.im / size);
}

// 1 / x; the complex one divides by the larger part first (Smith 1962), so that squares neither overflow
// nor vanish
DEVICE float reciprocal(float x) { return 1 / x; }
DEVICE double reciprocal(double x) { return 1 / x; }
template <class R> DEVICE Complex<R> reciprocal(Complex<R> x) {
    if (fabs(x.re) >= fabs(x.im)) {
        R ratio = x.im / x.re, scale = 1 / (x.re + x.im * ratio);
        return {scale, -ratio * scale};
    }
    R ratio = x.re / x.im, scale = 1 / (x.im + x.re * ratio);
    return {ratio * scale, -scale};
}

// √x and 1 / √x of x > 0: one reciprocal root and a step of Newton's instead of a root and a division
template <class R> DEVICE R root_of(R x, R inverse_root) {
    R root = x * inverse_root;
    return root + (x - root * root) * (inverse_root / 2);
}

template <class T> DEVICE T not_a_number() {
    REAL zero = 0;
    return T(zero / zero);
}
