"""``heliotrope serve`` as a process that tests can kill and start again on the same port."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from cluster import wait_for


class Served:
    """A service of a store, with a token if one is given."""

    def __init__(
        self,
        store: str,
        token: str | None = None,
        *,
        workers: int = 1,
        files: int | None = None,
        estimate_in_requests: bool = False,
    ) -> None:
        self.store, self._token = store, token
        self._estimates = ["--estimate-in-requests"] if estimate_in_requests else []
        self._workers, self._files = workers, files  # processes, and open files of each
        self._reserved = _reserve_port()
        self._port = self._reserved.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._folder = tempfile.TemporaryDirectory()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process, and wait until it answers."""
        command = [sys.executable, "-m", "heliotrope", "serve", "--store", self.store]
        command += ["--port", str(self._port), "--workers", str(self._workers), *self._estimates]
        if self._token is not None:
            file = Path(self._folder.name) / "tokens"
            file.write_text(f"{self._token}\n")
            command += ["--token-file", str(file)]
        self._process = subprocess.Popen(
            command,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=self._limit_files,
        )
        wait_for(self._answers)

    @property
    def port(self) -> int:
        return int(self._port)

    def _limit_files(self) -> None:
        if self._files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self._files, self._files))

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running process."""
        assert self._process is not None
        return self._process

    def forget(self) -> None:
        """Note that the process has ended."""
        self.process.wait()
        self._process = None

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
        self._reserved.close()
        self._folder.cleanup()

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"the service ended with {self._process.returncode}"
        try:
            return httpx.get(f"{self.url}/healthz", timeout=5.0).status_code == 200
        except httpx.TransportError:
            return False


def _reserve_port() -> socket.socket:
    """A socket on a port that no other process gets, even while the service is down.

    It never listens. So a process that names the port can listen there: both allow its reuse.
    """
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved
