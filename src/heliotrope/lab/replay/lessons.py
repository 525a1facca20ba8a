"""What the first part of a log teaches: the prior, epsilon, and the parameters of the policies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Matern

from heliotrope.acquisition import LogBeta
from heliotrope.estimation import Panel, fit
from heliotrope.kernels import Tabulated
from heliotrope.lab.cross_validation import cross_validate
from heliotrope.lab.environments import Table
from heliotrope.lab.replay.drift import Drift, drift_rate
from heliotrope.policies import Policy, gp_ucb, r_gp_ucb, rexp3_batch, tv_gp_ucb
from heliotrope.posterior import Learn
from heliotrope.priors import Forgetting, Prior
from heliotrope.validation import Array

TUNABLE = ("tv_gp_ucb", "r_gp_ucb", "gp_ucb")
EAGERNESS = (0.02, 0.05, 0.2, 0.8)  # candidates of c1; the paper has 0.2 and 0.8 for its real data
BLOCKS = (5, 10, 20, 40, 80, 160)  # candidates of N
_LATEST = 2000  # rows that kernels are fitted to and candidates are replayed on
_FOLDS = 3
_NOISE_SHARE = 0.05  # the paper's, of the signal variance
_OWN = 1e-4  # variance of a place alone, at the least, as a share of the mean one
_ALIKE = 0.1  # how far the places' variances are drawn towards their mean
_APART = 1e-5  # shift that tells places at one point apart, where the whole extent is 1


@dataclass(frozen=True, eq=False)
class Neighbours:
    """How places move together by where they lie: a kernel over points, for values of size 1.

    ``matrix`` (M, M) is the kernel's over the places.
    """

    kernel: Kernel
    matrix: Array

    @property
    def share(self) -> float:
        """The part of the variance that places have in common with those nearby."""
        common, own = (part.k1.constant_value for part in (self.kernel.k1, self.kernel.k2))
        return float(common / (common + own))


@dataclass(frozen=True)
class Tuning:
    """A policy of upper confidence bounds with the c1 of its beta, and R-GP-UCB's N."""

    name: str
    c1: float
    every: int = 0

    def policy(self, prior: Prior) -> Policy:
        """The policy, believing in a prior."""
        beta = LogBeta(self.c1, 0.4)
        if self.name == "r_gp_ucb":
            return r_gp_ucb(prior, self.every, beta)
        if self.name == "gp_ucb":
            return gp_ucb(prior, beta)
        return tv_gp_ucb(prior, beta, learn=Learn() if self.name == "learning" else None)


@dataclass(frozen=True, eq=False)
class Lesson:
    """What was learned: the ``drift``, the ``prior``, and how policies are ``tuned``.

    ``neighbours`` is None where no locations were given. ``variation`` is the mean largest change
    of any place in a step, as a share of the range from ``low`` to ``high``.
    """

    drift: Drift
    prior: Prior
    neighbours: Neighbours | None
    tuned: Mapping[str, Tuning]
    low: float
    high: float
    variation: float

    @property
    def fixed(self) -> int:
        """The place of the highest mean."""
        return int(np.argmax(self.prior.mean))

    def batch(self, horizon: int, places: int) -> int:
        """RExp3's batch, by its paper's formula."""
        return rexp3_batch(places, horizon, self.variation * horizon)


def learn(
    times: Array, values: Array, points: Array | None = None, policies: Collection[str] = TUNABLE
) -> Lesson:
    """Learn from rewards (T, M), NaN where there was none, what the policies need to know.

    Without points the covariance of the places is the empirical one (the paper's recipe). With
    points it is the places' deviations times a fitted kernel: Matern-3/2 over the points, and a
    part that is each place's own. Gaps are filled in between, but not to learn epsilon.
    """
    drift = drift_rate(times, values)
    panel = Panel(times, Table(values, times).values)
    scale = float(panel.values.var(axis=0).mean())
    neighbours = None if points is None else _neighbours(panel, points, drift, scale)
    prior_of = partial(_prior, drift, neighbours, scale)
    low, high = float(panel.values.min()), float(panel.values.max())
    changes = np.abs(np.diff(panel.values, axis=0)).max(axis=1)
    return Lesson(
        drift,
        prior_of([panel]),
        neighbours,
        _tuned(panel, prior_of, policies),
        low,
        high,
        float(changes.mean()) / (high - low),
    )


def _prior(
    drift: Drift, neighbours: Neighbours | None, scale: float, panels: Sequence[Panel]
) -> Prior:
    """The prior of some rows, which may stand still, of a log of this mean variance."""
    rows = np.concatenate([panel.values for panel in panels])
    if neighbours is None:
        K = np.cov(rows, rowvar=False, bias=True)
    else:
        deviations = _deviations(rows, scale)
        K = np.outer(deviations, deviations) * neighbours.matrix
    K += _OWN * scale * np.eye(len(K))
    noise = _NOISE_SHARE * float(np.mean(np.diag(K)))
    return Prior(Tabulated(K), Forgetting(drift.epsilon), noise, rows.mean(axis=0))


def _deviations(rows: Array, scale: float) -> Array:
    return np.asarray(np.sqrt((1.0 - _ALIKE) * rows.var(axis=0) + _ALIKE * scale))


def _neighbours(panel: Panel, points: Array, drift: Drift, scale: float) -> Neighbours:
    """Fit the kernel to what is left of the values without the places' means and deviations."""
    apart = np.column_stack([points, _APART * np.arange(len(points))])
    rows = panel.values[-_LATEST:]
    rows = (rows - rows.mean(axis=0)) / _deviations(rows, scale)
    common = ConstantKernel(0.7, (1e-4, 1e2)) * Matern(0.3, (1e-2, 1e2), nu=1.5)
    own = ConstantKernel(0.3, (1e-4, 1e2)) * Matern(0.1 * _APART, "fixed", nu=1.5)
    start = Prior(common + own, Forgetting(drift.epsilon), _NOISE_SHARE)
    latest = Panel(panel.times[-_LATEST:], rows, apart)
    kernel = fit(start, latest, learn="space", restarts=0).prior.space
    assert isinstance(kernel, Kernel)
    return Neighbours(kernel, kernel(apart))


def _tuned(
    panel: Panel, prior_of: Callable[[Sequence[Panel]], Prior], policies: Collection[str]
) -> dict[str, Tuning]:
    """Choose c1 of each policy asked for, and N along with R-GP-UCB's, by replay in folds."""
    latest = Panel(panel.times[-_LATEST:], panel.values[-_LATEST:])
    blocks = [n for n in BLOCKS if n <= len(latest.times) // _FOLDS] or BLOCKS[:1]
    wanted = {"tv_gp_ucb" if name == "learning" else name for name in policies} & set(TUNABLE)
    tried = [
        Tuning(name, c1, n)
        for name in sorted(wanted)
        for c1 in EAGERNESS
        for n in (blocks if name == "r_gp_ucb" else [0])
    ]
    if not tried:
        return {}
    regret = cross_validate(latest, [one.policy for one in tried], _FOLDS, prior_of).regret
    best: dict[str, Tuning] = {}
    for i in np.argsort(regret, kind="stable"):
        best.setdefault(tried[i].name, tried[i])
    if "tv_gp_ucb" in best:  # learning the drift is slow to replay, and explores alike
        best["learning"] = replace(best["tv_gp_ucb"], name="learning")
    return best
