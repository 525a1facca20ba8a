"""Run the benchmarks and print a table: ``python -m benchmarks`` or ``python -m benchmarks speed``.

Benchmarks that take long, or need an idle machine and a database server, run only by name:
``python -m benchmarks boxes adapters sums noise changes auto faults returns servers calibration
fleets long storage leases hostile service crashes startup plain same live_limits live_gain
live_moves live_hold live_tables``. ``plain`` and ``same`` take ``--worlds`` and ``--seed``.

``python -m benchmarks traces`` and ``python -m benchmarks step`` compare the working tree with its
parent, or with ``--against REV``: what it asks and believes, and what a step costs.

Each run appends its ratios to ``benchmarks/history.csv``; the site plots them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks import history
from benchmarks.report import Finding
from heliotrope import linalg  # noqa: F401  loads BLAS, which is limited below

NAMES = ("exactness", "speed", "flatness", "tracking", "learning")
OPTIONS: Mapping[str, tuple[tuple[str, ...], Callable[[str], Any]]] = {
    "worlds": (("plain", "same"), int),
    "seed": (("plain", "same"), int),
    "against": (("traces", "step"), str),
}
"""Options, each with the benchmarks that take it."""


def main(arguments: list[str]) -> int:
    names, options = _read(arguments)
    console, holds, commit = Console(), True, history.current_commit()
    unknown = [name for name in names if find_spec(f"benchmarks.{name}") is None]
    if unknown:
        console.print(f"There is no benchmark {', '.join(unknown)}.\n\n{__doc__}", highlight=False)
        return 2
    table = Table(
        "benchmark",
        "claim",
        "measured",
        "holds",
        title="Benchmarks of Heliotrope on this machine, with one BLAS thread",
    )
    for name in names or NAMES:
        started = perf_counter()
        module = import_module(f"benchmarks.{name}")
        with console.status(f"{name} ..."), threadpool_limits(1):
            findings = list(_shown(console, module.findings(**options)))
        console.print(f"{name}: {perf_counter() - started:.0f} s")
        for finding in findings:
            table.add_row(name, finding.claim, finding.measured, "yes" if finding.holds else "NO")
            holds &= finding.holds
        history.record(findings, commit)
    console.print(table)
    return 0 if holds else 1


def _read(arguments: list[str]) -> tuple[list[str], dict[str, Any]]:
    """The names, and the options of a benchmark that takes some."""
    parser = argparse.ArgumentParser("python -m benchmarks")
    parser.add_argument("names", nargs="*")
    for option, (takers, kind) in OPTIONS.items():
        about = f"of {' and '.join(takers)}"
        parser.add_argument(f"--{option}", type=kind, default=argparse.SUPPRESS, help=about)
    given = vars(parser.parse_args(arguments))
    names = given.pop("names")
    for option in given:
        takers, _ = OPTIONS[option]
        if not names or not {*names} <= {*takers}:
            parser.error(f"--{option} is an option of {' and '.join(takers)}")
    return names, given


def _shown(console: Console, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Print each measurement when it is known, since a long run may be stopped."""
    for finding in findings:
        console.print(f"{finding.claim}: {finding.measured}", highlight=False)
        yield finding


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
