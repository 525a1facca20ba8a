"""What a replay found: every step of every policy, and how each did over all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from heliotrope.lab.claims import compare
from heliotrope.lab.logs import Log
from heliotrope.lab.replay.candidates import FIXED
from heliotrope.lab.replay.training import TrainedSetup
from heliotrope.validation import Array, Indices

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
    cost paid), None where some values are negative; ``gain`` is the share of what there was to
    gain over a random choice, None where all places were worth the same.
    """

    policy: str
    regret: float
    stderr: float
    share: float | None
    gain: float | None


@dataclass(frozen=True, eq=False)
class Replay:
    """A log replayed.

    The ``setup`` is learned from the first ``trained`` rows. ``rewards`` (T, M) are the other
    rows, higher is better, with gaps filled; ``filled`` is the share of gaps. ``choices`` has the
    places (seeds, T) of each policy.
    """

    log: Log
    minimize: bool
    trained: int
    setup: TrainedSetup
    rewards: Array
    filled: float
    choices: Mapping[str, Indices]

    @property
    def times(self) -> Array:
        """Times (T,) of the test part, in the log's steps."""
        return self.log.times[self.trained :]

    @cached_property
    def best_possible(self) -> Array:
        """The highest reward (T,) of each time."""
        return np.asarray(self.rewards.max(axis=1))

    def values(self, rewards: Array) -> Array:
        """Rewards as the log has them: costs are positive again."""
        return -rewards if self.minimize else rewards

    def rows(self) -> Iterator[ReplayRow]:
        """Every step of every policy, values as the log has them."""
        times, best = self.times.tolist(), self.values(self.best_possible).tolist()
        for policy, choices in self.choices.items():
            for seed, (places, rewards) in enumerate(
                zip(choices, self._taken(policy), strict=True)
            ):
                names = [self.log.names[place] for place in places]
                values = self.values(rewards).tolist()
                regrets = (self.best_possible - rewards).tolist()
                for step in zip(times, names, values, best, regrets, strict=True):
                    yield ReplayRow(policy, seed, *step)

    def regrets(self, policy: str) -> Array:
        """Regrets (T,) of a policy, averaged over its seeds."""
        return np.asarray(self.best_possible - self._taken(policy).mean(axis=0))

    @cached_property
    def scores(self) -> list[Score]:
        """Scores, the lowest regret first; of equal ones staying at one place, which is simpler."""
        found = [self._score(policy) for policy in self.choices]
        return sorted(found, key=lambda score: (score.regret, score.policy != FIXED))

    @property
    def best(self) -> str:
        """Name of the policy of least regret."""
        return self.scores[0].policy

    @property
    def rivals(self) -> list[str]:
        """Policies that the best is not clearly better than."""
        best = self._stretches(self.best)
        margins = {
            score.policy: compare(self._stretches(score.policy), best) for score in self.scores[1:]
        }
        return [policy for policy, margin in margins.items() if margin.errors <= _CLEAR]

    def _taken(self, policy: str) -> Array:
        """Rewards (seeds, T)."""
        return np.asarray(self.rewards[np.arange(len(self.rewards)), self.choices[policy]])

    def _stretches(self, policy: str) -> Array:
        """Mean regrets of the parts of the log."""
        return np.array([part.mean() for part in np.array_split(self.regrets(policy), _STRETCHES)])

    def _score(self, policy: str) -> Score:
        regret, stretches = float(self.regrets(policy).mean()), self._stretches(policy)
        stderr = float(stretches.std(ddof=1) / np.sqrt(_STRETCHES))
        there = float(np.mean(self.best_possible[:, None] - self.rewards))
        gain = 1.0 - regret / there if there > 0.0 else None
        return Score(policy, regret, stderr, self._share(regret), gain)

    def _share(self, regret: float) -> float | None:
        best = float(self.best_possible.mean())
        least, most = sorted((abs(best), abs(best - regret)))
        if most == 0.0 or np.any(self.values(self.rewards) < 0.0):
            return None
        return least / most
