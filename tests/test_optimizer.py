"""The ask/tell optimizer: times, open suggestions, late results, replay and choices."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.errors import HeliotropeError, InputError
from heliotrope.policies import GPPolicy, Policy
from heliotrope.validation import Array
from strategies import (
    PRIOR,
    SETUPS,
    VALUES,
    ask_of,
    assert_same,
    belief_of,
    fixed,
    history_of,
    play,
    refusal,
    square,
)

TIMES = (0.5, 2.0, 2.0, 3.25, 7.5, 8.0)  # irregular, one of them twice

setups = pytest.mark.parametrize("setup", SETUPS.values(), ids=SETUPS)
tracking = pytest.mark.parametrize("name", ["finite", "box", "dense", "dense box", "reference"])


def told(domain: ht.Finite | ht.Box, policy: Policy, steps: int = 6) -> ht.Optimizer:
    optimizer = ht.Optimizer(domain, policy, seed=1)
    for y in VALUES[:steps]:
        optimizer.tell(optimizer.ask(), y)
    return optimizer


def exact(like: ht.Optimizer, t: Array, x: Array, y: Array) -> ht.Optimizer:
    """The paper's formulas fed these data in the order of their times."""
    assert isinstance(like.policy, GPPolicy)
    optimizer = ht.Optimizer(like.domain, replace(like.policy, engine="reference"))
    order = np.argsort(t, kind="stable")
    for i in order:
        optimizer.tell_many(t[i : i + 1], x[i : i + 1], y[i : i + 1])
    return optimizer


def assert_close(one: Array, other: Array) -> None:
    np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-9)


# Times


def test_time_goes_in_steps_from_one() -> None:
    optimizer = SETUPS["finite"]()
    assert [optimizer.ask().t for _ in range(3)] == [1.0, 2.0, 3.0]


def test_time_continues_from_the_latest_ask_or_result() -> None:
    optimizer = SETUPS["finite"]()
    assert [optimizer.ask(t=17.5).t, optimizer.ask().t] == [17.5, 18.5]
    optimizer.tell_many([30.0, 20.0], [3, 4], [1.0, 2.0])
    assert optimizer.ask().t == 31.0
    optimizer.tell_many([5.0], [3], [1.0])
    assert optimizer.ask().t == 32.0


def test_a_belief_is_of_the_latest_time_by_default() -> None:
    optimizer = play(SETUPS["finite"]())
    assert optimizer.belief().t == optimizer.best().t == 6.0


# Open suggestions


@setups
def test_open_suggestions_lie_apart(setup: Callable[[], ht.Optimizer]) -> None:
    optimizer = play(setup())
    points = {tuple(optimizer.ask(t=7.0).x.tolist()) for _ in range(5)}
    assert len(points) == 5


@setups
def test_open_suggestions_shrink_the_deviation_alone(setup: Callable[[], ht.Optimizer]) -> None:
    optimizer = play(setup())
    optimizer.ask(t=7.0)
    before = belief_of(optimizer)
    for _ in range(3):
        optimizer.ask(t=7.0)
        after = belief_of(optimizer)
        np.testing.assert_array_equal(after[0], before[0])
        assert np.all(after[1] <= before[1])
        assert np.any(after[1] < before[1] - 1e-6)
        before = after


@tracking
def test_a_belief_can_leave_open_suggestions_out(name: str) -> None:
    optimizer, closed = play(SETUPS[name]()), play(SETUPS[name]())
    for suggestion in closed.open:
        closed.cancel(suggestion)
    assert_close(belief_of(optimizer, count_open=False), belief_of(closed))
    assert np.any(belief_of(optimizer)[1] < belief_of(closed)[1] - 1e-3)


@tracking
@given(order=st.permutations(range(len(TIMES))), asked_first=st.integers(1, len(TIMES)))
@fixed(8)
def test_results_may_come_late_and_in_any_order(
    name: str, order: list[int], asked_first: int
) -> None:
    """Results come in a random order, some of them between the later asks."""
    optimizer = SETUPS[name]()
    suggestions = [optimizer.ask(t) for t in TIMES[:asked_first]]
    early = [i for i in order if i < asked_first][::2]
    for i in early:
        optimizer.tell(suggestions[i], VALUES[i])
    suggestions += [optimizer.ask(t) for t in TIMES[asked_first:]]
    for i in (i for i in order if i not in early):
        optimizer.tell(suggestions[i].id, VALUES[i])
    points = np.array([s.x for s in suggestions])
    oracle = exact(optimizer, np.array(TIMES), points, np.array(VALUES[: len(TIMES)]))
    for t in (8.0, 9.3):
        assert_close(belief_of(optimizer, t), belief_of(oracle, t))


@tracking
@given(kept=st.sets(st.integers(0, len(TIMES) - 1)), reverse=st.booleans())
@fixed(6)
def test_a_cancelled_suggestion_was_never_asked(name: str, kept: set[int], reverse: bool) -> None:
    optimizer = SETUPS[name]()
    suggestions = [optimizer.ask(t) for t in TIMES]
    for i in sorted(range(len(TIMES)), reverse=reverse):
        if i in kept:
            optimizer.tell(suggestions[i], VALUES[i])
        else:
            optimizer.cancel(suggestions[i], avoid=False)
    rest = sorted(kept)
    points = np.array([suggestions[i].x for i in rest]).reshape(-1, 2)
    t, y = np.array(TIMES)[rest], np.array(VALUES)[rest]
    assert optimizer.open == ()
    assert_close(belief_of(optimizer, 8.5), belief_of(exact(optimizer, t, points, y), 8.5))


# Results from elsewhere


@setups
def test_telling_many_is_asking_and_telling(setup: Callable[[], ht.Optimizer]) -> None:
    asked, told = setup(), setup()
    for y in VALUES:
        asked.tell(asked.ask(), y)
    past = asked.history
    told.tell_many(past.t, past.x, past.y)
    np.testing.assert_array_equal(belief_of(told), belief_of(asked))


def test_points_are_given_by_index_or_by_coordinates() -> None:
    one, other = SETUPS["finite"](), SETUPS["finite"]()
    one.tell_many([1.0, 2.0], [7, 3], [1.0, 2.0])
    other.tell_many([1.0, 2.0], ht.grid(5, 5).points[[7, 3]], [1.0, 2.0])
    assert_same(one, other)


@tracking
@given(times=st.lists(st.floats(-3.0, 9.0), min_size=1, max_size=4))
@fixed(6)
def test_older_data_are_inserted_by_time(name: str, times: list[float]) -> None:
    """Open suggestions before and after them stay open, and can be told later."""
    optimizer = play(SETUPS[name]())
    x, y = np.array([[0.25, 0.75]] * len(times)), np.array(VALUES[: len(times)])
    optimizer.tell_many(times, x, y)
    later = optimizer.ask(t=10.0)
    optimizer.tell(4, -0.7)
    optimizer.tell(later, 0.4)
    data = optimizer.history
    assert len(data) == 4 + len(times) + 2
    oracle = exact(optimizer, data.t, data.x, data.y)
    assert_close(belief_of(optimizer, 11.0), belief_of(oracle, 11.0))


# Replay


@setups
def test_the_same_seed_and_answers_give_the_same_suggestions(
    setup: Callable[[], ht.Optimizer],
) -> None:
    assert_same(play(setup(), steps=8), play(setup(), steps=8))


@setups
def test_queries_change_nothing(setup: Callable[[], ht.Optimizer]) -> None:
    asked, queried = setup(), setup()
    for y in VALUES[:4]:
        belief_of(queried, 50.0)
        queried.best(50.0)
        belief_of(queried, count_open=False)
        for optimizer in (asked, queried):
            optimizer.tell(optimizer.ask(), y)
        queried.best()
    assert_same(asked, queried)


def test_ties_are_broken_evenly_by_the_seed() -> None:
    """All 25 points are equal at first; 5 standard errors of a chi-square of 24 degrees."""
    domain, policy = ht.grid(5, 5), ht.tv_gp_ucb(PRIOR)
    first = [ht.Optimizer(domain, policy, seed).ask().index for seed in range(500)]
    counts = np.bincount(np.array(first, dtype=int), minlength=25)
    chi_square = np.sum((counts - 20.0) ** 2 / 20.0)
    assert abs(chi_square - 24.0) < 5.0 * np.sqrt(2.0 * 24.0)


def test_large_seeds_differ_in_their_last_digit() -> None:
    policy = ht.uniform()
    one, other = (ht.Optimizer(ht.grid(50, 50), policy, seed) for seed in (2**60, 2**60 + 1))
    assert [one.ask().index for _ in range(5)] != [other.ask().index for _ in range(5)]


# First points


@pytest.mark.parametrize("first", [7, np.int64(7), [0.25, 0.5], np.array([0.25, 0.5])], ids=repr)
def test_the_first_point_is_given(first: object) -> None:
    policy = ht.tv_gp_ucb(PRIOR, first=first)  # type: ignore[arg-type]
    optimizer = ht.Optimizer(ht.grid(5, 5), policy)
    free = ht.Optimizer(ht.grid(5, 5), ht.tv_gp_ucb(PRIOR))
    assert optimizer.ask().index == 7
    free.tell_many([1.0], [7], [0.0])
    optimizer.tell(0, 0.0)
    free_choice = np.argmax(free.belief(2.0).std)
    assert optimizer.belief(2.0).std[optimizer.ask().index] == free.belief(2.0).std[free_choice]


def test_the_first_point_of_a_box_is_given() -> None:
    optimizer = ht.Optimizer(square(), ht.tv_gp_ucb(PRIOR, first=[0.125, 0.75]))
    assert optimizer.ask().x.tolist() == [0.125, 0.75]
    assert optimizer.ask().x.tolist() != [0.125, 0.75]


@pytest.mark.parametrize("domain", [ht.grid(5, 5), square()], ids=["grid", "box"])
def test_the_first_point_is_random(domain: ht.Finite | ht.Box) -> None:
    """A prior mean with one peak would draw every greedy choice to it."""
    mean = np.eye(25)[12] * 9.0 if isinstance(domain, ht.Finite) else 0.0
    policy = ht.tv_gp_ucb(ht.Prior(RBF(0.3), mean=mean), first="random")
    points = {tuple(ht.Optimizer(domain, policy, seed).ask().x.tolist()) for seed in range(20)}
    assert len(points) > 10


def test_the_first_point_is_skipped_where_data_are_known() -> None:
    optimizer = ht.Optimizer(ht.grid(5, 5), ht.tv_gp_ucb(PRIOR, beta=0.0, first=0))
    optimizer.tell_many([1.0], [12], [5.0])
    assert optimizer.ask().index == 12


# Policies at work


def test_a_restart_begins_at_the_prior() -> None:
    optimizer = ht.Optimizer(ht.grid(5, 5), ht.r_gp_ucb(PRIOR, every=3))
    prior = belief_of(optimizer, 1.0)
    for y in VALUES[:3]:
        optimizer.tell(optimizer.ask(), y)
    assert np.any(belief_of(optimizer, 3.0) != prior)
    np.testing.assert_array_equal(belief_of(optimizer, 4.0), prior)


def test_a_restart_at_every_step_learns_nothing() -> None:
    optimizer = ht.Optimizer(ht.grid(5, 5), ht.r_gp_ucb(PRIOR, every=1))
    prior = belief_of(optimizer, 1.0)
    for t, y in enumerate(VALUES, start=1):
        np.testing.assert_array_equal(belief_of(optimizer, float(t)), prior)
        optimizer.tell(optimizer.ask(), y)
        assert np.any(belief_of(optimizer, float(t))[0] != prior[0])


@pytest.mark.parametrize("close", [lambda opt: opt.tell(2, 9.0), lambda opt: opt.cancel(2)])
def test_a_result_of_an_earlier_block_does_not_count(
    close: Callable[[ht.Optimizer], None],
) -> None:
    optimizer = ht.Optimizer(ht.grid(5, 5), ht.r_gp_ucb(PRIOR, every=3))
    for y in VALUES[:2]:
        optimizer.tell(optimizer.ask(), y)
    late = optimizer.ask()
    optimizer.tell(optimizer.ask(), 1.0)
    before = belief_of(optimizer)
    assert late.id == 2
    close(optimizer)
    np.testing.assert_array_equal(belief_of(optimizer), before)


def test_a_restart_has_the_belief_of_gp_ucb_on_its_block() -> None:
    block = told(ht.grid(5, 5), ht.r_gp_ucb(PRIOR, every=4), steps=6)
    fresh = ht.Optimizer(ht.grid(5, 5), ht.gp_ucb(PRIOR))
    data = block.history
    fresh.tell_many(data.t[4:], data.x[4:], data.y[4:])
    np.testing.assert_array_equal(belief_of(block), belief_of(fresh))


@pytest.mark.parametrize("domain", [ht.grid(5, 5), square()], ids=["grid", "box"])
def test_gp_ucb_assumes_a_static_function(domain: ht.Finite | ht.Box) -> None:
    still = ht.Prior(PRIOR.space, ht.Forgetting(0.0), PRIOR.noise, PRIOR.mean)
    one, other = told(domain, ht.gp_ucb(PRIOR), 8), told(domain, ht.tv_gp_ucb(still), 8)
    assert history_of(one) == history_of(other)
    np.testing.assert_array_equal(belief_of(one, 20.0), belief_of(other, 20.0))


@pytest.mark.parametrize("domain", [ht.grid(5, 5), square()], ids=["grid", "box"])
def test_complete_forgetting_is_the_prior_at_every_new_step(domain: ht.Finite | ht.Box) -> None:
    forgetful = ht.Prior(RBF(0.3), ht.Forgetting(1.0), noise=0.05, mean=0.5)
    optimizer = told(domain, ht.tv_gp_ucb(forgetful))
    assert np.any(belief_of(optimizer, 6.0)[0] != 0.5)
    for t in (6.5, 7.0):
        mean, std = belief_of(optimizer, t)
        assert mean.tolist() == [0.5] * len(mean)
        assert std.tolist() == [1.0] * len(std)


@pytest.mark.parametrize("name", ["finite", "dense", "reference", "restart"])
@pytest.mark.parametrize("answer", [True, False], ids=["told", "open"])
def test_the_choice_has_the_highest_confidence_bound(name: str, answer: bool) -> None:
    optimizer = play(SETUPS[name]())
    beta = ht.LogBeta()
    for t in (7.0, 7.5, 9.0, 10.0, 10.0):
        belief = optimizer.belief(t)
        bound = bounds(belief, beta(t))
        suggestion = optimizer.ask(t)
        assert bound[suggestion.index] >= bound.max() - 1e-12 * (1.0 + bound.max())
        if answer:
            optimizer.tell(suggestion, float(np.sin(t)))


@pytest.mark.parametrize("name", ["box", "dense box"])
def test_the_choice_in_a_box_beats_a_fine_grid(name: str) -> None:
    optimizer = play(SETUPS[name](), steps=8)
    beta, fine = ht.LogBeta(), ht.grid(41, 41).points
    for t in (11.0, 12.0, 13.0):
        belief = optimizer.belief(t, fine)
        before = bounds(belief, beta(t))
        at = optimizer.belief(t, deepcopy(optimizer).ask(t).x[None])
        assert bounds(at, beta(t))[0] >= before.max() - 1e-12  # they may meet in a corner
        optimizer.tell(optimizer.ask(t), 0.3)


def bounds(belief: ht.Belief, beta: float) -> Array:
    return np.asarray(belief.mean + np.sqrt(beta) * belief.std)


# Records


def test_the_history_keeps_the_order_of_telling() -> None:
    optimizer = SETUPS["finite"]()
    first, second = optimizer.ask(), optimizer.ask()
    optimizer.tell(second, 2.0)
    optimizer.tell_many([1.5], [24], [3.0])
    optimizer.tell(first, 1.0)
    history = optimizer.history
    assert len(history) == 3
    assert history.t.tolist() == [2.0, 1.5, 1.0]
    assert history.y.tolist() == [2.0, 3.0, 1.0]
    assert history.index.tolist() == [second.index, 24, first.index]
    np.testing.assert_array_equal(history.x, ht.grid(5, 5).points[history.index])
    assert [o.id for o in history] == [second.id, None, first.id]
    assert [o.t for o in history[1:]] == [1.5, 1.0]
    assert history[-1].x.tolist() == first.x.tolist()
    with pytest.raises(IndexError):
        history[3]


def test_the_history_of_a_box_has_no_indices() -> None:
    history = told(square(), ht.tv_gp_ucb(PRIOR), steps=2).history
    assert history.index.tolist() == [-1, -1]
    assert [o.index for o in history] == [None, None]


def test_columns_of_the_history_are_copies() -> None:
    optimizer = play(SETUPS["finite"]())
    for column in (optimizer.history.t, optimizer.history.y, optimizer.history.x):
        column[:] = 99.0
    assert_same(optimizer, play(SETUPS["finite"]()))


def test_a_history_outgrows_its_first_buffer() -> None:
    optimizer = ht.Optimizer(ht.grid(5), ht.uniform())
    for y in range(40):
        optimizer.tell(optimizer.ask(), float(y))
    assert optimizer.history.y.tolist() == list(range(40))
    assert optimizer.history.t.tolist() == list(range(1, 41))


def test_open_suggestions_are_listed_oldest_first() -> None:
    optimizer = SETUPS["finite"]()
    asked = [optimizer.ask() for _ in range(4)]
    optimizer.tell(asked[1], 0.0)
    assert [ask_of(s) for s in optimizer.open] == [ask_of(asked[i]) for i in (0, 2, 3)]


def test_a_suggested_point_cannot_be_changed() -> None:
    for setup in SETUPS.values():
        with pytest.raises(ValueError, match="read-only"):
            setup().ask().x[0] = 0.0


# The best point


@pytest.mark.parametrize("name", ["finite", "dense", "reference", "restart"])
def test_the_best_point_has_the_highest_mean(name: str) -> None:
    optimizer = play(SETUPS[name]())
    best, belief = optimizer.best(7.0), optimizer.belief(7.0, count_open=False)
    assert best.index is not None
    assert best.mean == pytest.approx(belief.mean.max(), abs=1e-12)
    assert best.std == pytest.approx(belief.std[best.index], abs=1e-12)
    assert best.x.tolist() == ht.grid(5, 5).points[best.index].tolist()


@pytest.mark.parametrize("name", ["box", "dense box"])
def test_the_best_point_of_a_box_beats_a_fine_grid(name: str) -> None:
    optimizer = play(SETUPS[name](), steps=8)
    best, fine = optimizer.best(11.0), optimizer.belief(11.0, ht.grid(41, 41).points)
    at = optimizer.belief(11.0, best.x[None], count_open=False)
    assert best.index is None
    assert best.mean >= fine.mean.max() - 1e-12  # they may meet in a corner
    assert (best.mean, best.std) == (at.mean[0], at.std[0])


def test_a_suggestion_by_its_id() -> None:
    one, other = SETUPS["finite"](), SETUPS["finite"]()
    one.tell(one.ask().id, 1.0)
    other.tell(np.int64(other.ask().id), 1.0)  # type: ignore[arg-type]
    assert_same(one, other)


def test_a_belief_with_a_mean_vector_is_over_the_domain_only() -> None:
    prior = ht.Prior(RBF(0.3), mean=np.arange(25.0))
    optimizer = ht.Optimizer(ht.grid(5, 5), ht.tv_gp_ucb(prior))
    assert optimizer.belief().mean.tolist() == list(range(25))
    with refusal(InputError):
        optimizer.belief(1.0, [[0.1, 0.1]])


@pytest.mark.parametrize("domain", [ht.grid(5, 5), ht.Box([0, 0], [1, 1])], ids=["grid", "box"])
def test_a_log_of_suggestions_replayed_gives_the_same_optimizer(domain: ht.Finite | ht.Box) -> None:
    policy = ht.tv_gp_ucb(ht.Prior(RBF(0.3), ht.Forgetting(0.05)))
    first, again = (ht.Optimizer(domain, policy, seed=4) for _ in range(2))
    for step in range(12):
        proposed, asked = first.propose(), first.ask()
        assert (proposed.id, proposed.t, proposed.index) == (asked.id, asked.t, asked.index)
        np.testing.assert_array_equal(proposed.x, asked.x)
        begun = again.begin(asked.x if asked.index is None else asked.index, asked.t)
        if step % 3:
            first.tell(asked, np.sin(step))
            again.tell(begun, np.sin(step))
    assert again.dumps() == first.dumps()


def test_begin_checks_as_ask_and_the_domain_do() -> None:
    optimizer = ht.Optimizer(ht.grid(4), ht.tv_gp_ucb(ht.Prior()), seed=0)
    optimizer.begin(2, t=5.0)
    for x, t in ((9, 6.0), ([0.123], 6.0), ([np.nan], 6.0), (1, 4.0), ("a", 6.0)):
        with pytest.raises(HeliotropeError):
            optimizer.begin(x, t)
    assert len(optimizer.open) == 1
    assert optimizer.begin(1).t == 6.0


def test_another_policy_continues_with_all_results() -> None:
    one, other = (ht.Prior(RBF(length), ht.Forgetting(0.05)) for length in (0.3, 0.6))
    optimizer = ht.Optimizer(ht.grid(5, 5), ht.tv_gp_ucb(one), seed=0)
    expected = ht.Optimizer(ht.grid(5, 5), ht.tv_gp_ucb(other), seed=0)
    for step in range(10):
        s = optimizer.ask()
        optimizer.tell(s, np.sin(step))
        if step >= 4:
            expected.tell_many([s.t], s.x[None], [np.sin(step)])
    waiting = optimizer.ask()
    expected.begin(waiting.index or 0, waiting.t)
    optimizer.reconsider(ht.tv_gp_ucb(other), last=6)
    np.testing.assert_array_equal(optimizer.belief(12.0).mean, expected.belief(12.0).mean)
    np.testing.assert_array_equal(optimizer.belief(12.0).std, expected.belief(12.0).std)
    optimizer.tell(waiting, 0.5)
    assert len(optimizer.history) == 11
    with pytest.raises(HeliotropeError):
        optimizer.reconsider("tv_gp_ucb")  # type: ignore[arg-type]


@pytest.mark.parametrize("loaded", [False, True], ids=["as it was", "saved and loaded"])
def test_what_was_left_out_stays_out(loaded: bool) -> None:
    """Also if past results cause a replay of all results that count."""
    policy = ht.tv_gp_ucb(ht.Prior(RBF(0.3), ht.Forgetting(0.05)))
    optimizer, expected = (ht.Optimizer(ht.grid(5, 5), policy, seed=0) for _ in range(2))
    for step in range(10):
        optimizer.tell(s := optimizer.ask(), np.sin(step))
        if step >= 6:
            expected.tell_many([s.t], s.x[None], [np.sin(step)])
    optimizer.reconsider(policy, last=6, since=7.0)
    for t in (11.0, 2.5, 1.5):  # told later: it counts, of whatever time it is
        if loaded:
            optimizer = ht.Optimizer.loads(optimizer.dumps())
        optimizer.tell_many([t], [12], [0.5])
        expected.tell_many([t], [12], [0.5])
        np.testing.assert_allclose(optimizer.belief(12.0).mean, expected.belief(12.0).mean)
        np.testing.assert_allclose(optimizer.belief(12.0).std, expected.belief(12.0).std)
    optimizer.reconsider(policy)
    assert len(optimizer.history) == 13
    everything = ht.Optimizer(ht.grid(5, 5), policy, seed=0)
    everything.tell_many(optimizer.history.t, optimizer.history.x, optimizer.history.y)
    np.testing.assert_allclose(optimizer.belief(12.0).mean, everything.belief(12.0).mean)
