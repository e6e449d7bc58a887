"""Records of the functions of ``scipy.special``."""

from __future__ import annotations

import numpy as np
import scipy
from scipy import special
from scipy.special import _ufuncs
from table import Operator, sample

import lindiff.scipy.special as functions

# Arguments: an interval is differentiated, a number is fixed.
REAL = {
    # gamma
    "beta": [(0.5, 4), (0.5, 4)],
    "betaln": [(0.5, 40), (0.5, 4)],
    "binom": [(3, 6), (1, 2.5)],
    "gamma": [(0.8, 4)],
    "gammaln": [(0.8, 40)],
    "loggamma": [(0.8, 40)],
    "poch": [(1, 3), (0.5, 2)],
    "psi": [(0.8, 5)],
    "rgamma": [(-2, 4)],
    "zetac": [(1.5, 5)],
    # incomplete gamma and beta
    "betainc": [(0.5, 3), (0.5, 3), (0.2, 0.8)],
    "betaincc": [(0.5, 3), (0.5, 3), (0.2, 0.8)],
    "betainccinv": [(1, 3), (1, 3), (0.3, 0.7)],
    "betaincinv": [(1, 3), (1, 3), (0.3, 0.7)],
    "btdtria": [(0.3, 0.7), (1, 3), (0.3, 0.7)],
    "btdtrib": [(1, 3), (0.3, 0.7), (0.3, 0.7)],
    "gammainc": [(0.5, 30), (0.5, 30)],
    "gammaincc": [(0.5, 30), (0.5, 30)],
    "gammainccinv": [(1, 3), (0.3, 0.7)],
    "gammaincinv": [(1, 3), (0.3, 0.7)],
    # distributions
    "bdtr": [3.0, 7, (0.2, 0.8)],
    "bdtrc": [3.0, 7, (0.2, 0.8)],
    "bdtri": [3.0, 7, (0.3, 0.7)],
    "bdtrik": [(0.3, 0.7), (7, 9), (0.4, 0.7)],
    "bdtrin": [(2, 4), (0.3, 0.7), (0.4, 0.7)],
    "chdtr": [(2, 8), (2, 8)],
    "chdtrc": [(2, 8), (2, 8)],
    "chdtri": [(2, 8), (0.3, 0.7)],
    "chdtriv": [(0.3, 0.7), (2, 8)],
    "chndtr": [(2, 8), 2.5, (1, 3)],
    "chndtrinc": [(3, 4), 1.5, (0.3, 0.5)],
    "chndtrix": [(0.3, 0.7), 2.5, (1, 3)],
    "fdtr": [(2, 8), (2, 8), (0.5, 2)],
    "fdtrc": [(2, 8), (2, 8), (0.5, 2)],
    "fdtri": [(3, 8), (3, 8), (0.3, 0.7)],
    "fdtridfd": [(2, 3), (0.55, 0.65), (1.2, 1.5)],
    "gdtr": [(0.5, 2), (1, 3), (1, 3)],
    "gdtrc": [(0.5, 2), (1, 3), (1, 3)],
    "gdtria": [(0.3, 0.7), (1, 3), (1, 3)],
    "gdtrib": [(0.5, 2), (0.3, 0.7), (1, 3)],
    "gdtrix": [(0.5, 2), (1, 3), (0.3, 0.7)],
    "kolmogi": [(0.2, 0.8)],
    "kolmogorov": [(0.5, 1.5)],
    "log_ndtr": [(-6, 3)],
    "nbdtr": [3, 4, (0.2, 0.8)],
    "nbdtrc": [3, 4, (0.2, 0.8)],
    "nbdtri": [3, 4, (0.3, 0.7)],
    "nbdtrik": [(0.3, 0.7), (3, 5), (0.3, 0.5)],
    "nbdtrin": [(3, 5), (0.3, 0.7), (0.3, 0.5)],
    "ndtr": [(-3, 3)],
    "ndtri": [(0.1, 0.9)],
    "ndtri_exp": [(-9, -0.3)],
    "nrdtrimn": [(0.2, 0.8), (0.5, 2), (-1, 1)],
    "nrdtrisd": [(-2, -1), (0.85, 0.95), (0.5, 2)],
    "pdtr": [2.0, (1, 4)],
    "pdtrc": [2.0, (1, 4)],
    "pdtri": [2, (0.3, 0.7)],
    "pdtrik": [(0.3, 0.7), (3, 6)],
    "stdtr": [(2, 8), (-2, 2)],
    "stdtridf": [(0.93, 0.94), (2.0, 2.02)],
    "stdtrit": [(2, 8), (0.2, 0.8)],
    "tklmbda": [(-1, 1), (-0.5, 0.5)],
    # error functions
    "dawsn": [(-3, 3)],
    "erf": [(-2, 2)],
    "erfc": [(-2, 2)],
    "erfcinv": [(0.3, 1.7)],
    "erfcx": [(-1, 5)],
    "erfi": [(-2, 2)],
    "erfinv": [(-0.8, 0.8)],
    "fresnel": [(-2, 2)],
    "modfresnelm": [(0.2, 1.5)],
    "modfresnelp": [(0.2, 1.5)],
    "owens_t": [(-2, 2), (-2, 2)],
    "voigt_profile": [(-2, 2), (0.5, 2), (0.5, 2)],
    # logistic, entropies, losses, transforms
    "boxcox": [(0.5, 3), (-1, 1)],
    "boxcox1p": [(-0.3, 3), (-1, 1)],
    "entr": [(0.3, 2)],
    "expit": [(-5, 5)],
    "exprel": [(-4, 4)],
    "huber": [(0.9, 1.1), (-0.7, 0.7)],
    "inv_boxcox": [(-0.5, 2), (0.1, 1)],
    "inv_boxcox1p": [(-0.5, 2), (0.1, 1)],
    "kl_div": [(0.5, 2), (0.5, 2)],
    "log_expit": [(-5, 5)],
    "logit": [(0.2, 0.8)],
    "pseudo_huber": [(0.5, 2), (-2, 2)],
    "rel_entr": [(0.5, 2), (0.5, 2)],
    "xlog1py": [(0.5, 2), (-0.3, 2)],
    "xlogy": [(0.5, 2), (0.5, 2)],
    # elementary
    "agm": [(0.5, 1), (1.5, 3)],
    "cbrt": [(0.5, 2)],
    "cosdg": [(-180, 180)],
    "cosm1": [(-2, 2)],
    "cotdg": [(30, 150)],
    "exp10": [(-1, 1)],
    "exp2": [(-1, 1)],
    "expm1": [(-1, 1)],
    "log1p": [(-0.3, 2)],
    "powm1": [(0.5, 2), (-2, 2)],
    "radian": [(0, 90), (0, 60), (0, 60)],
    "sindg": [(-180, 180)],
    "tandg": [(-60, 60)],
    "wrightomega": [(-2, 2)],
    # integrals
    "exp1": [(0.5, 3)],
    "expi": [(0.5, 3)],
    "expn": [2, (0.5, 3)],
    "it2i0k0": [(0.3, 3)],
    "it2j0y0": [(0.3, 3)],
    "it2struve0": [(1, 4)],
    "itairy": [(0.5, 3)],
    "iti0k0": [(0.5, 3)],
    "itj0y0": [(0.5, 3)],
    "itmodstruve0": [(0.5, 3)],
    "itstruve0": [(0.5, 3)],
    "shichi": [(0.5, 3)],
    "sici": [(0.5, 3)],
    "spence": [(0.5, 3)],
    # Bessel and kin
    "airy": [(-2, 2)],
    "airye": [(0.5, 2)],
    "bei": [(0.5, 3)],
    "beip": [(0.5, 3)],
    "ber": [(0.5, 3)],
    "berp": [(0.5, 3)],
    "besselpoly": [(0.5, 2), 1.0, 0.5],
    "hankel1": [1.5, (0.5, 5)],
    "hankel1e": [1.5, (0.5, 5)],
    "hankel2": [1.5, (0.5, 5)],
    "hankel2e": [1.5, (0.5, 5)],
    "i0": [(-2, 2)],
    "i0e": [(0.5, 3)],
    "i1": [(-2, 2)],
    "i1e": [(-3, -0.5)],
    "iv": [1.5, (0.5, 3)],
    "ive": [1.5, (0.5, 3)],
    "j0": [(-5, 5)],
    "j1": [(-5, 5)],
    "jv": [1.5, (0.5, 5)],
    "jve": [1.5, (0.5, 5)],
    "k0": [(0.5, 3)],
    "k0e": [(0.5, 3)],
    "k1": [(0.5, 3)],
    "k1e": [(0.5, 3)],
    "kei": [(0.5, 3)],
    "keip": [(0.5, 3)],
    "kelvin": [(0.5, 3)],
    "ker": [(0.5, 3)],
    "kerp": [(0.5, 3)],
    "kn": [1, (0.5, 3)],
    "kv": [1.5, (0.5, 3)],
    "kve": [1.5, (0.5, 3)],
    "modstruve": [0.5, (0.5, 3)],
    "struve": [0.5, (0.5, 3)],
    "y0": [(0.8, 5)],
    "y1": [(0.8, 5)],
    "yn": [2, (0.8, 5)],
    "yv": [1.5, (0.8, 5)],
    "yve": [1.5, (0.8, 5)],
    # written in Python
    "assoc_laguerre": [(0.5, 2), 3],
    "h1vp": [1.5, (0.5, 5), 2],
    "h2vp": [1.5, (0.5, 5), 2],
    "ivp": [1.5, (0.5, 3), 2],
    "jvp": [1.5, (0.5, 5), 2],
    "kvp": [1.5, (0.5, 3), 2],
    "softplus": [(-3, 3)],
    "yvp": [1.5, (0.8, 5), 2],
    # elliptic
    "ellipe": [(-2, 0.8)],
    "ellipeinc": [(-4, 4), (-1, 0.8)],
    "ellipj": [(-2, 2), (0.1, 0.8)],
    "ellipk": [(-2, 0.8)],
    "ellipkinc": [(-4, 4), (-1, 0.8)],
    "ellipkm1": [(0.3, 2)],
    "elliprc": [(0.5, 2), (0.5, 2)],
    "elliprd": [(0.5, 2), (0.5, 2), (0.5, 2)],
    "elliprf": [(0.5, 2), (0.5, 2), (0.5, 2)],
    "elliprg": [(0.5, 2), (0.5, 2), (0.5, 2)],
    "elliprj": [(0.5, 2), (0.5, 2), (0.5, 2), (0.5, 2)],
    # hypergeometric
    "hyp0f1": [1.5, (-2, 2)],
    "hyp1f1": [0.5, 1.5, (-2, 2)],
    "hyp2f1": [0.5, 1.2, 1.9, (-0.6, 0.6)],
    "hyperu": [0.5, 1.2, (0.8, 3)],
    "log_wright_bessel": [0.5, 1.2, (0.5, 3)],
    "pbdv": [1.5, (-2, 2)],
    "pbvv": [1.5, (-2, 2)],
    "pbwa": [1.5, (-2, 2)],
    "wright_bessel": [0.5, 1.2, (0.5, 3)],
    # orthogonal polynomials, wave functions
    "eval_chebyc": [3, (-0.9, 0.9)],
    "eval_chebys": [3, (-0.9, 0.9)],
    "eval_chebyt": [3, (-0.9, 0.9)],
    "eval_chebyu": [3, (-0.9, 0.9)],
    "eval_gegenbauer": [3, 0.7, (-0.9, 0.9)],
    "eval_genlaguerre": [3, 0.7, (0.1, 2)],
    "eval_hermite": [3, (-2, 2)],
    "eval_hermitenorm": [3, (-2, 2)],
    "eval_jacobi": [3, 0.7, 1.2, (-0.9, 0.9)],
    "eval_laguerre": [3, (0.1, 2)],
    "eval_legendre": [3, (-0.9, 0.9)],
    "eval_sh_chebyt": [3, (0.1, 0.9)],
    "eval_sh_chebyu": [3, (0.1, 0.9)],
    "eval_sh_jacobi": [3, 2.7, 1.2, (0.1, 0.9)],
    "eval_sh_legendre": [3, (0.1, 0.9)],
    "lpmv": [1, 2.5, (-0.7, 0.7)],
    "mathieu_cem": [2, 1.5, (10, 80)],
    "mathieu_modcem1": [2, 1.5, (0.3, 1)],
    "mathieu_modcem2": [2, 1.5, (0.3, 1)],
    "mathieu_modsem1": [2, 1.5, (0.3, 1)],
    "mathieu_modsem2": [2, 1.5, (0.3, 1)],
    "mathieu_sem": [2, 1.5, (10, 80)],
    "obl_ang1": [0, 2, 1.5, (-0.6, 0.6)],
    "obl_ang1_cv": [0, 2, 1.5, special.obl_cv(0, 2, 1.5), (-0.6, 0.6)],
    "obl_rad1": [0, 2, 1.5, (0.5, 1)],
    "obl_rad1_cv": [0, 2, 1.5, special.obl_cv(0, 2, 1.5), (0.5, 1)],
    "obl_rad2": [0, 2, 1.5, (3, 4)],
    "obl_rad2_cv": [0, 2, 1.5, special.obl_cv(0, 2, 1.5), (3, 4)],
    "pro_ang1": [0, 2, 1.5, (-0.6, 0.6)],
    "pro_ang1_cv": [0, 2, 1.5, special.pro_cv(0, 2, 1.5), (-0.6, 0.6)],
    "pro_rad1": [0, 2, 1.5, (1.5, 2)],
    "pro_rad1_cv": [0, 2, 1.5, special.pro_cv(0, 2, 1.5), (1.5, 2)],
    "pro_rad2": [0, 2, 1.5, (3, 4)],
    "pro_rad2_cv": [0, 2, 1.5, special.pro_cv(0, 2, 1.5), (3, 4)],
}

# SciPy's own values in single precision are NaN, take forever, or warn.
DOUBLE_ONLY = ("bdtr", "mathieu", "nbdtr", "obl_", "pro_", "kn", "yn")

# What differences see of SciPy's errors: inverses found by bisection up to about 1e-9, approximations.
RTOL = {"fdtridfd": 1e-4, "itairy": 1e-5, "stdtridf": 1e-3}

COMPLEX = {
    "airy", "dawsn", "elliprc", "elliprd", "elliprf", "elliprg", "elliprj", "erf", "erfc", "erfcx",
    "erfi", "eval_chebyc", "eval_chebys", "eval_chebyt", "eval_chebyu", "eval_gegenbauer",
    "eval_genlaguerre", "eval_jacobi", "eval_laguerre", "eval_legendre", "eval_sh_chebyt",
    "eval_sh_chebyu", "eval_sh_jacobi", "eval_sh_legendre", "exp1", "expi", "expm1", "fresnel",
    "gamma", "hankel1", "hankel1e", "hankel2", "hankel2e", "hyp0f1", "hyp1f1", "hyp2f1", "iv",
    "ive", "jv", "jve", "kv", "kve", "log1p", "log_ndtr", "loggamma", "ndtr", "psi", "rgamma",
    "shichi", "sici", "spence", "wrightomega", "xlog1py", "xlogy", "yv", "yve",
}  # fmt: skip


# SciPy 1.13: these crash or are wrong, hyp1f1 of complex arguments is inaccurate.
OLD = np.lib.NumpyVersion(scipy.__version__) < "1.14.0"
LEFT_OUT = ("pro_rad", "obl_rad", "modfresnelp") if OLD else ()
COMPLEX -= {"hyp1f1"} if OLD else set()


def in_intervals(*arguments):
    """Samples inside the intervals: broadcast, and without axes."""

    def samples(rng):
        for shapes in [[(2,), (2, 1)], [(), ()]]:
            yield sample(
                *(
                    low_high[0] + (low_high[1] - low_high[0]) * rng.random(shapes[i % 2])
                    if isinstance(low_high, tuple)
                    else low_high
                    for i, low_high in enumerate(arguments)
                )
            )

    return samples


def near_the_real_axis(z):
    return np.real(z) + 0.3j * np.imag(z) if z.dtype.kind == "c" else z


def ufunc_record(name, arguments):
    return Operator(
        f"special.{name}",
        getattr(special, name),
        in_intervals(*arguments) if not name.startswith(LEFT_OUT) else lambda rng: [],
        domain=near_the_real_axis,
        complex=name in COMPLEX,
        single=not name.startswith(DOUBLE_ONLY),
        rtol=RTOL.get(name),
    )


def reductions(function):
    def samples(rng):
        yield sample(rng.standard_normal((2, 3)))
        yield sample(rng.standard_normal((2, 3)), axis=0)
        yield sample(rng.standard_normal((2, 3, 2)), axis=(0, -1))
        yield sample(rng.standard_normal(()))

    return Operator(
        f"special.{function.__name__}", function, samples, reference=getattr(special, function.__name__)
    )


def weighted_sums(rng):
    a, b = rng.standard_normal((2, 3)), rng.random((2, 3)) + 0.1
    yield sample(a, b=b)
    yield sample(a, axis=-1, b=b[0], keepdims=True)
    yield sample(a[0], b=b)
    yield sample(a, axis=1, b=[1, 2, 0])


def signed_sums(rng):
    yield sample(rng.standard_normal((2, 3)), axis=1, b=rng.standard_normal((2, 3)), return_sign=True)
    yield sample(rng.standard_normal(3), b=[1.0, -2.0, 1.0], return_sign=True, keepdims=True)


def drop_in(name, *arguments, label="", options=None, **record):
    function = getattr(functions, name)
    options = options or {}
    return Operator(
        f"special.{name}{label}",
        function,
        in_intervals(*arguments),
        call=lambda *args: function(*args, **options),
        reference=lambda *args: getattr(special, name)(*args, **options),
        domain=near_the_real_axis,
        **record,
    )


OPERATORS = [
    *(ufunc_record(name, arguments) for name, arguments in REAL.items() if hasattr(special, name)),
    Operator(
        "special.wofz",
        special.wofz,
        in_intervals((0.5, 2)),
        domain=near_the_real_axis,
        complex=True,
        single=False,
    ),
    Operator(
        "special.zeta",
        _ufuncs._zeta,
        in_intervals((1.5, 5), (0.5, 3)),
        call=special.zeta,
        also=(special.zeta,),
    ),
    Operator("special.zeta of Riemann", _ufuncs._riemann_zeta, in_intervals((-2, 0.5)), call=special.zeta),
    Operator(
        "special.lambertw",
        _ufuncs._lambertw,
        in_intervals((0.5, 2)),
        call=special.lambertw,
        also=(special.lambertw,),
        domain=near_the_real_axis,
        complex=True,
        single=False,
    ),
    Operator("special.gammasgn", special.gammasgn, in_intervals((-3.5, 3)), constant=True),
    Operator("special.round", special.round, in_intervals((-3, 3)), constant=True),
    reductions(functions.logsumexp),
    reductions(functions.softmax),
    reductions(functions.log_softmax),
    Operator(
        "special.logsumexp with factors",
        functions.logsumexp,
        weighted_sums,
        reference=special.logsumexp,
        complex=True,
    ),
    Operator("special.logsumexp with signs", functions.logsumexp, signed_sums, reference=special.logsumexp),
    drop_in("comb", (4, 6), (1, 3)),
    drop_in("comb", (4, 6), (1, 3), label=" with repetition", options={"repetition": True}),
    drop_in("diric", (-9, 9), 3),
    drop_in(
        "factorial",
        (0.5, 3),
        options={"extend": "complex"} if "extend" in special.factorial.__code__.co_varnames else {},
        single=not OLD,  # there it gives float64
    ),
    drop_in("multigammaln", (2, 4), 3),
    drop_in("perm", (4, 6), (1, 3)),
    drop_in("polygamma", [0, 2], (1, 3), single=False),
    *(
        [drop_in("sph_harm_y", [2, 3], [-1, 3], (0.3, 2), (-2, 2), single=False)]
        if hasattr(special, "sph_harm_y")
        else []
    ),
    drop_in("spherical_in", 2, (0.5, 3), complex=True),
    drop_in("spherical_jn", [0, 2], (0.5, 3), complex=True),
    drop_in("spherical_jn", 2, (0.5, 3), label=" derivative", options={"derivative": True}),
    drop_in("spherical_kn", 1, (0.5, 3), complex=True),
    drop_in("spherical_yn", 1, (0.5, 3), complex=True),
]
