"""The service on uvicorn, in one process or several."""

import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import uvicorn

from heliotrope.errors import InputError
from heliotrope.service.connections import GuardedProtocol
from heliotrope.service.metrics import FOLDER
from heliotrope.service.settings import Settings, pass_on
from heliotrope.storage import open_store

_SHUTDOWN = 5  # seconds for streams to end when the service stops
_SLOW_START = 120  # seconds after which a worker that does not respond is restarted


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
