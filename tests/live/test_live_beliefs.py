"""Beliefs behind the rules: sums, contrasts, trust, caution, the value of a measurement, moves."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.errors import InputError
from heliotrope.estimation import World
from heliotrope.live import (
    Belief,
    Distances,
    Gain,
    Moves,
    TotalGain,
    Trust,
    hold_until,
    standardized_error,
    value_of_measuring,
)
from heliotrope.live.beliefs import cautious_world, watching
from heliotrope.live.rules import Limit
from heliotrope.policies.adaptive import Adaptive, AdaptiveAgent
from heliotrope.policies.protocol import Agent
from heliotrope.terms import Level, Stays
from heliotrope.validation import Array

DOMAIN = ht.grid(9)
SUM = ht.Prior(noise=0.05, terms=[Stays(RBF(0.3)), Level(25.0, 0.1)])
DRIFT = ht.Prior(RBF(0.3), ht.Forgetting(0.05), noise=0.05)


def agent(prior: ht.Prior, seed: int = 0, results: int = 12) -> Agent:
    rng = np.random.default_rng(seed)
    one = ht.tv_gp_ucb(prior, beta=4.0).start(DOMAIN)
    for key in range(results):
        one.open(key, float(key), rng.integers(9, size=1))
        one.tell(key, float(rng.normal()))
    return one


def test_a_contrast_is_that_of_the_joint_covariance() -> None:
    belief, t = Belief.of(agent(SUM)), 14.0
    mean, _ = belief.predict(t, DOMAIN.indices)
    joint = belief.covariance(t, DOMAIN.indices, DOMAIN.indices)
    base, share = np.array([3]), 0.9
    found, variance = belief.contrast(t, DOMAIN.indices, base, share)
    assert_allclose(found, mean - share * mean[3])
    expected = joint.diagonal() + share**2 * joint[3, 3] - 2.0 * share * joint[3]
    assert_allclose(variance, expected, atol=1e-12)


def test_what_all_places_share_cancels_in_the_gain() -> None:
    belief, t = Belief.of(agent(SUM)), 30.0
    _, variance = belief.predict(t, DOMAIN.indices)
    _, gained = belief.contrast(t, DOMAIN.indices, np.array([3]))
    assert variance.min() > 10.0  # the level is unknown after a while
    assert gained.max() < 4.0


def test_a_weighted_sum_is_that_of_independent_metrics() -> None:
    one, other, t = agent(DRIFT, 1), agent(DRIFT, 2), 13.0
    total = Belief(((2.0, one), (-3.0, other)))
    a, b = (Belief.of(some).predict(t, DOMAIN.indices) for some in (one, other))
    mean, variance = total.predict(t, DOMAIN.indices)
    assert_allclose(mean, 2.0 * a[0] - 3.0 * b[0])
    assert_allclose(variance, 4.0 * a[1] + 9.0 * b[1])
    assert_allclose(total.noise, 13.0 * 0.05)
    judged = total.judge(t, DOMAIN.indices, np.random.default_rng)
    assert_allclose(judged, (mean, variance, mean + 2.0 * np.sqrt(variance)))


def test_trust_follows_errors_and_crossings() -> None:
    trust = Trust()
    for _ in range(200):
        trust = trust.after(2.0)
    assert trust.factor == pytest.approx(2.0, abs=0.2)
    strained = trust.after(0.0, crossed=True, risk=0.05)
    assert strained.factor > trust.factor + 0.4
    for _ in range(20):
        strained = strained.after(2.0, risk=0.05)
    assert strained.strain == 0.0


def test_the_error_of_a_prediction_is_in_deviations_of_a_result() -> None:
    one = agent(DRIFT)
    mean, variance = one.predict(13.0, np.array([4]), count_open=False)
    error = standardized_error(one, 13.0, np.array([4]), float(mean[0]) + 1.0)
    assert error == pytest.approx(1.0 / np.sqrt(variance[0] + 0.05))


WORLD = World(80.0, 4.0, 1.0, 1.0, 0.5, 0.1, 0.01, 0.01, (0.2,), results=4)


@pytest.mark.parametrize(("bounds", "shares"), [((100.0,), ()), ((), (1.25,))])
def test_a_far_limit_widens_a_young_belief(bounds: list[float], shares: list[float]) -> None:
    young = cautious_world(WORLD, bounds, shares)
    assert young.stays + young.drifts > 0.5 * 20.0**2
    assert young.noise == WORLD.noise
    old = cautious_world(
        World(80.0, 4.0, 1.0, 1.0, 0.5, 0.1, 0.01, 0.01, (0.2,), results=10**6), bounds
    )
    assert old.stays == pytest.approx(1.0, rel=0.01)
    assert cautious_world(WORLD, [80.5]) == WORLD


def calm_then_far(policy: Adaptive, *, contradicts: bool = False) -> AdaptiveAgent:
    """An agent that saw 20 values near 1 and then 50, which may contradict its model."""
    one, rng = policy.start(DOMAIN), np.random.default_rng(0)
    for key in range(21):
        one.open(key, float(key), np.array([key % 9]))
        wrong, usual = contradicts and key == 20, float(rng.normal(1.0, 0.1))
        one.tell(key, 50.0 if key == 20 else usual, contradicts=wrong)
    return one


def test_a_watched_metric_has_no_outliers() -> None:
    watched = calm_then_far(watching([Limit("p99", "below", 5.0)]))
    tracked = calm_then_far(ht.auto(DOMAIN))
    place = np.array([20 % 9])
    assert watched.faults(frozenset()) == frozenset()
    assert tracked.faults(frozenset()) == {20}
    seen, _ = watched.predict(20.0, place, count_open=False)
    clipped, _ = tracked.predict(20.0, place, count_open=False)
    assert seen[0] > 5.0 > clipped[0]


def test_a_contradicted_model_is_estimated_again() -> None:
    watched = calm_then_far(watching([Limit("p99", "below", 5.0)]))
    before = watched.model
    assert before.world is not None
    assert before.world.results < 21
    again = calm_then_far(watching([Limit("p99", "below", 5.0)]), contradicts=True)
    assert again.model.world is not None
    assert again.model.world.results == 21
    assert again.knowledge.due is None
    assert again.model.variance > before.variance


def test_a_deferred_agent_notes_that_its_model_is_contradicted() -> None:
    recipe = watching([Limit("p99", "below", 5.0)]).recipe
    waiting = calm_then_far(Adaptive(recipe, deferred=True))
    estimation = waiting.estimation()
    assert estimation is not None
    waiting.update(estimation.run())
    assert waiting.estimation() is None
    for key, contradicts in ((21, False), (22, True)):
        waiting.open(key, float(key), np.array([0]))
        waiting.tell(key, 1.0, contradicts=contradicts)
        assert (waiting.estimation() is not None) == contradicts


def knowledge_gradient(belief: Belief, t: float, rng: np.random.Generator) -> float:
    """The same value by simulation."""
    mean, _ = belief.predict(t, DOMAIN.indices)
    joint = belief.covariance(t, DOMAIN.indices, DOMAIN.indices)
    z = rng.standard_normal(20_000)
    values = list[float]()
    for x in range(9):
        b: Array = joint[x] / np.sqrt(joint[x, x] + belief.noise)
        values.append(float((mean + z[:, None] * b).max(axis=1).mean() - mean.max()))
    return max(values)


def test_the_value_of_a_measurement_is_the_knowledge_gradient() -> None:
    belief = Belief.of(agent(DRIFT))
    for t in (12.0, 20.0, 60.0):
        expected = knowledge_gradient(belief, t, np.random.default_rng(0))
        assert value_of_measuring(belief, t, DOMAIN.indices) == pytest.approx(expected, abs=0.02)


def test_holding_ends_when_the_value_is_worth_the_cost() -> None:
    belief, cost = Belief.of(agent(DRIFT, results=30)), 0.6
    until = hold_until(belief, 30.0, DOMAIN.indices, last=29.0, cost=cost, pace=1.0)
    assert until is not None
    assert value_of_measuring(belief, until, DOMAIN.indices) * (until - 29.0) >= cost
    assert hold_until(belief, until, DOMAIN.indices, last=29.0, cost=cost, pace=1.0) is None


def test_gains_add_up_with_their_deviations() -> None:
    total = TotalGain().after(Gain(1.0, 0.5, 10.0)).after(Gain(2.0, 0.25, 10.0)).gain
    assert (total.mean, total.std, total.baseline) == (3.0, 0.75, 20.0)


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (Gain(0.5, 0.1, -1.0), "0.50 better, 95 % between 0.30 and 0.70"),
        (Gain(3.1, 1.0, 100.0), "3.1 % better, 95 % between 1.1 and 5.1"),
        (Gain(-2.42, 0.5, 100.0), "2.4 % worse, 95 % between 1.4 and 3.4"),
        (Gain(-2.42, 1.5, 100.0), "2.4 % worse, 95 % between 5.4 worse and 0.5 better"),
        (Gain(1.412e6, 6e4, 1e6), "141 % better, 95 % between 129 and 153"),
        (Gain(45_678.9, 1000.0, 0.0), "45,700 better, 95 % between 43,700 and 47,600"),
        (Gain(1e-9, 1e-9, 10.0), "neither better nor worse"),
        (Gain(0.0, 0.0, 0.0), "neither better nor worse"),
    ],
)
def test_a_gain_is_said_as_people_would(gain: Gain, words: str) -> None:
    assert str(gain) == words


def test_distances_are_in_the_units_of_the_parameters() -> None:
    space = ht.SearchSpace(
        {"rate": ht.Real(1.0, 100.0, log=True), "mode": ht.Categorical(["a", "b", "c"])}
    )
    moves = Moves({"rate": 5.0, "mode": 0.0}, {"rate": 0.1, "mode": 2.0})
    distances = Distances(moves, space.domain, space)
    here = space.point({"rate": 10.0, "mode": "a"})[None]
    others = np.array(
        [space.point({"rate": r, "mode": m}) for r, m in [(14.0, "a"), (10.0, "c"), (16.0, "a")]]
    )
    assert distances.reachable(others, [here]).tolist() == [True, False, False]
    assert_allclose(distances.price(others, here), [0.4, 2.0, 0.6])
    options = ht.Options(["x", "y"])
    named = Distances(Moves(cost={"option": 3.0}), options.domain, options)
    assert_allclose(named.price(np.array([0, 1]), np.array([1])), [3.0, 0.0])
    with pytest.raises(InputError):
        Distances(Moves({"speed": 1.0}), space.domain, space)
