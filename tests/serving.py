"""Services to test: in a thread of this process, or as a separate process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from typer.testing import CliRunner

from cluster import wait_for
from heliotrope.cli import app
from heliotrope.errors import HeliotropeError
from heliotrope.service.connections import GuardedProtocol
from heliotrope.storage import Event, open_store

OPTIONS = {"options": ["a", "b", "c"]}
SPACE = {"space": {"x": {"type": "real", "low": 0, "high": 1}}}


@contextmanager
def serving(service: Starlette, **headers: str) -> Iterator[httpx.Client]:
    """An application on a port of this machine, and a client of it."""
    server = uvicorn.Server(
        uvicorn.Config(
            service,
            port=0,
            http=GuardedProtocol,
            log_level="warning",
            ws="none",
            timeout_graceful_shutdown=1,
        )
    )
    thread = Thread(target=server.run)
    thread.start()
    wait_for(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with _client(f"http://127.0.0.1:{port}", headers) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


def _client(url: str, headers: Mapping[str, str] | None = None) -> httpx.Client:
    """A client that gives up an idle connection well before the service does, after 5 seconds."""
    idle = httpx.Limits(keepalive_expiry=1.0)
    return httpx.Client(base_url=url, timeout=60.0, headers=headers, limits=idle)


@dataclass
class Command:
    """``heliotrope serve`` as a process, with the processes that it starts."""

    process: subprocess.Popen[str]
    url: str
    lines: list[str] = field(default_factory=list)

    def client(self) -> httpx.Client:
        return _client(self.url)

    def stop(self, kind: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal to the process, and wait for it to end."""
        self.process.send_signal(kind)
        return self.process.wait(timeout=60)

    def kill(self) -> None:
        """End all processes at once, as a loss of power would."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def command(store: str, *options: str) -> Iterator[Command]:
    """The command on a free port; killed at the end."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "heliotrope",
            "serve",
            "--store",
            store,
            "--port",
            "0",
            *options,
        ],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    found = Command(process, "")
    reader = Thread(target=_read, args=(process, found.lines))
    reader.start()
    try:
        wait_for(lambda: _url(found.lines) or process.poll() is not None)
        found.url = _url(found.lines)
        wait_for(lambda: process.poll() is not None or _answers(found.url))
        yield found
    finally:
        found.kill()
        reader.join()


def refused(store: str, *options: str) -> str:
    """What the command says when it does not start."""
    done = CliRunner().invoke(app, ["serve", "--store", store, "--port", "0", *options])
    assert done.exit_code == 1
    return done.stderr


def post(client: httpx.Client, path: str, **body: Any) -> Any:
    """The answer to a request that has to succeed."""
    response = client.post(f"/api/studies{path}", json=body)
    assert response.status_code in (200, 201), response.text
    return response.json()


def error_of(response: httpx.Response) -> tuple[int, str, str]:
    """Status, code and field of an error, whose message consists of its parts."""
    body = response.json()
    assert set(body) == {"error"}
    said = dict(body["error"])
    code, message = said.pop("code"), said.pop("message")
    assert message == str(HeliotropeError(**said))
    assert "Traceback" not in response.text
    return response.status_code, code, said["field"]


def log_of(store: str, name: str) -> list[Event]:
    """The events of a study, from its store."""
    opened = open_store(store)
    try:
        return opened.events(opened.find(name).uid)
    finally:
        opened.close()


def messages(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Server-sent events, of which the number and the data agree."""
    number = 0
    for line in lines:
        if line.startswith("id: "):
            number = int(line[4:])
        elif line.startswith("data: "):
            event = json.loads(line[6:])
            assert event["seq"] == number
            yield event


def _read(process: subprocess.Popen[str], lines: list[str]) -> None:
    assert process.stderr is not None
    with process.stderr:
        lines.extend(iter(process.stderr.readline, ""))


def _url(lines: list[str]) -> str:
    found = re.search(r"running on (http://[^ ]+)", "".join(lines))
    return found[1] if found else ""


def _answers(url: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{url}/healthz", timeout=60.0).status_code == 200
    return False
