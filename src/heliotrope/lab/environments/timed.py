"""Episodes with given times and one noise value per time, the same for all policies."""

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.errors import InputError
from heliotrope.lab.environments.episodes import Episode
from heliotrope.validation import Array, as_array, as_number, as_vector, as_whole

_MOST_STEPS = 10**7
_MOST_VALUES = 2**27  # a gigabyte
_PURPOSE = 1  # separates this stream from others with the same seed


class TimedEpisode(Episode):
    """The part of an episode that does not depend on the domain: times (T,) and noise (T,)."""

    def __init__(self, noise: ArrayLike, times: Array) -> None:
        self._times = times
        self._noises = as_vector(noise, "noise", len(times))
        self._noise: list[float] = self._noises.tolist()
        self._rows = {t: row for row, t in enumerate(times.tolist())}

    @property
    def times(self) -> Array:
        """Increasing times of the steps, (T,)."""
        return self._times

    @property
    def noises(self) -> Array:
        """The usual noise at each time, (T,)."""
        return self._noises

    def noise(self, t: float) -> float:
        """Return the usual noise of a measurement at time t."""
        return self._noise[self._row(t)]

    def _row(self, t: float) -> int:
        """Return the row of time t."""
        row = self._rows.get(as_number(t, "t"))
        if row is None:
            raise InputError(f"one of the {len(self._times)} times of the episode", f"{t:g}")
        return row


def as_times(times: ArrayLike | None, steps: int) -> Array:
    """Return the given times (T,), which must increase, or 1 .. T."""
    given = as_array(np.arange(1.0, steps + 1.0) if times is None else times, "times", ndim=1)
    if len(given) != steps:
        raise InputError(f"{steps} times, one per row", f"{len(given)}")
    if not np.all(np.diff(given) > 0.0):
        raise InputError("increasing times", "some that repeat or decrease")
    return given


def as_horizon(horizon: int, width: int = 1) -> int:
    """Return the horizon if that many rows of ``width`` values fit in memory."""
    steps, most = as_whole(horizon, "horizon", least=1), min(_MOST_STEPS, _MOST_VALUES // width)
    if steps > most:
        raise InputError(f"a horizon of at most {most} steps over {width} point(s)", str(steps))
    return steps


def as_variance(noise: float) -> float:
    """Return a noise variance of at least 0."""
    variance = as_number(noise, "noise")
    if variance < 0.0:
        raise InputError("noise, a variance, of at least 0", repr(noise))
    return variance


def gaussian_noise(variance: float, steps: int, seed: int) -> Array:
    """Draw the noise of each step, (steps,); a longer draw starts with the shorter one."""
    rng = np.random.default_rng([as_whole(seed, "seed", least=0), _PURPOSE])
    return rng.normal(scale=np.sqrt(variance), size=steps)
