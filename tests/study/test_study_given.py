"""With all parameters given, a study chooses as an optimizer with that policy."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import heliotrope as ht
from heliotrope.errors import InputError
from heliotrope.policies import Adaptive
from heliotrope.policies.registry import AUTO, REGISTRY, Named, PolicyEntry
from heliotrope.spaces import Integer, Real
from heliotrope.study import Study

STEPS = 12
MODEL: dict[str, Any] = {
    "mean": 4.0,
    "variance": 2.0,
    "noise": 0.1,
    "kernel": "se",
    "length_scale": 0.3,
}
OWN: dict[str, Any] = {
    "epsilon": 0.05,
    "every": 5.0,
    "window": 6,
    "weight": 0.9,
    "hazard": 0.05,
    "rate": 0.1,
    "alpha": 0.5,
    "delta": 0.2,
    "beta": 3.0,
    "low": 0.0,
    "high": 9.0,
    "batch": 4.0,
    "gamma": 0.3,
}
NAMED = [entry for entry in REGISTRY.values() if entry.in_studies and entry is not AUTO]
SPACES: dict[str, dict[str, Any]] = {
    "grid": {"n": Integer(0, 8), "m": Integer(0, 3)},
    "box": {"x": Real(0.0, 1.0), "y": Real(-1.0, 1.0)},
}


def given_to(entry: PolicyEntry) -> dict[str, Any]:
    return {name: value for name, value in {**MODEL, **OWN}.items() if name in entry.parameters}


def factory_of(entry: PolicyEntry) -> ht.policies.Policy:
    """The policy by its factory, as a user writes it."""
    prior = ht.Prior(
        MODEL["variance"] * ht.kernels.RBF(MODEL["length_scale"]),
        ht.Forgetting(OWN["epsilon"]),
        MODEL["noise"],
        MODEL["mean"],
    )
    own = {name: OWN[name] for name in entry.arguments if name in OWN}
    return entry.factory(**({"prior": prior} if entry.has_prior else {}), **own)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("entry", NAMED, ids=lambda entry: entry.name)
def test_it_asks_what_the_named_policy_asks(entry: PolicyEntry, space: str, direction: Any) -> None:
    if entry.needs_points and space == "box":
        space = "grid"
    domain = ht.SearchSpace(SPACES[space])
    optimizer = ht.Optimizer(domain, factory_of(entry), seed=3, direction=direction)
    policy = {"kind": entry.name, **given_to(entry)}
    study = Study.create("a", domain, policy=policy, seed=3, direction=direction, store="memory:")
    for step in range(STEPS):
        asked, same = study.ask(), optimizer.ask()
        assert asked.params == same.params
        value = 4.0 + float(np.sin(2.0 * sum(asked.params.values()) + 0.2 * step))
        study.tell(asked.id, value)
        optimizer.tell(same, value)


@pytest.mark.parametrize("entry", NAMED, ids=lambda entry: entry.name)
def test_a_policy_with_a_missing_parameter_learns_it(entry: PolicyEntry) -> None:
    given = given_to(entry)
    for name in given:
        if name in entry.learned or (entry.has_prior and name in ("mean", "variance", "noise")):
            fewer = {other: value for other, value in given.items() if other != name}
            assert not Named(entry.name, json.dumps(fewer)).is_complete
    assert Named(entry.name, json.dumps(given)).is_complete


@pytest.mark.parametrize("name", ["tv_gp_ucb", "r_gp_ucb", "tv_ts"])
def test_a_learning_optimizer_and_a_study_ask_alike(name: str) -> None:
    """Some parameters are given: the mean is that of the values as they are told."""
    space, given = ht.SearchSpace(SPACES["box"]), {"mean": 4.0, "noise": 0.1}
    recipe = Named(name, json.dumps(given))
    optimizer = ht.Optimizer(space, Adaptive(recipe), seed=1, direction="minimize")
    study = Study.create(
        "a",
        space,
        policy={"kind": name, **given},
        seed=1,
        direction="minimize",
        store="memory:",
    )
    for step in range(STEPS):
        asked, same = study.ask(), optimizer.ask()
        assert asked.params == same.params
        value = 4.0 + float(np.cos(3.0 * sum(asked.params.values()) + 0.2 * step))
        study.tell(asked.id, value)
        optimizer.tell(same, value)
    assert optimizer.model().mean == study.summary()["model"]["mean"] == 4.0


def test_a_length_for_each_coordinate_is_held() -> None:
    space = ht.SearchSpace(SPACES["box"])
    policy = {
        "kind": "tv_gp_ucb",
        **MODEL,
        "epsilon": 0.05,
        "beta": 3.0,
        "length_scale": [0.2, 0.6],
    }
    study = Study.create("a", space, policy=policy, seed=3, store="memory:")
    prior = ht.Prior(2.0 * ht.kernels.RBF([0.2, 0.6]), ht.Forgetting(0.05), 0.1, 4.0)
    optimizer = ht.Optimizer(space, ht.tv_gp_ucb(prior, 3.0), seed=3)
    learning = {**policy, "variance": None}
    learner = Study.create("b", space, policy=learning, seed=3, store="memory:")
    for step in range(6):
        asked, same = study.ask(), optimizer.ask()
        assert asked.params == same.params
        value = 4.0 + float(np.sin(3.0 * asked.params["x"] + 0.2 * step))
        study.tell(asked.id, value)
        optimizer.tell(same, value)
        learner.tell(learner.ask().id, value)
    assert learner.summary()["model"]["world"]["lengths"] == [0.2, 0.6]


@pytest.mark.parametrize("wrong", [[0.2], [0.2, 0.3, 0.4], [], [0.2, -1.0], "long"])
def test_wrong_lengths_are_refused(wrong: object) -> None:
    policy = {"kind": "tv_gp_ucb", "length_scale": wrong}
    with pytest.raises(InputError) as caught:
        Study.create("a", ht.SearchSpace(SPACES["box"]), policy=policy, store="memory:")
    assert caught.value.field == "policy.length_scale"


def test_options_without_features_share_nothing() -> None:
    names = ["a", "b", "c", "d"]
    study = Study.create("a", names, policy={"kind": "tv_gp_ucb"}, seed=2, store="memory:")
    recipe = Named("tv_gp_ucb", '{"length_scale": 0.001}')
    optimizer = ht.Optimizer(ht.Options(names), Adaptive(recipe), seed=2)
    for step in range(STEPS):
        asked, same = study.ask(), optimizer.ask()
        assert asked.option == same.option
        value = float(np.sin(1.5 * names.index(asked.option) + 0.3 * step))
        study.tell(asked.id, value)
        optimizer.tell(same, value)
    assert set(study.summary()["model"]["world"]["lengths"]) == {0.001}
