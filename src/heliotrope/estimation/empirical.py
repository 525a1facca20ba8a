"""The paper's recipe for real data: empirical mean and covariance, and a fitted epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heliotrope.errors import InputError
from heliotrope.estimation.data import Panel, as_panels
from heliotrope.estimation.fit import Fit, fit
from heliotrope.kernels import Tabulated
from heliotrope.priors import Forgetting, Prior
from heliotrope.validation import Array, as_positive

_FLOOR = 1e-4  # smallest eigenvalue of the covariance, as a share of the mean variance


@dataclass(frozen=True, eq=False)
class Empirical:
    """A prior learned from panels: ``prior``, the ``fit`` of its epsilon, and ``lifted``.

    ``lifted`` is the largest amount added to an eigenvalue of the covariance, to make it positive
    definite, as a share of the mean variance.
    """

    prior: Prior
    fit: Fit
    lifted: float


def empirical_prior(
    panels: Panel | Sequence[Panel], noise: float | None = None, noise_share: float = 0.05
) -> Empirical:
    """Learn a prior from panels of the same points, which count as independent episodes.

    The noise variance is ``noise``; by default ``noise_share`` times the mean signal variance.
    """
    episodes = as_panels(panels)
    _check(episodes)
    rows = np.concatenate([panel.values for panel in episodes])
    mean = np.nanmean(rows, axis=0)
    covariance, lifted = _lifted(_covariance(rows - mean))
    signal = float(np.mean(np.diag(covariance)))
    share = as_positive(noise_share, "noise_share")
    level = share * signal if noise is None else as_positive(noise, "noise")
    start = Prior(Tabulated(covariance), Forgetting(0.03), level, mean)
    plain = [Panel(panel.times, panel.values) for panel in episodes]
    found = fit(start, plain, learn=("epsilon",))
    return Empirical(found.prior, found, lifted)


def _covariance(centred: Array) -> Array:
    """Covariance (M, M), of each pair over the times when both were measured."""
    seen = ~np.isnan(centred)
    filled = np.where(seen, centred, 0.0)
    together = seen.astype(float).T @ seen
    return np.asarray(filled.T @ filled / np.maximum(together, 1.0))


def _lifted(covariance: Array) -> tuple[Array, float]:
    """The covariance with small eigenvalues raised to the floor, and the largest raise."""
    values, vectors = np.linalg.eigh(covariance)
    scale = float(np.mean(np.diag(covariance)))
    raised = np.maximum(values, _FLOOR * scale)
    lifted = (vectors * raised) @ vectors.T
    return 0.5 * (lifted + lifted.T), float((raised - values).max() / scale)


def _check(episodes: Sequence[Panel]) -> None:
    rows = np.concatenate([panel.values for panel in episodes])
    unseen = np.flatnonzero(np.isnan(rows).all(axis=0))
    if len(unseen):
        raise InputError("every point measured at least once", f"columns {unseen.tolist()} empty")
    if np.nanmax(np.abs(rows - np.nanmean(rows, axis=0))) <= 0.0:
        raise InputError("values that change over time", "constant columns")
