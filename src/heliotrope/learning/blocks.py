"""R-GP-UCB's block length N by cross-validated replay on training data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from heliotrope.arrays import Array
from heliotrope.choosing import Beta, LogBeta
from heliotrope.domains import Finite
from heliotrope.environments import Episode, run
from heliotrope.errors import InputError
from heliotrope.learning.data import Panel, spacing
from heliotrope.learning.empirical import empirical_prior
from heliotrope.policies import r_gp_ucb
from heliotrope.priors import Prior, Static


@dataclass(frozen=True, eq=False)
class BlockLength:
    """The best N, and the average regret (with its standard error over folds) of each tried.

    ``tried`` are numbers of rows; ``every`` is in the unit of the panels' times, as r_gp_ucb's.
    """

    every: float
    tried: tuple[int, ...]
    regret: Array
    stderr: Array


def choose_block_length(
    panels: Panel | Sequence[Panel],
    beta: Beta | float = LogBeta(0.8, 0.4),
    candidates: Sequence[int] = (5, 10, 15, 20, 30, 50, 80, 120),
    folds: int = 3,
    noise: float | None = None,
) -> BlockLength:
    """Replay R-GP-UCB on parts of the training data with a prior learned from the other parts.

    One panel is cut into ``folds`` stretches of time; of several, each is a fold of its own.
    """
    parts = _folds(panels, folds)
    tried = tuple(sorted({int(n) for n in candidates if n <= max(len(p.times) for p in parts)}))
    if len(parts) < 2 or not tried:
        raise InputError("two folds and a candidate no longer than one", f"{len(parts)}, {tried}")
    table = np.array([_regrets(parts, i, tried, beta, noise) for i in range(len(parts))])
    mean, stderr = table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(len(parts))
    return BlockLength(tried[int(mean.argmin())] * spacing(parts), tried, mean, stderr)


def _folds(panels: Panel | Sequence[Panel], folds: int) -> list[Panel]:
    if not isinstance(panels, Panel):
        return list(panels)
    cuts = np.array_split(np.arange(len(panels.times)), folds)
    return [Panel(panels.times[cut], panels.values[cut]) for cut in cuts if len(cut) > 1]


def _regrets(
    parts: list[Panel], held_out: int, tried: Sequence[int], beta: Beta | float, noise: float | None
) -> list[float]:
    """Average regret on one fold of each block length, averaged over five seeds."""
    rest = [part for i, part in enumerate(parts) if i != held_out]
    prior = replace(empirical_prior(rest, noise).prior, time=Static())
    episode = _episode(parts[held_out], prior)
    return [
        float(
            np.mean(
                [
                    [step.regret for step in run(r_gp_ucb(prior, n, beta), episode, seed)]
                    for seed in range(5)
                ]
            )
        )
        for n in tried
    ]


def _episode(panel: Panel, prior: Prior) -> Episode:
    """The panel as a world to replay; a gap is filled with the prior mean."""
    values = np.where(np.isnan(panel.values), prior.mean, panel.values)
    domain = Finite(np.arange(float(values.shape[1])))
    return Episode(domain, values, np.zeros(len(values)))
