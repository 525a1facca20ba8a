"""Time and randomness from outside, in one object: a simulation replaces it.

Nothing else that reaches a log depends on when, or on which machine, it is decided.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

Now: TypeAlias = Callable[[], float]
"""Returns seconds since 1970; tests pass their own."""

_MARKS = 2**32


@dataclass(frozen=True)
class Moment:
    """What one command takes from outside: the wall time, and the mark of the id that it may give.

    With it a decision is a function of values alone.
    """

    now: float
    mark: int


@dataclass(frozen=True)
class Surroundings:
    """A wall clock, and ``below(n)``: a random whole number from 0 to n - 1."""

    now: Now = time.time
    below: Callable[[int], int] = secrets.randbelow

    def moment(self) -> Moment:
        """The wall time and a new mark."""
        return Moment(self.now(), self.below(_MARKS))

    def uid(self) -> str:
        """A new identifier of 32 hexadecimal digits."""
        return f"{self.below(2**128):032x}"


REAL = Surroundings()
"""The clock of this machine, and the random numbers of its operating system."""
