"""Traces: what a change of the code does to asks and beliefs, in 30 setups.

Each setup of ``setups.py`` is played by ``player.py``, which uses public calls alone, on the
parent's code and on the working tree's. The traces are kept in ``out/traces``. Two traces are

* equal, to the last digit;
* equal up to rounding, a relative 1e-9;
* a tie: up to an ask they are equal up to rounding, and so is what both codes believed of its two
  places;
* a search: the same, but the two places differ by 1e-5, since a maximum in a box is flat;
* different.

What follows a tie or a search differs as well, so the line says from which ask on, and how far the
beliefs differ before it and in all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.against import PARENT, ROOT, SRC, run, source_of
from benchmarks.report import Finding
from benchmarks.traces.comparison import compare

FOLDER = ROOT / "out" / "traces"


def findings(against: str = PARENT) -> Iterator[Finding]:
    """Compare the working tree with a revision."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with source_of(against) as source:
        before = played(source, FOLDER / "before.json")
    after = played(SRC, FOLDER / "after.json")
    for name, trace in after.items():
        found = compare(before[name], trace)
        yield Finding(f"{name}: as in {against}", found.words, found.same)


def played(source: Path, file: Path) -> dict[str, Any]:
    """The traces of all setups, by name, with the code of a folder."""
    run(source, "-m", "benchmarks.traces.player", str(file))
    kept: dict[str, Any] = json.loads(file.read_text())
    return kept
