"""Simulated clients of shared studies: see tests/simulation.py, which also replays one seed."""

from __future__ import annotations

import pytest

from simulation import Simulation, play

GROUP = 10
SEEDS = 100


@pytest.mark.parametrize("first", range(0, SEEDS, GROUP))
def test_the_laws_hold_whatever_fails(first: int) -> None:
    for seed in range(first, first + GROUP):
        play(seed)


@pytest.mark.parametrize("seed", range(0, SEEDS, 20))
def test_a_seed_replays_to_the_byte(seed: int) -> None:
    assert play(seed).encode() == play(seed).encode()


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
