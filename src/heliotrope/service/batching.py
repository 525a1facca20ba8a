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
        self._task: asyncio.Task[None] | None = None

    async def do(self, command: Command[T]) -> T:
        """Carry out a command, and return its result once it is on disk."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((command, future))
        if self._task is None:  # it starts a little later: simultaneous requests join the batch
            self._task = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:_LARGEST], self._waiting[_LARGEST:]
                await self._run(batch)
        finally:
            self._task = None

    async def _run(self, batch: Sequence[_Waiting]) -> None:
        commands, loop = [command for command, _ in batch], asyncio.get_running_loop()
        try:
            outcomes = await loop.run_in_executor(None, self._study.do_all, commands)
        except Exception as error:
            outcomes = [error] * len(batch)
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            if future.done():  # the client has disconnected
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)
