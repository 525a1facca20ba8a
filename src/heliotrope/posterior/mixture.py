"""Mixtures of posteriors, and ensembles of engines that are updated together.

Symbols
-------
h  posteriors, with weights w (h,), means m_h (h, q) and their mean m = sum_h w_h m_h
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import NamedTuple, TypeAlias

import numpy as np

from heliotrope.domains import Places
from heliotrope.posterior.protocol import Accuracy, Engine, HasSurface, Posterior, Surface
from heliotrope.posterior.spacetime import Delegates
from heliotrope.serialization.codec import State, copied, part, under
from heliotrope.validation import Array

_Step: TypeAlias = Callable[[Engine], None]
_Pairs: TypeAlias = Sequence[tuple[Array, Array]]

_MOST_STEPS = 2_000  # between copies of an engine, whose cost is then negligible
_NEGLIGIBLE = 1e-6  # weight below which an engine is ignored
_LEAST_VARIANCE = 1e-30  # below it the deviation has no usable slope


def mixed(w: Array, posteriors: _Pairs) -> tuple[Array, Array]:
    """Mean and variance: sum_h w_h (v_h + (m_h - m)^2), each posterior given as (m_h, v_h)."""
    means, variances = _columns(posteriors)
    mean, apart = _mean(w, means)
    apart *= apart
    apart += variances
    return mean, w @ apart


def mixed_gradient(w: Array, posteriors: _Pairs, gradients: _Pairs) -> tuple[Array, Array]:
    """Derivatives of :func:`mixed` by x, each (q, d), given those of each posterior.

    That of the variance is sum_h w_h (v_h' + 2 (m_h - m) m_h'); the terms in m' cancel.
    """
    (means, _), (d_means, d_variances) = _columns(posteriors), _columns(gradients)
    _, apart = _mean(w, means)
    return _weighted(w, d_means), _weighted(w, d_variances + 2.0 * apart[:, :, None] * d_means)


def averaged(w: Array, posteriors: _Pairs) -> tuple[Array, Array]:
    """Mean, and the square of the mean deviation, (sum_h w_h sqrt(v_h))^2."""
    means, variances = _columns(posteriors)
    return w @ means, (w @ np.sqrt(variances)) ** 2


def averaged_gradient(w: Array, posteriors: _Pairs, gradients: _Pairs) -> tuple[Array, Array]:
    """Derivatives of :func:`averaged` by x, each (q, d), given those of each posterior.

    The second is s sum_h w_h v_h' / s_h, where s_h are the deviations and s = sum_h w_h s_h.
    """
    (_, variances), (d_means, d_variances) = _columns(posteriors), _columns(gradients)
    deviations = np.sqrt(np.maximum(variances, _LEAST_VARIANCE))
    slopes = _weighted(w, d_variances / deviations[:, :, None])
    return _weighted(w, d_means), (w @ deviations)[:, None] * slopes


class MixtureRule(NamedTuple):
    """How a mixture combines the means and variances of its posteriors."""

    value: Callable[[Array, _Pairs], tuple[Array, Array]]
    gradient: Callable[[Array, _Pairs, _Pairs], tuple[Array, Array]]


MIXED, AVERAGED = MixtureRule(mixed, mixed_gradient), MixtureRule(averaged, averaged_gradient)


class Mixture:
    """A mixture of posteriors, of engines or of mixtures; the weights sum to 1.

    By the rule AVERAGED, for acquisitions, its confidence bound is the mean of the components'
    bounds. A component without data then adds the same amount at all places. Its variance would
    hide the difference between places that are known well and less well.
    """

    def __init__(
        self, weights: Array, engines: Sequence[Posterior], rule: MixtureRule = MIXED
    ) -> None:
        heard = weights > _NEGLIGIBLE
        self._w, self._rule = weights[heard] / weights[heard].sum(), rule
        self._engines = list(compress(engines, heard))

    def predict(
        self, t: float, places: Places, *, count_open: bool = True, part: str | None = None
    ) -> tuple[Array, Array]:
        posteriors = [
            engine.predict(t, places, count_open=count_open, part=part) for engine in self._engines
        ]
        return self._rule.value(self._w, posteriors)

    def covariance(
        self, t: float, places: Places, others: Places | None = None, *, part: str | None = None
    ) -> Array:
        """Covariance: sum_h w_h (C_h + (m_h - m) (m_h - m)^T), m_h and m at places and others."""
        inside = [engine.covariance(t, places, others, part=part) for engine in self._engines]
        apart = self._apart(t, places, part)
        there = apart if others is None else self._apart(t, others, part)
        between: Array = (self._w[:, None] * apart).T @ there
        return _weighted(self._w, np.array(inside)) + between

    def _apart(self, t: float, places: Places, part: str | None) -> Array:
        """Distances of the posteriors' means from the mean of the mixture, (h, q)."""
        means = [e.predict(t, places, count_open=False, part=part)[0] for e in self._engines]
        return _mean(self._w, np.array(means))[1]

    def component(self, rng: np.random.Generator) -> Posterior:
        """Return one posterior, sampled by the weights."""
        return self._engines[int(rng.choice(len(self._engines), p=self._w))]

    def surface(self, t: float) -> Surface:
        surfaces = [engine.surface(t) for engine in self._engines if isinstance(engine, HasSurface)]
        alone = len(surfaces) == 1 and self._rule is MIXED
        return surfaces[0] if alone else MixtureSurface(self._w, surfaces, self._rule)


class MixtureSurface:
    """The mixture of several surfaces over a Box."""

    def __init__(self, w: Array, surfaces: Sequence[Surface], rule: MixtureRule) -> None:
        self._w, self._surfaces, self._rule = w, surfaces, rule

    def value(self, X: Array) -> tuple[Array, Array]:
        return self._rule.value(self._w, [surface.value(X) for surface in self._surfaces])

    def gradient(self, X: Array) -> tuple[Array, Array]:
        values = [surface.value(X) for surface in self._surfaces]
        gradients = [surface.gradient(X) for surface in self._surfaces]
        return self._rule.gradient(self._w, values, gradients)

    def promising_points(self, count: int) -> Array:
        return self._surfaces[int(self._w.argmax())].promising_points(count)


class MixtureEngine(Delegates):
    """An engine that is a mixture of others."""

    @abstractmethod
    def _posterior(self, t: float) -> Mixture: ...

    def component(self, t: float, rng: np.random.Generator) -> Posterior:
        return self._posterior(t).component(rng)


class Ensemble:
    """Several engines that see the same evaluations: all take a step, or none does.

    An engine cannot undo a step. If a step fails in one engine, the others are rebuilt from the
    latest copy of their state and the steps since. The copies cost memory.
    """

    def __init__(self, engines: Iterable[Engine]) -> None:
        self._members = [_Member(engine) for engine in engines]

    @property
    def engines(self) -> list[Engine]:
        return [member.engine for member in self._members]

    def take(self, step: _Step, first: int | None = None) -> None:
        """Take a step in the ``first`` engines, or in all; if one fails, undo all."""
        stepping = self._members[:first]
        for i, member in enumerate(stepping):
            try:
                step(member.engine)
            except BaseException:  # an interrupt too
                for touched in stepping[: i + 1]:
                    touched.undo()
                raise
        for member in stepping:
            member.remember(step)

    def join(self, engine: Engine) -> None:
        self._members.append(_Member(engine))

    def leave(self, i: int) -> Engine:
        return self._members.pop(i).engine

    def state(self) -> State:
        whole: State = {}
        for i, engine in enumerate(self.engines):
            whole |= under(f"{i}/", engine.state())
        return whole

    def restore(self, state: State) -> None:
        for i, engine in enumerate(self.engines):
            engine.restore(part(state, f"{i}/"))
        self._members = [_Member(engine) for engine in self.engines]


class _Member:
    """An engine, a copy of its state, and the steps taken since."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self._copy, self._steps = engine, copied(engine.state()), list[_Step]()

    def remember(self, step: _Step) -> None:
        self._steps.append(step)
        if len(self._steps) == _MOST_STEPS:
            self._copy, self._steps = copied(self.engine.state()), []

    def undo(self) -> None:
        """Return to the latest recorded step."""
        self.engine.restore(copied(self._copy))
        for step in self._steps:
            step(self.engine)


def weighted_accuracy(weights: Array, engines: Sequence[Engine]) -> Accuracy:
    """The accuracies of several engines, averaged by their weights."""
    return Accuracy(*(weights @ np.array([engine.accuracy() for engine in engines])).tolist())


def _columns(pairs: _Pairs) -> tuple[Array, Array]:
    first, second = zip(*pairs, strict=True)
    return np.array(first), np.array(second)


def _mean(w: Array, means: Array) -> tuple[Array, Array]:
    """Return m and m_h - m."""
    mean: Array = w @ means
    return mean, means - mean


def _weighted(w: Array, values: Array) -> Array:
    total: Array = np.tensordot(w, values, axes=1)
    return total
