"""State-space models at random, and the dense Gaussian that they are: no recursion over observations."""

from __future__ import annotations

import numpy as np

from lindiff.statespace import Model

COVARIANCES = ("state_cov", "obs_cov", "initial_state_cov")


def symmetric(model):
    """With symmetric covariances, so that differences may change them in any direction."""
    return model._replace(
        **{
            name: 0.5 * (X + np.swapaxes(X, -1, -2))
            for name in COVARIANCES
            if (X := getattr(model, name)) is not None and X.shape[-2:-1] == X.shape[-1:]
        }
    )


def spd(rng, *shape):
    X = rng.standard_normal(shape)
    return X @ np.swapaxes(X, -1, -2) / max(shape[-1], 1) + 0.3 * np.eye(shape[-1])


def random_model(rng, n, p, lead=(), intercepts=True, diagonal=False):
    """`lead` stands in front of every matrix: (), (T,) or (S, T)."""
    initial = lead[:1] if len(lead) == 2 else ()
    return Model(
        rng.standard_normal((*lead, n, n)) * 0.7 / max(n, 1) ** 0.5,
        rng.standard_normal((*lead, p, n)),
        spd(rng, *lead, n, n),
        rng.uniform(0.3, 1.0, (*lead, 1, p)) if diagonal else spd(rng, *lead, p, p),
        rng.standard_normal((*initial, n)),
        spd(rng, *initial, n, n),
        rng.standard_normal((*lead, n)) if intercepts else None,
        rng.standard_normal((*lead, p)) if intercepts else None,
    )


def with_missing(rng, y, share=0.3):
    return np.where(rng.random(y.shape) < share, np.nan, y)


def of_series(model, s):
    """The model of one series, where each has its own."""
    timed = {"transition", "design", "state_cov", "obs_cov", "state_intercept", "obs_intercept"}
    parts = {}
    for name, x in zip(model._fields[:-1], model[:-1], strict=True):
        cores = 2 if name in ("transition", "design", "initial_state_cov", "state_cov", "obs_cov") else 1
        own = x is not None and x.ndim == cores + 1 + (name in timed)
        parts[name] = x[s if x.shape[0] > 1 else 0] if own else x
    return Model(**parts, diffuse=model.diffuse)


def dense(model, steps):
    """Means and covariances of all states (T, n), and of all observations (T, p), of one series."""
    n, p = model.transition.shape[-1], model.design.shape[-2]
    dtype = np.result_type(model.transition, model.state_cov, model.obs_cov, model.initial_state_cov)

    def at(x, t, core):
        return x if x.ndim == core else x[min(t, len(x) - 1)]

    # all states as a linear function of independent (x_0, h_0, h_1, ...)
    blocks, covs, mean = [np.eye(n)], [model.initial_state_cov], model.initial_state
    means, rows = [], []
    for t in range(steps):
        means.append(mean)
        rows.append(blocks)
        A = at(model.transition, t, 2)
        blocks = [A @ block for block in blocks] + [np.eye(n)]
        covs.append(at(model.state_cov, t, 2))
        mean = A @ mean + (0 if model.state_intercept is None else at(model.state_intercept, t, 1))
    loading = np.zeros((steps * n, (steps + 1) * n), dtype)
    for t, row in enumerate(rows):
        loading[t * n : (t + 1) * n, : len(row) * n] = np.hstack(row)
    noise = np.zeros(((steps + 1) * n,) * 2, dtype)
    for t, cov in enumerate(covs):
        noise[t * n : (t + 1) * n, t * n : (t + 1) * n] = cov
    state_mean = np.reshape(means, (steps * n,))
    state_cov = loading @ noise @ loading.T
    H, R = np.zeros((steps * p, steps * n)), np.zeros((steps * p, steps * p), dtype)
    level = np.zeros(steps * p)
    for t in range(steps):
        rows_p = slice(t * p, (t + 1) * p)
        H[rows_p, t * n : (t + 1) * n] = at(model.design, t, 2)
        obs_cov = model.obs_cov if model.obs_cov.ndim == 1 else at(model.obs_cov, t, 2)
        R[rows_p, rows_p] = obs_cov if obs_cov.shape == (p, p) else np.diag(obs_cov.ravel())
        if model.obs_intercept is not None:
            level[rows_p] = at(model.obs_intercept, t, 1)
    return state_mean, state_cov, H @ state_mean + level, H @ state_cov @ H.T + R, H


def conditioned(mean, cov, cross, y, y_mean, y_cov):
    """Mean and covariance given the observed elements of y, and their log density."""
    seen = ~np.isnan(y)
    S, v = y_cov[np.ix_(seen, seen)], (y - y_mean)[seen]
    gain = np.linalg.solve(S, cross[:, seen].T).T
    loglik = -0.5 * (v @ np.linalg.solve(S, v) + np.linalg.slogdet(S)[1] + seen.sum() * np.log(2 * np.pi))
    return mean + gain @ v, cov - gain @ cross[:, seen].T, loglik


def posterior(y, model):
    """Log density of y (T, p), smoothed means (T, n) and covariances (T, n, n)."""
    steps, n = len(y), model.transition.shape[-1]
    mean, cov, y_mean, y_cov, H = dense(model, steps)
    mean, cov, loglik = conditioned(mean, cov, cov @ H.T, y.ravel(), y_mean, y_cov)
    blocks = [cov[t * n : (t + 1) * n, t * n : (t + 1) * n] for t in range(steps)]
    return loglik, mean.reshape(steps, n), np.reshape(blocks, (steps, n, n))
