"""Tensor expressions and sparse Jacobians beside others: ``python -m benchmarks.tensors``.

Values and gradients of sums over shifted subscripts, convolutions, einsums and the products of a tensor
decomposition; Jacobians of a stencil and of a collocation.  Beside NumPy, JAX, PyTorch and CasADi: what
compiles is compiled before it is measured, and what is not installed is left out.  All calls of a case take
turns; times are medians.  Memory is the peak over the arguments that ``tracemalloc`` sees, of what Python and
NumPy allocate.  Prints a table, writes `results/tensors.csv`.  Threads are those that OMP_NUM_THREADS and
OPENBLAS_NUM_THREADS say.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import lindiff as ld

from .turns import Calls, main

try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None
try:
    import torch
except ImportError:
    torch = None
try:
    import casadi
except ImportError:
    casadi = None

# The commonest forms of einsum, and sizes of their indices.
FORMS = [
    "ij,jk->ik", "ij,kj->ik", "ji,jk->ik", "ij,j->i", "i,ij->j",
    "i,i->", "i,j->ij", "ii->", "ij->", "ij->i",
    "ij->j", "ij,ij->", "ij,ij->ij", "ij,ij->i", "bij,bjk->bik",
    "bij,bkj->bik", "bij,bj->bi", "ij,jk,kl->il", "ijk,k->ij", "ijk,jk->i",
    "ijk,kl->ijl", "bhid,bhjd->bhij", "bhij,bhjd->bhid", "ik,jk->ijk", "ijk,ir,jr->kr",
    "i,ij,j->", "ij,ik,jk->", "ijk,ijk->", "ijk->ik", "ijk,il,jm,kn->lmn",
]  # fmt: skip
SMALL = dict(zip("ijklmnbhdr", (4, 5, 3, 2, 3, 4, 2, 2, 3, 2), strict=True))
LARGE = dict(zip("ijklmnbhdr", (200, 180, 60, 40, 30, 50, 20, 4, 32, 20), strict=True))


def general_form(rng: np.random.Generator) -> Iterator[tuple[str, Calls]]:
    """``f[i,j,k] = sum[l] tanh(x[i + 2*l - k + 7]) w[l,j]``"""
    f = ld.tensor("f[i,j,k] = sum[l] tanh(x[i + 2*l - k + 7])*w[l,j]", ranges={"i": 5000, "k": 8})
    x, w, f_bar = rng.normal(size=5069), rng.normal(size=(32, 16)), rng.normal(size=(5000, 16, 8))
    places = np.arange(5000)[:, None, None] + 2 * np.arange(32) - np.arange(8)[:, None] + 7

    def windows() -> Any:
        return np.matmul(sliding_window_view(np.tanh(x), 63)[:, ::2], w)[
            7 - np.arange(8) + np.arange(5000)[:, None]
        ]

    yield (
        "general form, value",
        {
            "lindiff": lambda: f(x, w),
            "numpy": lambda: np.einsum("ikl,lj->ijk", np.tanh(x)[places], w),
            "numpy windows": windows,
        },
    )

    def gradient() -> Any:
        return ld.grad(lambda x, w: np.vdot(f(x, w), f_bar), (0, 1))(x, w)

    calls: Calls = {"lindiff": gradient}
    if jax is not None:
        of_jax = jax.jit(
            jax.grad(lambda x, w: jnp.vdot(jnp.einsum("ikl,lj->ijk", jnp.tanh(x)[places], w), f_bar), (0, 1))
        )
        calls["jax"] = lambda: jax.block_until_ready(of_jax(x, w))
    if torch is not None:
        X, W = (torch.tensor(a, requires_grad=True) for a in (x, w))
        P, B = torch.tensor(places), torch.tensor(f_bar)

        def of_torch() -> Any:
            y = torch.einsum("ikl,lj->ijk", torch.tanh(X)[P], W)
            return torch.autograd.grad((y * B).sum(), (X, W))

        calls["torch"] = of_torch
    yield "general form, gradient", calls


def convolutions(rng: np.random.Generator) -> Iterator[tuple[str, Calls]]:
    """(16, 8, 34, 34) * (16, 8, 3, 3), value and both adjoints."""
    x, w = rng.normal(size=(16, 8, 34, 34)), rng.normal(size=(16, 8, 3, 3))
    for stride in (1, 2):
        f = ld.tensor(f"f[b,o,p,q] = sum[c,u,v] x[b,c,{stride}*p + u,{stride}*q + v]*w[o,c,u,v]")
        bar = rng.normal(size=f(x, w).shape)
        back = f.adjoint("x"), f.adjoint("w")
        n = bar.shape[-1]

        def sliced(stride: int = stride, n: int = n) -> Any:
            y = 0.0
            for u in range(3):
                for v in range(3):
                    part = x[:, :, u : u + stride * n : stride, v : v + stride * n : stride][:, :, :n, :n]
                    y = y + np.einsum("bcpq,oc->bopq", part, w[:, :, u, v], optimize=True)
            return y

        value: Calls = {"lindiff": lambda f=f: f(x, w), "numpy slices": sliced}
        gradient: Calls = {"lindiff": lambda back=back, bar=bar: [each(x, w, bar) for each in back]}
        if torch is not None:
            X, W, B = (
                torch.tensor(x, requires_grad=True),
                torch.tensor(w, requires_grad=True),
                torch.tensor(bar),
            )
            value["torch"] = lambda X=X, W=W, s=stride: torch.conv2d(X.detach(), W.detach(), stride=s)
            gradient["torch"] = lambda X=X, W=W, B=B, s=stride: torch.autograd.grad(
                (torch.conv2d(X, W, stride=s) * B).sum(), (X, W)
            )
        if jax is not None:
            conv = lambda x, w, s=stride: jax.lax.conv(x, w, (s, s), "VALID")
            jitted = jax.jit(conv)
            slopes = jax.jit(jax.grad(lambda x, w, conv=conv, bar=bar: jnp.vdot(conv(x, w), bar), (0, 1)))
            value["jax"] = lambda g=jitted: g(x, w).block_until_ready()
            gradient["jax"] = lambda g=slopes: jax.block_until_ready(g(x, w))
        yield f"convolution, stride {stride}, value", value
        yield f"convolution, stride {stride}, adjoints", gradient


def einsums(rng: np.random.Generator) -> Iterator[tuple[str, Calls]]:
    for size, sizes in (("small", SMALL), ("large", LARGE)):
        for form in FORMS:
            operands, out = form.split("->")
            terms = operands.split(",")
            arrays = [
                rng.normal(size=[sizes[c] for c in term] if "ii" not in term else (200, 200))
                for term in terms
            ]
            arrays = [
                a[: sizes["i"], : sizes["i"]] if "ii" in t else a for a, t in zip(arrays, terms, strict=True)
            ]
            summed = [c for c in dict.fromkeys(operands.replace(",", "")) if c not in out]
            factors = "*".join(f"x{k}[{','.join(term)}]" for k, term in enumerate(terms))
            left = f"f[{','.join(out)}]" if out else "f"
            f = ld.tensor(f"{left} = " + (f"sum[{','.join(summed)}] " if summed else "") + factors)
            calls: Calls = {
                "lindiff": lambda f=f, arrays=arrays: f(*arrays),
                "numpy": lambda form=form, arrays=arrays: np.einsum(form, *arrays, optimize=True),
            }
            if jax is not None:
                jitted = jax.jit(lambda *arrays, form=form: jnp.einsum(form, *arrays))
                calls["jax"] = lambda g=jitted, arrays=arrays: g(*arrays).block_until_ready()
            if torch is not None:
                tensors = [torch.tensor(a) for a in arrays]
                calls["torch"] = lambda form=form, tensors=tensors: torch.einsum(form, *tensors)
            yield f"{size} {form}", calls


def khatri_rao(rng: np.random.Generator) -> Iterator[tuple[str, Calls]]:
    """200³, rank 20."""
    x, b, c = rng.normal(size=(200, 200, 200)), rng.normal(size=(200, 20)), rng.normal(size=(200, 20))
    f = ld.tensor("f[i,r] = sum[j,k] x[i,j,k]*b[j,r]*c[k,r]")
    yield (
        "MTTKRP 200³, rank 20",
        {
            "lindiff": lambda: f(x, b, c),
            "numpy unfolding": lambda: x.reshape(200, -1) @ (b[:, None] * c).reshape(-1, 20),
            "numpy": lambda: np.einsum("ijk,jr,kr->ir", x, b, c, optimize=True),
        },
    )


def stencils(rng: np.random.Generator) -> Iterator[tuple[str, Calls]]:
    """The Jacobian of five points, of an expression and of NumPy's slices."""
    f = ld.tensor("f[i,j] = x[i-1,j] + x[i+1,j] + x[i,j-1] + x[i,j+1] - 4*x[i,j] + x[i,j]**3", outside="zero")

    def by_slices(x: Any) -> Any:
        y = -4 * x + x**3
        y[1:] += x[:-1]
        y[:-1] += x[1:]
        y[:, 1:] += x[:, :-1]
        y[:, :-1] += x[:, 1:]
        return y

    by_expression, by_colours = f.jacobian("x"), ld.jacobian(by_slices, sparse=True)
    for n in (100, 300, 1000):
        x = rng.normal(size=(n, n))
        yield (
            f"stencil {n}² Jacobian",
            {
                "lindiff": lambda x=x: by_expression(x),
                "lindiff colours": lambda x=x: by_colours(x),
            },
        )


N, DEGREE, STEP = 20, 3, 0.5  # intervals, points in each, and their length
POINTS = np.array([0.0, 0.112701665, 0.5, 0.887298335])


def collocation_matrices() -> tuple[np.ndarray, np.ndarray]:
    """Derivatives at the points, and values at the end, of the polynomials through these."""
    slopes, ends = np.zeros((DEGREE + 1, DEGREE + 1)), np.zeros(DEGREE + 1)
    for j in range(DEGREE + 1):
        basis = np.poly1d([1.0])
        for r in range(DEGREE + 1):
            if r != j:
                basis *= np.poly1d([1.0, -POINTS[r]]) / (POINTS[j] - POINTS[r])
        slopes[j], ends[j] = np.polyder(basis)(POINTS), basis(1.0)
    return slopes, ends


SLOPES, ENDS = collocation_matrices()


def parts(w: Any) -> tuple[Any, Any, Any]:
    """States at the ends of intervals, controls, and states at the points within."""
    body = w[2:].reshape(N, 9)
    return np.concatenate([w[:2].reshape(1, 2), body[:, 7:]]), body[:, 0], body[:, 1:7].reshape(N, 3, 2)


def constraints(w: Any) -> Any:
    """Van der Pol's oscillator with a control: 162 equations of 182 numbers."""
    ends, u, within = parts(w)
    states = np.concatenate([ends[:-1, None], within], axis=1)
    x1, x2 = within[..., 0], within[..., 1]
    slopes = np.stack([(1 - x2**2) * x1 - x2 + u[:, None], x1], axis=-1)
    residuals = STEP * slopes - SLOPES[:, 1:].T @ states
    gaps = ENDS @ states - ends[1:]
    of_intervals = np.concatenate([residuals.reshape(N, 6), gaps], axis=1)
    return np.concatenate([ends[0] - np.array([0.0, 1.0]), of_intervals.ravel()])


def lagrangian(w: Any, multipliers: Any) -> Any:
    _, u, within = parts(w)
    return STEP * (np.sum(within**2) / 3 + np.sum(u**2)) + np.sum(multipliers * constraints(w))


def in_casadi() -> tuple[Any, Any]:
    """The same Jacobian and Hessian."""
    w, multipliers = casadi.SX.sym("w", 182), casadi.SX.sym("m", 162)
    ends, rows, cost = w[:2], [w[:2] - casadi.DM([0.0, 1.0])], 0
    for k in range(N):
        body = w[2 + 9 * k : 11 + 9 * k]
        u, within, following = body[0], [body[1 + 2 * r : 3 + 2 * r] for r in range(3)], body[7:]
        states = [ends, *within]
        for r, (x1, x2) in enumerate((y[0], y[1]) for y in within):
            slopes = casadi.vertcat((1 - x2**2) * x1 - x2 + u, x1)
            rows.append(STEP * slopes - sum(SLOPES[j, r + 1] * states[j] for j in range(DEGREE + 1)))
            cost += STEP * (x1**2 + x2**2) / 3
        rows.append(sum(ENDS[j] * states[j] for j in range(DEGREE + 1)) - following)
        cost += STEP * u**2
        ends = following
    c = casadi.vertcat(*rows)
    hessian, _ = casadi.hessian(cost + casadi.dot(multipliers, c), w)
    return (
        casadi.Function("J", [w], [casadi.jacobian(c, w)]),
        casadi.Function("H", [w, multipliers], [hessian]),
    )


def collocation(rng: np.random.Generator) -> Iterator[tuple[str, Calls]]:
    w, multipliers = rng.normal(size=182), rng.normal(size=162)
    program, gradient = ld.program(constraints), ld.program(ld.grad(lagrangian))
    J, H = ld.jacobian(program, sparse=True), ld.jacobian(gradient, sparse=True)
    dense_J, dense_H = ld.program(ld.jacobian(constraints)), ld.program(ld.hessian(lagrangian))
    jacobian: Calls = {"lindiff": lambda: J(w), "lindiff dense": lambda: dense_J(w)}
    hessian: Calls = {"lindiff": lambda: H(w, multipliers), "lindiff dense": lambda: dense_H(w, multipliers)}
    if casadi is not None:
        of_casadi = in_casadi()
        found = np.array(of_casadi[0](w))
        assert np.allclose(found, J(w).toarray())
        assert np.allclose(np.array(of_casadi[1](w, multipliers)), H(w, multipliers).toarray())
        jacobian["casadi"] = lambda: of_casadi[0](w)
        hessian["casadi"] = lambda: of_casadi[1](w, multipliers)
    yield "collocation, Jacobian", jacobian
    yield "collocation, Hessian", hessian


def deriving(rng: np.random.Generator) -> Iterator[tuple[str, Calls]]:
    text = "f[i,j,k] = sum[l] tanh(x[i + 2*l - k + 7])*w[l,j]"
    yield (
        "an adjoint of four indices",
        {
            "lindiff": lambda: ld.tensor(text, ranges={"i": 5000, "k": 8}).adjoint("x"),
        },
    )


CASES = {
    "general": general_form,
    "convolutions": convolutions,
    "einsums": einsums,
    "khatri_rao": khatri_rao,
    "stencils": stencils,
    "collocation": collocation,
    "deriving": deriving,
}


if __name__ == "__main__":
    if torch is not None:
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)))
    main(CASES, __doc__, "tensors")
