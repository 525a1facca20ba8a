"""A study that the service uses: its requests form batches, and its memory is measured."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias, TypeVar

from heliotrope.service.measuring import measured_bytes
from heliotrope.study import Study
from heliotrope.study.command_fields import Command

T = TypeVar("T")
_Waiting: TypeAlias = tuple[Command[Any], asyncio.Future[Any]]
Using: TypeAlias = "Callable[[HeldStudy], AbstractContextManager[None]]"
"""Admits a request that uses the state of a study."""

_LARGEST_BATCH = 64  # requests: the first waits for the last
_SELDOM = 64  # most events between two measurements; until then their number doubles


class HeldStudy:
    """A study whose requests form batches, which share a thread and a sync to disk.

    Requests that arrive during one batch form the next. A thread for each request would cost more
    processor time than the decisions themselves. ``size`` is the number of bytes of its state, at
    first as expected, later as measured.
    """

    def __init__(self, study: Study, using: Using = lambda _: nullcontext()) -> None:
        self.study, self._using = study, using
        self.size, self.is_loaded, self.users = 0, False, 0  # users: requests
        self._measured = 0  # number of the event after which it was measured
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None

    def measure(self) -> int | None:
        """The bytes of the state, or None if they have hardly changed."""
        state, base = self.study.in_memory()
        if state is None or state.seq < min(2 * self._measured, self._measured + _SELDOM):
            return None
        self._measured = state.seq
        return measured_bytes((state, base))

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
                batch = self._waiting[:_LARGEST_BATCH]
                del self._waiting[:_LARGEST_BATCH]
                await self._run(batch)
        finally:
            self._task = None

    async def _run(self, batch: Sequence[_Waiting]) -> None:
        commands, loop = [command for command, _ in batch], asyncio.get_running_loop()
        try:
            outcomes = await loop.run_in_executor(None, self._do_all, commands)
        except Exception as error:
            outcomes = [error] * len(batch)
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            if future.done():  # the client has disconnected
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    def _do_all(self, commands: Sequence[Command[Any]]) -> list[Any]:
        with self._using(self):
            return self.study.do_all(commands)
