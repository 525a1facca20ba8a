"""The client for asyncio: the calls of :class:`heliotrope.client.service.Service`, awaited."""

from __future__ import annotations

import os
from asyncio import sleep
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from heliotrope.client import calls
from heliotrope.client.calls import StudyCalls
from heliotrope.client.reading import AsyncReadsAtService
from heliotrope.client.study import AtService
from heliotrope.client.transport import Attempt, Body, Calls, Connections, connection, decodable
from heliotrope.storage.protocol import StudyInfo
from heliotrope.study.command_fields import Command
from heliotrope.study.creating import AsyncCreatesAtService
from heliotrope.study.verbs import AsyncStudyVerbs

if TYPE_CHECKING:
    from heliotrope.study.creation import NewStudy

T = TypeVar("T")


class AsyncTransport(Connections[httpx.AsyncClient]):
    """Carries out calls within one event loop."""

    @classmethod
    def to(cls, url: str, token: str | None, timeout: float, retries: int) -> AsyncTransport:
        """A transport to the service at a URL."""
        return cls(httpx.AsyncClient(**connection(url, token, timeout, retries)), timeout, retries)

    async def run(self, calls: Calls[T]) -> T:
        """Carry out calls, and return their result."""
        steps, outcome = self._steps(calls), None
        try:
            while True:
                step = steps.send(outcome)
                if isinstance(step, httpx.Request):
                    outcome = await self._attempt(step)
                else:
                    await sleep(step)
        except StopIteration as done:
            result: T = done.value
            return result

    async def close(self) -> None:
        await self._http.aclose()

    async def _attempt(self, request: httpx.Request) -> Attempt:
        body = Body(request, self._timeout)
        try:
            with decodable():
                async with aclosing(await self._http.send(request, stream=True)) as response:
                    async for chunk in response.aiter_bytes():
                        body.add(chunk)
        except httpx.TransportError as error:
            return error
        return body.reply(response)


class AsyncService(AsyncCreatesAtService["AsyncStudy"]):
    """The studies of a service; ``async with`` closes its connections at the end."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def _create(self, new: NewStudy, exist_ok: bool) -> AsyncStudy:
        return await self.create_from(new.name, calls.description(new), exist_ok=exist_ok)

    async def create_from(
        self, name: str, description: Mapping[str, Any], *, exist_ok: bool = False
    ) -> AsyncStudy:
        """Create a study from its description as JSON, or with ``exist_ok`` continue it."""
        return await self._study(calls.create(name, description, exist_ok))

    async def open(self, name: str) -> AsyncStudy:
        """Open an existing study."""
        return await self._study(calls.open_study(name))

    async def batch(self, commands: Sequence[tuple[AsyncStudy, Command[Any]]]) -> list[Any]:
        """Carry out commands to many studies, decided together and synced once.

        Returns the result of each, or the exception that it would have raised.
        """
        return await self._transport.run(calls.batch(commands, AsyncStudy))

    async def studies(self) -> list[StudyInfo]:
        """All studies, by name."""
        return await self._transport.run(calls.list_studies())

    async def _study(self, made: Calls[StudyCalls]) -> AsyncStudy:
        return AsyncStudy(self._transport, await self._transport.run(made))

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> AsyncService:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncStudy(AtService, AsyncReadsAtService, AsyncStudyVerbs):
    """A study at a service, for asyncio; the methods are those of :class:`heliotrope.Study`."""

    def __init__(self, transport: AsyncTransport, calls: StudyCalls) -> None:
        self._transport, self._calls = transport, calls

    async def do(self, command: Command[T]) -> T:
        return await self._run(self._calls.do(command))

    async def _run(self, calls: Calls[T]) -> T:
        return await self._transport.run(calls)

    async def save(self, path: str | os.PathLike[str]) -> None:
        """Write the setup, the events and a snapshot to one file."""
        from heliotrope.serialization.archive import write_file  # not needed to ask and tell

        write_file(path, await self.file())
