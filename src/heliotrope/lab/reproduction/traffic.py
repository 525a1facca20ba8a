"""The traffic figure: find the fastest of 50 sensors along a highway.

Days are independent; two thirds of them are for training. Each test day has a panel, as in the
appendix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heliotrope.acquisition import LogBeta
from heliotrope.errors import InputError
from heliotrope.estimation import Panel, empirical_prior
from heliotrope.lab import pictures
from heliotrope.lab.claims import Claim, compare
from heliotrope.lab.environments import Table, average_regret
from heliotrope.lab.reproduction.figure import FigureOptions, TrialResults, stacked
from heliotrope.lab.reproduction.measured import PolicyFactories, first_place, read_table, regrets
from heliotrope.lab.reproduction.series import CurveRow, Series, rows
from heliotrope.lab.trials import fingerprint, trial_seed
from heliotrope.policies import Uniform, gp_ucb, tv_gp_ucb
from heliotrope.priors import Forgetting, Prior
from heliotrope.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_SENSORS = 50
_NOISE_SHARE = 0.05
_FIRST_SENSORS = 20
_BETA = LogBeta(0.2, 0.4)
_POLICIES = ("TV-GP-UCB", "GP-UCB", "random")
_MINUTES = 5


@dataclass(frozen=True, eq=False)
class Traffic:
    """The model learned from the training days, and the test days (days, T, 50)."""

    prior: Prior
    days: tuple[str, ...]
    test: Array
    sensors: tuple[str, ...]
    trained_on: int
    trials: int
    horizon: int
    seed: int

    name = "traffic"

    @property
    def notes(self) -> tuple[str, ...]:
        """Learned parameters and data."""
        return (
            f"Learned from {self.trained_on} independent mornings: epsilon "
            f"{self._epsilon:.3g} by maximum likelihood, noise variance {self.prior.noise:.3g}, "
            f"{_NOISE_SHARE:.0%} of the signal variance.",
            "Substitute data: the paper's month of I-880 South is not public; this is I-405 "
            "(Orange County), 20 mornings of one month, 06:00 to 10:55 in five-minute steps, "
            f"a random {len(self.sensors)} of 77 sensors, speeds capped at 70 mph by the "
            "publisher. Day numbers are positions in the source file, not dates.",
            f"Trials differ in the first sensor, so there are at most {_SENSORS}.",
        )

    def settings(self) -> Mapping[str, object]:
        """Everything that a trial depends on except its number."""
        return {
            "figure": self.name,
            "horizon": self.horizon,
            "seed": self.seed,
            "sensors": list(self.sensors),
            "test_days": list(self.days),
            "epsilon": self._epsilon,
            "noise": self.prior.noise,
            "beta": [_BETA.c1, _BETA.c2],
            "test_data": fingerprint(self.test),
        }

    def trial(self, number: int) -> Mapping[str, Array]:
        """Run every policy on every day from one first sensor: regrets (days x policies, T)."""
        first = first_place(len(self.sensors), self.seed, number)
        seed = trial_seed(self.seed, number)
        played = [
            regrets(self._factories(), Table(day), self.horizon, first, seed) for day in self.test
        ]
        return {"regret": np.concatenate(played)}

    def rows(self, results: TrialResults) -> list[CurveRow]:
        """Average regret at every five-minute step."""
        series = [
            Series(f"day {day}", policy, None, self._epsilon if policy == "TV-GP-UCB" else None)
            for day in self.days
            for policy in _POLICIES
        ]
        times = np.arange(1.0, self.horizon + 1.0)
        return rows(self.name, series, times, average_regret(stacked(results)))

    def claims(self, results: TrialResults) -> list[Claim]:
        """Test which policy wins on how many days."""
        final = self._by_day(results).mean(axis=3)
        found = [compare(day[:, 1], day[:, 0]) for day in final.transpose(1, 0, 2)]
        won = sum(one.difference > 0.0 for one in found)
        close = sum(_comparable(day) for day in final.mean(axis=0))
        means = final.mean(axis=(0, 1))
        return [
            Claim(
                "TV-GP-UCB has less regret than GP-UCB on most test days",
                f"{won} of {len(found)}; over all days {means[0]:.2f} against {means[1]:.2f} mph",
                won > len(found) / 2,
            ),
            Claim(
                "On a few days the two are comparable (within 10 %)",
                f"{close} of {len(found)}",
                0 < close <= len(found) / 2,
            ),
            Claim(
                "Both are far better than random: below half of its regret",
                f"TV-GP-UCB {means[0]:.2f}, GP-UCB {means[1]:.2f}, random {means[2]:.2f} mph",
                bool(means[:2].max() < 0.5 * means[2]),
            ),
        ]

    def draw(self, results: TrialResults) -> Picture:
        """One panel per day."""
        values = average_regret(self._by_day(results))
        minutes = _MINUTES * np.arange(1.0, self.horizon + 1.0)
        columns = min(4, len(self.days))
        picture, grid = pictures.panels(
            -(-len(self.days) // columns), columns, width=1.9, height=1.8
        )
        for day, one in zip(self.days, grid.flat, strict=False):
            for i, policy in enumerate(_POLICIES):
                pictures.curve(one, minutes, values[:, self.days.index(day), i], policy)
            one.set(title=f"Day {day}")
        for one in grid.flat[len(self.days) :]:
            one.set_visible(False)
        grid.flat[0].set(ylim=(0, None), xlim=(0, None))
        picture.supxlabel("minutes after 06:00", fontsize=9)
        picture.supylabel("average regret $R_t / t$ (mph)", fontsize=9)
        pictures.legend(picture, grid.flat[0])
        return picture

    def _by_day(self, results: TrialResults) -> Array:
        regret = stacked(results)
        return regret.reshape(len(regret), len(self.days), len(_POLICIES), -1)

    @property
    def _epsilon(self) -> float:
        assert isinstance(self.prior.time, Forgetting)
        return self.prior.time.epsilon

    def _factories(self) -> PolicyFactories:
        return {
            "TV-GP-UCB": lambda first: tv_gp_ucb(self.prior, _BETA, first=first),
            "GP-UCB": lambda first: gp_ucb(self.prior, _BETA, first=first),
            "random": lambda _: Uniform(),
        }


def _comparable(means: Array) -> bool:
    """Whether TV-GP-UCB and GP-UCB are within 10 % of each other."""
    return bool(abs(means[0] - means[1]) <= 0.1 * max(means[0], means[1]))


def traffic(options: FigureOptions) -> Traffic:
    """Learn the model from the first two thirds of the mornings."""
    table = read_table(options.data, "traffic_speed.csv.gz")
    names = [name for name in table.columns if name not in ("day", "clock")]
    drawn = np.random.default_rng(options.seed).choice(len(names), _SENSORS, replace=False)
    sensors = [names[i] for i in sorted(drawn.tolist())]
    mornings = {str(day): part[sensors].to_numpy(dtype=float) for day, part in table.groupby("day")}
    cut = len(mornings) * 2 // 3
    training, days = list(mornings.values())[:cut], tuple(mornings)[cut:]
    steps = len(training[0])
    horizon = options.horizon or steps
    if horizon > steps:
        raise InputError(f"a horizon of at most the {steps} steps of a morning", str(horizon))
    panels = [Panel(np.arange(1.0, len(day) + 1.0), day) for day in training]
    return Traffic(
        empirical_prior(panels, noise_share=_NOISE_SHARE).prior,
        days,
        np.stack([mornings[day] for day in days]),
        tuple(sensors),
        cut,
        min(options.trials or _FIRST_SENSORS, _SENSORS),
        horizon,
        options.seed,
    )
