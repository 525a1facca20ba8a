"""The processes of a service: uvicorn runs them, they inherit the settings, and they always end."""

import asyncio
import json
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from ipaddress import ip_address
from pathlib import Path
from threading import Thread

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heliotrope.client import read_tokens
from heliotrope.errors import InputError
from heliotrope.service import Limits, Settings
from heliotrope.service.auth import ANY_HOST
from heliotrope.service.connections import GuardedProtocol
from heliotrope.service.errors import RequestError, log, response_to
from heliotrope.service.metrics import FOLDER
from heliotrope.storage import open_store

_SHUTDOWN = 5  # seconds for streams to end when the service stops
_SLOW_START = 120  # seconds after which a worker that does not respond is restarted
_RETRY_AFTER = "3"  # seconds until another process may have taken over
_PATIENCE = 10.0  # seconds for the last writes, of which none was acknowledged
_POLL = 1.0  # seconds between two looks for the supervisor
_VARIABLE = "HELIOTROPE_SERVICE"


def run_service(
    settings: Settings, host: str, port: int, *, workers: int = 1, token_file: Path | None = None
) -> None:
    """Serve until a signal; every acknowledged request is on disk by then."""
    if workers > 1 and settings.store == "memory:":
        raise InputError("a store that processes can share", "memory:", "Use one worker.")
    _check_address(host, port)
    _report_store(settings.store)
    pass_on(settings, token_file, supervisor=os.getpid() if workers > 1 else None)
    with _shared_metrics() if workers > 1 else nullcontext():
        uvicorn.run(
            "heliotrope.service.app:worker_app",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            http=GuardedProtocol,
            ws="none",
            timeout_graceful_shutdown=_SHUTDOWN,
            timeout_worker_healthcheck=_SLOW_START,
        )


def _report_store(url: str) -> None:
    """Print where the studies are; an error is reported before any worker starts."""
    store = open_store(url)
    count = store.count()
    sys.stderr.write(f"{count} {'study' if count == 1 else 'studies'} in {store}\n")
    store.close()


def _check_address(host: str, port: int) -> None:
    """Raise an InputError if the address is in use: one line instead of a server's traceback."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as trial:  # never listens, so no client connects to it
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            got = f"{host}, port {port} ({error.strerror})"
            raise InputError("a free address", got, "Choose another --port.") from error


@contextmanager
def _shared_metrics() -> Iterator[None]:
    """A folder in which the workers keep their metrics."""
    with tempfile.TemporaryDirectory(prefix="heliotrope-") as folder:
        os.environ[FOLDER] = folder
        yield


def checked_hosts(host: str, names: Iterable[str], tokens: Iterable[str]) -> tuple[str, ...]:
    """The host names of a service at an address; InputError if others reach it without a token.

    A DNS rebinding attack calls a loopback address by the name of another site, so only the known
    names are valid there. At other addresses the token protects, and any name is valid.
    """
    names = tuple(names)
    if is_loopback(host):
        return (*Settings.hosts, host, *names)
    if not any(tokens):
        raise InputError(
            "a token for an address that others can reach",
            f"none for {host}",
            "Pass --token-file, or use 127.0.0.1.",
        )
    return names or (ANY_HOST,)


def is_loopback(host: str) -> bool:
    """Whether an address is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


# Worker processes


def pass_on(settings: Settings, token_file: Path | None, supervisor: int | None) -> None:
    """Pass the settings to the worker processes; the tokens as the path of their file.

    ``supervisor`` is the process without which they must end.
    """
    tokens = None if token_file is None else str(token_file.absolute())
    os.environ[_VARIABLE] = json.dumps([{**asdict(settings), "tokens": tokens}, supervisor])


def inherited_settings() -> tuple[Settings, int | None]:
    """The settings that the parent process passed on, and the supervisor."""
    values, supervisor = json.loads(os.environ[_VARIABLE])
    path, hosts, limits = (values.pop(name) for name in ("tokens", "hosts", "limits"))
    tokens = () if path is None else read_tokens(Path(path))
    settings = Settings(**values, tokens=tokens, hosts=tuple(hosts), limits=Limits(**limits))
    return settings, supervisor


# The end


class ShutdownMiddleware:
    """ASGI middleware that answers 503 to the requests which the server cancels when it stops."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def send_noted(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except asyncio.CancelledError:
            if started or scope["type"] != "http":
                raise
            advice = "The request may or may not have been carried out. Send it again."
            got = "a service that is shutting down"
            error = RequestError(503, "stopping", "a running service", got, advice)
            await response_to(error, {"Retry-After": _RETRY_AFTER})(scope, receive, send)


def end_soon(seconds: float = _PATIENCE) -> None:
    """End this process after some seconds even if a thread waits for a silent store."""

    def end() -> None:
        time.sleep(seconds)
        log.error("The store did not answer: the service ends without its last writes.")
        os._exit(1)

    _in_background(end)


def end_with(supervisor: int) -> None:
    """Stop this process when the process that supervises it is gone."""

    def watch() -> None:
        while os.getppid() == supervisor:
            time.sleep(_POLL)
        os.kill(os.getpid(), signal.SIGTERM)

    _in_background(watch)


def _in_background(work: Callable[[], None]) -> None:
    Thread(target=work, daemon=True).start()
