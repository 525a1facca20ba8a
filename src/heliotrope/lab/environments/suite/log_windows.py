"""Measured tables as environments: each episode is a window of the log."""

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


class LogWindows:
    """A log with the coordinates of its places: an episode is a window of its rows.

    The seed determines where the window starts. Times start at 1 and keep the log's pauses.
    ``noise`` is 0, and the best value at a time is the maximum of its row.
    """

    noise = 0.0

    def __init__(self, log: Path, locations: Path, prefix: str = "") -> None:
        read = read_log(log, locations)
        columns = [i for i, name in enumerate(read.names) if name.startswith(prefix)]
        if not columns or read.points is None:
            raise InputError(f"places named {prefix}...", f"none in {log}")
        self._table = Table(read.values[:, columns], read.times, read.points[columns])

    @property
    def domain(self) -> Finite:
        """The coordinates of the places."""
        return self._table.domain

    @property
    def values(self) -> Array:
        """All logged values, (T, M)."""
        return self._table.values

    @property
    def longest(self) -> int:
        """Number of rows, the longest horizon."""
        return self._table.horizon

    def episode(self, horizon: int, seed: int) -> FiniteEpisode:
        """Return a window of ``horizon`` rows, or the whole log if it has fewer."""
        steps = min(as_horizon(horizon), self.longest)
        rng = np.random.default_rng([as_whole(seed, "seed", least=0), _PURPOSE])
        start = int(rng.integers(self.longest - steps + 1))
        times = self._table.times[start : start + steps]
        values = self._table.values[start : start + steps]
        return FiniteEpisode(self.domain, values, np.zeros(steps), times - times[0] + 1.0)
