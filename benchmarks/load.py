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
from time import perf_counter
from typing import Any


@dataclass(frozen=True)
class Load:
    """Independent clients that ask and tell.

    With ``together`` a result and the next ask are one request, otherwise two. Clients take the
    studies in turn. With ``until_cut`` a client ends at its first failed request. With ``metrics``
    each result has a value for each of them.
    """

    port: int
    studies: Sequence[str]
    clients: int
    pairs: int
    together: bool = False
    until_cut: bool = False
    metrics: Sequence[str] = ()


@dataclass
class Outcome:
    """Total seconds, seconds of each request, and the acknowledged results.

    ``told`` lists study, id and value by client, in the order of its requests.
    """

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    told: list[list[tuple[str, str, Any]]] = field(default_factory=list)

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

    ask = await timed("ask")
    for step in range(load.pairs):
        number_told = (number + step) % 7 / 7
        value = dict.fromkeys(load.metrics, number_told) if load.metrics else number_told
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
    outcome = Outcome(told=[[] for _ in range(load.clients)])
    client, started = _until_cut if load.until_cut else _client, perf_counter()
    await asyncio.gather(*(client(load, number, outcome) for number in range(load.clients)))
    outcome.seconds = perf_counter() - started
    return outcome


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(_all(Load(**json.load(sys.stdin)))))))
