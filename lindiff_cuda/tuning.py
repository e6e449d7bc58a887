"""Where one way of computing gives place to another: all such numbers of this package, for whoever measures.

They come from counted bytes and flops. None changes a result but by rounding. Limits that a library or a
device sets are not here but where they are kept; what sources/kalman.cu unrolls is said there.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BLOCKS",
    "BLOCKS_EACH",
    "BLOCKWISE",
    "BYTES_OF_PARTS",
    "CHOLESKY_BATCHED",
    "CHOLESKY_LEAF",
    "COLUMNS",
    "FUSED",
    "GEMMT_LEAF",
    "INFO_AS_IT_IS",
    "LANES_OF_FAULTS",
    "LU_BATCHED",
    "MATRICES",
    "STEPS_IN_PASSING",
    "SYRK_ALONE",
    "THREADS",
    "TRSM_BATCHED",
    "VECTORS",
    "WARPS",
    "is_blockwise",
    "is_fused",
    "is_fused_along",
]

# ---- fused kernels of small matrices -------------------------------------------------------------------

# The largest order that the fused kernel of an operation is given, at most `launching.ORDER`. Above it
# libraries do the work, in more launches and passes over memory. Of 32 complex numbers a column does not fit
# into registers, and the compiler works on it for half a minute; eigenvectors and LQ are real.
#                     float32  float64  complex64  complex128
FUSED = {
    "potrf":             (32,      32,        16,         16),
    "potrf_pullback":    (32,      32,        16,         16),
    "potrf_pushforward": (32,      32,        16,         16),
    "potri":             (32,      32,        16,         16),
    "potri_pullback":    (32,      32,        16,         16),
    "potri_pushforward": (32,      32,        16,         16),
    "trsm":              (32,      32,        16,         16),
    "trsm_pullback":     (32,      32,        16,         16),
    "trmm":              (32,      32,        16,         16),
    "trmm_pullback":     (32,      32,        16,         16),
    "getrf":             (32,      32,        16,         16),
    "getrs":             (32,      32,        16,         16),
    "getri":             (32,      32,        16,         16),
    "gelqf":             (32,      32,        16,         16),
    "gelqf_pullback":    (32,      32,        16,         16),
    "syevd":             (32,      32,         0,          0),
    "syevd_pullback":    (32,      32,         0,          0),
    "syevd_pushforward": (32,      32,         0,          0),
}  # fmt: skip
LETTERS = "fdFD"
OWN_ENTRIES = 1 << 30  # of one matrix: the kernels count them in 32 bits

# The same for the kernels that give each matrix a block of threads, between the orders above and those where
# one matrix has work for the whole GPU. They hold it in shared memory where it fits (order 168 of float64 and
# 240 of float32 on an H100, 110 and 156 on a GPU with 99 kB), else the multiprocessors share the cache.
#                     float32  float64  complex64  complex128
BLOCKWISE = {
    "gelqf":             (256,    256,         0,          0),
    "syevd":             (256,    256,         0,          0),
    "gesvd":             (256,    256,         0,          0),
}  # fmt: skip
# Matrices from which that is faster than cuSOLVER, which takes one after the other, each with the whole GPU.
BLOCKS = 4
# Warps of such a block for every 32 rows: more hide more of the waiting, but wait for each other at barriers.
WARPS = 4

# Vectors up to which a small triangle, and columns up to which a matrix of few rows, goes to the fused
# kernel, whose lanes walk along them: more wait for each other, where products would use the whole GPU.
VECTORS, COLUMNS = 128, 512
# Matrices from which there are enough of them to fill the GPU however long each one is.
MATRICES = 1024
# Threads of a block of fused kernels: more hide more of the waiting for memory, fewer leave room for others.
THREADS = 128
# Such blocks for every multiprocessor: where there are not so many, they have fewer threads, down to a warp.
BLOCKS_EACH = 2

# ---- batches in libraries ------------------------------------------------------------------------------

# Orders up to which a library's routine takes a whole batch. It gives each matrix one block of threads: one
# launch, at the speed of one multiprocessor a matrix. Larger triangles and Cholesky factors are halved, for
# batched products; larger LU factors are taken one by one, each with the whole GPU.
TRSM_BATCHED = 64
CHOLESKY_BATCHED = 64
LU_BATCHED = 256

# ---- large matrices ------------------------------------------------------------------------------------

# Order of the diagonal blocks for which Cholesky's derivatives take the paper's three products as they stand.
# They have six times the flops of the recursion, in few launches: of order 256, 0.13 GFlop in about the time
# of one launch. All these blocks are inverted together beforehand, so that each has products, and no solve:
# cuBLAS takes some 60 µs for one of order 256, against 10 µs for a product.
CHOLESKY_LEAF = 256
# Order up to which one gemm is taken for a product of which one triangle is wanted: a GPU that cannot fill
# itself with a smaller block wastes less on the other half than on more launches.
GEMMT_LEAF = 1024
# Order from which syrk, one call for each matrix of a batch, saves more than the one call of batched gemm.
SYRK_ALONE = 512

# ---- what is kept or read back -------------------------------------------------------------------------

# Matrices up to which `info` comes to the host as it is, 4 bytes each; of more, the GPU first says in one
# more launch whether any has failed.
INFO_AS_IT_IS = 1 << 12
# Steps of time series of which is kept what nobody comes back for: memory against reading a model again.
STEPS_IN_PASSING = 32
# Bytes for the gradients that single time series have of arrays which they share, one for every step, before
# these are summed: more make fewer launches. A quarter of a gigabyte takes some 100 µs to write and read.
BYTES_OF_PARTS = 1 << 28
# Lanes that look an array through for NaN and the like: as many as keep a GPU busy, more would find no room.
LANES_OF_FAULTS = 1 << 18


# ---- the rules -----------------------------------------------------------------------------------------


def is_fused(operation: str, order: int, dtype: Any) -> bool:
    """Whether matrices of this order are for the fused kernel of an operation."""
    return order <= FUSED[operation][LETTERS.index(dtype.char)]


def is_blockwise(operation: str, order: int, dtype: Any, count: int, length: int = 0) -> bool:
    """Whether so many matrices of this order, with rows of this length, are for the kernel that gives each a
    block of threads.
    """
    in_time = length <= COLUMNS or count >= MATRICES
    fits = order <= BLOCKWISE[operation][LETTERS.index(dtype.char)] and order * length <= OWN_ENTRIES
    return count >= BLOCKS and fits and in_time


def is_fused_along(operation: str, order: int, dtype: Any, length: int, most: int, count: int) -> bool:
    """`is_fused` for one that walks along `length` vectors: at most `most`, unless matrices abound."""
    fits = is_fused(operation, order, dtype) and order * length <= OWN_ENTRIES
    return fits and (length <= most or count >= MATRICES)
