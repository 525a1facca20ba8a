"""A default study and ``ht.auto`` are one learner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import heliotrope as ht
from heliotrope.storage import MemoryStore
from heliotrope.study import Study
from studies import twin_of

SPACES: dict[str, Any] = {
    "options": ht.Options([f"relay {i}" for i in range(12)]),
    "line": ht.SearchSpace({"x": ht.Real(-2.0, 5.0)}),
    "plane": ht.SearchSpace({"x": ht.Real(0.1, 10.0, log=True), "y": ht.Real(0.0, 1.0)}),
    "mixed": ht.SearchSpace(
        {"x": ht.Real(0.0, 1.0), "mode": ht.Categorical(["a", "b", "c"]), "n": ht.Integer(1, 4)}
    ),
}
STEPS, SPIKE, OUTAGE = 64, 25, range(40, 50)


def measured(suggestion: Any, step: int) -> float:
    """A drifting value, with a spike and an outage."""
    if step in OUTAGE:
        return -90.0
    chosen = suggestion.option or suggestion.params
    numbers = [
        float(sum(map(ord, one))) if isinstance(one, str) else float(one) for one in values(chosen)
    ]
    hill = float(np.sum(np.cos(np.array(numbers) + 0.02 * step)))
    noise = 0.1 * float(np.sin(37.0 * step))
    return 10.0 + hill + noise + (60.0 if step == SPIKE else 0.0)


def values(chosen: Any) -> list[Any]:
    return [chosen] if isinstance(chosen, str) else list(chosen.values())


def assert_faults(study: Study) -> None:
    """The spike and the outage are taken for faults, and little else is."""
    told = [event.body["id"] for event in study.events() if event.body["kind"] == "told"]
    faults = set(study.summary().faults)
    assert {told[step] for step in (SPIKE, *OUTAGE)} <= faults
    assert len(faults) <= 1 + len(OUTAGE) + 2
    assert f"{len(faults)} results taken for faults" in study.summary().drift.words
    shown = [told[i] for i, one in enumerate(study.track().results) if one.get("fault")]
    assert set(shown) == faults


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("options", "maximize"),
        ("options", "minimize"),
        ("line", "maximize"),
        ("line", "minimize"),
        ("plane", "minimize"),
        ("mixed", "maximize"),
    ],
)
def test_auto_and_a_default_study_suggest_the_same(name: str, direction: Any) -> None:
    space, store = SPACES[name], MemoryStore()
    optimizer = ht.Optimizer(space, ht.auto(space), seed=7, direction=direction)
    study = Study.create("twin", space, seed=7, direction=direction, store=store)
    for step in range(STEPS):
        suggestion, ask = optimizer.ask(), study.ask()
        assert (ask.params, ask.option) == (suggestion.params, suggestion.option), step
        value = measured(suggestion, step)
        optimizer.tell(suggestion, value)
        study.tell(ask, value)
    assert study.summary()["model"] == optimizer.model().to_json()
    kinds = [event.body["kind"] for event in study.events()]
    assert kinds.count("learned") > 10
    assert_faults(study)
    again, following = twin_of(store, "twin").ask(), study.ask()
    assert (again.params, again.option) == (following.params, following.option)


@pytest.mark.parametrize(("kind", "said"), [("rising", "rise, by about 1"), ("outliers", "faults")])
def test_a_study_says_that_it_cannot_follow(kind: str, said: str) -> None:
    study, rng = Study.create("pump", ["a", "b", "c"], store="memory:"), np.random.default_rng(0)
    usual = Study.create("calm", ["a", "b", "c"], store="memory:")
    for number in range(40):
        value = float("abc".index(str(study.ask().option)) + 0.1 * rng.normal())
        usual.tell(usual.ask(), value)
        wrong = {"rising": value + number, "outliers": 1e3 * value if number % 9 == 0 else value}
        study.tell(study.open_asks()[-1], wrong[kind])
    assert said in str(study.summary().warning)
    assert usual.summary().warning is None
