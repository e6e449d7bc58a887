"""``np.logaddexp`` of many numbers, compiled here.

NumPy asks the C library for an exponential and a logarithm of each number, 23 ns in all.  Here they are one
loop that goes through several numbers at once, 5 ns each: log(eˣ + eʸ) is the larger one plus log(1 + eᵈ),
where d = -|x - y|.  What is added differs from NumPy's by 3 units in its last place at the most, and does not
depend on what stands beside it.
"""

cimport numpy as cnp

from cpython.object cimport PyObject
from libc.math cimport fabs
from libc.string cimport memset

from lindiff.kernels.loops cimport Function, UFunc
from lindiff.programs.flags cimport clear_flags, feraiseexcept, noted_flags

import numpy as np

cnp.import_array()

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    #define PACK 16

    /* e^d = 2^n e^r with r = d - n log 2 by the rational function of Cephes (Moshier, exp.c); log(1 + f) by
       the series in f / (2 + f) of FreeBSD (Sun, e_log.c), where f = e^d, or 1 + e^d = 2 (1 + f).
       The answer is whether this is the case of all: finite numbers, of which e^d is none of the smallest. */
    #define LOGADDEXP_OF(NAME, TARGET, COUNT)                                                           \\
        TARGET static int NAME(const double *x, const double *y, double *out) {                         \\
            int64_t others = 0;                                                                         \\
            int i;                                                                                      \\
            for (i = 0; i < COUNT; i++) {                                                               \\
                const double top = x[i] > y[i] ? x[i] : y[i], low = x[i] > y[i] ? y[i] : x[i];          \\
                const double d = low - top, shifted = d * 1.4426950408889634 + 6755399441055744.0;      \\
                const double n = shifted - 6755399441055744.0;                                          \\
                const double r = (d - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;         \\
                const double rr = r * r;                                                                \\
                const double p = r * ((1.26177193074810590878e-4 * rr + 3.02994407707441961300e-2) * rr \\
                                      + 9.99999999999999999910e-1);                                     \\
                const double q = ((3.00198505138664455042e-6 * rr + 2.52448340349684104192e-3) * rr     \\
                                  + 2.27265548208155028766e-1) * rr + 2.0;                              \\
                uint64_t bits;                                                                          \\
                double power, e, f, s, z, w, half, rest;                                                \\
                int large;                                                                              \\
                memcpy(&bits, &shifted, 8);                                                             \\
                bits = (bits + 1023) << 52;                                                             \\
                memcpy(&power, &bits, 8);                                                               \\
                e = (1.0 + 2.0 * (p / (q - p))) * power;                                                \\
                large = e > 0.41421356237309503;                                                        \\
                f = large ? 0.5 * (e - 1.0) : e;                                                        \\
                s = f / (2.0 + f);                                                                      \\
                z = s * s;                                                                              \\
                w = z * z;                                                                              \\
                half = 0.5 * f * f;                                                                     \\
                rest = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01                    \\
                            + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)))           \\
                       + w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01                  \\
                              + w * 1.531383769920937332e-01));                                         \\
                out[i] = top + ((large ? 6.93147180369123816490e-01 : 0.0)                              \\
                                - ((half - (s * (half + rest)                                           \\
                                            + (large ? 1.90821492927058770002e-10 : 0.0))) - f));       \\
                others |= (fabs(top) <= 1e300) & (d >= -700.0) ? 0 : 1;                                 \\
            }                                                                                           \\
            return others == 0;                                                                         \\
        }

    LOGADDEXP_OF(logaddexp_of_two, , 2)
    LOGADDEXP_OF(logaddexp_of_any, , PACK)
    #if defined(__x86_64__) && defined(__GNUC__)
    LOGADDEXP_OF(logaddexp_of_four, __attribute__((target("avx2"))), PACK)
    static int has_four(void) { return __builtin_cpu_supports("avx2") != 0; }
    #else
    #define logaddexp_of_four logaddexp_of_any
    static int has_four(void) { return 0; }
    #endif
    """
    int PACK
    int logaddexp_of_two(const double *x, const double *y, double *out) noexcept nogil
    int logaddexp_of_any(const double *x, const double *y, double *out) noexcept nogil
    int logaddexp_of_four(const double *x, const double *y, double *out) noexcept nogil
    bint has_four() noexcept

ctypedef int (*Packed)(const double *x, const double *y, double *out) noexcept nogil

# The same to the last bit, with as many numbers at once as the processor has instructions for.
cdef Packed packed = logaddexp_of_four if has_four() else logaddexp_of_any


cdef struct Numpys:
    Function function
    void *data


cdef Numpys numpys
numpys.function = (<UFunc *><PyObject *>np.logaddexp).functions[list(np.logaddexp.types).index("dd->d")]
numpys.data = (<UFunc *><PyObject *>np.logaddexp).data[list(np.logaddexp.types).index("dd->d")]


cdef void *numpys_logaddexp() noexcept:
    """What the loop below takes besides its operands."""
    return &numpys


cdef void logaddexp_loop(char **args, const cnp.npy_intp *dims, const cnp.npy_intp *steps,
                         void *others) noexcept nogil:
    """In the way of a ufunc's loop; numbers that are not finite, or far apart, are left to NumPy's."""
    cdef double x[16]
    cdef double y[16]
    cdef double out[16]
    cdef cnp.npy_intp start = 0, i, n
    cdef int noted = noted_flags()
    memset(x, 0, sizeof(x))
    memset(y, 0, sizeof(y))
    while start < dims[0]:
        n = min(<cnp.npy_intp>PACK, dims[0] - start)
        for i in range(n):
            x[i] = (<double *>(args[0] + (start + i) * steps[0]))[0]
            y[i] = (<double *>(args[1] + (start + i) * steps[1]))[0]
        if not (logaddexp_of_two(x, y, out) if n <= 2 else packed(x, y, out)):
            noted |= by_numpy(x, y, out, n, <Numpys *>others)
        for i in range(n):
            (<double *>(args[2] + (start + i) * steps[2]))[0] = out[i]
        start += n
    clear_flags()  # of what NumPy would not have met
    if noted:
        feraiseexcept(noted)


cdef int by_numpy(double *x, double *y, double *out, cnp.npy_intp n, const Numpys *others) noexcept nogil:
    """Those of some numbers that are none of the case above; what the processor notes of them."""
    cdef cnp.npy_intp i, one = 1
    cdef cnp.npy_intp[3] steps = [8, 8, 8]
    cdef char *args[3]
    cdef int noted = 0
    for i in range(n):
        if fabs(x[i]) <= 1e300 and fabs(y[i]) <= 1e300 and fabs(x[i] - y[i]) <= 700:
            continue
        args[0], args[1], args[2] = <char *>&x[i], <char *>&y[i], <char *>&out[i]
        clear_flags()
        others.function(args, &one, steps, others.data)
        noted |= noted_flags()
    return noted
