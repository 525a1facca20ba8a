"""Files of studies and of optimizers: each opens as either, and asks what the saved one asks."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import heliotrope as ht
from fuzzing import archive_of
from games import KINDS, Asked, Kind, OptimizerSurface, StudySurface, play, study_arguments
from heliotrope.errors import (
    FormatError,
    HeliotropeError,
    InputError,
    MissingFileError,
    StudyExistsError,
)
from heliotrope.live import Live
from heliotrope.serialization import archive
from heliotrope.serialization.codec import register
from heliotrope.storage import MemoryStore
from heliotrope.study import Study
from strategies import PRIOR, fixed
from studies import CONTEXTUAL, POLICIES, SPACES, policy_for, shown, some_context, twin_of

STEPS, FURTHER = 12, 5
NAMED = {name: kind for name, kind in KINDS.items() if not kind.context}


def asks(surface: Any, kind: Kind, seed: int) -> list[Asked | float]:
    return play(surface, kind, seed + 1, FURTHER)


def loaded_optimizer(path: Path, kind: Kind, seed: int) -> OptimizerSurface:
    surface = OptimizerSurface(kind, seed)
    surface.optimizer = ht.Optimizer.load(path)
    return surface


def loaded_study(path: Path, kind: Kind) -> StudySurface:
    return StudySurface(Study.load(path, "copy", "memory:"), kind)


@pytest.mark.parametrize("name", KINDS)
def test_the_file_of_a_study_opens_as_either(name: str, tmp_path: Path) -> None:
    kind, seed, path = KINDS[name], 40 + len(name), tmp_path / "file"
    study = Study.create("one", store="memory:", **study_arguments(kind, seed))
    surface = StudySurface(study, kind)
    play(surface, kind, seed, STEPS)
    study.save(path)
    optimizer, other = loaded_optimizer(path, kind, seed), loaded_study(path, kind)
    wanted = asks(surface, kind, seed)
    assert asks(optimizer, kind, seed) == wanted
    assert asks(other, kind, seed) == wanted


@pytest.mark.parametrize("name", NAMED)
def test_the_file_of_an_optimizer_opens_as_either(name: str, tmp_path: Path) -> None:
    kind, seed, path = KINDS[name], 60 + len(name), tmp_path / "file"
    surface = OptimizerSurface(kind, seed)
    play(surface, kind, seed, STEPS)
    surface.optimizer.save(path)
    optimizer, study = loaded_optimizer(path, kind, seed), loaded_study(path, kind)
    wanted = asks(surface, kind, seed)
    assert asks(optimizer, kind, seed) == wanted
    assert asks(study, kind, seed) == wanted


@dataclass
class Play:
    """A study of some policy, with results, an open ask and a failure."""

    study: Study
    rng: random.Random

    def step(self, study: Any) -> Any:
        context = None if self.study.config.context is None else some_context(self.study, self.rng)
        return study.ask(context=context)


def played(space: str, policy: str) -> Play:
    contexts: dict[str, Any] = {"context": CONTEXTUAL[space][1]} if space in CONTEXTUAL else {}
    choices = SPACES[CONTEXTUAL[space][0] if space in CONTEXTUAL else space]
    study = Study.create(
        "pump", choices, store=MemoryStore(), policy=policy_for(policy, choices), seed=3, **contexts
    )
    one = Play(study, random.Random(5))
    for number in range(9):
        ask = one.step(study)
        study.tell(ask, np.sin(number) + 0.1 * number, std=0.5 if number == 4 else None)
    study.cancel(one.step(study))
    one.step(study)
    return one


def place_of(study: Study, suggestion: Any) -> Any:
    adapter = study.config.adapter
    return adapter.describe(adapter.place_of_suggestion(suggestion))


CASES = [(space, "learned") for space in (*SPACES, *CONTEXTUAL)] + [
    (space, policy) for policy in POLICIES if policy != "learned" for space in ("options", "grid")
]


@pytest.mark.parametrize(("space", "policy"), CASES)
def test_every_policy_and_space_goes_through_a_file(
    space: str, policy: str, tmp_path: Path
) -> None:
    one = played(space, policy)
    one.study.save(tmp_path / "file")
    other = Study.load(tmp_path / "file", "copy", "memory:")
    optimizer = ht.Optimizer.load(tmp_path / "file")
    for _ in range(3):
        there = some_context(one.study, one.rng)
        ask, copied = one.study.ask(context=there), other.ask(context=there)
        point = one.study.config.adapter.context_point(there)
        suggested = optimizer.ask(context=point)
        assert copied.t == ask.t == suggested.t
        for found in (copied.to_json(), place_of(one.study, suggested)):
            assert {n: found[n] for n in ("params", "option") if n in found} == {
                n: v for n, v in ask.to_json().items() if n in ("params", "option")
            }
        one.study.tell(ask, 0.3)
        other.tell(copied, 0.3)
        optimizer.tell(suggested, 0.3)


def test_moves_are_kept_in_contexts(tmp_path: Path) -> None:
    start = {"x": 0.5, "mode": "a"}
    space = {"x": ht.Real(0, 1), "mode": ht.Categorical(["a", "b"])}
    moves = {"largest": {"x": 0.2}, "cost": {"x": 0.1}}
    rules: dict[str, Any] = {"baseline": start, "moves": moves, "context": {"load": ht.Real(0, 1)}}
    study = Study.create("pump", space, store="memory:", **rules)
    for number in range(6):
        study.tell(study.ask(context={"load": 0.5}), float(number % 3))
    study.save(tmp_path / "file")
    optimizer = ht.Optimizer.load(tmp_path / "file")
    optimizer.save(tmp_path / "again")
    point = study.config.adapter.context_point({"load": 0.5})
    wanted = study.ask(context={"load": 0.5}).params
    for one in (optimizer, ht.Optimizer.load(tmp_path / "again")):
        assert study.config.adapter.describe(one.ask(context=point).x)["params"] == wanted


def test_a_loaded_study_has_the_log_of_the_saved_one(tmp_path: Path) -> None:
    now = 1_700_000_000.0
    store, other = MemoryStore(), MemoryStore()
    study = Study.create("pump", SPACES["mixed"], store=store, clock="1min", now=lambda: now)
    for number in range(5):
        study.tell(study.ask(key=f"job {number}"), float(number))
    open_ask = study.ask(key="open", lease="1h")
    study.save(tmp_path / "file")
    copy = Study.load(tmp_path / "file", "copy", other, now=lambda: now)
    assert copy.uid != study.uid
    assert [event.at for event in copy.events()] == [event.at for event in study.events()]
    text = json.dumps([event.body for event in study.events()])
    renamed = text.replace(f'"{study.uid[:12]}-', f'"{copy.uid[:12]}-')
    assert [event.body for event in copy.events()] == json.loads(renamed)
    (waiting,) = copy.open_asks()
    assert (waiting.params, waiting.until) == (open_ask.params, open_ask.until)
    assert copy.ask(key="open") == waiting
    assert shown(Study.open("copy", other, now=lambda: now), 3.0) == shown(copy, 3.0)


def optimizer_with_past(seed: int = 1, **options: Any) -> ht.Optimizer:
    space = SPACES["mixed"]
    optimizer = ht.Optimizer(space, ht.auto(space), seed, **options)
    params = [{"x": x, "n": 4, "mode": "b"} for x in (-1.0, 0.5, 2.0)]
    optimizer.tell_many([0.1, 0.2, 0.3], params, [1.0, 2.0, 0.5], std=[0.1, np.nan, 0.2])
    for number in range(6):
        optimizer.tell(optimizer.ask(), float(number % 4), n=2)
    optimizer.cancel(optimizer.ask())
    optimizer.ask()
    return optimizer


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_study_continues_an_optimizer_with_past_results(direction: Any, tmp_path: Path) -> None:
    optimizer, store = optimizer_with_past(direction=direction), MemoryStore()
    optimizer.save(tmp_path / "file")
    study = Study.load(tmp_path / "file", "copy", store)
    assert study.summary().told == 3 + 6
    (waiting,) = study.open_asks()
    assert dict(waiting.params) == dict(optimizer.open[0].params)
    for _ in range(3):
        ask, suggestion = study.ask(), optimizer.ask()
        assert (ask.t, dict(ask.params)) == (suggestion.t, dict(suggestion.params))
        study.tell(ask, 0.7)
        optimizer.tell(suggestion, 0.7)
    study.tell(waiting, 0.2)
    optimizer.tell(optimizer.open[0], 0.2)
    assert study.ask().params == optimizer.ask().params
    rows = json.loads(study.export("json"))["results"]
    assert len(rows) == 3 + 6 + 1 + 3 + 1
    assert [row["state"] for row in rows].count("told") == 13
    assert (rows[0]["value"], rows[0]["params"]["x"], rows[0]["std"]) == (1.0, -1.0, 0.1)
    assert len(study.to_frame()) == len(rows)
    assert len(study.track()["results"]) == study.summary().told == 13
    assert shown(twin_of(store, "copy"), 20.0) == shown(study, 20.0)
    study.save(tmp_path / "again")
    third = Study.load(tmp_path / "again", "third", store)
    assert third.ask().params == study.ask().params


def test_a_study_that_continues_an_optimizer_keeps_snapshots(tmp_path: Path) -> None:
    store = MemoryStore()
    optimizer_with_past().save(tmp_path / "file")
    study = Study.load(tmp_path / "file", "copy", store)
    for number in range(60):
        study.tell(study.ask(), float(number % 5))
    assert store.snapshot(study.uid) is not None
    assert shown(Study.open("copy", store), 90.0) == shown(study, 90.0)


def test_an_optimizer_of_a_study_can_be_saved_again(tmp_path: Path) -> None:
    one = played("grid", "given")
    one.study.save(tmp_path / "study")
    optimizer = ht.Optimizer.load(tmp_path / "study")
    optimizer.save(tmp_path / "optimizer")
    again = ht.Optimizer.load(tmp_path / "optimizer")
    assert optimizer.space == one.study.config.space
    assert again.ask().params == optimizer.ask().params == one.study.ask().params


def limited(**rules: Any) -> ht.Optimizer:
    space = SPACES["grid"]
    return ht.Optimizer(space, ht.auto(space), live=Live(**rules))


REFUSED: Mapping[str, tuple[Any, str, str]] = {
    "no names": (lambda: ht.Optimizer(ht.grid(4), ht.auto(ht.grid(4))), "space", "Finite"),
    "a prior of one's own": (
        lambda: ht.Optimizer(SPACES["grid"], ht.tv_gp_ucb(PRIOR)),
        "policy",
        "GPPolicy",
    ),
    "staleness": (
        lambda: limited(baseline={"fan": 2, "eco": False}, stale=0.5),
        "live",
        "stale=0.5",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_optimizer_that_no_study_can_be_is_refused_by_name(case: str, tmp_path: Path) -> None:
    make, field, got = REFUSED[case]
    make().save(tmp_path / "file")
    store = MemoryStore()
    with pytest.raises(InputError, match=got) as refused:
        Study.load(tmp_path / "file", "copy", store)
    assert refused.value.field == field
    assert "Optimizer.load" in refused.value.advice
    assert store.count() == 0
    ht.Optimizer.load(tmp_path / "file").ask()


def test_settings_of_rules_may_be_indices(tmp_path: Path) -> None:
    optimizer = limited(
        metrics={"rate": "maximize", "p99": "watch"}, limits={"p99": {"below": 5}}, safe=[3]
    )
    optimizer.save(tmp_path / "file")
    study = Study.load(tmp_path / "file", "copy", "memory:")
    assert dict(study.ask().params) == dict(optimizer.ask().params)


def test_a_name_that_is_taken_and_a_missing_file(tmp_path: Path) -> None:
    store = MemoryStore()
    study = Study.create("pump", ["a", "b"], store=store)
    study.save(tmp_path / "file")
    with pytest.raises(StudyExistsError):
        Study.load(tmp_path / "file", "pump", store)
    with pytest.raises(MissingFileError):
        Study.load(tmp_path / "nothing", "other", store)
    with pytest.raises(InputError):
        Study.load(tmp_path / "file", "no/name", store)
    assert store.count() == 1


# Policies of the user's own


@register
@dataclass(frozen=True)
class OwnUniform:
    """A policy that is not of this package."""

    def start(self, domain: Any) -> Any:
        return ht.uniform().start(domain)


def test_a_policy_of_ones_own_is_named_by_its_import_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ht.Optimizer(ht.grid(5), OwnUniform(), seed=2).save(tmp_path / "file")
    assert ht.Optimizer.load(tmp_path / "file").policy == OwnUniform()
    monkeypatch.delitem(_registered(), "OwnUniform")
    with pytest.raises(FormatError, match=rf"OwnUniform of {__name__}.* Import {__name__} before"):
        ht.Optimizer.load(tmp_path / "file")


def _registered() -> dict[str, type]:
    from heliotrope.serialization import codec

    return codec._REGISTERED


# Files that were changed


@cache
def written(kind: str) -> bytes:
    """The file of a small study or optimizer."""
    if kind == "study":
        return played("grid", "given").study.file()
    return optimizer_with_past().dumps()


@cache
def asked_of(kind: str) -> Any:
    return ht.Optimizer.loads(written(kind)).ask().params


@pytest.mark.parametrize("kind", ["study", "optimizer"])
@given(data=st.data())
@fixed(150)
def test_a_changed_file_is_refused_or_the_same(kind: str, data: Any) -> None:
    changed = bytearray(written(kind))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(changed) - 1))
        new = data.draw(st.binary(max_size=4))
        changed[start : start + data.draw(st.integers(0, 4))] = new
    try:
        optimizer = ht.Optimizer.loads(bytes(changed))
    except HeliotropeError:
        return
    assert optimizer.dumps() == ht.Optimizer.loads(written(kind)).dumps()


JUNK: tuple[Any, ...] = (None, 5, "x", [], [5], {}, {"$type": "Uniform"}, [[0.0, {}]], -1)
PARTS = ("setup", "events", "snapshot")


@pytest.mark.parametrize("kind", ["study", "optimizer"])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_a_file_with_other_parts_and_a_right_checksum_creates_nothing(
    kind: str, part: str, junk: Any, tmp_path: Path
) -> None:
    header, arrays = archive.unpack(written(kind), "heliotrope", 1, "a test")
    path, store = tmp_path / "file", MemoryStore()
    path.write_bytes(archive.pack({**header, part: junk}, arrays))
    try:
        study = Study.load(path, "copy", store)
    except HeliotropeError:
        assert store.count() == 0
    else:  # a study follows from its events alone, an optimizer has none
        assert part != "events" or junk in ([], {})
        study.ask()


def test_a_file_without_a_header_is_refused() -> None:
    with pytest.raises(FormatError):
        ht.Optimizer.loads(archive_of(b"[]", {}))
