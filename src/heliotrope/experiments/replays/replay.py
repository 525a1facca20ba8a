"""Learn from the first part of a log, let every policy track the rest, and say who did best."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from tempfile import TemporaryDirectory

import numpy as np

from heliotrope.arrays import Array, as_number, as_whole
from heliotrope.environments import FiniteEpisode, Table
from heliotrope.errors import InputError
from heliotrope.experiments.claims import compare
from heliotrope.experiments.figures.measured import fingerprint
from heliotrope.experiments.figures.protocol import trial_seed
from heliotrope.experiments.replays.lessons import Lesson, learn
from heliotrope.experiments.replays.players import CHANCY, POLICIES, player
from heliotrope.experiments.trials import run_trials
from heliotrope.logs import Log

_FEWEST = 10  # rows of either part
_STRETCHES = 10  # of the test part, over which two policies are compared
_CLEAR = 2.0  # standard errors over the stretches


@dataclass(frozen=True)
class ReplayRow:
    """One step: the place that a policy chose at time ``t``, its value and the best there was."""

    policy: str
    seed: int
    t: float
    place: str
    value: float
    best: float
    regret: float


@dataclass(frozen=True)
class Score:
    """How a policy did: mean regret a step, with its standard error over stretches of the log.

    ``share`` is the reward taken over the best possible (with costs the least possible over the
    cost paid), None where values are not all positive; ``gain`` is the share of what there was to
    gain over a random choice.
    """

    policy: str
    regret: float
    stderr: float
    share: float | None
    gain: float


@dataclass(frozen=True, eq=False)
class Replay:
    """A log replayed."""

    log: Log
    minimize: bool
    trained: int
    lesson: Lesson
    episode: FiniteEpisode
    filled: float
    choices: Mapping[str, Array]
    seeds: Sequence[int]

    def rows(self) -> Iterator[ReplayRow]:
        """Every step of every policy, values as the log has them."""
        sign = -1.0 if self.minimize else 1.0
        times = self.log.times[self.trained :].tolist()
        best = self.episode.values.max(axis=1)
        for policy, choices in self.choices.items():
            for seed, chosen in zip(self.seeds, choices, strict=False):
                values = self.episode.values[np.arange(len(chosen)), chosen]
                for i, t in enumerate(times):
                    yield ReplayRow(
                        policy,
                        seed,
                        t,
                        self.log.names[chosen[i]],
                        sign * float(values[i]),
                        sign * float(best[i]),
                        float(best[i] - values[i]),
                    )

    def regrets(self, policy: str) -> Array:
        """Regrets (T,) of a policy, averaged over its seeds."""
        values = self.episode.values
        chosen = self.choices[policy]
        taken = values[np.arange(len(values)), chosen].mean(axis=0)
        return np.asarray(values.max(axis=1) - taken)

    @cached_property
    def scores(self) -> list[Score]:
        """Scores, the lowest regret first."""
        return sorted((self._score(policy) for policy in self.choices), key=lambda s: s.regret)

    @property
    def best(self) -> str:
        """Name of the policy of least regret."""
        return self.scores[0].policy

    @property
    def tied(self) -> list[str]:
        """Policies that the log cannot tell from the best."""
        found = {
            score.policy: compare(self._stretches(score.policy), self._stretches(self.best)).errors
            for score in self.scores[1:]
        }
        return [policy for policy, errors in found.items() if not errors > _CLEAR]

    def _score(self, policy: str) -> Score:
        values, regret = self.episode.values, self.regrets(policy)
        best, blind = values.max(axis=1), values.mean(axis=1)
        taken = float((best - regret).sum())
        stretches = self._stretches(policy)
        return Score(
            policy,
            float(regret.mean()),
            float(stretches.std(ddof=1) / np.sqrt(len(stretches))),
            _share(taken, float(best.sum()), values, self.minimize),
            1.0 - float(regret.sum()) / float((best - blind).sum()),
        )

    def _stretches(self, policy: str) -> Array:
        parts = np.array_split(self.regrets(policy), min(_STRETCHES, len(self.episode.values)))
        return np.array([part.mean() for part in parts])


def _share(taken: float, best: float, values: Array, minimize: bool) -> float | None:
    if minimize:
        return best / taken if np.all(values < 0.0) else None
    return taken / best if np.all(values > 0.0) else None


def replay(
    log: Log,
    *,
    train: float = 0.6,
    minimize: bool = False,
    policies: Sequence[str] = tuple(POLICIES),
    seeds: int = 10,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    jobs: int = -1,
    tick: Callable[[int, int], object] | None = None,
) -> Replay:
    """Learn from the first ``train`` share of the rows, replay every policy on the rest.

    Parameters
    ----------
    log
        What :func:`~heliotrope.logs.read_log` or :func:`~heliotrope.logs.log_of` gave.
    minimize
        Values are costs: the lowest is best.
    policies
        Some of ``POLICIES``.
    seeds
        How often policies that draw lots are played.
    out
        Folder in which finished replays are kept, so that an interrupted run goes on from there.
    jobs
        Processes of this machine: 1 is this one, -1 as many as there are cores.
    tick
        Called with the number of finished replays, and how many there are.

    Gaps of the test part are filled between their neighbours in time.
    """
    names = _checked(policies)
    rewards = -log.values if minimize else log.values
    cut = _cut(log, as_number(train, "train"))
    _check_training(log, rewards[:cut])
    lesson = learn(log.times[:cut], rewards[:cut], log.points)
    times = log.times[cut:] - log.times[cut] + 1.0
    table = Table(_known(rewards, cut), times, log.points)
    count = as_whole(seeds, "seeds", least=1)
    work = _Work(table, lesson, names, count, as_whole(seed, "seed", least=0))
    with TemporaryDirectory() if out is None else nullcontext(out) as folder:
        results = run_trials(
            work.trial,
            len(work.jobs),
            folder=folder,
            settings=work.settings(fingerprint(rewards), cut),
            jobs=jobs,
            tick=None if tick is None else lambda done: tick(done, len(work.jobs)),
        )
    choices = {
        name: np.array(
            [
                found["index"]
                for found, (one, _) in zip(results, work.jobs, strict=True)
                if one == name
            ]
        )
        for name in names
    }
    return Replay(log, minimize, cut, lesson, table.episode(), table.filled, choices, range(count))


@dataclass(frozen=True, eq=False)
class _Work:
    """The replays to do, as trials."""

    table: Table
    lesson: Lesson
    policies: tuple[str, ...]
    seeds: int
    seed: int

    @property
    def jobs(self) -> list[tuple[str, int]]:
        """Policy and number of the seed of each trial."""
        return [
            (policy, number)
            for policy in self.policies
            for number in range(self.seeds if policy in CHANCY else 1)
        ]

    def trial(self, number: int) -> dict[str, Array]:
        """The places that one policy chose."""
        policy, repetition = self.jobs[number]
        steps = player(policy, self.lesson)(self.table.episode(), trial_seed(self.seed, repetition))
        return {"index": np.array([step.index for step in steps])}

    def settings(self, data: str, cut: int) -> dict[str, object]:
        """Everything that a trial depends on but its number."""
        return {
            "data": data,
            "train": cut,
            "jobs": [list(job) for job in self.jobs],
            "seed": self.seed,
            "epsilon": self.lesson.epsilon,
            "noise": self.lesson.prior.noise,
            "space": str(self.lesson.prior.space),
            "N": self.lesson.every,
            "c1": dict(self.lesson.c1),
        }


def _checked(policies: Sequence[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(policies))
    unknown = [name for name in names if name not in POLICIES]
    if unknown or not names:
        raise InputError(f"policies among {', '.join(POLICIES)}", ", ".join(unknown) or "none")
    return names


def _cut(log: Log, train: float) -> int:
    rows = len(log.times)
    if not 0.0 < train < 1.0:
        raise InputError("train, a share between 0 and 1", f"{train:g}")
    cut = round(train * rows)
    if cut < _FEWEST or rows - cut < _FEWEST:
        raise InputError(
            f"at least {_FEWEST} rows to learn from and {_FEWEST} to test on",
            f"{cut} and {rows - cut} of the log's {rows}",
        )
    return cut


def _check_training(log: Log, rewards: Array) -> None:
    seen = ~np.isnan(rewards)
    unseen = np.flatnonzero(~seen.any(axis=0))
    if len(unseen):
        names = ", ".join(repr(log.names[i]) for i in unseen[:5])
        raise InputError(
            "a value of every place in the training part",
            f"none of {names}",
            "Remove the place, or train on more.",
        )
    if all(np.ptp(column[here]) == 0.0 for column, here in zip(rewards.T, seen.T, strict=True)):
        raise InputError("a training part in which values change", "constant columns")


def _known(rewards: Array, cut: int) -> Array:
    """The test part; a place that is never measured in it keeps its last value before."""
    test = rewards[cut:].copy()
    for i in np.flatnonzero(np.isnan(test).all(axis=0)):
        column = rewards[:cut, i]
        test[:, i] = column[~np.isnan(column)][-1]
    return test
