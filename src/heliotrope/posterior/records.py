"""Records of the engines that accept any order of times: all observations and open evaluations."""

from __future__ import annotations

import numpy as np

from heliotrope.domains import Places
from heliotrope.serialization.codec import State
from heliotrope.validation import Array


class Records:
    """Observations (t, place, y) in the order told, and open evaluations."""

    def __init__(self, no_places: Places) -> None:
        self.t = np.empty(0)
        self.places = no_places
        self.y = np.empty(0)
        self._open: dict[int, tuple[float, Places]] = {}

    def open(self, key: int, t: float, place: Places) -> None:
        self._open[key] = (t, place)

    def close(self, key: int) -> tuple[float, Places]:
        """Remove an open evaluation and return its time and place."""
        return self._open.pop(key)

    def get(self, key: int) -> tuple[float, Places]:
        """Return the time and place of an open evaluation."""
        return self._open[key]

    @property
    def open_keys(self) -> list[int]:
        """Keys of the open evaluations, in the order opened."""
        return list(self._open)

    def append(self, t: float, place: Places, y: float) -> None:
        """Add an observation."""
        self.t = np.append(self.t, t)
        self.places = np.concatenate([self.places, place])
        self.y = np.append(self.y, y)

    def keep(self, chosen: Places) -> None:
        """Drop the observations that are not chosen."""
        self.t, self.places, self.y = self.t[chosen], self.places[chosen], self.y[chosen]

    def open_ones(self) -> tuple[Array, Places]:
        """Times and places of the open evaluations."""
        times = np.array([t for t, _ in self._open.values()])
        return times, np.concatenate(
            [self.places[:0], *(place for _, place in self._open.values())]
        )

    def evaluations(self, count_open: bool) -> tuple[Array, Places]:
        """Times and places of the observations, followed by those of open evaluations."""
        if not count_open:
            return self.t, self.places
        times, places = self.open_ones()
        return np.append(self.t, times), np.concatenate([self.places, places])

    def state(self) -> State:
        times, places = self.open_ones()
        return {
            "t": self.t,
            "places": self.places,
            "y": self.y,
            "open_keys": np.array(self.open_keys, dtype=np.int64),
            "open_t": times,
            "open_places": places,
        }

    def restore(self, state: State) -> None:
        self.t, self.places, self.y = state["t"], state["places"], state["y"]
        self._open = {
            key: (t, state["open_places"][i : i + 1])
            for i, (key, t) in enumerate(
                zip(state["open_keys"].tolist(), state["open_t"].tolist(), strict=True)
            )
        }
