"""Scores by problem, and the ranking over all problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from heliotrope.lab.league.matches import Match
from heliotrope.policies.registry import BASELINE
from heliotrope.validation import Array


@dataclass(frozen=True)
class ProblemScore:
    """One competitor on one problem.

    ``regret`` is the average per step over the trials, with its standard error; ``normalized``
    divides it by the regret of random choice in the same trials (NaN if that is 0). A competitor
    that did not finish every trial ranks behind all that did. Its numbers are those of the steps
    it played, or NaN.
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
class Standing:
    """One competitor over all problems: means of its scores, and on how many it was best.

    Problems without a played step count only for its rank.
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
    """All scores, and the ranking of the competitors."""

    problems: tuple[str, ...]
    scores: tuple[ProblemScore, ...]
    regrets: Mapping[tuple[str, str], Array]
    """Average regret of each trial, (trials,), by problem and policy."""

    @classmethod
    def of(cls, problems: Sequence[str], played: Mapping[str, Sequence[Match]]) -> Standings:
        """Score the matches; each competitor has trials x problems, problems varying fastest."""
        scores, regrets = list[ProblemScore](), dict[tuple[str, str], Array]()
        for i, id in enumerate(problems):
            matches = {name: all_of[i :: len(problems)] for name, all_of in played.items()}
            average = {name: _averages(some) for name, some in matches.items()}
            ranks = rankdata(
                [_ranked_regret(some, average[name]) for name, some in matches.items()]
            )
            for (name, some), rank in zip(matches.items(), ranks, strict=True):
                regrets[id, name] = average[name]
                scores.append(
                    _score(id, name, some, average[name], average[BASELINE.name], float(rank))
                )
        return cls(tuple(problems), tuple(scores), regrets)

    @property
    def ranking(self) -> list[Standing]:
        """All competitors by mean rank, best first."""
        by_name: dict[str, list[ProblemScore]] = {}
        for score in self.scores:
            by_name.setdefault(score.policy, []).append(score)
        return sorted((self._standing(name, some) for name, some in by_name.items()), key=_by_rank)

    def score(self, problem: str, policy: str) -> ProblemScore:
        """The score of a policy on a problem."""
        return next(s for s in self.scores if (s.problem, s.policy) == (problem, policy))

    def won(self, score: ProblemScore) -> bool:
        """Whether it finished and no other was better on the problem; ties count."""
        others = (s.rank for s in self.scores if s.problem == score.problem)
        return not score.failure and score.rank == min(others)

    def has_played(self, policy: str) -> bool:
        """Whether it played at least one step in any match."""
        own = [s for s in self.scores if s.policy == policy]
        return not all(np.isnan(s.milliseconds) for s in own)

    def _standing(self, name: str, scores: Sequence[ProblemScore]) -> Standing:
        return Standing(
            policy=name,
            rank=mean_of([s.rank for s in scores]),
            normalized=mean_of([s.normalized for s in scores]),
            won=sum(self.won(s) for s in scores),
            finished=sum(s.finished for s in scores) / sum(s.trials for s in scores),
            milliseconds=mean_of([s.milliseconds for s in scores]),
            kilobytes=mean_of([s.kilobytes for s in scores]),
        )


def _by_rank(standing: Standing) -> float:
    return standing.rank


def _averages(matches: Sequence[Match]) -> Array:
    """Average regret per step of each trial; NaN without a played step."""
    return np.array([m.regret.mean() if len(m.regret) else np.nan for m in matches])


def _ranked_regret(matches: Sequence[Match], averages: Array) -> float:
    return float(averages.mean()) if all(not m.failure for m in matches) else np.inf


def _score(
    id: str, name: str, matches: Sequence[Match], averages: Array, random: Array, rank: float
) -> ProblemScore:
    failures = [m.failure for m in matches if m.failure]
    trials, played = len(matches), ~np.isnan(averages)
    return ProblemScore(
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
    """Mean of the values that are not NaN, or NaN."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan
