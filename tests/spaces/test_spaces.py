"""Search spaces: configurations and points, JSON forms, named options."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.errors import HeliotropeError, InputError, located
from heliotrope.spaces import Parameter, Value
from heliotrope.validation import Array, short_repr
from strategies import fixed

NAN, INF = float("nan"), float("inf")
HUGE = 10**5000  # which Python does not print
EPS = float(np.finfo(float).eps)

MIXED = ht.SearchSpace(
    {
        "x": ht.Real(0, 1),
        "rate": ht.Real(1e-4, 1, log=True),
        "fan": ht.Integer(1, 8),
        "mode": ht.Categorical(["a", "b"]),
        "on": ht.Boolean(),
    }
)
FANS = ht.SearchSpace(
    {"fan": ht.Integer(1, 3), "mode": ht.Categorical(["a", "b"]), "on": ht.Boolean()}
)


# Random spaces

names = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=100
).filter(str.isprintable)


@st.composite
def reals(draw: st.DrawFn) -> ht.Real:
    if draw(st.booleans()):
        low = draw(st.floats(1e-90, 1e90))
        return ht.Real(low, low * draw(st.floats(1.0 + 1e-8, 1e9)), log=True)
    low = draw(st.floats(-1e50, 1e50))
    return ht.Real(low, low + max(abs(low), 1e-50) * draw(st.floats(1e-8, 1e9)))


@st.composite
def stepped_reals(draw: st.DrawFn) -> ht.Real:
    """Decimal steps, as people write them."""
    digits, count = draw(st.integers(-3, 6)), draw(st.sampled_from([0, 1, 4, 99, 10**5]))
    low, step = draw(st.integers(-(10**3), 10**3)), draw(st.sampled_from([1, 2, 25]))
    logarithmic = low > 0 and draw(st.booleans())
    first, last, size = (float(f"{number}e{-digits}") for number in (low, low + count * step, step))
    return ht.Real(first, last, logarithmic, size)


@st.composite
def integers(draw: st.DrawFn) -> ht.Integer:
    logarithmic = draw(st.booleans())
    low = draw(st.integers(1, 10**11) if logarithmic else st.integers(-(10**12), 10**11))
    step = draw(st.sampled_from([1, 2, 7, 1000]))
    most = draw(st.sampled_from([1, 10, 10**8]))
    return ht.Integer(low, low + step * draw(st.integers(0, most)), logarithmic, step)


choices = st.lists(
    st.one_of(names, st.booleans(), st.integers(-5, 5), st.floats(-1e99, 1e99)),
    min_size=1,
    max_size=5,
    unique_by=lambda choice: (isinstance(choice, bool), choice),
)
parameters = st.one_of(
    reals(),
    stepped_reals(),
    integers(),
    st.floats(-1e99, 1e99).map(lambda value: ht.Real(value, value)),
    choices.map(ht.Categorical),
    st.just(ht.Boolean()),
)
spaces = st.dictionaries(names, parameters, min_size=1, max_size=5).map(ht.SearchSpace)
discrete_spaces = st.dictionaries(
    names,
    st.one_of(
        st.tuples(st.integers(-9, 9), st.integers(0, 6)).map(
            lambda ends: ht.Integer(ends[0], sum(ends))
        ),
        choices.map(ht.Categorical),
        st.just(ht.Boolean()),
        st.just(ht.Real(0.25, 0.25)),
        st.just(ht.Real(0.1, 0.7, step=0.1)),
        st.just(ht.Real(1e-3, 1.0, log=True, step=0.333)),
    ),
    min_size=1,
    max_size=4,
).map(ht.SearchSpace)


def dimension(space: ht.SearchSpace) -> int:
    return space.domain.dimension


def a_point(space: ht.SearchSpace, seed: int) -> Array:
    """Some point of the unit cube, here and there on its faces."""
    rng = np.random.default_rng(seed)
    return np.clip(rng.uniform(-0.2, 1.2, dimension(space)), 0.0, 1.0)


def is_valid(parameter: Parameter, value: Value) -> bool:
    match parameter:
        case ht.Real(low, high, _, None):
            return type(value) is float and low <= value <= high
        case ht.Real(low, high, _, step):
            steps = (float(value) - low) / (step or 1.0)
            return type(value) is float and abs(steps - round(steps)) < 1e-6
        case ht.Integer(low, high, _, step):
            return type(value) is int and low <= value <= high and (value - low) % step == 0
        case ht.Categorical(options):
            return any(value == option and type(value) is type(option) for option in options)
        case _:
            return type(value) is bool


def rounding(parameter: Parameter) -> float:
    """How far off a real parameter's coordinate can be: a few roundings, seen from its range."""
    if not isinstance(parameter, ht.Real) or parameter.count is not None:
        return 0.0
    size = max(abs(parameter.low), abs(parameter.high))
    if parameter.log:
        return 8 * EPS * (1.0 + 1.0 / log(parameter.high / parameter.low))
    return 8 * EPS * size / (parameter.high - parameter.low)


@given(space=spaces, seed=st.integers(0, 999))
@fixed(150)
def test_every_point_decodes_to_a_configuration_of_plain_values(
    space: ht.SearchSpace, seed: int
) -> None:
    params = space.params(a_point(space, seed))
    assert list(params) == list(space.parameters)
    for name, parameter in space.parameters.items():
        assert is_valid(parameter, params[name])
    assert repr(json.loads(json.dumps(params))) == repr(params)


@given(space=spaces, seed=st.integers(0, 999))
@fixed(150)
def test_a_configuration_lies_where_its_point_snaps_to(space: ht.SearchSpace, seed: int) -> None:
    x = a_point(space, seed)
    params = space.params(x)
    worst = max(rounding(parameter) for parameter in space.parameters.values())
    np.testing.assert_allclose(space.point(params), space.snap(x), rtol=0.0, atol=worst)
    assert space.params(space.snap(x)) == params


@given(space=spaces, seed=st.integers(0, 999))
@fixed(150)
def test_snapping_again_changes_nothing(space: ht.SearchSpace, seed: int) -> None:
    snapped = space.snap(a_point(space, seed))
    np.testing.assert_array_equal(space.snap(snapped), snapped)
    assert np.all((snapped >= 0.0) & (snapped <= 1.0))


@given(space=spaces, seed=st.integers(0, 999))
@fixed(50)
def test_many_points_snap_as_each_alone(space: ht.SearchSpace, seed: int) -> None:
    points = np.array([a_point(space, seed + i) for i in range(3)])
    np.testing.assert_array_equal(space.snap(points), [space.snap(x) for x in points])


@given(space=discrete_spaces)
@fixed(60)
def test_a_finite_space_lists_every_configuration_once(space: ht.SearchSpace) -> None:
    assert isinstance(space.domain, ht.Finite)
    every = [space.params(i) for i in range(len(space.domain))]
    assert len({repr(params) for params in every}) == len(every)
    assert len(every) == np.prod([parameter.count or 0 for parameter in space.parameters.values()])
    for i, params in enumerate(every):
        assert space.index(params) == i
        np.testing.assert_array_equal(space.point(params), space.domain.points[i])
        assert repr(space.params(space.domain.points[i])) == repr(params)


@given(space=spaces)
@fixed(100)
def test_json_gives_back_the_same_space(space: ht.SearchSpace) -> None:
    again = ht.SearchSpace.from_json(json.loads(json.dumps(space.to_json())))
    assert again == space
    assert hash(again) == hash(space)
    assert repr(again) == repr(space)
    np.testing.assert_array_equal(again.snap(a_point(space, 0)), space.snap(a_point(space, 0)))


# What lies where


def test_coordinates_have_the_order_of_the_parameters() -> None:
    assert isinstance(MIXED.domain, ht.Box)
    assert MIXED.domain.lower.tolist() == [0.0] * 6
    assert MIXED.domain.upper.tolist() == [1.0] * 6
    params = {"x": 0.25, "rate": 0.01, "fan": 8, "mode": "b", "on": True}
    np.testing.assert_allclose(MIXED.point(params), [0.25, 0.5, 1.0, 0.0, 1.0, 1.0], atol=4 * EPS)
    assert MIXED.params([0.25, 1.0, 0.49, 0.6, 0.4, 0.5]) == {
        "x": 0.25,
        "rate": 1.0,
        "fan": 4,
        "mode": "a",
        "on": False,
    }


def test_bounds_are_reached_exactly() -> None:
    space = ht.SearchSpace({"a": ht.Real(1e-3, 0.3, log=True), "b": ht.Real(-0.9, 0.2)})
    assert space.params([0.0, 0.0]) == {"a": 1e-3, "b": -0.9}
    assert space.params([1.0, 1.0]) == {"a": 0.3, "b": 0.2}


def test_the_last_parameter_of_a_finite_space_runs_fastest() -> None:
    assert isinstance(FANS.domain, ht.Finite)
    assert len(FANS.domain) == 12
    assert FANS.domain.points[:3].tolist() == [[0, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    assert FANS.params(7) == {"fan": 2, "mode": "b", "on": True}
    assert FANS.params(np.int64(7)) == FANS.params(7)


def test_integers_on_a_log_scale() -> None:
    space = ht.SearchSpace({"n": ht.Integer(1, 10_000, log=True)})
    assert space.params([0.5]) == {"n": 100}
    assert space.snap([0.501]) == space.point({"n": 101})


def test_a_space_of_too_many_configurations_is_a_box() -> None:
    assert isinstance(ht.SearchSpace({"n": ht.Integer(1, 5000)}).domain, ht.Finite)
    assert isinstance(ht.SearchSpace({"n": ht.Integer(1, 5001)}).domain, ht.Box)
    many = ht.SearchSpace({f"n{i}": ht.Integer(-(10**12), 10**12) for i in range(100)})
    assert dimension(many) == 100


def test_a_constant_takes_no_coordinate() -> None:
    space = ht.SearchSpace(
        {"c": ht.Real(2, 2), "x": ht.Real(0, 1), "d": ht.Integer(3, 3), "e": ht.Categorical(["k"])}
    )
    assert dimension(space) == 1
    assert space.params([0.5]) == {"c": 2.0, "x": 0.5, "d": 3, "e": "k"}
    assert space.point({"c": 2, "x": 0.5, "d": 3, "e": "k"}).tolist() == [0.5]
    with pytest.raises(InputError, match=r"^params\.c: expected .*; got 2\.1"):
        space.point({"c": 2.1, "x": 0.5, "d": 3, "e": "k"})


def test_a_space_of_one_configuration() -> None:
    space = ht.SearchSpace({"c": ht.Real(2, 2, log=True), "d": ht.Integer(3, 3, log=True)})
    assert isinstance(space.domain, ht.Finite)
    assert len(space.domain) == 1
    assert space.params(0) == space.params(space.domain.points[0]) == {"c": 2.0, "d": 3}
    assert space.index({"c": 2.0, "d": 3}) == 0


def test_numbers_and_truth_values_are_different_choices() -> None:
    space = ht.SearchSpace({"k": ht.Categorical([1, True, "1", 0.5])})
    assert [repr(space.params(i)["k"]) for i in range(4)] == ["1", "True", "'1'", "0.5"]
    assert [space.index({"k": value}) for value in (1.0, True, "1", np.float64(0.5))] == [
        0,
        1,
        2,
        3,
    ]
    assert ht.Categorical([1]) != ht.Categorical([True])


def test_numpy_scalars_are_taken_and_plain_values_given() -> None:
    params = {"fan": np.int8(2), "mode": np.str_("b"), "on": np.bool_(True)}
    assert FANS.index(params) == 7
    scalars: list[Any] = [np.int64(4), np.str_("z")]
    space = ht.SearchSpace({"k": ht.Categorical(scalars)})
    assert json.dumps(space.to_json()) == '{"k": {"type": "categorical", "choices": [4, "z"]}}'


def test_an_optimizer_is_told_the_configuration_that_was_measured() -> None:
    policy = ht.tv_gp_ucb(ht.Prior(RBF(0.3), ht.Forgetting(0.01), noise=0.01))
    space = ht.SearchSpace({"x": ht.Real(0, 1), "fan": ht.Integer(1, 4), "on": ht.Boolean()})
    opt = ht.Optimizer(space.domain, policy)
    for _ in range(4):
        proposed = opt.propose()
        s = opt.begin(space.snap(proposed.x), proposed.t)
        assert space.params(s.x) == space.params(proposed.x)
        opt.tell(s, float(s.x.sum()))
    np.testing.assert_array_equal(opt.history.x, space.snap(opt.history.x))


@pytest.mark.parametrize("space", [FANS, MIXED], ids=["finite", "box"])
def test_values_measured_elsewhere_are_told_by_their_points(space: ht.SearchSpace) -> None:
    opt = ht.Optimizer(space.domain, ht.tv_gp_ucb(ht.Prior(RBF(0.3), ht.Forgetting(0.01))))
    params = space.params(np.full(dimension(space), 0.3))
    opt.tell_many([1.0], [space.point(params)], [0.5])
    np.testing.assert_array_equal(opt.history.x, [space.point(params)])


# JSON forms


def test_the_json_form_of_a_space() -> None:
    data: dict[str, dict[str, Any]] = {
        "x": {"type": "real", "low": 0, "high": 1, "log": False},
        "rate": {"type": "real", "low": 1e-4, "high": 1, "log": True},
        "fan": {"type": "integer", "low": 1, "high": 8},
        "mode": {"type": "categorical", "choices": ["a", "b"]},
        "on": {"type": "boolean"},
    }
    space = ht.SearchSpace.from_json(data)
    assert space == MIXED
    assert space.to_json() == data | {"fan": data["fan"] | {"log": False, "step": 1}}
    steps = {"n": {"type": "integer", "low": 1, "high": 9, "log": True, "step": 4}}
    assert ht.SearchSpace.from_json(steps).to_json() == steps
    halves = {"x": {"type": "real", "low": 0, "high": 2, "log": False, "step": 0.5}}
    assert ht.SearchSpace.from_json(halves).to_json() == halves


def test_values_in_steps_are_free_of_rounding_errors() -> None:
    tenths = ht.Real(0.0, 1.0, step=0.1)
    assert [tenths.value(i) for i in range(11)] == [
        0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
    ]  # fmt: skip
    assert tenths.count == 11
    assert isinstance(ht.SearchSpace({"x": tenths}).domain, ht.Finite)
    assert tenths.position(0.1 + 0.2) == 3
    with pytest.raises(InputError, match=r"in steps of 0\.1; got 0\.35"):
        tenths.position(0.35)


def test_the_order_of_parameters_counts() -> None:
    form: dict[str, Any] = {"a": ht.Boolean(), "b": ht.Boolean()}
    assert ht.SearchSpace(form) != ht.SearchSpace(dict(reversed(form.items())))


def real(**fields: Any) -> dict[str, Any]:
    return {"x": {"type": "real", "low": 0, "high": 1} | fields}


def integer(**fields: Any) -> dict[str, Any]:
    return {"fan": {"type": "integer", "low": 1, "high": 8} | fields}


def categorical(choices: Any) -> dict[str, Any]:
    return {"mode": {"type": "categorical", "choices": choices}}


BAD_SPACES: list[tuple[Any, str]] = [
    (None, "space"),
    ([], "space"),
    ("x", "space"),
    ({}, "space"),
    ({f"p{i}": {"type": "boolean"} for i in range(101)}, "space"),
    ({"": {"type": "boolean"}}, "space"),
    ({"a\n": {"type": "boolean"}}, "space"),
    ({"\ud800": {"type": "boolean"}}, "space"),
    ({"a" * 101: {"type": "boolean"}}, "space"),
    ({1: {"type": "boolean"}}, "space"),
    ({"x": None}, "space.x"),
    ({"x": [0, 1]}, "space.x"),
    ({"x": {}}, "space.x.type"),
    ({"x": {"type": "float"}}, "space.x.type"),
    ({"x": {"type": ["real"]}}, "space.x.type"),
    ({"x": {"type": "real", "low": 0}}, "space.x.high"),
    ({"x": {"type": "boolean", "low": 0}}, "space.x.low"),
    ({"x": {"type": "boolean", "a\n": 0}}, "space.x"),
    (real(step=0.3), "space.x.step"),
    (real(step=0), "space.x.step"),
    (real(step=2), "space.x.step"),
    (real(step="1"), "space.x.step"),
    (real(step=1e-10), "space.x.step"),
    (real(log=1), "space.x.log"),
    (real(log=True), "space.x.low"),
    (real(low="0"), "space.x.low"),
    (real(low=None), "space.x.low"),
    (real(low=False), "space.x.low"),
    (real(low=[0]), "space.x.low"),
    (real(low=NAN), "space.x.low"),
    (real(low=-INF), "space.x.low"),
    (real(high=INF), "space.x.high"),
    (real(high=HUGE), "space.x.high"),
    (real(high=-1), "space.x.high"),
    (real(low=1e9, high=1e9 + 0.5), "space.x.high"),
    (real(high=1e-300), "space.x.high"),
    (real(log=True, low=-1), "space.x.low"),
    (real(scale="log"), "space.x.scale"),
    (integer(low=1.5), "space.fan.low"),
    (integer(low=True), "space.fan.low"),
    (integer(low="1"), "space.fan.low"),
    (integer(high=0), "space.fan.high"),
    (integer(high=10**13), "space.fan.high"),
    (integer(low=0, log=True), "space.fan.low"),
    (integer(step=2), "space.fan.step"),
    (integer(step=0), "space.fan.step"),
    (integer(step=-7), "space.fan.step"),
    (integer(step=None), "space.fan.step"),
    (categorical([]), "space.mode.choices"),
    (categorical("ab"), "space.mode.choices"),
    (categorical({"a": 1}), "space.mode.choices"),
    (categorical(list(range(1001))), "space.mode.choices"),
    (categorical(["a", "b", "a"]), "space.mode.choices.2"),
    (categorical([1, 1.0]), "space.mode.choices.1"),
    (categorical(["a", None]), "space.mode.choices.1"),
    (categorical(["a", ["b"]]), "space.mode.choices.1"),
    (categorical([{"a": 1}]), "space.mode.choices.0"),
    (categorical([NAN]), "space.mode.choices.0"),
    (categorical([10**400]), "space.mode.choices.0"),
    (categorical(["\ud800"]), "space.mode.choices.0"),
    (categorical(["a" * 1001]), "space.mode.choices.0"),
    (categorical([b"a"]), "space.mode.choices.0"),
    ({f"p{i}": categorical(list(range(1000)))["mode"] for i in range(3)}, "space"),
]


def assert_refused(call: Callable[[], object], field: str) -> None:
    """An InputError that names the field, in a sentence that a service can send."""
    with pytest.raises(InputError) as caught:
        call()
    error = caught.value
    assert error.field == field
    assert str(error).startswith(f"{field}: expected {error.expected}; got {error.got}.")
    assert len(str(error).encode()) < 500


@pytest.mark.parametrize(("data", "field"), BAD_SPACES, ids=[field for _, field in BAD_SPACES])
def test_a_bad_space_is_refused_by_the_name_of_its_field(data: Any, field: str) -> None:
    assert_refused(lambda: ht.SearchSpace.from_json(data), field)


@pytest.mark.parametrize("parameter", [None, {"type": "boolean"}, ht.Boolean, 3])
def test_a_parameter_that_is_none(parameter: Any) -> None:
    assert_refused(lambda: ht.SearchSpace({"x": parameter}), "space.x")


def test_an_own_parameter_names_its_field() -> None:
    assert_refused(lambda: ht.Real(NAN, 1), "low")
    assert_refused(lambda: ht.Real(0, 1, log=1), "log")  # type: ignore[arg-type]
    assert_refused(lambda: ht.Categorical(["a", "a"]), "choices.1")


GOOD = {"x": 0.5, "rate": 0.1, "fan": 3, "mode": "a", "on": True}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"x": 1.001}, "params.x"),
        ({"x": NAN}, "params.x"),
        ({"x": "0.5"}, "params.x"),
        ({"x": True}, "params.x"),
        ({"rate": 0.0}, "params.rate"),
        ({"rate": -1}, "params.rate"),
        ({"fan": 2.5}, "params.fan"),
        ({"fan": 9}, "params.fan"),
        ({"fan": 1e99}, "params.fan"),
        ({"fan": True}, "params.fan"),
        ({"mode": "c"}, "params.mode"),
        ({"mode": HUGE}, "params.mode"),
        ({"mode": ["a"]}, "params.mode"),
        ({"mode": None}, "params.mode"),
        ({"on": 1}, "params.on"),
        ({"on": "true"}, "params.on"),
        ({"fam": 3}, "params.fam"),
    ],
)
def test_a_configuration_outside_the_space(change: dict[str, Any], field: str) -> None:
    assert_refused(lambda: MIXED.point(GOOD | change), field)


def test_a_configuration_that_lacks_a_parameter() -> None:
    assert_refused(lambda: MIXED.point({"x": 0.5}), "params.rate")
    assert_refused(lambda: MIXED.point([0.5]), "params")  # type: ignore[arg-type]


def test_a_printed_bound_can_be_passed_back() -> None:
    space = ht.SearchSpace({"x": ht.Real(0.1 + 0.2, 1.0)})
    assert space.point({"x": 0.3}).tolist() == [0.0]


PLACES: list[Any] = [
    None,
    "a",
    [0.5],
    [[0.5] * 6],
    [0.5] * 5 + [1.1],
    [0.5] * 5 + [NAN],
    True,
    0,
    {},
]


@pytest.mark.parametrize("place", PLACES, ids=repr)
def test_a_point_outside_the_cube(place: Any) -> None:
    with pytest.raises(InputError):
        MIXED.params(place)
    with pytest.raises(InputError):
        MIXED.snap(place)


@pytest.mark.parametrize("index", [-1, 12, True, HUGE], ids=short_repr)
def test_an_index_outside_the_domain(index: Any) -> None:
    with pytest.raises(InputError, match="an index from 0 to 11"):
        FANS.params(index)


def test_a_box_has_no_indices() -> None:
    with pytest.raises(InputError, match="5,000 configurations"):
        MIXED.index(GOOD)


# Options


def test_options_without_features_are_equally_far_apart() -> None:
    options = ht.Options(["s1", "s2", "s3"])
    np.testing.assert_array_equal(options.domain.points, np.eye(3))
    assert [options.index(options.name(i)) for i in range(3)] == [0, 1, 2]
    assert options.features is None
    assert options.to_json() == ["s1", "s2", "s3"]


def test_features_are_scaled() -> None:
    options = ht.Options(["a", "b", "c"], features=np.array([[0, 7.0], [10, 7], [5, 7]]))
    np.testing.assert_array_equal(options.domain.points, [[0, 0], [1, 0], [0.5, 0]])
    assert options.features is not None
    assert options.features[1].tolist() == [10.0, 7.0]
    with pytest.raises(ValueError, match="read-only"):
        options.features[0, 0] = 1.0


def test_named_features_come_in_any_order() -> None:
    options = ht.Options.from_json(
        [
            {"name": "a", "features": {"height": 1, "warmth": 20}},
            {"name": "b", "features": {"warmth": 30, "height": 2}},
        ]
    )
    np.testing.assert_array_equal(options.domain.points, [[0, 0], [1, 1]])
    assert options.to_json()[1] == {"name": "b", "features": {"height": 2.0, "warmth": 30.0}}


@st.composite
def option_lists(draw: st.DrawFn) -> ht.Options:
    called = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    width = draw(st.integers(0, 3))
    if width == 0:
        return ht.Options(called)
    rows = [draw(st.lists(st.floats(-1e99, 1e99), min_size=width, max_size=width)) for _ in called]
    if draw(st.booleans()):
        labels = draw(st.lists(names, min_size=width, max_size=width, unique=True))
        return ht.Options(called, [dict(zip(labels, row, strict=True)) for row in rows])
    return ht.Options(called, rows)


@given(options=option_lists())
@fixed(100)
def test_json_gives_back_the_same_options(options: ht.Options) -> None:
    again = ht.Options.from_json(json.loads(json.dumps(options.to_json())))
    assert again == options
    assert hash(again) == hash(options)
    assert again.to_json() == options.to_json()
    np.testing.assert_array_equal(again.domain.points, options.domain.points)
    assert np.all((again.domain.points >= 0.0) & (again.domain.points <= 1.0))


def featured(*features: Any) -> list[Any]:
    return [{"name": f"s{i}", "features": entry} for i, entry in enumerate(features)]


BAD_OPTIONS: list[tuple[Any, str]] = [
    (None, "options"),
    ("s1", "options"),
    ({}, "options"),
    ([], "options"),
    ([f"s{i}" for i in range(2001)], "options"),
    ([f"s{i}" for i in range(10_001)], "options"),
    (["a", "a"], "options.1.name"),
    (["a", ""], "options.1.name"),
    (["a", 1], "options.1.name"),
    (["a", ["b"]], "options.1.name"),
    ([{"name": None}], "options.0.name"),
    ([{"features": [1]}], "options.0.name"),
    ([{"name": "a", "colour": "red"}], "options.0.colour"),
    (["a", {"name": "b", "features": [1.0]}], "options.0.features"),
    (featured([1.0], None), "options.1.features"),
    (featured([1.0], []), "options.1.features"),
    (featured([1.0], [1.0, 2.0]), "options.1.features"),
    (featured([1.0], 2.0), "options.1.features"),
    (featured([1.0], "2"), "options.1.features"),
    (featured([1.0], ["2"]), "options.1.features"),
    (featured([1.0], [NAN]), "options.1.features"),
    (featured([1.0], [True]), "options.1.features"),
    (featured([1.0], [[1.0]]), "options.1.features"),
    (featured([1.0], {"x": 1.0}), "options.1.features"),
    (featured({"x": 1.0}, [1.0]), "options.1.features"),
    (featured({"x": 1.0}, {"y": 1.0}), "options.1.features.x"),
    (featured({"x": 1.0}, {"x": 1.0, "y": 1.0}), "options.1.features.y"),
    (featured({"": 1.0}), "options.0.features"),
    (featured({}), "options.0.features"),
    (featured([0.0] * 101), "options.0.features"),
]


@pytest.mark.parametrize(("data", "field"), BAD_OPTIONS, ids=[field for _, field in BAD_OPTIONS])
def test_bad_options_are_refused_by_the_name_of_their_field(data: Any, field: str) -> None:
    assert_refused(lambda: ht.Options.from_json(data), field)


def test_features_for_some_of_the_options() -> None:
    assert_refused(lambda: ht.Options(["a", "b"], [[1.0]]), "options")


def test_ten_thousand_options_with_features() -> None:
    options = ht.Options([f"s{i}" for i in range(10_000)], [[float(i)] for i in range(10_000)])
    assert len(options.domain) == 10_000
    assert options.name(9_999) == "s9999"


@pytest.mark.parametrize("name", ["s4", "", None, 0, ["s1"]])
def test_a_name_of_no_option(name: Any) -> None:
    with pytest.raises(InputError, match="one of"):
        ht.Options(["s1", "s2"]).index(name)


@pytest.mark.parametrize("index", [-1, 2, True, 0.0, "0", None, HUGE], ids=short_repr)
def test_an_index_of_no_option(index: Any) -> None:
    with pytest.raises(InputError, match="an index from 0 to 1"):
        ht.Options(["s1", "s2"]).name(index)


# Junk

atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["real", "integer", "categorical", "boolean", "log", "linear", "a"]),
)
keys = st.one_of(
    st.sampled_from(["type", "low", "high", "scale", "step", "choices", "name", "features"]),
    st.text(max_size=3),
)
junk = st.recursive(
    atoms, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5)
)
near_forms = st.fixed_dictionaries(
    {"type": st.sampled_from(["real", "integer", "categorical", "boolean"])},
    optional={
        "low": atoms,
        "high": atoms,
        "scale": st.sampled_from(["linear", "log", None, "exp"]),
        "step": st.integers(-2, 3),
        "choices": st.lists(atoms, max_size=3) | junk,
    },
)
READERS: dict[str, Callable[[Any], ht.SearchSpace | ht.Options]] = {
    "space": ht.SearchSpace.from_json,
    "options": ht.Options.from_json,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@given(data=junk | st.dictionaries(names, near_forms, max_size=3) | st.lists(near_forms))
@fixed(300)
def test_junk_is_refused_or_is_a_space(
    reader: Callable[[Any], ht.SearchSpace | ht.Options], data: Any
) -> None:
    try:
        read = reader(data)
    except HeliotropeError as error:
        assert error.field.split(".")[0] in READERS  # noqa: PT017 - either end is right
        str(error).encode()
    else:
        assert reader(json.loads(json.dumps(read.to_json()))) == read
        assert read.domain.dimension >= 1


@given(params=st.dictionaries(st.sampled_from(sorted(GOOD)), junk, min_size=5))
@fixed(200)
def test_junk_is_refused_or_is_a_configuration(params: dict[str, Any]) -> None:
    try:
        point = MIXED.point(params)
    except HeliotropeError as error:
        assert error.field.startswith("params.")  # noqa: PT017 - either end is right
    else:
        np.testing.assert_array_equal(MIXED.snap(point), point)


@given(form=near_forms, wrong=junk)
@fixed(100)
def test_a_parameter_of_too_many_keys_is_refused(form: dict[str, Any], wrong: Any) -> None:
    with pytest.raises(HeliotropeError):
        ht.SearchSpace.from_json({"x": form | {"colour": wrong}})


# Errors that know their field


def test_fields_are_named_from_the_outside_inwards() -> None:
    with pytest.raises(InputError) as caught, located("study"), located(""), located("space"):
        raise InputError("a number", "a word", "Count.", field="x")
    assert caught.value.field == "study.space.x"
    assert str(caught.value) == "study.space.x: expected a number; got a word. Count."


def test_an_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(InputError("a number", "a word", "Count.", field="x")))
    assert type(error) is InputError
    assert str(error) == "x: expected a number; got a word. Count."
    assert repr(error) == "InputError('x: expected a number; got a word. Count.')"


def test_a_space_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(MIXED)) == MIXED


@fixed(200)
@given(
    st.sampled_from([(1e-8, 1e8, True), (1e-5, 1.0, True), (-5.0, 10.0, False), (0.1, 0.7, False)]),
    st.integers(1, 999),
    st.integers(-8, 5),
)
def test_a_written_number_comes_back_as_it_was(
    ends: tuple[float, float, bool], digits: int, exponent: int
) -> None:
    low, high, log_scale = ends
    space = ht.SearchSpace({"x": ht.Real(low, high, log=log_scale)})
    value = min(max(float(f"{digits}e{exponent}"), low), high)
    assert space.params(space.point({"x": value})) == {"x": value}


def test_a_space_is_made_of_what_people_have() -> None:
    parameters: dict[str, Parameter] = {"x": ht.Real(0, 1)}
    opt = ht.Optimizer(parameters, ht.auto(parameters))
    assert opt.space == ht.SearchSpace(parameters)
    assert ht.Optimizer(["a", "b"], ht.auto(["a", "b"])).space == ht.Options(["a", "b"])
    refused: list[Any] = [None, "abc", ht.Real(0, 1), 3, ht.Box(0, 1)]
    for wrong in refused:
        assert_refused(lambda: ht.Study.create("s", wrong, store="memory:"), "space")  # noqa: B023


def test_numbers_are_the_decoded_values() -> None:
    space = ht.SearchSpace(
        {
            "a": ht.Real(1e-3, 10.0, log=True),
            "b": ht.Real(0.0, 1.0, step=0.25),
            "c": ht.Integer(-4, 8, step=4),
            "d": ht.Categorical(["x", "y", "z"]),
            "e": ht.Boolean(),
            "f": ht.Real(2.0, 2.0),
        }
    )
    points = np.random.default_rng(0).random((50, space.cube.dimension + 1))
    numbers = space.numbers(points)
    for point, row in zip(points, numbers, strict=True):
        params = space.decoded(point)
        position = {"d": ("x", "y", "z").index(params["d"]), "e": int(params["e"])}
        expected = [position.get(name, value) for name, value in params.items()]
        assert row.tolist() == pytest.approx(expected, rel=1e-12)
