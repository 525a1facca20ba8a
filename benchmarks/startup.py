"""Startup: the processor time of an import, of a command that uses a service, and of a service."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from time import perf_counter

import psutil

from benchmarks.report import Finding
from heliotrope.storage import open_store
from heliotrope.study import StudyConfig
from heliotrope.study.state import created_event

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from served import Served

IMPORTS = ["-c", "import httpx, typer, rich"]
NAMES = ["-c", "import heliotrope; heliotrope.Study; heliotrope.auto"]
FIRST_TELL = """
import heliotrope as ht
study = ht.Study.create("fan", {"speed": ht.Real(0, 1)}, store="memory:")
study.tell(study.ask(), 1.0)
"""
ARRAYS = ["-c", "import numpy, scipy.linalg"]
LEAST, LIMIT = 5, 2.5  # runs, of which the least counts; times the bare imports
RUNS = 15
MOST = 2.0  # times the bare imports
STUDIES, STARTS, FIRST = 10_000, 5, 2.0


def findings() -> Iterator[Finding]:
    yield _names()
    with tempfile.TemporaryDirectory() as folder, Served(f"sqlite:///{folder}/a.db") as service:
        listing = ["-m", "heliotrope", "study", "list", "--at", service.url]
        pairs = [(_seconds(listing), _seconds(IMPORTS)) for _ in range(RUNS)]
    command, imports = (median(seconds) for seconds in zip(*pairs, strict=True))
    yield Finding(
        f"processor time of `heliotrope study list --at URL`: at most {MOST:g} times that of "
        "`import httpx, typer, rich`",
        f"{1e3 * command:.0f} ms, {command / imports:.2f} times",
        command <= MOST * imports,
    )
    with tempfile.TemporaryDirectory() as folder:
        for studies in (0, STUDIES):
            yield _first_answer(f"sqlite:///{folder}/{studies}.db", studies)


def _names() -> Finding:
    """Import the first names, in turn with the bare imports of their arrays."""
    commands = (ARRAYS, NAMES, ["-c", FIRST_TELL])
    rounds = [[_seconds(command) for command in commands] for _ in range(1 + LEAST)]
    bare, names, told = (min(column) for column in zip(*rounds[1:], strict=True))  # 0: compilation
    return Finding(
        f"processor time of `import heliotrope; heliotrope.Study; heliotrope.auto`: at most "
        f"{LIMIT:g} times that of `import numpy, scipy.linalg`",
        f"{1e3 * names:.0f} ms, {names / bare:.2f} times: the least of {LEAST}; with a study "
        f"and its first result {1e3 * told:.0f} ms",
        names <= LIMIT * bare,
    )


def _first_answer(store: str, studies: int) -> Finding:
    """Start a service on a store, after another one was killed there."""
    setup = created_event(StudyConfig.from_json({"options": ["a", "b"]}))
    with closing(open_store(store)) as opened:
        for number in range(studies):
            opened.create(f"study-{number}", setup, at=0.0)
    seconds = []
    for _ in range(STARTS):
        service = Served(store)
        started = perf_counter()
        service.start()
        times = psutil.Process(service.process.pid).cpu_times()
        seconds.append((times.user + times.system, perf_counter() - started))
        service.kill()
    cpu, wall = (min(column) for column in zip(*seconds, strict=True))
    return Finding(
        f"`heliotrope serve` on {studies:,} studies, after a kill: its first answer within "
        f"{FIRST:g} s of processor time",
        f"{cpu:.2f} s, {wall:.2f} s by the clock: the least of {STARTS}",
        cpu <= FIRST,
    )


def _seconds(arguments: list[str]) -> float:
    """Processor time of a Python process, which may keep bytecode, as that of an installation."""
    before, kept = getrusage(RUSAGE_CHILDREN), {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=kept)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
