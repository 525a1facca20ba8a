"""Episodes over a Finite domain: a table of true values, and possibly one of measured values."""

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.lab.environments.episodes import Place
from heliotrope.lab.environments.timed import TimedEpisode, as_times
from heliotrope.validation import Array, as_array


class FiniteEpisode(TimedEpisode):
    """An episode over a Finite domain: true values (T, M) and noise (T,).

    ``times`` increase; by default they are 1 .. T.

    Examples
    --------
    >>> episode = FiniteEpisode(Finite([0.0, 0.5]), values=[[1.0, 3.0]], noise=[0.25])
    >>> episode.measure(1, 0), episode.regret(1, 0)
    (1.25, 2.0)
    """

    def __init__(
        self, domain: Finite, values: ArrayLike, noise: ArrayLike, times: ArrayLike | None = None
    ) -> None:
        self._domain, self._values = domain, as_array(values, "values", ndim=2)
        steps, width = self._values.shape
        if width != len(domain) or not steps:
            raise InputError(f"rows of {len(domain)} values", f"shape {self._values.shape}")
        super().__init__(noise, as_times(times, steps))
        self._best: list[float] = self._values.max(axis=1).tolist()

    @property
    def domain(self) -> Finite:
        """Points that can be measured."""
        return self._domain

    @property
    def values(self) -> Array:
        """True values, (T, M): rows are times, columns are places."""
        return self._values

    def value(self, t: float, place: Place) -> float:
        """Return the true value of a place, an index, at time t."""
        return float(self._values[self._row(t), self._column(place)])

    def best(self, t: float) -> float:
        """Return the highest value at time t."""
        return self._best[self._row(t)]

    def _column(self, place: Place) -> int:
        if not isinstance(place, (int, np.integer)) or not 0 <= place < len(self._domain):
            raise InputError(f"an index from 0 to {len(self._domain) - 1}", repr(place))
        return int(place)


class MeasuredEpisode(FiniteEpisode):
    """An episode with a table of measured values (T, M) beside the true ones.

    Examples
    --------
    >>> domain = Finite([0.0, 0.5])
    >>> episode = MeasuredEpisode(domain, [[1.0, 3.0]], noise=[0.25], measured=[[1.25, -9.0]])
    >>> episode.value(1, 1), episode.measure(1, 1)
    (3.0, -9.0)
    """

    def __init__(
        self, domain: Finite, values: ArrayLike, noise: ArrayLike, measured: ArrayLike
    ) -> None:
        super().__init__(domain, values, noise)
        self._measured = as_array(measured, "measured", ndim=2)
        if self._measured.shape != self._values.shape:
            raise InputError(
                f"measured values of shape {self._values.shape}", f"{self._measured.shape}"
            )

    def measure(self, t: float, place: Place) -> float:
        """Return the measured value of a place, an index, at time t."""
        return float(self._measured[self._row(t), self._column(place)])
