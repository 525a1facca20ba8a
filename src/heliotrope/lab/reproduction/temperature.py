"""The temperature figure: find the hottest of 46 sensors.

As in the paper, the first three days give mean, covariance, epsilon and (by cross-validation) N;
the last two days test the policies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MultipleLocator

from heliotrope.acquisition import LogBeta
from heliotrope.errors import InputError
from heliotrope.estimation import Panel, empirical_prior
from heliotrope.lab import pictures
from heliotrope.lab.claims import OURS, Claim, compare, judge, within
from heliotrope.lab.cross_validation import choose_block_length
from heliotrope.lab.environments import Table, average_regret, play
from heliotrope.lab.reproduction.curves import slope
from heliotrope.lab.reproduction.figure import FigureOptions, TrialResults, stacked
from heliotrope.lab.reproduction.measured import (
    PolicyFactories,
    first_place,
    read_table,
    replays,
)
from heliotrope.lab.reproduction.series import CurveRow, Series, rows
from heliotrope.lab.trials import fingerprint, trial_seed
from heliotrope.policies import Uniform, gp_ucb, r_gp_ucb, rexp3, rexp3_batch, tv_gp_ucb
from heliotrope.priors import Forgetting, Prior
from heliotrope.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_DAY = 144  # steps of ten minutes
_TRAINING_DAYS = 3
_NOISE = 0.5
_BETA = LogBeta(0.8, 0.4)
_POLICIES = ("TV-GP-UCB", "R-GP-UCB", "GP-UCB", "RExp3", "RExp3, tuned", "random")
_SOURCE = "paper, temperature"
_BATCHES, _GAMMAS = (36, 72, 144), (0.05, 0.1, 0.2, 0.4, 0.7)  # of the tuned RExp3
_REPEATS = 10  # of RExp3 on each training day, because it is random


@dataclass(frozen=True, eq=False)
class Temperature:
    """The model learned from the training days, and the test days (T, 46)."""

    prior: Prior
    every: float
    test: Array
    trials: int
    horizon: int
    seed: int
    low: float
    high: float
    batch: float
    tuned: tuple[float, float]

    name = "temperature"

    @property
    def notes(self) -> tuple[str, ...]:
        """Learned parameters and data."""
        by_formula = rexp3(self.low, self.high, self.batch).mixing(self.test.shape[1])
        return (
            f"Learned from three days: epsilon {self._epsilon:.3g} by maximum likelihood, "
            f"N = {self.every:g} by cross-validation.",
            "Data: Intel Research Berkeley, 46 sensors (those with the most readings), "
            "4 to 8 March 2004, ten-minute medians. The paper does not name its 46 sensors and "
            "five days.",
            "Ours, not the paper's: each sensor's mean over the training days is the prior mean; "
            "the choice of sensors and days; the settings of RExp3.",
            "RExp3 by its paper's formulas, from the range of the training days "
            f"({self.low:g} to {self.high:g} degrees) and their variation: batches of "
            f"{self.batch:g} steps and gamma = {by_formula:g}, so it chooses at random. "
            f"'RExp3, tuned' has a batch of "
            f"{self.tuned[0]:g} and gamma = {self.tuned[1]:g}, the best on the training days.",
            "Trials differ in the first sensor, so there are at most 46. Bands and standard errors "
            "are over first sensors on the same two days; they say nothing about other days.",
        )

    def settings(self) -> Mapping[str, object]:
        """Everything that a trial depends on except its number."""
        return {
            "figure": self.name,
            "horizon": self.horizon,
            "seed": self.seed,
            "epsilon": self._epsilon,
            "N": self.every,
            "noise": _NOISE,
            "beta": [_BETA.c1, _BETA.c2],
            rexp3.__name__: [self.low, self.high, self.batch, *self.tuned],
            "test_data": fingerprint(self.test),
        }

    def trial(self, number: int) -> Mapping[str, Array]:
        """Run every policy from one first sensor: regrets (policies, T)."""
        first = first_place(self.test.shape[1], self.seed, number)
        seed = trial_seed(self.seed, number)
        table = Table(self.test)
        return replays(self._factories(), table, self.horizon, first, seed)

    def rows(self, results: TrialResults) -> list[CurveRow]:
        """Average regret at every ten-minute step."""
        given = {"TV-GP-UCB": self._epsilon, "R-GP-UCB": self.every}
        series = [Series("regret", policy, None, given.get(policy)) for policy in _POLICIES]
        times = np.arange(1.0, self.horizon + 1.0)
        return rows(self.name, series, times, average_regret(stacked(results)))

    def claims(self, results: TrialResults) -> list[Claim]:
        """Test the final order, and how GP-UCB gets worse with time."""
        regret = stacked(results)
        final, late, early = (
            dict(zip(_POLICIES, regret[:, :, when].mean(axis=2).T, strict=True))
            for when in (slice(None), slice(-self.horizon // 3, None), slice(self.horizon // 8))
        )
        gap = average_regret(regret[:, 1] - regret[:, 0])
        growth = compare(slope(np.arange(1.0, self.horizon + 1.0), gap), np.zeros(len(gap)))
        return [
            _below("TV-GP-UCB", "R-GP-UCB", final, _SOURCE),
            _below("TV-GP-UCB", "GP-UCB", final, "paper, abstract"),
            _below("R-GP-UCB", "GP-UCB", final, "paper, abstract"),
            _below("GP-UCB", "random", final, OURS),
            judge(
                "GP-UCB performs well for a short time (our criterion: below half of random's "
                "regret in the first eighth)",
                f"GP-UCB {_mean(early['GP-UCB'])}, TV-GP-UCB {_mean(early['TV-GP-UCB'])}, random "
                f"{_mean(early['random'])} degrees per step",
                _SOURCE,
                compare(0.5 * early["random"], early["GP-UCB"]),
            ),
            judge(
                "GP-UCB becomes barely better than random (our criterion: above 75 % of its regret "
                "in the last third)",
                f"GP-UCB {_mean(late['GP-UCB'])}, random {_mean(late['random'])} degrees per step",
                _SOURCE,
                compare(late["GP-UCB"], 0.75 * late["random"]),
            ),
            *(_comparable(policy, final) for policy in ("RExp3", "RExp3, tuned")),
            judge(
                "The gap between TV-GP-UCB and R-GP-UCB generally increases (our criterion: the "
                "slope of the difference of the curves over the whole experiment)",
                f"{gap[:, self.horizon // 2 - 1].mean():+.3f} degrees at half time, "
                f"{gap[:, -1].mean():+.3f} at the end; slope {growth}",
                _SOURCE,
                growth,
            ),
        ]

    def draw(self, results: TrialResults) -> Picture:
        """Regret over time, and the temperatures."""
        values, t = average_regret(stacked(results)), np.arange(1, self.horizon + 1)
        hours = t / 6.0
        picture, ((left, right),) = pictures.panels(1, 2, width=3.4, height=2.4, sharey=False)
        for i, policy in enumerate(_POLICIES):
            pictures.curve(left, hours, values[:, i], policy)
        left.set(xlabel="time (hours)", ylabel="average regret $R_t / t$ (°C)", ylim=(0, None))
        for one in (left, right):
            one.xaxis.set_major_locator(MultipleLocator(12))
        left.set_title("Performance")
        right.plot(hours, self.test[: self.horizon], linewidth=0.5, alpha=0.8)
        right.set(xlabel="time (hours)", ylabel="temperature (°C)")
        right.set_title(f"The {self.test.shape[1]} sensors")
        pictures.legend(picture, left, columns=4)
        return picture

    @property
    def _epsilon(self) -> float:
        assert isinstance(self.prior.time, Forgetting)
        return self.prior.time.epsilon

    def _factories(self) -> PolicyFactories:
        return {
            "TV-GP-UCB": lambda first: tv_gp_ucb(self.prior, _BETA, first=first),
            "R-GP-UCB": lambda first: r_gp_ucb(self.prior, self.every, _BETA, first=first),
            "GP-UCB": lambda first: gp_ucb(self.prior, _BETA, first=first),
            "RExp3": lambda _: rexp3(self.low, self.high, self.batch),
            "RExp3, tuned": lambda _: rexp3(self.low, self.high, *self.tuned),
            "random": lambda _: Uniform(),
        }


def _below(better: str, worse: str, final: Mapping[str, Array], source: str) -> Claim:
    found = compare(final[worse], final[better])
    return judge(
        f"{better} ends below {worse}",
        f"{_mean(final[better])} against {_mean(final[worse])} degrees ({found})",
        source,
        found,
    )


def _comparable(policy: str, final: Mapping[str, Array]) -> Claim:
    one, other = final[policy], final["GP-UCB"]
    return judge(
        f"{policy} performs comparably to GP-UCB (our criterion: within 10 %)",
        f"{_mean(one)} against {_mean(other)} degrees",
        _SOURCE,
        *within(0.1, one, other),
    )


def _mean(values: Array) -> str:
    return f"{values.mean():.3f}"


def tune_rexp3(days: Sequence[Array], low: float, high: float, seed: int) -> tuple[float, float]:
    """Return the batch and gamma of RExp3 with the least regret on logged days (T, places)."""

    def regret(batch: int, gamma: float) -> float:
        policy = rexp3(low, high, batch, gamma)
        episodes = [Table(day).episode() for day in days]
        return float(
            np.mean(
                [
                    step.regret
                    for episode in episodes
                    for repeat in range(_REPEATS)
                    for step in play(policy, episode, seed + repeat)
                ]
            )
        )

    return min(product(_BATCHES, _GAMMAS), key=lambda setting: regret(*setting))


def temperature(options: FigureOptions) -> Temperature:
    """Learn the model from the training days."""
    table = read_table(options.data, "intel_temperature.csv.gz")
    places = read_table(options.data, "intel_locations.csv")
    columns = [str(mote) for mote in places.loc[places["default46"] == 1, "mote"]]
    values = table[columns].to_numpy(dtype=float)
    training, test = values[: _TRAINING_DAYS * _DAY], values[_TRAINING_DAYS * _DAY :]
    horizon = options.horizon or len(test)
    if horizon > len(test):
        raise InputError(f"a horizon of at most the {len(test)} test steps", str(horizon))
    days = [Panel(np.arange(1.0, _DAY + 1.0), day) for day in np.split(training, _TRAINING_DAYS)]
    whole = Panel(np.arange(1.0, len(training) + 1.0), training)
    prior = empirical_prior(whole, noise=_NOISE).prior
    blocks = choose_block_length(
        days, _BETA, learn=lambda d: empirical_prior(d, noise=_NOISE).prior
    )
    low, high = float(training.min()), float(training.max())
    variation = float(np.abs(np.diff(training, axis=0)).max(axis=1).sum()) / (high - low)
    batch = rexp3_batch(len(columns), len(training), variation)
    trials = min(options.trials or len(columns), len(columns))  # one per first sensor
    tuned = tune_rexp3([day.values for day in days], low, high, options.seed)
    return Temperature(
        prior, blocks.every, test, trials, horizon, options.seed, low, high, batch, tuned
    )
