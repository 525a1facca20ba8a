"""The Ax node, driven by Ax's own client."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ax", reason="Ax is in the adapters' own environment: make adapters")

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from ax.generation_strategy.generation_strategy import GenerationStrategy

import heliotrope as ht
from heliotrope.integrations.ax import HeliotropeNode

X = RangeParameterConfig(name="x", bounds=(0.0, 1.0), parameter_type="float")


def client(
    node: HeliotropeNode, parameters: list[Any], objective: str = "-loss", **limits: Any
) -> Client:
    found = Client()
    found.configure_experiment(parameters=parameters)
    found.configure_optimization(objective=objective, **limits)
    found.set_generation_strategy(GenerationStrategy(name="heliotrope", nodes=[node]))
    return found


def optimizer_of(node: HeliotropeNode) -> ht.Optimizer:
    assert node._keyed is not None
    return node._keyed._optimizer


def test_ax_finds_the_minimum_of_a_mixed_space() -> None:
    layers = RangeParameterConfig(name="n", bounds=(1, 64), parameter_type="int", scaling="log")
    mode = ChoiceParameterConfig(
        name="m", values=["a", "b"], parameter_type="str", is_ordered=False
    )
    fixed = ChoiceParameterConfig(name="k", values=[3], parameter_type="int")
    node = HeliotropeNode(seed=0)
    ax, seen = client(node, [X, layers, mode, fixed]), []
    for _ in range(25):
        ((index, params),) = ax.get_next_trials(max_trials=1).items()
        loss = (params["x"] - 0.7) ** 2 + (np.log2(params["n"]) - 3) ** 2 + (params["m"] == "a")
        ax.complete_trial(index, raw_data={"loss": (loss, 0.01)})
        seen.append(loss)
        assert params["k"] == 3
    assert min(seen) < 0.05
    history = optimizer_of(node).history
    assert history.t.tolist() == [float(i + 1) for i in range(len(history))]
    assert np.all(history.std == 0.01)


def test_pending_failed_and_abandoned_trials() -> None:
    node = HeliotropeNode(seed=0)
    ax = client(node, [X])
    trials = ax.get_next_trials(max_trials=4)
    assert len({params["x"] for params in trials.values()}) == 4
    ax.mark_trial_failed(0)
    ax.mark_trial_abandoned(1)
    ax.complete_trial(2, raw_data={"loss": 0.5})
    ax.get_next_trials(max_trials=1)
    optimizer = optimizer_of(node)
    assert len(optimizer.history) == 1
    assert len(optimizer.open) == 2  # trial 3, and the one just generated


def test_results_from_elsewhere_count() -> None:
    node = HeliotropeNode(seed=0)
    ax = client(node, [X])
    for x in np.linspace(0.0, 1.0, 9).tolist():
        ax.complete_trial(ax.attach_trial({"x": x}), raw_data={"loss": (x - 0.5) ** 2})
    ((_, params),) = ax.get_next_trials(max_trials=1).items()
    assert len(optimizer_of(node).history) == 9
    assert abs(params["x"] - 0.5) < 0.3


def test_outcome_constraints_are_kept() -> None:
    node = HeliotropeNode(seed=0)
    limits = ["cost <= 0.5", "heat >= 0.1"]
    ax, seen = client(node, [X], "gain", outcome_constraints=limits), []
    for _ in range(20):
        ((index, params),) = ax.get_next_trials(max_trials=1).items()
        seen.append(params["x"])
        ax.complete_trial(index, raw_data=dict.fromkeys(("gain", "cost", "heat"), params["x"]))
    assert np.median(seen[10:]) == pytest.approx(0.5, abs=0.05)


def test_the_node_may_repeat_a_point_and_refuses_several_objectives() -> None:
    assert HeliotropeNode().should_deduplicate is False
    ax = client(HeliotropeNode(), [X], "-loss, gain")
    with pytest.raises(ht.HeliotropeError, match="one objective"):
        ax.get_next_trials(max_trials=1)
