"""Evaluations in the unit cube, and times counted in results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from heliotrope.domains import Places
from heliotrope.serialization.codec import State


@dataclass(frozen=True, eq=False)
class CubeEvaluation:
    """A place in the cube at a time, and its value (NaN while it is open)."""

    t: float
    place: Places
    y: float = np.nan


@dataclass(frozen=True)
class Timeline:
    """Time counted in results: ``told`` of them at time ``latest``, a ``pace`` apart."""

    latest: float = 0.0
    told: float = 0.0
    pace: float = 1.0

    def at(self, t: float) -> float:
        """The number of results expected by time t."""
        return self.told + (t - self.latest) / self.pace


def columns_of(name: str, evaluations: Iterable[CubeEvaluation]) -> State:
    """Times, values and places of evaluations as arrays."""
    listed = list(evaluations)
    return {
        f"{name}/t": np.array([one.t for one in listed]),
        f"{name}/y": np.array([one.y for one in listed]),
        f"{name}/place": np.array([one.place[0] for one in listed]),
    }


def evaluations_of(name: str, state: State) -> list[CubeEvaluation]:
    """Read the evaluations that :func:`columns_of` wrote."""
    times, values = state[f"{name}/t"].tolist(), state[f"{name}/y"].tolist()
    places = state[f"{name}/place"]
    return [
        CubeEvaluation(t, places[i : i + 1], y)
        for i, (t, y) in enumerate(zip(times, values, strict=True))
    ]
