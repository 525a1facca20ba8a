"""Suggestions avoid the places of failed evaluations for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import heliotrope as ht
from heliotrope.live.choosing import Avoidance
from heliotrope.storage import MemoryStore
from heliotrope.study import Evaluation, Study
from studies import SPACES, twin_of, what

LINE: dict[str, Any] = {"x": ht.Real(0, 1)}


def value(x: float) -> float:
    return -10.0 * (x - 0.7) ** 2


def run(opt: ht.Optimizer, fails: Callable[[Any], bool], n: int) -> list[bool]:
    """Which of n evaluations failed."""
    failed = list[bool]()
    for _ in range(n):
        asked = opt.ask()
        failed.append(fails(asked))
        if failed[-1]:
            opt.cancel(asked)
        else:
            opt.tell(asked, value(asked.x[0]))
    return failed


def x_of(asked: Evaluation) -> float:
    return float(asked.params["x"])


def line(seed: int = 0) -> ht.Optimizer:
    return ht.Optimizer(LINE, ht.auto(LINE), seed)


def test_a_region_that_always_fails_is_tried_ever_more_rarely() -> None:
    failed = run(line(), lambda asked: asked.x[0] > 0.6, 50)  # the maximum lies in it
    assert any(failed)
    assert sum(failed[25:]) <= 3


def test_a_search_where_everything_fails_spreads_out() -> None:
    opt = line()
    points = []
    for _ in range(12):
        asked = opt.ask()
        points.append(asked.x[0])
        opt.cancel(asked)
    assert np.diff(np.sort(points)).max() < 0.3
    run(opt, lambda _: False, 15)
    assert opt.best().x[0] == pytest.approx(0.7, abs=0.1)


def test_a_failing_option_is_asked_again_after_two_then_four_asks() -> None:
    options = [*"abc"]
    opt = ht.Optimizer(options, ht.auto(options), seed=1)
    asked_b = []
    for i in range(30):
        asked = opt.ask()
        if asked.option == "b":
            asked_b.append(i)
            opt.cancel(asked)
        else:
            opt.tell(asked, 1.0 if asked.option == "a" else 0.0)
    waits = np.diff(asked_b)
    assert len(waits)
    assert all(wait > 2**k for k, wait in enumerate(waits, start=1))


def test_a_result_ends_the_avoidance() -> None:
    opt = line()
    run(opt, lambda _: False, 8)
    asked = opt.ask()
    opt.cancel(asked)
    place = asked.x[None]
    assert opt.avoidance().avoids(place)[0]
    opt.tell(opt.begin(asked.params), 0.0)
    assert not opt.avoidance().avoids(place)[0]


def test_the_belief_does_not_change_and_a_cancelled_ask_need_not_be_avoided() -> None:
    opt, same = line(), line()
    for one in (opt, same):
        run(one, lambda _: False, 8)
    same.cancel(same.ask(9.0), avoid=False)
    opt.cancel(opt.ask(9.0))
    x = np.linspace(0, 1, 20)[:, None]
    for name in ("mean", "std"):
        assert np.array_equal(getattr(opt.belief(9.0, x), name), getattr(same.belief(9.0, x), name))
    assert np.array_equal(same.propose(9.0).x, same.propose(9.0).x)
    assert not same.avoidance().avoids(x).any()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=8), st.sampled_from(sorted(SPACES)))
def test_a_saved_optimizer_avoids_the_same_places(failures: list[bool], name: str) -> None:
    space = SPACES[name]
    opt = ht.Optimizer(space, ht.auto(space), seed=3)
    remaining = iter(failures)
    run(opt, lambda _: next(remaining), len(failures))
    again = ht.Optimizer.from_parts(*opt.parts())
    for _ in range(3):
        one, other = opt.ask(), again.ask()
        assert np.array_equal(one.x, other.x)
        opt.cancel(one)
        again.cancel(other)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.lists(st.floats(0, 1), max_size=6))
def test_what_is_avoided_has_a_failure_as_its_nearest_evaluation(
    failed: list[float], told: list[float]
) -> None:
    opt = line()
    for x in failed:
        opt.cancel(opt.begin({"x": x}))
    points = np.reshape(told, (-1, 1))
    avoidance = Avoidance(opt.domain, opt._lead.ledger.failures, points)
    places = np.linspace(0, 1, 11)[:, None]
    to_failed = np.abs(places - np.array(failed)).min(axis=1)
    to_told = np.abs(places - points.T).min(axis=1, initial=np.inf)
    clear = np.abs(to_failed - to_told) > 1e-6
    expected = (to_failed < to_told) | (to_failed == 0.0)
    assert np.array_equal(avoidance.avoids(places)[clear], expected[clear])


@pytest.mark.parametrize("goals", [{}, {"metrics": {"speed": "maximize"}}])
def test_a_study_avoids_places_that_fail_and_its_log_says_so(goals: dict[str, Any]) -> None:
    store = MemoryStore()
    study = Study.create("s", LINE, seed=1, store=store, **goals)
    for _ in range(6):
        asked = study.ask()
        study.tell(asked, {"speed": x_of(asked)} if goals else x_of(asked))
    first = study.ask()
    study.cancel(first)
    second = study.ask()
    assert abs(x_of(first) - x_of(second)) > 1e-6
    assert [event.body["kind"] for event in study.events()].count("cancelled") == 1
    study.cancel(second)
    twin = twin_of(store, "s")
    assert what(twin.ask()) == what(study.ask())
