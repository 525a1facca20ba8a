"""The season demo: TV-GP-UCB with and without a model of the daily season.

The function over a line of places is the sum of a daily season, a drift and a level that all
places share. One TV-GP-UCB has this sum as its prior. Another has a single drift with the same
variance and the same correlation over one step. GP-UCB assumes a static function.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from threadpoolctl import threadpool_limits

import heliotrope as ht
from heliotrope.kernels import Matern
from heliotrope.lab.demo.drift import Trajectory, follow
from heliotrope.lab.environments import FiniteEpisode, GPDrift
from heliotrope.policies import Policy
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.terms import Drifts, Level, Season
from heliotrope.validation import Array, as_whole

DAY = 50  # steps
SUM, DRIFT, STATIC = "TV-GP-UCB, sum", "TV-GP-UCB", "GP-UCB"
_PLACES = 60
_NOISE = 0.02


@dataclass(frozen=True, eq=False)
class Forecast:
    """Means (DAY,) and deviations (DAY,) of one place over the day after the run."""

    mean: Array
    std: Array


@dataclass(frozen=True, eq=False)
class SeasonRun:
    """The true values and parts (T + DAY, places), the policies' trajectories and their forecasts.

    ``place`` is the index of the place whose forecast varies most over the next day, according to
    the policy with the sum. ``forecasts`` are by policy, ``parts`` by part of the sum.
    """

    episode: FiniteEpisode
    true_parts: Mapping[str, Array]
    trajectories: Sequence[Trajectory]
    place: int
    forecasts: Mapping[str, Forecast]
    parts: Mapping[str, Forecast]

    @property
    def horizon(self) -> int:
        """Number of steps of the run, T."""
        return len(self.trajectories[0].chosen)

    @cached_property
    def next_day(self) -> slice:
        """The rows of the day after the run."""
        return slice(self.horizon, self.horizon + DAY)

    def error(self, policy: str) -> float:
        """Root mean square error of a policy's forecast."""
        truth = self.episode.values[self.next_day, self.place]
        return float(np.sqrt(np.mean((self.forecasts[policy].mean - truth) ** 2)))


def whole_prior() -> ht.Prior:
    """Return the true prior: season, drift and level."""
    return ht.Prior(
        noise=_NOISE,
        terms=[
            Season(0.8 * Matern(0.2, nu=2.5), period=DAY, harmonics=2, epsilon=0.0005),
            Drifts(0.3 * Matern(0.2, nu=2.5), epsilon=0.05),
            Level(0.3, epsilon=0.03),
        ],
    )


def drift_prior() -> ht.Prior:
    """Return one drifting term with the sum's variance and its correlation over one step."""
    model, place = SpaceTime(whole_prior(), ht.grid(1)), np.zeros(1, dtype=np.intp)
    one_step = model.between(np.zeros(1), place, np.array([0.0, 1.0]), np.repeat(place, 2))
    variance, covariance = one_step[0].tolist()
    epsilon = 1.0 - (covariance / variance) ** 2
    return ht.Prior(variance * Matern(0.2, nu=2.5), ht.Forgetting(epsilon), _NOISE)


def season_policies() -> dict[str, Policy]:
    """Return the compared policies by name."""
    return {
        SUM: ht.tv_gp_ucb(whole_prior()),
        DRIFT: ht.tv_gp_ucb(drift_prior()),
        STATIC: ht.gp_ucb(drift_prior()),
    }


def run_season(steps: int, seed: int, tick: Callable[[], None]) -> SeasonRun:
    """Run all policies in one world, and forecast the next day; tick once per step of each."""
    steps, seed = as_whole(steps, "steps", least=1), as_whole(seed, "seed", least=0)
    with threadpool_limits(1):  # a step is too short for several threads
        world = GPDrift(ht.grid(_PLACES), whole_prior())
        episode = world.episode(steps + DAY, seed)
        optimizers = {
            name: ht.Optimizer(world.domain, policy, seed)
            for name, policy in season_policies().items()
        }
        lived = FiniteEpisode(world.domain, episode.values[:steps], episode.noises[:steps])
        trajectories = [follow(name, one, lived, tick) for name, one in optimizers.items()]
        times = np.arange(steps + 1.0, steps + DAY + 1.0).tolist()
        knowing = optimizers[SUM]
        place = int(np.ptp([knowing.belief(t).mean for t in times], axis=0).argmax())
        forecasts = {name: _forecast(one, times, place) for name, one in optimizers.items()}
        parts = {part: _forecast(knowing, times, place, part) for part in whole_prior().parts()}
    return SeasonRun(episode, world.parts(steps + DAY, seed), trajectories, place, forecasts, parts)


def _forecast(
    optimizer: ht.Optimizer, times: list[float], place: int, part: str | None = None
) -> Forecast:
    x = optimizer.domain.at(np.array([place]))
    beliefs = [optimizer.belief(t, x, part=part) for t in times]
    return Forecast(
        np.array([belief.mean[0] for belief in beliefs]),
        np.array([belief.std[0] for belief in beliefs]),
    )
