"""A study that starts from what similar ones have learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import heliotrope as ht
from heliotrope.errors import InputError, StudyExistsError, UnknownStudyError
from heliotrope.storage import MemoryStore, Store
from heliotrope.study import Study
from studies import twin_of

NAMES = [f"relay {i}" for i in range(15)]
GOOD = np.random.default_rng(5).normal(size=len(NAMES))


def filled(store: Store, name: str, order: Any = None, **options: Any) -> Study:
    """A study of options whose values are those of the fleet, at a level of its own."""
    study = Study.create(name, NAMES, store=store, **options)
    rng = np.random.default_rng(len(name))
    level = rng.normal(scale=3.0)
    for _ in range(30):
        told(study, GOOD if order is None else GOOD[order], level, rng)
    return study


def told(study: Study, values: Any, level: float, rng: np.random.Generator) -> float:
    """One step; return its regret."""
    ask = study.ask()
    value = values[NAMES.index(str(ask.option))]
    study.tell(ask, float(level + value + 0.1 * rng.normal()))
    return float(values.max() - value)


@pytest.fixture(scope="module")
def fleet() -> Store:
    store = MemoryStore()
    for number in range(4):
        filled(store, f"boiler-{'i' * number}", seed=number)
    return store


LIKE = [f"boiler-{'i' * number}" for number in range(4)]


def regret(store: Store, values: Any, like: list[str], name: str) -> float:
    steps = []
    for seed in range(3):
        study = Study.create(f"{name}-{seed}", NAMES, store=store, like=like, seed=seed)
        rng = np.random.default_rng(seed)
        steps += [told(study, values, 7.0, rng) for _ in range(20)]
    return float(np.mean(steps))


def test_a_fleet_saves_looks(fleet: Store) -> None:
    assert regret(fleet, GOOD, LIKE, "alike") < 0.5 * regret(fleet, GOOD, [], "alone")


def test_unlike_studies_do_not_mislead_for_long(fleet: Store) -> None:
    other = GOOD[np.random.default_rng(1).permutation(len(GOOD))]
    assert regret(fleet, other, LIKE, "unlike") < 1.25 * regret(fleet, other, [], "apart")


def test_it_starts_the_same_after_its_models_are_gone(fleet: Store) -> None:
    study = Study.create("heir", NAMES, store=fleet, like=LIKE)
    first = study.ask()
    assert NAMES.index(str(first.option)) in np.argsort(GOOD)[-3:]
    assert study.summary()["setup"]["like"] == LIKE
    study.tell(first, 8.0)
    again, following = twin_of(fleet, "heir").ask(), study.ask()
    assert again.option == following.option
    same = Study.create("heir", NAMES, store=fleet, like=LIKE, exist_ok=True)
    assert same.uid == study.uid
    with pytest.raises(StudyExistsError, match="like"):
        Study.create("heir", NAMES, store=fleet, like=LIKE[:1], exist_ok=True)


def test_a_box_starts_near_where_similar_ones_ended() -> None:
    store, losses = MemoryStore(), dict[str, list[float]]()
    space = {"x": ht.Real(0.0, 10.0), "y": ht.Real(0.0, 1.0)}
    for name, count, like in (
        ("one", 25, []),
        ("two", 25, []),
        ("alone", 8, []),
        ("alike", 8, ["one", "two"]),
    ):
        study = Study.create(name, space, store=store, direction="minimize", like=like)
        losses[name] = []
        for _ in range(count):
            ask = study.ask()
            loss = (ask.params["x"] - 7.0) ** 2 + ask.params["y"]
            study.tell(ask, loss)
            losses[name].append(loss)
    assert losses["alike"][0] < 0.5
    assert np.median(losses["alike"]) < 0.5 * np.median(losses["alone"])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"like": "boiler-"}, InputError),
        ({"like": ["nobody"]}, UnknownStudyError),
        ({"like": LIKE, "direction": "minimize"}, InputError),
        ({"like": LIKE, "policy": {"epsilon": 0.1}}, InputError),
        ({"like": LIKE, "context": {"day": ht.Integer(0, 6)}}, InputError),
        ({"like": LIKE, "space": ["a", "b"]}, InputError),
    ],
)
def test_what_cannot_be_alike(fleet: Store, options: Any, error: Any) -> None:
    space = options.pop("space", NAMES)
    with pytest.raises(error):
        Study.create("wrong", space, store=fleet, **options)
    with pytest.raises(UnknownStudyError):
        Study.open("wrong", fleet)
