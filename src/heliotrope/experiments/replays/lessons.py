"""What the first part of a log teaches: the prior, epsilon, and the parameters of the rivals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from heliotrope.arrays import Array
from heliotrope.choosing import LogBeta
from heliotrope.learning import Fit, Panel, cross_validate, empirical_prior, fit
from heliotrope.policies import Policy, gp_ucb, r_gp_ucb, rexp3_batch, tv_gp_ucb
from heliotrope.priors import Forgetting, Prior

EAGERNESS = (0.05, 0.2, 0.8)  # candidates of c1; the paper has 0.2 and 0.8 for its real data
BLOCKS = (5, 10, 15, 20, 30, 50, 80, 120)  # candidates of N
_RECENT = 2000  # rows, the latest, that candidates are replayed on
_NOISE_SHARE = 0.05
_FOLDS = 3
_COMPLETE = 0.5  # share of rows without gaps that is enough to learn from these alone


@dataclass(frozen=True, eq=False)
class Lesson:
    """What was learned: the ``fit`` with its prior, and the parameters of the policies.

    ``c1`` is the eagerness to explore of each policy of beta = c1 log(0.4 t), ``every`` is
    R-GP-UCB's N, ``fixed`` the place of the highest mean, and ``variation`` the mean largest
    change of any place in a step, as a share of the range from ``low`` to ``high``.
    """

    fit: Fit
    c1: Mapping[str, float]
    every: float
    low: float
    high: float
    variation: float
    fixed: int

    @property
    def prior(self) -> Prior:
        """The learned prior."""
        return self.fit.prior

    @property
    def epsilon(self) -> float:
        """The drift rate, a step."""
        assert isinstance(self.prior.time, Forgetting)
        return self.prior.time.epsilon

    @property
    def half_life(self) -> float:
        """Steps after which half of what was learned is stale: (1 - epsilon)^n = 1 / 2."""
        return float(np.log(0.5) / np.log1p(-self.epsilon))

    def batch(self, horizon: int, places: int) -> int:
        """RExp3's batch, by its paper's formula."""
        return rexp3_batch(places, horizon, self.variation * horizon)


def learn(times: Array, values: Array, points: Array | None = None) -> Lesson:
    """Learn from rewards (T, M), NaN where there was none.

    Without points the covariance is the empirical one (the paper's recipe); with points it is a
    Matern-3/2 kernel over them, whose variance, length and noise are fitted along with epsilon.
    """
    panel = _panel(times, values, points)
    found = _empirical(panel) if points is None else _over_points(panel)
    c1, every = _validated(panel, _empirical_prior if points is None else lambda _: found.prior)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return Lesson(
        found,
        c1,
        every,
        low,
        high,
        _variation(values) / (high - low),
        int(np.nanmean(values, axis=0).argmax()),
    )


def beta(c1: float) -> LogBeta:
    """The paper's schedule for its real data."""
    return LogBeta(c1, 0.4)


def _validated(
    panel: Panel, learn: Callable[[Sequence[Panel]], Prior]
) -> tuple[dict[str, float], float]:
    """Choose c1 of every policy, and N along with R-GP-UCB's, by cross-validated replay."""
    recent = Panel(panel.times[-_RECENT:], panel.values[-_RECENT:], panel.points)
    blocks = [n for n in BLOCKS if n <= len(recent.times) // _FOLDS] or BLOCKS[:1]
    options = [(policy, c1, 0) for policy in ("tv_gp_ucb", "gp_ucb") for c1 in EAGERNESS]
    options += [("r_gp_ucb", c1, n) for c1 in EAGERNESS for n in blocks]
    found = cross_validate(recent, [partial(_policy, option) for option in options], _FOLDS, learn)
    best = {
        name: min((r, o) for r, o in zip(found.regret, options, strict=True) if o[0] == name)[1]
        for name in ("tv_gp_ucb", "gp_ucb", "r_gp_ucb")
    }
    return {name: c1 for name, (_, c1, _) in best.items()}, float(best["r_gp_ucb"][2])


def _policy(option: tuple[str, float, int], prior: Prior) -> Policy:
    name, c1, n = option
    if name == "r_gp_ucb":
        return r_gp_ucb(prior, n, beta(c1))
    return (tv_gp_ucb if name == "tv_gp_ucb" else gp_ucb)(prior, beta(c1))


def _panel(times: Array, values: Array, points: Array | None) -> Panel:
    """The panel to learn from: its complete rows where these are many, since they are cheap."""
    complete = ~np.isnan(values).any(axis=1)
    if complete.mean() >= _COMPLETE:
        times, values = times[complete], values[complete]
    return Panel(times, values, points)


def _empirical(panel: Panel) -> Fit:
    return empirical_prior(panel, noise_share=_NOISE_SHARE).fit


def _empirical_prior(panels: Sequence[Panel]) -> Prior:
    return empirical_prior(panels, noise_share=_NOISE_SHARE).prior


def _over_points(panel: Panel) -> Fit:
    """Fit a kernel over the points, of which the whole extent is 1."""
    mean = np.nanmean(panel.values, axis=0)
    signal = float(np.nanvar(panel.values - mean))
    size = ConstantKernel(signal, (1e-3 * signal, 1e3 * signal))
    kernel = size * Matern(0.3, (1e-3, 1e2), nu=1.5)
    start = Prior(kernel, Forgetting(0.03), _NOISE_SHARE * signal, mean)
    return fit(start, panel)


def _variation(values: Array) -> float:
    """Mean over the steps of the largest change of any place."""
    changes = np.abs(np.diff(values, axis=0))
    known = ~np.isnan(changes).all(axis=1)
    if not known.any():
        return float(np.nanmax(values) - np.nanmin(values))
    return float(np.nanmax(changes[known], axis=1).mean())
