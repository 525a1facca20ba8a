"""Steps at given times, and noise that is the same for all policies: one draw a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.errors import InputError
from heliotrope.lab.environments.episodes import Episode
from heliotrope.validation import Array, as_array, as_number, as_vector, as_whole

_MOST_STEPS = 10**7
_MOST_VALUES = 2**27  # a gigabyte
_PURPOSE = 1  # keeps the draws apart from those of others who use the bare seed


class TimedEpisode(Episode):
    """The part of an episode that is the same over all domains: times (T,) and noise (T,)."""

    def __init__(self, noise: ArrayLike, times: Array) -> None:
        self._times = times
        self._noise: list[float] = as_vector(noise, "noise", len(times)).tolist()
        self._rows = {t: row for row, t in enumerate(times.tolist())}

    @property
    def times(self) -> Array:
        """Times of the steps, (T,), rising."""
        return self._times

    def noise(self, t: float) -> float:
        """Return what is added to any value measured at one of the times."""
        return self._noise[self._row(t)]

    def _row(self, t: float) -> int:
        """Return which of the times t is."""
        row = self._rows.get(as_number(t, "t"))
        if row is None:
            raise InputError(f"one of the {len(self._times)} times of the episode", f"{t:g}")
        return row


def as_times(times: ArrayLike | None, steps: int) -> Array:
    """Return the given times (T,), which must rise, or 1 .. T."""
    given = as_array(np.arange(1.0, steps + 1.0) if times is None else times, "times", ndim=1)
    if len(given) != steps:
        raise InputError(f"{steps} times, one a row", f"{len(given)}")
    if not np.all(np.diff(given) > 0.0):
        raise InputError("times that rise", "some that repeat or fall")
    return given


def as_horizon(horizon: int, width: int = 1) -> int:
    """Return a number of steps for which a row of ``width`` values each can be held."""
    steps, most = as_whole(horizon, "horizon", least=1), min(_MOST_STEPS, _MOST_VALUES // width)
    if steps > most:
        raise InputError(f"a horizon of at most {most} steps over {width} point(s)", str(steps))
    return steps


def as_variance(noise: float) -> float:
    """Return a noise variance, which may be zero."""
    variance = as_number(noise, "noise")
    if variance < 0.0:
        raise InputError("noise, a variance, of at least zero", repr(noise))
    return variance


def gaussian_noise(variance: float, steps: int, seed: int) -> Array:
    """Draw the noise of each step, (steps,); a longer draw begins with the shorter one."""
    rng = np.random.default_rng([as_whole(seed, "seed", least=0), _PURPOSE])
    return rng.normal(scale=np.sqrt(variance), size=steps)
