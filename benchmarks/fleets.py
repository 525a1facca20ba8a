"""A new study beside ten similar ones, and beside ten unlike ones: relays between two machines.

HELIOTROPE_DATA names the folder of the real data; RELAY_PAIRS=design takes other pairs of machines
than those of the final figures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.report import Finding
from heliotrope.lab.environments.suite.relays import Relays
from heliotrope.storage import MemoryStore, Store
from heliotrope.study import Study
from heliotrope.validation import Indices

FLEET, LEARNED = 10, 60  # similar studies, and results of each
TRIALS, STEPS = 16, 30
MACHINES = 99


def findings() -> Iterator[Finding]:
    file = Path(os.environ.get("HELIOTROPE_DATA", "data")) / "relay_rtt.npz"
    relays = Relays(file, final=os.environ.get("RELAY_PAIRS") != "design")
    permuted = np.random.default_rng(0).permutation(MACHINES)
    store, names = MemoryStore(), {"alike": list[str](), "unlike": list[str]()}
    for number in range(FLEET):
        for kind, order in (("alike", np.arange(MACHINES)), ("unlike", permuted)):
            name = f"{kind}-{number}"
            _run(store, name, relays, 1000 + number, LEARNED, order, [])
            names[kind].append(name)
    regrets = {
        kind: np.array(
            [
                _run(store, f"{kind}-new-{seed}", relays, seed, STEPS, np.arange(MACHINES), like)
                for seed in range(TRIALS)
            ]
        )
        for kind, like in (("alone", []), *names.items())
    }
    alone = regrets["alone"].mean()
    for kind, most in (("alike", 0.8), ("unlike", 1.1)):
        ratio = float(regrets[kind].mean() / alone)
        paired = regrets[kind] - regrets["alone"]
        error = float(paired.std(ddof=1) / np.sqrt(TRIALS) / alone)
        yield Finding(
            f"relays, first {STEPS} steps after {FLEET} {kind} studies: at most {most} times the "
            "regret without them",
            f"{ratio:.2f} times (standard error {error:.2f}), {TRIALS} pairs of machines",
            ratio <= most,
        )


def _run(
    store: Store,
    name: str,
    relays: Relays,
    seed: int,
    steps: int,
    order: Indices,
    like: Sequence[str],
) -> float:
    """The average regret of a study of one pair; ``order`` says which machine a name stands for."""
    pair, values = relays.pair(seed), relays.episode(steps, seed).values
    others = [machine for machine in range(MACHINES) if machine not in pair]
    machines = {f"machine {int(order[machine])}": column for column, machine in enumerate(others)}
    study = Study.create(name, list(machines), store=store, seed=seed, like=list(like))
    regret = 0.0
    for row in values:
        ask = study.ask()
        value = float(row[machines[str(ask.option)]])
        study.tell(ask, value)
        regret += float(row.max()) - value
    return regret / steps
