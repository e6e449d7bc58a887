"""Other libraries compute with Variables: gradients against differences, or an error with advice.

Each is optional; what they need to know of Variables they are told when they are there.
"""

from __future__ import annotations

import numpy as np
import pytest

import lindiff as ld
import lindiff.numpy as lnp

X = np.array([[1.25, 2.0, 0.5], [-0.75, 1.5, 3.0]])
EXAMPLES = {"einops": [], "autoray": [], "opt_einsum": [], "xarray": [], "pint": [], "sklearn": []}


def of(library):
    """An example of a library: a function of it and of an array."""

    def decorate(f):
        EXAMPLES[library].append(pytest.param(f, id=f.__name__))
        return f

    return decorate


def assert_differentiated(f, x=X):
    """The gradient is that by differences."""
    gradient = ld.grad(f)(x)
    assert gradient.shape == x.shape
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = 1e-5
        by_differences = (float(f(x + step)) - float(f(x - step))) / 2e-5
        np.testing.assert_allclose(gradient[at], by_differences, rtol=1e-6, atol=1e-7)


# -- einops ----------------------------------------------------------------------------------------------


@of("einops")
def rearrange(einops, v):
    return np.sum(einops.rearrange(v, "a b -> (b a)") * np.arange(6.0))


@of("einops")
def reduce(einops, v):
    several = [einops.reduce(v, "a b -> a", how) ** 2 for how in ("sum", "mean", "max", "min", "prod")]
    return np.sum(np.stack(several))


@of("einops")
def repeat(einops, v):
    return np.sum(einops.repeat(v, "a b -> a c b", c=4) ** 2)


@of("einops")
def einsum(einops, v):
    return np.sum(einops.einsum(v, X, v, "a b, c b, a d -> c d"))


@of("einops")
def lists(einops, v):
    y = einops.rearrange([v, v**2, X], "k a b -> a (k b)")
    return np.sum(y[:, ::2]) + np.sum(einops.pack([v[0], v], "* b")[0] ** 2)


@pytest.mark.parametrize("f", EXAMPLES["einops"])
def test_einops(f):
    einops = pytest.importorskip("einops")
    assert_differentiated(lambda x: f(einops, x))


# -- autoray ---------------------------------------------------------------------------------------------


@of("autoray")
def functions(autoray, v):
    y = autoray.do("tanh", autoray.do("tensordot", v, autoray.dag(v), 1))
    return autoray.do("sum", autoray.do("stack", (y, y**2)))


@of("autoray")
def creation(autoray, v):
    y = autoray.do("eye", 3, like=v) @ autoray.do("array", [v[0, 0], 2.0, v[1, 1]], like=v)
    return autoray.do("sum", y * autoray.do("ones", 3, like=v))


@of("autoray")
def decompositions(autoray, v):
    u, s, vh = autoray.do("linalg.svd", v)
    assert (u.shape, vh.shape) == ((2, 2), (2, 3))
    return autoray.do("sum", s) + autoray.do("trace", autoray.do("linalg.expm", v @ v.T))


@of("autoray")
def complex_numbers(autoray, v):
    return autoray.do("sum", autoray.do("abs", autoray.do("complex", v[0], v[1])) ** 3)


@pytest.mark.parametrize("f", EXAMPLES["autoray"])
def test_autoray(f):
    autoray = pytest.importorskip("autoray")
    assert_differentiated(lambda x: f(autoray, x))


TOLD_WHEN_IMPORTED = """
import numpy as np
import lindiff as ld

assert ld.grad(np.sum)(np.ones(2))[0] == 1.0
import {library} as library

v = ld.Variable(np.arange(6.0).reshape(2, 3))
print({call}.shape)
"""


@pytest.mark.parametrize(
    ("library", "call"),
    [("einops", 'library.rearrange(v, "a b -> b a")'), ("autoray", 'library.do("transpose", v)')],
)
def test_libraries_that_are_imported_later(alone, library, call):
    pytest.importorskip(library)
    assert alone(TOLD_WHEN_IMPORTED.format(library=library, call=call)) == "(3, 2)\n"


def test_libraries_are_not_imported(alone):
    code = "import sys, lindiff as ld; ld.grad(abs)(1.0); print({'einops', 'autoray'} & {*sys.modules})"
    assert alone(code) == "set()\n"


# -- opt_einsum ------------------------------------------------------------------------------------------


@of("opt_einsum")
def contract(opt_einsum, v):
    return np.sum(opt_einsum.contract("ab,cb,cd->ad", v, X, v) ** 2)


@of("opt_einsum")
def expressions(opt_einsum, v):
    shapes = (2, 3), (2, 3), (2, 2)
    by_value = opt_einsum.contract_expression("ab,cb,cd->", *shapes)
    of_constant = opt_einsum.contract_expression("ab,cb,cd->", (2, 3), X, (2, 2), constants=[1])
    with opt_einsum.shared_intermediates():
        return by_value(v, v, np.ones((2, 2))) + of_constant(v, v[:, :2]) + by_value(v, v, np.ones((2, 2)))


@pytest.mark.parametrize("f", EXAMPLES["opt_einsum"])
def test_opt_einsum(f):
    opt_einsum = pytest.importorskip("opt_einsum")
    assert_differentiated(lambda x: f(opt_einsum, x))


# -- xarray ----------------------------------------------------------------------------------------------


def labelled(xarray, v):
    coordinates = {"time": [0.0, 1.0], "place": ["a", "b", "c"]}
    return xarray.DataArray(v, dims=("time", "place"), coords=coordinates)


@of("xarray")
def arithmetic(xarray, v):
    y, plain = labelled(xarray, v), labelled(xarray, X)
    z = (y * plain + plain / (3.0 + y**2) - 2.0 * y) ** 2 + np.exp(y) * y.sum("time")
    return (z + v * y + y * v).sum().data


@of("xarray")
def reductions(xarray, v):
    y = labelled(xarray, v)
    parts = y.mean("time"), y.std("place"), y.max("place"), y.cumsum("time"), y.dot(y, "time")
    return sum(np.sum(part.data**2) for part in parts) + y.quantile(0.4).data


@of("xarray")
def selection(xarray, v):
    y = labelled(xarray, v)
    picked = y.sel(place="b") * y.isel(time=0, place=2) + y.loc[{"time": 1.0}].sum()
    return np.sum(picked.data) + np.sum(y.where(y > 1.0, 0.0).data ** 2)


@of("xarray")
def rearranging(xarray, v):
    y = labelled(xarray, v)
    joined = xarray.concat([y, y**2], "time").transpose("place", "time")
    groups = y.assign_coords(kind=("place", [0, 1, 0])).groupby("kind").mean()
    return np.sum(joined.data[1:] * np.arange(8.0).reshape(2, 4)) + np.sum(groups.data**2)


@of("xarray")
def assignment(xarray, v):
    y = labelled(xarray, v * 1.0)
    y[0, 0] = v[1, 1] ** 2
    y.loc[{"place": "c"}] = 2.0 * y.sel(place="a")
    y += v
    return np.sum(y.data**2)


@of("xarray")
def data_sets(xarray, v):
    data = xarray.Dataset({"y": labelled(xarray, v), "z": labelled(xarray, v**2)})
    return (data.mean("time")["y"] * data["z"]).sum().data


@pytest.mark.parametrize("f", EXAMPLES["xarray"])
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_xarray(f):
    xarray = pytest.importorskip("xarray")
    assert_differentiated(lambda x: f(xarray, x))


def test_xarray_where_it_wants_plain_arrays():
    xarray = pytest.importorskip("xarray")
    for f in (
        lambda y: float(y.sum()),
        lambda y: y.sum().values,
        lambda y: y.to_pandas().sum(),
        lambda y: np.linalg.norm(y),
        lambda y: np.dot(X, y),
    ):
        with pytest.raises(TypeError, match=r"ld\.value\(v\)|plain array"):
            ld.grad(lambda x, f=f: f(labelled(xarray, x)))(X)


# -- pint ------------------------------------------------------------------------------------------------


def number(quantity):
    return quantity.to_base_units().magnitude


@of("pint")
def units(pint, v):
    m, s = pint.m, pint.s
    ways = v * m / s, m * v / s, v / s * m, pint.Quantity(v, "m/s"), (3 * m) * v / (3 * s), v * (1 * m / s)
    assert all(way.units == m / s for way in ways)
    return sum(number(np.sum(way**2)) * (k + 1) for k, way in enumerate(ways))


@of("pint")
def quantities_and_arrays(pint, v):
    q, number_of_q = np.ones(3) * pint.km, 3 * pint.cm
    return number(np.sum(v * q * v + v**2 * number_of_q) + np.sum(v + 1 * pint.dimensionless) * pint.m)


@of("pint")
def numpy_functions(pint, v):
    q = v**2 * pint.m + 2 * pint.cm
    joined = np.concatenate([q[0], q[1] * 0.5])
    y = np.sqrt(np.sum(joined**2)) + np.mean(q) + np.max(q) + np.dot(q[0], q[1]) / (1 * pint.m)
    return number(y) + np.sum(np.sin(v * pint.degree)).magnitude + number(np.linalg.norm(q))


@of("pint")
def filling(pint, v):
    q = np.zeros(2, like=v) * pint.m
    q[0] = v[0, 0] * pint.km
    q += v[:, 1] * pint.m
    return number(np.sum(q**2))


@of("pint")
def conversions(pint, v):
    return np.sum((v * pint.km).to("m").magnitude) + pint.Quantity(v[0], "degC").to("kelvin").magnitude[1]


@pytest.mark.parametrize("f", EXAMPLES["pint"])
def test_pint(f):
    pint = pytest.importorskip("pint").UnitRegistry()
    assert_differentiated(lambda x: f(pint, x))


def test_units_are_not_lost():
    pint = pytest.importorskip("pint").UnitRegistry()

    def in_place(x):
        y = x * 1.0
        y *= pint.m
        return y

    with pytest.raises(TypeError, match="write a = a \\* unit"):
        ld.grad(in_place)(X)

    def of_number(x):
        y = x[0, 0]
        y *= pint.km
        return number(y)

    assert ld.grad(of_number)(X)[0, 0] == 1000.0


def test_results_that_hold_variables_are_not_constants():
    """A labelled array or a quantity of Variables would have a derivative of zero, were it not refused."""
    makers = {}
    xarray = pytest.importorskip("xarray")
    makers[".data"] = lambda x: xarray.DataArray(x, dims=("a", "b"))
    makers["['y'].data"] = lambda x: xarray.Dataset({"y": makers[".data"](x)})
    pint = pytest.importorskip("pint").UnitRegistry()
    makers[".magnitude"] = lambda x: x * pint.m
    makers[".data.magnitude"] = lambda x: makers[".data"](x * pint.m)
    pandas = pytest.importorskip("pandas")
    makers[".to_numpy().tolist()"] = lambda x: pandas.Series([x[0, 0], x[1, 1]])
    for way, make in makers.items():
        for transform in (
            lambda f: ld.vjp(f, X),
            lambda f: ld.jvp(f, (X,), (X,)),
            lambda f: ld.jacobian(f)(X),
            lambda f: ld.grad(lambda x: {"a": [f(x)]})(X),
        ):
            with pytest.raises(TypeError, match="was returned, whose derivative") as error:
                transform(make)
            assert str(error.value).endswith(f"y{way}")
        constant = ld.vjp(lambda x, make=make: (make(X), x), X)[0][0]
        assert type(constant) is type(make(X))
        kept = ld.grad(lambda x, make=make: (np.sum(x), make(x)), has_aux=True)(X)[1]
        assert type(kept) is type(make(X))


# -- scikit-learn ----------------------------------------------------------------------------------------

POINTS = np.random.default_rng(0).normal(size=(6, 3))
OTHERS = np.random.default_rng(1).normal(size=(4, 3))
TARGETS = np.random.default_rng(2).normal(size=6)


def fitted(sklearn):
    """Models of plain data."""
    network = sklearn.neural_network.MLPRegressor(
        hidden_layer_sizes=(4,), activation="tanh", max_iter=5, random_state=0
    )
    return {
        "ridge": sklearn.linear_model.Ridge().fit(POINTS, TARGETS),
        "chances": sklearn.linear_model.LogisticRegression().fit(POINTS, TARGETS > 0),
        "network": network.fit(POINTS, TARGETS),
        "standard": sklearn.preprocessing.StandardScaler().fit(POINTS),
        "scale": sklearn.preprocessing.MinMaxScaler().fit(POINTS),
        "components": sklearn.decomposition.PCA(2).fit(POINTS),
    }


@of("sklearn")
def predictions(sklearn, x, models):
    probabilities = models["chances"].predict_log_proba(x)[:, 1]
    return (models["ridge"].predict(x) + probabilities + models["network"].predict(x) ** 2) @ TARGETS


@of("sklearn")
def kernels(sklearn, x, models):
    pairwise = sklearn.metrics.pairwise
    several = [pairwise.rbf_kernel, pairwise.linear_kernel, pairwise.polynomial_kernel]
    several += [pairwise.sigmoid_kernel, pairwise.cosine_similarity, pairwise.euclidean_distances]
    return sum(np.sum(kernel(x, OTHERS) ** 2) for kernel in several)


@of("sklearn")
def transformations(sklearn, x, models):
    several = [models[name].transform(x) for name in ("standard", "scale", "components")]
    several += [sklearn.preprocessing.scale(x), sklearn.preprocessing.normalize(x)]
    return sum(np.sum(y**3) for y in several)


@of("sklearn")
def covariances(sklearn, x, models):
    return np.sum(sklearn.covariance.empirical_covariance(x) ** 2)


@pytest.mark.parametrize("f", EXAMPLES["sklearn"])
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer:UserWarning")
def test_sklearn(f):
    sklearn = pytest.importorskip("sklearn")
    for part in (
        "linear_model",
        "covariance",
        "decomposition",
        "metrics.pairwise",
        "neural_network",
        "preprocessing",
    ):
        pytest.importorskip(f"sklearn.{part}")
    models = fitted(sklearn)

    def patched(x):
        with ld.patch_numpy(modules=["sklearn"]):
            return f(sklearn, x, models)

    assert_differentiated(patched, POINTS + 0.125)


METRICS = {
    "mean_squared_error": lambda metric, x: metric(TARGETS, x),
    "mean_absolute_error": lambda metric, x: metric(TARGETS, x),
    "r2_score": lambda metric, x: metric(TARGETS, x),
    "mean_pinball_loss": lambda metric, x: metric(TARGETS, x),
    "mean_poisson_deviance": lambda metric, x: metric(TARGETS**2, lnp.exp(x)),
    "log_loss": lambda metric, x: metric(TARGETS > 0, 1 / (1 + lnp.exp(-x))),
}


@pytest.mark.parametrize("name", METRICS)
def test_metrics_are_right_or_refuse(name):
    """They end with ``float(...)``, which keeps no derivative unless patch_numpy reaches it."""
    metrics = pytest.importorskip("sklearn.metrics")

    def loss(x):
        with ld.patch_numpy(modules=["sklearn"]):
            return METRICS[name](getattr(metrics, name), x)

    try:
        ld.grad(loss)(POINTS[:, 0])
    except TypeError as error:
        assert "sklearn" in str(error)  # noqa: PT017
    else:
        assert_differentiated(loss, POINTS[:, 0])
