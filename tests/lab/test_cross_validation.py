"""Parameters chosen by cross-validated replay."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.errors import HeliotropeError
from heliotrope.estimation import Observations, Panel
from heliotrope.lab.cross_validation import choose_block_length, cross_validate
from heliotrope.lab.environments import GPDrift


def panel(epsilon: float, *, points: int, steps: int) -> Panel:
    domain = ht.Finite(np.random.default_rng(1).random((points, 2)))
    episode = GPDrift(domain, ht.Prior(RBF(0.4), ht.Forgetting(epsilon), 0.05)).episode(steps, 0)
    z = np.random.default_rng([0, 7]).normal(scale=np.sqrt(0.05), size=episode.values.shape)
    return Panel(np.arange(1.0, steps + 1.0), episode.values + z, domain.points)


def test_block_length_by_cross_validation() -> None:
    chosen = choose_block_length(panel(0.05, points=12, steps=180), candidates=(1, 10, 20, 500))
    assert chosen.tried == (1, 10, 20)
    assert chosen.every == chosen.tried[int(np.argmin(chosen.regret))]
    assert chosen.every != 1  # a memory of one step is no memory
    assert np.all(chosen.stderr > 0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: cross_validate(panel(0.1, points=3, steps=20), [3]),  # type: ignore[list-item]
        lambda: choose_block_length(None),  # type: ignore[arg-type]
        lambda: choose_block_length(Observations([1.0], [[0.0]], [1.0])),  # type: ignore[arg-type]
        lambda: choose_block_length(panel(0.1, points=3, steps=20), folds=1),
        lambda: choose_block_length(panel(0.1, points=3, steps=5), folds=3),
        lambda: choose_block_length(panel(0.1, points=3, steps=20), candidates=(0,)),
        lambda: choose_block_length(panel(0.1, points=3, steps=20), candidates=(90,)),
        lambda: choose_block_length(panel(0.1, points=3, steps=20), candidates="ab"),  # type: ignore[arg-type]
    ],
)
def test_wrong_arguments_are_rejected(make: object) -> None:
    with pytest.raises(HeliotropeError):
        make()  # type: ignore[operator]
