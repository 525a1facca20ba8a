"""Objects that one thread uses at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


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
