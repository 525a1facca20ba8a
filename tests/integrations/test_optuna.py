"""The Optuna sampler: Optuna's own tests of samplers, and what a drifting world adds."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from numpy.testing import assert_allclose
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import FrozenTrial, TrialState

import heliotrope as ht
from heliotrope.errors import InputError
from heliotrope.integrations.optuna import HeliotropeSampler

SPACE: dict[str, BaseDistribution] = {
    "x": FloatDistribution(0.0, 1.0),
    "y": FloatDistribution(0.0, 1.0),
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


class TestOptunasOwn(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """All that Optuna asks of a sampler with one objective."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: HeliotropeSampler(seed=0)


def bowl(trial: optuna.Trial) -> float:
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    return (x - 0.7) ** 2 + (y - 0.2) ** 2


def points(study: optuna.Study) -> list[tuple[float, ...]]:
    return [tuple(trial.params.values()) for trial in study.trials]


def test_it_suggests_what_auto_asks() -> None:
    space = ht.SearchSpace({"x": ht.Real(0, 1), "y": ht.Real(0, 1)})
    optimizer = ht.Optimizer(space, ht.auto(space), seed=3, direction="minimize")
    study = optuna.create_study(sampler=HeliotropeSampler(seed=3, search_space=SPACE))
    for _ in range(12):
        trial, asked = study.ask(SPACE), optimizer.ask()
        assert trial.params == pytest.approx(asked.params, abs=1e-6)
        value = bowl(trial)
        study.tell(trial, value)
        optimizer.tell(asked, value)


def test_it_follows_a_minimum_that_moves() -> None:
    def regret(sampler: BaseSampler) -> float:
        found = list[float]()

        def moving(trial: optuna.Trial) -> float:
            x = trial.suggest_float("x", 0.0, 1.0)
            found.append(float((x - 0.5 - 0.4 * np.sin(trial.number / 20.0)) ** 2))
            return found[-1]

        optuna.create_study(sampler=sampler).optimize(moving, n_trials=80)
        return float(np.mean(found[20:]))

    blind = regret(optuna.samplers.TPESampler(seed=0))
    assert regret(HeliotropeSampler(seed=0)) < 0.6 * blind


def test_a_restart_continues_like_the_first_process(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'trials.db'}"
    whole = optuna.create_study(sampler=HeliotropeSampler(seed=1))
    whole.optimize(bowl, n_trials=12)
    optuna.create_study(
        storage=storage, study_name="s", sampler=HeliotropeSampler(seed=1)
    ).optimize(bowl, n_trials=8)
    again = optuna.load_study(study_name="s", storage=storage, sampler=HeliotropeSampler(seed=1))
    again.optimize(bowl, n_trials=4)
    assert_allclose(points(again)[8:], points(whole)[8:], atol=1e-3)


def test_a_restart_with_open_and_failed_trials_asks_the_same() -> None:
    study = optuna.create_study(sampler=HeliotropeSampler(seed=1, search_space=SPACE))
    rng, still_open = np.random.default_rng(0), list[optuna.Trial]()
    for step in range(24):
        twin = pickle.loads(pickle.dumps(study))
        trial = study.ask(SPACE)
        assert twin.ask(SPACE).params == trial.params, step
        still_open.append(trial)
        if len(still_open) > 3:
            done = still_open.pop(int(rng.integers(4)))
            failed = {"state": TrialState.FAIL} if step % 4 == 0 else {"values": bowl(done)}
            study.tell(done, **failed)


def test_threads_share_one_sampler_and_get_different_points() -> None:
    study = optuna.create_study(sampler=HeliotropeSampler(seed=0, search_space=SPACE))
    together = threading.Barrier(3)

    def waiting(trial: optuna.Trial) -> float:
        value = bowl(trial)
        together.wait(timeout=60)
        return value

    study.optimize(waiting, n_trials=12, n_jobs=3)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert len(set(points(study)[:9])) == 9


def test_processes_that_share_a_storage_see_each_others_open_trials(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'trials.db'}"
    optuna.create_study(storage=storage, study_name="s")
    workers = [
        optuna.load_study(
            study_name="s", storage=storage, sampler=HeliotropeSampler(seed=0, search_space=SPACE)
        )
        for _ in range(2)
    ]
    for _ in range(4):
        trials = [worker.ask(SPACE) for worker in workers]
        first, second = (np.array(list(trial.params.values())) for trial in trials)
        assert np.linalg.norm(first - second) > 1e-3
        for worker, trial in reversed([*zip(workers, trials, strict=True)]):
            worker.tell(trial, bowl(trial))
    assert len(workers[0].trials) == 8


def test_constraints_are_kept() -> None:
    def limited(trial: optuna.Trial) -> float:
        value = bowl(trial)
        trial.set_constraint("sum", trial.params["x"] + trial.params["y"] - 0.5)
        return value

    study = optuna.create_study(sampler=HeliotropeSampler(seed=0))
    study.optimize(limited, n_trials=30)
    late = study.trials[15:]
    broken = [trial for trial in late if trial.constraints["sum"] > 0.0]
    assert len(broken) <= len(late) / 2  # the best lies on the boundary
    assert study.best_value == pytest.approx(0.08, abs=0.005)  # at (0.5, 0)


def test_a_constraint_can_move() -> None:
    def limited(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        limit = 0.8 if trial.number < 25 else 0.3
        trial.set_constraint("limit", x - limit)
        return -x

    study = optuna.create_study(sampler=HeliotropeSampler(seed=0))
    study.optimize(limited, n_trials=60)
    early, late = (
        [trial.params["x"] for trial in study.trials[a:b]] for a, b in [(15, 25), (45, 60)]
    )
    assert np.median(early) == pytest.approx(0.8, abs=0.05)
    assert np.median(late) == pytest.approx(0.3, abs=0.05)


def test_time_can_be_the_start_of_the_trial() -> None:
    """Trials a day apart teach less of each other than trials a minute apart."""

    def spread(apart: timedelta) -> float:
        sampler = HeliotropeSampler(seed=0, clock="1h", search_space={"x": SPACE["x"]})
        study = optuna.create_study(sampler=sampler)
        rng, begun = np.random.default_rng(0), datetime(2026, 1, 1)
        for number in range(30):
            x, at = rng.random(), begun + number * apart
            value = float((x - 0.5 - 0.3 * np.sin(number * apart / timedelta(hours=5))) ** 2)
            study.add_trial(finished(x, value, at))
        study.ask({"x": SPACE["x"]})
        (follower,) = sampler._followers.values()
        history = follower._keyed._optimizer.history
        return float(history.t[-1] - history.t[0])

    assert spread(timedelta(minutes=1)) == pytest.approx(29 / 60)
    assert spread(timedelta(days=1)) == pytest.approx(29 * 24)


def finished(x: float, value: float, at: datetime) -> FrozenTrial:
    trial = optuna.trial.create_trial(params={"x": x}, distributions={"x": SPACE["x"]}, value=value)
    trial.datetime_start = trial.datetime_complete = at
    return trial


def test_failed_pruned_infinite_and_enqueued_trials() -> None:
    sampler = HeliotropeSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.enqueue_trial({"x": 0.25, "y": 0.75})

    def trouble(trial: optuna.Trial) -> float:
        value = bowl(trial)
        if trial.number == 3:
            raise ValueError
        if trial.number == 4:
            raise optuna.TrialPruned
        if trial.number == 9:
            study.enqueue_trial({"x": 0.1})  # y is sampled
        return float("inf") if trial.number in (0, 5) else value

    study.optimize(trouble, n_trials=14, catch=(ValueError,))
    assert points(study)[0] == (0.25, 0.75)
    assert study.trials[10].params["x"] == 0.1
    states = [trial.state for trial in study.trials]
    assert (states[3], states[4]) == (TrialState.FAIL, TrialState.PRUNED)
    assert states.count(TrialState.COMPLETE) == 12
    (follower,) = sampler._followers.values()
    assert len(follower._keyed._optimizer.history) >= 10
    assert len(follower._keyed._optimizer.open) == 1  # the last trial, not yet seen


def test_choices_may_be_of_any_type() -> None:
    choices = [None, "a", True, 1, 0.5]
    study = optuna.create_study(sampler=HeliotropeSampler(seed=0))

    def objective(trial: optuna.Trial) -> float:
        chosen = trial.suggest_categorical("c", choices)
        return 0.0 if chosen is True else 1.0

    study.optimize(objective, n_trials=25)
    assert study.best_params["c"] is True
    late = [trial.params["c"] for trial in study.trials[12:]]
    assert sum(one is True for one in late) > len(late) / 2


def test_a_sampler_serves_several_studies_and_can_be_pickled() -> None:
    sampler = HeliotropeSampler(seed=5)
    first, second = optuna.create_study(sampler=sampler), optuna.create_study(sampler=sampler)
    for _ in range(6):
        first.optimize(bowl, n_trials=1)
        second.optimize(lambda trial: -bowl(trial), n_trials=1)
    first.sampler = pickle.loads(pickle.dumps(sampler))
    first.optimize(bowl, n_trials=2)
    assert (len(first.trials), len(second.trials)) == (8, 6)
    assert first.best_value < 0.05
    assert second.best_value < -0.5


def test_bad_input_is_refused() -> None:
    with pytest.raises(ht.HeliotropeError, match="of time such as"):
        HeliotropeSampler(clock="fortnightly")
    space: dict[str, BaseDistribution] = {
        "c": CategoricalDistribution([str(i) for i in range(1_001)])
    }
    study = optuna.create_study(sampler=HeliotropeSampler(seed=0, search_space=space))
    with pytest.raises(ht.HeliotropeError, match="1 to 1,000 choices"):
        study.ask(space)


@pytest.mark.filterwarnings("ignore:Fixed parameter")
def test_a_trial_outside_the_space_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study(sampler=HeliotropeSampler(seed=0, search_space=SPACE))
    study.enqueue_trial({"x": 5.0})
    study.optimize(bowl, n_trials=4)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 4
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == "left out trial 0: params.x: expected a number from 0.0 to 1.0; got 5.0."


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def ranged(*high: float) -> Callable[[optuna.Trial], float]:
    """A bowl around 0.3 or 1.4, whose range ends at one of ``high`` in turn of 40 trials."""

    def objective(trial: optuna.Trial) -> float:
        end = high[min(trial.number // 40, len(high) - 1)]
        return abs(trial.suggest_float("x", 0.0, end) - (1.4 if end > 1.4 else 0.3))

    return objective


@pytest.mark.parametrize(("before", "after", "best"), [(1.0, 2.0, 1.4), (2.0, 1.0, 0.3)])
def test_a_range_that_changes_is_searched(
    before: float, after: float, best: float, caplog: pytest.LogCaptureFixture
) -> None:
    study = optuna.create_study(sampler=HeliotropeSampler(seed=1))
    study.optimize(ranged(before, after), n_trials=80)
    late = np.array([trial.params["x"] for trial in study.trials[60:]])
    assert np.median(np.abs(late - best)) < 0.15
    assert not [line for line in messages(caplog) if "keeps changing" in line]


def test_results_in_the_common_part_of_two_ranges_are_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(sampler=HeliotropeSampler(seed=1))
    study.optimize(ranged(1.0, 0.5), n_trials=42)
    kept = [trial for trial in study.trials if trial.params["x"] <= 0.5]
    sampler: Any = study.sampler
    study.ask({"x": FloatDistribution(0.0, 0.5)})
    follower = sampler._followers[study]
    assert follower.space == {"x": FloatDistribution(0.0, 0.5)}
    assert len(follower._keyed._optimizer.history) == len(kept)
    (line,) = messages(caplog)
    number = next(trial.number for trial in study.trials if trial.params["x"] > 0.5)
    assert line.startswith(f"left out trial {number} and {41 - len(kept)} more: params.x: ")


def test_a_range_that_cannot_be_modelled_is_left_to_the_independent_sampler(
    caplog: pytest.LogCaptureFixture,
) -> None:
    study = optuna.create_study(sampler=HeliotropeSampler(seed=0))

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_int("n", -(2**53), 2**53)
        return (trial.suggest_float("x", 0.0, 1.0) - 0.7) ** 2

    study.optimize(objective, n_trials=25)
    assert abs(study.best_params["x"] - 0.7) < 0.05
    (line,) = messages(caplog)
    assert line.startswith("nothing is learned about the parameter 'n'")
    assert "1e+12" in line


def test_a_range_that_keeps_changing_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study(sampler=HeliotropeSampler(seed=0))

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        return (x - 0.7) ** 2 + trial.suggest_float("y", 0.0, 1.0 + x)

    study.optimize(objective, n_trials=20)
    (line,) = messages(caplog)
    assert line.startswith("nothing is learned about the parameter 'y'")
    assert line.endswith("its range keeps changing")
    sampler: Any = study.sampler
    assert list(sampler._followers[study].space) == ["x"]


def test_a_result_elsewhere_is_not_that_of_the_asked_point() -> None:
    space: dict[str, BaseDistribution] = {"x": FloatDistribution(0.0, 1.0)}
    study = optuna.create_study(sampler=HeliotropeSampler(seed=0, search_space=space))
    study.optimize(lambda trial: trial.suggest_float("x", 5.0, 6.0), n_trials=3)
    study.ask(space)
    sampler: Any = study.sampler
    optimizer = sampler._followers[study]._keyed._optimizer
    assert (len(optimizer.history), len(optimizer.open)) == (0, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"search_space": 3},
        {"search_space": {"x": 3}},
        {"seed": "a"},
        {"seed": -1},
        {"independent_sampler": 3},
        {"clock": "soon"},
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        HeliotropeSampler(**wrong)


def test_a_large_seed_is_taken() -> None:
    study = optuna.create_study(sampler=HeliotropeSampler(seed=2**40))
    study.optimize(bowl, n_trials=2)
    assert len(study.trials) == 2
