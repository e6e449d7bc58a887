"""Of the user's objects a program looks at what its code may ask for, and at nothing else."""

import copy
import operator
from collections.abc import Callable
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


# -- classes: compared, made, matched --------------------------------------------------------------------


class Opening:
    """Whose objects read what cannot be seen."""

    def __init__(self):
        self.names = globals()


class Opened(Opening):
    """Made without looking around."""

    def __init__(self):
        self.names = []


def made(_, kind=None):
    return Opening if kind is None else kind()


@pytest.mark.parametrize(
    "ask",
    [
        lambda x, of: isinstance(of, Opening),
        lambda x, of: isinstance(of, (Opening, Opened)),
        lambda x, of: isinstance(of, Opening | Opened),
        lambda x, of: issubclass(of.kind, Opening),
        lambda x, of: type(of) is Opening,
        lambda x, of: of.__class__ is x.__class__,
        lambda x, of: type(of).__name__ == "Opening",
    ],
)
def test_classes_that_are_only_compared(ask):
    model = Matched(2.0)
    model.kind = Matched

    def f(x):
        return x if ask(x, model) else x * model.inside

    fast = ld.program(f)
    agree(fast, f, X)
    assert has_program(fast, X)


@pytest.mark.parametrize(
    "make",
    [
        lambda of: Opening(),
        lambda of: type(of)(),
        lambda of: of.__class__(),
        lambda of: made(of)(),
        lambda of: (made if of else isinstance)(of, Opening),
        lambda of: isinstance(of, Opening) or Opening(),
        lambda of: (isinstance, made(of, Opening)),
    ],
)
def test_classes_that_objects_are_made_of(make):
    model = Opening.__new__(Opening)

    def f(x):
        make(model)
        return x * 2

    fast = ld.program(f)
    agree(fast, f, X)
    assert not has_program(fast, X)


@dataclass(frozen=True)
class Fitted:
    loss: Callable[[Any], Any]
    start: Callable[[], Any]
    scale: float = 2.0


def start():
    return globals()["X"]


def doubled(x):
    return 2 * x


def halved(x):
    return x / 2


def test_fields_of_data_classes_that_code_does_not_ask_for():
    model = Fitted(doubled, start)
    seen = {model: 3.0}

    def f(x):
        return model.loss(x) * seen[model] if model == model else x

    fast = ld.program(f)
    agree(fast, f, X)
    assert has_program(fast, X)


def test_fields_of_data_classes_are_compared():
    one, other = Fitted(doubled, start), Fitted(doubled, start)

    def f(x):
        return x * 2 if one == other else x * 3

    fast = ld.program(f)
    agree(fast, f, X)
    assert has_program(fast, X)
    object.__setattr__(other, "scale", 5.0)
    agree(fast, f, X)
    object.__setattr__(one, "scale", 5.0)
    agree(fast, f, X)
    object.__setattr__(one, "loss", halved)
    agree(fast, f, X)


def test_functions_in_trees_that_tree_map_hands_on(monkeypatch):
    model = Fitted(lambda x: x * FACTOR, doubled)

    def f(x):
        found = []
        ld.tree_map(lambda leaf: found.append(leaf(x) if callable(leaf) else leaf), model)
        return found[0] + found[1]

    fast = ld.program(f)
    agree(fast, f, X)
    monkeypatch.setitem(globals(), "FACTOR", 7.0)
    agree(fast, f, X)


FACTOR = 3.0


class Logged:
    """Whose attributes say that they are written to."""

    def __init__(self):
        self.__dict__["count"] = FACTOR

    def __setattr__(self, name, value):
        self.__dict__[name] = value * FACTOR


def test_attributes_that_are_written_to(monkeypatch):
    def f(x):
        logged = Logged()
        logged.count = 2.0
        return x * logged.count

    fast = ld.program(f)
    agree(fast, f, X)
    monkeypatch.setitem(globals(), "FACTOR", 7.0)
    agree(fast, f, X)


class Matched:
    __match_args__ = ("inside",)

    def __init__(self, inside):
        self.inside = inside


def test_what_patterns_ask_for():
    model = Matched([2.0])

    def f(x):
        match model:
            case Matched([scale]):
                return x * scale
        return x

    fast = ld.program(f)
    agree(fast, f, X)
    model.inside[0] = 5.0
    agree(fast, f, X)


def test_sentinels_are_read():
    missing = object()

    def loss(x, weight=missing):
        return np.sum(x * (2.0 if weight is missing else weight))

    fast = ld.program(loss)
    agree(fast, loss, X)
    assert has_program(fast, X)
    agree(fast, loss, X, X)
