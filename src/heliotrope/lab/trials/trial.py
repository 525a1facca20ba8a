"""One trial: it runs on one thread of BLAS, and an exception is an outcome."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

Trial: TypeAlias = Callable[[int], Mapping[str, NDArray[Any]]]
"""Maps a trial's number, which also seeds it, to named arrays. It must be picklable."""

Outcome: TypeAlias = tuple[int, object]
"""A trial's number, and its result or a :class:`Failure`."""

TrialRunner: TypeAlias = Callable[[Sequence[int]], Generator[Outcome]]
"""Runs the trials of these numbers and yields their outcomes in any order."""


class WorkerDiedError(Exception):
    """A worker died during a trial."""


@dataclass(frozen=True)
class Failure:
    """An exception from another process, as parts that can be pickled.

    An exception whose constructor takes other arguments than ``args`` cannot be pickled directly.
    """

    parts: Sequence[Any]

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """Split an exception into parts, with its traceback as a note."""
        error.add_note(traceback.format_exc())
        return cls(error.__reduce__()[:3])

    def rebuilt(self) -> Exception:
        """Rebuild the exception."""
        kind, arguments, *state = self.parts
        try:
            error: Exception = kind(*arguments)
        except TypeError:
            error = kind.__new__(kind, *arguments)
        error.__dict__.update(*state)
        return error


def trial_seed(seed: int, number: int) -> int:
    """Return the seed of one trial; two trials almost never share one."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def in_this_process(trial: Trial, numbers: Sequence[int]) -> Generator[Outcome]:
    """Run trials one after the other in this process."""
    for number in numbers:
        yield number, _single_threaded(trial, number)


def attempt(trial: Trial, number: int) -> Outcome:
    """Run a trial in a worker."""
    try:
        return number, _single_threaded(trial, number)
    except Exception as error:
        return number, Failure.of(error)


def _single_threaded(trial: Trial, number: int) -> Mapping[str, NDArray[Any]]:
    import scipy.linalg  # noqa: F401 - the limit applies to loaded libraries only

    with threadpool_limits(1):
        return trial(number)
