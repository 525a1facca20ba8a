"""The Ray Tune searcher: its protocol, and a run of Ray's own Tuner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray.tune", reason="Ray is in the adapters' own environment: make adapters")

import ray
from ray import tune

import heliotrope as ht
from heliotrope.integrations.ray import HeliotropeSearch

SPACE = {
    "net": {"x": tune.uniform(0.0, 1.0), "rate": tune.loguniform(1e-4, 1.0)},
    "q": tune.quniform(0.0, 2.0, 0.25),
    "k": tune.randint(0, 5),
    "c": tune.choice([None, "a"]),
    "fixed": 3,
}


def loss(config: dict[str, Any]) -> float:
    return float((config["net"]["x"] - 0.7) ** 2 + (config["q"] - 0.5) ** 2 + (config["c"] is None))


def searched(steps: int) -> tuple[HeliotropeSearch, list[float]]:
    search, found = HeliotropeSearch(SPACE, metric="loss", mode="min", seed=0), []
    for step in range(steps):
        config = search.suggest(f"trial-{step}")
        found.append(loss(config))
        search.on_trial_complete(f"trial-{step}", {"loss": found[-1]})
    return search, found


def test_it_searches_nested_spaces() -> None:
    _, found = searched(30)
    assert min(found) < 0.1
    config = searched(1)[0].suggest("next")
    assert set(config) == {"net", "q", "k", "c"}
    assert config["q"] in [i / 4 for i in range(9)]
    assert config["k"] in range(5)


def test_failed_trials_and_results_from_elsewhere() -> None:
    search, _ = searched(3)
    for trial in ("failed", "silent", "nan"):
        search.suggest(trial)
    search.on_trial_complete("failed", error=True)
    search.on_trial_complete("silent", {"accuracy": 1.0})
    search.on_trial_complete("nan", {"loss": float("nan")})
    search.add_evaluated_point(search.suggest("again"), 0.5)
    optimizer = search._started()._optimizer
    assert (len(optimizer.history), len(optimizer.open)) == (4, 1)


def test_a_restored_searcher_goes_on(tmp_path: Path) -> None:
    search, _ = searched(6)
    search.save(str(tmp_path / "state.pkl"))
    again = HeliotropeSearch()
    again.restore(str(tmp_path / "state.pkl"))
    assert again.suggest("next") == search.suggest("next")


GRID = tune.grid_search([1, 2])
X = tune.uniform(0.0, 1.0)


@pytest.mark.parametrize(
    ("space", "named"),
    [
        ({"x": GRID}, 'grid_search at "x"'),
        ({"x": X, "a": GRID}, 'grid_search at "a"'),
        ({"net": {"x": X, "a": GRID}, "b": GRID}, 'grid_search at "b", "net/a"'),
        ({"lr": tune.qloguniform(1e-4, 1.0, 1e-4)}, 'qloguniform at "lr"'),
        ({"x": X, "net": {"lr": tune.randn(0.0, 1.0)}}, 'randn at "net/lr"'),
        ({"x": tune.qrandn(0.0, 1.0, 0.1)}, 'qrandn at "x"'),
        ({"k": tune.qlograndint(1, 9, 2)}, 'qlograndint at "k"'),
        ({"x": X, "f": tune.sample_from(lambda _: 1)}, 'sample_from at "f"'),
        ({"l": [1, X]}, 'uniform at "l/1"'),
        ({"a/b": X}, 'uniform at "a/b"'),
        ({"x": 1.0}, "got none"),
    ],
)
def test_what_it_cannot_search_is_refused_by_name(space: dict[str, Any], named: str) -> None:
    with pytest.raises(ht.HeliotropeError) as refused:
        HeliotropeSearch(space, metric="loss", mode="min")
    assert named in str(refused.value)
    assert refused.value.field == "space"
    with pytest.raises(ht.HeliotropeError, match=re.escape(named)):
        HeliotropeSearch().set_search_properties("loss", "min", space)


def test_a_searcher_without_a_space_says_what_is_missing() -> None:
    with pytest.raises(ht.HeliotropeError, match="a space, a metric and a mode"):
        HeliotropeSearch().suggest("trial")


def test_every_domain_that_is_accepted_stays_in_its_range() -> None:
    space = {
        "uniform": tune.uniform(0.0, 1.0),
        "quniform": tune.quniform(0.0, 1.0, 0.5),
        "loguniform": tune.loguniform(1e-3, 1.0),
        "randint": tune.randint(0, 2),
        "qrandint": tune.qrandint(0, 4, 2),
        "lograndint": tune.lograndint(1, 9),
        "choice": tune.choice(["a", "b"]),
    }
    config = HeliotropeSearch(space, metric="loss", mode="max").suggest("trial")
    assert all(domain.is_valid(config[name]) for name, domain in space.items())


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.shutdown()  # of a cluster that another test left running
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.usefixtures("cluster")
def test_rays_tuner_runs_it(tmp_path: Path) -> None:
    def trainable(config: dict[str, Any]) -> None:
        tune.report({"loss": loss(config) + 0.0 * config["fixed"]})

    search = HeliotropeSearch(seed=0)
    tuner = tune.Tuner(
        trainable,
        param_space=SPACE,
        tune_config=tune.TuneConfig(
            search_alg=search, metric="loss", mode="min", num_samples=3, max_concurrent_trials=2
        ),
        run_config=tune.RunConfig(storage_path=str(tmp_path), verbose=0),
    )
    results = tuner.fit()
    assert len(results) == 3
    assert results.num_errors == 0
    assert len(search._started()._optimizer.history) == 3
