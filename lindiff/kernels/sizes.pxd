"""Sizes at which compiled code takes another way, each with what it decides and why it is that number.

None changes a result but by rounding: tests/test_thresholds.py looks at both sides of each. The sizes of
plain loops are those up to which they were timed to be faster than a call of BLAS or LAPACK, which takes
0.37 µs for a product of order 4 and 0.86 µs for a Cholesky factorization. The sizes of the kernels for CuPy
are in lindiff_cuda/tuning.py.
"""

# ---- elementwise ---------------------------------------------------------------------------------------
# Counted in elements.

cdef enum:
    # Up to here the inner loop of a ufunc is called without the ufunc around it, which costs 0.5 to 0.8 µs a
    # call. Above, that is less than a tenth of the loop itself.
    UFUNC_LOOPS = 2048

    # Elements that the steps of a formula work on at a time: 4 kB for each intermediate result in float64, so
    # that those of a formula stay in the first cache.
    PROGRAM_BLOCK = 512

    # From here on other threads may run meanwhile: for a formula, and for a product of the chain rule. Giving
    # the GIL back and taking it again costs as much as some hundred elements.
    PROGRAM_UNDER_GIL = 1024
    CHAIN_UNDER_GIL = 2048

    # Above, a formula that looks at its numbers first, to leave out steps, is called instead of its program,
    # which leaves them out block by block only.
    FORMULA_LOOKS = 2048

    # Columns up to which sums over an axis of a matrix are plain loops; NumPy's loop over rows that short
    # takes several times as long.
    THIN_COLUMNS = 64

# ---- products of matrices ------------------------------------------------------------------------------
# Counted in multiplications: rows times inner dimension times columns.

cdef enum:
    # Plain loops in `gemm_one`, `syrk_one` and their pullbacks, up to 8 x 8 matrices; BLAS above.
    GEMM_LOOPS = 512

    # Plain loops in products of arrays of any strides (`matmul`), up to 9 x 9 matrices; BLAS above.
    MATMUL_LOOPS = 729

    # Multiplications from which OpenBLAS may start threads for a product, of complex matrices first: from
    # here on stacks of matrices, and those of two types of numbers, are not left to NumPy and its threads.
    OF_THREADS = 1 << 16

    # Plain loops in the Kalman filter's products of contiguous matrices; BLAS above. It went from 1000 to 600
    # when the filter came to keep its state in blocks of steps.
    KALMAN_LOOPS = 600

    # A constant transition of which one entry of so many, or fewer, is not zero is multiplied entry by entry:
    # companion matrices of ARMA models, seasons. Above SPARSE_STATES states: products of fewer are unrolled.
    SPARSE_ENTRIES = 4
    SPARSE_STATES = 4

    # Order of a square product of which one triangle is wanted (`gemmt`), up to which one gemm on all of it
    # is faster than three on its parts, which have half of the flops.
    GEMMT_LEAF = 64

# ---- triangles -----------------------------------------------------------------------------------------

cdef enum:
    # Order of a triangle, and entries of the matrix beside it, up to which `trsm_one`, `trmm_one` and their
    # pullbacks are plain loops; BLAS above either.
    TRSM_LOOPS = 8
    TRSM_LOOPS_ENTRIES = 128

    # Rows and order from which a triangle on the right of a float64 matrix is solved with by the loops of
    # `trsm_rows`, which lay it out first; and the order above which it is halved, as from there on most of
    # the work is products.
    TRSM_ROWS = 64
    TRSM_ROWS_ORDER_LEAST = 8
    TRSM_ROWS_ORDER = 128

    # Order of a triangle up to which one vector is solved for by plain loops.
    TRSV_LOOPS = 32

    # Side of the square tiles in which matrices are transposed and mirrored: two of them, 8 kB each in
    # float64, stay in the cache while rows of one are read and columns of the other are written.
    TRANSPOSE_TILE = 32

# ---- one matrix ----------------------------------------------------------------------------------------

cdef enum:
    # Order up to which a matrix is factored anew for each operation on it, and with the GIL held: a shared
    # factor costs a look at a dictionary and a Python object, giving the GIL back as much as the arithmetic.
    SINGLE_FACTORS = 32

# ---- Cholesky ------------------------------------------------------------------------------------------

cdef enum:
    # Order of the diagonal blocks that `potrf` and its reverse do by plain loops, half of it for complex
    # matrices, of four times the multiplications. Larger matrices are halved into products and triangles.
    POTRF_LEAF = 32

    # Order up to which such a block is factored where it lies, though its columns are strided. Above, it is
    # copied to its transpose and back.
    POTRF_LEAF_IN_PLACE = 8

# ---- LU and inverse ------------------------------------------------------------------------------------

cdef enum:
    # Order up to which an LU factorization is plain loops, LAPACK's getrf above. It was 8 at first.
    GETRF_LOOPS = 40

    # Order of the triangles that are inverted by plain loops; larger ones are halved into products.
    GETRI_LEAF = 12

# ---- LQ ------------------------------------------------------------------------------------------------

cdef enum:
    # Work of an LQ factorization, rows squared times columns, up to which reflections are applied one after
    # the other. Above, GELQF_BLOCK of them are applied at once, in three products of matrices.
    GELQF_UNBLOCKED = 12000
    GELQF_BLOCK = 32

    # Rows of such a block whose reflections are found one after the other. Larger blocks are halved, so that
    # most of their work is products, too.
    GELQF_LEAF = 4

    # Entries of a row from which BLAS's dot is faster than four sums in a plain loop.
    GELQF_DOT = 48

    # Rows up to which the derivatives leave products with a symmetric factor or result to the plain loops of
    # `gemm_one`; above, BLAS's hemm reads one triangle, and `gemmt` computes one.
    GELQF_SYMMETRIC = 8

    # Rows of the triangles that the derivatives multiply and solve with by plain loops. Larger ones are
    # halved into gemm, which starts threads only where that pays, as OpenBLAS's trsm does at any size.
    GELQF_TRIANGLE_LEAF = 12

# ---- distances -----------------------------------------------------------------------------------------

cdef enum:
    # Columns up to which points are subtracted one column after the other; above, a product of matrices.
    SUBTRACTED_COLUMNS = 3

# ---- symmetric eigenvalues -----------------------------------------------------------------------------

cdef enum:
    # Order up to which a symmetric eigenproblem is solved here, by tridiagonal QR; LAPACK's syevd above.
    SYEVD_LOOPS = 48

    # The same as GELQF_SYMMETRIC, of the derivatives of eigenvectors.
    SYEVD_SYMMETRIC = 8

    # Columns that a sweep of rotations turns together: their part of the row on its way down stays in
    # registers.
    SYEVD_COLUMNS = 8

# ---- batches and threads -------------------------------------------------------------------------------

cdef enum:
    # Order up to which matrices of a batch are shared among threads of ours: BLAS starts none for them.
    SHARED_ORDER = 32

    # Matrices of a batch times their lengths, up to which a kernel keeps the GIL: the work takes about as
    # long as giving the GIL back.
    UNDER_GIL = 32

    # Nanoseconds of work that are worth a thread: to start and join one takes about 30 000.
    WORTH_A_THREAD = 150000

    # Threads of one call at the most: their tasks are counted on the stack.
    MOST_THREADS = 64

    # Multiplications of a Kalman filter between two looks for Ctrl-C: a hundredth of a second at 2 Gflop/s.
    BETWEEN_LOOKS = 20000000

# ---- memory, in bytes ----------------------------------------------------------------------------------

cdef enum:
    # Size from which an array's memory is kept when it dies. Below, NumPy's allocator is faster; from about
    # 100 kB on, the C library gives memory back to the system, which clears it anew page by page: on a batch
    # of (1000, 16, 16) that took longer than the Cholesky factorization and its pullback together.
    KEPT_MEMORY = 1 << 16

    # Size from which the system is asked for huge pages: from two of them on, one lies within for certain.
    HUGE_PAGES = 1 << 22

    # How many blocks of dead arrays are kept for the whole process, and how many bytes in all of them.
    KEPT_BLOCKS = 32
    KEPT_BYTES = 64 << 20

# ---- constants and results that records keep -----------------------------------------------------------

cdef enum:
    # Bytes of an array up to which a record keeps the array itself where nothing but its shape is needed. A
    # larger one is replaced by a stand-in without memory of its own.
    KEPT_ITSELF = 4096

    # Bytes of a constant up to which an operation keeps a copy. A larger one stays under guard: parts of it
    # are looked at when the derivative is taken.
    COPIED_CONSTANT = 32768

    # What a guard looks at: GUARDED_PLACE bytes in every GUARDED_APART, but at GUARDED_FEWEST places at least
    # and at GUARDED_MOST at most. A look at 16 MB costs as much as one at any larger array.
    GUARDED_PLACE = 32
    GUARDED_APART = 16384
    GUARDED_FEWEST = 16
    GUARDED_MOST = 1024

    # Arguments of a function that are looked at for what compiled code writes into them without asking.
    GUARDED_ARGUMENTS = 8

    # Numbers of an array that a tally adds up, by which `checkpoint` sees that a function has computed what
    # it has computed before.
    TALLIED_NUMBERS = 16

    # The same of the results of a whole segment: numbers that are compared one by one, and sums over all.
    COMPARED_NUMBERS = 32
    COMPARED_SUMS = 16
