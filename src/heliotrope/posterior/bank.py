"""Online learning of the prior: a bank of engines, one per hypothesis.

Each engine gives the one-step predictive log density of every observation. The sums are the log
likelihoods of the hypotheses, so softmax gives their posterior weights (uniform before data), at a
constant cost per step and without refits.

Symbols
-------
H  hypotheses        w (H,)  their weights
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np

from heliotrope.domains import Places
from heliotrope.errors import InputError
from heliotrope.kernels import SpaceKernel, Tabulated, rescaled
from heliotrope.lazy import lazy_module
from heliotrope.posterior.mixture import Ensemble, Mixture, MixtureEngine, weighted_accuracy
from heliotrope.posterior.protocol import Accuracy, Engine, Posterior
from heliotrope.posterior.spacetime import for_acquisition
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import CANDIDATE_EPSILONS, Forgetting, Prior, Static
from heliotrope.serialization.codec import register
from heliotrope.validation import Array, as_positive, as_share, as_vector

special = lazy_module("scipy.special")

_MOST = 0.5  # share of the weight on one candidate
_ADVICE = {
    None: "",
    "low": "; most weight is on the lowest candidate: add lower epsilons, or count time in "
    "longer units",
    "high": "; most weight is on the highest candidate: add higher epsilons, or count time in "
    "shorter units",
}


@register
@dataclass(frozen=True, eq=False)
class Learn:
    """Candidate parameters of the prior, to be learned online and tracked in parallel.

    Evidence never expires. If the drift rate itself changes, the weights adapt slowly, and more
    slowly the longer it was constant.

    Parameters
    ----------
    epsilons
        Candidate drift rates per unit of time, log-spaced from 1e-4 to 0.3 by default. They
        replace the prior's own time, which must be Static or Forgetting.
    noises, scales
        Factors to try on the prior's noise variance and on its kernel's length scales.
    choose
        "mixture" uses the mean and variance of all hypotheses, "best" only the most likely one.
    """

    epsilons: Sequence[float] = CANDIDATE_EPSILONS
    noises: Sequence[float] = (1.0,)
    scales: Sequence[float] = (1.0,)
    choose: Literal["best", "mixture"] = "mixture"

    def __post_init__(self) -> None:
        for name in ("epsilons", "noises", "scales"):
            check = partial(as_share, zero=True, one=True) if name == "epsilons" else as_positive
            values = tuple(check(value, name) for value in as_vector(getattr(self, name), name))
            if not values:
                raise InputError(f"at least one of {name}", "none")
            object.__setattr__(self, name, values)
        if self.choose not in ("best", "mixture"):
            raise InputError("choose to be 'best' or 'mixture'", repr(self.choose))

    def check(self, prior: Prior) -> None:
        """Raise an error for a prior without a drift rate or length scale to learn."""
        for scale in self.scales:
            _rescaled(prior.space, scale)
        if not isinstance(prior.time, (Static, Forgetting)):
            raise InputError(
                "a prior whose time is Static or Forgetting, to learn its epsilon",
                str(prior.time),
                "Omit learn, or use a prior with time=Static().",
            )

    def hypotheses(self, prior: Prior) -> list[Prior]:
        """Return the priors to track, one per combination."""
        self.check(prior)
        return [
            Prior(
                _rescaled(prior.space, scale), Forgetting(epsilon), noise * prior.noise, prior.mean
            )
            for epsilon, noise, scale in product(self.epsilons, self.noises, self.scales)
        ]

    def rates(self) -> Array:
        """The drift rate of each hypothesis."""
        return np.repeat(self.epsilons, len(self.noises) * len(self.scales))


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


class BankEngine(MixtureEngine):
    """One engine per hypothesis over the same evaluations; used as a mixture or by the best."""

    _stored = ("_log_prior", "_now", "_t", "_path", "_ensemble")

    def __init__(self, learn: Learn, prior: Prior, build: Callable[[Prior], Engine]) -> None:
        self._learn, self._prior, self._build = learn, prior, build
        self._priors, self._epsilons = learn.hypotheses(prior), learn.rates()
        self._ensemble = Ensemble([build(hypothesis) for hypothesis in self._priors])
        count = len(self._priors)
        self._log_prior: Array = special.log_softmax(np.zeros(count))  # before its own data
        self._now = -np.inf
        self._t: list[float] = []
        self._path: list[float] = []

    def successor(self) -> BankEngine:
        """Return a bank without data that keeps the learned weights."""
        bank = BankEngine(self._learn, self._prior, self._build)
        bank._log_prior = special.log_softmax(self._scores())
        bank._now, bank._t, bank._path = self._now, [*self._t], [*self._path]
        return bank

    @property
    def log_likelihood(self) -> float:
        return float(special.logsumexp(self._scores()))

    def learned(self) -> Learned:
        history = np.array(self._t), np.array(self._path)
        return Learned(self._priors, self._epsilons, self._weights(), *history)

    def open(self, key: int, t: float, place: Places) -> None:
        self._ensemble.take(lambda engine: engine.open(key, t, place))
        self._now = max(self._now, t)

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        self._ensemble.take(lambda engine: engine.tell(key, y, precision))
        self._t.append(self._now)
        self._path.append(mean_rate(self._epsilons, self._weights()))

    def cancel(self, key: int) -> None:
        self._ensemble.take(lambda engine: engine.cancel(key))

    def accuracy(self) -> Accuracy:
        return weighted_accuracy(self._weights(), self._ensemble.engines)

    def for_acquisition(self, t: float) -> Posterior:
        return self._weighted([for_acquisition(engine, t) for engine in self._ensemble.engines])

    def _scores(self) -> Array:
        told = [engine.log_likelihood for engine in self._ensemble.engines]
        return np.add(self._log_prior, told)

    def _weights(self) -> Array:
        scores = self._scores()
        weights: Array = np.exp(scores - scores.max())  # scipy's softmax takes five times as long
        weights /= weights.sum()
        return weights

    def _posterior(self, t: float) -> Mixture:
        return self._weighted(self._ensemble.engines)

    def _weighted(self, posteriors: Sequence[Posterior]) -> Mixture:
        """Return the mixture of the engines' posteriors, or the most likely one."""
        weights = self._weights()
        if self._learn.choose == "best":
            return Mixture(np.ones(1), [posteriors[int(weights.argmax())]])
        return Mixture(weights, posteriors)


def _rescaled(kernel: SpaceKernel, scale: float) -> SpaceKernel:
    """Return the kernel with every length scale multiplied."""
    if scale == 1.0:
        return kernel
    if isinstance(kernel, Tabulated):
        raise InputError("a kernel with length scales", "Tabulated", "Omit Learn(scales=...).")
    if not any(part.name.endswith("length_scale") for part in kernel.hyperparameters):
        raise InputError("a kernel with length scales", type(kernel).__name__)
    return rescaled(kernel, scale)


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
