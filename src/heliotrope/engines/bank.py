"""Learning while tracking: a bank of engines, one a hypothesis, scored by what they predicted.

Every told value is scored by each engine's one-step predictive density. The sums are the log
likelihoods of the hypotheses, so softmax gives their posterior weights (uniform before data), kept
up for ever at a constant cost and without refits.

Symbols
-------
H  hypotheses        w (H,)  their weights
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np
from scipy.special import logsumexp, softmax

from heliotrope.arrays import Array, as_positive, as_vector
from heliotrope.codec import register
from heliotrope.domains import Places
from heliotrope.engines.protocol import Engine, State, Surface, Surfaced, part
from heliotrope.errors import InputError
from heliotrope.kernels import Tabulated
from heliotrope.priors import Forgetting, Prior

_EPSILONS = tuple(np.geomspace(1e-4, 0.3, 7))


@register
@dataclass(frozen=True, eq=False)
class Learn:
    """What to learn from the bandit's own data, as candidates that are tracked side by side.

    Parameters
    ----------
    epsilons
        Candidate drift rates, log-spaced from 1e-4 to 0.3 by default.
    noises, scales
        Factors to try on the prior's noise variance and on its kernel's length scales.
    choose
        "best" acts on the likeliest hypothesis, "mixture" on the mean and variance of all.
    """

    epsilons: Sequence[float] = _EPSILONS
    noises: Sequence[float] = (1.0,)
    scales: Sequence[float] = (1.0,)
    choose: Literal["best", "mixture"] = "best"

    def __post_init__(self) -> None:
        for name in ("epsilons", "noises", "scales"):
            values = as_vector(getattr(self, name), name).tolist()
            if not values:
                raise InputError(f"at least one of {name}", "none")
            for value in values:
                if name == "epsilons":
                    Forgetting(value)
                else:
                    as_positive(value, name)
            object.__setattr__(self, name, tuple(values))
        if self.choose not in ("best", "mixture"):
            raise InputError("choose to be 'best' or 'mixture'", repr(self.choose))

    def hypotheses(self, prior: Prior) -> list[Prior]:
        """The priors to track, one for each combination."""
        return [
            replace(
                prior,
                time=Forgetting(epsilon),
                noise=noise * prior.noise,
                space=_rescaled(prior.space, scale),
            )
            for epsilon, noise, scale in product(self.epsilons, self.noises, self.scales)
        ]


@dataclass(frozen=True, eq=False)
class Learned:
    """How likely each hypothesis is: priors and weights (H,), and the drift rate they give.

    ``epsilon`` is the geometric mean over the weights; ``interval`` holds 95 % of the weight, and
    is never narrower than the candidates lie apart.
    ``t`` and ``path`` are the times told and the estimate after each.
    """

    priors: Sequence[Prior]
    weights: Array
    epsilon: float
    interval: tuple[float, float]
    t: Array
    path: Array

    def draw(self, axes: Any) -> None:
        """Draw the estimate over time on matplotlib axes."""
        axes.plot(self.t, self.path, color="#0072b2", label="estimate")
        axes.axhspan(*self.interval, color="#0072b2", alpha=0.15, label="95 % now")
        axes.set(xlabel="time $t$", ylabel=r"drift rate $\epsilon$", yscale="log")
        axes.legend()


class BankEngine:
    """Engines over the same evaluations, one a hypothesis, acting as the likeliest or as all."""

    def __init__(self, learn: Learn, prior: Prior, build: Callable[[Prior], Engine]) -> None:
        self._learn, self._priors = learn, learn.hypotheses(prior)
        self._engines = [build(hypothesis) for hypothesis in self._priors]
        self._epsilons = np.array([_epsilon(hypothesis) for hypothesis in self._priors])
        self._opened: dict[int, float] = {}
        self._t: list[float] = []
        self._path: list[float] = []

    @property
    def log_likelihood(self) -> float:
        """Log density of what was told under the mixture of hypotheses."""
        return float(logsumexp(self._scores()) - np.log(len(self._engines)))

    def learned(self) -> Learned:
        """Return the weights and the estimate, with its history."""
        weights = self._weights()
        interval = _interval(self._epsilons, weights)
        t, path = np.array(self._t), np.array(self._path)
        return Learned(self._priors, weights, self._estimate(weights), interval, t, path)

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation in every engine."""
        for engine in self._engines:
            engine.open(key, t, place)
        self._opened[key] = t

    def tell(self, key: int, y: float) -> None:
        """Condition every engine on a value."""
        for engine in self._engines:
            engine.tell(key, y)
        self._t.append(self._opened.pop(key))
        self._path.append(self._estimate(self._weights()))

    def cancel(self, key: int) -> None:
        """Forget an open evaluation in every engine."""
        for engine in self._engines:
            engine.cancel(key)
        del self._opened[key]

    def predict(self, t: float, places: Places, *, count_open: bool = True) -> tuple[Array, Array]:
        """Mean and variance of f_t by the likeliest hypothesis, or by all of them."""
        if self._learn.choose == "best":
            return self._best().predict(t, places, count_open=count_open)
        found = [engine.predict(t, places, count_open=count_open) for engine in self._engines]
        means, variances = (np.array(part) for part in zip(*found, strict=True))
        return _mixture(self._weights(), means, variances)

    def covariance(self, t: float, places: Places) -> Array:
        """Joint posterior covariance by the likeliest hypothesis, or by all of them."""
        if self._learn.choose == "best":
            return self._best().covariance(t, places)
        weights = self._weights()
        means = np.array([e.predict(t, places, count_open=False)[0] for e in self._engines])
        inside = np.tensordot(weights, [e.covariance(t, places) for e in self._engines], axes=1)
        apart = means - weights @ means
        between: Array = (weights[:, None] * apart).T @ apart
        return np.asarray(inside + between)

    def surface(self, t: float) -> Surface:
        """Mean and variance of f_t as functions over a Box."""
        surfaces = [e.surface(t) for e in self._engines if isinstance(e, Surfaced)]
        weights = self._weights()
        if self._learn.choose == "best":
            return surfaces[int(weights.argmax())]
        return MixtureSurface(weights, surfaces)

    def state(self) -> State:
        """Everything the engines know, as arrays."""
        state: State = {
            "bank_opened": np.array(list(self._opened.items()), dtype=float).reshape(-1, 2),
            "bank_path": np.array([self._t, self._path]),
        }
        for i, engine in enumerate(self._engines):
            state |= {f"{i}/{name}": array for name, array in engine.state().items()}
        return state

    def restore(self, state: State) -> None:
        """Become the bank whose :meth:`state` this was."""
        self._opened = {int(key): t for key, t in state["bank_opened"].tolist()}
        self._t, self._path = (column.tolist() for column in state["bank_path"])
        for i, engine in enumerate(self._engines):
            engine.restore(part(state, f"{i}/"))

    def _scores(self) -> Array:
        return np.array([engine.log_likelihood for engine in self._engines])

    def _weights(self) -> Array:
        weights: Array = softmax(self._scores())
        return weights

    def _best(self) -> Engine:
        return self._engines[int(self._scores().argmax())]

    def _estimate(self, weights: Array) -> float:
        return float(np.exp(weights @ np.log(np.maximum(self._epsilons, 1e-12))))


class MixtureSurface:
    """The weighted mixture of several surfaces over a Box."""

    def __init__(self, weights: Array, surfaces: Sequence[Surface]) -> None:
        self._weights, self._surfaces = weights, surfaces

    def value(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance at X (q, d)."""
        found = [surface.value(X) for surface in self._surfaces]
        means, variances = (np.array(part) for part in zip(*found, strict=True))
        return _mixture(self._weights, means, variances)

    def gradient(self, X: Array) -> tuple[Array, Array]:
        """Derivatives of mean and of variance by x, each (q, d)."""
        w = self._weights
        means = np.array([surface.value(X)[0] for surface in self._surfaces])
        found = [surface.gradient(X) for surface in self._surfaces]
        d_means, d_variances = (np.array(part) for part in zip(*found, strict=True))
        d_mean = np.einsum("h,hqd->qd", w, d_means)
        apart = means - w @ means
        d_variance = np.einsum("h,hqd->qd", w, d_variances)
        return d_mean, d_variance + 2.0 * np.einsum("h,hq,hqd->qd", w, apart, d_means)

    def promising_points(self, count: int) -> Array:
        """Some of the points behind the likeliest hypothesis."""
        return self._surfaces[int(self._weights.argmax())].promising_points(count)


def _interval(epsilons: Array, weights: Array) -> tuple[float, float]:
    """What holds 95 % of the weight, each candidate standing for all up to halfway to the next."""
    candidates, which = np.unique(epsilons, return_inverse=True)
    mass = np.cumsum(np.bincount(which, weights))
    halfway = np.sqrt(candidates[1:] * candidates[:-1])
    edges = np.concatenate([candidates[:1], halfway, candidates[-1:]])
    low, high = np.searchsorted(mass, [0.025, 0.975]).clip(max=len(candidates) - 1)
    return float(edges[low]), float(edges[high + 1])


def _mixture(weights: Array, means: Array, variances: Array) -> tuple[Array, Array]:
    mean: Array = weights @ means
    variance: Array = weights @ (variances + (means - mean) ** 2)
    return mean, variance


def _epsilon(prior: Prior) -> float:
    assert isinstance(prior.time, Forgetting)
    return prior.time.epsilon


def _rescaled(kernel: Any, scale: float) -> Any:
    """The kernel with every length scale multiplied."""
    if scale == 1.0:
        return kernel
    if isinstance(kernel, Tabulated):
        raise InputError("a kernel with length scales", "Tabulated", "Leave Learn(scales=...) out.")
    params = kernel.get_params(deep=True)
    lengths = {
        name: np.multiply(value, scale)
        for name, value in params.items()
        if name.endswith("length_scale")
    }
    if not lengths:
        raise InputError("a kernel with length scales", type(kernel).__name__)
    return kernel.clone_with_theta(kernel.theta).set_params(**lengths)
