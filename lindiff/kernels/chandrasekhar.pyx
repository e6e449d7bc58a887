"""The filter of a stationary autoregressive moving average, by Chandrasekhar's recursion.

The state moves by a matrix with the column φ and ones above the diagonal, ``x' = φ x₀ + S x + θ e``, and its
first element is observed without noise.  From the stationary distribution on, the predicted covariances of
two steps differ by a matrix of rank one, ``P_{t+1} = P_t - F_t ω_t ω_tᵀ``, so that a step needs vectors
alone: with the variance F of the prediction, the gain k and ζ = ω₀,

    τ = φ ζ + S ω,   F' = F (1 - ζ²),   k' = (k - ζ τ) / (1 - ζ²),   ω' = τ - ζ k'.

Morf, Sidhu & Kailath (1974), Some new algorithms for recursive estimation in constant, linear, discrete-time
systems, IEEE Transactions on Automatic Control 19; Pearlman (1980), Biometrika 67, for moving averages.
"""

cimport numpy as cnp
from libc.math cimport NAN, fabs, isfinite, log
from libc.string cimport memcpy, memmove

from lindiff.kernels.conditions cimport numbers

import numpy as np

cnp.import_array()

# Where no more than this of the first variance is left, too many digits of it are lost.
cdef double LEAST = 1e-6

# The covariance is at rest where ω has nothing larger.
cdef double REST = 1e-14

# Where a first gain that is nudged by so much, or by the rounding that autocovariances have near a unit
# root, changes a variance by more than MOST, too many digits are lost: so do moving averages answer rounding
# that have several roots near the same place of the unit circle.
cdef double NUDGE = 1e-13
cdef double ROUNDING = 1e-15
cdef double MOST = 1e-8

# Coefficients that leave less than this of the variance may be those of a process with a unit root.
cdef double SURE = 1e-8


cdef void move(Py_ssize_t n, const double *phi, const double *k, double v, double *a) noexcept nogil:
    """a := φ a₀ + S a + k v."""
    cdef double first = a[0]
    cdef Py_ssize_t i
    for i in range(n - 1):
        a[i] = phi[i] * first + a[i + 1] + k[i] * v
    a[n - 1] = phi[n - 1] * first + k[n - 1] * v


cdef bint turn(Py_ssize_t n, const double *phi, double *k, double *w) noexcept nogil:
    """k := k', ω := ω'; whether ω is still larger than nothing."""
    cdef double zeta = w[0], left = 1 - zeta * zeta, tau, largest = 0
    cdef Py_ssize_t i
    for i in range(n):
        tau = phi[i] * zeta + (w[i + 1] if i < n - 1 else 0)
        k[i] = (k[i] - zeta * tau) / left
        w[i] = tau - zeta * k[i]
        largest = max(largest, fabs(w[i]))
    return largest > REST


cdef class ArmaFilter:
    """The filter run over a series.

    Parameters
    ----------
    y : (T,) array
        All arrays are C-contiguous, of float64; no number is missing.
    phi, gain : (n,) arrays
        The column of the transition, and the first gain k.
    variance : float
        Of the first prediction, F.
    innovation : float
        What the autoregression leaves of a variance: :func:`unexplained`.
    whole : bool
        Whether all is kept that `pull` needs, 2n + 3 numbers a step.

    Attributes
    ----------
    value : float, optional
        -½ Σ (v² / F + log F).  None where a closer look is needed: little is left of F, as near a unit root,
        F depends on what is rounded at the start, or something overflows.

    Notes
    -----
    14n flops a step, 4n where the covariance is at rest; some 20n and 6n backward.

    Examples
    --------
    >>> import numpy as np
    >>> y, phi = np.array([1.0, 0.5, 0.0]), np.array([0.5])
    >>> print(round(ArmaFilter(y, phi, phi, 4 / 3, 3 / 4).value, 6))   # y' = 0.5 y + e, stationary
    -0.550091
    """

    cdef readonly object value
    cdef Py_ssize_t n, T, turns   # steps before the covariance is at rest
    cdef bint whole
    cdef cnp.ndarray y, phi, gain, gains, moves, scalars
    cdef double variance, nudge

    def __init__(self, cnp.ndarray y, cnp.ndarray phi, cnp.ndarray gain, double variance, double innovation,
                 bint whole=False):
        cdef cnp.ndarray room = np.zeros(5 * phi.shape[0])
        cdef double found
        self.n, self.T, self.whole = phi.shape[0], y.shape[0], whole
        self.y, self.phi, self.gain, self.variance = y, phi, gain, variance
        self.nudge = max(NUDGE, ROUNDING / max(innovation, ROUNDING))
        if whole:
            self.gains, self.moves = np.empty((self.T, self.n)), np.empty((self.T, self.n))
            self.scalars = np.empty((3, self.T))
        found = self.run(numbers(room))
        self.value = found if isfinite(found) else None

    cdef double run(self, double *room) noexcept:
        """The value, or NaN; room of 5n numbers begins with n zeros."""
        cdef Py_ssize_t n = self.n, T = self.T, t
        cdef const double *y = numbers(self.y)
        cdef const double *phi = numbers(self.phi)
        cdef double *a = room
        cdef double *k = room + n
        cdef double *w = room + 2 * n
        cdef double *beside = room + 3 * n   # gain and ω from a start that is nudged
        cdef double *moved = room + 4 * n
        cdef double F = self.variance, total = 0, v, ratio = 1
        cdef bint turns = True, doubts = n > 1
        cdef Py_ssize_t i
        if not F > 0:
            return NAN
        memcpy(k, numbers(self.gain), n * sizeof(double))
        memcpy(w, k, n * sizeof(double))
        for i in range(n):
            beside[i] = k[i] * (1 + (self.nudge if i % 2 else -self.nudge))
        memcpy(moved, beside, n * sizeof(double))
        self.turns = T
        for t in range(T):
            v = y[t] - a[0]
            total += v * v / F + log(F)
            if self.whole:
                self.keep(t, turns, a[0], k, w, v, F)
            move(n, phi, k, v, a)
            if turns and t < T - 1:
                F *= 1 - w[0] * w[0]
                if not F > LEAST * self.variance:
                    return NAN
                if doubts:
                    ratio *= (1 - moved[0] * moved[0]) / (1 - w[0] * w[0])
                    if not fabs(ratio - 1) < MOST:
                        return NAN
                    turn(n, phi, beside, moved)
                turns = turn(n, phi, k, w)
                if not turns:
                    self.turns = t + 1
        return -0.5 * total

    cdef void keep(self, Py_ssize_t t, bint turns, double first, const double *k, const double *w, double v,
                   double F) noexcept:
        """What `pull` needs of a step."""
        cdef double *scalars = numbers(self.scalars)
        scalars[t], scalars[self.T + t], scalars[2 * self.T + t] = v, F, first
        if turns or t == self.turns:
            memcpy(numbers(self.gains) + t * self.n, k, self.n * sizeof(double))
            memcpy(numbers(self.moves) + t * self.n, w, self.n * sizeof(double))

    def pull(self, double bar):
        """Cotangents of y, phi, gain and variance, from that of the value.

        Returns
        -------
        (T,), (n,), (n,) arrays, float
        """
        cdef Py_ssize_t n = self.n, T = self.T
        cdef cnp.ndarray y_bar = np.empty(T), phi_bar = np.zeros(n), gain_bar = np.zeros(n)
        cdef cnp.ndarray room = np.zeros(2 * n)
        cdef double variance_bar
        variance_bar = self.walk_back(bar, numbers(y_bar), numbers(phi_bar), numbers(gain_bar), numbers(room))
        return y_bar, phi_bar, gain_bar, variance_bar

    cdef double walk_back(self, double bar, double *y_bar, double *phi_bar, double *k_bar,
                          double *a_bar) noexcept:
        """The cotangent of the variance; the others are added, and a_bar, of 2n numbers, is used up."""
        cdef Py_ssize_t n = self.n, T = self.T, t, i
        cdef const double *phi = numbers(self.phi)
        cdef const double *v = numbers(self.scalars)
        cdef const double *F = v + T
        cdef const double *first = F + T
        cdef const double *gains = numbers(self.gains)
        cdef double *w_bar = a_bar + n
        cdef double F_bar = 0, v_bar
        for t in range(T - 1, -1, -1):
            if t < T - 1 and t < self.turns:
                turn_back(n, phi, gains + (t + 1) * n, numbers(self.moves) + t * n, F[t], phi_bar, k_bar,
                          w_bar, &F_bar)
            v_bar = -bar * v[t] / F[t]
            v_bar += move_back(n, phi, gains + min(t, self.turns) * n, v[t], first[t], phi_bar, k_bar, a_bar)
            F_bar += 0.5 * bar * (v[t] * v[t] / F[t] - 1) / F[t]
            y_bar[t] = v_bar
            a_bar[0] -= v_bar
        for i in range(n):
            k_bar[i] += w_bar[i]
        return F_bar


cdef double move_back(Py_ssize_t n, const double *phi, const double *k, double v, double first,
                      double *phi_bar, double *k_bar, double *a_bar) noexcept nogil:
    """The cotangent of v; that of a is replaced, the others are added."""
    cdef double v_bar = 0, first_bar = 0
    cdef Py_ssize_t i
    for i in range(n):
        phi_bar[i] += a_bar[i] * first
        first_bar += a_bar[i] * phi[i]
        v_bar += a_bar[i] * k[i]
        k_bar[i] += a_bar[i] * v
    memmove(a_bar + 1, a_bar, (n - 1) * sizeof(double))
    a_bar[0] = first_bar
    return v_bar


cdef void turn_back(Py_ssize_t n, const double *phi, const double *later, const double *w, double F,
                    double *phi_bar, double *k_bar, double *w_bar, double *F_bar) noexcept nogil:
    """Cotangents of k, ω and F from those of k' (``later``), ω' and F'; that of φ is added."""
    cdef double zeta = w[0], left = 1 - zeta * zeta, zeta_bar = 0, left_bar = 0, x, tau, tau_bar
    cdef Py_ssize_t i
    for i in range(n):
        tau = phi[i] * zeta + (w[i + 1] if i < n - 1 else 0)
        x = (k_bar[i] - zeta * w_bar[i]) / left
        tau_bar = w_bar[i] - zeta * x
        zeta_bar += tau_bar * phi[i] - w_bar[i] * later[i] - x * tau
        left_bar -= x * later[i]
        phi_bar[i] += tau_bar * zeta
        k_bar[i], w_bar[i] = x, tau_bar
    zeta_bar -= 2 * zeta * (left_bar + F_bar[0] * F)
    F_bar[0] *= left
    memmove(w_bar + 1, w_bar, (n - 1) * sizeof(double))
    w_bar[0] = zeta_bar


def unexplained(cnp.ndarray ar):
    """What ``y_t = Σ ar_i y_{t-i} + e_t`` leaves of its variance to e.

    ``Π (1 - π²)`` of the partial autocorrelations π.

    Parameters
    ----------
    ar : (p,) array of float64
        C-contiguous.

    Returns
    -------
    float
        0 where the process is not stationary.

    Notes
    -----
    Levinson's recursion downwards, p² multiplications: Barndorff-Nielsen & Schou (1973), Journal of
    Multivariate Analysis 3.

    Examples
    --------
    >>> import numpy as np
    >>> unexplained(np.array([0.5])), unexplained(np.array([0.5, 0.6]))
    (0.75, 0.0)
    """
    cdef Py_ssize_t p = ar.shape[0], i
    cdef cnp.ndarray room = ar.copy()
    cdef double *a = numbers(room)
    cdef double part, left, all_left = 1, x
    while p:
        p -= 1
        part = a[p]
        left = 1 - part * part
        if not left > 0:
            return 0.0
        all_left *= left
        for i in range((p + 1) // 2):
            x = a[i]
            a[i] = (x + part * a[p - 1 - i]) / left
            a[p - 1 - i] = (a[p - 1 - i] + part * x) / left if p - 1 - i != i else a[i]
    return all_left


def is_surely_stationary(cnp.ndarray ar):
    """Whether ``y_t = Σ ar_i y_{t-i} + e_t`` surely has a stationary distribution.

    Parameters
    ----------
    ar : (p,) array of float64
        C-contiguous.

    Returns
    -------
    bool
        True if no partial autocorrelation has size 1, and what is :func:`unexplained` is not small.  False is
        no answer.

    Examples
    --------
    >>> import numpy as np
    >>> is_surely_stationary(np.array([1.2, -0.5])), is_surely_stationary(np.array([0.5, 0.6]))
    (True, False)
    """
    return bool(unexplained(ar) > SURE)
