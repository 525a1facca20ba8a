"""The protocol of a figure, and its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from heliotrope.lab.claims import Claim
from heliotrope.lab.reproduction.series import CurveRow
from heliotrope.validation import Array, as_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

TrialResults: TypeAlias = Sequence[Mapping[str, Array]]
"""Named arrays of every trial, in order."""


@dataclass(frozen=True)
class FigureOptions:
    """Options of a figure; None means the paper's value."""

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
    """One figure. A trial's number determines its seed, so that it can run anywhere."""

    @property
    def name(self) -> str:
        """Name of the figure and its files."""

    @property
    def trials(self) -> int:
        """Number of trials."""

    @property
    def seed(self) -> int:
        """Random seed, from which the trials' seeds follow."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the reader: learned parameters, substituted data."""

    def settings(self) -> Mapping[str, object]:
        """Everything that a trial depends on except its number, as JSON values."""

    def trial(self, number: int) -> Mapping[str, Array]:
        """Run one trial."""

    def rows(self, results: TrialResults) -> list[CurveRow]:
        """The curves."""

    def claims(self, results: TrialResults) -> list[Claim]:
        """The paper's claims, tested."""

    def draw(self, results: TrialResults) -> Picture:
        """The picture."""


def stacked(results: TrialResults, name: str = "regret") -> Array:
    """Stack one array of all trials, (trials, ...)."""
    return np.stack([result[name] for result in results])
