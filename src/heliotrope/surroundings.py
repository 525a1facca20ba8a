"""Time, randomness and threads: what surrounds a decision, and is not a function of values."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from threading import RLock
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

from heliotrope.errors import InputError
from heliotrope.validation import as_whole

if TYPE_CHECKING:
    import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

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


class Exclusive:
    """A lock that a thread may take again; a copy of it is a new lock."""

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Exclusive], tuple[()]]:
        return Exclusive, ()


class _Shared(Protocol):
    _exclusive: Exclusive


S = TypeVar("S", bound=_Shared)


def exclusive(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Let a method wait until no other thread uses its object."""

    @wraps(method)
    def waiting(self: S, *arguments: P.args, **options: P.kwargs) -> R:
        with self._exclusive:
            return method(self, *arguments, **options)

    result: Any = waiting
    return result  # type: ignore[no-any-return]


RNGFactory: TypeAlias = "Callable[[], np.random.Generator]"


class RNGStream:
    """One generator per counter, which depends only on the seed and the counter.

    Most asks need no generator, so :meth:`at` returns a factory. The counter-based Philox is
    re-keyed in place, which is much cheaper than seeding a new generator. Therefore finish with
    one generator before making the next.

    Examples
    --------
    >>> stream = RNGStream(seed=7)
    >>> first = stream.at(1)().random()
    >>> bool(stream.at(2)().random() != first), bool(stream.at(1)().random() == first)
    (True, True)
    """

    def __init__(self, seed: int) -> None:
        self.seed = as_whole(seed, "seed", least=0)
        if self.seed >= 2**63:
            raise InputError("a seed below 2**63", str(seed))
        import numpy as np  # slow to load, and not needed by clients

        self._bits = np.random.Philox(key=[0, 0])
        self._generator = np.random.Generator(self._bits)

    def at(self, counter: int, purpose: int = 0) -> RNGFactory:
        """Return a factory of the generator of a counter; purposes have independent generators."""
        return partial(self._generator_at, counter, purpose)

    def _generator_at(self, counter: int, purpose: int) -> np.random.Generator:
        import numpy as np

        self._bits.state = {
            "bit_generator": "Philox",
            "state": {
                "counter": np.array([0, 0, 0, purpose], dtype=np.uint64),
                "key": np.array([self.seed, counter], dtype=np.uint64),
            },
            "buffer": np.zeros(4, dtype=np.uint64),
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }
        return self._generator
