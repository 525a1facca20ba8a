"""Measured tables as worlds: each episode is another part of the log."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.lab.environments.finite import FiniteEpisode
from heliotrope.lab.environments.table import Table
from heliotrope.lab.environments.timed import as_horizon
from heliotrope.lab.logs import read_log
from heliotrope.validation import Array, as_whole

_PURPOSE = 5


class Windows:
    """A log with the places' coordinates: an episode is a window of its rows.

    The seed says where the window begins; one as long as the log is the whole log. Times begin at
    1 and keep the log's pauses. Nothing is added to what was measured: ``noise`` is 0, and the
    best of a time is the highest value of its row.
    """

    noise = 0.0

    def __init__(self, log: Path, locations: Path, prefix: str = "") -> None:
        read = read_log(log, locations)
        columns = [i for i, name in enumerate(read.names) if name.startswith(prefix)]
        if not columns or read.points is None:
            raise InputError(f"places called {prefix}...", f"none in {log}")
        self._table = Table(read.values[:, columns], read.times, read.points[columns])

    @property
    def domain(self) -> Finite:
        """The places, by their coordinates."""
        return self._table.domain

    @property
    def values(self) -> Array:
        """All that was measured, (T, M)."""
        return self._table.values

    @property
    def longest(self) -> int:
        """Number of rows, the longest horizon."""
        return self._table.horizon

    def episode(self, horizon: int, seed: int) -> FiniteEpisode:
        """Return a window of so many rows, or the whole log if that has fewer."""
        steps = min(as_horizon(horizon), self.longest)
        rng = np.random.default_rng([as_whole(seed, "seed", least=0), _PURPOSE])
        start = int(rng.integers(self.longest - steps + 1))
        times = self._table.times[start : start + steps]
        values = self._table.values[start : start + steps]
        return FiniteEpisode(self.domain, values, np.zeros(steps), times - times[0] + 1.0)
