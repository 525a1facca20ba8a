"""Ax: a loss whose best point drifts, with a limit on another outcome."""

from __future__ import annotations

import numpy as np
from ax.api.client import Client
from ax.api.configs import RangeParameterConfig
from ax.generation_strategy.generation_strategy import GenerationStrategy

from heliotrope.integrations.ax import HeliotropeNode


def main(trials: int = 30) -> float:
    client = Client()
    client.configure_experiment(
        [RangeParameterConfig(name="x", bounds=(0.0, 1.0), parameter_type="float")]
    )
    client.configure_optimization(objective="-loss", outcome_constraints=["cost <= 0.9"])
    client.set_generation_strategy(
        GenerationStrategy(name="heliotrope", nodes=[HeliotropeNode(seed=0)])
    )
    losses = []
    for _ in range(trials):
        ((index, params),) = client.get_next_trials(max_trials=1).items()
        x = float(params["x"])
        losses.append((x - 0.5 - 0.3 * np.sin(index / 20.0)) ** 2)
        client.complete_trial(index, raw_data={"loss": losses[-1], "cost": x})
    return float(np.mean(losses[trials // 2 :]))


if __name__ == "__main__":
    print(f"average loss in the second half: {main():.3f}")
