"""Figures 2c and 2d: the cost of a wrong epsilon and of a wrong block length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heliotrope.lab import pictures
from heliotrope.lab.claims import Claim, compare, jackknife, judge
from heliotrope.lab.environments import play
from heliotrope.lab.reproduction.curves import slope
from heliotrope.lab.reproduction.figure import FigureOptions, TrialResults, stacked
from heliotrope.lab.reproduction.matched import NOISE, PAPER_BETA, SIDE, kernel, prior, world
from heliotrope.lab.reproduction.series import CurveRow, Series, rows
from heliotrope.lab.theory import block_length
from heliotrope.lab.trials import trial_seed
from heliotrope.policies import Policy, r_gp_ucb, tv_gp_ucb
from heliotrope.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_TRUE_EPSILON = 0.01
_ASSUMED = (0.0, 0.0003, 0.001, 0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.2, 0.4)
_SOURCE = "paper, mismatch"
_BLOCKS = (2, 5, 10, 20, 30, 40, 60, 80, 100, 130, 160, 200)


@dataclass(frozen=True)
class Mismatch:
    """A sweep of one policy's parameter on the same functions and noise."""

    name: str
    policy: str
    parameters: tuple[float, ...]
    trials: int
    horizon: int
    seed: int
    side: int = SIDE

    @property
    def notes(self) -> tuple[str, ...]:
        """What the picture shows, and which settings are ours."""
        low, high = min(self.parameters), max(self.parameters)
        return (
            "Bands are one standard deviation of the trials, as in the paper.",
            f"Ours, not the paper's: the range from {low:g} to {high:g} (the paper's is only in "
            "its picture).",
        )

    def settings(self) -> Mapping[str, object]:
        """Everything that a trial depends on except its number."""
        return {
            "figure": self.name,
            "kernel": str(kernel("SE")),
            "epsilon": _TRUE_EPSILON,
            "parameters": list(self.parameters),
            "horizon": self.horizon,
            "seed": self.seed,
            "grid": [self.side, self.side],
            "noise": NOISE,
            "beta": [PAPER_BETA.c1, PAPER_BETA.c2],
        }

    def trial(self, number: int) -> Mapping[str, Array]:
        """Run the policy with every parameter: average regrets (parameters, 1)."""
        seed = trial_seed(self.seed, number)
        episode = world("SE", _TRUE_EPSILON, self.side).episode(self.horizon, seed)
        regrets = [
            [np.mean([step.regret for step in play(self._policy(parameter), episode, seed)])]
            for parameter in self.parameters
        ]
        return {"regret": np.array(regrets)}

    def rows(self, results: TrialResults) -> list[CurveRow]:
        """Average regret at the horizon."""
        series = [
            Series("", self.policy, _TRUE_EPSILON, parameter) for parameter in self.parameters
        ]
        return rows(self.name, series, np.array([float(self.horizon)]), stacked(results))

    def claims(self, results: TrialResults) -> list[Claim]:
        """Test the paper's claims about the sweep."""
        regret = dict(zip(self.parameters, stacked(results)[:, :, 0].T, strict=True))
        if self.policy == "TV-GP-UCB":
            return _claims_of_epsilon(regret)
        return _claims_of_blocks(regret, self._reference())

    def draw(self, results: TrialResults) -> Picture:
        """Mean and one standard deviation, as in the paper."""
        regret = stacked(results)[:, :, 0]
        mean, spread = regret.mean(axis=0), _spreads(regret)
        color = pictures.STYLES[self.policy]["color"]
        picture, ((axes,),) = pictures.panels(1, 1, width=3.4, height=2.3)
        x = np.array(self.parameters)
        axes.plot(x, mean, "o-", color=color, markersize=3, label=f"{self.policy}, mean")
        axes.fill_between(
            x,
            mean - spread,
            mean + spread,
            color=color,
            alpha=0.2,
            lw=0,
            label="one standard deviation",
        )
        axes.axvline(
            self._reference(),
            color="black",
            linestyle=":",
            linewidth=1.0,
            label=self._reference_label(),
        )
        axes.set(xlabel=self._axis(), ylabel="average regret $R_T / T$", ylim=(0, None))
        if self.policy == "TV-GP-UCB":  # most values are small
            axes.set_xscale("function", functions=(np.sqrt, np.square))
            axes.set(xlim=(0, x.max()), xticks=[0.001, 0.01, 0.03, 0.1, 0.2, x.max()])
        axes.legend(loc="best")
        return picture

    def _policy(self, parameter: float) -> Policy:
        if self.policy == "TV-GP-UCB":
            return tv_gp_ucb(prior("SE", parameter), PAPER_BETA)
        return r_gp_ucb(prior("SE", _TRUE_EPSILON), parameter, PAPER_BETA)

    def _reference(self) -> float:
        """The true epsilon, or the corollary's N."""
        if self.policy == "TV-GP-UCB":
            return _TRUE_EPSILON
        return block_length(_TRUE_EPSILON, self.horizon, kernel("SE"), 2)

    def _reference_label(self) -> str:
        return "true" if self.policy == "TV-GP-UCB" else "by the corollary"

    def _axis(self) -> str:
        return r"assumed $\epsilon$" if self.policy == "TV-GP-UCB" else "block length $N$"


def _claims_of_epsilon(regret: Mapping[float, Array]) -> list[Claim]:
    true, zero, slightly, far = (
        regret[_TRUE_EPSILON],
        regret[0.0],
        regret[_TRUE_EPSILON / 2],
        regret[10 * _TRUE_EPSILON],
    )
    next_worst = max((p for p in regret if p != 0.0), key=lambda p: float(regret[p].mean()))
    margin, under = compare(zero, regret[next_worst]), compare(slightly, true)
    tenth = regret[_TRUE_EPSILON / 10]
    return [
        judge(
            "Assuming epsilon = 0 (GP-UCB) is the worst choice of the range, here "
            f"0 to {max(regret):g}",
            f"{zero.mean():.3f}; next {regret[next_worst].mean():.3f} at {next_worst} ({margin})",
            _SOURCE,
            margin,
        ),
        judge(
            "Regret rises slowly as epsilon is overestimated (our criterion: ten times the true "
            "value costs less than zero)",
            f"ten times {far.mean() / true.mean():.2f}, zero {zero.mean() / true.mean():.2f} "
            "times the regret at the true epsilon",
            _SOURCE,
            compare(zero, far),
        ),
        judge(
            "A slight underestimate of epsilon does no harm (our criterion: half the true value "
            "costs less than 10 % more)",
            f"{slightly.mean() / true.mean():.3f} times the regret at the true epsilon ({under})",
            _SOURCE,
            compare(1.1 * true, slightly),
        ),
        judge(
            "Regret rises fast when epsilon is underestimated too far (our criterion: more at a "
            "tenth than at half, and more at zero than at a tenth)",
            f"{tenth.mean() / true.mean():.2f} times at a tenth, "
            f"{zero.mean() / true.mean():.2f} at zero",
            _SOURCE,
            compare(zero, tenth),
            compare(tenth, slightly),
        ),
    ]


def _claims_of_blocks(regret: Mapping[float, Array], suggested: float) -> list[Claim]:
    best = min(regret, key=lambda parameter: float(regret[parameter].mean()))
    small, longest = min(regret), max(regret)
    long = np.array([parameter for parameter in regret if parameter >= suggested])
    from_suggested = np.stack([regret[n] for n in long.tolist()], axis=1)
    least, never = float(regret[best].mean()), float(regret[longest].mean())
    harm = compare(regret[small], regret[best])
    growth = jackknife(lambda values: float(slope(long, _spreads(values))), from_suggested)
    spreads = _spreads(from_suggested)
    return [
        judge(
            "Blocks that are too short increase regret",
            f"{regret[small].mean():.3f} at N = {small:g}, {least:.3f} at N = {best:g} ({harm})",
            _SOURCE,
            harm,
        ),
        judge(
            "The mean is robust as N grows (our criterion: GP-UCB, N = T, stays below twice the "
            "best)",
            f"{least:.3f} at N = {best:g}, {never:.3f} at N = {longest:g}",
            _SOURCE,
            compare(2.0 * regret[best], regret[longest]),
        ),
        judge(
            "The standard deviation grows with N (our criterion: the slope from the corollary's N "
            "on)",
            f"{spreads[0]:.3f} at N = {long[0]:g}, {spreads[-1]:.3f} at N = {longest:g} "
            f"(slope {growth})",
            _SOURCE,
            growth,
        ),
    ]


def _spreads(values: Array) -> Array:
    """Standard deviations of values (trials, n) over the trials; 0 for one trial."""
    return np.asarray(values.std(axis=0, ddof=min(1, len(values) - 1)))


def fig2c(options: FigureOptions) -> Mismatch:
    """TV-GP-UCB with a wrong epsilon."""
    horizon = options.horizon or 200
    return Mismatch("fig2c", "TV-GP-UCB", _ASSUMED, options.trials or 200, horizon, options.seed)


def fig2d(options: FigureOptions) -> Mismatch:
    """R-GP-UCB with a wrong block length."""
    horizon = options.horizon or 200
    blocks = (*(float(n) for n in _BLOCKS if n < horizon), float(horizon))
    return Mismatch("fig2d", "R-GP-UCB", blocks, options.trials or 200, horizon, options.seed)
