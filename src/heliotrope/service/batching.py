"""Requests to one study in batches, which share a thread and a sync to disk.

Requests that arrive during one batch form the next. A thread for each request would cost more
processor time than the decisions themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

from heliotrope.study import Study
from heliotrope.study.commands import Command

T = TypeVar("T")
_Waiting: TypeAlias = tuple[Command[Any], asyncio.Future[Any]]

_LARGEST = 64  # requests in a batch: the first waits for the last


class Batcher:
    """The batches of one study, in one event loop."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._waiting: list[_Waiting] = []
        self._is_busy = False

    async def do(self, command: Command[T]) -> T:
        """Carry out a command, and return its result once it is on disk."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._waiting.append((command, future))
        if not self._is_busy:
            self._is_busy = True
            loop.call_soon(self._start, loop)  # so that simultaneous requests join the batch
        return await future

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        batch, self._waiting = self._waiting[:_LARGEST], self._waiting[_LARGEST:]
        self._is_busy = bool(batch)
        if batch:
            loop.run_in_executor(None, self._run, loop, batch)

    def _run(self, loop: asyncio.AbstractEventLoop, batch: Sequence[_Waiting]) -> None:
        outcomes: list[Any] = [RuntimeError("The study failed.")] * len(batch)
        try:
            outcomes = self._study.do_all([command for command, _ in batch])
        finally:
            loop.call_soon_threadsafe(self._finish, loop, batch, outcomes)

    def _finish(
        self, loop: asyncio.AbstractEventLoop, batch: Sequence[_Waiting], outcomes: Sequence[Any]
    ) -> None:
        try:
            _resolve(batch, outcomes)
        finally:
            self._start(loop)


def _resolve(batch: Sequence[_Waiting], outcomes: Sequence[Any]) -> None:
    for (_, future), outcome in zip(batch, outcomes, strict=True):
        if future.done():  # the client has disconnected
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
