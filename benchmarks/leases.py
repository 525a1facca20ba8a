"""Asks of workers that died: they cost little while open, and nothing after their leases."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from time import process_time

import numpy as np

import heliotrope as ht
from benchmarks.report import Finding
from heliotrope.storage import MemoryStore

DEAD, TOLD, PAIRS = 500, 60, 40
MOST_OPEN, MOST = 2.5, 1.5  # times the cost without them
SPACES = {
    "50 options": [f"option {i}" for i in range(50)],
    "a 3-D box": {name: ht.Real(0, 1) for name in "xyz"},
}


def findings() -> Iterator[Finding]:
    for name, space in SPACES.items():
        now = [1.7e9]
        left, without = (_study(space, now) for _ in range(2))
        for _ in range(DEAD):
            left.ask(lease="10min")
        ratio, words = _compared(left, without)
        yield Finding(
            f"{name}: while {DEAD} asks are open, ask and tell cost at most {MOST_OPEN:g} times",
            words,
            ratio <= MOST_OPEN,
            ratio,
        )
        now[0] += 3600.0
        left.cancel(left.ask())  # here they expire
        ratio, words = _compared(left, without)
        expired = sum(event.body["kind"] == "expired" for event in left.events())
        yield Finding(
            f"{name}: after {DEAD} asks expired, ask and tell cost at most {MOST:g} times as much",
            words,
            expired == DEAD and ratio <= MOST,
            ratio,
        )


def _compared(left: ht.Study, without: ht.Study) -> tuple[float, str]:
    """The cost of an ask and a tell as a multiple of that in a study without dead workers."""
    pairs = [(_seconds(left), _seconds(without)) for _ in range(PAIRS)]
    some, none = np.median(np.array(pairs), axis=0)
    ratio = float(some / none)
    return ratio, f"{ratio:.2f} times: {1e3 * some:.1f} and {1e3 * none:.1f} ms of CPU"


def _study(space: object, now: list[float]) -> ht.Study:
    study = ht.Study.create("a", space, store=MemoryStore(), now=lambda: now[0])  # type: ignore[arg-type]
    rng = Random(0)
    for _ in range(TOLD):
        study.tell(study.ask(), rng.random())
    return study


def _seconds(study: ht.Study) -> float:
    started = process_time()
    study.tell(study.ask(), 0.5)
    return process_time() - started
