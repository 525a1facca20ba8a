"""Studies: one suite for all stores, with any space, policy, clock and values."""

from __future__ import annotations

import csv
import gc
import io
import json
import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, get_args
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.directions import Direction
from heliotrope.domains import Finite
from heliotrope.errors import (
    ClosedSuggestionError,
    FormatError,
    HeliotropeError,
    InputError,
    StoreError,
    StudyExistsError,
    TimeError,
    UnknownStudyError,
)
from heliotrope.estimation import (
    Model,
    OneTerm,
    Results,
    estimate_model,
)
from heliotrope.lab.environments import GPDrift
from heliotrope.policies.frame import widening
from heliotrope.serialization import archive
from heliotrope.spaces import Options, Parameter, SearchSpace
from heliotrope.storage import Append, GroupCommit, MemoryStore, Store, open_store
from heliotrope.study import Evaluation, Study, StudyConfig, cache
from heliotrope.study.asks import Keys
from heliotrope.study.cache import Chain, Decision
from heliotrope.study.commands import Ask, Tell
from heliotrope.study.config import PolicyChoice
from heliotrope.study.state import StudyState
from strategies import bad_numbers, fixed
from studies import (
    NOISE,
    POLICIES,
    SPACES,
    DriftingWorld,
    Watch,
    policy_for,
    shown,
    some_choice,
    standard_error,
    what,
)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    urls: dict[str, Callable[[], str]] = {
        "memory": lambda: "memory:",
        "sqlite": lambda: f"sqlite:///{tmp_path}/store.db",
        "postgresql": lambda: request.getfixturevalue("postgres").new_place(),
    }
    with closing(open_store(urls[request.param]())) as opened:
        yield opened


def begin(space: str = "options", store: Store | str = "memory:", **others: Any) -> Study:
    return Study.create("pump", SPACES[space], store=store, **others)


def kinds(study: Study) -> list[str]:
    return [event.body["kind"] for event in study.events()]


# Every store


def test_a_study_is_asked_told_and_found_again(store: Store) -> None:
    study = begin("mixed", store)
    first, second = study.ask(), study.ask()
    assert set(first.params) == {"x", "n", "mode"}
    assert (first.t, second.t) == (1.0, 2.0)
    study.tell(second.id, 4.0)
    again = Study.open("pump", store)
    assert shown(again) == shown(study)
    assert [ask.id for ask in again.open_asks()] == [first.id]
    again.tell(first.id, 3.0)
    assert study.open_asks() == []
    assert study.summary()["told"] == 2
    assert [one["value"] for one in study.track()["results"]] == [4.0, 3.0]


def test_a_tell_is_idempotent_by_its_id(store: Store) -> None:
    study = begin(store=store)
    ask, other = study.ask(), study.ask()
    study.tell(ask.id, 1.5)
    count = len(study.events())
    study.tell(ask.id, 1.5)
    Study.open("pump", store).tell(ask.id, np.float64(1.5))
    with pytest.raises(ClosedSuggestionError, match=r"1\.5 that was told before; got 2\.5"):
        study.tell(ask.id, 2.5)
    with pytest.raises(ClosedSuggestionError, match="has its result"):
        study.cancel(ask.id)
    study.cancel(other.id)
    study.cancel(other.id)
    with pytest.raises(ClosedSuggestionError, match="was cancelled"):
        study.tell(other.id, 1.0)
    assert kinds(study)[count:] == ["cancelled"]


def test_a_key_is_of_one_ask(store: Store) -> None:
    study = begin(store=store)
    ask = study.ask(key="job 1")
    assert study.ask(key="job 1") == ask
    assert Study.open("pump", store).ask(key="job 1") == ask
    assert study.ask(key="job 2") != ask
    following = study.tell_and_ask(ask.id, 1.0, key="job 3")
    assert study.tell_and_ask(ask.id, 1.0, key="job 3") == following
    study.cancel(following.id)
    log = study.events()
    for opened in (study, Study.open("pump", store)):  # as late repetitions would come
        with pytest.raises(ClosedSuggestionError, match=r"closed one \([\w-]+-0, told\)"):
            opened.ask(key="job 1")
        with pytest.raises(ClosedSuggestionError, match=r"closed one \([\w-]+-2, cancelled\)"):
            opened.tell_and_ask(ask.id, 1.0, key="job 3")
    assert study.events() == log


def test_a_repeated_ask_is_known_though_time_went_on() -> None:
    study = begin()
    first = study.ask(t=3.0)
    following = study.tell_and_ask(first.id, 1.0, t=5.0, key="mine")
    study.ask(t=9.0)
    assert study.tell_and_ask(first.id, 1.0, t=5.0, key="mine") == following
    assert study.ask(t=5.0, key="mine") == following


def test_the_keys_of_a_thousand_closed_asks_are_remembered() -> None:
    store = MemoryStore()
    study = begin("one option", store, policy={"kind": "uniform"})
    for number in range(1002):
        study.tell(study.ask(key=f"job {number}").id, 1.0)
    uid = store.find("pump").uid
    kept = store.snapshot(uid)
    assert kept is not None
    for opened in (study, Study.open("pump", store)):
        with pytest.raises(ClosedSuggestionError):
            opened.ask(key="job 2")
    assert study.ask(key="job 1").id.endswith("-1002")  # forgotten: a new one


def test_keys_of_closed_asks_are_part_of_a_snapshot() -> None:
    keys = Keys.from_json({"keys": {"mine": "u-3"}, "closed_keys": {}})
    assert keys.find("mine") == "u-3"
    keys.close("u-3")
    assert keys.to_json() == {"keys": {}, "closed_keys": {"mine": "u-3"}}
    assert Keys.from_json(keys.to_json()).find("mine") == "u-3"


def test_two_that_hold_a_study_see_each_others_events(store: Store) -> None:
    here, there = begin(store=store), Study.open("pump", store)
    for number in range(6):
        ask = here.ask()
        there.tell(ask.id, float(number))
        here.tell(ask.id, float(number))
    assert shown(here) == shown(there)
    assert [event.seq for event in here.events()] == list(range(1, len(here.events()) + 1))
    assert here.summary()["told"] == 6


def test_a_repeated_request_finds_events_of_other_processes(store: Store) -> None:
    here, there = begin(store=store), Study.open("pump", store)
    ask = here.ask(key="mine")
    there.tell(ask.id, 1.0)
    (together,) = here.do_all([Ask(key="mine")])
    assert isinstance(together, ClosedSuggestionError)
    again = here.ask(key="next")
    there.cancel(again.id)
    with pytest.raises(ClosedSuggestionError, match="cancelled"):
        here.ask(key="next")
    there.delete()
    with pytest.raises(UnknownStudyError):
        here.tell(ask.id, 1.0)


def test_a_deleted_study_is_unknown_to_its_holders(store: Store) -> None:
    study, other = begin(store=store), Study.open("pump", store)
    ask = study.ask()
    study.delete()
    begin(store=store)
    for action in (study.ask, other.ask, other.summary, study.events, study.delete):
        with pytest.raises(UnknownStudyError):
            action()
    with pytest.raises(UnknownStudyError):
        other.tell(ask.id, 1.0)
    assert Study.open("pump", store).summary()["asked"] == 0


def test_opening_makes_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"mistyped\.db, which does not exist"):
        Study.open("pump", f"sqlite:///{tmp_path}/mistyped.db")
    assert list(tmp_path.iterdir()) == []


def test_names_are_unique(store: Store) -> None:
    begin(store=store)
    with pytest.raises(StudyExistsError):
        begin(store=store)
    with pytest.raises(UnknownStudyError):
        Study.open("fan", store)


def test_a_group_commit_writes_for_many(store: Store) -> None:
    with closing(GroupCommit(store)) as journal:
        study = Study.create_from("pump", StudyConfig(SPACES["options"]), store, journal=journal)
        for number in range(10):
            study.tell_and_ask(study.ask().id, float(number))
    assert shown(study) == shown(Study.open("pump", store))
    assert study.summary()["told"] == 10


# Several callers at a time


def test_a_batch_gives_the_same_results_as_single_calls(store: Store) -> None:
    study = begin(store=store)
    single = begin(store="memory:")
    asks = study.do_all([Ask() for _ in range(4)])
    assert [ask.option for ask in asks] == [single.ask().option for _ in range(4)]
    for ask, alone in zip(asks, single.open_asks(), strict=True):
        single.tell(alone.id, ask.t)
    next_ask = study.do_all(
        [
            *(Tell(ask.id, ask.t) for ask in asks[:-1]),
            Tell(asks[-1].id, asks[-1].t, Ask()),
        ]
    )[-1]
    assert next_ask.option == single.ask().option
    assert shown(study)[:-1] == shown(Study.open("pump", store))[:-1]


def test_the_refusal_of_one_caller_is_nothing_to_the_others(store: Store) -> None:
    study = begin(store=store)
    ask = study.ask()
    outcomes = study.do_all(
        [
            Tell(ask.id, 1.0),
            Tell(ask.id, 2.0),  # another value for the same
            Ask(t=0.5),  # in the past
            Ask(key="mine"),
            Tell("nobody's", 1.0),
            Ask(key="mine"),
        ]
    )
    assert outcomes[0] is None
    assert [type(one) for one in outcomes[1:3]] == [ClosedSuggestionError, TimeError]
    assert isinstance(outcomes[4], HeliotropeError)
    assert outcomes[3] == outcomes[5] == study.open_asks()[0]
    assert [kind for kind in kinds(study) if kind != "learned"] == [
        "created",
        "asked",
        "told",
        "asked",
    ]


def test_one_refusal_does_not_part_the_others() -> None:
    store = MemoryStore()
    study = begin(store=store)
    decisions = [Ask() for _ in range(20)]
    decisions.insert(10, Ask(t=0.5))
    with mock.patch.object(store, "append", wraps=store.append) as append:
        outcomes = study.do_all(decisions)
    assert [type(one) for one in outcomes[10:12]] == [TimeError, Evaluation]
    assert append.call_count == 2


def test_a_decision_that_fails_half_done_leaves_no_trace(store: Store) -> None:
    study = begin(store=store)

    asking = study._decision(Ask())

    def half(state: StudyState) -> Chain[None]:
        yield from asking.chain(state)
        raise RuntimeError("a defect")

    first, failed, last = study._cache.change_all([asking, Decision(half), asking])
    assert isinstance(failed, RuntimeError)
    assert [first, last] == study.open_asks()
    assert shown(study) == shown(Study.open("pump", store))


def test_a_batch_is_repeated_if_another_process_wrote(store: Store) -> None:
    here, there = begin(store=store), Study.open("pump", store)
    here.ask()
    there.ask()
    asks = here.do_all([Ask(), Ask()])
    assert [ask.id.rpartition("-")[2] for ask in asks] == ["2", "3"]
    assert shown(here) == shown(there)


def test_all_callers_get_a_failure_to_write() -> None:
    store = MemoryStore()
    study = begin(store=store)
    ask = study.ask()
    with mock.patch.object(store, "append", side_effect=StoreError("to write", "a full disk")):
        outcomes = study.do_all([Tell(ask.id, 1.0), Ask()])
    assert [type(one) for one in outcomes] == [StoreError, StoreError]
    assert study.open_asks() == [ask]


# Opened again


@st.composite
def games(draw: st.DrawFn) -> tuple[str, str, list[tuple[Any, ...]]]:
    space = draw(st.sampled_from([*SPACES, "options", "box", "mixed"]))
    policy = draw(st.sampled_from([*POLICIES, "learned", "learned"]))
    values = st.floats(-3.0, 3.0) | st.sampled_from([0.0, 1.0, 1.0, 5e3])
    moves = st.one_of(
        st.tuples(st.just("ask"), st.sampled_from([None, 0.0, 0.7, 10.0])),
        st.tuples(st.just("ask"), st.none()),
        st.tuples(st.just("key"), st.sampled_from(["a", "b"])),
        st.tuples(st.just("tell"), st.integers(0, 5), values),
        st.tuples(st.just("tell"), st.just(-1), values),
        st.tuples(st.just("cancel"), st.integers(0, 5)),
        st.tuples(st.just("add"), st.integers(0, 5), values, st.sampled_from([None, "a", "c"])),
    )
    reopened = st.tuples(moves, st.booleans())
    return space, policy, draw(st.lists(reopened, min_size=10, max_size=40))


def play(study: Study, move: tuple[Any, ...]) -> Any:
    """Make a move; return its result, or the type of its error."""
    kind, *arguments = move
    try:
        if kind == "ask":
            gap = arguments[0]
            return what(study.ask(None if gap is None else study.summary()["t"] + gap))
        if kind == "key":
            return what(study.ask(key=arguments[0]))
        if kind == "add":
            number, value, key = arguments
            return what(study.add(some_choice(study, Random(number)), value, key=key))
        waiting = study.open_asks()
        if waiting:
            ask = waiting[arguments[0] % len(waiting)]
            return study.tell(ask.id, arguments[1]) if kind == "tell" else study.cancel(ask.id)
    except HeliotropeError as error:
        return type(error)
    return None


@fixed(60)
@given(game=games(), with_snapshots=st.booleans())
def test_a_reopened_study_equals_one_that_was_never_closed(
    game: tuple[str, str, list[tuple[Any, ...]]], with_snapshots: bool
) -> None:
    space, policy, moves = game
    chosen = policy_for(policy, SPACES[space])
    if policy == "rexp3" and not isinstance(SPACES[space].domain, Finite):
        return
    store = MemoryStore()
    twin, study = begin(space, policy=chosen), begin(space, store, policy=chosen)
    fresh = (3, 3) if with_snapshots else (10**6, 10**6)
    with mock.patch.object(cache, "_INTERVAL", fresh):
        for move, reopen in moves:
            study = Study.open("pump", store) if reopen else study
            assert play(study, move) == play(twin, move)
        assert shown(Study.open("pump", store), 0.5, 100.0) == shown(twin, 0.5, 100.0)
        assert what(Study.open("pump", store).ask()) == what(twin.ask())


def test_snapshots_are_kept_now_and_then_and_may_be_lost() -> None:
    store = MemoryStore()
    study = begin(store=store)
    uid = store.find("pump").uid
    for number in range(70):
        study.tell(study.ask().id, float(number % 7))
    kept = store.snapshot(uid)
    assert kept is not None
    assert 100 <= kept[0] <= 110
    expected = shown(study)
    assert shown(Study.open("pump", store)) == expected
    store.keep_snapshot(uid, store.last(uid), b"of a later version, or damaged")
    assert shown(Study.open("pump", store)) == expected


@pytest.mark.parametrize(
    "damage",
    [
        {"model": {"pace": -1.0}},
        {"model": None},
        {"seq": "many"},
        {"keys": 5},
        {"since": "long ago"},
        {"optimizer": {}},
    ],
)
def test_a_snapshot_whose_parts_do_not_fit_is_left_aside(damage: dict[str, Any]) -> None:
    store = MemoryStore()
    study = begin(store=store)
    for number in range(70):
        study.tell(study.ask().id, float(number % 7))
    uid = store.find("pump").uid
    seq, data = store.snapshot(uid) or (0, b"")
    header, arrays = archive.unpack_flat(data, "heliotrope.study", 1, "a snapshot")
    store.keep_snapshot(uid, store.last(uid), archive.pack_flat({**header, **damage}, arrays))
    assert seq
    assert shown(Study.open("pump", store)) == shown(study)


class NoSnapshots(MemoryStore):
    """A store that takes events, and cannot keep a snapshot."""

    def keep_snapshot(self, study: str, seq: int, data: bytes) -> None:
        raise UnknownStudyError("a disk with room", "none")


def test_a_tell_is_acknowledged_though_no_snapshot_can_be_kept() -> None:
    study = begin(store=NoSnapshots())
    for number in range(60):
        study.tell(study.ask().id, float(number))
    assert study.summary()["told"] == 60


def test_events_of_a_later_version_are_refused_and_nothing_else_is_lost() -> None:
    store = MemoryStore()
    study = begin(store=store)
    uid = store.find("pump").uid
    study.tell(study.ask().id, 1.0)
    last = store.last(uid)
    store.append([Append(uid, last, [{"v": 2, "kind": "asked"}])])
    for refused in (study.summary, study.ask, lambda: Study.open("pump", store)):
        with pytest.raises(FormatError, match=r"version 1; got version 2\. Open it with"):
            refused()
    assert store.last(uid) == last + 1
    other = store.create("other", {"v": 1, "kind": "asked"}, 0.0)
    assert other
    with pytest.raises(FormatError, match="a created event first"):
        Study.open("other", store)


# Bad input changes nothing


def refused(action: Callable[[], object]) -> HeliotropeError:
    with pytest.raises(HeliotropeError) as caught:
        action()
    return caught.value


@pytest.mark.parametrize("space", ["options", "box"])
def test_bad_input_changes_nothing(space: str) -> None:
    study = begin(space)
    study.tell(study.ask(t=3.0).id, 1.0)
    ask = study.ask(key="mine")
    before, log = shown(study), study.events()
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: study.ask(t=2.0), "t"),
        (lambda: study.ask(t="soon"), "t"),  # type: ignore[call-overload]
        (lambda: study.ask(key=""), "key"),
        (lambda: study.ask(key=7), "key"),  # type: ignore[call-overload]
        (lambda: study.ask(key="k" * 201), "key"),
        (lambda: study.tell(ask.id, float("nan")), "value"),
        (lambda: study.tell(ask.id, 1e46), "value"),
        (lambda: study.tell(ask.id, "much"), "value"),  # type: ignore[arg-type]
        (lambda: study.tell("nobody's", 1.0), "id"),
        (lambda: study.tell(ask.id + "0", 1.0), "id"),
        (lambda: study.tell(ask.id[:-1] + "9" * 5000, 1.0), "id"),
        (lambda: study.tell(ask.id[:-1] + "01", 1.0), "id"),
        (lambda: study.tell(7, 1.0), "id"),  # type: ignore[arg-type]
        (lambda: study.cancel(""), "id"),
        (lambda: study.tell_and_ask(ask.id, 1.0, t=0.5), "t"),
        (lambda: study.tell_and_ask(ask.id, 1.0, key=""), "key"),
        (lambda: study.belief("now"), "t"),  # type: ignore[arg-type]
        (lambda: study.export("xml"), "kind"),
    ]
    for action, field in wrong:
        assert refused(action).field == field
        assert study.events() == log
    assert shown(study) == before
    assert study.ask(key="mine") == ask


@fixed(60)
@given(value=bad_numbers)
def test_invalid_values_are_refused(value: Any) -> None:
    study = begin()
    ask = study.ask()
    assert isinstance(refused(lambda: study.tell(ask.id, value)), InputError)
    assert kinds(study) == ["created", "asked"]


def test_no_more_than_a_thousand_asks_are_open() -> None:
    study = begin(policy={"kind": "uniform"})
    first = study.ask()
    for _ in range(999):
        study.ask()
    assert "1000 open asks" in str(refused(study.ask))
    study.tell_and_ask(first.id, 1.0)
    assert len(study.open_asks()) == 1000


WRONG_SETUPS: dict[str, tuple[Any, str]] = {
    "no object": (7, ""),
    "nothing": ({}, ""),
    "both": ({"space": {}, "options": []}, ""),
    "unknown key": ({"options": ["a"], "colour": 1}, "colour"),
    "space": ({"space": {"x": {"type": "real", "low": 1, "high": 0}}}, "space.x.high"),
    "options": ({"options": ["a", "a"]}, "options.1.name"),
    "policy": ({"options": ["a"], "policy": "tv_gp_ucb"}, "policy"),
    "kind": ({"options": ["a"], "policy": {"kind": []}}, "policy.kind"),
    "huge kind": ({"options": ["a"], "policy": {"kind": 10**5000}}, "policy.kind"),
    "huge direction": ({"options": ["a"], "direction": 10**5000}, "direction"),
    "parameter": ({"options": ["a"], "policy": {"every": 3}}, "policy.every"),
    "missing": ({"options": ["a"], "policy": {"kind": "rexp3", "low": 0}}, "policy.high"),
    "window": ({"options": ["a"], "policy": {"kind": "sw_gp_ucb", "window": 0}}, "policy.window"),
    "weight": ({"options": ["a"], "policy": {"kind": "wgp_ucb", "weight": "x"}}, "policy.weight"),
    "hazard": ({"options": ["a"], "policy": {"kind": "cp_gp_ucb", "hazard": 1}}, "policy.hazard"),
    "delta": ({"options": ["a"], "policy": {"kind": "et_gp_ucb", "delta": 2.0}}, "policy.delta"),
    "alpha": ({"options": ["a"], "policy": {"kind": "wdbo", "alpha": -1}}, "policy.alpha"),
    "rate": ({"options": ["a"], "policy": {"kind": "ui_gp_ucb", "rate": -1}}, "policy.rate"),
    "no beta": ({"options": ["a"], "policy": {"kind": "tv_ts", "beta": 2.0}}, "policy.beta"),
    "epsilon": ({"options": ["a"], "policy": {"epsilon": 1.5}}, "policy.epsilon"),
    "noise": ({"options": ["a"], "policy": {"noise": 0.0}}, "policy.noise"),
    "mean": ({"options": ["a"], "policy": {"mean": "high"}}, "policy.mean"),
    "kernel": ({"space": {"x": {"type": "boolean"}}, "policy": {"kernel": 5}}, "policy.kernel"),
    "length": ({"options": ["a"], "policy": {"length_scale": 1.0}}, "policy.length_scale"),
    "beta": ({"options": ["a"], "policy": {"beta": -1.0}}, "policy.beta"),
    "betas": ({"options": ["a"], "policy": {"beta": {"c1": 1.0}}}, "policy.beta"),
    "direction": ({"options": ["a"], "direction": ["up"]}, "direction"),
    "clock": ({"options": ["a"], "clock": "10min"}, "clock"),
    "unit": ({"options": ["a"], "clock": {"kind": "wall", "unit": "5 moons"}}, "clock.unit"),
    "seed": ({"options": ["a"], "seed": -1}, "seed"),
}


@pytest.mark.parametrize("name", WRONG_SETUPS)
def test_a_wrong_setup_is_refused_where_it_is_wrong(name: str) -> None:
    data, field = WRONG_SETUPS[name]
    error = refused(lambda: StudyConfig.from_json(data))
    assert (type(error), error.field) == (InputError, field)


def test_what_does_not_fit_is_refused_before_anything_is_written() -> None:
    store = MemoryStore()
    box, batches = SPACES["box"], {"kind": "rexp3", "low": 0, "high": 1, "batch": 9}
    wrong: list[Callable[[], object]] = [
        lambda: Study.create("a", box, policy=batches, store=store),
        lambda: Study.create("a", box, seed=2**63, store=store),
        lambda: Study.create("a", 5, store=store),  # type: ignore[arg-type]
        lambda: Study.create("a", "hall", store=store),
        lambda: Study.create("a", box, clock=10, store=store),  # type: ignore[arg-type]
        lambda: Study.create("a", box, clock="ten", store=store),
        lambda: Study.create("a/b", box, store=store),
        lambda: Study.create("a", box, store=5),  # type: ignore[arg-type]
        lambda: Study.create("a", box, store="mysql://"),
        lambda: Study.create("a", box, policy={"beta": object()}, store=store),
    ]
    for action in wrong:
        assert isinstance(refused(action), InputError)
    assert store.count() == 0


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_setup_survives_json(space: str, policy: str) -> None:
    form = {
        "policy": policy_for(policy, SPACES[space]),
        "direction": "minimize",
        "clock": {"kind": "wall", "unit": "5min"},
        "seed": 3,
    }
    key = "options" if isinstance(SPACES[space], Options) else "space"
    config = StudyConfig.from_json({**form, key: SPACES[space].to_json()})
    again = StudyConfig.from_json(json.loads(json.dumps(config.to_json())))
    assert again.to_json() == config.to_json()
    assert again.space == config.space


# Values of any size


ODD: dict[str, list[float]] = {
    "tiny": [1e-300, 2e-300, -1e-300],
    "small": [1e-60, 3e-60, 2e-60],
    "huge": [1e44, -1e45, 3e44],
    "zero": [0.0],
    "equal": [5000.0],
    "equal and large": [-1e45],
    "nearly equal": [5000.0, np.nextafter(5000.0, 6000.0)],
    "with an outlier": [1.0, 1.1, 0.9, 1e40, 1.2],
    "of all sizes": [1e-300, 1.0, 1e45, -1e-45, 0.0],
}


@pytest.mark.parametrize("values", ODD.values(), ids=ODD)
@pytest.mark.parametrize("space", SPACES)
def test_values_of_any_size_are_taken(space: str, values: list[float]) -> None:
    study = begin(space)
    for number in range(14):
        study.tell(study.ask().id, values[number % len(values)])
    numbers = [one["mean"] for one in study.track()["best"]]
    assert np.all(np.isfinite(numbers))
    assert len(numbers) == 14
    assert np.isfinite(study.summary()["best"]["std"])


@pytest.mark.parametrize("given", [{"noise": 1e-9}, {"variance": 1e-6}, {"mean": 1e9}], ids=str)
@pytest.mark.parametrize("space", ["options", "box"])
def test_given_parameters_stay_fixed(space: str, given: dict[str, float]) -> None:
    study = begin(space, policy=given)
    for number in range(12):
        study.tell(study.ask().id, 100.0 + number % 5)
    (name,) = given
    assert study.summary()["model"][name] == given[name]


@pytest.mark.parametrize("space", ["options", "box"])
def test_a_function_may_be_new_at_every_step(space: str) -> None:
    study = begin(space, policy={"epsilon": 1})
    for number in range(12):
        ask = study.ask(t=float(number // 2))  # two of the same time, which know of each other
        study.tell(ask.id, float(number % 3))
    assert np.isfinite(study.summary()["best"]["mean"])
    model, belief = study.summary()["model"], study.belief(t=6.0)["best"]
    assert belief["mean"] == pytest.approx(model["mean"])
    assert belief["std"] == pytest.approx(np.sqrt(widening(12) * model["variance"]))
    assert study.summary()["drift"]["words"] == "All that is learned is stale at the next step."


# Time


def test_the_wall_clock_counts_in_its_unit_and_never_runs_backwards() -> None:
    watch = Watch()
    study = begin(clock="10min", now=watch)
    watch.seconds += 300.0
    assert study.ask().t == 0.5
    watch.seconds += 900.0
    ask = study.ask()
    assert ask.t == 2.0
    watch.seconds -= 80_000.0
    assert study.ask().t == 2.0
    assert study.summary()["t"] == 2.0
    study.tell(ask.id, 1.0)
    assert study.events()[-1].at == watch.seconds
    watch.seconds += 85_000.0
    assert study.belief()["t"] == pytest.approx(6200.0 / 600.0)
    assert study.ask(t=11.0).t == 11.0


@pytest.mark.parametrize(
    ("unit", "ahead", "words"),
    [("20min", 1.0, "20 min"), ("1s", 600.0, "10 min"), ("7d", 1.0, "7 d"), ("ms", 6e5, "10 min")],
)
def test_no_time_far_ahead_of_the_wall_clock_stops_it(unit: str, ahead: float, words: str) -> None:
    watch = Watch()
    study = begin(clock=unit, now=watch)
    first = study.ask()
    before = shown(study)
    for t in (1.01 * ahead, 1e99):
        with pytest.raises(TimeError) as refused:
            study.ask(t=t)
        assert refused.value.expected == f"a time of at most {ahead:g}, {words} after now"
        assert refused.value.field == "t"
        with pytest.raises(TimeError):
            study.tell_and_ask(first.id, 1.0, t=t)
    assert shown(study) == before
    assert study.ask(t=ahead).t == ahead
    watch.seconds -= 80_000.0
    assert study.ask(t=ahead).t == ahead  # the latest seen may be asked for again
    assert study.ask().t == ahead


def test_a_cancelled_ask_keeps_its_time_and_its_number() -> None:
    study = begin()
    ask = study.ask(t=1e6)
    study.cancel(ask.id)
    with pytest.raises(TimeError):
        study.ask(t=5.0)
    later = study.ask()
    assert later.t == 1e6 + 1.0
    assert later.id.endswith("-1")


@pytest.mark.parametrize(
    ("unit", "seconds"),
    [("s", 1.0), ("250ms", 0.25), ("10 min", 600.0), ("1.5h", 5400.0), ("2days", 172800.0)],
)
def test_units_of_time(unit: str, seconds: float) -> None:
    assert ht.study.Wall(unit).seconds == seconds


def test_epsilon_is_of_the_stated_unit() -> None:
    """Ten minutes with epsilon 0.19 leave sqrt(0.81) of what a result says."""
    watch = Watch()
    given = {"epsilon": 0.19, "mean": 0.0, "variance": 1.0, "noise": 0.25}
    study = Study.create("a", ["only"], policy=given, clock="10min", store="memory:", now=watch)
    study.tell(study.ask().id, 1.0)
    assert study.belief()["options"][0]["mean"] == pytest.approx(0.8)
    watch.seconds += 600.0
    assert study.belief()["options"][0]["mean"] == pytest.approx(0.9 * 0.8)
    assert study.summary()["drift"]["words"].endswith("stale after 33 min.")


def test_a_learned_drift_is_said_in_the_unit_of_the_clock() -> None:
    learning = {"kind": "tv_gp_ucb"}
    study = begin(policy=learning)
    assert "unknown" in study.summary()["drift"]["words"]
    study.tell(study.ask().id, 1.0)
    drift = study.summary()["drift"]
    half = np.log(0.5) / np.log1p(-drift["epsilon"])
    assert drift["words"] == f"Half of what is learned is stale after {half:.2g} steps."
    study = begin(clock="1min", policy=learning)
    study.tell(study.ask().id, 1.0)
    assert re.search(r"stale after \d+ min\.", study.summary()["drift"]["words"])


def test_a_study_says_what_its_world_is_made_of() -> None:
    watch, rng = Watch(), np.random.default_rng(0)
    study = begin("box", clock="1h", now=watch)
    assert "unknown" in study.summary()["drift"]["words"]
    for _ in range(30):
        ask = study.ask()
        watch.seconds += 3600.0
        study.tell(ask.id, 100.0 * ask.params["x"] + rng.normal())
    words = study.summary()["drift"]["words"]
    shares = [int(share) for share in re.findall(r"(\d+)%", words)]
    assert 97 <= sum(shares) <= 102
    assert shares == sorted(shares, reverse=True)
    assert re.search(r"drifts with a half-life of [\d.,]+ (h|d)", words)
    assert study.summary()["model"]["world"]["results"] == 27


def test_custom_times_are_not_called_steps() -> None:
    study = begin(policy={"kind": "tv_gp_ucb"})
    for t in (1_700_000_000.0, 1_700_000_060.0, 1_700_000_120.0):
        study.tell(study.ask(t).id, 1.0)
    words = study.summary()["drift"]["words"]
    assert words.startswith("Half of what is learned is stale after ")
    assert words.endswith(" units of t.")
    assert words.count("units") == 1


def test_a_static_function_drifts_slowly() -> None:
    study = begin(policy={"kind": "tv_gp_ucb"})
    values = {"hall": 1.0, "roof": 2.0, "cellar": 5.0, "yard": 3.0, "loft": 4.0}
    for _ in range(60):
        ask = study.ask()
        study.tell(ask.id, values[ask.option])
    assert study.summary()["drift"]["epsilon"] < 1e-3


def test_the_learned_drift_follows_the_pace_of_the_results() -> None:
    """Two results a second, in days: what is new between them is still between 0.01 % and 30 %."""
    watch = Watch()
    study = begin(clock="1d", now=watch)
    for number in range(30):
        watch.seconds += 0.5
        study.tell(study.ask().id, float(number % 3))
    model = Model.from_json(study.summary()["model"])
    assert model.pace == pytest.approx(0.5 / 86400.0, rel=1e-3)
    a_step = 1.0 - (1.0 - np.array(model.epsilons())) ** model.pace
    assert a_step.min() == pytest.approx(1e-4, rel=1e-2)
    assert study.summary()["drift"]["epsilon"] <= 1.0


@pytest.mark.parametrize(
    ("epsilon", "pace", "expected"),
    [
        (1e-12, 1e-6, 1e-18),
        (1e-17, 1e6, 1e-11),
        (0.75, 0.5, 0.5),
        (0.0, 3.0, 0.0),
        (1.0, 1e-9, 1.0),
    ],
)
def test_a_given_drift_between_results_keeps_its_digits(
    epsilon: float, pace: float, expected: float
) -> None:
    held = PolicyChoice("tv_gp_ucb", {"epsilon": epsilon}).recipe().structure
    assert held.on(Model().world, pace).drift_rate == pytest.approx(expected, rel=1e-9, abs=0.0)


def test_weights_fade_by_the_day_between_results_of_a_second() -> None:
    watch = Watch()
    study = begin(clock="1d", now=watch, policy={"kind": "wgp_ucb"})
    for number in range(6):
        watch.seconds += 1.0
        study.tell(study.ask().id, float(number % 3))
    assert study.summary()["told"] == 6


# What is believed


def test_minimizing_is_maximizing_upside_down() -> None:
    up, down = begin("box"), begin("box", direction="minimize")
    for number in range(20):
        ask, same = up.ask(), down.ask()
        assert what(ask) == what(same)
        value = 40.0 + float(np.sin(number))
        up.tell(ask.id, value)
        down.tell(same.id, -value)
    high, low = up.summary(), down.summary()
    assert low["best"]["params"] == high["best"]["params"]
    assert low["best"]["mean"] == -high["best"]["mean"]
    world = {**high["model"]["world"], "mean": -high["model"]["world"]["mean"]}
    assert low["model"] == {**high["model"], "mean": -high["model"]["mean"], "world": world}
    assert low["best"]["probability"] == high["best"]["probability"]
    for t in (None, 7.5):
        above, below = up.belief(t), down.belief(t)
        assert below["mean"] == (-np.array(above["mean"])).tolist()
        assert below["best"]["mean"] == -above["best"]["mean"]
    for kind, name in (("results", "value"), ("best", "mean")):
        above, below = up.track()[kind], down.track()[kind]
        assert [one[name] for one in below] == [-one[name] for one in above]
    values = [row["value"] for row in json.loads(down.export("json"))["results"]]
    assert values == [one["value"] for one in down.track()["results"]]


@pytest.mark.parametrize("space", SPACES)
def test_few_results_give_no_confidence(space: str) -> None:
    study = begin(space)
    for number in range(5):
        study.tell(study.ask().id, float(number))
        best = study.summary()["best"]
        assert (best["probability"] is None) == (best["margin"] is None) == (number < 4)
    assert 0.0 <= best["probability"] <= 1.0


@pytest.mark.parametrize("space", SPACES)
def test_equal_results_give_no_confidence(space: str) -> None:
    study = begin(space)
    for _ in range(12):
        study.tell(study.ask().id, 3.0)
    best = study.summary()["best"]
    assert best["mean"] == pytest.approx(3.0)
    assert best["probability"] is best["margin"] is None
    study.tell(study.ask().id, 3.5)
    assert study.summary()["best"]["probability"] is not None


def test_how_sure_the_best_is_follows_from_the_posterior() -> None:
    """Two options, whose difference has a known normal distribution."""
    given = {"epsilon": 0.0, "mean": 0.0, "variance": 1.0, "noise": 1.0}
    for direction in get_args(Direction):
        study = Study.create("a", ["p", "q"], policy=given, direction=direction, store="memory:")
        for ask, value in zip([study.ask(), study.ask()], (2.0, 0.5), strict=True):
            study.tell(ask.id, value)
        best = study.summary()["best"]
        # posterior means 1 and 0.25, variances 1/2 each: the difference is N(0.75, 1)
        assert best["probability"] == pytest.approx(0.7734, abs=5 * np.sqrt(0.25 / 1000))
        assert best["margin"] == 0.0


def test_the_confidence_in_the_best_is_calibrated() -> None:
    """The stated probability equals the share of worlds in which the best is the best."""
    given = {"epsilon": 0.02, "mean": 0.0, "variance": 1.0, "noise": 0.1}
    prior = ht.Prior(ht.Tabulated(np.eye(6)), ht.Forgetting(0.02), noise=0.1)
    world = GPDrift(Finite(np.arange(6.0)), prior)
    said, came = [], []
    for seed in range(150):
        episode = world.episode(12, seed)
        study = Study.create("a", list("abcdef"), policy=given, store="memory:", seed=seed)
        for step in range(1, 13):
            ask = study.ask()
            study.tell(ask.id, episode.measure(step, "abcdef".index(ask.option)))
        best = study.summary()["best"]
        said.append(best["probability"])
        came.append(float(np.argmax(episode.values[-1]) == "abcdef".index(best["option"])))
    off = np.array(said) - np.array(came)
    assert abs(off.mean()) < 3.0 * standard_error(off.tolist())
    assert 0.4 < np.mean(said) < 0.9


def test_what_is_given_is_in_the_units_of_the_values() -> None:
    """A mean of 1 is one of the told values, also where these are minimized; so are bounds."""
    given = policy_for("given", SPACES["options"])
    study = begin(policy=given, direction="minimize")
    assert study.belief()["options"][0] == {"option": "hall", "mean": 1.0, "std": np.sqrt(2.0)}
    bounds = {"kind": "rexp3", "low": 3.0, "high": 5.0, "batch": 1000, "gamma": 0.3}
    study = Study.create(
        "a", SPACES["options"], policy=bounds, direction="minimize", store="memory:"
    )
    for _ in range(400):
        ask = study.ask()
        study.tell(ask.id, 3.0 if ask.option == "yard" else 5.0)
    chosen = [one["option"] for one in study.track()["results"]]
    assert chosen[200:].count("yard") > 100  # chance gives 40


VIEWS = {
    "options": "options",
    "features": "options",
    "grid": "map",
    "box": "map",
    "mixed": "slices",
    "one option": "options",
    "one configuration": "slices",
    "constant beside real": "band",
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("space", SPACES)
def test_every_space_and_policy_can_be_looked_at(space: str, policy: str) -> None:
    if policy == "rexp3" and not isinstance(SPACES[space].domain, Finite):
        return
    study = begin(space, policy=policy_for(policy, SPACES[space]))
    assert study.summary()["best"] is None
    for number in range(9):
        study.tell(study.ask().id, float(number % 4))
    modelled = policy not in ("rexp3", "uniform")
    for t in (None, 4.5, 30.0):
        belief = study.belief(t)
        assert belief["view"] == (VIEWS[space] if modelled else "none")
        assert belief["t"] == (9.0 if t is None else t)
        json.dumps(belief, allow_nan=False)
    summary, track = study.summary(), study.track()
    json.dumps([summary, track], allow_nan=False)
    assert len(track["results"]) == 9
    assert bool(track["best"]) == modelled
    assert (summary["best"] is None) != modelled
    assert len(study.export().splitlines()) == 10


def test_a_past_belief_equals_that_of_the_results_up_to_then() -> None:
    given = {"epsilon": 0.05, "mean": 0.0, "variance": 1.0, "noise": 0.1}
    study, past = begin(policy=given), begin(policy=given)
    for number in range(12):
        ask = study.ask()
        study.tell(ask.id, float(number))
        if number < 5:
            past.tell(past.ask().id, float(number))
    then, now = study.belief(5.0)["options"], past.belief(5.0)["options"]
    for name in ("mean", "std"):
        assert [one[name] for one in then] == pytest.approx([one[name] for one in now], rel=1e-9)


def test_maps_and_bands_show_the_belief_itself() -> None:
    study = begin("box")
    for number in range(10):
        study.tell(study.ask().id, float(np.cos(number)))
    belief = study.belief()
    (across, up), mean = belief["values"], np.array(belief["mean"])
    assert mean.shape == (len(up), len(across)) == (41, 41)
    assert (up[0], up[-1]) == (1e-3, 1e3)
    assert mean.max() <= belief["best"]["mean"] + 1e-9


# Exports


def test_exports_hold_every_ask_with_its_result() -> None:
    watch = Watch()
    space = ht.SearchSpace({"t": ht.Real(0, 1), "value": ht.Categorical(["a,b", "c"])})
    study = Study.create("a", space, store="memory:", now=watch)
    told, cancelled, waiting = study.ask(), study.ask(), study.ask()
    watch.seconds += 5.0
    study.tell(told.id, 2.5)
    study.cancel(cancelled.id)
    rows = list(csv.DictReader(io.StringIO(study.export("csv"))))
    assert [row["id"] for row in rows] == [told.id, cancelled.id, waiting.id]
    assert [row["state"] for row in rows] == ["told", "cancelled", "open"]
    assert [row["value"] for row in rows] == ["2.5", "", ""]
    assert float(rows[0]["t"]) == told.t
    assert float(rows[0]["params.t"]) == told.params["t"]
    assert rows[0]["params.value"] == told.params["value"]
    assert float(rows[0]["told_at"]) - float(rows[0]["asked_at"]) == 5.0
    whole = json.loads(study.export("json"))
    assert StudyConfig.from_json(whole["setup"]).space == space
    assert whole["results"][0]["params"] == dict(told.params)
    assert whole["results"][0]["value"] == 2.5


# With nothing said


@pytest.mark.parametrize("space", ["options", "box", "mixed"])
def test_first_asks_lie_apart(space: str) -> None:
    study = begin(space)
    asks = [study.ask() for _ in range(5)]
    if space == "options":
        assert len({ask.option for ask in asks}) == 5
        return
    searched = SPACES[space]
    assert isinstance(searched, SearchSpace)
    points = np.array([searched.point(ask.params) for ask in asks])
    gaps = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(5, 1)]
    assert gaps.min() > 0.3


OFFSETS = [(5000.0, 300.0), (-2e-4, 1e-6), (1e6, 1e-3)]


def regret_of_study(
    study: Study, space: SearchSpace, world: DriftingWorld, unit: tuple[float, float], horizon: int
) -> float:
    lost = 0.0
    for step in range(horizon):
        ask = study.ask()
        point = space.point(ask.params)
        study.tell(ask.id, unit[0] + unit[1] * world.measured(point, step))
        lost += world.best(step) - world.value(point, step)
    return lost / horizon


def regret_of_optimizer(optimizer: ht.Optimizer, world: DriftingWorld, horizon: int) -> float:
    lost = 0.0
    for step in range(horizon):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, world.measured(suggestion.x, step))
        lost += world.best(step) - world.value(suggestion.x, step)
    return lost / horizon


def test_one_wrong_value_does_not_end_the_tracking() -> None:
    space, horizon = ht.SearchSpace({"x": ht.Real(0, 1), "y": ht.Real(0, 1)}), 45
    everywhere = np.random.default_rng(0).random((1000, 2))
    gain = []
    for seed, wrong in enumerate([1e4, -1e7, 1e7, -1e4]):
        world = DriftingWorld(everywhere, horizon, seed, epsilon=0.01, length=0.3)
        study = Study.create("a", space, store="memory:", seed=seed)
        lost = 0.0
        for step in range(horizon):
            ask = study.ask()
            point = space.point(ask.params)
            study.tell(ask.id, wrong if step == 12 else world.measured(point, step))
            if step >= 25:
                lost += world.best(step) - world.value(point, step)
        assert study.track()["results"][12]["value"] == wrong  # as it was told
        assert study.summary()["model"]["variance"] < 100.0
        gain.append(0.5 * world.regret_of_chance() - lost / 20)
    assert np.mean(gain) > 2.0 * standard_error(gain)


@pytest.mark.parametrize(("name", "length"), [("box", 0.3), ("mixed", 0.5)])
def test_by_default_a_drifting_function_of_any_unit_is_tracked(name: str, length: float) -> None:
    space, horizon = SPACES[name], 80
    assert isinstance(space, SearchSpace)
    domain = space.domain
    assert not isinstance(domain, Finite)
    everywhere = domain.snap(np.random.default_rng(0).random((1000, domain.dimension)))
    prior = ht.Prior(RBF(length), ht.Forgetting(0.01), noise=NOISE)
    mine, known, random = [], [], []
    for seed in range(5):
        world = DriftingWorld(everywhere, horizon, seed, epsilon=0.01, length=length)
        study = Study.create("a", space, store="memory:", seed=seed)
        mine.append(regret_of_study(study, space, world, OFFSETS[seed % 3], horizon))
        optimizer = ht.Optimizer(domain, ht.tv_gp_ucb(prior, 3.0), seed=seed)
        known.append(regret_of_optimizer(optimizer, world, horizon))
        random.append(world.regret_of_chance())
    _compare(mine, known, random)


def test_by_default_the_best_of_fifty_options_is_tracked() -> None:
    count, horizon = 50, 300
    prior = ht.Prior(ht.Tabulated(np.eye(count)), ht.Forgetting(0.01), noise=0.05)
    world = GPDrift(Finite(np.arange(float(count))), prior)
    mine, known, random = [], [], []
    for seed in range(6):
        episode = world.episode(horizon, seed)
        offset, scale = OFFSETS[seed % 3]
        study = Study.create("a", [str(i) for i in range(count)], store="memory:", seed=seed)
        optimizer = ht.Optimizer(world.domain, ht.tv_gp_ucb(prior, 3.0), seed=seed)
        lost = np.zeros(2)
        for step in range(1, horizon + 1):
            ask, suggestion = study.ask(), optimizer.ask()
            index = int(ask.option)
            study.tell(ask.id, offset + scale * episode.measure(step, index))
            assert suggestion.index is not None
            optimizer.tell(suggestion, episode.measure(step, suggestion.index))
            best = episode.best(step)
            lost += [best - episode.value(step, i) for i in (index, suggestion.index)]
        mine.append(float(lost[0] / horizon))
        known.append(float(lost[1] / horizon))
        random.append(float(np.mean(episode.values.max(axis=1) - episode.values.mean(axis=1))))
    _compare(mine, known, random)


def _compare(mine: list[float], known: list[float], random: list[float]) -> None:
    """At most twice the regret of knowing the prior, at most half of that of chance."""
    gap = np.array(mine) - 2.0 * np.array(known)
    assert gap.mean() < 2.0 * standard_error(gap.tolist())
    gain = 0.5 * np.array(random) - np.array(mine)
    assert gain.mean() > 2.0 * standard_error(gain.tolist())


def test_what_was_learned_is_what_was_true() -> None:
    """Noise, variance and mean of a world that was drawn, within a factor of two."""
    rng, n = np.random.default_rng(1), 100
    x = rng.random((n, 2))
    world = DriftingWorld(x, n, 1, epsilon=0.01, length=0.2)
    y = [world.measured(point, i) for i, point in enumerate(x)]
    results = Results(np.arange(1.0, n + 1), x, 50.0 + 3.0 * np.array(y))
    found = estimate_model(results, [[0, 1]], structure=OneTerm())
    assert found.kernel == "se"
    assert 0.5 < found.length_scale / 0.2 < 2.0
    assert 0.5 < found.variance / 9.0 < 2.0
    assert 0.2 < found.noise / 0.09 < 5.0  # the grid's step is 4 to 5
    assert abs(found.mean - 50.0) < 3.0


def test_a_policy_that_models_jumps_leaves_the_old_best_sooner() -> None:
    given = {"epsilon": 1e-4, "mean": 0.0, "variance": 1.0, "noise": 0.01}
    late = {}
    for kind in ("tv_gp_ucb", "cp_gp_ucb"):
        study = begin(policy={"kind": kind, **given})
        chosen = list[str | None]()
        for number in range(60):
            ask = study.ask()
            chosen.append(ask.option)
            best = "roof" if number < 40 else "yard"
            study.tell(ask.id, 1.0 if ask.option == best else -0.5)
        late[kind] = chosen[40:].count("yard")
    assert late["cp_gp_ucb"] > late["tv_gp_ucb"]


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_study_gets_over_a_jump_of_the_level_of_all_values(direction: Any) -> None:
    sign = 1.0 if direction == "maximize" else -1.0
    store, rng = MemoryStore(), np.random.default_rng(2)
    space = {"x": ht.Real(0, 1)}
    study = Study.create("pump", space, direction=direction, store=store)
    late = []
    for number in range(100):
        ask = study.ask()
        off = abs(ask.params["x"] - 0.3)
        study.tell(ask.id, sign * (-off + (6.0 if number >= 45 else 0.0)) + 0.02 * rng.normal())
        late += [off] if number >= 75 else []
    assert np.mean(late) < 0.1
    (since,) = {event.body["since"] for event in study.events() if "since" in event.body}
    assert since == 46.0  # the time of the first
    assert sign * study.summary()["best"]["mean"] == pytest.approx(6.0, abs=0.3)
    assert sign * study.belief(30.0)["best"]["mean"] < 1.0
    assert shown(Study.open("pump", store), 30.0) == shown(study, 30.0)


def test_a_jump_between_results_of_one_time_is_got_over() -> None:
    study, rng = (
        Study.create("pump", {"x": ht.Real(0, 1)}, store="memory:"),
        np.random.default_rng(2),
    )
    late = []
    for number in range(110):
        ask = study.ask(t=float(number // 10))
        off = abs(ask.params["x"] - 0.3)
        study.tell(ask, -off - (20.0 if number >= 45 else 0.0) + 0.02 * rng.normal())
        late += [off] if number >= 75 else []
    (since,) = {event.body["since"] for event in study.events() if "since" in event.body}
    assert since == 5.0  # time 4 has results of both levels
    assert np.mean(late) < 0.1  # random choice has 0.29


def test_the_model_is_learned_at_certain_counts_alone() -> None:
    study = begin("box")
    rng = np.random.default_rng(4)
    for _ in range(100):
        study.tell(study.ask().id, float(rng.normal()))
    assert 9 <= kinds(study).count("learned") <= 11  # after 1, 2, 3, 5, 8, 12, 18, 27, 41, 62, 93


def test_the_default_tries_every_category_before_it_is_sure() -> None:
    space: dict[str, Parameter] = {
        "x": ht.Real(0, 1),
        "y": ht.Real(0, 1),
        "mode": ht.Categorical(["a", "b", "c"]),
        "fan": ht.Integer(1, 20),
    }
    gain, rng = {"a": 0.0, "b": 0.5, "c": 1.0}, np.random.default_rng(0)
    study, tried = Study.create("pump", space, store="memory:"), set()
    for _ in range(40):
        ask = study.ask()
        p = ask.params
        assert p is not None
        tried.add(p["mode"])
        bowl = 4.0 * (p["x"] - 0.3) ** 2 + 4.0 * (p["y"] - 0.7) ** 2 + (p["fan"] / 10 - 1.2) ** 2
        study.tell(ask.id, gain[p["mode"]] - bowl + 0.02 * rng.standard_normal())
    assert tried == set(gain)
    assert study.summary()["best"]["params"]["mode"] == "c"


@pytest.mark.parametrize("space", ["options", "box"])
def test_an_unused_study_is_freed_at_once(space: str) -> None:
    """Without the garbage collector: it comes late, as it does not see how large arrays are."""
    study = begin(space)
    study.tell(study.ask().id, 1.0)
    optimizer = weakref.ref(study._cache.read(lambda state: state.lead))
    gc.disable()
    try:
        del study
        assert optimizer() is None
    finally:
        gc.enable()
