/* Rows of a solve with a triangle on the right, X op(L) = alpha B, eight at a time.

A tile of 8 rows and 4 columns of X stays in registers, first while products with the columns that are known
are summed, then while its own columns are solved for.  Only processors with AVX2 and FMA have these loops, and
only GCC and Clang compile them; whoever calls asks `has_row_solves` first.
*/

#ifndef LINDIFF_TRSM_ROWS_H
#define LINDIFF_TRSM_ROWS_H

#include <stddef.h>

/* Not on Windows, where GCC does not align registers that it keeps on the stack. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)

#include <immintrin.h>
#include <string.h>

#define ROWS 8
#define COLUMNS 4
#define ON_AVX2 __attribute__((target("avx2,fma")))

static int has_row_solves(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

/* The k-th column of a tile x, as soon as it is known, goes to b, and from the columns that are not known. */
ON_AVX2 static inline __attribute__((always_inline)) void
solve_column(const int rows, const int k, __m256d *x, const double *T, ptrdiff_t ldt,
             const double *reciprocals, double *b, ptrdiff_t ldb)
{
    const __m256d t = _mm256_loadu_pd(T + k * ldt);
    for (int r = 0; r < rows; r++) {
        const double known = x[r][k] * reciprocals[k];
        b[r * ldb + k] = known; /* not from x at the end: an infinite one spoils its columns on the way */
        x[r] = _mm256_fnmadd_pd(_mm256_set1_pd(known), t, x[r]);
    }
}

/* `width` columns of X from b on, of as many rows; T is op(L) without its diagonal, in rows of `ldt`, from
   the first of these columns on, with zeros elsewhere; `count` columns are known, from `known` on, and their
   rows of T begin at `T_known`. */
ON_AVX2 static inline __attribute__((always_inline)) void
solve_tile(const int rows, const int forward, const int width, double alpha, ptrdiff_t count,
           const double *known, const double *T_known, const double *T, ptrdiff_t ldt,
           const double *reciprocals, double *b, ptrdiff_t ldb)
{
    const __m256d scale = _mm256_set1_pd(alpha);
    __m256d x[ROWS];
    for (int r = 0; r < rows; r++)
        x[r] = _mm256_setzero_pd();
    for (ptrdiff_t k = 0; k < count; k++) {
        const __m256d t = _mm256_loadu_pd(T_known + k * ldt);
        for (int r = 0; r < rows; r++)
            x[r] = _mm256_fmadd_pd(_mm256_broadcast_sd(known + r * ldb + k), t, x[r]);
    }
    /* The sum is subtracted at once: of b, which may be far larger, little is lost to rounding. */
    for (int r = 0; r < rows; r++) {
        double part[COLUMNS] = {0};
        if (width < COLUMNS)
            memcpy(part, b + r * ldb, width * sizeof(double));
        x[r] = _mm256_fmsub_pd(scale, _mm256_loadu_pd(width < COLUMNS ? part : b + r * ldb), x[r]);
    }
    /* Written out, as a loop over places in a register would keep x in memory. */
    const int first = forward ? 0 : 3, second = forward ? 1 : 2, third = 3 - second, last = 3 - first;
    if (first < width)
        solve_column(rows, first, x, T, ldt, reciprocals, b, ldb);
    if (second < width)
        solve_column(rows, second, x, T, ldt, reciprocals, b, ldb);
    if (third < width)
        solve_column(rows, third, x, T, ldt, reciprocals, b, ldb);
    if (last < width)
        solve_column(rows, last, x, T, ldt, reciprocals, b, ldb);
}

ON_AVX2 static inline __attribute__((always_inline)) void
solve_strip(const int rows, const int forward, ptrdiff_t n, double alpha, const double *T, ptrdiff_t ldt,
            const double *reciprocals, double *b, ptrdiff_t ldb)
{
    const ptrdiff_t full = n / COLUMNS * COLUMNS;
    const int rest = (int)(n - full);
    if (!forward && rest)
        solve_tile(rows, 0, rest, alpha, 0, b, T, T + full * (ldt + 1), ldt, reciprocals + full, b + full,
                   ldb);
    for (ptrdiff_t i = 0; i < full; i += COLUMNS) {
        const ptrdiff_t at = forward ? i : full - COLUMNS - i, after = at + COLUMNS;
        const double *here = T + at * (ldt + 1);
        if (forward)
            solve_tile(rows, 1, COLUMNS, alpha, at, b, T + at, here, ldt, reciprocals + at, b + at, ldb);
        else
            solve_tile(rows, 0, COLUMNS, alpha, n - after, b + after, T + after * ldt + at, here, ldt,
                       reciprocals + at, b + at, ldb);
    }
    if (forward && rest)
        solve_tile(rows, 1, rest, alpha, full, b, T + full, T + full * (ldt + 1), ldt, reciprocals + full,
                   b + full, ldb);
}

/* All m rows of B (m, n): columns one after the other from the first on, or `forward` = 0 from the last. */
ON_AVX2 static void
solve_rows(int forward, ptrdiff_t m, ptrdiff_t n, double alpha, const double *T, ptrdiff_t ldt,
           const double *reciprocals, double *B, ptrdiff_t ldb)
{
    ptrdiff_t i = 0;
    for (; i + ROWS <= m; i += ROWS)
        if (forward)
            solve_strip(ROWS, 1, n, alpha, T, ldt, reciprocals, B + i * ldb, ldb);
        else
            solve_strip(ROWS, 0, n, alpha, T, ldt, reciprocals, B + i * ldb, ldb);
    for (; i < m; i++)
        solve_strip(1, forward, n, alpha, T, ldt, reciprocals, B + i * ldb, ldb);
}

#else

static int has_row_solves(void) { return 0; }

static void
solve_rows(int forward, ptrdiff_t m, ptrdiff_t n, double alpha, const double *T, ptrdiff_t ldt,
           const double *reciprocals, double *B, ptrdiff_t ldb)
{
}

#endif
#endif
