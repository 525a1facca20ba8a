"""The gest-api generator: the standard's own rules, failures, constraints, other tables."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from gest_api import Generator
from gest_api.vocs import VOCS

import heliotrope as ht
from heliotrope.integrations.gest_api import HeliotropeGenerator


def vocs(**changes: Any) -> VOCS:
    given: dict[str, Any] = {"variables": {"x": [0.0, 1.0]}, "objectives": {"f": "MINIMIZE"}}
    return VOCS(**(given | changes))


def run(
    generator: HeliotropeGenerator, f: Callable[[dict[str, Any]], Any], steps: int
) -> list[Any]:
    """Suggest, evaluate and ingest one point at a time."""
    points = []
    for _ in range(steps):
        (point,) = generator.suggest(1)
        generator.ingest([{**point, **f(point)}])
        points.append(point)
    return points


def test_it_suggests_what_auto_asks() -> None:
    space = ht.SearchSpace({"x": ht.Real(0, 1)})
    optimizer = ht.Optimizer(space, ht.auto(space), seed=2, direction="minimize")
    generator = HeliotropeGenerator(vocs(), seed=2)
    for _ in range(12):
        (point,), asked = generator.suggest(1), optimizer.ask()
        assert point["x"] == pytest.approx(asked.params["x"], abs=1e-9)
        generator.ingest([{**point, "f": (point["x"] - 0.4) ** 2}])
        optimizer.tell(asked, (point["x"] - 0.4) ** 2)


def test_points_have_constants_and_distinct_ids() -> None:
    generator = HeliotropeGenerator(vocs(constants={"alpha": 0.5}))
    assert isinstance(generator, Generator)
    assert generator.returns_id
    points = generator.suggest(4)
    assert [set(point) for point in points] == [{"x", "alpha", "_id"}] * 4
    assert len({point["_id"] for point in points}) == len({point["x"] for point in points}) == 4
    assert len(generator.suggest()) == 1
    assert generator.suggest(0) == []


@pytest.mark.parametrize("package", [pd, pl], ids=["pandas", "polars"])
def test_tables_and_rows_teach_the_same(package: ModuleType) -> None:
    rows = [{"x": x, "f": (x - 0.4) ** 2} for x in np.linspace(0.0, 1.0, 7).tolist()]
    by_row, by_table = HeliotropeGenerator(vocs()), HeliotropeGenerator(vocs())
    by_row.ingest(rows)
    by_table.ingest(package.DataFrame(rows))
    assert by_row.suggest(1) == by_table.suggest(1)


def test_a_table_may_mix_suggestions_and_other_points() -> None:
    generator = HeliotropeGenerator(vocs())
    (point,) = generator.suggest(1)
    generator.ingest(pd.DataFrame([{**point, "f": 0.3}, {"x": 0.5, "f": 0.1}]))
    assert len(generator._told) == 2


def test_discrete_variables() -> None:
    mixed = vocs(variables={"k": {1.0, 2.0, 10.0, 50.0}, "mode": {"eco", "boost"}})
    generator = HeliotropeGenerator(mixed)
    points = run(generator, lambda p: {"f": abs(p["k"] - 10.0) + (p["mode"] == "eco")}, 20)
    assert {type(point["mode"]) for point in points} == {str}
    ((_, params, outcomes),) = generator.get_best_points()
    assert (params, outcomes) == ({"k": 10.0, "mode": "boost"}, {"f": 0.0})


def test_constraints_of_all_kinds() -> None:
    limits = {"a": ["LESS_THAN", 0.6], "b": ["GREATER_THAN", 0.2], "c": ["BOUNDS", -1.0, 0.55]}
    generator = HeliotropeGenerator(vocs(objectives={"f": "MAXIMIZE"}, constraints=limits))
    points = run(generator, lambda p: dict.fromkeys("fabc", p["x"]), 25)
    late = np.array([point["x"] for point in points[12:]])
    assert np.median(late) == pytest.approx(0.55, abs=0.05)
    assert np.mean((late > 0.57) | (late < 0.2)) <= 0.25
    ((_, params, _),) = generator.get_best_points()
    assert params["x"] <= 0.57


def test_failed_evaluations_close_their_suggestion() -> None:
    generator = HeliotropeGenerator(vocs(constraints={"c": ["LESS_THAN", 1.0]}))
    first, second, third = generator.suggest(3)
    generator.ingest([{**first, "f": float("nan"), "c": 0.0}])
    generator.ingest([{**second, "xopt_error": True}])
    generator.register_failures([third])
    assert generator._keyed._optimizer.open == ()
    assert generator.get_best_points() == []


def test_points_chosen_elsewhere_can_be_registered() -> None:
    generator = HeliotropeGenerator(vocs())
    (point,) = generator.register_suggestions([{"x": 0.25}])
    generator.ingest([{"_id": point["_id"], "f": 0.1}])  # blop leaves the parameters out
    ((id, params, outcomes),) = generator.get_best_points()
    assert (id, params, outcomes) == (point["_id"], {"x": 0.25}, {"f": 0.1})


def test_the_best_point_is_the_best_now() -> None:
    generator, now = HeliotropeGenerator(vocs(objectives={"f": "MAXIMIZE"})), {"best": 0.2}
    run(generator, lambda p: {"f": -((p["x"] - now["best"]) ** 2)}, 15)
    now["best"] = 0.8
    run(generator, lambda p: {"f": -((p["x"] - now["best"]) ** 2)}, 25)
    ((_, params, _),) = generator.get_best_points()
    assert params["x"] == pytest.approx(0.8, abs=0.15)


def test_the_clock_is_the_wall_time_of_the_suggestion() -> None:
    seconds = iter([100.0, 700.0, 1300.0])
    generator = HeliotropeGenerator(vocs(), clock="10min", now=lambda: next(seconds))
    generator.suggest(2)
    assert [one.t for one in generator._keyed._optimizer.open] == [1.0, 2.0]


def test_a_copy_goes_its_own_way() -> None:
    generator = HeliotropeGenerator(vocs())
    run(generator, lambda p: {"f": p["x"]}, 5)
    other = copy.deepcopy(generator)
    assert other.suggest(1) == generator.suggest(1)
    other.finalize()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"objectives": {"f": "MINIMIZE", "g": "MINIMIZE"}}, "one objective"),
        ({"objectives": {"f": "EXPLORE"}}, "one objective"),
        ({"objectives": {}}, "one objective"),
        ({"variables": {"x": [0.0, 1.0], "w": "CONTEXTUAL"}}, "contextual"),
    ],
)
def test_other_problems_are_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        HeliotropeGenerator(vocs(**changes))


def test_other_things_are_refused() -> None:
    with pytest.raises(ht.HeliotropeError, match="the VOCS of gest-api; got 3"):
        HeliotropeGenerator(3)
    for wrong in (3, [3], "x"):
        with pytest.raises(ht.HeliotropeError, match="rows as dictionaries, or a table"):
            HeliotropeGenerator(vocs()).ingest(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"x": 0.5, "f": 1.0, "_id": 99}, "the _id of an open suggestion"),
        ({"x": 0.5}, "a number as 'f'"),
        ({"x": 0.5, "f": "high"}, "a number as 'f'"),
        ({"x": 2.0, "f": 1.0}, "a number from 0.0 to 1.0"),
        ({"f": 1.0}, "a value of 'x'"),
    ],
)
def test_bad_results_change_nothing(row: dict[str, Any], reason: str) -> None:
    generator = HeliotropeGenerator(vocs())
    (point,) = generator.suggest(1)
    with pytest.raises(ValueError, match=reason):
        generator.ingest([{**point, "f": 0.5}, row])
    assert len(generator._keyed._optimizer.history) == 0
    generator.ingest([{**point, "f": 0.5}])
