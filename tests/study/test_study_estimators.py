"""Processes beside a study learn its model."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from cluster import wait_for
from heliotrope.cli.estimate import Watcher
from heliotrope.errors import UnknownStudyError
from heliotrope.policies.adaptive import AdaptiveAgent
from heliotrope.policies.frame import InnerAgent
from heliotrope.spaces import Options
from heliotrope.storage import MemoryStore
from heliotrope.study import Study, StudyConfig
from heliotrope.study.estimators import Estimators
from heliotrope.surroundings import Surroundings
from studies import SPACES, shown, twin_of

CONFIG = StudyConfig(Options(["a", "b", "c"]), seed=3)


@pytest.fixture(scope="module")
def estimators() -> Iterator[Estimators]:
    with closing(Estimators(1)) as started:
        yield started


def tell(study: Study, count: int) -> None:
    for number in range(count):
        study.tell(study.ask(), 0.5 + 0.1 * (number % 3))


def learner_of(study: Study) -> AdaptiveAgent:
    found = study._cache.read(lambda state: state.lead.learner)
    assert found is not None
    return found


def kinds(study: Study) -> list[str]:
    return [event.body["kind"] for event in study.events()]


def test_no_result_waits_for_the_model(estimators: Estimators) -> None:
    store = MemoryStore()
    study = Study.create_from("beside", CONFIG, store, estimators=estimators)
    tell(study, 9)
    wait_for(lambda: estimators.is_idle() and study.summary()["model"]["mean"] != 0.0)
    wait_for(lambda: learner_of(study).estimation() is None)
    learned = [event.body for event in study.events() if event.body["kind"] == "learned"]
    assert 1 <= len(learned) <= 5  # due after 1, 2, 3, 5 and 8; some of them were joined
    assert learned[-1]["model"]["mean"] == pytest.approx(0.6, abs=0.1)
    again, following = twin_of(store, "beside").ask(), study.ask()
    assert again.option == following.option


def test_another_process_of_the_store_learns(estimators: Estimators) -> None:
    store = MemoryStore()
    study = Study.create_from("left", CONFIG, store, estimators=Estimators(0))
    tell(study, 8)
    assert "learned" not in kinds(study)
    Watcher(store, estimators).look()
    wait_for(lambda: "learned" in kinds(study))
    wait_for(estimators.is_idle)
    assert study.summary()["model"]["mean"] == pytest.approx(0.6, abs=0.1)
    assert kinds(study).count("learned") == 1


def test_what_was_learned_for_another_state_is_dropped() -> None:
    store = MemoryStore()
    study = Study.create_from("late", CONFIG, store, estimators=Estimators(0))
    tell(study, 3)
    estimation = learner_of(study).estimation()
    assert estimation is not None
    update = estimation.run()
    Study(store, "late").tell(study.ask(), 0.7)  # learns at once
    before = kinds(study)
    study._learned("value", update)
    assert kinds(study) == before


def test_a_process_that_ends_is_replaced(estimators: Estimators) -> None:
    study = Study.create_from("cut", CONFIG, MemoryStore(), estimators=estimators)
    pool = estimators._started_pool()
    for pid in list(pool._processes):
        os.kill(pid, signal.SIGKILL)
    tell(study, 3)
    wait_for(estimators.is_idle)
    tell(study, 2)
    wait_for(lambda: "learned" in kinds(study))


def test_a_deleted_study_ends_its_estimate(estimators: Estimators) -> None:
    study = Study.create_from("gone", CONFIG, MemoryStore(), estimators=estimators)
    tell(study, 1)
    study.delete()
    wait_for(estimators.is_idle)
    with pytest.raises(UnknownStudyError):
        study.ask()


def take_model(study: Study) -> None:
    """Estimate the model that is due, as a process beside the study does."""
    estimation = learner_of(study).estimation()
    if estimation is not None:
        study._learned("value", estimation.run_in_background())


def some_value(rng: random.Random) -> float:
    """A value, now and then that of a fault."""
    return rng.gauss(0.0, 0.1) - (30.0 if rng.random() < 0.1 else 0.0)


def move(study: Study, rng: random.Random, seconds: list[float]) -> None:
    """Ask, tell, cancel, or tell the result of an ask that expired."""
    kind, opened = (
        rng.choice(["ask", "pair", "pair", "tell", "tell", "cancel", "late"]),
        study.open_asks(),
    )
    if kind == "pair":
        study.tell(study.ask(), some_value(rng))
    elif kind == "ask" or not opened:
        study.ask(lease="1min")
    elif kind == "tell":
        study.tell(rng.choice(opened), some_value(rng))
    elif kind == "cancel":
        study.cancel(rng.choice(opened))
    else:
        seconds[0] += 100.0
        study.cancel(study.ask())  # here they expire
        study.tell(opened[0], some_value(rng))


@pytest.mark.parametrize("space", ["options", "box"])
@pytest.mark.parametrize("seed", range(2))
def test_a_model_that_is_taken_stepwise_is_replayed_exactly(space: str, seed: int) -> None:
    rng, seconds, store = random.Random(seed), [1.7e9], MemoryStore()
    config = StudyConfig(SPACES[space], seed=seed)
    beside = Estimators(0)
    now = Surroundings(lambda: seconds[0])
    study = Study.create_from("steps", config, store, estimators=beside, surroundings=now)
    was_between = 0
    for number in range(150):
        move(study, rng, seconds)
        if number % 25 == 20 or (number == 123 and seed == 1):  # before the last one was seen whole
            take_model(study)
        was_between += learner_of(study)._inner.next is not None
        if number in (22, 47, 72, 97, 121, 122, 124, 149):
            again, loaded = twin_of(store, "steps"), Study.open("steps", store)
            found, expected = (learner_of(one).state() for one in (again, study))
            assert found.keys() == expected.keys()
            for name in found:
                np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
            assert shown(loaded) == shown(again) == shown(study)
    assert was_between > 5
    bodies = [event.body for event in study.events() if event.body["kind"] == "learned"]
    assert all("contradicted" in body for body in bodies)


def test_no_operation_shows_many_results_to_a_new_model(monkeypatch: pytest.MonkeyPatch) -> None:
    store, most = MemoryStore(), 12
    study = Study.create_from("steps", CONFIG, store, estimators=Estimators(0))
    tell(study, 60)
    counts = list[int]()

    def see(agent: InnerAgent, count: int | None = None) -> None:
        before = len(agent.unseen)
        shows(agent, count)
        counts.append(before - len(agent.unseen))

    shows = InnerAgent.see
    monkeypatch.setattr(InnerAgent, "see", see)
    take_model(study)
    assert study.summary()["model"]["mean"] == pytest.approx(0.6, abs=0.1)
    belief = study.belief()
    tell(study, 5)
    assert max(counts) <= most
    assert sum(counts) >= 60
    assert study.belief() != belief
