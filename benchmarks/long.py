"""Studies of 30,000 results, of options and in a 3-D box: the cost of a result does not grow.

The models are estimated in a process beside the study, as in the service. Every operation is an ask
or a tell, in processor time. ``LONG_RESULTS`` sets another number of results.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import closing
from time import process_time

import numpy as np

import heliotrope as ht
from benchmarks.report import Finding
from heliotrope.spaces import Options, SearchSpace
from heliotrope.storage import MemoryStore
from heliotrope.study import Study, StudyConfig
from heliotrope.study.estimators import Estimators
from heliotrope.validation import Array

RESULTS = int(os.environ.get("LONG_RESULTS", "30000"))
BLOCK = 1_000
SPACES: dict[str, Options | SearchSpace] = {
    "50 options": Options([f"option {i}" for i in range(50)]),
    "a 3-D box": SearchSpace({name: ht.Real(0.0, 1.0) for name in "xyz"}),
}


def findings() -> Iterator[Finding]:
    for name, space in SPACES.items():
        with closing(Estimators(1)) as estimators:
            seconds = _operations(space, estimators)  # (results, 2)
        pairs = seconds.sum(axis=1)
        ratio = float(pairs[-BLOCK:].mean() / pairs[BLOCK : 2 * BLOCK].mean())
        worst = float(seconds.max() / np.median(seconds))
        yield Finding(
            f"{RESULTS:,} results in {name}: the last thousand within 1.2 times the second",
            f"{ratio:.2f} times: {1e3 * pairs[-BLOCK:].mean():.1f} ms an ask and a tell",
            ratio <= 1.2,
            ratio,
        )
        yield Finding(
            f"{RESULTS:,} results in {name}: no operation above 20 times the median",
            f"{worst:.0f} times: {1e3 * seconds.max():.0f} ms",
            worst <= 20.0,
        )
        asks = 1e3 * seconds[BLOCK:, 0].mean()
        yield Finding(
            f"an ask in {name} at most 12 ms on average after {BLOCK:,} results",
            f"{asks:.1f} ms",
            asks <= 12.0,
        )


def _operations(space: Options | SearchSpace, estimators: Estimators) -> Array:
    """Processor seconds of each ask and each tell, (results, 2)."""
    study = Study.create_from("long", StudyConfig(space), MemoryStore(), estimators=estimators)
    study.cancel(study.ask())  # now all is imported
    gc.freeze()  # as the service does
    rng, spent = np.random.default_rng(0), np.zeros((RESULTS, 2))
    weights = rng.normal(size=50)
    for number in range(RESULTS):
        started = process_time()
        ask = study.ask()
        asked = process_time()
        if ask.option:
            option = int(ask.option.rpartition(" ")[2])
            value = weights[option] * np.cos(0.003 * number * (1 + option % 5))
        else:
            best = 0.5 + 0.3 * np.sin(0.01 * number + np.arange(3))
            value = -float(np.square(np.array(list(ask.params.values())) - best).sum())
        noise = 0.1 * rng.normal()
        told = process_time()
        study.tell(ask, float(value + noise))
        spent[number] = asked - started, process_time() - told
        if number % BLOCK == 0:
            time.sleep(0.1)  # on a busy machine the estimates would fall behind
    return spent
