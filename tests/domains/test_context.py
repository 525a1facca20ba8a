"""Contexts: given at ask, fixed during the choice, part of every point."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

import heliotrope as ht
from heliotrope.domains import Domain, Lattice, is_choice
from heliotrope.errors import InputError, NoBeliefError
from heliotrope.policies import Policy
from heliotrope.testing import check_policy
from strategies import fingerprint, refusal

PRIOR = ht.Prior(RBF([0.3, 10.0]), ht.Forgetting(0.001), noise=0.01)
SPEEDS = ht.grid(9)
FANS: dict[str, Domain] = {"finite": SPEEDS, "box": ht.Box(0.0, 1.0)}
WEATHER: dict[str, Domain] = {
    "finite": ht.Finite([-10.0, 0.0, 20.0, 40.0]),
    "box": ht.Box(-10.0, 40.0),
}
PROBLEMS = {f"{a} x {b}": ht.Contextual(FANS[a], WEATHER[b]) for a, b in product(FANS, WEATHER)}
POLICIES: dict[str, Policy] = {
    "tv_gp_ucb": ht.tv_gp_ucb(PRIOR, beta=3.0),
    "tv_ts": ht.policies.tv_ts(PRIOR),
    "pe_gp_ucb": ht.policies.pe_gp_ucb(PRIOR, [0.001, 0.01], beta=2.0),
}


def cooling(fan: float, outside: float) -> float:
    """Best where the fan runs at (outside + 10) / 50."""
    return -abs(fan - (outside + 10.0) / 50.0)


def drawn(context: Domain, rng: np.random.Generator) -> float:
    if isinstance(context, ht.Finite):
        return float(rng.choice(context.points.ravel()))
    return float(rng.uniform(-10.0, 40.0))


def played(problem: ht.Contextual, policy: Policy, steps: int) -> tuple[ht.Optimizer, list[float]]:
    optimizer, rng = ht.Optimizer(problem, policy, seed=1), np.random.default_rng(0)
    values = []
    for _ in range(steps):
        outside = drawn(problem.context, rng)
        s = optimizer.ask(context=outside)
        values.append(cooling(float(s.choice[0]), outside))
        optimizer.tell(s, values[-1] + float(rng.normal(scale=0.05)))
    return optimizer, values


# The domain


def test_finite_by_finite_is_finite() -> None:
    problem = PROBLEMS["finite x finite"]
    assert isinstance(problem.joined, ht.Finite)
    pairs = [[fan, t] for fan in SPEEDS.points.ravel() for t in (-10.0, 0.0, 20.0, 40.0)]
    np.testing.assert_array_equal(problem.joined.points, pairs)
    given = problem.given(20.0)
    assert not isinstance(given, ht.Box)
    np.testing.assert_array_equal(problem.joined.points[given][:, 1], 20.0)
    np.testing.assert_array_equal(problem.joined.points[given][:, 0], SPEEDS.points[:, 0])


@pytest.mark.parametrize("name", ["finite x box", "box x finite", "box x box"])
def test_anything_with_a_box_is_a_box(name: str) -> None:
    problem = PROBLEMS[name]
    assert isinstance(problem.joined, ht.Box)
    assert problem.joined.lower.tolist() == [0.0, -10.0]
    assert problem.joined.upper.tolist() == [1.0, 40.0]
    held = problem.given(20.0)
    assert isinstance(held, ht.Box)
    points = held.snap(held.scaled(np.random.default_rng(0).random((50, 2))))
    np.testing.assert_array_equal(points[:, 1], 20.0)
    on_grid = np.isin(points[:, 0], SPEEDS.points)
    assert on_grid.all() == name.startswith("finite")


def test_lattices_and_flat_coordinates_find_their_columns() -> None:
    speeds = ht.Box([0.0, 0.0], [3.0, 1.0], [Lattice((0,), np.arange(4.0)[:, None])])
    problem = ht.Contextual(speeds, ht.Finite([[5.0, 1.0], [5.0, 2.0]]))  # of one altitude
    assert isinstance(problem.joined, ht.Box)
    assert problem.joined.lower.tolist() == [0.0, 0.0, 4.5, 1.0]
    assert problem.joined.upper.tolist() == [3.0, 1.0, 5.5, 2.0]
    assert [lattice.columns for lattice in problem.joined.lattices] == [(0,), (2, 3)]
    turned = ht.Contextual(ht.Finite([[5.0, 1.0], [5.0, 2.0]]), speeds)
    assert isinstance(turned.joined, ht.Box)
    assert [lattice.columns for lattice in turned.joined.lattices] == [(0, 1), (2,)]


def test_what_is_among_the_choices() -> None:
    problem = PROBLEMS["box x box"]
    assert is_choice(problem.given(20.0), np.array([[0.3, 20.0]]))
    assert not is_choice(problem.given(20.0), np.array([[0.3, 20.5]]))
    assert is_choice(np.array([1, 4]), np.array([4]))
    assert not is_choice(np.array([1, 4]), np.array([2]))


# Asking


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        *((name, "tv_gp_ucb") for name in PROBLEMS),
        *product(["finite x finite", "box x finite"], ["tv_ts", "pe_gp_ucb"]),
    ],
)
def test_the_best_choice_depends_on_the_context(name: str, policy: str) -> None:
    """The last of 40 values are on average within 0.25 of the best; random ones are 0.33 off."""
    problem = PROBLEMS[name]
    optimizer, values = played(problem, POLICIES[policy], steps=40)
    assert np.mean(values[25:]) > -0.25
    cold, hot = (optimizer.best(context=outside).x for outside in (0.0, 40.0))
    assert (cold[1], hot[1]) == (0.0, 40.0)
    assert abs(cold[0] - 0.2) < 0.2
    assert abs(hot[0] - 1.0) < 0.2


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_suggestion_has_its_context(name: str) -> None:
    optimizer, _ = played(PROBLEMS[name], POLICIES["tv_gp_ucb"], steps=3)
    s = optimizer.ask(context=[20.0])
    assert s.context is not None
    assert (s.context.tolist(), s.choice.tolist()) == ([20.0], s.x[:1].tolist())
    assert s.x.tolist() == [*s.choice, *s.context]
    assert not s.x.flags.writeable
    plain = ht.Optimizer(ht.grid(3), ht.uniform()).ask()
    assert plain.context is None
    assert plain.choice is plain.x


@pytest.mark.parametrize("name", PROBLEMS)
def test_uniform_keeps_to_the_context(name: str) -> None:
    optimizer = ht.Optimizer(PROBLEMS[name], ht.uniform(), seed=0)
    points = np.array([optimizer.ask(context=0.0).x for _ in range(30)])
    np.testing.assert_array_equal(points[:, 1], 0.0)
    assert len(np.unique(points[:, 0])) > 5


def test_the_first_point_is_taken_where_it_may_be() -> None:
    for first, expected in (([0.5, 20.0], 0.5), ([0.5, 0.0], None), ("random", None)):
        policy = ht.tv_gp_ucb(PRIOR, first=first)
        s = ht.Optimizer(PROBLEMS["finite x finite"], policy, seed=0).ask(context=20.0)
        assert s.context is not None
        assert s.context[0] == 20.0
        assert expected is None or s.choice[0] == expected


def test_bandits_learn_each_context_by_itself() -> None:
    optimizer, values = played(
        PROBLEMS["finite x finite"], ht.policies.sw_ucb(-1.0, 0.0, 300, 0.02), 240
    )
    assert np.mean(values[120:]) > -0.1
    assert optimizer.history.x.shape == (240, 2)


# What is believed


def test_beliefs_are_about_points_of_the_context() -> None:
    optimizer, _ = played(PROBLEMS["finite x finite"], POLICIES["tv_gp_ucb"], steps=20)
    here = optimizer.belief(context=20.0)
    everywhere = optimizer.belief()
    rows = everywhere.points[:, 1] == 20.0
    np.testing.assert_array_equal(here.points, everywhere.points[rows])
    np.testing.assert_array_equal(here.mean, everywhere.mean[rows])
    some = optimizer.belief(X=[[0.5], [0.75]], context=20.0)
    np.testing.assert_allclose(some.mean, here.mean[[4, 6]], atol=1e-9)
    best = optimizer.best(context=20.0)
    assert best.mean == pytest.approx(here.mean.max())
    assert optimizer.sample(context=20.0, size=3).shape == (3, 9)


def test_a_belief_covers_all_finite_choices_in_any_context() -> None:
    optimizer, _ = played(PROBLEMS["finite x box"], POLICIES["tv_gp_ucb"], steps=10)
    here = optimizer.belief(context=21.5)
    np.testing.assert_array_equal(here.points[:, 0], SPEEDS.points[:, 0])
    np.testing.assert_array_equal(here.points[:, 1], 21.5)
    assert optimizer.best(context=21.5).mean == pytest.approx(here.mean.max())


def test_beliefs_over_a_box_want_choices() -> None:
    optimizer, _ = played(PROBLEMS["box x box"], POLICIES["tv_gp_ucb"], steps=10)
    some = optimizer.belief(X=[[0.5], [0.75]], context=20.0)
    full = optimizer.belief(X=[[0.5, 20.0], [0.75, 20.0]])
    np.testing.assert_array_equal(some.mean, full.mean)
    with refusal(InputError):
        optimizer.belief(context=20.0)


# Files, logs, past data


@pytest.mark.parametrize("name", PROBLEMS)
def test_files_and_logs_keep_the_context(name: str) -> None:
    problem = PROBLEMS[name]
    optimizer, _ = played(problem, POLICIES["tv_gp_ucb"], steps=6)
    waiting = optimizer.ask(context=0.0)
    loaded = ht.Optimizer.loads(optimizer.dumps())
    assert fingerprint(loaded) == fingerprint(optimizer)
    assert loaded.contextual is not None
    assert [s.context.tolist() for s in loaded.open if s.context is not None] == [[0.0]]
    replay = ht.Optimizer(problem, POLICIES["tv_gp_ucb"], seed=1)
    for observation in optimizer.history:
        replay.tell(replay.begin(observation.x, observation.t), observation.y)
    replay.begin(waiting.x, waiting.t)
    asked = [each.ask(context=40.0).x.tolist() for each in (optimizer, loaded, replay)]
    assert asked[0] == asked[1] == asked[2]


def test_past_data_come_with_their_contexts() -> None:
    optimizer = ht.Optimizer(PROBLEMS["finite x box"], POLICIES["tv_gp_ucb"], seed=0)
    X = [[fan, t] for fan in SPEEDS.points.ravel() for t in (-5.0, 35.0)]
    optimizer.tell_many(np.ones(len(X)), X, [cooling(*x) for x in X])
    assert optimizer.best(context=35.0).x[0] == pytest.approx(0.9, abs=0.1)
    assert optimizer.best(context=-5.0).x[0] == pytest.approx(0.1, abs=0.1)
    with refusal(InputError):
        optimizer.tell_many([1.0], [[0.5]], [0.0])


def test_another_policy_may_take_over() -> None:
    optimizer, _ = played(PROBLEMS["finite x finite"], ht.uniform(), steps=30)
    optimizer.reconsider(POLICIES["tv_gp_ucb"])
    assert optimizer.best(context=40.0).x[0] > 0.5
    with refusal(InputError):
        optimizer.reconsider(ht.policies.rexp3(-1.0, 0.0, 5))


def test_the_joined_domain_is_one_like_any_other() -> None:
    joined = PROBLEMS["finite x box"].joined
    prior = ht.Prior(Matern([0.3, 10.0], nu=2.5))
    check_policy(ht.tv_gp_ucb(prior), joined, laws=["stays in the domain", "stays in a part of it"])


# Refusals


def contextual() -> ht.Optimizer:
    return ht.Optimizer(PROBLEMS["finite x finite"], POLICIES["tv_gp_ucb"])


def plain() -> ht.Optimizer:
    return ht.Optimizer(ht.grid(4, 4), ht.tv_gp_ucb(ht.Prior()))


@pytest.mark.parametrize(
    "call",
    [
        lambda: contextual().ask(),
        lambda: contextual().propose(3.0),
        lambda: contextual().best(),
        lambda: contextual().ask(context=7.0),
        lambda: contextual().ask(context=[0.0, 1.0]),
        lambda: contextual().ask(context="cold"),
        lambda: contextual().ask(context=np.nan),
        lambda: contextual().belief(X=[[0.5, 20.0]], context=20.0),
        lambda: plain().ask(context=1.0),
        lambda: plain().best(context=1.0),
        lambda: plain().belief(context=1.0),
        lambda: plain().sample(context=1.0),
        lambda: ht.Optimizer(PROBLEMS["box x box"], POLICIES["tv_gp_ucb"]).ask(context=41.0),
        lambda: ht.Optimizer(PROBLEMS["finite x finite"], ht.policies.exp3(0.0, 1.0, 9)),
        lambda: ht.Contextual(ht.grid(3), [1.0, 2.0]),  # type: ignore[arg-type]
        lambda: ht.Contextual(None, ht.grid(3)),  # type: ignore[arg-type]
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], Any]) -> None:
    with refusal(InputError):
        call()


def test_an_error_names_its_field_and_changes_nothing() -> None:
    optimizer = contextual()
    before = fingerprint(optimizer)
    with pytest.raises(InputError, match=r"^context: "):
        optimizer.ask(context=7.0)
    assert fingerprint(optimizer) == before
    blind = ht.Optimizer(PROBLEMS["box x box"], ht.uniform())
    with refusal(NoBeliefError):
        blind.best(context=0.0)
