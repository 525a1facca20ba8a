"""Fits of sums of terms: parameters, shares and rates with their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel

import heliotrope as ht
from heliotrope.errors import HeliotropeError, InputError
from heliotrope.estimation import Observations, Panel, fit, log_likelihood
from heliotrope.estimation.fitting import shares
from heliotrope.estimation.intervals import NoMaximumError, Profile
from heliotrope.estimation.parameters import parameter_values, parameters
from heliotrope.terms import Drifts, Level, Season, Smooth, Stays, Walks
from heliotrope.validation import Array
from strategies import bad_numbers, fixed

TRUTH = ht.Prior(
    noise=0.02,
    terms=[Stays(0.5 * RBF(0.1)), Drifts(0.5 * RBF(0.1), epsilon=0.1), Level(0.4, epsilon=0.03)],
)
START = ht.Prior(
    noise=0.1,
    terms=[Stays(1.0 * RBF(0.3)), Drifts(1.0 * RBF(0.3), epsilon=0.3), Level(1.0, epsilon=0.1)],
)
FIXED = ht.Prior(  # with the true length scales
    noise=0.1,
    terms=[
        Stays(1.0 * RBF(0.1, "fixed")),
        Drifts(1.0 * RBF(0.1, "fixed"), epsilon=0.3),
        Level(1.0, epsilon=0.1),
    ],
)


def drawn(prior: ht.Prior, n: int, seed: int, steps: int = 60) -> Observations:
    """Results at random cells of a table of 10 places."""
    rng = np.random.default_rng(seed)
    places, cells = rng.random((10, 1)), np.sort(rng.choice(10 * steps, n, replace=False))
    t, x = 1.0 + (cells // 10).astype(float), places[cells % 10]
    C = prior.noise * np.eye(n)
    for term in prior.terms:
        assert not isinstance(term.space, ht.Tabulated)
        C += term.space(x) * term.in_time(t[:, None], t[None, :], float(t.min()))
    return Observations(t, x, np.linalg.cholesky(C) @ rng.normal(size=n))


def test_intervals_of_shares_and_rates_cover_the_truth() -> None:
    """At 95 %, a count of 8 below 6 has probability 0.006."""
    covered = dict[str, int]()
    for seed in range(8):
        data = drawn(TRUTH, 80, seed)
        found = fit(FIXED, data, restarts=0)
        true = shares(TRUTH, [data]) | {"drifts.epsilon": 0.1, "level.epsilon": 0.03}
        assert found.value >= log_likelihood(TRUTH, data)
        for name, one in {**found.shares, **found.rates}.items():
            assert one.low <= one.value <= one.high
            covered[name] = covered.get(name, 0) + (one.low <= true[name] <= one.high)
    assert set(covered) == {"stays", "drifts", "level", "noise", "drifts.epsilon", "level.epsilon"}
    assert min(covered.values()) >= 6, covered


def test_more_results_make_narrower_intervals() -> None:
    few, many = (fit(TRUTH, drawn(TRUTH, n, 0), ("epsilon", "noise"), 0) for n in (50, 200))
    for name, one in many.rates.items():
        assert np.log(one.high / one.low) < np.log(few.rates[name].high / few.rates[name].low)


def test_a_part_that_is_not_there_has_a_share_of_about_zero() -> None:
    drift = ht.Prior(noise=0.02, terms=[Drifts(0.5 * RBF(0.1), epsilon=0.3)])
    found = fit(FIXED, drawn(drift, 150, 1), ("space", "noise"), restarts=0)
    for part in ("stays", "level"):
        assert found.shares[part].low < 1e-3
        assert found.shares[part].high < 0.5
    assert found.shares["drifts"].low > 0.5
    assert sum(one.value for one in found.shares.values()) == pytest.approx(1.0)


def test_a_season_and_a_smooth_drift_are_found() -> None:
    truth = ht.Prior(
        noise=0.02, terms=[Season(0.5, period=8.0), Smooth(0.6 * RBF(0.3), length=6.0)]
    )
    start = ht.Prior(
        noise=0.1, terms=[Season(0.1, period=8.0), Smooth(0.2 * RBF(0.8), length=20.0)]
    )
    found = fit(start, drawn(truth, 200, 0), restarts=0)
    assert found.rates["smooth.length"].low < 6.0 < found.rates["smooth.length"].high
    assert found.shares["season"].low < 0.5 / 1.12 < found.shares["season"].high
    season, smooth = found.prior.terms
    assert isinstance(season, Season)
    assert isinstance(season.kernel, float)
    assert season.period == 8.0
    assert isinstance(smooth, Smooth)
    assert found.rates["season.epsilon"].value < 0.01


def test_a_random_walk_and_its_growth_are_found() -> None:
    truth = ht.Prior(noise=0.02, terms=[Walks(0.5 * RBF(0.3), growth=0.2)])
    start = ht.Prior(noise=0.1, terms=[Walks(1.0 * RBF(0.5), growth=0.01)])
    found = fit(start, drawn(truth, 150, 0), restarts=0)
    assert found.rates["walks.growth"].low < 0.2 < found.rates["walks.growth"].high
    assert found.interval is None  # no epsilon


def test_a_kernel_over_time_is_learned() -> None:
    truth = ht.Prior(RBF(0.3), RBF(8.0), noise=0.02)
    start = ht.Prior(RBF(0.3, "fixed"), RBF(1.0), noise=0.02)
    found = fit(start, drawn(truth, 100, 0), "time", restarts=0)
    assert isinstance(found.prior.time, RBF)
    assert found.prior.time.length_scale == pytest.approx(8.0, rel=0.2)


def test_results_of_known_noise_do_not_raise_the_noise() -> None:
    plain, rng = drawn(TRUTH, 200, 3), np.random.default_rng(0)
    std = np.where(rng.random(200) < 0.5, 1.0, np.nan)
    y = plain.y + np.where(np.isnan(std), 0.0, rng.normal(size=200))
    told = fit(TRUTH, Observations(plain.t, plain.x, y, std=std), "noise", restarts=0)
    untold = fit(TRUTH, Observations(plain.t, plain.x, y), "noise", restarts=0)
    assert told.prior.noise < 0.06
    assert untold.prior.noise > 0.2


def test_a_panel_gives_what_its_observations_give() -> None:
    data = drawn(TRUTH, 100, 2, steps=10)
    panel = Panel(np.unique(data.t), data.y.reshape(10, 10), data.x[:10])
    whole, single = (fit(TRUTH, one, ("noise", "level"), 0) for one in (panel, data))
    assert whole.value == pytest.approx(single.value, abs=1e-4)
    for name, one in whole.shares.items():
        assert one == pytest.approx(single.shares[name], abs=0.01)


def changed(before: ht.Prior, after: ht.Prior) -> set[str]:
    moved = parameter_values(before) != parameter_values(after)
    return {one.name for one, is_moved in zip(parameters(before), moved, strict=True) if is_moved}


@pytest.mark.parametrize(
    ("learn", "expected"),
    [
        ("noise", {"noise"}),
        (("noise", "epsilon"), {"noise", "drifts.epsilon", "level.epsilon"}),
        ("level", {"level.variance", "level.epsilon"}),
        ("level.epsilon", {"level.epsilon"}),
        ("space", {"stays.k1__constant_value", "drifts.k1__constant_value", "level.variance"}),
    ],
)
def test_only_what_is_named_is_learned(learn: Any, expected: set[str]) -> None:
    found = fit(FIXED, drawn(TRUTH, 50, 0), learn, restarts=0)
    assert changed(FIXED, found.prior) == expected
    rates = {name for name in expected if name.endswith("epsilon")}
    assert set(found.rates) == rates


def test_bounds_hold_and_are_named() -> None:
    bounded = Stays(ConstantKernel(1.0, (0.9, 1.1)) * RBF(0.05, (0.01, 0.1)))
    start = ht.Prior(noise=0.1, terms=[bounded, *START.terms[1:]])
    found = fit(start, drawn(TRUTH, 80, 0), "stays", restarts=0)
    kernel = found.prior.terms[0].space
    assert isinstance(kernel, Kernel)
    assert 0.9 <= kernel.k1.constant_value <= 1.1
    assert 0.01 <= kernel.k2.length_scale <= 0.1 + 1e-12
    assert "stays.k2__length_scale" in found.at_bounds


def test_a_fit_prints_a_line_for_each_term() -> None:
    found = fit(START, drawn(TRUTH, 60, 0), learn=("noise", "drifts"), restarts=0)
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines] == [
        "part",
        "stays",
        "drifts",
        "level",
        "noise",
        "log",
    ]
    assert "epsilon 0.1 " in lines[3]  # not learned
    assert f"epsilon {found.rates['drifts.epsilon']}" in lines[2]


def test_a_profile_of_a_normal_density_is_exact() -> None:
    """u ~ N(m, V): the interval of s u is s m +- 1.96 sqrt(s V s)."""
    V, m = np.array([[2.0, 0.6], [0.6, 0.5]]), np.array([1.0, -2.0])
    P, s = np.linalg.inv(V), np.array([1.0, 3.0])

    def density(u: Array) -> tuple[float, Array]:
        return float(-0.5 * (u - m) @ P @ (u - m)), -P @ (u - m)

    profile = Profile(density, m, np.array([[-50.0, 50.0]] * 2), 0.0)
    found = profile.estimate(lambda u: (float(s @ u), s), (-np.inf, np.inf))
    half = 1.96 * np.sqrt(s @ V @ s)
    assert found == pytest.approx((-5.0, -5.0 - half, -5.0 + half), rel=0.02)


def test_a_profile_is_the_largest_likelihood_with_a_value() -> None:
    """l(u) has a curved ridge; the profile of u_0 along it is the normal density of u_0 alone."""

    def curved(u: Array) -> tuple[float, Array]:
        off = u[1] - u[0] ** 2
        value = -0.5 * u[0] ** 2 - 20.0 * off**2
        return float(value), np.array([-u[0] + 80.0 * off * u[0], -40.0 * off])

    profile = Profile(curved, np.zeros(2), np.array([[-50.0, 50.0]] * 2), 0.0)
    found = profile.estimate(lambda u: (float(u[0]), np.array([1.0, 0.0])), (-9.0, 9.0))
    assert found == pytest.approx((0.0, -1.96, 1.96), rel=0.04)


def test_a_profile_that_never_falls_ends_at_its_limits() -> None:
    bounds = np.array([[-9.0, 9.0]] * 2)
    profile = Profile(lambda _: (0.0, np.zeros(2)), np.zeros(2), bounds, 0.0)
    found = profile.estimate(lambda u: (float(u[0]), np.array([1.0, 0.0])), (-1.0, 2.0))
    assert found == (0.0, -1.0, 2.0)


def test_a_profile_says_where_the_likelihood_is_higher() -> None:
    """Two tops, of which the lower one was taken for the maximum."""

    def tops(u: Array) -> tuple[float, Array]:
        low, high = np.exp(-0.5 * u[0] ** 2), 9.0 * np.exp(-0.5 * (u[0] - 4.0) ** 2)
        slope = -(u[0] * low + (u[0] - 4.0) * high) / (low + high)
        return float(np.log(low + high)), np.array([slope])

    profile = Profile(tops, np.zeros(1), np.array([[-9.0, 9.0]]), tops(np.zeros(1))[0])
    with pytest.raises(NoMaximumError) as raised:
        profile.estimate(lambda u: (float(u[0]), np.ones(1)), (-9.0, 9.0))
    assert tops(raised.value.u)[0] > 0.2


def test_names_that_no_parameter_has_are_refused() -> None:
    with pytest.raises(InputError, match=r"drifts\.epsilon"):
        fit(START, drawn(TRUTH, 20, 0), learn="drifts.rate")
    static = ht.Prior(noise=0.1, terms=START.terms[:1])
    with pytest.raises(InputError, match="free parameters"):
        fit(static, drawn(TRUTH, 20, 0), learn="epsilon")


@given(learn=st.one_of(bad_numbers, st.text(), st.lists(st.text(min_size=1), min_size=1)))
@fixed(50)
def test_a_bad_choice_of_parameters_is_refused(learn: Any) -> None:
    with pytest.raises(HeliotropeError):
        fit(START, Observations([1, 2], [[0.0], [0.5]], [0.3, 0.1]), learn)


@given(restarts=bad_numbers)
@fixed(30)
def test_a_bad_number_of_restarts_is_refused(restarts: Any) -> None:
    with pytest.raises(HeliotropeError):
        fit(START, Observations([1, 2], [[0.0], [0.5]], [0.3, 0.1]), restarts=restarts)
