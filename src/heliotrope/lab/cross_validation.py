"""Choose a policy's parameters by cross-validated replay on training data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from heliotrope.acquisition import Beta, LogBeta
from heliotrope.errors import InputError
from heliotrope.estimation.data import Panel, as_panels, spacing
from heliotrope.estimation.empirical import empirical_prior
from heliotrope.lab.environments import Table, play
from heliotrope.policies import Policy, r_gp_ucb
from heliotrope.priors import Prior
from heliotrope.validation import Array, as_vector, as_whole


@dataclass(frozen=True, eq=False)
class Validation:
    """Average regret per row of each candidate, with its standard error over the folds."""

    regret: Array
    stderr: Array

    @property
    def best(self) -> int:
        """Index of the candidate with the least regret."""
        return int(self.regret.argmin())


@dataclass(frozen=True, eq=False)
class BlockLength:
    """The best N, and the average regret of each tried N with its standard error over folds.

    ``tried`` counts steps; ``every`` is in the unit of the panels' times, as R-GP-UCB takes it.
    """

    every: float
    tried: tuple[int, ...]
    regret: Array
    stderr: Array


def _empirical(panels: Sequence[Panel]) -> Prior:
    return empirical_prior(panels).prior


def cross_validate(
    panels: Panel | Sequence[Panel],
    candidates: Sequence[Callable[[Prior], Policy]],
    folds: int = 3,
    learn: Callable[[Sequence[Panel]], Prior] = _empirical,
) -> Validation:
    """Replay policies on each fold of the training data with a prior learned from the others.

    A single panel is cut into ``folds`` intervals of time; several panels are one fold each.
    ``learn`` estimates the prior, by default the empirical one, and each candidate makes a policy
    from it. Times are counted in steps of the data. Gaps are interpolated for the replay only.
    """
    if not candidates or not all(callable(make) for make in (*candidates, learn)):
        raise InputError("callable candidates and learn", repr(candidates)[:60])
    parts = _folds(panels, folds)
    step, rows = spacing(parts), [len(part.times) for part in parts]
    table = np.empty((len(parts), len(candidates)))
    for i, held_out in enumerate(parts):
        prior = learn([part for j, part in enumerate(parts) if j != i])
        times = 1.0 + (held_out.times - held_out.times[0]) / step
        world = Table(held_out.values, times, held_out.points)
        table[i] = [_average_regret(make(prior), world) for make in candidates]
    error = table.std(axis=0, ddof=1) / np.sqrt(len(parts))
    return Validation(np.average(table, axis=0, weights=rows), error)


def choose_block_length(
    panels: Panel | Sequence[Panel],
    beta: Beta | float = LogBeta(0.8, 0.4),
    candidates: Sequence[int] = (5, 10, 15, 20, 30, 50, 80, 120),
    folds: int = 3,
    learn: Callable[[Sequence[Panel]], Prior] = _empirical,
) -> BlockLength:
    """Choose R-GP-UCB's N, in steps of the data, by :func:`cross_validate`."""
    parts = _folds(panels, folds)
    longest, step = max(len(part.times) for part in parts), spacing(parts)
    lengths = {as_whole(n, "a candidate", least=1) for n in as_vector(candidates, "candidates")}
    tried = tuple(sorted(n for n in lengths if n <= longest))
    if not tried:
        raise InputError(f"a candidate no longer than a fold's {longest} rows", repr(candidates))
    policies = [lambda prior, n=n: r_gp_ucb(prior, n, beta) for n in tried]
    found = cross_validate(parts, policies, folds, learn)
    return BlockLength(tried[found.best] * step, tried, found.regret, found.stderr)


def _folds(panels: Panel | Sequence[Panel], folds: int) -> list[Panel]:
    parts = as_panels(panels)
    if len(parts) > 1:
        return parts
    (whole,), count = parts, as_whole(folds, "folds", least=2)
    if len(whole.times) < 2 * count:
        raise InputError(f"at least two rows in each of {count} folds", f"{len(whole.times)} rows")
    cuts = np.array_split(np.arange(len(whole.times)), count)
    return [Panel(whole.times[cut], whole.values[cut], whole.points) for cut in cuts]


def _average_regret(policy: Policy, world: Table) -> float:
    """Policy and table are deterministic, so one replay is enough."""
    return float(np.mean([step.regret for step in play(policy, world.episode())]))
