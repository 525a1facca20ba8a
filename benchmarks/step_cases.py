"""What a step costs with the package that is imported.

``python -m benchmarks.step_cases NAME`` prints the figures of a case as JSON. All are seconds of
processor time, except for those of ``growth``.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from math import cos, sin
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np

import heliotrope as ht
from heliotrope.kernels import RBF

BEFORE, PAIRS = 300, 200  # of the grid: results before the first timed pair, and timed pairs
BOX_STEPS, STUDY_STEPS, LIVE_STEPS = 60, 40, 40
FIRST = 10  # steps after which all is imported
WARM, MANY = 100, 10_000  # steps before the first look at the memory, and until the last one
NOISE = 0.1
SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}

Figures = dict[str, float]


def grid() -> Figures:
    """The median pair of TV-GP-UCB on 50 x 50 points after 300 results."""
    optimizer = _tv_gp_ucb(50)
    seconds = _pairs(optimizer.ask, lambda s, y: optimizer.tell(s, y), BEFORE + PAIRS)
    return {"ask and tell": median(seconds[BEFORE:])}


def box() -> Figures:
    """All asks, and all tells, of auto in a 2-D Box."""
    _import_all()
    domain = ht.Box([0.0, 0.0], [1.0, 1.0])
    optimizer, rng = ht.Optimizer(domain, ht.auto(domain), seed=0), np.random.default_rng(0)
    asks, tells = 0.0, 0.0
    for step in range(BOX_STEPS):
        started = process_time()
        asked = optimizer.ask()
        asks += process_time() - started
        y = _value(asked.x, step) + NOISE * float(rng.standard_normal())
        started = process_time()
        optimizer.tell(asked, y)
        tells += process_time() - started
    return {"ask": asks / BOX_STEPS, "tell": tells / BOX_STEPS}


def study() -> Figures:
    """All pairs of a study of two parameters, in memory and in a SQLite file."""
    _import_all()
    with tempfile.TemporaryDirectory() as folder:
        stores = {"memory": "memory:", "SQLite": f"sqlite:///{Path(folder, 'study.db')}"}
        return {name: _study_pairs(store, STUDY_STEPS) for name, store in stores.items()}


def live() -> Figures:
    """All pairs of a study with a limit and a baseline."""
    goals = {
        "metrics": {"gain": "maximize", "load": "watch"},
        "limits": {"load": {"below": 1.5}},
        "baseline": {"x": 0.2, "y": 0.2},
    }
    _import_all()
    return {"ask and tell": _study_pairs("memory:", LIVE_STEPS, **goals)}


def growth() -> Figures:
    """Megabytes that 10,000 steps of TV-GP-UCB on 20 x 20 points add."""
    optimizer = _tv_gp_ucb(20)
    _pairs(optimizer.ask, lambda s, y: optimizer.tell(s, y), WARM)
    before = _megabytes()
    _pairs(optimizer.ask, lambda s, y: optimizer.tell(s, y), MANY)
    return {"megabytes": _megabytes() - before}


CASES: Mapping[str, Callable[[], Figures]] = {
    case.__name__: case for case in (grid, box, study, live, growth)
}
"""The cases by name."""


def _tv_gp_ucb(side: int) -> Any:
    prior = ht.Prior(RBF(0.2), ht.Forgetting(0.01), NOISE**2)
    return ht.Optimizer(ht.grid(side, side), ht.tv_gp_ucb(prior), seed=0)


def _import_all() -> None:
    """Import what loads on first use, which the case of the imports measures."""
    _study_pairs("memory:", FIRST)


def _study_pairs(store: str, steps: int, **goals: Any) -> float:
    """Mean seconds of a pair."""
    space = {name: ht.Real(low, high) for name, (low, high) in SPACE.items()}
    opened = ht.Study.create("step", space, seed=0, store=store, **goals)

    def tell(asked: Any, y: float) -> None:
        values = {"gain": y, "load": 0.5 + asked.params["x"] + asked.params["y"]}
        opened.tell(asked, values if goals else y)

    return sum(_pairs(opened.ask, tell, steps)) / steps


def _pairs(ask: Callable[[], Any], tell: Callable[[Any, float], None], steps: int) -> list[float]:
    """Seconds of each pair of an ask and a tell."""
    rng, seconds = np.random.default_rng(0), list[float]()
    noise = NOISE * rng.standard_normal(steps)
    for step in range(steps):
        started = process_time()
        asked = ask()
        place = asked.params.values() if asked.params else asked.x
        tell(asked, _value(place, step) + float(noise[step]))
        seconds.append(process_time() - started)
    return seconds


def _value(place: Iterable[float], step: int) -> float:
    """A moving hill."""
    x, y = place
    return sin(6.0 * x + step / 50.0) + cos(5.0 * y - step / 80.0)


def _megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


if __name__ == "__main__":
    print(json.dumps(CASES[sys.argv[1]]()))
