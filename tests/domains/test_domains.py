"""Domains: points, boxes, grids, and the checks of numbers."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.domains import Lattice, is_choice
from heliotrope.errors import InputError
from heliotrope.validation import Array, as_number, as_vector, as_whole
from strategies import fixed, refusal


def test_a_grid_runs_through_the_last_coordinate_first() -> None:
    points = ht.grid(2, 3).points
    expected = [[0, 0], [0, 0.5], [0, 1], [1, 0], [1, 0.5], [1, 1]]
    np.testing.assert_array_equal(points, expected)


def test_a_grid_that_fills_the_memory_is_refused() -> None:
    with pytest.raises(InputError, match=r"got 10,000,000,000 points\. Use a Box"):
        ht.grid(10**5, 10**5)


def test_a_grid_between_corners() -> None:
    points = ht.grid(3, 2, lower=[-1, 10], upper=[1, 20]).points
    np.testing.assert_array_equal(np.unique(points[:, 0]), [-1, 0, 1])
    np.testing.assert_array_equal(np.unique(points[:, 1]), [10, 20])


@given(counts=st.lists(st.integers(1, 6), min_size=1, max_size=3))
@fixed(20)
def test_every_point_of_a_grid_is_found_at_its_index(counts: list[int]) -> None:
    domain = ht.grid(*counts)
    assert len(domain) == np.prod(counts)
    assert domain.dimension == len(counts)
    np.testing.assert_array_equal(domain.places(domain.points), np.arange(len(domain)))
    np.testing.assert_array_equal(domain.at(domain.indices), domain.points)


def test_a_list_of_numbers_is_points_on_a_line() -> None:
    np.testing.assert_array_equal(ht.Finite([0.5, 2.0]).points, [[0.5], [2.0]])


def test_a_domain_keeps_its_own_points() -> None:
    points = np.zeros((3, 2))
    domain = ht.Finite(points)
    points[:] = 7.0
    assert domain.points.max() == 0.0
    with pytest.raises(ValueError, match="read-only"):
        domain.points[0, 0] = 1.0


def test_a_point_is_found_within_rounding() -> None:
    domain = ht.grid(11, lower=0.0, upper=100.0)
    assert domain.places([[30.0 + 5e-8]]).tolist() == [3]
    with pytest.raises(InputError, match=r"got \[30.01\]\. The nearest is \[30.0\], index 3\."):
        domain.places([[30.01]])


@pytest.mark.parametrize("indices", [[-1], [4], [0, 4], np.array([2**40])])
def test_an_index_out_of_range(indices: Any) -> None:
    with pytest.raises(InputError, match="indices from 0 to 3"):
        ht.grid(2, 2).places(indices)


def test_whole_numbers_are_points_where_points_have_one_coordinate() -> None:
    channels = ht.Finite([1, 6, 11])
    assert channels.places([6, 1]).tolist() == [1, 0]
    with pytest.raises(InputError, match=r"got \[2.0\]"):
        channels.places([2])


corners = st.lists(
    st.tuples(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3)), min_size=1, max_size=3
).map(lambda sides: ht.Box([a for a, _ in sides], [a + width for a, width in sides]))


@given(box=corners, seed=st.integers(0, 99))
@fixed(50)
def test_the_unit_cube_fills_a_box_and_never_leaves_it(box: ht.Box, seed: int) -> None:
    inner = np.random.default_rng(seed).random((4, box.dimension))
    unit = np.vstack([np.zeros(box.dimension), np.ones(box.dimension), inner])
    points = box.scaled(unit)
    np.testing.assert_array_equal(points[0], box.lower)
    assert np.all(points >= box.lower)
    assert np.all(points <= box.upper)
    np.testing.assert_array_equal(box.places(points), points)
    # a point loses at most the rounding of its own size, seen from the width
    rounding = 4 * np.spacing(np.abs([box.lower, box.upper]).max(axis=0))
    assert np.all(np.abs(box.unit(points) - unit) <= rounding / (box.upper - box.lower))


def test_rounding_does_not_put_a_point_outside() -> None:
    box = ht.Box([-0.9], [0.2])
    assert -0.9 + (0.2 - -0.9) > 0.2
    assert box.scaled(np.ones((1, 1))).tolist() == [[0.2]]
    assert box.places([[0.2 + 1e-12]]).tolist() == [[0.2]]


@pytest.mark.parametrize("point", [[-0.01, 0.5], [0.5, 1.01]])
def test_a_point_outside_a_box(point: list[float]) -> None:
    with refusal(InputError):
        ht.Box([0, 0], [1, 1]).places([[0.5, 0.5], point])


@pytest.mark.parametrize(
    "value",
    [2, 2.0, True + 1, np.float32(2), np.int8(2), np.array(2.0), Decimal(2), Fraction(4, 2)],
    ids=repr,
)
def test_every_kind_of_real_number_is_a_number(value: Any) -> None:
    number = as_number(value, "value")
    assert number == 2.0
    assert type(number) is float


@given(value=st.integers(0, 2**63 - 1))
@fixed(50)
def test_whole_numbers_keep_all_their_digits(value: int) -> None:
    assert as_whole(value, "value", least=0) == value
    assert as_whole(np.uint64(value), "value", least=0) == value


def test_one_number_becomes_a_vector() -> None:
    assert as_vector(2, "value", length=3).tolist() == [2.0, 2.0, 2.0]
    with refusal(InputError):
        as_vector([1, 2], "value", length=3)


LATTICES = (Lattice((1,), np.array([[0.0], [0.25], [1.0]])), Lattice((2, 3), np.eye(2)))


def test_points_are_moved_to_the_nearest_rows() -> None:
    box = ht.Box(np.zeros(4), np.ones(4), LATTICES)
    points = np.array([[0.3, 0.2, 0.1, 0.6], [0.9, 0.7, 0.8, 0.7]])
    expected = [[0.3, 0.25, 0.0, 1.0], [0.9, 1.0, 1.0, 0.0]]
    np.testing.assert_array_equal(box.snap(points), expected)
    np.testing.assert_array_equal(box.snap(box.snap(points)), expected)
    assert box.continuous.tolist() == [True, False, False, False]
    assert points[0, 1] == 0.2  # a copy


@pytest.mark.parametrize(
    "rows",
    [
        1.7e9 + np.arange(20.0)[:, None],
        101325.0 + 1e-3 * np.arange(20.0)[:, None],
        np.stack([1e9 * (np.arange(20) % 2), 1e-3 * np.arange(20)], axis=1),
    ],
    ids=["seconds of this century", "pascals", "a wide and a narrow column"],
)
def test_rows_are_nearest_to_themselves(rows: Array) -> None:
    box = ht.Contextual(ht.Finite(rows), ht.Box([0], [1])).joined
    assert isinstance(box, ht.Box)
    points = np.hstack([rows, np.full((len(rows), 1), 0.5)])
    np.testing.assert_array_equal(box.snap(points), points)
    assert all(is_choice(box, point[None]) for point in points)


@pytest.mark.parametrize("first", [None, "random"])
@pytest.mark.parametrize("dimension", [4, 3], ids=["some continuous", "none"])
def test_what_is_chosen_lies_on_the_lattices(
    first: str | None, dimension: int, tmp_path: Path
) -> None:
    shift = 4 - dimension
    lattices = [Lattice(tuple(c - shift for c in one.columns), one.rows) for one in LATTICES]
    box = ht.Box(np.zeros(dimension), np.ones(dimension), lattices)
    policy = ht.tv_gp_ucb(ht.Prior(RBF(0.5), ht.Forgetting(0.05)), beta=3.0, first=first)
    optimizer = ht.Optimizer(box, policy, seed=0)
    for step in range(12):
        s = optimizer.ask()
        np.testing.assert_array_equal(box.snap(s.x[None])[0], s.x)
        optimizer.tell(s, float(np.cos(step) + s.x.sum()))
    optimizer.save(tmp_path / "file")
    again = ht.Optimizer.load(tmp_path / "file")
    np.testing.assert_array_equal(again.ask().x, optimizer.ask().x)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Lattice((0, 1), np.zeros((1, 1))),
        lambda: Lattice((0,), np.empty((0, 1))),
        lambda: ht.Box([0], [1], [Lattice((3,), np.zeros((1, 1)))]),
        lambda: ht.Box([0], [1], ["lattice"]),  # type: ignore[list-item]
    ],
)
def test_lattices_that_do_not_fit(make: Callable[[], object]) -> None:
    with pytest.raises(InputError):
        make()
