"""What the kernel tests share; nothing here calls a kernel."""

import numpy as np

RTOL = {np.float32: 2e-4, np.float64: 1e-11, np.complex64: 2e-4, np.complex128: 1e-11}


def t(X):
    return np.swapaxes(X, -1, -2)


def adjoint(X):
    return np.conj(t(X))


def op(X, transpose):
    """t(X) of a kernel's `transpose`: False, True or "C"."""
    return adjoint(X) if transpose == "C" else t(X) if transpose else X


def tri(X, lower=True):
    return np.tril(X) if lower else np.triu(X)


def sym(X):
    return (X + adjoint(X)) / 2


def general(rng, shape, dtype=np.float64):
    X = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        X = X + 1j * rng.standard_normal(shape)
    return X.astype(dtype)


def symmetric(rng, shape, dtype=np.float64):
    """Hermitian, if complex."""
    return sym(general(rng, shape, np.result_type(dtype, np.float64))).astype(dtype)


def spd(rng, batch, n, dtype=np.float64):
    X = general(rng, (*batch, n, n), np.result_type(dtype, np.float64))
    return (X @ adjoint(X) / max(n, 1) + np.eye(n)).astype(dtype)


def triangular(rng, batch, n, dtype=np.float64, lower=True):
    """With a diagonal that is real or, if complex, not."""
    X = general(rng, (*batch, n, n), np.result_type(dtype, np.float64)) / max(n, 1)
    return tri(X + 2 * np.eye(n), lower).astype(dtype)


def real_diagonal(L):
    """L with the real part of its diagonal, like every Cholesky factor."""
    return L - np.eye(L.shape[-1], dtype=L.dtype) * (L - L.real)


def separated(rng, batch, n, dtype=np.float64):
    """Symmetric with eigenvalues about 1, 2, 3, ..."""
    Q = np.linalg.qr(rng.standard_normal((*batch, n, n)))[0]
    return sym((Q * np.arange(1.0, n + 1)) @ t(Q)).astype(dtype)


def inner(*pairs):
    """Sum of the inner products Re(xᴴ y) of pairs of arrays, and the scale of its rounding."""
    terms = [np.conj(x, dtype=complex) * y for x, y in pairs]
    return sum(x.real.sum() for x in terms), sum(np.abs(x).sum() for x in terms)


def assert_adjoint(primal_pairs, cotangent_pairs, dtype=np.float64):
    """<x_bar, x_dot> = <y_bar, y_dot> up to rounding."""
    left, left_scale = inner(*primal_pairs)
    right, right_scale = inner(*cotangent_pairs)
    assert abs(left - right) <= 10 * RTOL[dtype] * (left_scale + right_scale + 1e-30)


def assert_close(x, y, dtype=np.float64, factor=1):
    assert x.dtype == dtype
    assert x.shape == np.shape(y)
    scale = np.max(np.abs(y), initial=1.0)
    np.testing.assert_allclose(x, y, rtol=0, atol=factor * RTOL[dtype] * scale)


def layouts(x):
    """The same values in every memory layout; by name."""
    x = np.ascontiguousarray(x)
    strided = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)[..., ::2]
    strided[...] = x
    readonly = x.copy()
    readonly.flags.writeable = False
    unaligned = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    unaligned[...] = x
    return {
        "C": x.copy(),
        "F": np.asfortranarray(x),
        "strided": strided,
        "readonly": readonly,
        "unaligned": unaligned,
        "big-endian": x.astype(x.dtype.newbyteorder(">")),
        "negative": x[..., ::-1].copy()[..., ::-1],
    }


def central_difference(f, x, x_dot, step=1e-5):
    """Directional derivative of f, which returns a tuple of arrays, with an error of order step⁴."""

    def along(s):
        return [np.asarray(y) for y in f(x + s * x_dot)]

    near = [(p - m) / (2 * step) for p, m in zip(along(step), along(-step), strict=True)]
    far = [(p - m) / (4 * step) for p, m in zip(along(2 * step), along(-2 * step), strict=True)]
    return [(4 * a - b) / 3 for a, b in zip(near, far, strict=True)]


def assert_pushforward(f, x, x_dot, y_dot):
    for got, want in zip(y_dot, central_difference(f, x, x_dot), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)
