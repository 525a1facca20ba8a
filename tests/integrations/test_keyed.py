"""What the adapters share: keys, foreign values, times that never decrease, infinite values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import heliotrope as ht
from heliotrope.integrations.keyed import Feasibility, ForeignParameter, KeyedOptimizer, Listed

MIXED, ORDERED = Listed([None, True, 1, "a"]), Listed([1.0, 2.5, 10.0], ordered=True)
FEW: dict[str, ForeignParameter] = {"c": MIXED, "k": ORDERED}
SPACE: dict[str, ForeignParameter] = {"x": ht.Real(0, 1), **FEW}

steps = st.lists(
    st.tuples(
        st.sampled_from(["ask", "begin", "tell", "cancel"]),
        st.integers(0, 4),
        st.floats(-5.0, 20.0),
        st.sampled_from([0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 1e80]),
    ),
    max_size=12,
)


@settings(max_examples=25)
@given(steps, st.booleans())
def test_any_order_of_calls_keeps_the_books(calls: list[Any], finite: bool) -> None:
    keyed, opened = KeyedOptimizer(FEW if finite else SPACE), dict[int, dict[str, Any]]()
    results = 0
    for call, key, t, value in calls:
        if call == "ask" and key not in opened:
            opened[key] = keyed.ask(key, t)
        elif call == "begin":
            opened[key] = {"c": True, "k": 10.0, "x": 0.5}
            keyed.begin(key, opened[key], t)
        elif call == "tell" and key in opened:
            results += bool(np.isfinite(value) and abs(value) < 1e45) or (
                results > 0 and not np.isnan(value)
            )
            keyed.tell(key, value, {"limit": value})
            del opened[key]
        elif call == "cancel":
            keyed.cancel(key)
            opened.pop(key, None)
    optimizer = keyed._optimizer
    assert {key for key in range(5) if keyed.is_open(key)} == set(opened)
    assert len(optimizer.open) == len(opened)
    assert len(optimizer.history) == results
    assert np.all(np.isfinite(optimizer.history.y))
    times = [one.t for one in optimizer.open]
    assert times == sorted(times)
    for key, params in opened.items():
        assert keyed.params(key).items() <= params.items()


@pytest.mark.parametrize("value", [None, True, 1, "a"])
def test_listed_values_keep_their_type(value: Any) -> None:
    assert MIXED.leave(MIXED.enter(value)) is value


def test_ordered_values_are_neighbours() -> None:
    assert isinstance(ORDERED.parameter, ht.Integer)
    assert isinstance(MIXED.parameter, ht.Categorical)
    with pytest.raises(ht.HeliotropeError, match="one of"):
        ORDERED.enter(3.0)


def test_an_evaluation_can_move_to_another_configuration() -> None:
    keyed = KeyedOptimizer(FEW)
    keyed.ask("a")
    keyed.begin("a", {"c": "a", "k": 2.5})
    keyed.begin("a", {"c": "a", "k": 2.5})
    assert keyed.params("a") == {"c": "a", "k": 2.5}
    assert len(keyed._optimizer.open) == 1


def test_a_wrong_configuration_changes_nothing() -> None:
    keyed = KeyedOptimizer(SPACE)
    before = keyed.ask("a")
    for params in ({"x": 2.0, "c": 1, "k": 1.0}, {"x": 0.5, "c": "z", "k": 1.0}, {"x": 0.5}):
        with pytest.raises(ht.HeliotropeError):
            keyed.begin("a", params)
        with pytest.raises(ht.HeliotropeError):
            keyed.check(params)
    assert keyed.params("a") == before
    assert keyed._optimizer.asked == 1


def test_the_likeliest_point_is_chosen_where_none_is_likely() -> None:
    space = ht.SearchSpace({"x": ht.Real(0, 1)})
    objective = ht.Optimizer(space, ht.auto(space))
    feasibility = Feasibility(space, 0)
    for x in np.linspace(0.0, 1.0, 8).tolist():
        opened = objective.begin({"x": x})
        objective.tell(opened, x)
        feasibility.tell(opened, {"c": 1.0 + x})  # always violated, least at 0
    assert feasibility.choose(objective, objective.propose())["x"] < 0.1


def test_with_constraints_the_feasible_rank_first() -> None:
    keyed = KeyedOptimizer({"x": ht.Real(0, 1)})
    for i, x in enumerate(np.linspace(0.0, 1.0, 11).tolist()):
        keyed.begin(i, {"x": x})
        keyed.tell(i, x, {"c": x - 0.55})
    order = keyed.rank([{"x": 0.1}, {"x": 0.9}, {"x": 0.4}])
    assert order == [2, 0, 1]
