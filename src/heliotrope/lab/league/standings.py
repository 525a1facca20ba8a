"""Who did how well: scores by problem, and places over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from heliotrope.lab.league.matches import Match
from heliotrope.policies.registry import BASELINE
from heliotrope.validation import Array

YARDSTICK = BASELINE.name  # its regret is 1


@dataclass(frozen=True)
class Score:
    """One contestant on one problem.

    ``regret`` is the average of a step, over the trials, with its standard error; ``normalized``
    is that over the mean of what choosing at random had in the same trials. Who did not finish
    every trial is ranked behind all who did; its figures are those of the steps it played, NaN if
    there are none. Where random had no regret, there is no share of it either.
    """

    problem: str
    policy: str
    regret: float
    stderr: float
    normalized: float
    rank: float
    milliseconds: float
    kilobytes: float
    trials: int
    finished: int
    failure: str


@dataclass(frozen=True)
class Place:
    """One contestant over all problems: means of its scores, and at how many nobody was better.

    Problems of which it played no step count for its rank alone.
    """

    policy: str
    rank: float
    normalized: float
    won: int
    finished: float
    milliseconds: float
    kilobytes: float


@dataclass(frozen=True, eq=False)
class Standings:
    """All scores, and the places, best first."""

    problems: tuple[str, ...]
    scores: tuple[Score, ...]
    regrets: Mapping[tuple[str, str], Array]
    """Average regret of each trial, (trials,), by problem and policy."""

    @classmethod
    def of(cls, problems: Sequence[str], played: Mapping[str, Sequence[Match]]) -> Standings:
        """Judge matches, of which each contestant has trials x problems, problems in turn."""
        scores, regrets = list[Score](), dict[tuple[str, str], Array]()
        for i, id in enumerate(problems):
            matches = {name: all_of[i :: len(problems)] for name, all_of in played.items()}
            average = {name: _averages(some) for name, some in matches.items()}
            ranks = rankdata([_judged(some, average[name]) for name, some in matches.items()])
            for (name, some), rank in zip(matches.items(), ranks, strict=True):
                regrets[id, name] = average[name]
                scores.append(
                    _score(id, name, some, average[name], average[YARDSTICK], float(rank))
                )
        return cls(tuple(problems), tuple(scores), regrets)

    @property
    def places(self) -> list[Place]:
        """Everybody, by mean rank."""
        by_name: dict[str, list[Score]] = {}
        for score in self.scores:
            by_name.setdefault(score.policy, []).append(score)
        return sorted((self._place(name, some) for name, some in by_name.items()), key=_by_rank)

    def score(self, problem: str, policy: str) -> Score:
        """One score."""
        return next(s for s in self.scores if (s.problem, s.policy) == (problem, policy))

    def won(self, score: Score) -> bool:
        """Whether it finished and nobody was better on the problem; several can be equal."""
        others = (s.rank for s in self.scores if s.problem == score.problem)
        return not score.failure and score.rank == min(others)

    def has_played(self, policy: str) -> bool:
        """Whether it got as far as one step in any match."""
        own = [s for s in self.scores if s.policy == policy]
        return not all(np.isnan(s.milliseconds) for s in own)

    def _place(self, name: str, scores: Sequence[Score]) -> Place:
        return Place(
            policy=name,
            rank=mean_of([s.rank for s in scores]),
            normalized=mean_of([s.normalized for s in scores]),
            won=sum(self.won(s) for s in scores),
            finished=sum(s.finished for s in scores) / sum(s.trials for s in scores),
            milliseconds=mean_of([s.milliseconds for s in scores]),
            kilobytes=mean_of([s.kilobytes for s in scores]),
        )


def _by_rank(place: Place) -> float:
    return place.rank


def _averages(matches: Sequence[Match]) -> Array:
    """Average regret of a step of each trial; NaN where none was played."""
    return np.array([m.regret.mean() if len(m.regret) else np.nan for m in matches])


def _judged(matches: Sequence[Match], averages: Array) -> float:
    return float(averages.mean()) if all(not m.failure for m in matches) else np.inf


def _score(
    id: str, name: str, matches: Sequence[Match], averages: Array, random: Array, rank: float
) -> Score:
    failures = [m.failure for m in matches if m.failure]
    trials, played = len(matches), ~np.isnan(averages)
    return Score(
        problem=id,
        policy=name,
        regret=mean_of(averages),
        stderr=_stderr(averages[played]),
        normalized=_share(averages, mean_of(random[played])),
        rank=rank,
        milliseconds=mean_of([1e3 * m.seconds.mean() for m in matches if len(m.seconds)]),
        kilobytes=mean_of([1e-3 * m.memory for m in matches if not m.failure]),
        trials=trials,
        finished=trials - len(failures),
        failure=failures[0] if failures else "",
    )


def _share(averages: Array, random: float) -> float:
    return mean_of(averages / random) if random != 0.0 else np.nan


def _stderr(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan


def mean_of(values: Sequence[float] | Array) -> float:
    """Mean of those that are not NaN, or NaN if all are."""
    there = [value for value in values if not np.isnan(value)]
    return float(np.mean(there)) if there else np.nan
