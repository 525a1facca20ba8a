"""The result of a replay: every step of every policy, and the scores."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from heliotrope.lab.claims import compare
from heliotrope.lab.logs import Log
from heliotrope.lab.replay.candidates import FIXED
from heliotrope.lab.replay.training import TrainedSetup
from heliotrope.validation import Array, Indices

_INTERVALS = 10  # intervals of the test part, over which policies are compared
_CLEAR = 2.0  # standard errors over the intervals


@dataclass(frozen=True)
class ReplayRow:
    """One step: the place chosen at time ``t``, its value and the best value."""

    policy: str
    seed: int
    t: float
    place: str
    value: float
    best: float
    regret: float


@dataclass(frozen=True)
class ReplayScore:
    """Mean regret per step of a policy, with its standard error over intervals of the log.

    ``share`` is the obtained reward divided by the best possible one (for costs, the least possible
    cost divided by the paid one), None if some values are negative. ``gain`` is the regret saved
    against random choice, as a share of random's regret, None if that is 0.
    """

    policy: str
    regret: float
    stderr: float
    share: float | None
    gain: float | None


@dataclass(frozen=True, eq=False)
class ReplayResult:
    """A replayed log.

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
        """The highest reward at each time, (T,)."""
        return np.asarray(self.rewards.max(axis=1))

    def values(self, rewards: Array) -> Array:
        """Rewards in the log's sign: costs are positive."""
        return -rewards if self.minimize else rewards

    def rows(self) -> Iterator[ReplayRow]:
        """Every step of every policy, with values in the log's sign."""
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
    def scores(self) -> list[ReplayScore]:
        """Scores by regret, lowest first; in a tie a fixed place comes first."""
        found = [self._score(policy) for policy in self.choices]
        return sorted(found, key=lambda score: (score.regret, score.policy != FIXED))

    @property
    def best(self) -> str:
        """Name of the policy with the least regret."""
        return self.scores[0].policy

    @property
    def rivals(self) -> list[str]:
        """Policies that are not significantly worse than the best."""
        best = self._by_interval(self.best)
        margins = {
            score.policy: compare(self._by_interval(score.policy), best)
            for score in self.scores[1:]
        }
        return [policy for policy, margin in margins.items() if margin.errors <= _CLEAR]

    def _taken(self, policy: str) -> Array:
        """Rewards (seeds, T)."""
        return np.asarray(self.rewards[np.arange(len(self.rewards)), self.choices[policy]])

    def _by_interval(self, policy: str) -> Array:
        """Mean regret of each interval of the test part."""
        return np.array([part.mean() for part in np.array_split(self.regrets(policy), _INTERVALS)])

    def _score(self, policy: str) -> ReplayScore:
        regret, intervals = float(self.regrets(policy).mean()), self._by_interval(policy)
        stderr = float(intervals.std(ddof=1) / np.sqrt(_INTERVALS))
        random = float(np.mean(self.best_possible[:, None] - self.rewards))
        gain = 1.0 - regret / random if random > 0.0 else None
        return ReplayScore(policy, regret, stderr, self._share(regret), gain)

    def _share(self, regret: float) -> float | None:
        best = float(self.best_possible.mean())
        least, most = sorted((abs(best), abs(best - regret)))
        if most == 0.0 or np.any(self.values(self.rewards) < 0.0):
            return None
        return least / most
