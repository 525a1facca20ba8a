"""The frame of an agent: its inverses, its moments against integrals, and what people see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.polynomial.hermite_e import hermegauss
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.acquisition import UCB
from heliotrope.domains import UnitCube
from heliotrope.estimation import Model, World
from heliotrope.policies import GPPolicy, Named
from heliotrope.policies.adaptive import Adaptive, AdaptiveAgent
from heliotrope.policies.auto import Tracking
from heliotrope.policies.elimination import PriorElimination
from heliotrope.policies.frame import Frame, widened, widening
from heliotrope.policies.model_free import RangedPolicy
from heliotrope.precision import USUAL, Precision
from heliotrope.validation import Array
from heliotrope.warps import IDENTITY, Logarithm, SinhArcsinh, Warp
from strategies import fixed

DOMAIN = ht.grid(5, 5)
WORLD = World(
    mean=1.0,
    mean_variance=4.0,
    stays=0.1,
    drifts=0.05,
    level=0.02,
    noise=0.02,
    drift_rate=0.05,
    level_rate=0.1,
    lengths=(0.3, 0.5),
    results=20,
)
WARPS = [IDENTITY, Logarithm(1.0, 1e-6), SinhArcsinh(1.2, 3.0, 0.7), SinhArcsinh(-0.6, -40.0, 9.0)]

signs, each_warp = st.sampled_from([1.0, -1.0]), st.sampled_from(WARPS)
boxes = st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)), min_size=1, max_size=3).map(
    lambda sides: ht.Box([a for a, _ in sides], [a + width for a, width in sides])
)
clocks = st.builds(Frame, latest=st.floats(-1e6, 1e6), told=st.floats(0.0, 1e4))


@st.composite
def value_frames(draw: Callable[..., object]) -> Frame:
    """Frames of values of either sign and of any warp."""
    sign, warp = draw(signs), draw(each_warp)
    assert isinstance(sign, float)
    assert isinstance(warp, Warp)
    return Frame(sign=sign, warp=warp)


# ---- what goes in comes out


@given(frame=value_frames(), size=st.floats(1e-4, 1e4))
@fixed(100)
def test_a_value_comes_out_as_it_went_in(frame: Frame, size: float) -> None:
    y = frame.sign * size  # a logarithm is one of positive values in the frame
    assert frame.values(np.array([frame.value(y)])) == pytest.approx([y], rel=1e-9)
    assert frame.value(y + frame.sign * size) > frame.value(y)  # better values are higher


@given(box=boxes, seed=st.integers(0, 99))
@fixed(50)
def test_a_place_comes_out_as_it_went_in(box: ht.Box, seed: int) -> None:
    frame, rng = Frame(cube=UnitCube(box)), np.random.default_rng(seed)
    points = box.scaled(rng.random((4, box.dimension)))
    inside = frame.places(points)
    assert inside.min() >= 0.0
    assert inside.max() <= 1.0
    rounding = 4.0 * np.spacing(np.abs([box.lower, box.upper]).max(axis=0))
    assert np.all(np.abs(frame.place(inside, box) - points) <= rounding)
    cube = frame.choices(box)
    assert isinstance(cube, ht.Box)
    assert (cube.lower.max(), cube.upper.min()) == (0.0, 1.0)
    own = Frame()
    assert own.places(points) is own.place(points, box) is points
    assert own.choices(box) is box


def test_indices_stay_as_they_are() -> None:
    frame, some = Frame(cube=UnitCube(DOMAIN)), np.array([3, 7])
    assert frame.places(some) is frame.choices(some) is frame.place(some, some) is some


@given(frame=clocks, t=st.floats(-1e6, 1e6), pace=st.floats(1e-3, 1e3))
@fixed(100)
def test_time_is_counted_in_results(frame: Frame, t: float, pace: float) -> None:
    own = replace(frame, pace=pace)
    assert own.time(own.latest) == own.told
    expected = own.latest + (own.time(t) - own.told) * pace
    assert expected == pytest.approx(t, rel=1e-9, abs=1e-6)
    assert Frame().time(t) == t


# ---- the moments of values are integrals


def nodes(mean: Array, joint: Array) -> tuple[Array, Array]:
    """Nodes (k, 2) and weights (k,) of an integral over a normal pair."""
    x, w = hermegauss(60)
    pairs = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    weights = np.outer(w, w).ravel() / w.sum() ** 2
    return mean + pairs @ np.linalg.cholesky(joint).T, weights


@given(frame=value_frames(), mean=st.floats(-0.5, 1.0), std=st.floats(0.05, 0.7))
@fixed(30)
def test_moments_are_integrals(frame: Frame, mean: float, std: float) -> None:
    def integral(power: int, center: float) -> float:
        def weighted(z: float) -> float:
            value = float(frame.values(np.array([z]))[0])
            return (value - center) ** power * float(norm.pdf(z, mean, std))

        return float(quad(weighted, mean - 12.0 * std, mean + 12.0 * std, epsabs=1e-10)[0])

    center, variance = frame.moments(np.array([mean]), np.array([std**2]))
    assert_allclose(center, integral(1, 0.0), rtol=1e-4, atol=1e-9)
    assert_allclose(variance, integral(2, float(center[0])), rtol=1e-3)
    assert frame.noise(mean, std**2) == pytest.approx(float(variance[0]))


@given(frame=value_frames(), rho=st.floats(-0.9, 0.9))
@fixed(30)
def test_covariances_are_integrals(frame: Frame, rho: float) -> None:
    mean, std = np.array([0.2, 0.5]), np.array([0.4, 0.6])
    joint = np.outer(std, std) * np.array([[1.0, rho], [rho, 1.0]])
    z, weights = nodes(mean, joint)
    values = frame.values(z)
    away = values - weights @ values
    covariance, moments = (away.T * weights) @ away, (mean, joint.diagonal())
    assert_allclose(frame.covariance(joint, moments), covariance, rtol=1e-3, atol=1e-6)


@given(frame=value_frames(), size=st.floats(0.1, 100.0), variance=st.floats(1e-6, 10.0))
@fixed(50)
def test_the_noise_of_a_result_follows_the_slope(
    frame: Frame, size: float, variance: float
) -> None:
    y, step = frame.sign * size, 1e-5 * size
    slope = (frame.value(y + step) - frame.value(y - step)) / (2.0 * step)
    own = frame.precision(y, Precision(variance, 3))
    assert own.variance == pytest.approx(variance * slope**2, rel=1e-4)
    assert own.repeats == 3
    assert frame.precision(y, USUAL) is USUAL


# ---- what a frame follows from


def test_time_is_counted_in_results_or_in_paces() -> None:
    model = Model(pace=4.0)
    assert Frame(counts=True).learned(model, 10.0, 7).time(14.0) == 8.0
    assert Frame().learned(model, 10.0, 7).time(14.0) == 3.5


def test_a_model_of_a_world_warps_values() -> None:
    world = replace(WORLD, warp=Logarithm(1.0, 1e-3))
    frame = Frame().learned(Model(world, pace=4.0), 10.0, 7)
    assert frame == Frame(warp=world.warp, pace=4.0)
    assert not frame.is_linear


PRIOR = ht.Prior(RBF(0.3), noise=0.1, mean=1.5)


def test_a_policy_of_negated_values_keeps_its_meaning() -> None:
    turned = Frame(sign=-1.0)
    gp = ht.tv_gp_ucb(PRIOR)
    negated = turned.policy(gp)
    assert isinstance(negated, GPPolicy)
    assert negated.prior.mean == -1.5
    ranged = turned.policy(ht.policies.rexp3(low=-1.0, high=4.0, batch=5))
    assert isinstance(ranged, RangedPolicy)
    assert (ranged.low, ranged.high) == (-4.0, 1.0)
    several = turned.policy(PriorElimination([PRIOR, PRIOR], ht.LogBeta()))
    assert isinstance(several, PriorElimination)
    assert [one.mean for one in several.priors] == [-1.5, -1.5]
    learns = ht.auto(DOMAIN)
    assert turned.policy(learns) == learns
    named = turned.policy(Adaptive(Named("tv_gp_ucb", '{"mean": 2.0}')))
    assert isinstance(named, Adaptive)
    assert named.recipe == Named("tv_gp_ucb", '{"mean": -2.0}')
    assert Frame().policy(gp) is gp


# ---- agents


@dataclass(frozen=True)
class Known(Tracking):
    """The recipe of auto, where the world is known."""

    world: World = field(default=WORLD)

    def estimate(self, results: object, *_: object) -> Model:
        return Model(self.world)


def agent_of(opt: ht.Optimizer) -> AdaptiveAgent:
    assert opt.learner is not None
    return opt.learner


def told(warp: Warp, precise: float) -> ht.Optimizer:
    """An optimizer that was told some positive values, in a world with a warp."""
    world = replace(WORLD, warp=warp)
    opt = ht.Optimizer(DOMAIN, Adaptive(Known(world=world)), seed=0)
    rng = np.random.default_rng(0)
    for _ in range(12):
        opt.tell(opt.ask(), float(np.exp(rng.normal(1.0, 0.5))), std=precise)
    return opt


def test_beliefs_and_draws_are_in_the_unit_of_the_values() -> None:
    opt = told(Logarithm(1.0, 1e-3), 0.2)
    belief, draws = opt.belief(13.0), opt.sample(13.0, size=20_000)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - belief.mean) < 5.0 * error)
    opt.tell(opt.ask(), -4.0)  # counts as the floor
    assert np.all(opt.belief(14.0).mean > 0.0)


@pytest.mark.parametrize("warp", WARPS[1:3], ids=["log", "skewed"])
def test_an_agent_weighs_places_in_the_unit_of_the_values(warp: Warp) -> None:
    agent = agent_of(told(warp, 0.05))
    joint = agent.covariance(13.0, DOMAIN.indices)
    mean, variance = agent.predict(13.0, DOMAIN.indices, count_open=False)
    assert_allclose(joint.diagonal(), variance)
    assert_allclose(agent.covariance(13.0, DOMAIN.indices[2:], DOMAIN.indices[:2]), joint[2:, :2])
    frame, inner = agent._inner.current.frame, agent._sampling(agent.inner)
    rng, now = np.random.default_rng(0), frame.time(13.0)
    draws = frame.values(inner.sample(now, DOMAIN.indices, rng, 40_000))
    assert_allclose(draws.mean(axis=0), mean, rtol=0.02)
    away = draws - draws.mean(axis=0)
    error = (away[:, :1] * away).std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs((away[:, :1] * away).mean(axis=0) - joint[0]) < 5.0 * error)
    agent.knowledge = replace(agent.knowledge, check=None)  # that would be asked first
    scores = agent.scores(13.0, DOMAIN.indices, np.random.default_rng)
    chosen = agent.choose(13.0, np.random.default_rng)
    assert_allclose(scores[chosen], scores.max())
    assert agent.noise == pytest.approx(frame.noise(WORLD.mean, WORLD.prior().noise))


LINE, PLACES = ht.grid(12), np.arange(12)
POLICY = GPPolicy(ht.Prior(RBF(0.3), ht.Forgetting(0.01), 0.04), UCB(2.0))


@pytest.mark.parametrize(("results", "factor"), [(0, 6.7), (1, 6.7), (5, 2.7), (100, 1.75)])
def test_variances_allow_for_a_wrong_model(results: int, factor: float) -> None:
    assert widening(results) == pytest.approx(factor)


def test_draws_have_these_variances() -> None:
    agent, rng, factor = POLICY.start(LINE), np.random.default_rng(0), widening(5)
    mean, variance = agent.predict(2.0, PLACES, count_open=False)
    own = agent.sample(2.0, PLACES, rng, 20_000)
    draws = widened(own, mean, variance, factor, rng)
    error = 4.0 / np.sqrt(2 * 20_000)  # four standard errors of a deviation
    np.testing.assert_allclose(draws.std(axis=0), np.sqrt(factor * variance), rtol=error)
    correlation = np.corrcoef(draws[:, 0], draws[:, 1])[0, 1]
    together = (2.7 - 0.3 * 1.7) / 2.7  # the rest is independent at each place
    expected = together * float(RBF(0.3)([[0.0]], [[1.0 / 11.0]])[0, 0])
    assert correlation == pytest.approx(expected, abs=4.0 * (1.0 - expected**2) / np.sqrt(20_000))


def test_an_optimizer_shows_the_wider_belief_and_chooses_by_its_own() -> None:
    opt = ht.Optimizer(LINE, ht.auto(LINE), seed=0)
    for _ in range(9):
        ask = opt.ask()
        opt.tell(ask, -float((ask.x[0] - 0.4) ** 2))
    agent, seen, best = opt.agent, opt.belief(opt.latest), opt.best(opt.latest)
    assert isinstance(agent, AdaptiveAgent)
    _, own = agent.predict(opt.latest, PLACES, count_open=False)
    assert np.all(seen.std**2 > 1.7 * own)
    assert best.index is not None
    assert best.std == pytest.approx(seen.std[best.index])
