"""Models of one's own, as classes."""

import numpy as np
import pytest

from lindiff import statespace

RNG = np.random.default_rng(0)
QUICK = {"progress": False, "restarts": False, "standard_errors": False}
Y = np.cumsum(RNG.normal(size=80)) + RNG.normal(size=80) + 3.0 * (np.arange(80) >= 28)


class Shifted(statespace.ParametricModel):
    start = {"level_var": 0.5, "obs_var": None}  # noqa: RUF012
    transforms = {"level_var": "positive"}  # noqa: RUF012

    def __init__(self, exog):
        self.exog = exog

    def build(self, level_var, obs_var, share=1.0):
        return statespace.local_level(level_var, obs_var * share) + statespace.regression(self.exog)


SHIFTED = Shifted(statespace.level_shift(80, 28, name="dam"))


def test_fits_are_those_of_the_builder():
    found = SHIFTED.fit(Y, **QUICK)
    expected = statespace.fit(SHIFTED.build, Y, SHIFTED.start, **QUICK)
    assert found.params == expected.params
    assert found.loglikelihood == expected.loglikelihood
    assert list(found.components) == ["level", "regression"]
    assert found.model.components[1].states == ("dam",)


def test_what_a_fit_is_told_comes_first():
    near = SHIFTED.fit(
        Y, **QUICK, start={"level_var": 0.1}, transforms={"level_var": statespace.bounded(0, 0.2)}
    )
    assert near.params["level_var"] <= 0.2
    fixed = SHIFTED.fit(Y, **QUICK, fixed={"level_var": 1.5})
    assert list(fixed.params) == ["obs_var"]
    assert fixed.model.state_cov[0, 0] == 1.5
    tied = SHIFTED.fit(Y, **QUICK, tied={"level_var": "obs_var"})
    assert tied.model.state_cov[0, 0] == tied.params["obs_var"]


def test_attributes_of_the_class():
    class Fixed(Shifted):
        fixed = {"share": 2.0}  # noqa: RUF012
        priors = {"level_var": lambda v: -1e6 * (v - 0.25) ** 2}  # noqa: RUF012

    found = Fixed(SHIFTED.exog).fit(Y, **QUICK)
    assert found.params["level_var"] == pytest.approx(0.25, abs=1e-3)
    assert found.model.obs_cov[0] == 2 * found.params["obs_var"]
    other = Fixed(SHIFTED.exog).fit(Y, **QUICK, fixed={"share": 1.0})
    assert other.model.obs_cov[0] == other.params["obs_var"]


def test_attributes_of_an_instance():
    river = Shifted(SHIFTED.exog)
    river.start = {"level_var": 0.5}
    assert list(river.fit(Y, **QUICK, fixed={"obs_var": 1.0}).params) == ["level_var"]
    assert Shifted.start == {"level_var": 0.5, "obs_var": None}


def test_a_class_without_attributes():
    class Level(statespace.ParametricModel):
        def build(self, level_var, obs_var):
            return statespace.local_level(level_var, obs_var)

    assert Level().fit(Y, **QUICK).params == statespace.fit(statespace.local_level, Y, **QUICK).params


def test_a_class_needs_a_builder():
    with pytest.raises(TypeError, match=r"Empty: a ParametricModel needs a method build\(self, …\)"):

        class Empty(statespace.ParametricModel):
            pass
