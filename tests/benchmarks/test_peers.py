"""Optimizers in separate processes: the protocol, and the effect of faulty ones."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose

import heliotrope as ht
from heliotrope.lab.environments import FiniteEpisode, Function
from heliotrope.lab.environments.episodes import Episode
from heliotrope.lab.league import CommandCompetitor
from heliotrope.lab.league.matches import play_match

HERE = Path(__file__).parents[2] / "benchmarks" / "peers"
NAMES = "wdbo-algo xopt botorch optuna bayesian-optimization scikit-optimize".split()  # noqa: SIM905
POLITE = """
import json, sys
told = []
for line in sys.stdin:
    request, reply = json.loads(line), {}
    if "begin" in request:
        begun = request["begin"]
    if "tell" in request:
        told += request["tell"]
    if "ask" in request:
        assert len(told) == request["ask"] - 1.0
        reply["x"] = [CHOICE for _ in begun["lower"]]
    print(json.dumps(reply), flush=True)
"""
HANGING = """
import fcntl, os, pathlib, time
START
here = pathlib.Path(__file__).parent
(here / "pid").write_text(str(os.getpid()))
lock = (here / "lock").open("w")
fcntl.flock(lock, fcntl.LOCK_EX)
input(); print("{}", flush=True)
time.sleep(20.0)
(here / "outlived").touch()
"""

Writer = Callable[[str], CommandCompetitor]


@pytest.fixture
def written(tmp_path: Path) -> Writer:
    """Makes a competitor of a program's text."""

    def write(text: str) -> CommandCompetitor:
        script = tmp_path / "peer.py"
        script.write_text(text)
        return CommandCompetitor("peer", (sys.executable, str(script)))

    return write


def line(steps: int = 4) -> Episode:
    """A function in a Box that is 3 - x, without noise."""
    world = Function(ht.Box(1.0, 3.0), lambda x, _: 3.0 - float(x[0]), best=lambda _: 2.0)
    return world.episode(steps, seed=0)


def asking(x: str) -> str:
    """A program that always asks for one point."""
    return POLITE.replace("CHOICE", x)


def spending(seconds: str) -> str:
    """A program that says how much time it spent, by an expression of the request."""
    return asking("1.5").replace("(line), {}", f"(line), {{}}; reply['spent'] = {seconds}")


def below_a_shell(command: CommandCompetitor) -> CommandCompetitor:
    """The same, started by a shell that stays there."""
    return CommandCompetitor(command.name, ("sh", "-c", f"{shlex.join(command.words)}; true"))


def test_a_peer_plays_a_box(written: Writer) -> None:
    played = play_match(written(asking("1.5")), line(), 0, limit=20.0)
    assert played.failure == ""
    assert_allclose(played.regret, 0.5)
    assert np.all(played.seconds > 0.0)
    assert np.isnan(played.memory)


def test_over_a_finite_domain_the_nearest_point_is_taken_and_told(written: Writer) -> None:
    domain = ht.Finite([[0.0, 0.0], [1.0, 100.0], [0.8, 0.0]])
    values = np.tile([5.0, 1.0, 3.0], (3, 1))
    text = asking("0.7") + "    assert all(one['x'] == [0.8, 0.0] for one in told), told\n"
    played = play_match(written(text), FiniteEpisode(domain, values, np.zeros(3)), 0, limit=20.0)
    assert played.failure == ""
    assert_allclose(played.regret, 2.0)


def test_in_a_box_the_point_on_the_lattices_is_taken_and_told(written: Writer) -> None:
    box = ht.SearchSpace({"n": ht.Integer(0, 4), "x": ht.Real(0.0, 1.0)}).cube
    world = Function(box, lambda x, _: float(x[0] + x[1]), best=lambda _: 2.0)
    text = asking("0.7") + "    assert all(one['x'] == [0.75, 0.7] for one in told), told\n"
    played = play_match(written(text), world.episode(3, seed=0), 0, limit=20.0)
    assert played.failure == ""
    assert_allclose(played.regret, 2.0 - 0.75 - 0.7)


def test_the_time_that_a_peer_reports_counts(written: Writer) -> None:
    text = asking("1.5").replace("request, reply = json.loads(line), {}", "\n".join([
        "request = json.loads(line)",
        "    count = globals().get('count', 0) + 1",
        "    reply = {'spent': 10.0 * count}",
    ]))  # fmt: skip
    played = play_match(written(text), line(), 0, limit=100.0)
    assert_allclose(played.seconds, 20.0)
    played = play_match(written(text), line(), 0, limit=50.0)
    assert played.failure == "after 2 steps: exceeded the limit of 50 s"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("raise SystemExit('no such luck')", "no such luck"),
        ("print('[1, 2]', flush=True); input()", "an object in a line of JSON"),
        ("print('hello', flush=True); input()", "an object in a line of JSON"),
        (asking("9.0"), "points between [1.0] and [3.0]"),
        (asking("'a'"), "x"),
        (asking("float('nan')"), "x"),
        (POLITE.replace('[CHOICE for _ in begun["lower"]]', "[1.5, 1.5]"), "x"),
        (POLITE.replace('reply["x"] =', 'reply["error"] = "out of ideas" #'), "out of ideas"),
        (POLITE.replace('reply["x"] = ', "#"), "x"),
        ("import os; os.write(1, b'\\xff!\\n'); input()", "JSON; got '\N{REPLACEMENT CHARACTER}!"),
        (spending("-1.0"), "spent not below 0; got -1"),
        (spending("9.0 if 'ask' in request else 5.0"), "spent not below 9; got 5"),
    ],
    ids=[
        *("dead", "list", "text", "outside", "word", "nan", "long", "error", "nothing"),
        *("bytes", "negative", "falling"),
    ],
)
def test_a_failed_peer_is_reported(text: str, reason: str, written: Writer) -> None:
    played = play_match(written(text), line(), 0, limit=20.0)
    assert played.failure.startswith("after 0 steps: ")
    assert reason in played.failure
    assert len(played.regret) == 0


def test_a_peer_that_hangs_is_given_up(written: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliotrope.lab.league.commands._BUSY", 1.0)
    text = asking("1.5") + "    if len(told) == 1: input()\n"
    played = play_match(written(text), line(), 0, limit=1.0)
    assert played.failure == "after 1 steps: exceeded the limit of 1 s"


def test_what_a_peer_started_ends_with_it(
    written: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heliotrope.lab.league.commands._BUSY", 1.0)
    peer = below_a_shell(written(HANGING.replace("START", "")))
    assert (
        play_match(peer, line(), 0, limit=1.0).failure == "after 0 steps: exceeded the limit of 1 s"
    )
    with (tmp_path / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # waits until the one below the shell is gone
    assert not (tmp_path / "outlived").exists()


def test_a_process_that_leaves_the_group_is_not_awaited(
    written: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("_BUSY", 1.0), ("_LAST_OUTPUT", 0.1)):
        monkeypatch.setattr(f"heliotrope.lab.league.commands.{name}", seconds)
    peer = below_a_shell(written(HANGING.replace("START", "os.setsid()")))
    assert (
        play_match(peer, line(), 0, limit=1.0).failure == "after 0 steps: exceeded the limit of 1 s"
    )
    assert not (tmp_path / "outlived").exists()
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_a_peer_that_does_not_start_times_out(
    written: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heliotrope.lab.league.commands._START", 0.5)
    text = "import time\ntime.sleep(20.0)\n" + asking("1.5")
    played = play_match(written(text), line(), 0, limit=100.0)
    assert "a command that starts; got no reply within 0.5 s" in played.failure


@pytest.mark.parametrize("name", [one for one in NAMES if one != "optuna"])  # it is installed
def test_without_its_package_a_peer_says_which_is_missing(name: str) -> None:
    command = CommandCompetitor(name, (sys.executable, "-I", str(HERE / "server.py"), name))
    played = play_match(command, line(), 0, limit=20.0)
    assert "ModuleNotFoundError" in played.failure


@pytest.fixture(scope="module")
def adapters() -> ModuleType:
    spec = importlib.util.spec_from_file_location("peers_adapters", HERE / "adapters.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_peer_has_an_adapter(adapters: ModuleType) -> None:
    assert list(adapters.PEERS) == NAMES


def test_initial_points_are_different_and_end(adapters: ModuleType) -> None:
    domain = ht.Box([0, -1], [1, 1])
    first, seen = adapters.InitialPoints(domain.lower, domain.upper), list[list[float]]()
    while (point := first.next()) is not None:
        seen.append(point)
        first.told(1)
    assert len(seen) == 5
    assert len(domain.places(np.array(seen))) == len({tuple(point) for point in seen})


def test_the_clock_advances_only_by_sleeping(adapters: ModuleType) -> None:
    clock = adapters.Clock()
    clock.now = 7.0
    assert clock.time() == clock.time() == 7.0
    clock.sleep(0.5)
    assert clock.time() == 7.5
