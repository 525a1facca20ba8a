"""A PostgreSQL server that is stopped: it accepts bytes and never answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from heliotrope.errors import StoreError
from heliotrope.service.metrics import FOLDER, forget_dead_workers
from heliotrope.storage import Append, GroupCommit, open_store, postgresql
from heliotrope.study import Study
from postgres import NoServerError, Server, server
from served import Served


@pytest.fixture
def own_server() -> Iterator[Server]:
    try:
        with server() as found:
            yield found
    except NoServerError as error:
        pytest.skip(str(error))


@contextmanager
def silent(found: Server) -> Iterator[None]:
    """Stop all processes of a server for a while."""
    parent = psutil.Process(found.process.pid)
    processes = [parent, *parent.children(recursive=True)]
    for one in processes:
        one.suspend()
    try:
        yield
    finally:
        for one in processes:
            one.resume()


def test_every_call_ends_and_later_ones_succeed(
    own_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("READ", "WRITE", "CONNECT"):
        monkeypatch.setattr(postgresql, name, 1)
    with closing(open_store(own_server.new_place())) as store:
        uid = store.create("pump", {}, at=0.0)
        calls = (
            lambda: store.append([Append(uid, 1, [{"lost": True}])]),
            lambda: store.last(uid),
            store.probe,
        )
        with silent(own_server):
            for call in calls:
                started = time.monotonic()
                with pytest.raises(StoreError):
                    call()
                assert time.monotonic() - started < 15.0
            with closing(GroupCommit(store)) as group, pytest.raises(StoreError):
                group.submit(Append(uid, 1, [{"lost": True}])).result(timeout=15.0)
        last = store.last(uid)
        assert store.append([Append(uid, last, [{}])]) == [last + 1]


def test_the_service_says_that_it_is_not_well_and_ends_when_told(own_server: Server) -> None:
    store = own_server.new_place()
    with closing(open_store(store)) as opened:
        Study.create("pump", ["a", "b"], store=opened)
    with Served(store) as served:
        url = f"{served.url}/api/studies/pump/ask"
        assert httpx.post(url, json={}).status_code == 200
        time.sleep(1.1)  # an answer of the health check is valid for a second
        with silent(own_server):
            assert httpx.get(f"{served.url}/healthz", timeout=10.0).status_code == 503
            process = served.process
            asking = subprocess.Popen(
                [sys.executable, "-c", f"import httpx; httpx.post({url!r}, json={{}}, timeout=60)"],
                stderr=subprocess.DEVNULL,
            )
            time.sleep(1.0)  # until the request has arrived
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=25.0)
            served.forget()
            asking.wait(timeout=5.0)


def test_the_clock_of_the_server_is_compared(own_server: Server) -> None:
    with closing(open_store(own_server.new_place())) as store:
        assert abs(store.clock_offset()) < 5.0


def test_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    """A killed supervisor must not leave workers that hold the port."""
    with Served(f"sqlite:///{tmp_path}/store.db", workers=2) as served:
        supervisor = psutil.Process(served.process.pid)
        wait_until(lambda: len(_workers(supervisor)) == 2)
        workers = _workers(supervisor)
        supervisor.kill()
        gone, alive = psutil.wait_procs(workers, timeout=30.0)
        assert (len(gone), alive) == (2, [])
        served.forget()


def test_gauges_of_dead_workers_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead, alive, counter = (
        tmp_path / f"gauge_livesum_{ended.pid}.db",
        tmp_path / f"gauge_livesum_{os.getpid()}.db",
        tmp_path / f"counter_{ended.pid}.db",
    )
    for file in (dead, alive, counter):
        file.touch()
    monkeypatch.setenv(FOLDER, str(tmp_path))
    forget_dead_workers(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([alive, counter])


def _workers(supervisor: psutil.Process) -> list[psutil.Process]:
    return [
        one
        for one in supervisor.children()
        if one.is_running() and "resource_tracker" not in " ".join(one.cmdline())
    ]


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
