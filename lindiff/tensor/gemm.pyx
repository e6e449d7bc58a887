"""Products of matrices whose entries lie at integer forms of loops, in blocks that BLAS multiplies.

A row, a column and a place in the sum are each several loops.  The byte at which an entry lies is a sum of
one number for each of the three, and so is each of the forms that say whether there is an entry or a zero:
what is copied into blocks takes no arithmetic but these sums, once for a run of neighbours.
"""

cimport cython
cimport numpy as cnp
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t
from libc.string cimport memset

from lindiff.kernels.rowmajor cimport gemm, gemv
from lindiff.kernels.scalar cimport complex64, complex128, scalar
from lindiff.tensor.forms cimport keep_from

import numpy as np

cnp.import_array()

cdef enum:
    GUARDS = 16            # of one matrix
    BLOCK = 1 << 16        # numbers of a block of the first matrix, or of the result
    INNER = 256            # places in the sum of a block
    COLUMNS = 512          # of a block of the second matrix


cdef struct Guard:
    const int64_t *batch
    const int64_t *lines
    const int64_t *across
    int64_t step               # from one to the next in a run


cdef struct Matrix:
    char *data
    const int64_t *batch       # where each of the batch lies
    const int64_t *lines       # where each line lies in it
    const int64_t *across      # where each entry lies in a line
    int64_t run, step          # entries in a row, in the direction of copies; from one to the next
    bint along                 # whether that direction is across: in a line
    int64_t row_length         # of a matrix that BLAS takes as it is; 0 of others
    int guards
    Guard guard[GUARDS]


MOST_GUARDS = GUARDS


@cython.final
cdef class Product:
    """``out += scale first second``, of a batch of matrices that lie in arrays at integer forms.

    Parameters
    ----------
    sizes : (int, int, int, int)
        Of the batch, and how many rows, columns and places in the sum.
    first, second, out : tuple
        The matrices: the place of the array in the list that is given, its tables, how long a run is, the
        bytes from one entry of it to the next, whether it is across, the row length if BLAS takes the matrix
        as it is or 0, and its guards, each of tables and the step in a run.  Tables are for the batch, for
        lines (the rows of the first and the result, the columns of the second) and for what is across these.
        An entry is there where no guard is negative.
    scale : float
    kind : int
        The type number of all arrays.
    is_whole : bool
        Whether the result is all of its array.

    Attributes
    ----------
    has_zeros : bool
        Whether entries are zeros that are in no array.
    is_whole : bool
        Whether `put` is there: the result is all of its array.
    """

    cdef int64_t batch, rows, columns, inner
    cdef Matrix first, second, out
    cdef int place_of_first, place_of_second
    cdef list keeping
    cdef double scale
    cdef int kind
    cdef int64_t block_of_rows, block_of_columns, block_of_inner
    cdef char *memory
    cdef readonly bint has_zeros, is_whole

    def __init__(self, tuple sizes, tuple first, tuple second, tuple out, double scale, int kind,
                 bint is_whole):
        self.batch, self.rows, self.columns, self.inner = sizes
        self.scale, self.kind, self.keeping = scale, kind, []
        self.place_of_first = self.laid(&self.first, first)
        self.place_of_second = self.laid(&self.second, second)
        self.laid(&self.out, out)
        self.is_whole = is_whole and self.out.row_length > 0
        self.has_zeros = self.first.guards > 0 or self.second.guards > 0
        cdef bint is_direct = self.first.row_length > 0 and self.second.row_length > 0
        self.block_of_inner = self.inner if is_direct else min(self.inner, INNER)
        is_direct = self.second.row_length > 0 and self.out.row_length > 0
        self.block_of_columns = self.columns if is_direct else min(self.columns, COLUMNS)
        cdef int64_t length = 1 if self.first.row_length > 0 else self.block_of_inner
        if self.out.row_length == 0:
            length = max(length, self.block_of_columns)
        self.block_of_rows = self.rows if length == 1 else min(self.rows, max(BLOCK // length, 1))
        cdef int64_t numbers = 0
        if self.first.row_length == 0:
            numbers += self.block_of_rows * self.block_of_inner
        if self.out.row_length == 0:
            numbers += self.block_of_rows * self.block_of_columns
        if self.second.row_length == 0:
            numbers += self.block_of_inner * self.block_of_columns
        self.memory = <char *>PyMem_Malloc(max(numbers, 1) * cnp.PyArray_DescrFromType(kind).itemsize)
        if self.memory == NULL:
            raise MemoryError()

    def __dealloc__(self):
        PyMem_Free(self.memory)

    cdef int laid(self, Matrix *matrix, tuple given) except -1:
        """Fill in how a matrix lies; the place of its array."""
        place, tables, run, step, along, row_length, guards = given
        matrix.batch, matrix.lines, matrix.across = self.table(tables[0]), self.table(tables[1]), NULL
        matrix.across = self.table(tables[2])
        matrix.run, matrix.step, matrix.along, matrix.row_length = run, step, along, row_length
        matrix.guards = len(guards)
        for k, (tables, step) in enumerate(guards):
            matrix.guard[k].batch, matrix.guard[k].lines = self.table(tables[0]), self.table(tables[1])
            matrix.guard[k].across, matrix.guard[k].step = self.table(tables[2]), step
        return place

    cdef const int64_t *table(self, numbers) except NULL:
        cdef cnp.ndarray kept = np.array(numbers, np.int64)
        self.keeping.append(kept)
        return <const int64_t *>cnp.PyArray_BYTES(kept)

    def run(self, list arrays, cnp.ndarray out):
        """Add to what is in ``out``."""
        self.multiply(arrays, out, 1.0)

    def put(self, list arrays, cnp.ndarray out):
        """Write all of ``out``, whatever is in it."""
        self.multiply(arrays, out, 0.0)

    cdef int multiply(self, list arrays, cnp.ndarray out, double beta) except -1:
        self.first.data = cnp.PyArray_BYTES(<cnp.ndarray?>arrays[self.place_of_first])
        self.second.data = cnp.PyArray_BYTES(<cnp.ndarray?>arrays[self.place_of_second])
        self.out.data = cnp.PyArray_BYTES(out)
        with nogil:
            if self.kind == cnp.NPY_DOUBLE:
                self.products[double](beta, 0.0)
            elif self.kind == cnp.NPY_FLOAT:
                self.products[float](beta, 0.0)
            elif self.kind == cnp.NPY_CDOUBLE:
                self.products[complex128](beta, 0.0)
            else:
                self.products[complex64](beta, 0.0)
        return 0

    cdef int products(self, double beta, scalar _) noexcept nogil:
        cdef int64_t b, n, k
        for b in range(self.batch):
            n = 0
            while n < self.columns:
                k = 0
                while k < self.inner:
                    self.rows_of_blocks[scalar](b, n, min(self.block_of_columns, self.columns - n), k,
                                                min(self.block_of_inner, self.inner - k),
                                                beta if k == 0 else 1.0, 0.0)
                    k += self.block_of_inner
                n += self.block_of_columns
        return 0

    cdef int rows_of_blocks(self, int64_t b, int64_t n, int64_t columns, int64_t k, int64_t inner,
                            double beta, scalar _) noexcept nogil:
        """All rows, for a block of the second matrix."""
        cdef int64_t m = 0, y_length
        # what is direct has no block here, and none is written to
        cdef scalar *packed_first = <scalar *>self.memory
        cdef scalar *result = packed_first
        cdef scalar *packed_second
        if self.first.row_length == 0:
            result += self.block_of_rows * self.block_of_inner
        packed_second = result
        if self.out.row_length == 0:
            packed_second += self.block_of_rows * self.block_of_columns
        cdef const scalar *y = packed[scalar](&self.second, b, n, columns, k, inner, packed_second, &y_length)
        while m < self.rows:
            self.block[scalar](b, m, min(self.block_of_rows, self.rows - m), n, columns, k, inner,
                               packed_first, y, y_length, result, beta)
            m += self.block_of_rows
        return 0

    cdef int block(self, int64_t b, int64_t m, int64_t rows, int64_t n, int64_t columns, int64_t k,
                   int64_t inner, scalar *packed_first, const scalar *y, int64_t y_length,
                   scalar *result, double beta) noexcept nogil:
        """One block of the result, of a part of the sum."""
        cdef int64_t x_length, length = columns
        cdef const scalar *x = packed[scalar](&self.first, b, m, rows, k, inner, packed_first, &x_length)
        cdef scalar *to = result
        if self.out.row_length > 0:
            to = <scalar *>(self.out.data + self.out.batch[b] + self.out.lines[m] + self.out.across[n])
            length = self.out.row_length
        else:
            beta = 0.0
        multiplied[scalar](&self.first, &self.second, rows, columns, inner, self.scale, x, x_length, y,
                           y_length, beta, to, length)
        if self.out.row_length == 0:
            add_to[scalar](&self.out, b, m, rows, n, columns, result)
        return 0


cdef int multiplied(const Matrix *first, const Matrix *second, int64_t rows, int64_t columns,
                    int64_t inner, double scale, const scalar *x, int64_t x_length, const scalar *y,
                    int64_t y_length, double beta, scalar *to, int64_t length) noexcept nogil:
    """``to = scale x y + beta to``"""
    if scalar is float or scalar is double:
        if columns == 1:
            gemv[scalar](not first.along, rows if first.along else inner, inner if first.along else rows,
                         <scalar>scale, x, x_length, y, 1 if second.along else y_length, <scalar>beta, to,
                         length)
            return 0
    gemm[scalar](not first.along, second.along, rows, columns, inner, scale, x, x_length, y, y_length,
                 beta, to, length)
    return 0


cdef struct Piece:
    int64_t start, count, first, last


cdef const scalar *packed(const Matrix *matrix, int64_t b, int64_t line, int64_t lines, int64_t start,
                          int64_t across, scalar *to, int64_t *row_length) noexcept nogil:
    """A block of a matrix as BLAS takes it: the block itself, or a copy."""
    cdef int64_t k
    cdef const char *data = matrix.data + matrix.batch[b]
    if matrix.row_length > 0:
        row_length[0] = matrix.row_length
        return <const scalar *>(data + matrix.lines[line] + matrix.across[start])
    if matrix.along:
        row_length[0] = across
        for k in range(lines):
            copy_line[scalar](matrix, b, data, line + k, start, across, to + k * across)
    else:
        row_length[0] = lines
        for k in range(across):
            copy_line[scalar](matrix, b, data, start + k, line, lines, to + k * lines)
    return to


cdef bint next_piece(const Matrix *matrix, int64_t b, int64_t at, int64_t end, Piece *piece) noexcept nogil:
    """The next run, as far as there are entries in it; False behind the last one."""
    cdef int g
    cdef const Guard *guard
    piece.start += piece.count
    if piece.start >= end:
        return False
    piece.count = min(matrix.run - piece.start % matrix.run, end - piece.start)
    piece.first, piece.last = 0, piece.count - 1
    for g in range(matrix.guards):
        guard = &matrix.guard[g]
        keep_from(
            guard.batch[b] + (guard.lines[at] + guard.across[piece.start] if matrix.along
                              else guard.lines[piece.start] + guard.across[at]),
            guard.step, &piece.first, &piece.last,
        )
    return True


cdef int copy_line(const Matrix *matrix, int64_t b, const char *data, int64_t at, int64_t start,
                   int64_t count, scalar *to) noexcept nogil:
    """Entries in the direction of copies, from ``start`` on, in one piece; zeros where there is none."""
    cdef Piece piece
    cdef int64_t k
    cdef const char *x
    cdef const int64_t *places = matrix.across if matrix.along else matrix.lines
    data += matrix.lines[at] if matrix.along else matrix.across[at]
    piece.start, piece.count = start, 0
    while next_piece(matrix, b, at, start + count, &piece):
        if piece.first > piece.last:
            memset(to, 0, piece.count * sizeof(scalar))
        else:
            x = data + places[piece.start]
            for k in range(piece.first):
                to[k] = 0
            if matrix.step == sizeof(scalar):
                for k in range(piece.first, piece.last + 1):
                    to[k] = (<const scalar *>x)[k]
            else:
                for k in range(piece.first, piece.last + 1):
                    to[k] = (<const scalar *>(x + k * matrix.step))[0]
            for k in range(piece.last + 1, piece.count):
                to[k] = 0
        to += piece.count
    return 0


cdef int add_to(const Matrix *out, int64_t b, int64_t line, int64_t lines, int64_t start, int64_t across,
                const scalar *x) noexcept nogil:
    """Add a block to the result."""
    cdef Piece piece
    cdef int64_t k, i
    cdef char *to
    for i in range(lines):
        piece.start, piece.count = start, 0
        while next_piece(out, b, line + i, start + across, &piece):
            to = out.data + out.batch[b] + out.lines[line + i] + out.across[piece.start]
            if out.step == sizeof(scalar):
                for k in range(piece.first, piece.last + 1):
                    (<scalar *>to)[k] += x[k]
            else:
                for k in range(piece.first, piece.last + 1):
                    (<scalar *>(to + k * out.step))[0] += x[k]
            x += piece.count
    return 0
