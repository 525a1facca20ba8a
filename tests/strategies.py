"""Shared by the tests: hypothesis settings and values, optimizers, comparisons."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings, strategies as st
from sklearn.gaussian_process.kernels import RBF, Matern

import heliotrope as ht
from heliotrope.errors import HeliotropeError
from heliotrope.lab.plain import PlainWorld, world_by
from heliotrope.validation import Array

PRIOR = ht.Prior(RBF(0.3), ht.Forgetting(0.1), noise=0.05, mean=0.5)
X = np.array([[0.2, 0.3], [0.7, 0.9], [0.5, 0.5]])  # on no grid that the tests use
VALUES = (0.3, -1.2, 0.9, 0.1, 1.7, -0.4, 0.6, 2.1)


def fixed(examples: int) -> settings:
    """The same examples in every run."""
    return settings(derandomize=True, database=None, deadline=None, max_examples=examples)


def square() -> ht.Box:
    return ht.Box([0.0, 0.0], [1.0, 1.0])


def smooth_time() -> ht.Prior:
    return ht.Prior(RBF(0.3), Matern(5.0, nu=1.5), noise=0.05)


SETUPS: dict[str, Callable[[], ht.Optimizer]] = {
    "finite": lambda: ht.Optimizer(ht.grid(5, 5), ht.tv_gp_ucb(PRIOR), seed=3),
    "box": lambda: ht.Optimizer(square(), ht.tv_gp_ucb(PRIOR), seed=3),
    "dense": lambda: ht.Optimizer(ht.grid(5, 5), ht.tv_gp_ucb(smooth_time()), seed=3),
    "dense box": lambda: ht.Optimizer(square(), ht.tv_gp_ucb(smooth_time()), seed=3),
    "reference": lambda: ht.Optimizer(
        ht.grid(5, 5), ht.tv_gp_ucb(PRIOR, engine="reference"), seed=3
    ),
    "restart": lambda: ht.Optimizer(ht.grid(5, 5), ht.r_gp_ucb(PRIOR, every=3), seed=3),
}

bad_numbers = st.one_of(
    st.sampled_from([float("nan"), float("inf"), -float("inf"), np.float32("nan"), 10**400]),
    st.sampled_from([None, "1.0", b"1", "", {}, object(), np.datetime64("2020"), np.ma.masked]),
    st.complex_numbers(),
    st.sampled_from([True, False, np.True_, np.array(True)]),
    st.sampled_from([np.complex128(1.0), np.array(1j), np.array("1.0"), [[1.0], [1.0, 2.0]]]),
    st.lists(st.floats(allow_nan=False), max_size=3),
    st.integers(0, 3).map(np.zeros),
)


@st.composite
def plain_worlds(draw: st.DrawFn) -> PlainWorld:
    """Plain worlds of the grammar from which the benchmark draws, too."""
    seed = draw(st.integers(0, 1_000))
    return world_by(lambda among: draw(st.sampled_from(among)), seed)


def play(optimizer: ht.Optimizer, steps: int = 4) -> ht.Optimizer:
    """Ask and tell, then leave one suggestion open (id ``steps``) and cancel another."""
    for y in VALUES[:steps]:
        optimizer.tell(optimizer.ask(), y)
    optimizer.ask()
    optimizer.cancel(optimizer.ask(), avoid=False)
    return optimizer


def belief_of(optimizer: ht.Optimizer, t: float | None = None, *, count_open: bool = True) -> Array:
    """Mean and deviation as one array, over the whole domain or at X."""
    points = X if isinstance(optimizer.domain, ht.Box) else None
    belief = optimizer.belief(t, points, count_open=count_open)
    return np.array([belief.mean, belief.std])


def fingerprint(optimizer: ht.Optimizer) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Every array that a saved optimizer consists of, its JSON header among them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "optimizer")
        optimizer.save(path)
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    return {name: (str(a.dtype), a.shape, a.tobytes()) for name, a in arrays.items()}


def assert_same(one: ht.Optimizer, other: ht.Optimizer) -> None:
    """Equal in everything they hold, to the bit, and in what they ask next."""
    assert fingerprint(one) == fingerprint(other)
    assert history_of(one) == history_of(other)
    assert [ask_of(s) for s in one.open] == [ask_of(s) for s in other.open]
    np.testing.assert_array_equal(belief_of(one), belief_of(other))
    assert ask_of(one.ask()) == ask_of(other.ask())


def history_of(optimizer: ht.Optimizer) -> list[tuple[object, ...]]:
    return [(o.t, *o.x.tolist(), o.y, o.index, o.id) for o in optimizer.history]


def ask_of(suggestion: ht.Suggestion) -> tuple[object, ...]:
    return (suggestion.id, suggestion.t, *suggestion.x.tolist(), suggestion.index)


@contextmanager
def refusal(kind: type[HeliotropeError]) -> Iterator[None]:
    """Expect exactly this error, with a message of what was expected and what it got."""
    with pytest.raises(HeliotropeError) as caught:
        yield
    assert type(caught.value) is kind, caught.value
    where = f"{caught.value.field}: " if caught.value.field else ""
    assert str(caught.value).startswith(f"{where}expected {caught.value.expected}; got ")
    assert caught.value.expected
    assert caught.value.got
