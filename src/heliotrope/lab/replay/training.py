"""The setup learned from the first part of a log: prior, epsilon and the policies' parameters."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from heliotrope.acquisition import LogBeta
from heliotrope.estimation import Panel, fit
from heliotrope.kernels import ConstantKernel, Matern, Sum, Tabulated, as_multiple
from heliotrope.lab.cross_validation import cross_validate
from heliotrope.lab.environments import FiniteEpisode, Step, Table, play
from heliotrope.lab.replay.candidates import ENTRIES, FIXED, LEARNING, TUNABLE
from heliotrope.lab.replay.drift import Drift, drift_rate
from heliotrope.policies import Policy, rexp3_batch
from heliotrope.policies.registry import AUTO, PARAMETRIC
from heliotrope.posterior import Learn
from heliotrope.priors import Forgetting, Prior
from heliotrope.validation import Array

C1S = (0.02, 0.05, 0.2, 0.8)  # candidates of c1; the paper uses 0.2 and 0.8 for its real data
BLOCKS = (5, 10, 20, 40, 80, 160)  # candidates of N
_LATEST = 2000  # rows for fitting kernels and tuning
_FOLDS = 3
_NOISE_SHARE = 0.05  # the paper's, of the signal variance
_OWN = 1e-4  # least variance of each place's own part, as a share of the mean variance
_SHRINKAGE = 0.1  # of the places' variances towards their mean
_APART = 1e-5  # shift that separates places at the same point, where the whole extent is 1


@dataclass(frozen=True, eq=False)
class Neighbours:
    """How places are correlated by their location: a kernel over points, for values of size 1.

    ``matrix`` (M, M) is the kernel's matrix over the places.
    """

    kernel: Sum
    matrix: Array

    @property
    def share(self) -> float:
        """The share of the variance that places have in common with nearby ones."""
        common, own = (as_multiple(part)[0] for part in (self.kernel.k1, self.kernel.k2))
        return common / (common + own)


@dataclass(frozen=True)
class Tuning:
    """A candidate with the c1 of its beta and, if it restarts, the steps between restarts."""

    name: str
    c1: float
    every: int = 0

    def policy(self, prior: Prior) -> Policy:
        """The policy with a prior."""
        own: dict[str, Any] = {"every": self.every} if self.every else {}
        if self.name == LEARNING:
            own["learn"] = Learn()
        return ENTRIES[self.name].factory(prior, beta=LogBeta(self.c1, 0.4), **own)

    def in_words(self, epsilon: float) -> str:
        """The parameters in words, with the fitted drift if the policy uses it."""
        words = [f"beta = {self.c1:g} log(0.4 t)"]
        if self.every:
            words.insert(0, f"a restart every {self.every} steps")
        elif self.name != LEARNING and "epsilon" in ENTRIES[self.name].parameters:
            words.insert(0, f"epsilon = {epsilon:.3g}")
        return ", ".join(words)


@dataclass(frozen=True, eq=False)
class TrainedSetup:
    """The learned ``drift`` and ``prior``, and the ``tuned`` policies.

    ``points`` (M, d) and ``neighbours`` are None without locations. ``variation`` is the mean
    over the steps of the largest change of any place, as a share of the range from ``low`` to
    ``high``.
    """

    drift: Drift
    prior: Prior
    points: Array | None
    neighbours: Neighbours | None
    tuned: Mapping[str, Tuning]
    low: float
    high: float
    variation: float

    @property
    def fixed(self) -> int:
        """The place of the highest mean."""
        return int(np.argmax(self.prior.mean))

    def play(self, name: str, episode: FiniteEpisode, seed: int) -> Iterator[Step]:
        """Let a candidate track an episode."""
        if name == FIXED:
            return (episode.step(t, self.fixed) for t in episode.times.tolist())
        entry = ENTRIES[name]
        if entry is AUTO:  # it learns from its own results, so it needs coordinates
            episode = Table(episode.values, episode.times, self.points).episode()
            return play(entry.adaptive(episode.domain), episode, seed)
        if entry.has_range:
            batch = self.batch(episode.horizon, len(episode.domain))
            return play(entry.factory(self.low, self.high, batch), episode, seed)
        policy = self.tuned[name].policy(self.prior) if name in self.tuned else entry.factory()
        return play(policy, episode, seed)

    def batch(self, horizon: int, places: int) -> int:
        """RExp3's batch, by its paper's formula."""
        return rexp3_batch(places, horizon, self.variation * horizon)


def trained_setup(
    times: Array, values: Array, points: Array | None = None, policies: Collection[str] = TUNABLE
) -> TrainedSetup:
    """Learn the setup from rewards (T, M), NaN in gaps.

    Without points the covariance of the places is the empirical one (the paper's recipe). With
    points it is the places' deviations times a fitted kernel: Matern-3/2 over the points plus
    each place's own part. Gaps are filled by interpolation, except to estimate epsilon.
    """
    drift = drift_rate(times, values)
    panel = Panel(times, Table(values, times).values)
    scale = float(panel.values.var(axis=0).mean())
    neighbours = None if points is None else _neighbours(panel, points, drift, scale)
    prior_of = partial(_prior, drift, neighbours, scale)
    low, high = float(panel.values.min()), float(panel.values.max())
    changes = np.abs(np.diff(panel.values, axis=0)).max(axis=1)
    return TrainedSetup(
        drift,
        prior_of([panel]),
        points,
        neighbours,
        _tuned(panel, prior_of, policies),
        low,
        high,
        float(changes.mean()) / (high - low),
    )


def _prior(
    drift: Drift, neighbours: Neighbours | None, scale: float, panels: Sequence[Panel]
) -> Prior:
    """The prior of some rows, which may be constant, of a log of this mean variance."""
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
    return np.asarray(np.sqrt((1.0 - _SHRINKAGE) * rows.var(axis=0) + _SHRINKAGE * scale))


def _neighbours(panel: Panel, points: Array, drift: Drift, scale: float) -> Neighbours:
    """Fit the kernel to the values, standardized place by place."""
    apart = np.column_stack([points, _APART * np.arange(len(points))])
    rows = panel.values[-_LATEST:]
    rows = (rows - rows.mean(axis=0)) / _deviations(rows, scale)
    common = ConstantKernel(0.7, (1e-4, 1e2)) * Matern(0.3, (1e-2, 1e2), nu=1.5)
    own = ConstantKernel(0.3, (1e-4, 1e2)) * Matern(0.1 * _APART, "fixed", nu=1.5)
    start = Prior(common + own, Forgetting(drift.epsilon), _NOISE_SHARE)
    latest = Panel(panel.times[-_LATEST:], rows, apart)
    kernel = fit(start, latest, learn="space", restarts=0).prior.space
    assert isinstance(kernel, Sum)
    return Neighbours(kernel, kernel(apart))


def _tuned(
    panel: Panel, prior_of: Callable[[Sequence[Panel]], Prior], policies: Collection[str]
) -> dict[str, Tuning]:
    """Tune each policy by replay in folds: c1, and N if it restarts."""
    latest = Panel(panel.times[-_LATEST:], panel.values[-_LATEST:])
    blocks = [n for n in BLOCKS if n <= len(latest.times) // _FOLDS] or BLOCKS[:1]
    wanted = {PARAMETRIC.name if name == LEARNING else name for name in policies} & set(TUNABLE)
    tried = [
        Tuning(name, c1, n)
        for name in sorted(wanted)
        for c1 in C1S
        for n in (blocks if "every" in ENTRIES[name].parameters else [0])
    ]
    if not tried:
        return {}
    regret = cross_validate(latest, [one.policy for one in tried], _FOLDS, prior_of).regret
    best: dict[str, Tuning] = {}
    for i in np.argsort(regret, kind="stable"):
        best.setdefault(tried[i].name, tried[i])
    if PARAMETRIC.name in best:  # learning is slow to replay, and explores the same way
        best[LEARNING] = replace(best[PARAMETRIC.name], name=LEARNING)
    return best
