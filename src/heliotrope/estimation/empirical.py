"""The paper's recipe for real data: empirical mean and covariance, and a fitted epsilon."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heliotrope.errors import InputError
from heliotrope.estimation.data import Panel, as_panels
from heliotrope.estimation.fitting import Fit, fit
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
    parts = as_panels(panels)
    rows = np.concatenate([panel.values for panel in parts])
    mean, covariance, lifted = _moments(rows)
    signal = float(np.mean(np.diag(covariance)))
    share = as_positive(noise_share, "noise_share")
    level = share * signal if noise is None else as_positive(noise, "noise")
    start = Prior(Tabulated(covariance), Forgetting(0.03), level, mean)
    plain = [Panel(panel.times, panel.values) for panel in parts]
    learned = fit(start, plain, learn=("epsilon",))
    return Empirical(learned.prior, learned, lifted)


def _moments(rows: Array) -> tuple[Array, Array, float]:
    """Mean (M,), covariance (M, M) with small eigenvalues raised, and the largest raise.

    The covariance of two points is over the times when both were measured.
    """
    seen = ~np.isnan(rows)
    if not seen.any(axis=0).all():
        unseen = np.flatnonzero(~seen.any(axis=0)).tolist()
        raise InputError("every point measured at least once", f"columns {unseen} empty")
    mean = np.nanmean(rows, axis=0)
    filled = np.where(seen, rows - mean, 0.0)
    if not filled.any():
        raise InputError("values that change over time", "constant columns")
    together = seen.astype(float).T @ seen
    covariance = filled.T @ filled / np.maximum(together, 1.0)
    values, vectors = np.linalg.eigh(covariance)
    scale = float(np.mean(np.diag(covariance)))
    raised = np.maximum(values, _FLOOR * scale)
    lifted = (vectors * raised) @ vectors.T
    return mean, 0.5 * (lifted + lifted.T), float((raised - values).max() / scale)
