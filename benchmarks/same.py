"""Whether an optimizer and a study ask the same: drawn sequences of commands of each kind.

``python -m benchmarks same --worlds 200`` plays 200 sequences of each kind through an optimizer and
through a study in memory. Every tenth is also played in a SQLite file that is opened again before
each ask. A run that was stopped continues. What a sequence asks follows from its seed alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from threadpoolctl import threadpool_limits

import heliotrope as ht
from benchmarks.history import current_commit
from benchmarks.kept import Kept
from benchmarks.report import Finding

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from games import KINDS, OptimizerSurface, Reopened, StudySurface, play, study_arguments

STEPS, WORLDS, FIRST_SEED, PROCESSES, _REOPENED = 20, 20, 32_000_000, 2, 10


def findings(worlds: int = WORLDS, seed: int = FIRST_SEED) -> Iterator[Finding]:
    kept = Kept(f"same-{current_commit()}")
    keys = [f"{name} {number}" for name in KINDS for number in range(seed, seed + worlds)]
    missing = [key for key in keys if key not in kept]
    with ProcessPoolExecutor(PROCESSES, initializer=threadpool_limits, initargs=(1,)) as pool:
        for key, difference in zip(missing, pool.map(difference_of, missing), strict=True):
            kept.get(key, partial(str, difference))
    for name in KINDS:
        own = [kept.get(key, str) for key in keys if key.rsplit(" ", 1)[0] == name]
        for difference in filter(None, own):
            print(f"{name}: {difference}")
        same = own.count("")
        claim = f"{name}: an optimizer and a study ask the same in {worlds} sequences of {STEPS}"
        yield Finding(claim, f"{same} of {worlds}", same == worlds)


def difference_of(key: str) -> str:
    """What differs first in a sequence, given the name of its kind and its seed; "" for nothing."""
    name, number = key.rsplit(" ", 1)
    kind, seed = KINDS[name], int(number)
    alone = play(OptimizerSurface(kind, seed), kind, seed, STEPS)
    study = ht.Study.create("one", store="memory:", **study_arguments(kind, seed))
    played = {"a study": play(StudySurface(study, kind), kind, seed, STEPS)}
    if seed % _REOPENED == 0:
        with TemporaryDirectory() as folder:
            store = f"sqlite:///{Path(folder) / 'studies.db'}"
            ht.Study.create("one", store=store, **study_arguments(kind, seed))
            surface = Reopened("one", store, kind)
            played["a reopened study"] = play(surface, kind, seed, STEPS)
    for surface_name, asks in played.items():
        if asks != alone:
            pairs = enumerate(zip(alone, asks, strict=False))
            first = next(i for i, (ours, theirs) in pairs if ours != theirs)
            return f"seed {seed}, ask {first}: {alone[first]}, {surface_name} {asks[first]}"
    return ""
