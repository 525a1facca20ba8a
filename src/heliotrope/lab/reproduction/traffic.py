"""The traffic figure: find the fastest of 50 sensors along a highway.

Days are independent; two thirds of them are for training. Each test day has a panel, as in the
appendix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heliotrope.acquisition import LogBeta
from heliotrope.errors import InputError
from heliotrope.estimation import Panel, empirical_prior
from heliotrope.lab import pictures
from heliotrope.lab.claims import Claim
from heliotrope.lab.cross_validation import choose_block_length
from heliotrope.lab.environments import Table, average_regret
from heliotrope.lab.reproduction.figure import FigureOptions, TrialResults, stacked
from heliotrope.lab.reproduction.measured import PolicyFactories, first_place, read_table, replays
from heliotrope.lab.reproduction.series import CurveRow, Series, rows
from heliotrope.lab.reproduction.traffic_claims import POLICIES, traffic_claims
from heliotrope.lab.trials import fingerprint, trial_seed
from heliotrope.policies import Uniform, gp_ucb, r_gp_ucb, tv_gp_ucb
from heliotrope.priors import Forgetting, Prior
from heliotrope.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_SENSORS = 50
_NOISE_SHARE = 0.05
_FIRST_SENSORS = 20
_BETA = LogBeta(0.2, 0.4)
_PAPER_EPSILON = 0.04
_MINUTES = 5


@dataclass(frozen=True, eq=False)
class Traffic:
    """The model learned from the training days, and the test days (days, T, 50)."""

    prior: Prior
    every: float
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
            f"{self._epsilon:.3g} by maximum likelihood, noise variance {self.prior.noise:.3g} "
            f"({_NOISE_SHARE:.0%} of the signal variance), and R-GP-UCB's N = {self.every:g} by "
            f"cross-validation. 'TV-GP-UCB, {_PAPER_EPSILON}' has the paper's epsilon, chosen "
            "before any result was seen.",
            "Ours, not the paper's: the data. The paper's month of I-880 South is not public; this "
            "is I-405 (Orange County), 20 mornings of one month, 06:00 to 10:55 in five-minute "
            f"steps (T = {self.horizon}, paper: 84), a random {len(self.sensors)} of 77 sensors "
            "(paper: of 357), speeds capped at 70 mph by the publisher, 7 test days (paper: 10). "
            "Day numbers are positions in the source file, not dates. Also ours: each sensor's "
            "mean over the training days as the prior mean, and R-GP-UCB, which the paper omits.",
            f"Trials differ in the first sensor, so there are at most {_SENSORS}. Bands and "
            "standard errors are over first sensors on the same days. The vertical axis ends above "
            "the other policies; random's final value is written in each panel.",
        )

    def settings(self) -> Mapping[str, object]:
        """Everything that a trial depends on except its number."""
        return {
            "figure": self.name,
            "horizon": self.horizon,
            "seed": self.seed,
            "sensors": list(self.sensors),
            "test_days": list(self.days),
            "epsilon": [self._epsilon, _PAPER_EPSILON],
            "N": self.every,
            "noise": self.prior.noise,
            "beta": [_BETA.c1, _BETA.c2],
            "test_data": fingerprint(self.test),
        }

    def trial(self, number: int) -> Mapping[str, Array]:
        """Run every policy on every day from one first sensor: arrays (days x policies, T)."""
        first = first_place(len(self.sensors), self.seed, number)
        seed = trial_seed(self.seed, number)
        played = [
            replays(self._factories(), Table(day), self.horizon, first, seed) for day in self.test
        ]
        return {name: np.concatenate([day[name] for day in played]) for name in played[0]}

    def rows(self, results: TrialResults) -> list[CurveRow]:
        """Average regret at every five-minute step."""
        own = {
            "TV-GP-UCB": self._epsilon,
            "TV-GP-UCB, 0.04": _PAPER_EPSILON,
            "R-GP-UCB": self.every,
        }
        series = [
            Series(f"day {day}", policy, None, own.get(policy))
            for day in self.days
            for policy in POLICIES
        ]
        times = np.arange(1.0, self.horizon + 1.0)
        return rows(self.name, series, times, average_regret(stacked(results)))

    def claims(self, results: TrialResults) -> list[Claim]:
        """Test the paper's claims about the traffic."""
        return traffic_claims(self._by_day(results), self._by_day(results, "index"))

    def draw(self, results: TrialResults) -> Picture:
        """One panel per day."""
        values = average_regret(self._by_day(results))
        minutes = _MINUTES * np.arange(1.0, self.horizon + 1.0)
        columns = min(4, len(self.days))
        picture, grid = pictures.panels(
            -(-len(self.days) // columns), columns, width=1.9, height=1.8, sharex=True
        )
        for day, one, curves in zip(self.days, grid.flat, values.swapaxes(0, 1), strict=False):
            for i, policy in enumerate(POLICIES):
                pictures.curve(one, minutes, curves[:, i], policy)
            one.set(title=f"Day {day}")
            end = f"random ends at {curves[:, -1, -1].mean():.1f}"
            one.text(0.97, 0.95, end, transform=one.transAxes, ha="right", va="top", fontsize=7)
        for one in grid.flat[len(self.days) :]:
            one.set_visible(False)
        highest = float(values[:, :, :-1].mean(axis=0).max())  # without random
        grid.flat[0].set(ylim=(0, 1.2 * highest), xlim=(0, minutes[-1]))
        for one in grid.flat[len(self.days) - columns : len(self.days)]:
            one.tick_params(labelbottom=True)  # the panel below may be missing
        picture.supxlabel("minutes after 06:00", fontsize=9)
        picture.supylabel("average regret $R_t / t$ (mph)", fontsize=9)
        pictures.legend(picture, grid.flat[0], columns=3)
        return picture

    def _by_day(self, results: TrialResults, name: str = "regret") -> Array:
        """An array of all trials as (trials, days, policies, T)."""
        values = stacked(results, name)
        return values.reshape(len(values), len(self.days), len(POLICIES), -1)

    @property
    def _epsilon(self) -> float:
        assert isinstance(self.prior.time, Forgetting)
        return self.prior.time.epsilon

    def _factories(self) -> PolicyFactories:
        papers = self.prior.with_time(Forgetting(_PAPER_EPSILON))
        return {
            "TV-GP-UCB": lambda first: tv_gp_ucb(self.prior, _BETA, first=first),
            "TV-GP-UCB, 0.04": lambda first: tv_gp_ucb(papers, _BETA, first=first),
            "R-GP-UCB": lambda first: r_gp_ucb(self.prior, self.every, _BETA, first=first),
            "GP-UCB": lambda first: gp_ucb(self.prior, _BETA, first=first),
            "random": lambda _: Uniform(),
        }


def _learned(panels: Sequence[Panel]) -> Prior:
    return empirical_prior(panels, noise_share=_NOISE_SHARE).prior


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
        _learned(panels),
        choose_block_length(panels, _BETA, learn=_learned).every,
        days,
        np.stack([mornings[day] for day in days]),
        tuple(sensors),
        cut,
        min(options.trials or _FIRST_SENSORS, _SENSORS),
        horizon,
        options.seed,
    )
