"""Descriptions of limits, moves and baselines: what they read, write and refuse."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from heliotrope.errors import InputError
from heliotrope.live import Limit, Live, Moves, Remeasure, Rules, limits_to_json, read_limits
from heliotrope.live.choosing import safe
from heliotrope.live.rules import LEAST_RISK, decode_live, encode_live
from heliotrope.validation import Array

SIDES = st.sampled_from(["below", "at_most", "above", "at_least"])
NUMBERS = st.floats(-1e6, 1e6)
SHARES = st.integers(1, 300).map(lambda percent: f"{percent}%")


def leaves_a_range(sides: dict[str, float | str]) -> bool:
    """Whether the limits of a metric that are numbers leave a value between them."""
    numbers = {side: bound for side, bound in sides.items() if not isinstance(bound, str)}
    lower = [numbers[side] for side in ("above", "at_least") if side in numbers]
    upper = [numbers[side] for side in ("below", "at_most") if side in numbers]
    return max(lower, default=-math.inf) < min(upper, default=math.inf)


LIMITS = st.dictionaries(
    st.text(min_size=1, max_size=5),
    st.dictionaries(SIDES, NUMBERS | SHARES, min_size=1).filter(leaves_a_range),
    max_size=3,
)
DISTANCES = st.dictionaries(st.text(min_size=1, max_size=5), st.floats(0.0, 1e6), max_size=3)


@given(limits=LIMITS, largest=DISTANCES, cost=DISTANCES, risk=st.floats(0.001, 0.5))
def test_rules_survive_json(
    limits: dict[str, dict[str, float | str]],
    largest: dict[str, float],
    cost: dict[str, float],
    risk: float,
) -> None:
    live = Live(
        {**dict.fromkeys(limits, "watch"), "goal": "maximize"},
        limits=limits,
        risk=risk,
        baseline=0,
        safe=[{"x": 0.5}, np.array([0.5])],
        share=0.2,
        stale=1.5,
        moves=Moves(largest, cost),
    )
    arrays: dict[str, Array] = {}
    again = decode_live(json.loads(json.dumps(encode_live(live, arrays))), arrays)
    assert (again.metrics, again.rules) == (live.metrics, live.rules)
    assert (again.baseline, again.safe[0]) == (0, {"x": 0.5})
    assert str(again.safe[1]) == "[0.5]"
    assert read_limits(limits_to_json(live.rules.limits)) == live.rules.limits


@pytest.mark.parametrize(
    "limits",
    [
        {"p99": {}},
        {"p99": 200.0},
        {"p99": {"under": 200.0}},
        {"p99": {"below": "200"}},
        {"p99": {"below": "-5%"}},
        {"p99": {"below": "nan%"}},
        {"p99": {"below": float("nan")}},
        {3: {"below": 1.0}},
        ["p99"],
    ],
)
def test_wrong_limits_are_refused_with_their_place(limits: object) -> None:
    with pytest.raises(InputError) as error:
        read_limits(limits)
    assert error.value.field.startswith("limits")


@pytest.mark.parametrize(
    "arguments",
    [
        {"metrics": {"a": "watch"}},
        {"metrics": {"a": "grow"}},
        {"metrics": {}},
        {"limits": {"b": {"below": 1.0}}, "safe": [0]},
        {"limits": {"value": {"below": 1.0}}},
        {"limits": {"value": {"at_least": "95%"}}, "safe": [0]},
        {"risk": 1.0},
        {"risk": 1e-300},
        {"share": -0.1},
        {"stale": 0.0},
        {"safe": "left"},
        {"moves": {"fastest": {}}},
        {"moves": {"largest": {"0": -1.0}}},
        {"moves": {"cost": 3.0}},
    ],
)
def test_wrong_descriptions_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Live(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sides", "got"),
    [
        ({"below": 1, "above": 2}, "above 2 and below 1"),
        ({"at_least": 2, "at_most": 1}, "at_least 2 and at_most 1"),
        ({"above": 1, "at_most": 1}, "above 1 and at_most 1"),
        ({"at_least": 1, "below": 1}, "at_least 1 and below 1"),
        ({"above": 1, "at_least": 5, "below": 9, "at_most": 3}, "at_least 5 and at_most 3"),
    ],
)
def test_limits_that_no_value_keeps_are_refused(sides: dict[str, float], got: str) -> None:
    with pytest.raises(InputError) as error:
        Live({"rate": "maximize"}, limits={"rate": sides}, safe=[0])
    assert (error.value.field, error.value.got) == ("limits.rate", got)
    assert error.value.expected == "limits of rate that a value can keep together"
    assert error.value.advice


def test_limits_that_leave_a_range_or_depend_on_the_baseline_are_taken() -> None:
    both = {
        "a": {"above": 1, "below": 2},
        "b": {"at_least": 1, "at_most": 1},
        "c": {"at_least": "110%", "at_most": "90%"},  # of a negative value
        "d": {"above": 3, "below": "50%"},
    }
    live = Live(dict.fromkeys(both, "maximize"), limits=both, baseline=0)  # type: ignore[arg-type]
    assert len(live.rules.limits) == 8


def test_a_relative_limit_moves_with_the_baseline() -> None:
    limit = Limit.read("rate", "at_least", "95%")
    assert limit.margin(96.0, baseline=100.0) == pytest.approx(1.0)
    assert limit.margin(96.0, baseline=110.0) < 0.0


def test_the_baseline_is_due_by_its_share_or_by_its_doubt() -> None:
    rule = Remeasure(share=0.1, stale=2.0)
    assert not rule.is_due(asked=18, at_baseline=2, gain=0.0, deviation=1.0)
    assert rule.is_due(asked=20, at_baseline=2, gain=0.0, deviation=1.0)
    assert rule.is_due(asked=18, at_baseline=2, gain=0.0, deviation=2.5)
    assert not rule.is_due(asked=18, at_baseline=8, gain=0.0, deviation=2.5)


def test_by_default_the_baseline_is_measured_until_the_gain_is_sure() -> None:
    rule = Remeasure()
    assert rule.is_due(asked=18, at_baseline=2, gain=1.0, deviation=0.4)
    assert not rule.is_due(asked=18, at_baseline=2, gain=1.0, deviation=0.3)
    assert not Remeasure(share=0.0).is_due(asked=18, at_baseline=0, gain=0.0, deviation=1.0)


TINY = st.one_of(
    st.floats(0.0, 1e-8, exclude_min=True),
    st.integers(1, 1074).map(lambda n: 0.5**n),
    st.sampled_from([5e-324, 1e-300, LEAST_RISK, math.nextafter(LEAST_RISK, 0.0)]),
)


@given(risk=TINY, limits=LIMITS)
def test_a_risk_is_refused_or_leaves_a_finite_margin(
    risk: float, limits: dict[str, dict[str, float | str]]
) -> None:
    if risk < LEAST_RISK:
        with pytest.raises(InputError, match="at least 1e-09") as refused:
            Rules(read_limits(limits), risk)
        assert refused.value.field == "risk"
    else:
        rules = Rules(read_limits(limits), risk)
        assert safe(np.array([[1e3]]), np.ones((1, 1)), rules.risk_of_each).all()
