"""What the processor notes of numbers that are not finite."""

cdef extern from "fenv.h":
    int feraiseexcept(int) nogil
    int fetestexcept(int) nogil
    int FE_DIVBYZERO
    int FE_OVERFLOW
    int FE_UNDERFLOW
    int FE_INVALID

# What the loops of prepared operations note, none of which computes in long double: of the unit for vectors
# alone, which is asked and cleared ten times as fast as all.
cdef extern from *:
    """
    #include <fenv.h>
    #define NOTED (FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID)

    /* Of all units: to ask takes a few nanoseconds, to clear the older one many times as long. */
    static inline void clear_all_flags(void) { if (fetestexcept(NOTED)) feclearexcept(NOTED); }

    #if defined(__x86_64__) && defined(__SSE2__)
    #include <xmmintrin.h>
    static inline int noted_flags(void) { return (int)(_mm_getcsr() & NOTED); }
    static inline void clear_flags(void) { _mm_setcsr(_mm_getcsr() & ~(unsigned)NOTED); }
    #else
    static inline int noted_flags(void) { return fetestexcept(NOTED); }
    static inline void clear_flags(void) { feclearexcept(NOTED); }
    #endif
    """
    int FE_NOTED "NOTED"
    int noted_flags() nogil
    void clear_flags() nogil
    void clear_all_flags() nogil
