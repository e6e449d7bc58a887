"""Gradients example by example: standard errors that do not believe in the model.

A Poisson regression is fitted to counts that vary more than a Poisson distribution does.  Its usual standard
errors, from the Hessian H alone, are too small.  White's sandwich H⁻¹ J H⁻¹ has J, the sum of g gᵀ over the
gradients g of all examples, which `ld.vmap(ld.grad(...))` gives at once.  White (1982), Maximum likelihood
estimation of misspecified models, Econometrica 50, 1-25.  Prints both beside what 200 simulations show.
"""

import numpy as np
from scipy.optimize import minimize

import lindiff as ld

TRUE = np.array([0.5, 0.8, -0.4])


def simulate(n, rng):
    """Counts with gamma distributed rates: their variance is larger than their mean."""
    X = np.column_stack([np.ones(n), rng.standard_normal((n, 2))])
    rates = np.exp(X @ TRUE) * rng.gamma(0.8, 1 / 0.8, n)
    return X, rng.poisson(rates).astype(float)


def loss(w, x, count):
    """The negative log likelihood of one example, up to a constant."""
    z = x @ w
    return np.exp(z) - count * z


losses = ld.vmap(loss, (None, 0, 0))
gradients = ld.vmap(ld.grad(loss), (None, 0, 0))


def total(w, X, counts):
    return np.sum(losses(w, X, counts))


def fit(X, counts):
    return minimize(ld.value_and_grad(total), np.zeros(3), args=(X, counts), jac=True).x


def standard_errors(w, X, counts):
    """Those of the model, and White's."""
    H_inv = np.linalg.inv(ld.hessian(total)(w, X, counts))
    G = gradients(w, X, counts)
    sandwich = H_inv @ (G.T @ G) @ H_inv
    return np.sqrt(np.diag(H_inv)), np.sqrt(np.diag(sandwich))


def main():
    rng = np.random.default_rng(0)
    X, counts = simulate(1000, rng)
    w = fit(X, counts)
    model, robust = standard_errors(w, X, counts)
    spread = np.std([fit(*simulate(1000, rng)) for _ in range(200)], axis=0)
    print(f"{'':12}{'estimate':>10}{'model':>10}{'robust':>10}{'simulated':>12}")
    for name, *row in zip(("intercept", "first", "second"), w, model, robust, spread, strict=True):
        print(
            f"{name:12}" + "".join(f"{x:{width}.4f}" for x, width in zip(row, (10, 10, 10, 12), strict=True))
        )


if __name__ == "__main__":
    main()
