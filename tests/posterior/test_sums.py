"""Sums of terms: every fast engine against the reference formulas, and those against others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Kernel, Matern

import heliotrope as ht
from heliotrope import posterior as engines
from heliotrope.domains import Domain
from heliotrope.errors import InputError, NoBeliefError
from heliotrope.policies import Policy
from heliotrope.posterior import (
    BoxEngine,
    DenseEngine,
    Engine,
    FiniteEngine,
    ReferenceEngine,
    columns,
    finite,
)
from heliotrope.precision import Precision
from heliotrope.terms import Drifts, Level, Season, Smooth, Stays, Term, Trend, Walks
from heliotrope.validation import Array
from scenario import play
from strategies import refusal

GRID = ht.grid(6, 6)
BOX = ht.Box([0.0, -1.0], [1.0, 1.0])
AT = BOX.scaled(np.random.default_rng(9).random((20, 2)))
DOMAINS = pytest.mark.parametrize("domain", [GRID, BOX], ids=["finite", "box"])

STAYS = Stays(0.5 * Matern([0.3, 0.4], nu=2.5))
DRIFTS = Drifts(0.5 * Matern(0.2, nu=2.5), epsilon=0.02)
LEVEL = Level(0.7, epsilon=0.05)
SEASON = Season(0.3 * RBF(0.4), period=20.0, harmonics=2, epsilon=0.0005)
TREND = Trend(0.1 * RBF(0.5), origin=10.0, unit=50.0)
SMOOTH = Smooth(0.4 * RBF(0.4), length=15.0, nu=1.5)
SUMS: dict[str, list[Term]] = {
    "stays": [STAYS],
    "drifts at once": [Drifts(RBF(0.3), epsilon=1.0)],
    "level": [STAYS, Level(2.0)],
    "season": [SEASON],
    "trend": [TREND],
    "smooth": [SMOOTH],
    "smoother": [Smooth(Matern(0.4, nu=2.5), length=8.0, nu=2.5)],
    "walks": [Walks(RBF(0.4), growth=0.05), Level(0.5, epsilon=0.3)],
    "shared season": [Drifts(RBF(0.3), epsilon=0.3), Season(0.5, period=7.0)],
    "two": [STAYS, DRIFTS],
    "three": [STAYS, DRIFTS, LEVEL],
    "five": [STAYS, DRIFTS, LEVEL, SEASON, SMOOTH],
    "all": [STAYS, DRIFTS, LEVEL, SEASON, TREND, SMOOTH],
}


def summed(*terms: Term, noise: float = 0.05) -> ht.Prior:
    return ht.Prior(noise=noise, mean=0.3, terms=terms)


def fast_engines(prior: ht.Prior, domain: Domain) -> list[Engine]:
    quick = engines.build(prior, domain)
    assert isinstance(quick, FiniteEngine if domain is GRID else BoxEngine)
    return [quick, DenseEngine(prior, domain)]


@pytest.mark.parametrize("mixed", [False, True], ids=["usual", "mixed precision"])
@pytest.mark.parametrize("irregular", [False, True], ids=["regular", "irregular"])
@pytest.mark.parametrize("terms", SUMS.values(), ids=SUMS)
@DOMAINS
def test_exact_at_every_step(
    domain: Domain, terms: list[Term], irregular: bool, mixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finite, "_LEAST_CAPACITY", 16)
    prior = summed(*terms)
    reference, fast = ReferenceEngine(prior, domain), fast_engines(prior, domain)
    places = GRID.indices if domain is GRID else AT
    for t in play([reference, *fast], domain, prior, steps=60, irregular=irregular, mixed=mixed):
        for part, at in ((None, t), (None, t + 0.25), (ht.terms.CHOICE, t), (terms[-1].name, t)):
            expected = reference.predict(at, places, part=part)
            for engine in fast:
                found = engine.predict(at, places, part=part)
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    joint = reference.covariance(t + 9.0, places)
    np.testing.assert_allclose(reference.covariance(t + 9.0, places[:3], places), joint[:3])
    for engine in fast:
        np.testing.assert_allclose(engine.covariance(t + 9.0, places), joint, atol=1e-6)
        block = engine.covariance(t + 9.0, places[:3], places[2:])
        np.testing.assert_allclose(block, joint[:3, 2:], atol=1e-6)
        assert engine.log_likelihood == pytest.approx(reference.log_likelihood, rel=1e-6)


@pytest.mark.parametrize("terms", SUMS.values(), ids=SUMS)
def test_features_are_exact(terms: list[Term], monkeypatch: pytest.MonkeyPatch) -> None:
    """Over many close points a smooth kernel has few features; a saved state keeps its own."""
    monkeypatch.setattr(finite, "_LEAST_CAPACITY", 16)
    monkeypatch.setattr(columns, "_FEW", 1)
    prior, line = summed(*terms, Level(0.1)), ht.grid(25, 4)
    reference, fast = ReferenceEngine(prior, line), FiniteEngine(prior, line)
    assert "columns/pivots0" in fast.state() or isinstance(terms[0], Drifts)
    for t in play([reference, fast], line, prior, steps=60, irregular=True, mixed=True):
        expected = reference.predict(t + 0.25, line.indices)
        np.testing.assert_allclose(
            fast.predict(t + 0.25, line.indices), expected, rtol=0, atol=1e-6
        )
    again = FiniteEngine(prior, line)
    again.restore(fast.state())
    np.testing.assert_allclose(
        again.predict(t, line.points), reference.predict(t, line.indices), rtol=0, atol=1e-6
    )
    for engine in (fast, again):
        engine.open(60, t + 1.0, line.indices[7:8])
        engine.tell(60, 0.4)
    for name, kept in fast.state().items():  # to the last bit
        np.testing.assert_array_equal(again.state()[name], kept)


# The reference against scikit-learn, on points and times


ALONE = 1e12  # a length scale over which nothing changes


def in_space(kernel: type[Kernel], length: float, **more: float) -> Kernel:
    return kernel([length, length, ALONE], **more)


def in_time(kernel: type[Kernel], length: float, **more: float) -> Kernel:
    return kernel([ALONE, ALONE, length], **more)


class Returning(ExpSineSquared):  # type: ignore[misc]
    """scikit-learn's periodic kernel, of the time alone."""

    def __call__(self, X, Y=None, eval_gradient=False):  # type: ignore[no-untyped-def]
        return super().__call__(X[:, 2:], None if Y is None else Y[:, 2:])


def test_reference_is_scikit_learn_on_points_and_times() -> None:
    drift, smooth, level = -2.0 / np.log1p(-0.02), 15.0, -2.0 / np.log1p(-0.05)
    terms = [
        Stays(0.5 * Matern(0.3, nu=2.5)),
        Drifts(0.5 * RBF(0.2), epsilon=0.02),
        Level(0.7, epsilon=0.05),
        Smooth(0.4 * RBF(0.4), length=smooth, nu=2.5),
        ht.terms.Stationary(0.3 * RBF(0.5), time=ExpSineSquared(0.8, 20.0)),
    ]
    whole = (
        ConstantKernel(0.5) * in_space(Matern, 0.3, nu=2.5)
        + ConstantKernel(0.5) * in_space(RBF, 0.2) * in_time(Matern, drift, nu=0.5)
        + ConstantKernel(0.7) * in_time(Matern, level, nu=0.5)
        + ConstantKernel(0.4) * in_space(RBF, 0.4) * in_time(Matern, smooth, nu=2.5)
        + ConstantKernel(0.3) * in_space(RBF, 0.5) * Returning(0.8, 20.0)
    )
    rng, n = np.random.default_rng(3), 60
    t, x, y = np.sort(rng.uniform(0, 30, n)), BOX.scaled(rng.random((n, 2))), rng.normal(size=n)
    noise = 0.05 * 10.0 ** rng.uniform(-2.0, 2.0, n)
    reference = ReferenceEngine(ht.Prior(noise=0.05, terms=terms), BOX)
    for key in range(n):
        reference.open(key, t[key], x[key : key + 1])
        reference.tell(key, y[key], Precision(noise[key]))
    other = GaussianProcessRegressor(whole, alpha=noise, optimizer=None)
    other.fit(np.column_stack([x, t]), y)
    mean, std = other.predict(np.column_stack([AT, np.full(20, 31.5)]), return_std=True)
    found_mean, found_variance = reference.predict(31.5, AT)
    np.testing.assert_allclose(found_mean, mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found_variance, std**2, rtol=0, atol=1e-8)
    assert reference.log_likelihood == pytest.approx(other.log_marginal_likelihood(), rel=1e-10)


@pytest.mark.parametrize("harmonics", [1, 3])
def test_terms_are_their_formulas(harmonics: int) -> None:
    s, t = np.linspace(0.0, 40.0, 23)[:, None], np.linspace(-3.0, 30.0, 17)[None, :]
    dt = np.abs(s - t)
    season = Season(0.3, 7.0, harmonics, epsilon=0.1)
    waves = [np.cos(2.0 * np.pi * j * dt / 7.0) for j in range(1, harmonics + 1)]
    np.testing.assert_allclose(season.in_time(s, t), np.mean(waves, axis=0) * 0.9 ** (dt / 2))
    trend = Trend(1.0, origin=5.0, unit=10.0)
    np.testing.assert_allclose(trend.in_time(s, t), (s - 5.0) * (t - 5.0) / 100.0, atol=1e-15)
    for nu in (1.5, 2.5):
        times = Matern(4.0, nu=nu)(dt.ravel()[:, None], np.zeros((1, 1))).reshape(dt.shape)
        np.testing.assert_allclose(Smooth(1.0, 4.0, nu).in_time(s, t), times, atol=1e-14)


@given(st.sampled_from(sorted(SUMS)), st.floats(0.0, 50.0), st.floats(0.0, 20.0))
def test_the_state_of_a_term_has_its_covariance_in_time(name: str, t: float, dt: float) -> None:
    """c(t + dt, t) = h(t + dt) A(dt) S(t) h(t), and what a term sees and gains follows from it."""
    for term in SUMS[name]:
        assert isinstance(term, ht.terms.MarkovTerm)
        later, start = t + dt, -1.0
        h, A, S = term.seen(later), term.transition(dt), term.spread(t, start)
        expected = float(term.in_time(np.array(later), np.array(t), start))
        assert h @ A @ S @ term.seen(t) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(term.seen_after(later, dt), h @ A, atol=1e-12)
        own = float(term.in_time(np.array(t), np.array(t), start))
        assert term.scale(t, start) == pytest.approx(own, rel=1e-12)
        if term.rate * dt < 3.0:
            gain = term.gain_before(later, dt, start)
            np.testing.assert_allclose(A @ gain, term.spread(later, start) @ h, atol=1e-9)


# Parts, forecasts and choices


def tracked(domain: Domain, *terms: Term, steps: int = 40, **options: Any) -> ht.Optimizer:
    opt = ht.Optimizer(domain, ht.tv_gp_ucb(summed(*terms), **options), seed=1)
    for step in range(steps):
        s = opt.ask()
        opt.tell(s, float(np.sin(4.0 * s.x[0]) + np.cos(2.0 * np.pi * step / 20.0)))
    return opt


@DOMAINS
def test_the_parts_add_up_to_the_belief(domain: Domain) -> None:
    opt = tracked(domain, STAYS, LEVEL, SEASON)
    X = None if domain is GRID else AT
    whole = opt.belief(55.0, X)
    parts = [opt.belief(55.0, X, part=name).mean for name in ("stays", "level", "season")]
    np.testing.assert_allclose(sum(parts) + 0.3, whole.mean, atol=1e-9)
    chosen = opt.belief(55.0, X, part="choice")
    np.testing.assert_allclose(parts[0] + parts[2] + 0.3, chosen.mean, atol=1e-9)
    assert np.all(chosen.std < whole.std)
    level = opt.belief(55.0, X, part="level")
    assert np.ptp(level.mean) < 1e-12 < np.ptp(whole.mean)


def test_terms_of_one_name_are_one_part() -> None:
    week = Season(0.2, period=7.0, name="week")
    opt = tracked(GRID, STAYS, week, Season(0.1, period=7.0, harmonics=2, name="week"), SEASON)
    assert opt.policy.prior.parts() == ["stays", "week", "season"]  # type: ignore[attr-defined]
    assert np.ptp(opt.belief(part="week").mean) < 1e-12
    with refusal(InputError):
        opt.belief(part="day")


def test_shares_are_those_of_the_prior() -> None:
    opt = tracked(GRID, STAYS, LEVEL, TREND, steps=3)
    at = 0.1 * ((60.0 - 10.0) / 50.0) ** 2
    total = 0.5 + 0.7 + at + 0.05
    expected = {"stays": 0.5, "level": 0.7, "trend": at, "noise": 0.05}
    assert opt.shares(60.0) == pytest.approx({k: v / total for k, v in expected.items()})
    assert sum(ht.Optimizer(GRID, ht.auto(GRID)).shares().values()) == pytest.approx(1.0)
    with refusal(NoBeliefError):
        ht.Optimizer(GRID, ht.auto(GRID)).belief(part="stays")


@DOMAINS
def test_a_level_that_all_places_share_does_not_change_the_choice(domain: Domain) -> None:
    """The level is known exactly less well, yet the choice is the one of the world without it."""
    rng = np.random.default_rng(5)
    with_level, without = summed(DRIFTS, Level(1e-9)), summed(DRIFTS)
    both = [ht.Optimizer(domain, ht.tv_gp_ucb(prior), seed=0) for prior in (with_level, without)]
    for _ in range(15):
        chosen = [opt.ask() for opt in both]
        np.testing.assert_allclose(chosen[0].x, chosen[1].x, atol=1e-3)
        y = float(rng.normal())
        for opt, s in zip(both, chosen, strict=True):
            opt.tell(s, y)


@DOMAINS
def test_the_choice_uses_the_deviation_that_is_left_once_the_level_is_known(domain: Domain) -> None:
    """Var[g | y, l] against dense formulas in which l is one more observation, without noise."""
    X = GRID.points if domain is GRID else AT
    opt = tracked(domain, Stays(0.3 * RBF(0.3)), DRIFTS, Level(9.0, epsilon=0.05), steps=15)
    history, now = opt.history, 17.0
    lags = np.abs(np.subtract.outer(history.t, np.append(history.t, now)))

    drifting = 0.5 * Matern(0.2, nu=2.5)

    def between(A: Array, B: Array, lag: Array) -> Array:
        return np.asarray((0.3 * RBF(0.3))(A, B) + drifting(A, B) * DRIFTS.rho**lag)

    level = 9.0 * 0.95 ** (0.5 * lags)
    K = between(history.x, history.x, lags[:, :-1]) + level[:, :-1]
    K += 0.05 * np.eye(len(K))
    known = np.block([[K, level[:, -1:]], [level[:, -1:].T, np.full((1, 1), 9.0)]])
    k = np.vstack([between(history.x, X, lags[:, -1:]), np.zeros((1, len(X)))])
    left = 0.3 + drifting.diag(X) - np.sum(k * np.linalg.solve(known, k), axis=0)
    belief = opt.belief(now, None if domain is GRID else X, part="choice")
    np.testing.assert_allclose(belief.std**2, left, atol=1e-8)
    if domain is not GRID:
        surface = opt.agent._engine.surface(now)  # type: ignore[attr-defined]
        np.testing.assert_allclose(surface.value(X)[1], left, atol=1e-8)


def test_a_level_that_varies_widely_does_not_narrow_the_choice() -> None:
    widths = []
    for variance in (10.0, 1e6):
        engine = FiniteEngine(summed(Stays(0.1 * RBF(0.3)), Level(variance)), GRID)
        engine.open(0, 1.0, np.array([0]))
        engine.tell(0, 50.0)
        widths.append(engine.predict(2.0, GRID.indices, part=ht.terms.CHOICE)[1])
        assert abs(engine.predict(2.0, GRID.indices)[0][0] - 50.0) < 1.0
    np.testing.assert_allclose(widths[1], widths[0], rtol=1e-5)


@DOMAINS
def test_samples_of_a_sum_have_its_moments(domain: Domain) -> None:
    opt = tracked(domain, STAYS, LEVEL, SEASON, steps=15)
    X = None if domain is GRID else AT
    draws, belief = opt.sample(20.0, X, size=4000), opt.belief(20.0, X)
    error = np.maximum(belief.std, 1e-6) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - belief.mean) < 5.0 * error)
    np.testing.assert_allclose(draws.std(axis=0), belief.std, rtol=5.0 / np.sqrt(2 * len(draws)))


def test_a_thompson_path_is_of_the_part_that_differs() -> None:
    engine, rng = FiniteEngine(summed(STAYS, SEASON, Level(25.0)), GRID), np.random.default_rng(2)
    for key in range(12):
        engine.open(key, float(key), rng.integers(36, size=1))
        engine.tell(key, float(rng.normal()))
    mean, _ = engine.predict(13.0, GRID.indices, part=ht.terms.CHOICE)
    covariance = engine.covariance(13.0, GRID.indices, part=ht.terms.CHOICE)
    variance = covariance.diagonal()
    paths = np.array([engine.sample_path(13.0, rng) for _ in range(3000)])
    error = np.sqrt(variance / len(paths))
    assert np.all(np.abs(paths.mean(axis=0) - mean) < 5.0 * error)
    np.testing.assert_allclose(paths.var(axis=0), variance, rtol=5.0 * np.sqrt(2 / len(paths)))
    product = np.abs(np.cov(paths.T) - covariance) / np.sqrt(np.outer(variance, variance))
    assert product.max() < 6.0 * np.sqrt(2 / len(paths))


@DOMAINS
@pytest.mark.parametrize("policy", [ht.tv_gp_ucb, ht.policies.tv_ts, ht.policies.cp_gp_ucb])
def test_a_sum_is_saved_and_goes_on(
    domain: Domain, policy: Callable[[ht.Prior], Policy], tmp_path: Path
) -> None:
    opt = ht.Optimizer(domain, policy(summed(STAYS, DRIFTS, LEVEL, SEASON, SMOOTH)), seed=1)
    for step in range(8):
        opt.tell(opt.ask(), float(np.sin(step)))
    opt.ask()
    opt.save(tmp_path / "sum.helio")
    again = ht.Optimizer.load(tmp_path / "sum.helio")
    assert repr(again.policy) == repr(opt.policy)
    np.testing.assert_array_equal(again.ask(20.0).x, opt.ask(20.0).x)


def test_a_sum_in_contexts() -> None:
    problem = ht.Contextual(choices=ht.grid(5), context=ht.grid(4))
    opt = ht.Optimizer(problem, ht.tv_gp_ucb(summed(STAYS, LEVEL, SEASON)), seed=0)
    for step in range(12):
        s = opt.ask(context=[step % 4 / 3.0])
        opt.tell(s, float(-((s.choice[0] - s.context[0]) ** 2)))  # type: ignore[index]
    best = opt.best(context=[1.0])
    assert best.x[0] > 0.5
    assert len(opt.belief(30.0, context=[1.0], part="season").mean) == 5


def test_repr_shows_the_sum_and_the_paper_stays_what_it_is() -> None:
    assert repr(ht.Prior(RBF(0.2), ht.Forgetting(0.1))) == (
        "Prior(space=RBF(length_scale=0.2), time=Forgetting(epsilon=0.1), noise=0.01, mean=0.0)"
    )
    assert repr(summed(Stays(RBF(0.2)), Level(0.5, name="demand"))) == (
        "Prior(terms=(Stays(kernel=RBF(length_scale=0.2)), "
        "Level(name='demand', variance=0.5, epsilon=0.0)), noise=0.05, mean=0.3)"
    )


def test_a_very_precise_result_counts_as_precise_as_is_stable() -> None:
    for domain in (GRID, BOX):
        engine = engines.build(summed(STAYS, LEVEL), domain)
        place = np.array([7]) if domain is GRID else AT[:1]
        for key in range(3):
            engine.open(key, float(key), place)
            engine.tell(key, 1.0, Precision(1e-30))
        mean, variance = engine.predict(2.0, place)
        assert mean[0] == pytest.approx(1.0, abs=0.01)
        assert 0.0 <= variance[0] < 0.06


@DOMAINS
def test_a_prior_that_all_places_share_tracks_the_level_and_chooses_any(domain: Domain) -> None:
    opt = tracked(domain, Level(4.0, epsilon=0.1), Season(0.5, period=20.0), steps=12)
    X = GRID.points[:3] if domain is GRID else AT[:3]
    np.testing.assert_allclose(opt.belief(X=X).mean, opt.best().mean, atol=1e-6)


@DOMAINS
@pytest.mark.parametrize("terms", SUMS.values(), ids=SUMS)
def test_a_long_wait_before_the_first_result(domain: Domain, terms: list[Term]) -> None:
    """Stale terms are moved although nothing was told yet."""
    prior = summed(*terms)
    reference, fast = ReferenceEngine(prior, domain), engines.build(prior, domain)
    places = GRID.indices if domain is GRID else AT
    for engine in (reference, fast):
        engine.open(0, 0.0, places[:1])
        engine.open(1, 400.0, places[1:2])
        engine.cancel(1)
        engine.open(2, 450.0, places[2:3])
        engine.tell(0, 2.0)
        engine.tell(2, 1.0)
    np.testing.assert_allclose(
        fast.predict(451.0, places), reference.predict(451.0, places), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("engine", ["finite", "dense", "reference"])
def test_a_trend_far_from_its_origin_is_refused(engine: str) -> None:
    opt = ht.Optimizer(GRID, ht.tv_gp_ucb(summed(STAYS, Trend(RBF(0.3))), engine=engine))
    with pytest.raises(InputError, match="origin"):
        opt.ask(1.7e9)
    opt.tell(opt.ask(3.0), 1.0)


def test_shares_of_a_walk_begin_with_its_first_evaluation() -> None:
    opt = ht.Optimizer(GRID, ht.tv_gp_ucb(summed(Walks(RBF(0.3), 0.1), Level(1.0))))
    opt.ask(10.0)
    variance = opt.belief(50.0, part="walks", count_open=False).std[0] ** 2
    assert variance == pytest.approx(5.0)
    assert opt.shares(50.0)["walks"] == pytest.approx(5.0 / 6.05)
