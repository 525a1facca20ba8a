"""The service on uvicorn, in one process or several."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import uvicorn

from heliotrope.errors import InputError
from heliotrope.service.metrics import FOLDER
from heliotrope.service.settings import Settings, hand_on
from heliotrope.storage import open_store

_PATIENCE = 5  # seconds for streams to end when the service stops
_SLOW_START = 120  # seconds that a worker may take on a busy machine before it is started anew


def serve(
    settings: Settings, host: str, port: int, *, workers: int = 1, token_file: Path | None = None
) -> None:
    """Serve until a signal comes; what was acknowledged by then is on disk."""
    if workers > 1 and settings.store == "memory:":
        raise InputError("a store that processes can share", "memory:", "Use one worker.")
    _check_address(host, port)
    open_store(settings.store).close()  # says what is wrong before any worker is started
    hand_on(settings, token_file)
    with _shared_numbers() if workers > 1 else nullcontext():
        uvicorn.run(
            "heliotrope.service.app:from_parent",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=_PATIENCE,
            timeout_worker_healthcheck=_SLOW_START,
        )


def _check_address(host: str, port: int) -> None:
    """Refuse one that cannot be listened at, in one line instead of a server's many."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as trial:  # which never listens: no client is met by it
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            got = f"{host}, port {port} ({error.strerror})"
            raise InputError("an address that is free", got, "Say --port.") from error


@contextmanager
def _shared_numbers() -> Iterator[None]:
    """A folder in which the processes keep their metrics, to be added up."""
    with tempfile.TemporaryDirectory(prefix="heliotrope-") as folder:
        os.environ[FOLDER] = folder
        yield
