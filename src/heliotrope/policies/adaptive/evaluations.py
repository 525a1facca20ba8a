"""Evaluations in the unit cube, as they are kept and saved, and their times counted in results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from heliotrope.domains import Places
from heliotrope.serialization.state import State


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A place in the cube at a time, and its value, if that was told."""

    t: float
    place: Places
    y: float = np.nan


@dataclass(frozen=True)
class Timeline:
    """Time counted in results: at ``latest`` there were ``told`` of them, a ``pace`` apart."""

    latest: float = 0.0
    told: float = 0.0
    pace: float = 1.0

    def at(self, t: float) -> float:
        """How many results there would be by time t."""
        return self.told + (t - self.latest) / self.pace


def columns_of(name: str, evaluations: Iterable[Evaluation]) -> State:
    """The evaluations' times and values, and their places, as arrays."""
    listed = list(evaluations)
    return {
        f"{name}/t": np.array([one.t for one in listed]),
        f"{name}/y": np.array([one.y for one in listed]),
        f"{name}/place": np.array([one.place[0] for one in listed]),
    }


def evaluations_of(name: str, state: State) -> list[Evaluation]:
    """The evaluations whose :func:`columns_of` a state holds."""
    times, values = state[f"{name}/t"].tolist(), state[f"{name}/y"].tolist()
    places = state[f"{name}/place"]
    return [
        Evaluation(t, places[i : i + 1], y)
        for i, (t, y) in enumerate(zip(times, values, strict=True))
    ]
