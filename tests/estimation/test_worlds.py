"""What the world is made of: gradients, likelihoods, logarithms, and the policies that follow."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import approx_fprime
from scipy.stats import chi2
from sklearn.gaussian_process.kernels import Matern

import heliotrope as ht
from heliotrope.domains import coordinate_groups
from heliotrope.errors import InputError
from heliotrope.estimation import (
    Model,
    Observations,
    Results,
    World,
    estimate_world,
    log_likelihood,
)
from heliotrope.estimation.intervals import _FALL
from heliotrope.estimation.sum_fit import Fit, chi_square_quantile
from heliotrope.estimation.worlds import _far_from_most
from heliotrope.terms import Drifts, Level
from heliotrope.warps import IDENTITY, Logarithm, SinhArcsinh
from strategies import fixed

WORLD = World(
    mean=20.0,
    mean_variance=4.0,
    stays=1.5,
    drifts=1.0,
    level=2.0,
    noise=0.2,
    drift_rate=0.05,
    level_rate=0.1,
    lengths=(0.3, 0.5),
)
GROUPS = [[0], [1]]


def results(n: int = 40, seed: int = 0, *, noisy: bool = False) -> Results:
    """Results drawn from WORLD at random places, one a unit of time."""
    rng = np.random.default_rng(seed)
    x, t = rng.random((n, 2)), np.arange(1.0, n + 1.0)
    lag = np.abs(t[:, None] - t)
    K = (WORLD.stays + WORLD.drifts * 0.95 ** (0.5 * lag)) * Matern(WORLD.lengths, nu=2.5)(x)
    K += WORLD.level * 0.9 ** (0.5 * lag) + WORLD.noise * np.eye(n)
    y = WORLD.mean + np.linalg.cholesky(K) @ rng.standard_normal(n)
    noise = np.column_stack([np.where(np.arange(n) % 3 == 0, 0.1, np.nan), 1.0 + np.arange(n) % 2])
    return Results(t, x, y, noise) if noisy else Results(t, x, y)


@pytest.mark.parametrize("period", [0.0, 12.5], ids=["no season", "season"])
@pytest.mark.parametrize("noisy", [False, True], ids=["usual", "mixed precision"])
def test_the_gradient_is_that_of_the_score(noisy: bool, period: float) -> None:
    fit = Fit(results(noisy=noisy), GROUPS, period=period)
    rng = np.random.default_rng(1)
    for _ in range(5):
        theta = fit._usual + 0.5 * rng.standard_normal(len(fit._usual))
        numeric = approx_fprime(theta, lambda at: fit.score(at)[0], 1e-6)
        np.testing.assert_allclose(fit.score(theta)[1], numeric, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("period", [0.0, 12.5], ids=["no season", "season"])
def test_the_score_is_the_likelihood_of_the_prior(period: float) -> None:
    """Differences between two worlds, against the likelihood of their priors."""
    data = results(noisy=True)
    observed = Observations(data.t, data.x, data.y, std=np.sqrt(data.noise[:, 0]))
    single = Results(data.t, data.x, data.y, np.column_stack([data.noise[:, 0], np.ones(40)]))
    fit = Fit(single, GROUPS, period=period)
    spread = fit._spread**2
    returning = replace(WORLD, season=0.8, shared_season=0.6, period=period) if period else WORLD
    found, expected = [], []
    for drifts in (0.5, 1.5):
        world = replace(returning, mean=fit._center, mean_variance=spread, drifts=drifts)
        theta = fit._theta(world)
        z = (theta - fit._usual) / fit._spreads
        found.append(-fit.score(theta)[0] + 0.5 * z @ z)
        expected.append(log_likelihood(world.prior(), observed))
    assert np.diff(found) == pytest.approx(np.diff(expected), abs=1e-6)


def test_the_parts_of_a_world_are_found() -> None:
    shares = [estimate_world(results(150, seed), GROUPS).shares() for seed in range(4)]
    mean = {name: float(np.mean([one[name] for one in shares])) for name in shares[0]}
    truth = WORLD.shares()
    assert all(abs(mean[name] - truth[name]) < 0.25 for name in truth)


def seasonal(n: int = 120, period: float = 24.0, pace: float = 1.0) -> Results:
    """Results of WORLD, plus a wave that all places share and one whose phase differs."""
    data = results(n)
    angle = 2.0 * np.pi * data.t / period
    wave = 3.0 * np.sin(angle) + 2.0 * np.cos(angle + np.pi * data.x[:, 0])
    return replace(data, t=pace * data.t, y=data.y + wave)


def test_a_season_is_believed_if_results_make_it_likely() -> None:
    found = estimate_world(seasonal(pace=10.0), GROUPS, candidates=(1680.0, 240.0))
    assert found.period == pytest.approx(24.0)
    assert found.season > 0.5
    assert found.shared_season > 0.5
    assert found.shares()["season"] > 0.2
    assert estimate_world(results(120), GROUPS, candidates=(24.0,)).period == 0.0
    assert estimate_world(seasonal(26), GROUPS, candidates=(24.0,)).period == 0.0  # one period
    assert estimate_world(results(20), GROUPS, period=24.0).period == 24.0  # given


def test_a_policy_that_knows_the_season_predicts_a_period_ahead() -> None:
    domain = ht.grid(4)
    rng, errors = np.random.default_rng(0), {}
    for season in (None, 24.0):
        opt = ht.Optimizer(domain, ht.auto(domain, season), seed=0)
        for t in range(1, 100):
            asked = opt.ask(float(t))
            opt.tell(asked, _wave(t)[asked.index] + 0.1 * rng.standard_normal())
        ahead = [opt.belief(float(t)).mean - _wave(t) for t in range(100, 124)]
        errors[season] = float(np.sqrt(np.mean(np.square(ahead))))
    assert errors[24.0] < 0.5 * errors[None]


def _wave(t: float) -> np.ndarray:
    return 2.0 * np.sin(2.0 * np.pi * (t / 24.0 + np.arange(4) / 8.0)) + np.arange(4) / 4.0


def test_units_do_not_matter() -> None:
    data = results()
    found = estimate_world(data, GROUPS)
    other = estimate_world(replace(data, y=-500.0 * data.y + 7.0), GROUPS)
    assert other.warp == found.warp == IDENTITY
    assert other.drifts == pytest.approx(500.0**2 * found.drifts, rel=1e-2)
    assert other.lengths == pytest.approx(found.lengths, rel=1e-2)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_values_that_span_decades_are_seen_as_such(sign: float) -> None:
    data = results()
    wide = replace(data, y=sign * np.exp(sign * 2.0 * (data.y - 20.0)))
    found = estimate_world(wide, GROUPS)
    assert isinstance(found.warp, Logarithm)
    assert found.warp.sign == sign
    plain = estimate_world(replace(data, y=2.0 * (data.y - 20.0)), GROUPS)
    assert found.lengths == pytest.approx(plain.lengths, rel=0.05)
    assert found.drifts == pytest.approx(plain.drifts, rel=0.1)
    assert plain.warp == IDENTITY  # both signs


def test_a_few_zeros_among_values_that_span_decades_do_no_harm() -> None:
    data = results()
    wide = np.exp(2.0 * (data.y - 20.0))
    clean = estimate_world(replace(data, y=wide), GROUPS)
    zeros = np.where(np.arange(40) % 20 == 7, 0.0, wide)
    found = estimate_world(replace(data, y=zeros), GROUPS)
    assert isinstance(found.warp, Logarithm)
    assert isinstance(clean.warp, Logarithm)
    assert found.drifts == pytest.approx(clean.drifts, rel=0.5)
    assert found.warp.floor > 0.0
    crossing = np.where(np.arange(40) % 20 == 7, -1e-3, wide)  # such as a slack
    assert estimate_world(replace(data, y=crossing), GROUPS).warp.kind != "log"


@pytest.mark.parametrize("skew", [-1.2, 1.2])
def test_a_long_tail_is_found(skew: float) -> None:
    """Values with a long tail have the parts of those without, after the warp."""
    data, warp = results(120), SinhArcsinh(skew, 20.0, 1.0)
    found = estimate_world(replace(data, y=warp.outside(data.y - 20.0)), GROUPS)
    assert isinstance(found.warp, SinhArcsinh)
    assert found.warp.skew * skew > 0.0
    plain = estimate_world(data, GROUPS)
    assert found.shares() == pytest.approx(plain.shares(), abs=0.1)


def test_one_result_in_ten_may_be_an_outlier() -> None:
    data = results(100)
    is_outlier = np.arange(100) % 10 == 7
    sizes = np.where(np.arange(100) % 20 == 7, 60.0, -200.0)
    found = estimate_world(replace(data, y=np.where(is_outlier, sizes, data.y)), GROUPS)
    clean = estimate_world(data, GROUPS)
    assert found.noise < 2.0 * clean.noise
    assert 0.4 < found.deviation / clean.deviation < 2.5
    assert found.lengths == pytest.approx(clean.lengths, rel=0.5)


def test_values_after_a_change_are_no_outliers() -> None:
    y = results(100).y
    single = np.where(np.arange(100) % 10 == 7, y + 60.0, y)
    assert np.flatnonzero(_far_from_most(single)).tolist() == list(range(7, 100, 10))
    assert not _far_from_most(np.where(np.arange(100) >= 80, y + 60.0, y)).any()


def test_terms_that_vanish_are_left_out() -> None:
    kinds = [type(term) for term in replace(WORLD, stays=1e-6).prior().terms]
    assert kinds == [Drifts, Level, Level]


def test_a_model_keeps_its_world_as_json() -> None:
    model = Model(WORLD, pace=2.0)
    again = Model.from_json(json.loads(json.dumps(model.to_json())))
    assert again == model
    assert again.world == WORLD
    returns = replace(WORLD, season=0.5, shared_season=0.2, period=24.0)
    assert World.from_json(json.loads(json.dumps(returns.to_json()))) == returns
    with pytest.raises(InputError):
        World.from_json({**returns.to_json(), "period": -1.0})
    for name, wrong in (
        ("stays", -1.0),
        ("drift_rate", 1.5),
        ("warp", {"kind": "root"}),
        ("mean", None),
    ):
        with pytest.raises(InputError):
            World.from_json({**WORLD.to_json(), name: wrong})


def test_categories_and_many_coordinates_share_a_length_scale() -> None:
    space = ht.SearchSpace({"mode": ht.Categorical(["a", "b", "c"]), "heat": ht.Real(0, 1)})
    assert sorted(map(len, coordinate_groups(space.domain))) == [1, 3]
    assert len(coordinate_groups(ht.Finite(np.eye(50)))) == 1
    assert coordinate_groups(ht.grid(3, 3)) == [[0], [1]]


@given(share=st.floats(0.001, 0.999), freedom=st.floats(0.1, 1000.0))
@fixed(60)
def test_the_chi_square_quantile_is_scipys(share: float, freedom: float) -> None:
    np.testing.assert_allclose(
        chi_square_quantile(share, freedom), chi2.ppf(share, freedom), rtol=1e-12
    )


def test_the_fall_of_an_interval_is_a_95_percent_quantile() -> None:
    np.testing.assert_allclose(_FALL**2, chi_square_quantile(0.95, 1.0), rtol=1e-12)
