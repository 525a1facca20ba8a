"""The temperature figure: find the hottest of 46 sensors.

As in the paper, the first three days give mean, covariance, epsilon and (by cross-validation) N;
the last two days test the policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MultipleLocator

from heliotrope.acquisition import LogBeta
from heliotrope.errors import InputError
from heliotrope.estimation import Panel, empirical_prior
from heliotrope.lab import pictures
from heliotrope.lab.claims import Claim, compare
from heliotrope.lab.cross_validation import choose_block_length
from heliotrope.lab.environments import Table, average_regret
from heliotrope.lab.reproduction.figure import FigureOptions, TrialResults, stacked
from heliotrope.lab.reproduction.measured import (
    PolicyFactories,
    first_place,
    ordered,
    read_table,
    regrets,
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
_POLICIES = ("TV-GP-UCB", "R-GP-UCB", "GP-UCB", "RExp3", "random")


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

    name = "temperature"

    @property
    def notes(self) -> tuple[str, ...]:
        """Learned parameters and data."""
        return (
            f"Learned from three days: epsilon {self._epsilon:.3g} by maximum likelihood, "
            f"N = {self.every:g} by cross-validation.",
            "Data: Intel Research Berkeley, 46 sensors (those with the most readings), "
            "4 to 8 March 2004, ten-minute medians. The paper does not name its 46 sensors and "
            "five days.",
            "Trials differ in the first sensor, so there are at most 46. RExp3 uses the range "
            f"({self.low:g} to {self.high:g} degrees) and the variation of the training days; "
            f"its paper's formula then gives batches of {self.batch:g} steps.",
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
            rexp3.__name__: [self.low, self.high, self.batch],
            "test_data": fingerprint(self.test),
        }

    def trial(self, number: int) -> Mapping[str, Array]:
        """Run every policy from one first sensor: regrets (policies, T)."""
        first = first_place(self.test.shape[1], self.seed, number)
        seed = trial_seed(self.seed, number)
        table = Table(self.test)
        return {"regret": regrets(self._factories(), table, self.horizon, first, seed)}

    def rows(self, results: TrialResults) -> list[CurveRow]:
        """Average regret at every ten-minute step."""
        given = {"TV-GP-UCB": self._epsilon, "R-GP-UCB": self.every}
        series = [Series("regret", policy, None, given.get(policy)) for policy in _POLICIES]
        times = np.arange(1.0, self.horizon + 1.0)
        return rows(self.name, series, times, average_regret(stacked(results)))

    def claims(self, results: TrialResults) -> list[Claim]:
        """Test the final order, and how GP-UCB gets worse with time."""
        regret = stacked(results)
        final = dict(zip(_POLICIES, regret.mean(axis=2).T, strict=True))
        late = dict(
            zip(_POLICIES, regret[:, :, -self.horizon // 3 :].mean(axis=(0, 2)), strict=True)
        )
        early = dict(
            zip(_POLICIES, regret[:, :, : self.horizon // 8].mean(axis=(0, 2)), strict=True)
        )
        gap = average_regret(regret[:, 1] - regret[:, 0]).mean(axis=0)
        half = self.horizon // 2
        return [
            _below("TV-GP-UCB", "R-GP-UCB", final),
            _below("R-GP-UCB", "GP-UCB", final),
            _below("GP-UCB", "random", final),
            Claim(
                "GP-UCB does well at first",
                f"first eighth: GP-UCB {early['GP-UCB']:.2f}, TV-GP-UCB {early['TV-GP-UCB']:.2f}, "
                f"random {early['random']:.2f} degrees per step",
                bool(early["GP-UCB"] < 0.5 * early["random"]),
            ),
            Claim(
                "GP-UCB ends barely better than random: above 75 % of its regret",
                f"last third: GP-UCB {late['GP-UCB']:.2f}, random {late['random']:.2f} per step",
                bool(late["GP-UCB"] > 0.75 * late["random"]),
            ),
            Claim(
                "RExp3, which ignores correlations, does no better than GP-UCB",
                ordered(("GP-UCB", "RExp3"), np.stack([final["GP-UCB"], final["RExp3"]], axis=1)),
                bool(final["RExp3"].mean() > 0.9 * final["GP-UCB"].mean()),
            ),
            Claim(
                "The gap between TV-GP-UCB and R-GP-UCB grows over the experiment",
                f"{gap[half - 1]:+.3f} degrees at half time, {gap[-1]:+.3f} at the end",
                bool(gap[-1] > gap[half - 1]),
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
        pictures.legend(picture, left)
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
            "random": lambda _: Uniform(),
        }


def _below(better: str, worse: str, final: Mapping[str, Array]) -> Claim:
    found = compare(final[worse], final[better])
    return Claim(
        f"{better} ends below {worse}",
        f"{final[better].mean():.3f} against {final[worse].mean():.3f} degrees ({found})",
        found.clearly_positive,
    )


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
    return Temperature(prior, blocks.every, test, trials, horizon, options.seed, low, high, batch)
