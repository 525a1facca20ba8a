"""A plain world as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from heliotrope.directions import Direction, sign_of
from heliotrope.errors import InputError
from heliotrope.lab.plain.drifts import DRIFTS
from heliotrope.lab.plain.results import RESULTS
from heliotrope.lab.plain.shapes import SHAPES
from heliotrope.spaces import Options, SearchSpace

Chooser: TypeAlias = Literal["asked", "repeated", "clustered", "anywhere"]
CHOOSERS: tuple[Chooser, ...] = ("asked", "repeated", "clustered", "anywhere")


@dataclass(frozen=True)
class PlainWorld:
    """An ordinary function to optimize, and the ordinary use of an optimizer on it.

    Attributes
    ----------
    name, family
        Its name, and the family that it belongs to.
    space
        Parameters or options.
    shape, drift, results
        Names of the function, of its change, and of the kind of results.
    noise
        Deviation of the noise, in deviations of the function over the space.
    unit, offset, direction
        A value v is told as offset + unit v, or as offset - unit v if low values are good. Counts
        and proportions have neither unit nor offset.
    chooser
        Who chooses: all points are asked for, or the user chooses every second one among three
        places again and again, in a cluster, or anywhere.
    workers
        Evaluations that are open at a time; their results come in random order.
    cancelled
        Share of evaluations that are cancelled.
    clock
        Unit of a wall clock, or None for steps. Times between asks are irregular.
    context
        Parameters that each ask gives.
    limited
        Whether there is a second metric with a limit, and a baseline.
    seed
        Seed of its places and of its noise.
    """

    name: str
    family: str
    space: SearchSpace | Options
    shape: str = "bowl"
    drift: str = "still"
    results: str = "values"
    noise: float = 0.0
    unit: float = 1.0
    offset: float = 0.0
    direction: Direction = "maximize"
    chooser: Chooser = "asked"
    workers: int = 1
    cancelled: float = 0.0
    clock: str | None = None
    context: SearchSpace | None = None
    limited: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for value, allowed in (
            (self.shape, SHAPES),
            (self.drift, DRIFTS),
            (self.results, RESULTS),
            (self.chooser, CHOOSERS),
        ):
            if value not in allowed:
                raise InputError(f"one of {', '.join(allowed)}", repr(value))

    @property
    def sign(self) -> float:
        """-1 if low values are good, otherwise 1."""
        return sign_of(self.direction)
