"""Results measured elsewhere: a study treats them as if it had asked for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isclose
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.errors import (
    ClosedSuggestionError,
    HeliotropeError,
    InputError,
    StoreError,
    TimeError,
    UnknownSuggestionError,
)
from heliotrope.storage import MemoryStore, Store
from heliotrope.study import Evaluation, Study
from heliotrope.study.commands import Add
from studies import (
    CONTEXTUAL,
    OUTSIDE,
    POLICIES,
    SPACES,
    policy_for,
    shown,
    some_choice,
    some_context,
    standard_error,
    twin_of,
    what,
)

MIXED: dict[str, Any] = {"x": 0.5, "n": 3, "mode": "b"}


def begin(space: str = "mixed", store: Store | str = "memory:", **others: Any) -> Study:
    return Study.create("pump", SPACES[space], store=store, **others)


def begin_in_context(name: str, store: Store | str = "memory:", **others: Any) -> Study:
    space, context = CONTEXTUAL[name]
    return Study.create("pump", SPACES[space], context=context, store=store, **others)


def kinds(study: Study) -> list[str]:
    return [event.body["kind"] for event in study.events()]


def refused(action: Callable[[], object]) -> HeliotropeError:
    with pytest.raises(HeliotropeError) as caught:
        action()
    return caught.value


def chosen(ask: Evaluation) -> Any:
    return ask.option or ask.params


def is_same(one: Any, other: Any) -> bool:
    """Whether choices are equal up to the rounding of scaled numbers."""
    if not isinstance(one, dict):
        return bool(one == other)
    return one.keys() == other.keys() and all(
        isclose(one[name], other[name], rel_tol=1e-12)
        if isinstance(one[name], float)
        else one[name] == other[name]
        for name in one
    )


# What an added result is


def test_an_added_result_is_an_ask_that_was_told() -> None:
    study = begin()
    added = study.add(MIXED, 2.5, key="mine")
    assert (added.params, added.t) == (MIXED, 1.0)
    asked, told = (dict(event.body) for event in study.events()[1:3])
    assert asked.keys() == {"v", "kind", "id", "t", "place", "params", "key"}
    assert (asked["kind"], asked["id"], asked["params"]) == ("asked", added.id, MIXED)
    assert told == {"v": 1, "kind": "told", "id": added.id, "value": {"value": 2.5}}
    assert kinds(study) == ["created", "asked", "told", "learned"]
    (row,) = json.loads(study.export("json"))["results"]
    assert (row["params"], row["value"], row["state"]) == (MIXED, 2.5, "told")
    assert study.open_asks() == []
    assert study.add(MIXED, 2.0).t == study.ask().t - 1.0 == 2.0


@pytest.mark.parametrize(
    ("space", "policy"),
    [
        *((space, "learned") for space in SPACES),
        *(("mixed", policy) for policy in POLICIES if policy not in ("learned", "rexp3")),
        ("grid", "rexp3"),
        ("options", "uniform"),
    ],
)
def test_any_space_and_policy_takes_it_and_the_log_gives_the_same(space: str, policy: str) -> None:
    store, rng = MemoryStore(), Random(1)
    study = begin(space, store, policy=policy_for(policy, SPACES[space]))
    for number in range(6):
        if number % 2:
            study.tell(study.ask(), number % 4)
        place = some_choice(study, rng)
        added = study.add(place, number % 3)
        assert is_same(chosen(added), place)
    twin = twin_of(store, "pump")
    assert shown(twin, 2.5) == shown(study, 2.5)
    assert what(twin.ask()) == what(study.ask())


@pytest.mark.parametrize("name", CONTEXTUAL)
def test_it_has_a_context_where_there_are_contexts(name: str) -> None:
    store, rng = MemoryStore(), Random(1)
    study = begin_in_context(name, store)
    for number in range(6):
        context, place = some_context(study, rng), some_choice(study, rng)
        added = study.add(place, number % 3, context=context)
        assert added.context == study.summary()["context"] == context
        assert is_same(chosen(added), place)
    assert [one["value"] for one in study.track()["results"]] == [0, 1, 2, 0, 1, 2]
    twin, context = twin_of(store, "pump"), some_context(study, rng)
    assert shown(twin, 2.5) == shown(study, 2.5)
    assert what(twin.ask(context=context)) == what(study.ask(context=context))


@pytest.mark.parametrize("policy", ["learned", "given", "restarts", "rexp3", "uniform"])
@pytest.mark.parametrize("space", ["options", "features", "grid", "one option"])
def test_an_added_result_equals_an_asked_one(space: str, policy: str) -> None:
    given = policy_for(policy, SPACES[space])
    asked, added = begin(space, policy=given), begin(space, policy=given)
    for number in range(12):
        ask = asked.ask(t=1.5 * number)
        asked.tell(ask, number % 5)
        assert what(added.add(chosen(ask), number % 5, ask.t)) == what(ask)
    assert shown(asked, 4.5) == shown(added, 4.5)
    assert what(asked.ask()) == what(added.ask())


def test_options_of_equal_features_stay_apart() -> None:
    alike = ht.Options(["a", "b", "c"], features=[[1.0], [1.0], [2.0]])
    study = Study.create("pump", alike, store="memory:")
    assert [study.add(name, 1.0).option for name in "cba"] == ["c", "b", "a"]


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_belief_is_that_of_an_optimizer(direction: Any) -> None:
    given = {"epsilon": 0.01, "mean": 0.0, "variance": 1.0, "noise": 0.01, "length_scale": 0.3}
    space = {"x": ht.Real(-1, 3), "y": ht.Real(1e-3, 1e3, log=True)}
    study = Study.create(
        "a", space, policy={**given, "kernel": "se"}, direction=direction, store="memory:"
    )
    prior = ht.Prior(RBF(0.3), ht.Forgetting(0.01), noise=0.01)
    opt = ht.Optimizer(ht.Box([0, 0], [1, 1]), ht.tv_gp_ucb(prior))
    rng = np.random.default_rng(0)
    for t in range(8):
        x, y = rng.random(2)
        value = float(rng.normal())
        study.add({"x": 4.0 * x - 1.0, "y": 10.0 ** (6.0 * y - 3.0)}, value, 0.5 * t)
        opt.tell(opt.begin([x, y], 0.5 * t), value)
    across, up = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41))
    there = opt.belief(3.5, np.column_stack([across.ravel(), up.ravel()]))
    here = study.belief()
    np.testing.assert_allclose(np.ravel(here["mean"]), there.mean, atol=1e-9)
    np.testing.assert_allclose(np.ravel(here["std"]), there.std, atol=1e-7)


def test_many_open_asks_stay_open() -> None:
    study = begin(policy={"kind": "uniform"})
    asks = [study.ask() for _ in range(1000)]
    study.add(MIXED, 1.0)
    assert study.open_asks() == asks


# Repetitions


def test_a_key_takes_a_result_once() -> None:
    store = MemoryStore()
    study = begin(store=store)
    added = study.add(MIXED, 2.5, 3.0, key="mine")
    study.tell(study.ask(t=7.0), 1.0)
    log = study.events()
    for opened in (study, Study.open("pump", store)):
        assert opened.add(MIXED, 2.5, 3.0, key="mine") == added  # though time went on
        assert opened.add({**MIXED, "n": 3.0}, np.float64(2.5), key="mine") == added
        (again,) = opened.do_all([Add(2.5, MIXED, key="mine")])
        assert again == added
    assert study.events() == log
    assert study.add(MIXED, 2.5, key="another") != added


def test_a_key_is_of_one_result() -> None:
    study = begin()
    study.add(MIXED, 2.5, 3.0, key="mine")
    waiting, given_up = study.ask(key="waiting"), study.ask(key="given up")
    study.cancel(given_up)
    log = study.events()
    for action, field in [
        (lambda: study.add(MIXED, 2.6, key="mine"), "value"),
        (lambda: study.add({**MIXED, "n": 4}, 2.5, key="mine"), "key"),
        (lambda: study.add(MIXED, 2.5, 4.0, key="mine"), "key"),
        (lambda: study.add(waiting.params, 2.5, key="waiting"), "key"),
        (lambda: study.add(given_up.params, 2.5, key="given up"), "key"),
        (lambda: study.ask(key="mine"), "key"),
    ]:
        error = refused(action)
        assert (type(error), error.field) == (ClosedSuggestionError, field)
    assert study.events() == log
    assert study.open_asks() == [waiting]


def test_a_key_is_of_one_context() -> None:
    study = begin_in_context("options on days")
    context = {"day": "mon", "wet": True}
    added = study.add("roof", 1.0, context=context, key="mine")
    assert study.add("roof", 1.0, context=context, key="mine") == added
    error = refused(lambda: study.add("roof", 1.0, context={**context, "wet": False}, key="mine"))
    assert (type(error), error.field) == (ClosedSuggestionError, "key")


def test_what_another_process_added_is_known() -> None:
    store = MemoryStore()
    here = begin(store=store)
    here.ask()
    added = Study.open("pump", store).add(MIXED, 1.0, key="mine")
    assert here.add(MIXED, 1.0, key="mine") == added
    assert here.summary()["told"] == 1


# Time


def test_times_never_run_backwards() -> None:
    study = begin()
    study.add(MIXED, 1.0, 5.0)
    before, log = shown(study), study.events()
    asked, added = refused(lambda: study.ask(4.0)), refused(lambda: study.add(MIXED, 1.0, 4.0))
    assert (type(added), str(added)) == (TimeError, str(asked))
    assert study.events() == log
    assert shown(study) == before
    assert study.add(MIXED, 1.0, 5.0).t == 5.0
    assert study.add(MIXED, 1.0).t == 6.0


def test_by_default_it_is_of_now() -> None:
    seconds = 1_700_000_000.0
    study = begin(clock="10min", now=lambda: seconds)
    seconds += 900.0
    assert study.add(MIXED, 1.0).t == 1.5
    assert study.add(MIXED, 1.0, 2.5).t == 2.5
    assert "2.5, 10 min after now" in str(refused(lambda: study.add(MIXED, 1.0, 2.6)))


@pytest.mark.parametrize("policy", ["learned", "static", "restarts", "window", "walk", "uniform"])
def test_it_may_be_of_a_time_before_the_study_began(policy: str) -> None:
    store, seconds = MemoryStore(), 1_700_000_000.0
    study = begin(
        "grid", store, policy=policy_for(policy, SPACES["grid"]), clock="1h", now=lambda: seconds
    )
    for t in (-30.0, -20.5, -20.5, -3.0):
        study.add({"fan": 3, "eco": t > -20.0}, t, t)
    assert isinstance(refused(lambda: study.add({"fan": 3, "eco": True}, 1.0, -4.0)), TimeError)
    assert [one["t"] for one in study.track()["results"]] == [-30.0, -20.5, -20.5, -3.0]
    assert shown(Study.open("pump", store, lambda: seconds), -21.0) == shown(study, -21.0)
    assert study.summary()["t"] == study.ask().t == 0.0


# Bad input changes nothing


WRONG: list[tuple[str, Any, str, str]] = [
    ("mixed", {"x": 0.5, "n": 3}, "params.mode", "a value of 'mode'; got none"),
    ("mixed", {**MIXED, "y": 1}, "params.y", "no keys but"),
    ("mixed", {**MIXED, "x": 3.5}, "params.x", "a number from -2.0 to 3.0"),
    ("mixed", {**MIXED, "x": "high"}, "params.x", "real number"),
    ("mixed", {**MIXED, "x": True}, "params.x", "real number"),
    ("mixed", {**MIXED, "x": float("nan")}, "params.x", "finite"),
    ("mixed", {**MIXED, "n": 2.5}, "params.n", "a whole number from 1 to 9"),
    ("mixed", {**MIXED, "n": 10}, "params.n", "a whole number from 1 to 9"),
    ("mixed", {**MIXED, "mode": "d"}, "params.mode", "one of ['a', 'b', 'c']"),
    ("mixed", {**MIXED, "mode": ["a"]}, "params.mode", "one of ['a', 'b', 'c']"),
    ("mixed", "b", "params", "a mapping"),
    ("mixed", None, "params", "a mapping"),
    ("grid", {"fan": 3, "eco": 1}, "params.eco", "true or false"),
    ("grid", {"fan": 7, "eco": True}, "params.fan", "a whole number from 1 to 6"),
    ("box", {"x": 0.5, "y": 0.0}, "params.y", "a number from 0.001 to 1000.0"),
    ("options", "garden", "option", "one of ['hall'"),
    ("options", {"option": "hall"}, "option", "one of ['hall'"),
    ("options", 0, "option", "one of ['hall'"),
]


@pytest.mark.parametrize(("space", "params", "field", "said"), WRONG, ids=[str(w) for w in WRONG])
def test_invalid_choices_are_refused(space: str, params: Any, field: str, said: str) -> None:
    study = begin(space)
    study.tell(study.ask(), 1.0)
    before, log = shown(study), study.events()
    for action in (lambda: study.add(params, 1.0), lambda: study.add(params, 1.0, key="mine")):
        error = refused(action)
        assert (type(error), error.field) == (InputError, field)
        assert said in str(error)
    assert study.events() == log
    assert shown(study) == before


def test_other_bad_input_is_refused() -> None:
    study = begin()
    study.ask(t=3.0)
    before, log = shown(study), study.events()
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: study.add(MIXED, float("inf")), "value"),
        (lambda: study.add(MIXED, 1e46), "value"),
        (lambda: study.add(MIXED, None), "value"),
        (lambda: study.add(MIXED, 1.0, "soon"), "t"),  # type: ignore[arg-type]
        (lambda: study.add(MIXED, 1.0, float("nan")), "t"),
        (lambda: study.add(MIXED, 1.0, key=""), "key"),
        (lambda: study.add(MIXED, 1.0, key=7), "key"),  # type: ignore[arg-type]
        (lambda: study.add(MIXED, 1.0, context={"outside": 20}), "context"),
    ]
    for action, field in wrong:
        error = refused(action)
        assert (isinstance(error, InputError), error.field) == (True, field)
    assert study.events() == log
    assert shown(study) == before


@pytest.mark.parametrize("context", [None, {}, {"outside": 41}, {"outside": "warm"}])
def test_a_wrong_context_is_refused(context: Any) -> None:
    study = Study.create("pump", ["a", "b"], context=OUTSIDE, store="memory:")
    error = refused(lambda: study.add("a", 1.0, context=context))
    assert error.field.startswith("context")
    assert kinds(study) == ["created"]


def test_both_events_are_written_or_neither() -> None:
    store = MemoryStore()
    study = begin(store=store)
    with mock.patch.object(store, "append", wraps=store.append) as append:
        study.add(MIXED, 1.0)
    assert append.call_count == 1
    before, log = shown(study), study.events()
    with mock.patch.object(store, "append", side_effect=StoreError("to write", "a full disk")):
        refused(lambda: study.add(MIXED, 2.0))
    assert study.events() == log
    assert shown(study) == before


def test_the_refusal_of_one_is_nothing_to_the_others() -> None:
    study = begin("options")
    outcomes = study.do_all(
        [Add(1.0, option="hall"), Add(2.0, option="garden"), Add(3.0, option="roof")]
    )
    assert [type(one) for one in outcomes] == [Evaluation, InputError, Evaluation]
    assert [one["option"] for one in study.track()["results"]] == ["hall", "roof"]


# What it is good for


def test_the_best_is_found_sooner_with_past_results() -> None:
    """Regret of the first four asks, with and without twenty random results."""
    gains = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        top = rng.uniform(0.2, 0.8, 2)
        lost = {}
        for past in (0, 20):
            space = {"x": ht.Real(0, 1), "y": ht.Real(0, 1)}
            study = Study.create("a", space, store="memory:", seed=seed)
            for x, y in rng.random((past, 2)).tolist():
                study.add({"x": x, "y": y}, -float(np.hypot(x - top[0], y - top[1])))
            regrets = []
            for _ in range(4):
                ask = study.ask()
                off = float(np.hypot(ask.params["x"] - top[0], ask.params["y"] - top[1]))
                study.tell(ask, -off)
                regrets.append(off)
            lost[past] = np.mean(regrets)
        gains.append(float(0.5 * lost[0] - lost[20]))
    assert np.mean(gains) > 2.0 * standard_error(gains)


# Asks in the place of their ids


def test_an_ask_can_replace_its_id() -> None:
    study = begin("options")
    first, second = study.ask(), study.ask()
    third = study.tell_and_ask(first, 1.0)
    study.tell(first, 1.0)
    study.cancel(second)
    study.cancel(second)
    study.tell(third, 2.0)
    assert [event.body["id"] for event in study.events() if event.body["kind"] == "told"] == [
        first.id,
        third.id,
    ]
    assert study.open_asks() == []
    foreign = begin("options").ask()
    for action in (lambda: study.tell(foreign, 1.0), lambda: study.cancel(foreign)):
        assert isinstance(refused(action), UnknownSuggestionError)
