"""One trial, wherever it is run: on one thread of BLAS, and with what it raises as an outcome."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

Trial: TypeAlias = Callable[[int], Mapping[str, NDArray[Any]]]
"""Gives named arrays for a trial's number, from which it also seeds itself; can be pickled."""

Outcome: TypeAlias = tuple[int, object]
"""A trial's number, and what it returned, or a :class:`Failure`."""

Source: TypeAlias = Callable[[Sequence[int]], Generator[Outcome]]
"""Runs the trials of these numbers somewhere, and gives their outcomes in any order."""


class WorkerDiedError(Exception):
    """A worker went away in the middle of a trial."""


@dataclass(frozen=True)
class Failure:
    """What a trial raised in another process, taken to parts.

    An exception whose constructor takes other arguments than it hands on cannot be pickled whole.
    """

    parts: Sequence[Any]

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """Take an exception to parts, with its traceback as a note."""
        error.add_note(traceback.format_exc())
        return cls(error.__reduce__()[:3])

    def rebuilt(self) -> Exception:
        """The exception again."""
        kind, arguments, *state = self.parts
        try:
            error: Exception = kind(*arguments)
        except TypeError:
            error = kind.__new__(kind, *arguments)
        error.__dict__.update(*state)
        return error


def trial_seed(seed: int, number: int) -> int:
    """The seed of one trial, which no other trial shares but by a rare chance."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def here(trial: Trial, numbers: Sequence[int]) -> Generator[Outcome]:
    """Run trials in this process, one after the other."""
    for number in numbers:
        yield number, _alone(trial, number)


def attempt(trial: Trial, number: int) -> Outcome:
    """Run a trial in a worker."""
    try:
        return number, _alone(trial, number)
    except Exception as error:
        return number, Failure.of(error)


def _alone(trial: Trial, number: int) -> Mapping[str, NDArray[Any]]:
    import scipy.linalg  # noqa: F401 - only what is loaded can be limited

    with threadpool_limits(1):
        return trial(number)
