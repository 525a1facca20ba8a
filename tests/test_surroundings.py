"""Random streams depend on seed and counter alone; time and randomness enter in one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from hypothesis import given, strategies as st

import heliotrope
from heliotrope.surroundings import RNGStream
from strategies import fixed


@given(seed=st.integers(0, 2**63 - 1), counter=st.integers(0, 10**9), drawn=st.integers(0, 5))
@fixed(40)
def test_a_stream_depends_on_seed_and_counter_alone(seed: int, counter: int, drawn: int) -> None:
    used = RNGStream(seed)
    used.at(counter + 1)().standard_normal(drawn)
    used.at(counter)().integers(7, size=drawn)
    expected = RNGStream(seed).at(counter)().random(4)
    np.testing.assert_array_equal(used.at(counter)().random(4), expected)
    for other in (
        RNGStream(seed).at(counter + 1)(),
        RNGStream(seed).at(counter, purpose=1)(),
        RNGStream((seed + 1) % 2**63).at(counter)(),
    ):
        assert not np.any(other.random(4) == expected)


def test_counters_of_one_seed_are_uncorrelated() -> None:
    """First draws of 2000 counters: mean and lag-one correlation within 5 standard errors."""
    stream = RNGStream(0)
    draws = np.array([stream.at(i)().standard_normal() for i in range(2000)])
    assert abs(draws.mean()) < 5 / np.sqrt(2000)
    assert abs(np.mean(draws[1:] * draws[:-1])) < 5 / np.sqrt(2000)


CLOCKS = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "os.urandom"}
RANDOM = {"random", "secrets", "uuid"}


def from_outside(tree: ast.Module) -> Iterator[str]:
    """The names in a module that are a wall clock or a source of random numbers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from {f"{node.value.id}.{node.attr}"} & CLOCKS
        elif isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & RANDOM
        elif isinstance(node, ast.ImportFrom):
            yield from {f"{node.module}.{alias.name}" for alias in node.names} & CLOCKS
            yield from {str(node.module)} & RANDOM


def test_time_and_random_numbers_enter_in_one_module() -> None:
    """The lab draws from seeds; limits of waiting are measured by a monotonic clock."""
    folder = Path(heliotrope.__file__).parent
    uses = {
        str(path.relative_to(folder)): sorted(from_outside(ast.parse(path.read_text())))
        for path in folder.rglob("*.py")
        if "lab" not in path.relative_to(folder).parts
    }
    assert {path: names for path, names in uses.items() if names} == {
        "surroundings.py": ["secrets", "time.time"]
    }
