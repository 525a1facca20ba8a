"""Studies with contexts: fixed at ask, logged, replayed and shown."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from askers import killed, lost
from heliotrope.domains import Finite
from heliotrope.errors import ClosedSuggestionError, HeliotropeError, InputError
from heliotrope.storage import MemoryStore, Store, open_store
from heliotrope.study import Study, StudyConfig, cache
from heliotrope.study.space_adapter import SpaceAdapter
from strategies import fixed
from studies import (
    CONTEXTUAL,
    DAYS,
    OUTSIDE,
    SPACES,
    policy_for,
    shown,
    some_choice,
    some_context,
    twin_of,
    what,
)

MODEL: dict[str, Any] = {"epsilon": 0.01, "mean": 0.0, "variance": 1.0, "noise": 0.01}
GIVEN = {**MODEL, "kernel": "se", "length_scale": 0.3}


def begin(name: str = "box in the weather", store: Store | str = "memory:", **others: Any) -> Study:
    space, context = CONTEXTUAL[name]
    return Study.create("pump", SPACES[space], context=context, store=store, **others)


def at(outside: float) -> dict[str, Any]:
    return {"outside": outside}


def fan(outside: float) -> float:
    """Where in its range a temperature lies, and the best share of a fan's speed."""
    return (outside + 10.0) / 50.0


def refused(action: Callable[[], object]) -> HeliotropeError:
    with pytest.raises(HeliotropeError) as caught:
        action()
    return caught.value


# What is given


@pytest.mark.parametrize("name", CONTEXTUAL)
def test_what_is_given_is_held_and_the_rest_is_chosen(name: str) -> None:
    study, rng = begin(name), random.Random(0)
    for number in range(8):
        context = some_context(study, rng)
        ask = study.ask(context=context)
        assert ask.context == context
        assert ask.to_json()["context"] == study.open_asks()[0].context == context
        (asked,) = [e.body for e in study.events() if e.body.get("id") == ask.id]
        assert asked["context"] == context
        assert bool(ask.params) != bool(ask.option)
        study.tell(ask.id, number % 3)
    assert study.summary()["told"] == 8
    assert shown(study, 3.0)


def test_pairs_are_listed_if_they_are_few() -> None:
    listed = SpaceAdapter(SPACES["grid"], DAYS).domain
    assert isinstance(listed, Finite)
    assert len(listed) == 12 * 6
    many = ht.SearchSpace({"n": ht.Integer(1, 1000)})
    assert isinstance(SpaceAdapter(many, DAYS).domain, ht.Box)
    assert isinstance(SpaceAdapter(ht.Options([f"o{i}" for i in range(166)]), DAYS).domain, Finite)
    assert isinstance(SpaceAdapter(ht.Options([f"o{i}" for i in range(167)]), DAYS).domain, ht.Box)
    study = Study.create("pump", many, context=DAYS, store="memory:")
    ask = study.ask(context={"day": "sun", "wet": True})
    assert isinstance(ask.params["n"], int)


@pytest.mark.parametrize("name", ["grid on days", "options on days"])
def test_a_listed_pair_is_what_it_says(name: str) -> None:
    study = begin(name)
    space, context, adapter = study.config.space, study.config.context, study.config.adapter
    assert context is not None
    assert isinstance(adapter.domain, Finite)
    for index, point in enumerate(adapter.domain.points):
        said = adapter.describe(index)
        given = context.point(said["context"])
        np.testing.assert_array_equal(point[-len(given) :], given)
        chosen = point[: -len(given)]
        if isinstance(space, ht.SearchSpace):
            np.testing.assert_array_equal(chosen, space.point(said["params"]))
        else:
            assert isinstance(space, ht.Options)
            np.testing.assert_array_equal(
                chosen, np.eye(len(space.names))[space.index(said["option"])]
            )
        assert adapter.describe(np.array(point)) == said


@fixed(200)
@given(
    ends=st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=2, unique=True).map(sorted),
    power=st.integers(-9, 3),
    share=st.floats(0.0, 1.0),
    log=st.booleans(),
)
def test_numbers_are_returned_unchanged(
    ends: list[int], power: int, share: float, log: bool
) -> None:
    low, high = (float(f"{end + 2 * 10**6 * log}e{power}") for end in ends)
    adapter = SpaceAdapter(SPACES["box"], ht.SearchSpace({"n": ht.Real(low, high, log=log)}))
    value = float(f"{low + share * (high - low):.9g}")
    if not low <= value <= high:
        return
    once = adapter.check_context({"n": value})
    assert once == {"n": value}
    point = adapter.context_point(once)
    assert point is not None
    assert adapter.describe(np.array([0.0, 0.0, *point]))["context"] == once


@fixed(100)
@given(value=st.floats(-10.0, 40.0))
def test_a_context_that_was_kept_is_kept(value: float) -> None:
    adapter = SpaceAdapter(SPACES["box"], OUTSIDE)
    once = adapter.check_context(at(value))
    assert once is not None
    assert once["outside"] == pytest.approx(value, abs=1e-9)
    assert adapter.check_context(once) == once


# Opened again


@st.composite
def games(draw: st.DrawFn) -> tuple[str, dict[str, Any], list[tuple[Any, ...]]]:
    name = draw(st.sampled_from([*CONTEXTUAL]))
    policies = [{}, {}, {"epsilon": 0.05}, {"kind": "r_gp_ucb", "every": 4.0}, {"kind": "uniform"}]
    values = st.floats(-3.0, 3.0) | st.sampled_from([0.0, 5e3])
    moves = st.one_of(
        st.tuples(st.just("ask"), st.integers(0, 3), st.none()),
        st.tuples(st.just("ask"), st.integers(0, 3), st.sampled_from(["a", "b"])),
        st.tuples(st.just("tell"), st.integers(-1, 4), values),
        st.tuples(st.just("tell and ask"), st.integers(-1, 4), values),
        st.tuples(st.just("cancel"), st.integers(0, 4), st.none()),
        st.tuples(st.just("add"), st.integers(0, 4), values),
    )
    played = st.lists(st.tuples(moves, st.booleans()), min_size=8, max_size=25)
    return name, draw(st.sampled_from(policies)), draw(played)


def play(study: Study, move: tuple[Any, ...]) -> Any:
    """Make a move; return its result, or the type of its error."""
    kind, number, value = move
    context = some_context(study, random.Random(number))
    try:
        if kind == "ask":
            return what(study.ask(context=context, key=value))
        if kind == "add":
            chosen = some_choice(study, random.Random(number))
            return what(study.add(chosen, value, context=context))
        waiting = study.open_asks()
        if not waiting:
            return None
        id = waiting[number % len(waiting)].id
        if kind == "tell and ask":
            return what(study.tell_and_ask(id, value, context=context))
        return study.cancel(id) if kind == "cancel" else study.tell(id, value)
    except HeliotropeError as error:
        return type(error)


@fixed(25)
@given(game=games(), with_snapshots=st.booleans())
def test_a_reopened_study_equals_one_that_was_never_closed(
    game: tuple[str, dict[str, Any], list[tuple[Any, ...]]], with_snapshots: bool
) -> None:
    name, policy, moves = game
    store = MemoryStore()
    twin, study = begin(name, policy=policy), begin(name, store, policy=policy)
    fresh = (3, 3) if with_snapshots else (10**6, 10**6)
    with mock.patch.object(cache, "_INTERVAL", fresh):
        for move, reopen in moves:
            study = Study.open("pump", store) if reopen else study
            assert play(study, move) == play(twin, move)
        again = Study.open("pump", store)
        assert shown(again, 0.5, 100.0) == shown(twin, 0.5, 100.0)
        context = some_context(twin, random.Random(9))
        assert what(again.ask(context=context)) == what(twin.ask(context=context))


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    with closing(open_store(url)) as store:
        begin("options in the weather", store)
    for seed in range(2):
        said = killed(url, seed, after=10 + seed)
        with closing(open_store(url)) as store:
            study, twin = Study.open("pump", store), twin_of(store, "pump")
            assert lost(study, said) == []
            assert shown(twin) == shown(study)
            context = some_context(study, random.Random(1))
            assert what(twin.ask(context=context)) == what(study.ask(context=context))


def test_a_study_without_contexts_does_not_mention_them() -> None:
    study = Study.create("pump", SPACES["box"], store="memory:")
    study.tell(study.ask().id, 1.0)
    said = [study.config.to_json(), study.summary(), study.belief(), study.track()]
    logged = [dict(event.body) for event in study.events()]
    assert "context" not in json.dumps([*said, *logged, study.export("json")])
    assert study.ask().context is None


# Asking and telling


def test_a_key_gives_the_context_of_its_first_ask() -> None:
    study = begin()
    ask = study.ask(context=at(20.0), key="job 1")
    assert study.ask(context=at(30.0), key="job 1") == ask
    following = study.tell_and_ask(ask.id, 1.0, context=at(5.0), key="job 2")
    assert study.tell_and_ask(ask.id, 1.0, context=at(6.0), key="job 2") == following
    assert following.context == at(5.0)
    with pytest.raises(ClosedSuggestionError):
        study.ask(context=at(20.0), key="job 1")


def test_results_may_come_late_and_the_belief_is_that_of_an_optimizer() -> None:
    study, weather = begin(policy=GIVEN), [0.0, 10.0, 35.0, 20.0, 5.0]
    prior = ht.Prior(RBF(0.3), ht.Forgetting(0.01), noise=0.01)
    problem = ht.Contextual(ht.Box([0, 0], [1, 1]), ht.Box(0, 1))
    opt = ht.Optimizer(problem, ht.tv_gp_ucb(prior))
    asks = [study.ask(context=at(outside)) for outside in weather]
    for ask in reversed(asks):
        study.tell(ask.id, ask.t)
    assert [one["context"] for one in study.track()["results"]] == [*map(at, weather[::-1])]
    for ask, outside in zip(asks, weather, strict=True):
        point = study.config.space.point(ask.params)  # type: ignore[union-attr]
        opt.tell(opt.begin([*point, fan(outside)], ask.t), ask.t)
    x, y = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41))
    for outside in (3.0, 20.0):
        here = study.belief(context=at(outside))
        there = opt.belief(5.0, np.column_stack([x.ravel(), y.ravel()]), context=fan(outside))
        np.testing.assert_allclose(np.ravel(here["mean"]), there.mean, atol=1e-9)
        np.testing.assert_allclose(np.ravel(here["std"]), there.std, atol=1e-7)


@pytest.mark.parametrize("name", ["grid on days", "options in the weather"])
def test_the_lowest_is_found_as_the_highest_is(name: str) -> None:
    policy = policy_for("drift given", SPACES[CONTEXTUAL[name][0]])
    high, low = begin(name, policy=policy), begin(name, policy=policy, direction="minimize")
    rng = random.Random(3)
    for number in range(12):
        context = some_context(high, rng)
        one, other = high.ask(context=context), low.ask(context=context)
        assert what(one) == what(other)
        high.tell(one.id, number % 4)
        low.tell(other.id, -(number % 4))
    best, lowest = high.summary()["best"], low.summary()["best"]
    assert lowest["mean"] == pytest.approx(-best["mean"])
    assert lowest["context"] == best["context"]


WRONG: list[tuple[Any, str, str]] = [
    (None, "context", "a context of ['outside']; got none"),
    (21.0, "context", "a mapping"),
    ({}, "context.outside", "a value of 'outside'"),
    (at(41.0), "context.outside", "a number from -10.0 to 40.0; got 41.0"),
    (at(float("nan")), "context.outside", "finite"),
    (at("warm"), "context.outside", "real number"),  # type: ignore[arg-type]
    ({"outside": 20.0, "inside": 21.0}, "context.inside", "no keys but ['outside']"),
]


@pytest.mark.parametrize(("context", "field", "said"), WRONG, ids=[one[2] for one in WRONG])
def test_a_wrong_context_is_refused_and_changes_nothing(
    context: Any, field: str, said: str
) -> None:
    study = begin()
    ask = study.ask(context=at(20.0), key="mine")
    before, log = shown(study), study.events()
    actions: list[Callable[[], object]] = [
        lambda: study.ask(context=context),
        lambda: study.ask(context=context, key="another"),
        lambda: study.tell_and_ask(ask.id, 1.0, context=context),
    ]
    if context is not None:
        actions += [lambda: study.belief(context=context), lambda: study.summary(context=context)]
    for action in actions:
        error = refused(action)
        assert (type(error), error.field) == (InputError, field)
        assert said in str(error)
    assert study.ask(context=context, key="mine") == ask
    assert study.events() == log
    assert shown(study) == before


def test_a_context_is_refused_where_there_is_none() -> None:
    study = Study.create("pump", SPACES["box"], store="memory:")
    actions: list[Callable[[], object]] = [
        lambda: study.ask(context=at(20.0)),
        lambda: study.belief(context=at(20.0)),
        lambda: study.summary(context=at(20.0)),
    ]
    for action in actions:
        error = refused(action)
        assert (error.field, "no context" in str(error)) == ("context", True)
    assert len(study.events()) == 1


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"context": {"n": {"type": "real", "low": 1, "high": 0}}}, "context.n.high"),
        ({"context": {}}, "context"),
        ({"context": 5}, "context"),
        ({"context": {"space": 5}}, "context.space"),
        (
            {
                "context": {"wet": {"type": "boolean"}},
                "policy": {"kind": "rexp3", "low": 0, "high": 1, "batch": 5},
            },
            "policy.kind",
        ),
    ],
)
def test_a_wrong_setup_is_refused_where_it_is_wrong(form: dict[str, Any], field: str) -> None:
    error = refused(lambda: StudyConfig.from_json({"options": ["a", "b"], **form}))
    assert (type(error), error.field) == (InputError, field)


@pytest.mark.parametrize(
    ("context", "field"), [(5, "context"), ({}, "context"), ({"n": 5}, "context.n")]
)
def test_invalid_contexts_are_refused_at_creation(context: Any, field: str) -> None:
    error = refused(lambda: Study.create("a", ["x"], context=context, store="memory:"))
    assert (type(error), error.field) == (InputError, field)


@pytest.mark.parametrize("name", CONTEXTUAL)
def test_a_setup_survives_json(name: str) -> None:
    config = begin(name).config
    again = StudyConfig.from_json(json.loads(json.dumps(config.to_json())))
    assert again.to_json() == config.to_json()
    assert again.context == config.context
    assert StudyConfig.from_json({**config.to_json(), "context": None}).context is None


# What is learned


@pytest.mark.parametrize("space", [{"fan": ht.Real(0, 1)}, {"fan": ht.Integer(0, 10)}], ids=str)
def test_the_best_depends_on_the_context(space: dict[str, Any]) -> None:
    study = Study.create("fan", space, context=OUTSIDE, store="memory:")
    rng, top = np.random.default_rng(0), 10 if isinstance(space["fan"], ht.Integer) else 1
    for _ in range(35):
        outside = float(rng.uniform(-10.0, 40.0))
        ask = study.ask(context=at(outside))
        off = ask.params["fan"] / top - fan(outside)
        study.tell(ask.id, 20.0 - 10.0 * abs(off) + float(rng.normal(scale=0.2)))
    for outside in (0.0, 15.0, 35.0):
        best = study.summary(context=at(outside))["best"]
        assert best["params"]["fan"] / top == pytest.approx(fan(outside), abs=0.2)


def test_an_option_informs_similar_contexts_and_no_other_option() -> None:
    study = begin("options in the weather", policy=GIVEN)
    for _ in range(12):
        ask = study.ask(context=at(20.0))
        study.tell(ask.id, 2.0 if ask.option == "roof" else -1.0)
    near = {one["option"]: one for one in study.belief(context=at(22.0))["options"]}
    assert near["roof"]["mean"] > 1.8
    assert near["roof"]["std"] < 0.2
    assert study.summary(context=at(22.0))["best"]["option"] == "roof"
    assert study.ask(context=at(22.0)).option == "roof"
    far = study.belief(context=at(-10.0))["options"]
    assert all(one["std"] > 0.75 for one in far)

    single = begin("options in the weather", policy=GIVEN)
    first = single.ask(context=at(20.0))
    single.tell(first.id, 5.0)
    for one in single.belief(context=at(20.0))["options"]:
        is_known = one["option"] == first.option
        assert one["mean"] == (pytest.approx(4.95, abs=0.01) if is_known else 0.0)
        assert one["std"] == (pytest.approx(0.1, abs=0.01) if is_known else 1.0)


def test_what_was_learned_in_a_near_context_saves_looks() -> None:
    """Five options whose ranks are the same at 20 and at 25 degrees, learned with nothing given."""
    levels = dict(zip(["hall", "roof", "cellar", "yard", "loft"], range(5), strict=True))
    regrets = {}
    for seed in range(4):
        study, rng = begin("options in the weather", seed=seed), np.random.default_rng(seed)
        for step in range(40):
            outside = 20.0 if step < 25 else 25.0
            ask = study.ask(context=at(outside + float(rng.uniform(-1, 1))))
            regrets[seed, step] = 4 - levels[ask.option]
            study.tell(ask.id, levels[ask.option] + float(rng.normal(scale=0.2)))
    early = [regret for (_, step), regret in regrets.items() if step < 15]
    moved = [regret for (_, step), regret in regrets.items() if step >= 25]
    assert np.mean(moved) < 0.4 * np.mean(early)


@pytest.mark.parametrize("name", ["options in the weather", "options on days", "grid on days"])
def test_how_sure_the_best_is(name: str) -> None:
    """The share of joint samples of all choices in which the best is highest."""
    study, rng = begin(name, policy=GIVEN), random.Random(2)
    ground = study.config.adapter.problem
    assert isinstance(ground, ht.Contextual)
    opt = ht.Optimizer(ground, study.config.build())
    for _ in range(20):
        ask = study.ask(context=some_context(study, rng))
        asked = study.events()[-1].body
        value = rng.gauss(0.0, 0.5)
        study.tell(ask.id, value)
        opt.tell(opt.begin(asked["place"], asked["t"]), value)
    context = some_context(study, rng)
    point = study.config.adapter.context_point(context)
    best = study.summary(context=context)["best"]
    f = opt.sample(context=point, size=20_000)
    first = opt.belief(context=point, count_open=False).mean.argmax()
    share = np.mean(f.max(axis=1) - f[:, first] <= best["margin"])
    assert 0.2 < share < 0.95
    assert best["probability"] == pytest.approx(share, abs=4.0 * 0.5 / np.sqrt(1000))


# Looking at it


def test_views_are_about_the_context_of_the_latest_ask_unless_another_is_given() -> None:
    study = begin(policy=GIVEN)
    assert study.summary()["context"] == study.belief()["context"] == at(15.0)  # the middle
    assert study.summary()["best"] is None
    ask = study.ask(context=at(20.0))
    assert study.belief()["context"] == at(20.0)
    study.tell(ask.id, 1.0)
    study.cancel(study.ask(context=at(30.0)).id)
    summary, belief = study.summary(), study.belief()
    assert summary["context"] == summary["best"]["context"] == at(30.0)
    assert belief["context"] == belief["best"]["context"] == at(30.0)
    assert study.summary(context={"outside": np.int64(5)})["best"]["context"] == at(5.0)
    assert study.belief(0.5, context=at(5.0))["context"] == at(5.0)
    with_words = begin("grid on days")
    assert with_words.summary()["context"] == {"day": "mon", "wet": False}


def test_a_past_belief_uses_the_results_up_to_then() -> None:
    study = begin(policy=GIVEN)
    first = study.ask(context=at(20.0))
    study.tell(first.id, 3.0)
    then = study.belief(1.0, context=at(21.0))
    study.tell(study.ask(context=at(21.0)).id, -3.0)
    past = study.belief(1.0, context=at(21.0))
    np.testing.assert_allclose(past["mean"], then["mean"], atol=1e-9)
    assert not np.allclose(study.belief(context=at(21.0))["mean"], then["mean"], atol=1e-3)


def test_the_track_has_the_context_of_each_result_and_of_each_best() -> None:
    study, rng = begin("grid on days", policy={**GIVEN, "mean": 1.0}), random.Random(4)
    given = []
    for number in range(6):
        given.append(some_context(study, rng))
        study.tell(study.ask(context=given[-1]).id, number)
    track = study.track()
    assert [one["context"] for one in track["results"]] == given
    assert [one["context"] for one in track["best"]] == given
    best = study.summary(context=given[-1])["best"]
    assert track["best"][-1]["params"] == best["params"]
    assert track["best"][-1]["mean"] == pytest.approx(best["mean"])


def test_exports_have_a_column_for_each_part_of_the_context() -> None:
    context = ht.SearchSpace({"n": ht.Real(0, 1), "a.b": ht.Boolean()})
    study = Study.create("pump", {"n": ht.Integer(1, 3)}, context=context, store="memory:")
    study.tell(study.ask(context={"n": 0.25, "a.b": True}).id, 1.5)
    (row,) = csv.DictReader(io.StringIO(study.export()))
    assert [*row][2:6] == ["params.n", "context.n", "context.a.b", "value"]
    assert (row["context.n"], row["context.a.b"]) == ("0.25", "True")
    (told,) = json.loads(study.export("json"))["results"]
    assert told["context"] == {"n": 0.25, "a.b": True}
