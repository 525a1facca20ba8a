"""Simulated clients of shared studies: see tests/simulation.py, which also replays one seed."""

from __future__ import annotations

from itertools import count
from random import Random

import pytest

from heliotrope.storage import MemoryStore
from heliotrope.study import Study, StudyConfig
from heliotrope.surroundings import Surroundings
from simulation import Simulation, play
from studies import SPACES

GROUP = 10
SEEDS = 100


@pytest.mark.parametrize("first", range(0, SEEDS, GROUP))
def test_the_laws_hold_whatever_fails(first: int) -> None:
    for seed in range(first, first + GROUP):
        play(seed)


@pytest.mark.parametrize("seed", range(0, SEEDS, 20))
def test_a_seed_replays_to_the_byte(seed: int) -> None:
    assert play(seed).encode() == play(seed).encode()


def test_a_loop_over_a_function_writes_the_same_log_in_the_same_surroundings() -> None:
    logs = []
    for _ in range(2):
        surroundings = Surroundings(count(1.7e9).__next__, Random(7).randrange)
        store, config = MemoryStore(surroundings), StudyConfig(SPACES["options"])
        study = Study.create_from("loop", config, store, surroundings=surroundings)
        study.optimize(lambda option: float(len(option)), 6, progress=False)
        logs.append((study.uid, study.events()))
    assert logs[0] == logs[1]
    assert "key" in logs[0][1][1].body


def test_the_seeds_meet_faults_and_refusals() -> None:
    """What the seeds are about happens in them: otherwise the laws would say little."""
    runs = [Simulation(seed) for seed in range(0, SEEDS, 7)]
    told = "".join(run.run() for run in runs)
    kinds = {event.body["kind"] for run in runs for m in run.models.values() for event in m.events}
    assert kinds >= {"told", "cancelled", "expired", "prolonged", "retimed", "applied", "learned"}
    for words in (
        "before the commit",
        "after the commit",
        "while it was read",
        "the answer is lost",
        "it is sent twice",
        "is faster than",
        "begins again",
        "the clocks jump",
        "keeps a snapshot",
        "unloads",
        "TimeError",
        "ClosedSuggestionError",
        "UnknownSuggestionError",
    ):
        assert words in told, words
