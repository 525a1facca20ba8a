"""Many lightweight clients of a service in a separate process: ``python -m benchmarks.load``.

It reads a :class:`Load` from standard input and writes an :class:`Outcome`, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from random import random
from time import perf_counter
from typing import Any

COST, EVERY = 0.3, 5  # of a measurement; and the steps between two times that a value is applied


@dataclass(frozen=True)
class Load:
    """Independent clients that ask and tell.

    With ``together`` a result and the next ask are one request, otherwise two. Clients take the
    studies in turn. With ``until_cut`` a client ends at its first failed request. With ``metrics``
    each result has a value for each of them. With ``applied``, the name of a parameter from 0 to 1,
    some asks have a cost, and clients say now and then that the system runs with another value.
    """

    port: int
    studies: Sequence[str]
    clients: int
    pairs: int
    together: bool = False
    until_cut: bool = False
    metrics: Sequence[str] = ()
    applied: str | None = None


@dataclass
class Outcome:
    """Total seconds, seconds of each request, and what was acknowledged.

    ``told`` lists study, id and value by client, and ``applied`` the parameters that run, in the
    order of its requests. ``held`` counts the asks that were answered with a time to wait for.
    """

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    told: list[list[tuple[str, str, Any]]] = field(default_factory=list)
    applied: list[list[dict[str, float]]] = field(default_factory=list)
    held: int = 0

    @property
    def pairs(self) -> int:
        """Number of acknowledged results."""
        return sum(len(one) for one in self.told)

    @property
    def rate(self) -> float:
        """Pairs per second."""
        return self.pairs / self.seconds


class RefusedError(Exception):
    """A response without success."""


def run(load: Load) -> Outcome:
    """Run a load in another process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load"],
        input=json.dumps(asdict(load)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Outcome(**json.loads(done.stdout))


class Connection:
    """A persistent connection with a minimal HTTP client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, port: int) -> Connection:
        """Connect to this machine."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Return the response to a request; RefusedError."""
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\n\r\n"
        )
        self._writer.write(head.encode() + data)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(answer.partition(b"content-length:")[2].partition(b"\r\n")[0])
        content = await self._reader.readexactly(length)
        if answer[9:10] != b"2":
            raise RefusedError(f"{path}: {content.decode()}")
        return json.loads(content)

    def close(self) -> None:
        """Close it."""
        self._writer.close()


async def _client(load: Load, number: int, outcome: Outcome) -> None:
    name, told = load.studies[number % len(load.studies)], outcome.told[number]
    path = f"/api/studies/{name}"
    connection = await Connection.to(load.port)

    async def timed(verb: str, **body: Any) -> Any:
        started = perf_counter()
        answer = await connection.post(f"{path}/{verb}", body)
        outcome.latencies.append(perf_counter() - started)
        return answer

    async def live() -> None:
        """Say that another value runs, and ask with a cost."""
        assert load.applied is not None
        params = {load.applied: random()}
        await timed("applied", params=params)
        outcome.applied[number].append(params)
        asked = await timed("ask", cost=COST)
        outcome.held += "hold_until" in asked
        if "id" in asked:
            await timed("cancel", id=asked["id"])

    ask = await timed("ask")
    for step in range(load.pairs):
        if load.applied is not None and step % EVERY == 0:
            await live()
        measured = random()
        value = dict.fromkeys(load.metrics, measured) if load.metrics else measured
        more: dict[str, Any] = {"ask": {}} if load.together else {}
        answer = await timed("tell", id=ask["id"], value=value, **more)
        told.append((name, ask["id"], value))
        ask = answer["ask"] if load.together else await timed("ask")
    await connection.post(f"{path}/cancel", {"id": ask["id"]})
    connection.close()


async def _until_cut(load: Load, number: int, outcome: Outcome) -> None:
    with suppress(OSError, EOFError, RefusedError):
        await _client(load, number, outcome)


async def _all(load: Load) -> Outcome:
    outcome = Outcome(told=_lists(load), applied=_lists(load))
    client, started = _until_cut if load.until_cut else _client, perf_counter()
    await asyncio.gather(*(client(load, number, outcome) for number in range(load.clients)))
    outcome.seconds = perf_counter() - started
    return outcome


def _lists(load: Load) -> list[list[Any]]:
    return [[] for _ in range(load.clients)]


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(_all(Load(**json.load(sys.stdin)))))))
