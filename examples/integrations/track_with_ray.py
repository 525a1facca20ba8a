"""Ray Tune: a search algorithm for metrics that drift."""

from __future__ import annotations

import tempfile
from typing import Any

from ray import tune

from heliotrope.integrations.ray import HeliotropeSearch


def evaluate(config: dict[str, Any]) -> None:
    tune.report({"loss": (config["x"] - 0.3) ** 2})


def main(samples: int = 10) -> float:
    tuner = tune.Tuner(
        evaluate,
        param_space={"x": tune.uniform(0.0, 1.0)},
        tune_config=tune.TuneConfig(
            search_alg=HeliotropeSearch(seed=0), metric="loss", mode="min", num_samples=samples
        ),
        run_config=tune.RunConfig(storage_path=tempfile.mkdtemp(), verbose=0),
    )
    metrics = tuner.fit().get_best_result().metrics
    return float(metrics["loss"])


if __name__ == "__main__":
    print(f"lowest loss: {main():.3f}")
