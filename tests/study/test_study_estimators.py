"""Processes beside a study learn its model."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing

import pytest

from cluster import wait_for
from heliotrope.errors import UnknownStudyError
from heliotrope.policies.adaptive import AdaptiveAgent
from heliotrope.spaces import Options
from heliotrope.storage import MemoryStore
from heliotrope.study import Study, StudyConfig
from heliotrope.study.estimators import Estimators
from heliotrope.study.watching import Watcher
from studies import twin_of

CONFIG = StudyConfig(Options(["a", "b", "c"]), seed=3)


@pytest.fixture(scope="module")
def estimators() -> Iterator[Estimators]:
    with closing(Estimators(1)) as started:
        yield started


def tell(study: Study, count: int) -> None:
    for number in range(count):
        study.tell(study.ask(), 0.5 + 0.1 * (number % 3))


def learner_of(study: Study) -> AdaptiveAgent:
    found = study._cache.read(lambda state: state.optimizer.learner)
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
