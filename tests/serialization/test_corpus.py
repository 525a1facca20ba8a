"""Inputs that fuzzing found, and seeds cut and changed at fixed places, as ordinary tests.

``scripts/fuzz.py`` searches for further ones.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import fuzzing

CORPUS = Path(__file__).parents[1] / "assets" / "corpus"
FOUND = sorted(path for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_inputs_that_fuzzing_found(path: Path) -> None:
    fuzzing.TARGETS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("target", fuzzing.TARGETS)
def test_changed_seeds(target: str) -> None:
    rng = random.Random(7)
    read, seeds = fuzzing.TARGETS[target], fuzzing.SEEDS[target]()
    for seed in seeds:
        read(seed)
        for _ in range(60):
            data = bytearray(seed)
            for _ in range(rng.randint(1, 3)):
                start = rng.randrange(len(data))
                data[start : start + rng.randint(0, 4)] = rng.randbytes(rng.randint(0, 4))
            read(bytes(data))
