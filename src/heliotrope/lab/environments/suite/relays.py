"""Round trips between machines: the fastest relay between two of them."""

from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.lab.environments.finite import FiniteEpisode
from heliotrope.lab.environments.timed import as_horizon
from heliotrope.spaces import Options
from heliotrope.validation import Array, as_whole

_ARRAY = "rtt_10ms"
_MILLISECONDS = 10.0  # of the file's unit
_RESERVED = 20  # machines 0 .. 19: their pairs are for final figures
_PURPOSE = 9


class Relays:
    """From machine i to machine j by one relay k: the value is -(rtt(i, k) + rtt(k, j)), in ms.

    ``file`` has the round trips in hundredths of a second as the array ``rtt_10ms`` (T, n, n). The
    seed determines the pair (i, j) and where the window of rows starts. The n - 2 relays are
    options without features. ``final`` selects the pairs with i or j among the machines 0 to 19;
    otherwise neither is.

    A zero off the diagonal is a missing round trip, or one below 10 ms. The median of the link's
    other round trips replaces it. ``noise`` is 0: the best value is the largest measured one.
    """

    noise = 0.0

    def __init__(self, file: Path, final: bool) -> None:
        self._values = _read(file)
        machines = self._values.shape[1]
        i, j = np.nonzero(~np.eye(machines, dtype=bool))
        chosen = (np.minimum(i, j) < _RESERVED) == final
        self._pairs = np.column_stack([i, j])[chosen]
        self._usual = _usual(self._values)
        self._domain = Options([f"relay {k}" for k in range(1, machines - 1)]).domain

    @property
    def domain(self) -> Finite:
        """The relays, each with a coordinate of its own."""
        return self._domain

    @property
    def values(self) -> NDArray[np.uint16]:
        """All round trips as in the file, (T, n, n)."""
        return self._values

    @property
    def longest(self) -> int:
        """Number of rows, the longest horizon."""
        return len(self._values)

    def pair(self, seed: int) -> tuple[int, int]:
        """The pair (i, j) of a seed's episodes."""
        i, j = self._pairs[_generator(seed, 0).integers(len(self._pairs))].tolist()
        return i, j

    def episode(self, horizon: int, seed: int) -> FiniteEpisode:
        """Return a window of ``horizon`` rows, or all rows if there are fewer."""
        steps = min(as_horizon(horizon), self.longest)
        start = int(_generator(seed, 1).integers(self.longest - steps + 1))
        i, j = self.pair(seed)
        rows = slice(start, start + steps)
        legs = self._link(rows, i, slice(None)) + self._link(rows, slice(None), j)
        values = -_MILLISECONDS * np.delete(legs, [i, j], axis=1)
        return FiniteEpisode(self._domain, values, np.zeros(steps))

    def _link(self, rows: slice, i: int | slice, j: int | slice) -> Array:
        """Round trips (T, n) of the links from i to j, without gaps."""
        measured = self._values[rows, i, j]
        return np.where(measured == 0, self._usual[i, j], measured)


def _usual(values: NDArray[np.uint16]) -> Array:
    """The median of each link's round trips above 0, (n, n)."""
    above = np.where(values == 0, np.nan, values)
    machines = np.arange(values.shape[1])
    above[:, machines, machines] = 0.0
    return np.asarray(np.nanmedian(above, axis=0))


def _read(file: Path) -> NDArray[np.uint16]:
    try:
        with np.load(file) as arrays:
            values: NDArray[np.uint16] = arrays[_ARRAY]
    except (OSError, KeyError, ValueError, TypeError, BadZipFile) as error:
        raise InputError(f"a file with the array {_ARRAY}", f"{file}: {error}") from None
    n = values.shape[-1]
    if values.ndim != 3 or values.shape[1] != n or n < 3 or np.all(values == 0, axis=0).sum() > n:
        raise InputError(f"round trips (T, n, n) in {_ARRAY}", f"shape {values.shape} in {file}")
    return values


def _generator(seed: int, part: int) -> np.random.Generator:
    return np.random.default_rng([as_whole(seed, "seed", least=0), _PURPOSE, part])
