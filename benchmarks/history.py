"""Ratios of earlier runs: a row for each, with the commit and the machine."""

from __future__ import annotations

import csv
import platform
import subprocess
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.report import Finding

FILE = Path(__file__).parent / "history.csv"
COLUMNS = ("date", "commit", "machine", "python", "numpy", "figure", "value", "holds")


def record(findings: Iterable[Finding], commit: str, file: Path = FILE) -> None:
    """Append the ratios of a run, which began at this commit."""
    is_new = not file.exists()
    with file.open("a", newline="") as opened:
        writer = csv.DictWriter(opened, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(_rows(findings, commit))


def _rows(findings: Iterable[Finding], commit: str) -> Iterator[dict[str, object]]:
    run = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": commit,
        "machine": f"{platform.machine()} {platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    for finding in findings:
        if finding.ratio is not None:
            figure = {"figure": finding.claim, "value": f"{finding.ratio:.4g}"}
            yield {**run, **figure, "holds": "yes" if finding.holds else "no"}


def current_commit() -> str:
    """The commit of this checkout, with a plus if files were changed since."""
    here = FILE.parent
    read = {"cwd": here, "capture_output": True, "text": True, "check": False}
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], **read)  # type: ignore[call-overload]
    changed = subprocess.run(["git", "status", "--porcelain", "--", "../src"], **read)  # type: ignore[call-overload]
    return (commit.stdout.strip() or "unknown") + ("+" if changed.stdout.strip() else "")
