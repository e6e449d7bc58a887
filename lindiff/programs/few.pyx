"""Sums, products and the like of a few real numbers, compiled here.

A loop of NumPy's is made for many numbers: of one it takes 10 to 20 ns, of which the sum is one.  IEEE's
standard fixes these operations to the last bit, so both give the same.
"""

cimport numpy as cnp

from lindiff.programs.prepared cimport Run

# More are as fast in NumPy's loops.
cdef enum:
    FEW = 64

cdef extern from *:
    """
    #include <math.h>
    #include <stddef.h>

    typedef int (*few_run)(const void *state, char **x);

    /* The chain rule's: 0 inf = 0, and 0 / 0 = 0 for a cotangent of zero. */
    #define CHAIN_PRODUCT(g, p) (((g) == 0) | ((p) == 0) ? 0 : (g) * (p))
    #define CHAIN_QUOTIENT(g, q) ((q) != (q) && (g) == 0 ? 0 : (q))

    /* One number; rows; a number and a row; a row and a number. */
    #define OF_TWO(NAME, REAL, RESULT, EXPRESSION)                                                      \\
        static inline RESULT NAME##_of(REAL a, REAL b) { return EXPRESSION; }                           \\
        static int NAME##_one(const void *state, char **x) {                                            \\
            *(RESULT *)x[2] = NAME##_of(*(REAL *)x[0], *(REAL *)x[1]); return 0; }                      \\
        static int NAME##_rows(const void *state, char **x) {                                           \\
            const ptrdiff_t n = *(const ptrdiff_t *)state; ptrdiff_t i;                                 \\
            const REAL *a = (REAL *)x[0], *b = (REAL *)x[1]; RESULT *c = (RESULT *)x[2];                \\
            for (i = 0; i < n; i++) c[i] = NAME##_of(a[i], b[i]);                                       \\
            return 0; }                                                                                 \\
        static int NAME##_left(const void *state, char **x) {                                           \\
            const ptrdiff_t n = *(const ptrdiff_t *)state; ptrdiff_t i;                                 \\
            const REAL a = *(REAL *)x[0]; const REAL *b = (REAL *)x[1]; RESULT *c = (RESULT *)x[2];     \\
            for (i = 0; i < n; i++) c[i] = NAME##_of(a, b[i]);                                          \\
            return 0; }                                                                                 \\
        static int NAME##_right(const void *state, char **x) {                                          \\
            const ptrdiff_t n = *(const ptrdiff_t *)state; ptrdiff_t i;                                 \\
            const REAL *a = (REAL *)x[0]; const REAL b = *(REAL *)x[1]; RESULT *c = (RESULT *)x[2];     \\
            for (i = 0; i < n; i++) c[i] = NAME##_of(a[i], b);                                          \\
            return 0; }                                                                                 \\
        static const few_run NAME##_runs[4] = {NAME##_one, NAME##_rows, NAME##_left, NAME##_right};

    #define OF_ONE(NAME, REAL, EXPRESSION)                                                              \\
        static int NAME##_one(const void *state, char **x) {                                            \\
            const REAL a = *(REAL *)x[0]; *(REAL *)x[1] = EXPRESSION; return 0; }                       \\
        static int NAME##_rows(const void *state, char **x) {                                           \\
            const ptrdiff_t n = *(const ptrdiff_t *)state; ptrdiff_t i;                                 \\
            for (i = 0; i < n; i++) {                                                                   \\
                const REAL a = ((REAL *)x[0])[i]; ((REAL *)x[1])[i] = EXPRESSION; }                     \\
            return 0; }                                                                                 \\
        static const few_run NAME##_runs[4] = {NAME##_one, NAME##_rows, NULL, NULL};

    #define OF_REAL(SUFFIX, REAL)                                                                       \\
        OF_TWO(add##SUFFIX, REAL, REAL, a + b)                                                          \\
        OF_TWO(subtract##SUFFIX, REAL, REAL, a - b)                                                     \\
        OF_TWO(multiply##SUFFIX, REAL, REAL, a * b)                                                     \\
        OF_TWO(divide##SUFFIX, REAL, REAL, a / b)                                                       \\
        OF_TWO(product##SUFFIX, REAL, REAL, CHAIN_PRODUCT(a, b))                                        \\
        OF_TWO(quotient##SUFFIX, REAL, REAL, CHAIN_QUOTIENT(a, a / b))                                  \\
        OF_TWO(equal##SUFFIX, REAL, char, a == b)                                                       \\
        OF_TWO(not_equal##SUFFIX, REAL, char, a != b)                                                   \\
        OF_ONE(negative##SUFFIX, REAL, -a)                                                              \\
        OF_ONE(square##SUFFIX, REAL, a * a)                                                             \\
        static const few_run *runs##SUFFIX[10] = {                                                      \\
            add##SUFFIX##_runs, subtract##SUFFIX##_runs, multiply##SUFFIX##_runs, divide##SUFFIX##_runs, \\
            product##SUFFIX##_runs, quotient##SUFFIX##_runs, equal##SUFFIX##_runs,                      \\
            not_equal##SUFFIX##_runs, negative##SUFFIX##_runs, square##SUFFIX##_runs};

    OF_REAL(_d, double)
    OF_REAL(_f, float)

    /* Which one of them; kind 0 to 3 as above. */
    static few_run few_run_of(int wide, int which, int kind) {
        return (wide ? runs_d : runs_f)[which][kind];
    }
    """
    Run few_run_of(int wide, int which, int kind) nogil

# Those of two numbers, those of two that give a truth value, and those of one.
cdef list OF_TWO = ["add", "subtract", "multiply", "divide", "product", "quotient"]
cdef list COMPARING = ["equal", "not_equal"]
cdef list OF_ONE = ["negative", "square"]
cdef list NAMES = OF_TWO + COMPARING + OF_ONE


cdef void few_loop(char **args, const cnp.npy_intp *dims, const cnp.npy_intp *steps,
                   void *run) noexcept nogil:
    """A ``run`` of few numbers in the way of a ufunc's loop, of the very steps that it was asked for with."""
    (<Run>run)(dims, args)


cdef Run run_of_few(str name, str letters, cnp.npy_intp n, const cnp.npy_intp *steps) except? NULL:
    """The function for an operation of this name on ``n`` numbers; NULL where there is none.

    ``letters`` are the types of operands and result, ``steps`` theirs in bytes.
    """
    cdef str letter = letters[0]
    cdef int operands = <int>len(letters) - 1
    cdef cnp.npy_intp size = 8 if letter == "d" else 4
    if name not in NAMES or letter not in ("d", "f") or not 0 < n <= FEW \
            or operands != (1 if name in OF_ONE else 2) \
            or letters != operands * letter + ("?" if name in COMPARING else letter):
        return NULL
    cdef int which = NAMES.index(name), kind
    if n == 1:
        kind = 0
    elif steps[operands] != (1 if name in COMPARING else size):
        return NULL
    elif steps[0] == size and (operands == 1 or steps[1] == size):
        kind = 1
    elif operands == 2 and steps[0] == 0 and steps[1] == size:
        kind = 2
    elif operands == 2 and steps[0] == size and steps[1] == 0:
        kind = 3
    else:
        return NULL
    return few_run_of(letter == "d", which, kind)
