"""The result of learning the drift rate online: the estimate, its interval and its history.

Symbols
-------
H  hypotheses        w (H,)  their weights        epsilons (H,)  their drift rates
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from heliotrope.priors import Prior
from heliotrope.validation import Array

_MOST = 0.5  # share of the weight on one candidate
_ADVICE = {
    None: "",
    "low": "; most weight is on the lowest candidate: add lower epsilons, or count time in "
    "longer units",
    "high": "; most weight is on the highest candidate: add higher epsilons, or count time in "
    "shorter units",
}


@dataclass(frozen=True, eq=False)
class Learned:
    """The learned drift: a probability for each hypothesis.

    ``priors``, ``epsilons`` and ``weights`` (H,) are the hypotheses, their drift rates per unit of
    time and their probabilities. ``path`` is the estimate after each result. ``t`` is the latest
    time asked for when that result arrived, so it never decreases.
    """

    priors: Sequence[Prior]
    epsilons: Array
    weights: Array
    t: Array
    path: Array

    @property
    def epsilon(self) -> float:
        """The estimate: the weighted geometric mean.

        If 0 is a candidate, it is the mean of the positive rates times their share of the weight.
        """
        return mean_rate(self.epsilons, self.weights)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval with 95 % of the weight; at least as wide as the candidates' spacing."""
        candidates, mass = _masses(self.epsilons, self.weights)
        lower, upper = candidates[:-1], candidates[1:]
        halfway = np.where(lower > 0.0, np.sqrt(lower * upper), upper / 2.0)
        edges = np.concatenate([candidates[:1], halfway, candidates[-1:]])
        low, high = np.searchsorted(mass.cumsum(), [0.025, 0.975]).clip(max=len(candidates) - 1)
        return float(edges[low]), float(edges[high + 1])

    @property
    def at_edge(self) -> Literal["low", "high"] | None:
        """The end candidate that has most of the weight: the true rate may lie beyond it.

        None if that end is 0 or 1, the limits of a rate.
        """
        candidates, mass = _masses(self.epsilons, self.weights)
        if len(candidates) == 1:
            return None
        if mass[0] > _MOST and candidates[0] > 0.0:
            return "low"
        return "high" if mass[-1] > _MOST and candidates[-1] < 1.0 else None

    def __str__(self) -> str:
        low, high = self.interval
        sure = f"epsilon {self.epsilon:.3g} per unit of time (95 %: {low:.3g} to {high:.3g})"
        likeliest = self.priors[int(self.weights.argmax())]
        if len({prior.noise for prior in self.priors}) > 1:
            sure += f", noise {likeliest.noise:.3g}"
        if len({str(prior.space) for prior in self.priors}) > 1:
            sure += f", {likeliest.space}"
        return f"{sure}, after {len(self.t)} results{_ADVICE[self.at_edge]}"

    def draw(self, axes: Any) -> None:
        """Plot the estimate over time on matplotlib axes."""
        axes.plot(self.t, self.path, color="#0072b2", label="estimate")
        axes.axhspan(*self.interval, color="#0072b2", alpha=0.15, label="95 % now")
        axes.set(xlabel="time $t$", ylabel=r"drift rate $\epsilon$")
        if self.epsilons.min() > 0.0:
            axes.set_yscale("log")
        else:
            least = self.epsilons.min(where=self.epsilons > 0.0, initial=1.0)
            axes.set_yscale("symlog", linthresh=least)
        axes.legend()


def _masses(epsilons: Array, weights: Array) -> tuple[Array, Array]:
    """Return the distinct drift rates in increasing order, and their weights."""
    candidates, which = np.unique(epsilons, return_inverse=True)
    return candidates, np.asarray(np.bincount(which, weights), dtype=float)


def mean_rate(epsilons: Array, weights: Array) -> float:
    """Return the geometric mean of the positive rates times their weight."""
    moving = epsilons > 0.0
    w = weights[moving]
    share = float(w.sum())
    return share * float(np.exp(w @ np.log(epsilons[moving]) / share)) if share else 0.0
