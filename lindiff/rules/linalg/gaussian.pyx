"""What carries out the rule of Gaussian log densities; the gradient overwrites what the walk alone holds."""

cimport cython
cimport numpy as cnp
from cpython.ref cimport Py_REFCNT

from lindiff.core.record cimport Node, NodeOfMany, Pull, Push, Trace
from lindiff.core.registry cimport Entry
from lindiff.core.variable cimport innermost, node_in, record, value_in
from lindiff.kernels.elementwise cimport is_plain
from lindiff.kernels.triangles cimport unpaired_in

from lindiff import kernels
from lindiff.linalg._one_triangle import onto_unpaired
from lindiff.linalg.diagonals import extractdiag, makediag
from lindiff.linalg.gaussian import density_of_rows, log_density_pullback, log_density_pushforward
from lindiff.linalg.triangular import trsm

cnp.import_array()


@cython.no_gc
@cython.final
cdef class LogDensity(NodeOfMany):
    """``a`` is the covariance's node, ``b`` that of the residuals, ``rest`` holds that of the noise."""

    cdef cnp.ndarray L
    cdef cnp.ndarray Z
    cdef object unpaired  # which entries of the covariance's lower triangle have no mirror image

    cdef int pull(self, Pull walk, object p_bar) except -1:
        if self.L is None:
            raise RuntimeError("this record was released by an earlier backward walk")
        if self.a is None and self.rest is None:
            walk.add(self.b, -(trsm(self.L, self.Z, rightside=True) * p_bar[..., None]), True)
            return 0
        A_bar, R_bar = self.pulled(walk, p_bar)
        if self.rest is not None:
            walk.add(<Node>self.rest[0], extractdiag(A_bar), True)
        if self.b is not None:
            walk.add(self.b, R_bar, True)
        if self.a is not None:
            if self.unpaired is not None:
                A_bar = onto_unpaired(A_bar, self.unpaired, overwrite_m_bar=True)
            walk.add(self.a, A_bar, True)
        return 0

    cdef tuple pulled(self, Pull walk, object p_bar):
        """``A_bar``, ``R_bar``; in the memory of L and Z where this is their last use."""
        cdef cnp.ndarray L = self.L, Z = self.Z
        cdef bint last
        if not is_plain(p_bar) or cnp.PyArray_TYPE(<cnp.ndarray>p_bar) != cnp.PyArray_TYPE(L):
            return log_density_pullback(L, Z, p_bar)
        last = walk.consume and Py_REFCNT(self) == 2  # held by the walk's record and by its loop
        if last:
            self.L = self.Z = None
        return kernels.log_density_pullback(L, Z, p_bar, overwrite_l=last, overwrite_z=last)

    cdef object push(self, Push walk):
        A_dot = walk.tangent(self.a)
        R_dot = walk.tangent(self.b)
        noise_dot = None if self.rest is None else walk.tangent(<Node>self.rest[0])
        if noise_dot is not None:
            A_dot = makediag(noise_dot) if A_dot is None else A_dot + makediag(noise_dot)
        if A_dot is None and R_dot is None:
            return None
        return log_density_pushforward(self.L, self.Z, A_dot, R_dot)


cdef bint is_batch_of(object x, cnp.ndarray A, int less):
    """Whether ``x`` is a plain array of A's dtype, leading axes and order; of ``less`` axes less."""
    cdef int i, axes = cnp.PyArray_NDIM(A) - less
    if not is_plain(x) or cnp.PyArray_TYPE(<cnp.ndarray>x) != cnp.PyArray_TYPE(A) \
            or cnp.PyArray_NDIM(<cnp.ndarray>x) != axes:
        return False
    for i in range(cnp.PyArray_NDIM(A) - 2):
        if cnp.PyArray_DIM(<cnp.ndarray>x, i) != cnp.PyArray_DIM(A, i):
            return False
    return cnp.PyArray_DIM(<cnp.ndarray>x, axes - 1) == cnp.PyArray_DIM(A, axes + less - 1)


cdef class LogDensityEntry(Entry):
    cdef object call(self, tuple args, dict kwargs):
        cdef Trace trace = innermost(args, None)
        cdef LogDensity node
        A, R, noise = [value_in(x, trace) for x in args]
        if not is_plain(A) or not is_batch_of(R, A, 0) or not (noise is None or is_batch_of(noise, A, 1)):
            return NotImplemented
        node = LogDensity.__new__(LogDensity)
        p, node.L, node.Z = kernels.log_density(A, R, noise)
        node.a = node_in(args[0], trace)
        if node.a is not None:
            node.unpaired = unpaired_in(True, A)
        node.b = node_in(args[1], trace)
        if node_in(args[2], trace) is not None:
            node.rest = (node_in(args[2], trace),)
        return record(trace, node, p)


def use_gaussian_path():
    """Register what carries out the rule."""
    density_of_rows.entry = LogDensityEntry(density_of_rows)
