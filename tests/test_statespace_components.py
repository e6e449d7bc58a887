"""Names of the parts of a model, and of their states."""

import copy
import pickle

import numpy as np
import pytest

import lindiff as ld
from lindiff.statespace import (
    Component,
    Model,
    arma,
    common,
    cycle,
    dynamic_factor,
    exponential_smoothing,
    local_level,
    local_linear_trend,
    regression,
    sarima,
    seasonal,
    trigonometric_seasonal,
    var,
    varma,
)

ONE = np.eye(1)
MODELS = [
    local_level(1.0),
    local_linear_trend(1.0, 0.5),
    seasonal(12, 0.5),
    trigonometric_seasonal(7, 0.1),
    trigonometric_seasonal(6, 0.1),
    trigonometric_seasonal(365.25, 0.1, harmonics=3),
    arma([0.5, 0.1], [0.2], 1.0),
    sarima([0.5], [0.2], 1.0, difference=1, period=4, seasonal_difference=1),
    var(0.3 * np.ones((2, 1, 1)), ONE),
    varma(0.3 * np.ones((2, 1, 1)), 0.1 * np.ones((3, 1, 1)), ONE),
    dynamic_factor(np.ones((3, 1)), [[0.5]], np.ones(3), error_ar=np.zeros(3)),
    dynamic_factor(np.ones((3, 1)), [[0.5]], np.ones(3), aggregation=[None, [1, 1], [1, 0, 2]]),
    cycle(12, 0.5),
    common(local_linear_trend(1.0, 0.5), [1.0, 2.0]),
    exponential_smoothing(0.5, 1.0),
    exponential_smoothing(0.5, 1.0, 0.1, 0.1, period=2),
    exponential_smoothing(0.5, 1.0, 0.1, 0.1, period=4),
    regression({"a": np.ones(4), "b": np.ones(4)}),
    regression(np.ones((4, 2))),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.components[-1].states[-1])
def test_every_state_has_a_name_of_its_own(model):
    names = [state for component in model.components for state in component.states]
    assert len(names) == len(set(names)) == model.transition.shape[-1]


def test_sums_have_the_components_of_their_summands():
    model = local_linear_trend(1.0, 0.5) + seasonal(3, 0.5) + arma([0.5], [], 1.0)
    assert model.components == (
        Component("trend", ("level", "slope")),
        Component("seasonal(3)", ("seasonal(3)", "seasonal(3).L1")),
        Component("arma", ("arma[0]",)),
    )


def test_second_ones_get_a_number():
    model = sum([local_level(1.0)] * 3)
    assert [component.name for component in model.components] == ["level", "level 2", "level 3"]
    assert [component.states for component in model.components] == [("level",), ("level 2",), ("level 3",)]


def test_states_of_one_name_get_a_number_too():
    model = local_level(1.0) + regression({"level": np.ones(4), "price": np.ones(4)}) + local_level(1.0)
    assert model.components == (
        Component("level", ("level 2",)),
        Component("regression", ("level", "price"), explanatory=True),
        Component("level 2", ("level 3",)),
    )


def test_models_without_names():
    model = Model(np.eye(2), np.ones((1, 2)), np.eye(2), ONE, diffuse=True)
    assert model.components == (Component("state", ("state[0]", "state[1]")),)
    assert [each.name for each in (model + local_level(1.0)).components] == ["state", "level"]


def test_names_of_ones_own():
    model = local_linear_trend(1.0, 0.5).named("demand", "size", "growth") + seasonal(2, 1.0).named("week")
    assert model.components == (Component("demand", ("size", "growth")), Component("week", ("week",)))
    assert seasonal(3, 1.0).named("week").components[0].states == ("week[0]", "week[1]")
    with pytest.raises(ValueError, match="name 1 states, and transition has 2"):
        local_linear_trend(1.0, 0.5).named("demand", "size")
    with pytest.raises(ValueError, match="more than one component is called a"):
        local_linear_trend(1.0, 0.5).of_components((Component("a", ("x",)), Component("a", ("y",))))


def test_names_stay_with_a_model():
    model = local_linear_trend(1.0, 0.5, 0.1) + seasonal(4, 0.5)
    assert len(model) == 9
    for other in (
        model._replace(obs_cov=np.ones(1)),
        copy.copy(model),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        ld.tree_map(lambda x: 2 * x, model),
        ld.grad(lambda model: ld.statespace.loglikelihood(np.arange(9.0) ** 0.5, *model))(model),
    ):
        assert isinstance(other, Model)
        assert other.components == model.components
    assert Model(*model[:2], np.eye(5), ONE).components[0].name == "state"
    fewer = model._replace(transition=np.eye(2), design=np.ones((1, 2)), state_cov=np.eye(2), diffuse=True)
    assert fewer.components[0].name == "state"


def test_programs_that_build_models_keep_the_names():
    fast = ld.program(lambda level_var: local_level(level_var) + seasonal(4, 0.5))
    for _ in range(3):
        assert [each.name for each in fast(1.0).components] == ["level", "seasonal(4)"]
