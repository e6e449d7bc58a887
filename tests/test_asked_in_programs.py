"""Of the user's objects a program looks at what its code may ask for, and at nothing else."""

import copy
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import lindiff as ld
from lindiff.programs.asked import names_of
from lindiff.programs.program import Program

X = np.array([0.5, -1.0, 2.0])


class Unseen:
    """Nobody can look into it."""

    def __init__(self):
        self.names = globals()
        self.data = memoryview(b"bytes")


class Model:
    """As people write them: data, a cache, a way to draw, and the function itself."""

    rate = 0.5

    def __init__(self, scale):
        self.scale = scale
        self.unseen = Unseen()
        self.history = []
        self.parts = {"shift": 1.0}

    def loss(self, x):
        return np.sum(np.sin(self.scale * x + self.parts["shift"]) * self.weight()) * self.rate

    def weight(self):
        return self.scale + 1

    def draw(self):
        import matplotlib.pyplot as plt

        plt.plot(globals()["X"])

    def __repr__(self):
        return f"a model {self.unseen.names}"


def has_program(fast: Any, *args: Any) -> bool:
    assert isinstance(fast, Program)
    known = fast.known_for(args, {})
    return known is not None and known.reason is None


def agree(fast, function, *args):
    for _ in range(4):
        np.testing.assert_array_equal(fast(*args), function(*args))


def test_what_is_not_asked_for_does_not_matter():
    model = Model(2.0)
    fast = ld.program(model.loss)
    agree(fast, model.loss, X)
    assert has_program(fast, X)
    model.history = [1.0]
    model.unseen.names = {}
    agree(fast, model.loss, X)
    assert has_program(fast, X)


CHANGES = {
    "an attribute": lambda model: setattr(model, "scale", 3.0),
    "a part of one": lambda model: model.parts.update(shift=2.0),
    "one more": lambda model: setattr(model, "weight", lambda: 7.0),
    "one of the class": lambda model: setattr(type(model), "rate", 2.5),
    "a method": lambda model: setattr(type(model), "weight", lambda self: -1.0),
    "one by its dict": lambda model: model.__dict__.update(scale=5.0),
    "the class": lambda model: setattr(model, "__class__", Other),
}


class Other(Model):
    def weight(self):
        return 11.0


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_asked_for_may_change(change, monkeypatch):
    class Own(Model):
        pass

    Own.rate, Own.weight = Model.rate, Model.weight
    model = Own(2.0)
    fast = ld.program(lambda x: model.loss(x))
    agree(fast, model.loss, X)
    change(model)
    agree(fast, model.loss, X)


def by_text(model, x):
    return x * getattr(model, "sca" + "le")


def by_getter(model, x):
    return x * GETTER(model)


def by_pattern(model, x):
    match model:
        case Model(scale=scale):
            return x * scale
    return x


def by_dict(model, x):
    return x * model.__dict__["scale"]


def by_copy(model, x):
    return x * copy.copy(model).weight()


def by_making(model, x):
    return x * type(model)(3.0 * model.rate).weight()


GETTER = operator.attrgetter("scale")
WAYS = [by_text, by_getter, by_pattern, by_dict, by_copy, by_making]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_names_that_are_made_on_the_way(way):
    class Own(Model):
        def __init__(self, scale):
            self.scale = scale

    model = Own(2.0)
    fast = ld.program(lambda x: way(model, x))
    agree(fast, lambda x: way(model, x), X)
    model.scale = 4.0
    Own.rate = 0.75
    agree(fast, lambda x: way(model, x), X)


def test_text_made_of_objects():
    class Named:
        def __init__(self):
            self.name = "a"

        def __repr__(self):
            return self.name

    named, table = Named(), {"a": 1.0, "b": 2.0}
    for function in (
        lambda x: x * table[f"{named}"],
        lambda x: x * table["%r" % named],  # noqa: UP031
        lambda x: x * table[repr(named)],
        lambda x: x * table["{}".format(named)],  # noqa: UP032
    ):
        named.name = "a"
        fast = ld.program(function)
        agree(fast, function, X)
        named.name = "b"
        agree(fast, function, X)


def test_trees_are_looked_at_whole():
    @dataclass
    class Parameters:
        w: Any
        b: Any

    held = Parameters(np.ones(3), 2.0)

    def function(x):
        return ld.tree_map(lambda leaf: np.sum(leaf * x), [held.w, held])[0] * held.b

    for f in (function, lambda x: np.sum(x) * np.sum(ld.ravel(held)[0])):
        fast = ld.program(f)
        agree(fast, f, X)
        held.w = held.w + 1
        agree(fast, f, X)
        held.b = 5.0
        agree(fast, f, X)


def test_methods_of_classes_that_are_named():
    class Line:
        slope = 2.0

        def __init__(self, slope):
            self.slope = slope * SCALE["by"]

        @classmethod
        def steep(cls):
            return cls(10.0)

        def at(self, x):
            return self.slope * x

    for function in (lambda x: Line(3.0).at(x), lambda x: Line.steep().at(x)):
        SCALE["by"] = 1.0
        fast = ld.program(function)
        agree(fast, function, X)
        SCALE["by"] = 2.0
        agree(fast, function, X)


SCALE = {"by": 1.0}


def test_names_in_code():
    def function(model):
        def inner():
            return getattr(model, "inner_name")  # noqa: B009

        match model:
            case Model(scale=1):
                return inner
        return model.rate

    assert {"getattr", "inner_name", "scale", "rate"} <= names_of(function.__code__)
