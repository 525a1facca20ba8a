"""Logged data as an environment: a policy sees the logged value of each place it chooses."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.lab.environments.finite import FiniteEpisode
from heliotrope.lab.environments.timed import as_horizon, as_times, as_variance, gaussian_noise
from heliotrope.validation import Array, as_array, as_table


class Table:
    """Logged values (T, M): rows are times, columns are places.

    Parameters
    ----------
    values
        One row per time, one column per place. Linear interpolation in time fills a gap (NaN or
        masked) within its column; before the first and after the last value that value is
        repeated. ``filled`` is the share of gaps.
    times
        Increasing times (T,), by default 1 .. T, at which the policy is asked.
    points
        Coordinates (M, d) of the places. The default, their numbers 0 .. M - 1, is what a
        :class:`~heliotrope.kernels.Tabulated` kernel needs.
    noise
        Variance of noise added to the values; 0 by default, because logged values are noisy.

    Notes
    -----
    The best value at a time is the maximum of its row.

    Examples
    --------
    >>> table = Table([[1.0, 5.0], [float("nan"), 4.0], [3.0, 3.0]])
    >>> table.values[1].tolist(), round(table.filled, 3)
    ([2.0, 4.0], 0.167)
    """

    def __init__(
        self,
        values: ArrayLike,
        times: ArrayLike | None = None,
        points: ArrayLike | None = None,
        noise: float = 0.0,
    ) -> None:
        logged, gaps = _with_gaps(values)
        self._times = as_times(times, len(logged))
        self._values = as_array(_filled(logged, gaps, self._times), "values", ndim=2)
        self._domain = Finite(np.arange(logged.shape[1]) if points is None else points)
        if len(self._domain) != logged.shape[1]:
            raise InputError(f"{logged.shape[1]} points, one per column", f"{len(self._domain)}")
        self._noise = as_variance(noise)
        self._share = float(gaps.mean())

    @property
    def domain(self) -> Finite:
        """Points that can be measured."""
        return self._domain

    @property
    def times(self) -> Array:
        """Times of the rows, (T,)."""
        return self._times

    @property
    def values(self) -> Array:
        """Values (T, M), gaps filled."""
        return self._values

    @property
    def filled(self) -> float:
        """Share of the values that were filled gaps."""
        return self._share

    @property
    def horizon(self) -> int:
        """Number of rows, T."""
        return len(self._times)

    def episode(self, horizon: int | None = None, seed: int = 0) -> FiniteEpisode:
        """Return the first ``horizon`` rows, by default all; the seed determines only the noise."""
        steps = self.horizon if horizon is None else as_horizon(horizon)
        if steps > self.horizon:
            raise InputError(f"a horizon of at most {self.horizon} rows", str(steps))
        drawn = gaussian_noise(self._noise, steps, seed)
        return FiniteEpisode(self._domain, self._values[:steps], drawn, self._times[:steps])


def _with_gaps(values: ArrayLike) -> tuple[Array, NDArray[np.bool_]]:
    """Return the values, 0 in a gap, and a mask of the gaps."""
    table = as_table(values, "values")
    gaps = np.isnan(table)
    numbers = as_array(np.where(gaps, 0.0, table), "values", ndim=2)
    if not numbers.size:
        raise InputError("values with at least one row and one column", f"shape {numbers.shape}")
    return numbers, gaps


def _filled(logged: Array, gaps: NDArray[np.bool_], times: Array) -> Array:
    """Interpolate each column in time."""
    empty = np.flatnonzero(gaps.all(axis=0))
    if len(empty):
        raise InputError(
            "a value in every column", f"none in column {empty[0]}", "Remove empty columns."
        )
    filled = logged.copy()
    for j in np.flatnonzero(gaps.any(axis=0)):
        known = ~gaps[:, j]
        filled[:, j] = np.interp(times, times[known], logged[known, j])
    return filled
