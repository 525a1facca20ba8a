"""What a figure is, and what its maker may be asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from heliotrope.lab.claims import Claim
from heliotrope.lab.reproduction.series import Row
from heliotrope.validation import Array, as_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

Results: TypeAlias = Sequence[Mapping[str, Array]]
"""Named arrays of every trial, in the order of the trials."""


@dataclass(frozen=True)
class Options:
    """What may be asked for; None is what the paper has."""

    trials: int | None = None
    horizon: int | None = None
    seed: int = 0
    data: Path | None = None

    def __post_init__(self) -> None:
        for name in ("trials", "horizon"):
            if getattr(self, name) is not None:
                as_whole(getattr(self, name), name, least=1)
        as_whole(self.seed, "seed", least=0)


class Figure(Protocol):
    """One figure: its trials know their seeds, so that it does not matter where they run."""

    @property
    def name(self) -> str:
        """Name of its files."""

    @property
    def trials(self) -> int:
        """Number of trials."""

    @property
    def seed(self) -> int:
        """What all its trials' seeds come from."""

    @property
    def notes(self) -> Sequence[str]:
        """What a reader must know beside the figure: parameters learned, data replaced."""

    def settings(self) -> Mapping[str, object]:
        """Everything that a trial depends on but its number, as JSON has it."""

    def trial(self, number: int) -> Mapping[str, Array]:
        """Play one trial."""

    def rows(self, results: Results) -> list[Row]:
        """The curves."""

    def claims(self, results: Results) -> list[Claim]:
        """What the paper says, judged."""

    def draw(self, results: Results) -> Picture:
        """The picture."""


def stacked(results: Results, name: str = "regret") -> Array:
    """One array of all trials, (trials, ...)."""
    return np.stack([result[name] for result in results])
