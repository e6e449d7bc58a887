"""Arrays in, arrays out: BLAS, LAPACK and small loops; no Variable is ever seen here."""
