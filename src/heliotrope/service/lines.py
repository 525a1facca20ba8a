"""Requests to one study stand in line: all that came while others were served are served next.

They take one thread and one sync to disk, where a thread for each would cost more of the processor
than deciding does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

from heliotrope.study import Study
from heliotrope.study.commands import Command

T = TypeVar("T")
_Waiting: TypeAlias = tuple[Command[Any], asyncio.Future[Any]]

_MOST = 64  # served together: the first of them waits for the last


class Line:
    """The line to a study, of one event loop."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._waiting: list[_Waiting] = []
        self._is_busy = False

    async def do(self, command: Command[T]) -> T:
        """The result of a command, once it is on disk."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._waiting.append((command, future))
        if not self._is_busy:
            self._is_busy = True
            loop.call_soon(self._start, loop)  # with all that come at the same moment
        return await future

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        first, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
        self._is_busy = bool(first)
        if first:
            loop.run_in_executor(None, self._work, loop, first)

    def _work(self, loop: asyncio.AbstractEventLoop, served: Sequence[_Waiting]) -> None:
        outcomes: list[Any] = [RuntimeError("The study failed.")] * len(served)
        try:
            outcomes = self._study.do_all([command for command, _ in served])
        finally:
            loop.call_soon_threadsafe(self._next, loop, served, outcomes)

    def _next(
        self, loop: asyncio.AbstractEventLoop, served: Sequence[_Waiting], outcomes: Sequence[Any]
    ) -> None:
        try:
            _answer(served, outcomes)
        finally:
            self._start(loop)


def _answer(waiting: Sequence[_Waiting], outcomes: Sequence[Any]) -> None:
    for (_, future), outcome in zip(waiting, outcomes, strict=True):
        if future.done():  # the client is gone
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
