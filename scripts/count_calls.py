"""Print how much of the package one ask runs: calls of functions, and files that they are in.

``python scripts/count_calls.py [SRC ...]`` prints one column for each source folder, so that two
checkouts can be compared. The default is this checkout. The ask is the one after 20, or after 100,
results with seed 0.

A cell such as "335/33 + 1,026" says: 335 calls of the package's Python functions, in 33 of its
files, and 1,026 calls below the objective of the search for the best point. A call is a call event
of ``sys.setprofile``: of a function, lambda or comprehension, or of a generator that continues. The
objective is each function of the package that SciPy's optimizers call. How often they do so depends
on the values alone: the sum of both counts varies by a factor of four with the measured function,
the first count by a few per cent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from math import cos, sin
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

RESULTS = (20, 100)
LIVE: dict[str, Any] = {
    "metrics": {"gain": "maximize", "load": "watch"},
    "limits": {"load": {"below": 1.5}},
    "baseline": {"x": 0.2, "y": 0.2},
}
OPTIMIZERS = f"{os.sep}scipy{os.sep}optimize{os.sep}"  # where the objective is called from


class Counter:
    """A profiler: calls in the files of a folder, and those below SciPy's objective apart."""

    def __init__(self, folder: str, optimizers: str = OPTIMIZERS) -> None:
        self.calls, self.searching, self.files = 0, 0, set[str]()
        self._folder, self._optimizers = folder, optimizers
        self._objective: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            self._enter(frame)
        elif event == "return" and frame is self._objective:
            self._objective = None

    def count(self, action: Callable[[], T]) -> T:
        """Carry out an action, and count its calls."""
        sys.setprofile(self)
        try:
            return action()
        finally:
            sys.setprofile(None)

    def _enter(self, frame: FrameType) -> None:
        file = frame.f_code.co_filename
        if not file.startswith(self._folder):
            return
        if self._objective is None and frame.f_back is not None:
            caller = frame.f_back.f_code.co_filename
            self._objective = frame if self._optimizers in caller else None
        if self._objective is not None:
            self.searching += 1
            return
        self.calls += 1
        self.files.add(file)


def count_asks() -> dict[str, str]:
    """The cells of the package that is imported, by the names of their rows."""
    import heliotrope as ht

    folder = str(Path(ht.__file__).parent)
    box = ht.Box([0.0, 0.0], [1.0, 1.0])
    optimizer = ht.Optimizer(box, ht.auto(box), seed=0)
    pair = {"x": ht.Real(0.0, 1.0), "y": ht.Real(0.0, 1.0)}
    study = ht.Study.create("study", pair, seed=0, store="memory:")
    live = ht.Study.create("live", pair, seed=0, store="memory:", **LIVE)
    return {
        **_cells("auto in a 2-D box", optimizer, lambda s: list(s.x), _value, folder),
        **_cells("study", study, lambda s: s.params.values(), _value, folder),
        **_cells("live study", live, lambda s: s.params.values(), _values, folder),
    }


def _cells(
    name: str,
    opened: Any,
    place: Callable[[Any], Iterable[float]],
    measure: Callable[[float, float, int], object],
    folder: str,
) -> dict[str, str]:
    """The cells of an optimizer or a study."""
    cells = {}
    for step in range(max(RESULTS) + 1):
        counter = Counter(folder)
        asked = counter.count(opened.ask) if step in RESULTS else opened.ask()
        if step in RESULTS:
            counted = f"{counter.calls:,}/{len(counter.files)} + {counter.searching:,}"
            cells[f"{name}, {step} results"] = counted
        x, y = place(asked)
        opened.tell(asked, measure(x, y, step))
    return cells


def _value(x: float, y: float, step: int) -> float:
    """A hill that moves; every third value is higher than it is, as by noise."""
    top = 0.5 + 0.3 * sin(step / 20.0)
    return cos(2.0 * (x - top)) + cos(2.0 * (y - 0.4)) + 0.05 * (step % 3)


def _values(x: float, y: float, step: int) -> dict[str, float]:
    return {"gain": _value(x, y, step), "load": 0.5 + x + y + 0.05 * (step % 2)}


def column_of(source: Path) -> dict[str, str]:
    """The cells of a source folder, counted in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(source.resolve()), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--count"]
    counted = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    cells: dict[str, str] = json.loads(counted.stdout)
    return cells


def main() -> None:
    """Print a row for each ask, with a column for each folder."""
    if sys.argv[1:] == ["--count"]:
        print(json.dumps(count_asks()))
        return
    folders = [Path(argument) for argument in sys.argv[1:]]
    folders = folders or [Path(__file__).parents[1] / "src"]
    columns = [column_of(folder) for folder in folders]
    print(f"{'calls/files + below the objective':<36}", *(f"{folder!s:<24}" for folder in folders))
    for name in columns[0]:
        print(f"{name:<36}", *(f"{column[name]:<24}" for column in columns))


if __name__ == "__main__":
    main()
