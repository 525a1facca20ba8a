"""Memories against dense formulas, enumeration and another package's numbers."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Matern

import heliotrope as ht
from heliotrope.domains import Domain, Places
from heliotrope.errors import InputError, TimeError
from heliotrope.lab.environments import GPDrift
from heliotrope.memory import (
    ChangePoints,
    Memory,
    ResetOnChange,
    Wasserstein,
    Weights,
    Window,
)
from heliotrope.memory.change_points import ChangePointsEngine
from heliotrope.memory.resets import EventTrigger, Innovation, River
from heliotrope.memory.wasserstein import RemovalDistances
from heliotrope.policies import GPPolicy
from heliotrope.posterior import Accuracy, DenseOptions, HasSurface, ReferenceEngine, sample
from heliotrope.posterior.spacetime import Records, SpaceTime, for_acquisition
from heliotrope.precision import USUAL, Precision
from heliotrope.testing import LAWS, check_policy
from heliotrope.validation import Array
from scenario import play
from strategies import (
    PRIOR,
    refusal,
    square,
)

GRID = ht.grid(7, 7)
BOX = ht.Box([0.0, -1.0], [1.0, 1.0])
STILL = ht.Prior(RBF(0.3), ht.Static(), 0.05, mean=0.3)
DRIFT = ht.Prior(RBF(0.3), ht.Forgetting(0.05), 0.05, mean=0.3)
DOMAINS = pytest.mark.parametrize("domain", [GRID, BOX], ids=["finite", "box"])
SUM = ht.Prior(
    noise=0.05,
    mean=0.3,
    terms=[
        ht.terms.Stays(0.5 * RBF(0.4)),
        ht.terms.Smooth(0.5 * RBF(0.3), length=20.0),
        ht.terms.Season(0.2 * RBF(0.5), period=9.0),
        ht.terms.Level(0.4, epsilon=0.1),
    ],
)
PRIORS = pytest.mark.parametrize("prior", [STILL, DRIFT, SUM], ids=["still", "drifting", "a sum"])


def places_of(domain: Domain) -> Places:
    if isinstance(domain, ht.Finite):
        return domain.indices
    return domain.scaled(np.random.default_rng(9).random((20, 2)))


def jumps(engine: ChangePointsEngine) -> tuple[Array, Array]:
    """Possible times of the latest jump (minus infinity: never), and their probabilities."""
    state = engine.state()
    return state["since"], np.exp(state["log_w"])


class Witness:
    """An engine that only records its evaluations, for the formulas of the tests."""

    def __init__(self) -> None:
        self.opened: dict[int, tuple[float, Places]] = {}
        self.told: list[tuple[float, Places, float]] = []
        self.log_likelihood = 0.0

    def open(self, key: int, t: float, place: Places) -> None:
        self.opened[key] = (t, place)

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        self.told.append((*self.opened.pop(key), y))

    def cancel(self, key: int) -> None:
        del self.opened[key]

    def predict(
        self, t: float, places: Places, *, count_open: bool = True, part: str | None = None
    ) -> tuple[Array, Array]:
        raise NotImplementedError

    def covariance(
        self, t: float, places: Places, others: Places | None = None, *, part: str | None = None
    ) -> Array:
        raise NotImplementedError

    def accuracy(self) -> Accuracy:
        raise NotImplementedError

    def state(self) -> dict[str, Array]:
        raise NotImplementedError

    def restore(self, state: dict[str, Array]) -> None:
        raise NotImplementedError


def dense(
    prior: ht.Prior,
    domain: Domain,
    told: list[tuple[float, Places, float]],
    weights: Array,
    t: float,
    places: Places,
) -> tuple[Array, Array]:
    """The paper's posterior with noise variances sigma^2 / w: mean and covariance."""
    model = SpaceTime(prior, domain)
    if not told:
        return prior.mean_at(places), model.same_time(places, places, t)
    times, y = np.array([s for s, _, _ in told]), np.array([value for _, _, value in told])
    at = np.concatenate([place for _, place, _ in told])
    K = model.noisy(times, at) + np.diag(prior.noise * (1.0 / weights - 1.0))
    k = model.block(times, at, t, places)
    mean = prior.mean_at(places) + k.T @ np.linalg.solve(K, y - prior.mean_at(at))
    return mean, model.same_time(places, places, t) - k.T @ np.linalg.solve(K, k)


def newest(
    told: list[tuple[float, Places, float]], count: int
) -> list[tuple[float, Places, float]]:
    return sorted(told, key=lambda evaluation: evaluation[0])[-count:]


def as_told(witness: Witness, *, since: float = -np.inf) -> list[tuple[float, Places, float]]:
    """Open evaluations with any value: a variance does not depend on it."""
    return [(s, place, 0.0) for s, place in witness.opened.values() if s >= since]


# A window


@DOMAINS
@PRIORS
def test_a_window_is_the_regression_on_its_last_values(prior: ht.Prior, domain: Domain) -> None:
    engine, witness, places = Window(12).engine(prior, domain, None), Witness(), places_of(domain)
    for t in play([engine, witness], domain, prior, steps=80, irregular=True):
        told = newest(witness.told, 12)
        mean, covariance = dense(prior, domain, told, np.ones(len(told)), t + 0.5, places)
        found, variance = engine.predict(t + 0.5, places, count_open=False)
        np.testing.assert_allclose(found, mean, rtol=0, atol=1e-9)
        np.testing.assert_allclose(variance, covariance.diagonal(), rtol=0, atol=1e-9)
        np.testing.assert_allclose(engine.covariance(t + 0.5, places), covariance, atol=1e-9)
        cross = engine.covariance(t + 0.5, places[:3], places[1:])
        np.testing.assert_allclose(cross, covariance[:3, 1:], atol=1e-9)
        since = told[0][0] if len(told) == 12 else -np.inf
        every = told + as_told(witness, since=since)
        _, covariance = dense(prior, domain, every, np.ones(len(every)), t, places)
        _, variance = engine.predict(t, places)
        np.testing.assert_allclose(variance, covariance.diagonal(), rtol=0, atol=1e-9)


def test_a_window_stays_exact_for_thousands_of_steps() -> None:
    engine, witness = Window(25).engine(STILL, GRID, None), Witness()
    *_, t = play([engine, witness], GRID, STILL, steps=2_500, irregular=False)
    told = newest(witness.told, 25)
    mean, covariance = dense(STILL, GRID, told, np.ones(25), t, GRID.indices)
    found, variance = engine.predict(t, GRID.indices, count_open=False)
    np.testing.assert_allclose(found, mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(variance, covariance.diagonal(), rtol=0, atol=1e-10)
    assert len(engine.state()["store/records/t"]) == 25


def test_a_value_older_than_the_window_does_not_count() -> None:
    engine = Window(3).engine(STILL, GRID, None)
    for key in range(5):
        engine.open(key, float(key), np.array([key]))
    for key in (2, 3, 4):
        engine.tell(key, 1.0)
    before = engine.predict(5.0, GRID.indices)
    engine.tell(0, 100.0)
    np.testing.assert_array_equal(engine.predict(5.0, GRID.indices), before)


def test_the_window_of_a_variation_budget() -> None:
    assert Window.of_variation(1000, 10.0, gain=16.0) == Window(20)
    assert Window.of_variation(50, 1e-9) == Window(50)
    assert Window.of_variation(50, 1e9) == Window(1)
    assert Window.of_drift(50, 0.0, points=9) == Window(50)
    assert Window.of_drift(1000, 0.0001, points=1, gain=16.0) == Window(20)


def test_the_window_of_a_drift_counts_the_change_in_the_rkhs_norm() -> None:
    """The norm of the steps of drawn functions, by the inverse of their kernel matrix."""
    epsilon, domain = 0.05, ht.grid(4, 4)
    world = GPDrift(domain, ht.Prior(Matern(0.3, nu=0.5), ht.Forgetting(epsilon)))
    K = Matern(0.3, nu=0.5)(domain.points)
    changes = np.diff(world.episode(2000, seed=0).values, axis=0)
    norms = np.sqrt(np.einsum("tm,tm->t", changes, np.linalg.solve(K, changes.T).T))
    assert norms.mean() == pytest.approx(np.sqrt(2 * (1 - np.sqrt(1 - epsilon)) * 16), rel=0.05)
    budget = Window.of_variation(1999, float(norms.sum()), gain=1e6).length
    drift = Window.of_drift(1999, epsilon, points=16, gain=1e6).length
    assert abs(budget - drift) <= 2


# Weights


@DOMAINS
@PRIORS
def test_weights_are_noise_over_the_weight_and_its_square(prior: ht.Prior, domain: Domain) -> None:
    engine, witness, places = (
        Weights(0.93).engine(prior, domain, None),
        Witness(),
        places_of(domain),
    )
    for t in play([engine, witness], domain, prior, steps=60, irregular=True):
        told, later = witness.told, t + 0.5
        w = 0.93 ** (later - np.array([s for s, _, _ in told]))
        mean, _ = dense(prior, domain, told, w, later, places)
        _, covariance = dense(prior, domain, told, w**2, later, places)
        found, variance = engine.predict(later, places, count_open=False)
        np.testing.assert_allclose(found, mean, rtol=0, atol=1e-9)
        np.testing.assert_allclose(variance, covariance.diagonal(), rtol=0, atol=1e-9)
        every = told + as_told(witness)
        w = 0.93 ** (later - np.array([s for s, _, _ in every]))
        _, covariance = dense(prior, domain, every, w**2, later, places)
        _, variance = engine.predict(later, places)
        np.testing.assert_allclose(variance, covariance.diagonal(), rtol=0, atol=1e-9)


def test_weights_hold_no_more_than_the_points_of_a_domain() -> None:
    engine = Weights(0.99).engine(STILL, GRID, None)
    for _ in play([engine], GRID, STILL, steps=600, irregular=False):
        assert len(engine.state()["store/t"]) <= len(GRID)


def test_weights_in_a_box_drop_what_has_faded() -> None:
    """log(1e-4) / log(0.9) is 87.4; the mean of what is left is nearly that of all."""
    engine, witness, places = Weights(0.9).engine(STILL, BOX, None), Witness(), places_of(BOX)
    *_, t = play([engine, witness], BOX, STILL, steps=300, irregular=False)
    assert len(engine.state()["store/t"]) <= 88
    w = 0.9 ** (t - np.array([s for s, _, _ in witness.told]))
    mean, _ = dense(STILL, BOX, witness.told, np.maximum(w, 1e-30), t, places)
    np.testing.assert_allclose(engine.predict(t, places)[0], mean, rtol=0, atol=0.01)


# Those that forget nothing


FORGETTING_NOTHING: dict[str, tuple[Memory, ht.Prior]] = {
    "window": (Window(10_000), DRIFT),
    "weights": (Weights(1.0), DRIFT),
    "reset": (ResetOnChange(EventTrigger(1e-12)), DRIFT),
    "change points": (ChangePoints(1e-99), DRIFT),
    "wasserstein": (Wasserstein(1e-9, most=1000), DRIFT),
}


@DOMAINS
@pytest.mark.parametrize("name", FORGETTING_NOTHING)
def test_a_memory_that_forgets_nothing_keeps_all(name: str, domain: Domain) -> None:
    memory, prior = FORGETTING_NOTHING[name]
    engine, reference = memory.engine(prior, domain, None), ReferenceEngine(prior, domain)
    places = places_of(domain)
    for t in play([engine, reference], domain, prior, steps=60, irregular=True):
        for count_open in (False, True):
            found = engine.predict(t + 0.25, places, count_open=count_open)
            exact = reference.predict(t + 0.25, places, count_open=count_open)
            np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        engine.covariance(t, places), reference.covariance(t, places), rtol=0, atol=1e-6
    )
    assert engine.log_likelihood == pytest.approx(reference.log_likelihood, rel=1e-6)


# Resets


def test_the_event_trigger_is_the_papers_formula() -> None:
    trigger = EventTrigger(0.1)
    for count, deviation, noise in itertools.product((1, 7, 400), (0.0, 0.3, 2.0), (0.01, 1.0)):
        rounds = np.log(2.0 * np.pi**2 * count**2 / 6.0 / 0.1)
        bound = np.sqrt(2.0 * rounds) * deviation + np.sqrt(2.0 * noise * rounds)
        for sign in (-1.0, 1.0):
            assert not trigger.changed(Innovation(sign * 0.999 * bound, deviation, noise, count))
            assert trigger.changed(Innovation(sign * 1.001 * bound, deviation, noise, count))


def test_where_nothing_changes_the_trigger_is_silent() -> None:
    """With delta = 0.1, at most one run in ten resets; none of these ten of 100 steps does."""
    prior, domain = ht.Prior(RBF(0.3), noise=0.05), ht.grid(6, 6)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        f = np.linalg.cholesky(RBF(0.3)(domain.points) + 1e-9 * np.eye(36)) @ rng.normal(size=36)
        engine = ResetOnChange().engine(prior, domain, None)
        for key, i in enumerate(rng.integers(36, size=100).tolist()):
            engine.open(key, float(key), np.array([i]))
            engine.tell(key, float(f[i] + np.sqrt(0.05) * rng.normal()))
        assert engine.state()["count"] == 100  # values since the latest reset


@DOMAINS
def test_a_reset_keeps_the_newest_value_and_open_evaluations(domain: Domain) -> None:
    places = places_of(domain)
    engine = ResetOnChange().engine(STILL, domain, None)
    for key in range(8):
        engine.open(key, float(key), places[key % 3 : key % 3 + 1])
        engine.tell(key, 0.5)
    engine.open(8, 8.0, places[5:6])
    engine.open(9, 9.0, places[:1])
    before = engine.log_likelihood
    mean, variance = engine.predict(9.0, places[:1], count_open=False)
    engine.tell(9, 9.0)
    fresh = ReferenceEngine(STILL, domain)
    fresh.open(8, 8.0, places[5:6])
    fresh.open(9, 9.0, places[:1])
    fresh.tell(9, 9.0)
    density = norm(mean[0], np.sqrt(variance[0] + STILL.noise)).logpdf(9.0)
    assert engine.log_likelihood == pytest.approx(before + density, rel=1e-9)
    np.testing.assert_allclose(engine.predict(9.0, places), fresh.predict(9.0, places), atol=1e-8)
    for one in (engine, fresh):
        one.tell(8, 1.0)
    np.testing.assert_allclose(engine.predict(9.0, places), fresh.predict(9.0, places), atol=1e-8)


@pytest.mark.parametrize(
    "detector",
    [
        River("ADWIN"),
        River("PageHinkley", {"threshold": 30.0}),
        River("KSWIN", [("alpha", 1e-7), ("stat_size", 20)]),
    ],
    ids=lambda detector: detector.name,
)
def test_rivers_detectors_tell_of_a_jump_and_can_be_saved(detector: River) -> None:
    memory, rng, counts = ResetOnChange(detector), np.random.default_rng(0), []
    engine, saved = memory.engine(STILL, GRID, None), memory.engine(STILL, GRID, None)
    for key in range(400):
        if key in (150, 230):
            saved.restore(engine.state())
        place = rng.integers(len(GRID), size=1)
        jumped = 8.0 * (-1) ** key if key >= 200 else 0.0
        y = jumped + float(rng.normal(scale=0.1))
        for one in (engine, saved) if key >= 150 else (engine,):
            one.open(key, float(key), place)
            one.tell(key, y)
        counts.append(engine.state()["count"])
    assert counts[:200] == list(range(1, 201))
    assert min(counts[200:]) == 0.0
    states = engine.state(), saved.state()
    for name, array in states[0].items():
        np.testing.assert_array_equal(states[1][name], array)


def test_rivers_detectors_need_river(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "river.drift", None)
    with pytest.raises(InputError, match=r"Run: pip install 'heliotrope\[river\]'"):
        River("ADWIN")


def test_what_a_detector_has_seen_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(River, "span", 20)
    engine = ResetOnChange(River("NoDrift")).engine(STILL, GRID, None)
    seen = []
    for key in range(100):
        engine.open(key, float(key), np.array([key % 49]))
        engine.tell(key, 0.0)
        seen.append(len(engine.state()["seen"]))
    assert max(seen) == 39
    assert engine.state()["count"] == 100


# Change points


def enumerated(
    prior: ht.Prior, hazard: float, steps: list[tuple[float, Places, float]], at: Places, t: float
) -> tuple[float, Array, Array]:
    """All ways to cut the steps, and the time after them, into runs.

    Log density of the values, mean and covariance of the mixture at time t.
    """
    scores, means, covariances = [], [], []
    gaps = np.diff([s for s, _, _ in steps] + [t])
    for cuts in itertools.product((False, True), repeat=len(steps)):
        log_stay = gaps * np.log1p(-hazard)
        score = float(np.where(cuts, np.log(-np.expm1(log_stay)), log_stay).sum())
        run = ReferenceEngine(prior, GRID)
        for key, (s, place, y) in enumerate(steps):
            run.open(key, s, place)
            run.tell(key, y)
            if cuts[key]:
                score += run.log_likelihood
                run = ReferenceEngine(prior, GRID)
        scores.append(score + run.log_likelihood)
        means.append(run.predict(t, at)[0])
        covariances.append(run.covariance(t, at))
    w, m = softmax(scores), np.array(means)
    apart = m - w @ m
    covariance = np.tensordot(w, np.array(covariances), axes=1) + (w[:, None] * apart).T @ apart
    return float(logsumexp(scores)), w @ m, covariance


@PRIORS
@pytest.mark.parametrize("hazard", [0.02, 0.3])
@pytest.mark.parametrize("ahead", [0.5, 20.0])
def test_change_points_are_the_mixture_over_all_ways_to_cut(
    prior: ht.Prior, hazard: float, ahead: float
) -> None:
    rng, at = np.random.default_rng(4), np.arange(0, 49, 6)
    engine = ChangePoints(hazard, most=100).engine(prior, GRID, None)
    steps: list[tuple[float, Places, float]] = []
    for key, t in enumerate(np.cumsum(rng.exponential(size=7)).tolist()):
        y = float(rng.normal(scale=0.3)) + (2.0 if key >= 4 else 0.0)
        steps.append((t, rng.integers(10, size=1), y))
        engine.open(key, *steps[-1][:2])
        engine.tell(key, y)
    density, mean, covariance = enumerated(prior, hazard, steps, at, t + ahead)
    assert engine.log_likelihood == pytest.approx(density, rel=1e-9)
    found, variance = engine.predict(t + ahead, at)
    np.testing.assert_allclose(found, mean, rtol=0, atol=1e-5)  # voices below 1e-6 are unheard
    np.testing.assert_allclose(variance, covariance.diagonal(), rtol=0, atol=1e-5)
    np.testing.assert_allclose(engine.covariance(t + ahead, at), covariance, rtol=0, atol=1e-5)


@DOMAINS
@PRIORS
def test_a_forecast_equals_the_next_prediction(prior: ht.Prior, domain: Domain) -> None:
    """With two evaluations open, of which one is from before the gap."""
    engine, places = ChangePoints(0.05, most=30).engine(prior, domain, None), places_of(domain)
    assert isinstance(engine, ChangePointsEngine)
    for key in range(9):
        engine.open(key, float(key), places[key : key + 1])
        if key != 7:
            engine.tell(key, 0.3 * key)
    told, covariance = (
        engine.predict(15.5, places, count_open=False),
        engine.covariance(15.5, places),
    )
    forecast = engine.predict(15.5, places)
    assert np.all(forecast[1] <= told[1] + 1e-12)
    since, _ = jumps(engine)
    engine.open(9, 15.5, places[:1])
    np.testing.assert_allclose(engine.predict(15.5, places, count_open=False), told, atol=1e-9)
    np.testing.assert_allclose(engine.covariance(15.5, places), covariance, atol=1e-9)
    assert jumps(engine)[0].tolist() == [*since, 15.5]
    assert jumps(engine)[1][-1] == pytest.approx(1.0 - 0.95**7.5)
    engine.cancel(9)
    np.testing.assert_allclose(engine.predict(15.5, places), forecast, atol=1e-9)


def test_a_forecast_ends_at_the_prior_and_a_draw_follows_it() -> None:
    engine = ChangePoints(0.05, most=5).engine(STILL, GRID, None)
    assert isinstance(engine, ChangePointsEngine)
    for key in range(20):
        engine.open(key, float(key), np.array([key % 4]))
        engine.tell(key, 2.0)
    mean, variance = engine.predict(2_000.0, GRID.indices)
    np.testing.assert_allclose(mean, STILL.mean_at(GRID.indices), atol=1e-9)
    np.testing.assert_allclose(variance, 1.0, atol=1e-9)
    rng, jumped = np.random.default_rng(0), 1.0 - 0.95**11.0
    none_known = [engine.component(30.0, rng) is engine._blank for _ in range(2_000)]
    assert abs(np.mean(none_known) - jumped) < 5.0 * np.sqrt(jumped * (1.0 - jumped) / 2_000)


@DOMAINS
def test_a_bound_is_the_mean_of_the_bounds_with_and_without_a_jump(domain: Domain) -> None:
    engine, places = ChangePoints(0.05).engine(DRIFT, domain, None), places_of(domain)
    for key in range(9):
        engine.open(key, float(key), places[key : key + 1])
        engine.tell(key, 0.3 * key)
    mean, variance = engine.predict(10.0, places)
    by_case, squared = for_acquisition(engine, 10.0).predict(10.0, places)
    np.testing.assert_allclose(by_case, mean, atol=1e-9)
    jumped = 1.0 - 0.95**2
    unless = (mean - jumped * DRIFT.mean_at(places)) / (1.0 - jumped)
    spread = jumped * (1.0 - jumped) * (unless - DRIFT.mean_at(places)) ** 2
    unless_variance = (variance - spread - jumped * 1.0) / (1.0 - jumped)
    deviation = (1.0 - jumped) * np.sqrt(unless_variance) + jumped * 1.0
    np.testing.assert_allclose(np.sqrt(squared), deviation, atol=1e-9)


@pytest.mark.parametrize("learn", [None, ht.Learn(epsilons=(0.01, 0.1))])
def test_after_a_long_pause_the_best_is_the_priors(learn: ht.Learn | None) -> None:
    expected = GRID.points.sum(axis=1)
    prior = ht.Prior(RBF(0.3), ht.Forgetting(0.001), 0.05, mean=expected)
    policy = GPPolicy(prior, ht.UCB(2.0), ChangePoints(0.05), learn=learn)
    opt = ht.Optimizer(GRID, policy, seed=0)
    opt.tell_many(np.arange(1.0, 9.0), GRID.points[[0, 1] * 4], np.full(8, 4.0))
    assert opt.best(9.0).index in (0, 1)
    assert opt.best(200.0).index == opt.ask(200.0).index == 48


def test_what_was_before_a_jump_is_not_kept() -> None:
    engine = ChangePoints().engine(STILL, GRID, DenseOptions())
    engine.open(0, 5.0, np.array([0]))
    engine.tell(0, 1.0)
    with refusal(TimeError):
        engine.predict(4.0, GRID.indices)


def test_a_jump_is_found_where_it_was() -> None:
    engine = ChangePoints(0.01, most=6).engine(STILL, GRID, None)
    assert isinstance(engine, ChangePointsEngine)
    for key in range(60):
        engine.open(key, float(key), np.array([key % 4]))
        engine.tell(key, 0.0 if key < 40 else 2.5)
    since, likely = jumps(engine)
    assert len(since) == 6
    assert since[likely.argmax()] == 40.0
    assert likely.max() > 0.9
    np.testing.assert_allclose(engine.predict(60.0, np.arange(4))[0], 2.5, atol=0.2)


def test_late_values_count_where_they_were_asked_for() -> None:
    """Of two runs, each gets its own values, whatever their order."""
    engine = ChangePoints(0.01, most=30).engine(STILL, GRID, None)
    for key in range(16):
        engine.open(key, float(key), np.array([key % 4]))
    for key in np.random.default_rng(0).permutation(16).tolist():
        engine.tell(key, 0.0 if key < 8 else 3.0)
    np.testing.assert_allclose(engine.predict(16.0, np.arange(4))[0], 3.0, atol=0.3)
    assert np.isfinite(engine.log_likelihood)


def test_a_value_that_no_hypothesis_awaits_changes_nothing() -> None:
    engine = ChangePoints(0.3, most=2).engine(STILL, GRID, None)
    engine.open(0, 0.0, np.array([0]))
    for key in range(1, 12):
        engine.open(key, float(key), np.array([0]))
        engine.tell(key, float(5 * (-1) ** key))
    assert isinstance(engine, ChangePointsEngine)
    since, _ = jumps(engine)
    assert since.min() > 0.0
    before = engine.predict(12.0, GRID.indices), engine.log_likelihood
    engine.tell(0, 100.0)
    np.testing.assert_array_equal(engine.predict(12.0, GRID.indices), before[0])
    assert engine.log_likelihood == before[1]


# Relevance


def test_relevance_is_that_of_the_authors_package() -> None:
    """Numbers of wdbo-criterion 2.2.1: variance 1.5, noise 0.1, Matern of 0.3 and of 2 in time.

    It integrates over the whole line, which a grid 20 length scales wide is as good as.
    """
    x = np.array([0.1, 0.25, 0.5, 0.55, 0.9, 0.7])
    domain = ht.Finite(np.concatenate([x, np.linspace(-6.0, 7.0, 1301)]))
    for nu_space, nu_time, expected in WDBO_CRITERION:
        space = ConstantKernel(1.5) * Matern(0.3, nu=nu_space)
        model = SpaceTime(ht.Prior(space, Matern(2.0, nu=nu_time), 0.1), domain)
        data = Records(model.no_places)
        data.t = np.array([0.2, 0.7, 1.1, 1.9, 2.4, 3.0])
        data.y = np.array([0.3, -0.8, 1.2, 0.4, -0.1, 0.9])
        data.places, data.noise = np.arange(6), np.full(6, 0.1)
        found = RemovalDistances(model, data, 3.5, np.arange(6, len(domain))).distances()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


WDBO_CRITERION = [
    (1.5, 1.5, [0.097160, 0.221739, 0.127697, 0.234469, 0.408431, 0.767896]),
    (2.5, 1.5, [0.100672, 0.239531, 0.155458, 0.249211, 0.417266, 0.781572]),
    (2.5, 2.5, [0.096327, 0.251717, 0.196543, 0.292338, 0.433454, 0.818335]),
]


@pytest.mark.parametrize("time", [ht.Forgetting(0.2), RBF(4.0)], ids=["forgetting", "SE"])
def test_relevance_is_the_distance_of_posteriors(time: ht.Forgetting | RBF) -> None:
    """Posteriors with and without each value, at all points and 100 times to come."""
    prior, domain = ht.Prior(RBF(0.3), time, 0.1), ht.grid(15)
    model, rng = SpaceTime(prior, domain), np.random.default_rng(0)
    data = Records(model.no_places)
    for t in range(6):
        data.append(float(t), rng.integers(15, size=1), float(rng.normal()), prior.noise)
    told = list(zip(data.t.tolist(), data.places[:, None], data.y.tolist(), strict=True))
    every = [told, *([one for j, one in enumerate(told) if j != i] for i in range(6)), []]
    sums = np.zeros(8)
    for t in 5.0 + 0.25 * (np.arange(100) + 0.5):  # the midpoint rule
        (mean, variance), *others = (
            (m, C.diagonal())
            for m, C in (
                dense(prior, domain, some, np.ones(len(some)), t, domain.indices) for some in every
            )
        )
        for j, (m, v) in enumerate(others):
            sums[j] += np.sum((mean - m) ** 2 + np.abs(variance - v))
    found = RemovalDistances(model, data, 5.0, domain.indices).distances()
    np.testing.assert_allclose(found, np.sqrt(sums[:6] / sums[6]), rtol=2e-3)


def test_the_budget_lets_go_of_what_is_stale() -> None:
    engine = Wasserstein(0.25, most=60).engine(DRIFT, GRID, None)
    sizes, oldest = [], []
    for t in play([engine], GRID, DRIFT, steps=300, irregular=False):
        sizes.append(len(engine.state()["store/records/t"]))
        oldest.append(t - engine.state()["store/records/t"].min(initial=t))
    assert max(sizes) <= 60
    assert sizes[-1] < 60  # the budget did it, not the limit
    assert max(oldest[200:]) < 250.0


def test_the_limit_holds_without_drift() -> None:
    engine = Wasserstein(most=15).engine(STILL, GRID, None)
    for _ in play([engine], GRID, STILL, steps=50, irregular=False):
        assert len(engine.state()["store/records/t"]) <= 15


# All of them


POLICIES: dict[str, Callable[[], GPPolicy]] = {
    "window": lambda: ht.policies.sw_gp_ucb(PRIOR, window=3),
    "weights": lambda: ht.policies.wgp_ucb(PRIOR, weight=0.8),
    "event": lambda: ht.policies.et_gp_ucb(PRIOR, delta=0.9),
    "river": lambda: GPPolicy(PRIOR, ht.UCB(2.0), ResetOnChange(River("ADWIN"))),
    "change points": lambda: GPPolicy(PRIOR, ht.UCB(2.0), ChangePoints(0.1, most=4)),
    "wasserstein": lambda: ht.policies.wdbo(PRIOR, alpha=2.0),
    "learned window": lambda: GPPolicy(
        PRIOR, ht.UCB(2.0), Window(3), learn=ht.Learn(epsilons=(0.01, 0.1))
    ),
    "learned change points": lambda: GPPolicy(
        PRIOR, ht.UCB(2.0), ChangePoints(0.1, most=3), learn=ht.Learn(epsilons=(0.01, 0.1))
    ),
}
NAMED = pytest.mark.parametrize("name", POLICIES)


@NAMED
def test_a_policy_keeps_every_law(name: str) -> None:
    """Of a bank of memories, those that its members could break together."""
    laws = ["save and load", "replay", "late results"] if "learned" in name else LAWS
    check_policy(POLICIES[name](), laws=laws)


@NAMED
def test_steep_slopes_and_draws_in_a_box(name: str) -> None:
    """The surface is climbed along its own gradient, and draws have the posterior's moments."""
    agent = POLICIES[name]().start(square())
    rng = np.random.default_rng(0)
    for key, point in enumerate(rng.random((8, 1, 2))):
        agent.open(key, float(key), point)
        if key != 6:
            agent.tell(key, float(rng.normal()))
    engine, X, h = agent._engine, rng.random((5, 2)), 1e-6
    for posterior in (engine, for_acquisition(engine, 8.0)):
        assert isinstance(posterior, HasSurface)
        surface = posterior.surface(8.0)
        np.testing.assert_allclose(surface.value(X), posterior.predict(8.0, X), atol=1e-9)
        for axis, slopes in enumerate(np.moveaxis(np.array(surface.gradient(X)), 2, 0)):
            step = h * np.eye(2)[axis]
            difference = np.subtract(surface.value(X + step), surface.value(X - step)) / (2.0 * h)
            np.testing.assert_allclose(slopes, difference, atol=1e-6)
    mean, variance = engine.predict(8.0, X, count_open=False)
    draws = sample(engine, 8.0, X, rng, 4000)
    np.testing.assert_allclose(engine.covariance(8.0, X).diagonal(), variance, atol=1e-9)
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 5.0 * np.sqrt(variance / 4000))


def test_the_factories_are_compositions() -> None:
    expected: dict[str, tuple[GPPolicy, Memory]] = {
        "sw": (ht.policies.sw_gp_ucb(PRIOR, 30, 2.0), Window(30)),
        "wgp": (ht.policies.wgp_ucb(PRIOR, 0.9, 2.0), Weights(0.9)),
        "et": (ht.policies.et_gp_ucb(PRIOR, 2.0, 0.2), ResetOnChange(EventTrigger(0.2))),
        "cp": (ht.policies.cp_gp_ucb(PRIOR, 0.02, 2.0), ChangePoints(0.02)),
        "wdbo": (ht.policies.wdbo(PRIOR, 2.0, 0.5), Wasserstein(0.5)),
    }
    for name, (policy, memory) in expected.items():
        assert policy.memory == memory
        assert policy.acquisition == ht.UCB(2.0)
        kept = name in ("cp", "wdbo")
        assert policy.prior.time == (PRIOR.time if kept else ht.Static())


@pytest.mark.parametrize(
    "make",
    [
        lambda: Window(0),
        lambda: Window(2.5),  # type: ignore[arg-type]
        lambda: Window("many"),  # type: ignore[arg-type]
        lambda: Window.of_variation(0, 1.0),
        lambda: Window.of_variation(10, 0.0),
        lambda: Weights(0.0),
        lambda: Weights(1.1),
        lambda: Weights(float("nan")),
        lambda: EventTrigger(0.0),
        lambda: EventTrigger(1.0),
        lambda: ResetOnChange(EventTrigger),  # type: ignore[arg-type]
        lambda: ResetOnChange(None),  # type: ignore[arg-type]
        lambda: River("Nothing"),
        lambda: River("DriftRetrainingClassifier"),
        lambda: River(None),  # type: ignore[arg-type]
        lambda: River("ADWIN", {"nothing": 1.0}),
        lambda: River("ADWIN", 3),  # type: ignore[arg-type]
        lambda: ChangePoints(0.0),
        lambda: ChangePoints(1.0),
        lambda: ChangePoints(0.1, most=1),
        lambda: Wasserstein(0.0),
        lambda: Wasserstein(most=1),
        lambda: Window(3).engine(STILL, GRID, DenseOptions()),
        lambda: Wasserstein().engine(ht.Prior(time=ExpSineSquared()), GRID, None),
        lambda: Window(3).engine(ht.Prior(RBF(0.3), noise=1e-12), GRID, None),
        lambda: ht.policies.sw_gp_ucb(None, 3),  # type: ignore[arg-type]
    ],
)
def test_parameters_that_make_no_sense(make: Callable[[], object]) -> None:
    with refusal(InputError):
        make()


@pytest.mark.parametrize("name", ["window", "weights", "change points", "wasserstein"])
def test_time_cannot_go_back(name: str) -> None:
    memory = POLICIES[name]().memory
    engine = memory.engine(DRIFT, GRID, None)
    engine.open(0, 5.0, np.array([0]))
    engine.tell(0, 1.0)
    before = engine.state()
    for call in (
        lambda: engine.open(1, 4.0, np.array([1])),
        lambda: engine.predict(4.0, GRID.indices),
    ):
        with refusal(TimeError):
            call()
    for key, array in engine.state().items():
        np.testing.assert_array_equal(array, before[key])


@DOMAINS
@pytest.mark.parametrize(("rate", "grows"), [(0.5, False), (1.0, True)])
def test_constant_weights_declare_that_they_grow(domain: Domain, rate: float, grows: bool) -> None:
    policy = replace(ht.tv_gp_ucb(DRIFT), memory=Weights(rate))
    assert policy.grows == grows
    agent, sizes = policy.start(domain), []
    for step in range(80):
        agent.open(step, float(step), places_of(domain)[:1])
        agent.tell(step, 0.5)
        sizes.append(sum(array.nbytes for array in agent.state().values()))
    assert (sizes[-1] > sizes[39]) == grows


class Refusing:
    """A detector that cannot judge negative innovations, though it has noted them by then."""

    span = 5

    def __init__(self) -> None:
        self.noted: list[float] = []

    def monitor(self) -> Refusing:
        return Refusing()

    def changed(self, innovation: Innovation) -> bool:
        self.noted.append(innovation.residual)
        if innovation.residual < 0.0:
            raise InputError("a positive innovation", repr(innovation.residual))
        return len(self.noted) > 3


def test_a_detector_that_refuses_leaves_everything_as_it_was() -> None:
    prior = ht.Prior(RBF(0.3), noise=0.01)
    policy = replace(ht.gp_ucb(prior), memory=ResetOnChange(Refusing()))
    optimizer, expected = (ht.Optimizer(ht.grid(5), policy, seed=0) for _ in range(2))
    for y in (1.0, 3.0, 9.0, 30.0, 50.0):
        s, same = optimizer.ask(), expected.ask()
        for _ in range(2):
            with pytest.raises(InputError):
                optimizer.tell(s, -100.0)
        optimizer.tell(s, y)
        expected.tell(same, y)
        np.testing.assert_array_equal(optimizer.belief().mean, expected.belief().mean)
        np.testing.assert_array_equal(optimizer.belief().std, expected.belief().std)
