"""Startup: the processor time of a command that uses a service, against its bare imports."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from benchmarks.report import Finding

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from served import Served

IMPORTS = ["-c", "import httpx, typer, rich"]
RUNS = 15
MOST = 2.0  # times the bare imports


def findings() -> Iterator[Finding]:
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


def _seconds(arguments: list[str]) -> float:
    """Processor time of a Python process."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
