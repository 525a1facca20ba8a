"""Trials: the same results in every runner and after worker deaths, each saved at once."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_info, threadpool_limits

from cluster import (
    FATAL_RENAMING,
    SETTINGS,
    Cluster,
    Gated,
    cluster_of_two,
    die,
    draws,
    ended,
    open_nothing,
    refuse,
    running,
    scheduler,
    wait_for,
)
from heliotrope.errors import HeliotropeError, InputError
from heliotrope.lab.trials import cluster as cluster_module, run_trials

COUNT = 8
run = partial(run_trials, settings=SETTINGS)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_of_two(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def gated(tmp_path: Path) -> Gated:
    (tmp_path / "gate").mkdir()
    return Gated(tmp_path / "gate", free=3)


def assert_undisturbed(results: list[dict[str, NDArray[Any]]], count: int = COUNT) -> None:
    """Assert that results are, bit for bit, those of trials run one after the other."""
    assert len(results) == count
    with threadpool_limits(1):
        for number, result in enumerate(results):
            assert_same(result, draws(number))


def assert_same(one: Mapping[str, NDArray[Any]], other: Mapping[str, NDArray[Any]]) -> None:
    assert list(one) == list(other)
    for name, array in one.items():
        assert array.dtype == other[name].dtype
        np.testing.assert_array_equal(array, other[name], strict=True)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.npz"))


def holds(folder: Path, least: int) -> bool:
    return len(files(folder)) >= least


class Counted:
    """A trial that remembers what it was asked."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def __call__(self, number: int) -> Mapping[str, NDArray[Any]]:
        self.numbers.append(number)
        return draws(number)


# The same wherever they run


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_of_one_process_and_of_two(jobs: int, tmp_path: Path) -> None:
    with threadpool_limits(2):
        results = run(draws, COUNT, folder=tmp_path, jobs=jobs)
        assert {pool["num_threads"] for pool in threadpool_info()} == {2}
    assert_undisturbed(results)
    assert_undisturbed(run(die, COUNT, folder=tmp_path, jobs=jobs))  # from the files


def test_results_of_a_cluster(two: Cluster, tmp_path: Path) -> None:
    many = 60  # so that those which share a process meet
    assert_undisturbed(run(draws, many, folder=tmp_path, cluster=two.address), many)
    assert_undisturbed(run(die, many, folder=tmp_path, jobs=1), many)


def test_a_trial_that_no_module_holds(two: Cluster, tmp_path: Path) -> None:
    places: dict[str, Any] = {"processes": {"jobs": 2}, "cluster": {"cluster": two.address}}
    for name, place in places.items():
        results = run(lambda n: {"n": np.arange(n)}, 3, folder=tmp_path / name, **place)
        assert [result["n"].tolist() for result in results] == [[], [0], [0, 1]]


# Kept, and gone on from


def test_a_second_run_has_nothing_to_do(tmp_path: Path) -> None:
    first, second = Counted(), Counted()
    run(first, COUNT, folder=tmp_path / "made" / "here", jobs=1)
    assert_undisturbed(run(second, COUNT, folder=str(tmp_path / "made" / "here"), jobs=1))
    assert first.numbers == list(range(COUNT))
    assert second.numbers == []


def test_only_missing_trials_are_run(tmp_path: Path) -> None:
    trial = Counted()
    done: list[int] = []
    run(draws, 3, folder=tmp_path, jobs=1, tick=done.append)
    files(tmp_path)[1].unlink()
    assert_undisturbed(run(trial, 5, folder=tmp_path, jobs=1, tick=done.append), 5)
    assert trial.numbers == [1, 3, 4]
    assert done == [0, 1, 2, 3, 2, 3, 4, 5]
    assert_undisturbed(run(trial, 2, folder=tmp_path, jobs=1), 2)


def test_no_trials(tmp_path: Path) -> None:
    assert run(die, 0, folder=tmp_path) == []


@pytest.mark.parametrize(
    "others", [{}, {"size": 40_000}, {**SETTINGS, "size": 1}, {**SETTINGS, "more": None}], ids=str
)
def test_other_settings_share_nothing(others: Mapping[str, Any], tmp_path: Path) -> None:
    trial = Counted()
    run(draws, 2, folder=tmp_path, jobs=1)
    run_trials(trial, 2, folder=tmp_path, settings=others, jobs=1)
    assert trial.numbers == [0, 1]
    assert len(files(tmp_path)) == 4


def test_another_version_shares_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Counted()
    run(draws, 2, folder=tmp_path, jobs=1)
    monkeypatch.setattr("heliotrope.lab.trials.checkpoints.__version__", "0.0.0")
    run(trial, 2, folder=tmp_path, jobs=1)
    assert trial.numbers == [0, 1]


def test_the_order_of_settings_does_not_matter(tmp_path: Path) -> None:
    run_trials(draws, 2, folder=tmp_path, settings={"a": (1, 2), "b": 0.5}, jobs=1)
    again = Counted()
    run_trials(again, 2, folder=tmp_path, settings={"b": np.float64(0.5), "a": [1, 2]}, jobs=1)
    assert again.numbers == []


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def flip(path: Path) -> None:
    """Change a digit of the draws."""
    data = bytearray(path.read_bytes())
    data[data.index(draws(1)["draws"].tobytes())] ^= 1
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def exchange(path: Path) -> None:
    shutil.copy(path.with_name("000000.npz"), path)


@pytest.mark.parametrize("spoil", [truncate, flip, empty, exchange])
def test_a_spoilt_file_is_run_again(spoil: Callable[[Path], None], tmp_path: Path) -> None:
    run(draws, 3, folder=tmp_path, jobs=1)
    spoil(files(tmp_path)[1])
    trial = Counted()
    assert_undisturbed(run(trial, 3, folder=tmp_path, jobs=1), 3)
    assert trial.numbers == [1]
    assert_undisturbed(run(die, 3, folder=tmp_path, jobs=1), 3)


def test_any_names_shapes_and_types(tmp_path: Path) -> None:
    odd = {
        "file": np.zeros((0, 3)),
        "header": np.array([["a", "bc"]]),
        "a/b.npy": np.asfortranarray(np.arange(6.0).reshape(2, 3))[:, ::2],
        "": np.array([np.nan, -0.0, 1j]),
        "allow_pickle": np.array(True),
    }
    for result in (*run(lambda _: odd, 1, folder=tmp_path, jobs=1), *run(die, 1, folder=tmp_path)):
        assert_same(result, odd)


def test_two_runs_at_the_same_time(gated: Gated, tmp_path: Path) -> None:
    other = Gated(tmp_path / "other", free=3)
    other.folder.mkdir()
    kept = tmp_path / "kept"
    with running(kept, gated, COUNT, jobs=1) as one, running(kept, other, COUNT, jobs=1) as two:
        wait_for(lambda: gated.waiting() and other.waiting())
        gated.open()
        other.open()
        assert one.wait(60) == two.wait(60) == 0
    assert_undisturbed(run(die, COUNT, folder=kept))
    assert len(list(kept.rglob("*.*"))) == COUNT


# Whatever dies


def when(count: int, action: Callable[[], object]) -> Callable[[int], None]:
    """Call a function once this many trials are finished."""

    def tick(done: int) -> None:
        if done == count:
            action()

    return tick


def run_with_a_death(trial: Gated, **place: Any) -> None:
    """Run trials with a worker killed in one of them, which another then does again."""
    killed: list[int] = []
    tick = when(trial.free, lambda: killed.append(trial.kill_one()))
    assert_undisturbed(run(trial, COUNT, tick=tick, **place))
    assert [number for number, _ in trial.waiting()].count(killed[0]) > 1


def test_a_process_that_dies_costs_no_result(gated: Gated, tmp_path: Path) -> None:
    run_with_a_death(gated, folder=tmp_path / "kept", jobs=2)


@pytest.mark.parametrize("allowed", ["3", "0"], ids=["Dask goes on", "Dask gives up"])
def test_a_worker_that_dies_costs_no_result(allowed: str, gated: Gated, tmp_path: Path) -> None:
    limit = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": allowed}
    with cluster_of_two(tmp_path, **limit) as found:
        run_with_a_death(gated, folder=tmp_path / "kept", cluster=found.address)


def test_a_trial_that_kills_every_process(gated: Gated, tmp_path: Path) -> None:
    deadly = Gated(gated.folder, free=3, then=die)
    kept = tmp_path / "kept"
    with pytest.raises(HeliotropeError, match="3 deaths in a row, with trial 3 and 0 others"):
        run(deadly, 4, folder=kept, jobs=2, tick=when(3, deadly.open))
    assert len(files(kept)) == 3
    assert_undisturbed(run(draws, 4, folder=kept, jobs=1), 4)


def test_a_run_that_is_killed(gated: Gated, tmp_path: Path) -> None:
    """Two runs are killed at some moment; their processes end too, and a third run finishes."""
    kept, count = tmp_path / "kept", 60
    endless = Gated(gated.folder, free=50)
    for enough in np.random.default_rng(4).integers(1, 25, size=2).cumsum():
        with running(kept, endless, count, jobs=2) as process:
            wait_for(partial(holds, kept, enough))
            process.kill()
    assert not holds(kept, count)
    wait_for(lambda: all(ended(pid) for _, pid in Gated(gated.folder, free=0).waiting()))
    assert_undisturbed(run(draws, count, folder=kept, jobs=1), count)


def test_a_run_that_is_killed_while_it_writes(gated: Gated, tmp_path: Path) -> None:
    """Only complete files have the final name."""
    with running(tmp_path / "kept", gated, COUNT, jobs=1, first=FATAL_RENAMING) as process:
        assert process.wait(60) == -signal.SIGKILL
    assert files(tmp_path / "kept") == []
    assert len([path for path in tmp_path.glob("kept/*/*") if path.is_file()]) == 1
    assert_undisturbed(run(draws, COUNT, folder=tmp_path / "kept", jobs=1))


def test_ctrl_c(gated: Gated, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with running(kept, gated, COUNT, jobs=2) as process:
        wait_for(lambda: len(files(kept)) == 3 and len(gated.waiting()) == 2)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT
    assert (gated.folder / "log").read_text().strip().endswith("KeyboardInterrupt")
    wait_for(lambda: all(ended(pid) for _, pid in gated.waiting()))
    assert len(files(kept)) == 3
    gated.open()
    assert_undisturbed(run(gated, COUNT, folder=kept, jobs=1))


# What a trial raises


@pytest.fixture(params=["here", "processes", "cluster"])
def place(request: pytest.FixtureRequest) -> dict[str, Any]:
    if request.param == "cluster":
        return {"cluster": request.getfixturevalue("two").address}
    return {"jobs": 1 if request.param == "here" else 2}


def test_what_a_trial_raises_comes_through(
    place: dict[str, Any], gated: Gated, tmp_path: Path
) -> None:
    failing = Gated(gated.folder, free=3, then=refuse)
    with pytest.raises(InputError) as raised:
        run(failing, 4, folder=tmp_path / "kept", tick=when(3, failing.open), **place)
    assert str(raised.value) == "expected a better number; got 3. Take another."
    assert raised.value.expected == "a better number"
    assert len(files(tmp_path / "kept")) == 3
    assert_undisturbed(run(draws, 4, folder=tmp_path / "kept", jobs=1), 4)


def test_an_exception_arrives_complete(place: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        run(open_nothing, 1, folder=tmp_path, **place)
    assert raised.value.filename == "/nowhere/0"
    tracebacks = "".join(getattr(raised.value, "__notes__", []))
    assert ("open_nothing" in tracebacks) == (place != {"jobs": 1})


def test_what_a_tick_raises_ends_the_run(place: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        run(draws, COUNT, folder=tmp_path, tick=when(2, lambda: 1 / 0), **place)
    assert len(files(tmp_path)) == 2
    assert_undisturbed(run(draws, COUNT, folder=tmp_path, **place))


# Refusals


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"trial": 3}, "a trial, callable with a number; got 3"),
        ({"count": -1}, "count to be a whole number of at least 0; got -1"),
        ({"count": 1.5}, "count to be a whole number"),
        ({"jobs": 0}, "jobs to be a number of processes, or -1 for all cores; got 0"),
        ({"jobs": 1.0}, "jobs to be"),
        ({"jobs": True}, "jobs to be"),
        ({"cluster": ""}, "cluster to be an address such as tcp://host:8786; got ''"),
        ({"cluster": 8786}, "cluster to be an address"),
        ({"settings": {"a": np.nan}}, "settings of JSON values"),
        ({"settings": {"a": np.arange(2)}}, "settings of JSON values"),
        ({"settings": {"a": {1, 2}}}, "settings of JSON values"),
        ({"settings": {None: 1, "a": 2}}, "settings of JSON values"),
        ({"settings": 3}, "settings of JSON values"),
    ],
    ids=str,
)
def test_wrong_input_leaves_no_trace(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    given = {"trial": draws, "count": 2, "settings": SETTINGS, "jobs": 1, **change}
    with pytest.raises(InputError, match=said):
        run_trials(folder=tmp_path, **given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (None, "a trial to return named arrays; got None from trial 0"),
        ({1: np.zeros(2)}, "a trial to return named arrays"),
        ({"a": [[1], [2, 3]]}, "'a' of trial 0 to be an array of numbers or strings"),
        ({"a": {}}, "'a' of trial 0 to be an array of numbers or strings"),
    ],
    ids=str,
)
def test_a_trial_that_returns_no_arrays(result: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        run(lambda _: result, 2, folder=tmp_path, jobs=1)
    assert files(tmp_path) == []


def test_a_trial_that_cannot_be_pickled(two: Cluster, tmp_path: Path) -> None:
    held = partial(refuse, lock=threading.Lock())
    with pytest.raises(InputError, match="a picklable trial with picklable results"):
        run(held, 2, folder=tmp_path, jobs=2)
    with pytest.raises(HeliotropeError, match=r"cannot pickle|serialize"):
        run(held, 2, folder=tmp_path, cluster=two.address)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        run(draws, 2, folder=tmp_path / "file", jobs=1)


# Clusters that are none


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"Run: pip install 'heliotrope\[cluster\]'"):
        run(draws, 2, folder=tmp_path, cluster="tcp://127.0.0.1:8786")


@pytest.mark.parametrize("address", ["", "nowhere", "carrier-pigeon://home:1"])
def test_a_missing_scheduler(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_SCHEDULER_WAIT", 0.5)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = address or f"tcp://127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(HeliotropeError, match=f"a Dask scheduler at {address}; got none"):
            run(draws, 2, folder=tmp_path, cluster=address)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request"])
def test_a_server_that_is_not_a_scheduler(
    answer: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "_SCHEDULER_WAIT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with (
            answering(server, answer),
            pytest.raises(HeliotropeError, match=r"the response is not that of a scheduler"),
        ):
            run(draws, 2, folder=tmp_path, cluster=address)


@contextmanager
def answering(server: socket.socket, answer: bytes) -> Iterator[None]:
    """Give this answer to the first client, whatever it sends."""
    heard: list[socket.socket] = []

    def serve() -> None:
        heard.append(server.accept()[0])
        heard[0].sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    yield
    thread.join()
    heard[0].close()


def test_a_cluster_without_workers_or_with_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scheduler(tmp_path) as found:
        monkeypatch.setattr(cluster_module, "_WORKER_WAIT", 0.5)
        with pytest.raises(HeliotropeError, match="a cluster with workers; got none within"):
            run(draws, 2, folder=tmp_path / "kept", cluster=found.address)
        monkeypatch.undo()
        (tmp_path / "heliotrope-0.0.9.dist-info").mkdir()
        (tmp_path / "heliotrope-0.0.9.dist-info" / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: heliotrope\nVersion: 0.0.9\n"
        )
        with (
            found.worker("old", PYTHONPATH=str(tmp_path)),
            pytest.raises(
                HeliotropeError, match=r"heliotrope .* on the whole .*; got 0\.0\.9 on tcp"
            ),
        ):
            run(draws, 2, folder=tmp_path / "kept", cluster=found.address)
    assert files(tmp_path / "kept") == []


def test_a_scheduler_that_stops(gated: Gated, tmp_path: Path) -> None:
    with scheduler(tmp_path) as found, found.worker("one"):
        stop = when(3, found.process.kill)
        with pytest.raises(HeliotropeError, match=r"a cluster that runs trials; got .*Finished"):
            run(gated, COUNT, folder=tmp_path / "kept", cluster=found.address, tick=stop)
    assert len(files(tmp_path / "kept")) == 3
