"""Likelihoods, their gradients, fits, and the paper's recipe."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern, WhiteKernel

import heliotrope as ht
from data import DATA, measured
from heliotrope.errors import HeliotropeError, InputError
from heliotrope.estimation import (
    Observations,
    Panel,
    empirical_prior,
    fit,
    gradient,
    log_likelihood,
)
from heliotrope.lab.environments import GPDrift
from heliotrope.validation import Array

KERNELS = [RBF(0.4), 2.0 * Matern([0.3, 0.6], nu=2.5), RBF(0.2) + ConstantKernel(0.5) * RBF(1.0)]


def kernel_of(prior: ht.Prior) -> Kernel:
    assert not isinstance(prior.space, ht.Tabulated)
    return prior.space


def some_observations(n: int = 40, seed: int = 0) -> Observations:
    rng = np.random.default_rng(seed)
    t = np.round(np.sort(rng.uniform(0, 15, n)), 0)  # several at one time
    return Observations(t, rng.random((n, 2)), rng.normal(size=n))


def drawn_panel(
    epsilon: float, *, points: int, steps: int, seed: int, noise: float = 0.05
) -> Panel:
    domain = ht.Finite(np.random.default_rng(1).random((points, 2)))
    prior = ht.Prior(RBF(0.4), ht.Forgetting(epsilon), noise)
    episode = GPDrift(domain, prior).episode(steps, seed)
    z = np.random.default_rng([seed, 7]).normal(scale=np.sqrt(noise), size=episode.values.shape)
    return Panel(np.arange(1.0, steps + 1.0), episode.values + z, domain.points)


def with_gaps(panel: Panel, share: float = 0.1) -> Panel:
    values = panel.values.copy()
    values[np.random.default_rng(0).random(values.shape) < share] = np.nan
    values[3] = np.nan
    return Panel(panel.times, values, panel.points)


def one_by_one(panel: Panel) -> Observations:
    """The measured values, points by index."""
    rows, columns = np.nonzero(~np.isnan(panel.values))
    return Observations(panel.times[rows], columns, panel.values[rows, columns])


def dense(panel: Panel, prior: ht.Prior) -> float:
    singles = one_by_one(panel)
    assert panel.points is not None
    return log_likelihood(prior, Observations(singles.t, panel.points[singles.x], singles.y))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.3])
def test_likelihood_is_the_joint_density(kernel: RBF, epsilon: float) -> None:
    data = some_observations()
    D = np.sqrt(1.0 - epsilon) ** np.abs(data.t[:, None] - data.t)
    joint = multivariate_normal(np.full(40, 0.5), kernel(data.x) * D + 0.2 * np.eye(40))
    prior = ht.Prior(kernel, ht.Forgetting(epsilon), 0.2, mean=0.5)
    assert log_likelihood(prior, data) == pytest.approx(joint.logpdf(data.y), rel=1e-10)


def test_likelihood_and_gradient_are_scikit_learns_without_drift() -> None:
    data = some_observations()
    kernel = 2.0 * Matern([0.3, 0.6], nu=2.5)
    model = GaussianProcessRegressor(kernel, alpha=0.2, optimizer=None).fit(data.x, data.y)
    value, slope = model.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    prior = ht.Prior(kernel, ht.Static(), 0.2)
    assert log_likelihood(prior, data) == pytest.approx(value, rel=1e-10)
    found = gradient(prior, data)
    del found["noise"]
    np.testing.assert_allclose(list(found.values()), slope, rtol=1e-8)


def central_differences(prior: ht.Prior, data: Observations | Panel) -> Array:
    """Richardson-extrapolated, so that the differences themselves are good to 1e-8."""
    assert isinstance(prior.time, ht.Forgetting)
    rate, theta = prior.time.epsilon, kernel_of(prior).theta
    p = len(theta) + 2

    def at(u: Array) -> float:
        moved = ht.Prior(
            kernel_of(prior).clone_with_theta(theta + u[:-2]),
            ht.Forgetting(rate + u[-2]),
            prior.noise + u[-1],
            prior.mean,
        )
        return log_likelihood(moved, data)

    def slope(i: int, h: float) -> float:
        step = h * np.eye(p)[i]
        return (at(step) - at(-step)) / (2 * h)

    widths = [*[1e-2] * len(theta), 1e-2 * rate, 1e-2 * prior.noise]
    return np.array([(4 * slope(i, h / 2) - slope(i, h)) / 3 for i, h in enumerate(widths)])


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("epsilon", [0.005, 0.05, 0.4])
@pytest.mark.parametrize("shape", ["observations", "panel"])
def test_gradient_against_central_differences(kernel: RBF, epsilon: float, shape: str) -> None:
    prior = ht.Prior(kernel, ht.Forgetting(epsilon), 0.2, mean=0.3)
    panel = drawn_panel(0.05, points=6, steps=25, seed=3)
    data = some_observations() if shape == "observations" else panel
    found = gradient(prior, data)
    exact = central_differences(prior, data)
    computed = np.array(list(found.values()))
    assert np.linalg.norm(computed - exact) < 1e-6 * np.linalg.norm(exact)
    np.testing.assert_allclose(computed, exact, rtol=1e-5, atol=1e-6 * np.abs(exact).max())


@pytest.mark.parametrize("epsilon", [0.0, 0.003, 0.2, 1.0])
def test_panel_likelihood_is_the_dense_one(epsilon: float) -> None:
    prior = ht.Prior(RBF(0.4), ht.Forgetting(epsilon), 0.05, mean=0.1)
    panel = drawn_panel(0.05, points=8, steps=30, seed=0)
    irregular = Panel(panel.times + 0.4 * np.sin(panel.times), panel.values, panel.points)
    for one in (panel, irregular, with_gaps(panel), with_gaps(irregular, 0.6)):
        assert log_likelihood(prior, one) == pytest.approx(dense(one, prior), rel=1e-8)


def test_gappy_gradient_is_the_dense_one() -> None:
    prior = ht.Prior(RBF(0.4), ht.Forgetting(0.03), 0.05)
    panel = with_gaps(drawn_panel(0.05, points=6, steps=20, seed=0))
    singles = one_by_one(panel)
    assert panel.points is not None
    expected = gradient(prior, Observations(singles.t, panel.points[singles.x], singles.y))
    found = gradient(prior, panel)
    assert found == pytest.approx(expected, rel=1e-9)


def test_tabulated_panels_and_indices_agree() -> None:
    panel = drawn_panel(0.05, points=7, steps=20, seed=1)
    K, mean = RBF(0.4)(panel.points) + 0.01 * np.eye(7), np.linspace(-1, 1, 7)
    prior = ht.Prior(ht.Tabulated(K), ht.Forgetting(0.1), 0.1, mean)
    plain = Panel(panel.times, panel.values)
    assert log_likelihood(prior, plain) == pytest.approx(
        log_likelihood(prior, one_by_one(plain)), rel=1e-9
    )


def test_independent_episodes_add() -> None:
    prior = ht.Prior(RBF(0.4), ht.Forgetting(0.03), 0.05)
    panel, data = drawn_panel(0.05, points=6, steps=20, seed=0), some_observations()
    assert log_likelihood(prior, [panel, data]) == pytest.approx(
        log_likelihood(prior, panel) + log_likelihood(prior, data)
    )
    both, one = gradient(prior, [data, data]), gradient(prior, data)
    assert both == pytest.approx({name: 2 * slope for name, slope in one.items()})


def test_fit_finds_the_parameters_that_made_the_data() -> None:
    truth = ht.Prior(1.5 * RBF(0.3), ht.Forgetting(0.05), 0.02)
    domain = ht.Finite(np.random.default_rng(2).random((15, 2)))
    episodes = []
    for seed in range(3):
        values = GPDrift(domain, truth).episode(80, seed).values
        z = np.random.default_rng(seed).normal(scale=np.sqrt(0.02), size=values.shape)
        episodes.append(Panel(np.arange(1.0, 81.0), values + z, domain.points))
    start = ht.Prior(1.0 * RBF(1.0), ht.Forgetting(0.3), 0.5)
    found = fit(start, episodes)
    assert found.converged
    assert found.interval is not None
    assert found.interval[0] < 0.05 < found.interval[1]
    assert found.prior.noise == pytest.approx(0.02, rel=0.15)
    np.testing.assert_allclose(kernel_of(found.prior).theta, kernel_of(truth).theta, atol=0.3)
    assert found.value >= log_likelihood(truth, episodes)


def test_fit_changes_only_the_parameters_to_learn() -> None:
    panel = drawn_panel(0.05, points=6, steps=40, seed=0)
    start = ht.Prior(RBF(0.4, length_scale_bounds="fixed"), ht.Forgetting(0.2), 0.07)
    only = fit(start, panel, learn=("epsilon",))
    assert only.prior.noise == 0.07
    assert only.prior.space is start.space
    rest = fit(start, panel, learn=("noise", "space"))
    assert rest.prior.time == start.time
    assert rest.interval is None
    assert kernel_of(rest.prior).length_scale == 0.4


def test_fit_respects_bounds() -> None:
    panel = drawn_panel(0.05, points=10, steps=40, seed=0)
    start = ht.Prior(RBF(0.2, length_scale_bounds=(0.1, 0.25)), ht.Forgetting(0.2), 0.05)
    found = fit(start, panel)
    assert 0.1 <= kernel_of(found.prior).length_scale <= 0.25 + 1e-12


def test_fit_names_the_parameters_on_a_bound() -> None:
    panel = drawn_panel(0.05, points=10, steps=40, seed=0)  # of length 0.4
    narrow = ht.Prior(RBF(0.2, length_scale_bounds=(0.1, 0.25)), ht.Forgetting(0.2), 0.05)
    found = fit(narrow, panel)
    assert found.at_bounds == ("drifts.length_scale",)
    assert "on a bound: drifts.length_scale" in str(found)
    assert fit(ht.Prior(RBF(0.2), ht.Forgetting(0.2), 0.05), panel).at_bounds == ()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_noise_is_found_in_any_unit_of_the_values(scale: float) -> None:
    panel = drawn_panel(0.05, points=10, steps=60, seed=0)
    scaled = Panel(panel.times, scale * panel.values, panel.points)
    start = ht.Prior(scale**2 * RBF(0.4), ht.Forgetting(0.1), noise=1.0)
    found = fit(start, scaled, learn=("epsilon", "noise"))
    assert found.prior.noise == pytest.approx(0.05 * scale**2, rel=0.2)
    assert found.at_bounds == ()


class Fragile(RBF):  # type: ignore[misc]
    """A kernel that is no kernel beyond a length of 1."""

    def __call__(self, X: Array, Y: Array | None = None, eval_gradient: bool = False) -> Any:
        broken = self.length_scale > 1.0
        found = super().__call__(X, Y, eval_gradient)
        if not broken:
            return found
        return (-found[0], found[1]) if eval_gradient else -found


def test_fit_walks_around_kernels_that_are_not_positive_definite() -> None:
    panel = drawn_panel(0.05, points=8, steps=30, seed=0)
    found = fit(ht.Prior(Fragile(0.9), ht.Forgetting(0.1), 0.05), panel, restarts=6)
    assert found.value > log_likelihood(ht.Prior(Fragile(0.9), ht.Forgetting(0.1), 0.05), panel)
    assert kernel_of(found.prior).length_scale < 1.0


def test_fit_refuses_a_unit_of_time_over_which_everything_changes() -> None:
    panel = drawn_panel(0.05, points=4, steps=20, seed=0)
    scaled = Panel(panel.times / 36500, panel.values, panel.points)
    with pytest.raises(InputError, match="shorter units"):
        fit(ht.Prior(RBF(0.4), ht.Forgetting(0.1), 0.05), scaled)


def test_measurements_at_about_one_time_are_one_step() -> None:
    rng = np.random.default_rng(0)
    domain, truth = ht.grid(40), ht.Prior(RBF(0.3), ht.Forgetting(0.1), 0.01)
    values = GPDrift(domain, truth).episode(60, 0).values
    index = rng.integers(40, size=(60, 4))
    t = (np.arange(1.0, 61.0)[:, None] + [0.0, 0.001, 0.002, 0.003]).ravel()
    y = np.take_along_axis(values, index, axis=1).ravel() + 0.1 * rng.normal(size=240)
    found = fit(truth, Observations(t, domain.points[index.ravel()], y), learn="epsilon")
    assert found.interval is not None
    assert found.interval[0] < 0.1 < found.interval[1]


@pytest.mark.parametrize("scale", [1e-4, 1e3, 1e5])
def test_fit_finds_the_maximum_at_any_scale_of_the_values(scale: float) -> None:
    panel = drawn_panel(0.03, points=12, steps=60, seed=2)
    kernel = ConstantKernel(1.0, (1e-12, 1e14)) * RBF(0.3)
    start = ht.Prior(kernel, ht.Forgetting(0.0), noise=0.01)
    plain = fit(start, panel)
    scaled = Panel(panel.times, scale * panel.values, panel.points)
    found = fit(start, scaled)
    assert found.value + panel.values.size * np.log(scale) == pytest.approx(plain.value, abs=0.01)


def test_fit_takes_episodes_from_a_generator() -> None:
    panels = [drawn_panel(0.05, points=5, steps=15, seed=seed) for seed in range(2)]
    prior = ht.Prior(RBF(0.4), ht.Forgetting(0.1), 0.05)
    one = fit(prior, (panel for panel in panels), learn="epsilon")  # type: ignore[arg-type]
    assert one.value == fit(prior, panels, learn="epsilon").value


def test_noise_is_fitted_where_nothing_lasts() -> None:
    prior = ht.Prior(RBF(0.4), ht.Forgetting(1.0), 0.5)
    panel = drawn_panel(1.0, points=8, steps=60, seed=0)
    assert fit(prior, panel, learn="noise").prior.noise == pytest.approx(0.05, rel=0.4)


def test_an_empty_row_changes_nothing() -> None:
    """It takes the panel from one way of computing to the other, with next to no noise."""
    panel = drawn_panel(0.05, points=20, steps=30, seed=0, noise=1e-6)
    assert panel.points is not None
    times = np.append(panel.times, 40.0)
    longer = Panel(times, np.vstack([panel.values, np.full(20, np.nan)]), panel.points)
    prior = ht.Prior(RBF(1.0), ht.Forgetting(0.05), 1e-6)
    assert log_likelihood(prior, longer) == pytest.approx(log_likelihood(prior, panel), rel=1e-6)
    found, expected = gradient(prior, longer), gradient(prior, panel)
    assert found["drifts.epsilon"] == pytest.approx(expected["drifts.epsilon"], rel=1e-4)


def test_places_may_be_written_as_floats_or_whole_numbers() -> None:
    table = ht.Prior(ht.Tabulated(np.diag([1.0, 4.0, 9.0])), noise=0.01)
    y = [0.1, 0.2, 0.3]
    expected = log_likelihood(table, Observations([1, 2, 3], [2, 1, 0], y))
    assert log_likelihood(table, Observations([1, 2, 3], [2.0, 1.0, 0.0], y)) == expected
    line = ht.Prior(RBF(1.0), noise=0.01)
    expected = log_likelihood(line, Observations([1, 2, 3], [[0.0], [1.0], [2.0]], y))
    assert log_likelihood(line, Observations([1, 2, 3], [0, 1, 2], y)) == expected


@pytest.mark.parametrize("unit", [0.1, 600.0, 86400.0])
def test_fit_does_not_depend_on_the_unit_of_time(unit: float) -> None:
    panel = drawn_panel(0.05, points=10, steps=80, seed=0)
    prior = ht.Prior(RBF(0.4), ht.Forgetting(0.1), 0.05)
    expected = fit(prior, panel, learn=("epsilon",))
    scaled = Panel(unit * panel.times, panel.values, panel.points)
    found = fit(prior.with_time(ht.Forgetting(0.0)), scaled, learn=("epsilon",))
    assert found.value == pytest.approx(expected.value, abs=1e-3)
    assert isinstance(expected.prior.time, ht.Forgetting)
    assert isinstance(found.prior.time, ht.Forgetting)
    a_step = 1.0 - (1.0 - found.prior.time.epsilon) ** unit
    assert a_step == pytest.approx(expected.prior.time.epsilon, rel=0.02)


def test_intervals_cover_the_truth() -> None:
    """At 95 % a count of 12 below 9 has probability 0.002; the benchmark runs 3 x 100."""
    covered = 0
    for seed in range(12):
        epsilon = (0.003, 0.03, 0.3)[seed % 3]
        panel = drawn_panel(epsilon, points=15, steps=100, seed=seed)
        prior = ht.Prior(RBF(0.4), ht.Forgetting(0.1), 0.05)
        found = fit(prior, panel, learn=("epsilon",))
        assert found.interval is not None
        covered += found.interval[0] <= epsilon <= found.interval[1]
    assert covered >= 9


@measured
def test_the_papers_recipe_on_the_real_temperatures() -> None:
    panel = temperatures()
    learned = empirical_prior(Panel(panel.times[:432], panel.values[:432]), noise=0.5)
    assert isinstance(learned.prior.time, ht.Forgetting)
    assert 0.030 <= learned.prior.time.epsilon <= 0.036
    assert learned.fit.interval is not None
    assert learned.fit.interval[1] - learned.fit.interval[0] < 0.01
    assert 0.0 <= learned.lifted < 1e-3


def temperatures() -> Panel:
    with gzip.open(DATA / "intel_temperature.csv.gz", "rt") as file:
        header = file.readline().strip().split(",")
        rows = [line.strip().split(",") for line in file]
    with (DATA / "intel_locations.csv").open() as file:
        columns = file.readline().strip().split(",")
        places = [dict(zip(columns, line.strip().split(","), strict=True)) for line in file]
    chosen = {p[columns[0]] for p in places if p["default46"].lower() in ("1", "true", "yes")}
    kept = [i for i, name in enumerate(header) if name.strip('"') in chosen]
    assert len(kept) == 46
    values = np.array([[float(row[i]) for i in kept] for row in rows])
    return Panel(np.arange(1.0, len(values) + 1.0), values)


def test_empirical_prior_lifts_a_singular_covariance_and_reports_it() -> None:
    rng = np.random.default_rng(0)
    few = Panel(np.arange(6.0), 20.0 + rng.normal(size=(6, 10)).cumsum(axis=0))
    learned = empirical_prior(few, noise_share=0.1)
    assert learned.lifted > 0.0
    assert isinstance(learned.prior.space, ht.Tabulated)
    signal = np.diag(learned.prior.space.K).mean()
    assert learned.prior.noise == pytest.approx(0.1 * signal)
    np.testing.assert_allclose(learned.prior.mean, few.values.mean(axis=0))


def test_empirical_prior_of_episodes_with_gaps() -> None:
    panels = [with_gaps(drawn_panel(0.05, points=6, steps=60, seed=seed)) for seed in range(3)]
    whole = empirical_prior([drawn_panel(0.05, points=6, steps=60, seed=seed) for seed in range(3)])
    gappy = empirical_prior(panels)
    assert whole.fit.interval is not None
    assert gappy.fit.interval is not None
    assert whole.fit.interval[0] < gappy.prior.time.epsilon < whole.fit.interval[1]  # type: ignore[union-attr]
    width = np.log(gappy.fit.interval[1] / gappy.fit.interval[0])
    assert width > np.log(whole.fit.interval[1] / whole.fit.interval[0])  # less is known


@pytest.mark.parametrize(
    "make",
    [
        lambda: Observations([1, 2], [[0.0]], [1, 2]),
        lambda: Observations([], np.empty((0, 1)), []),
        lambda: Observations([1, 2], [[0.0], [1.0]], [1, 2], std=[0.1, np.nan], n=[2, 1]),
        lambda: Observations([1, np.nan], [[0.0], [1.0]], [1, 2]),
        lambda: Panel([1, 2], [[1.0, 2.0]]),
        lambda: Panel([2, 1], [[1.0], [2.0]]),
        lambda: Panel([1, 2], [[np.nan], [np.nan]]),
        lambda: Panel([1, 2], [[1.0], [np.inf]]),
        lambda: Panel([1, 2], [[1.0], [2.0]], [[0.0], [1.0]]),
        lambda: log_likelihood(ht.Prior(), []),
        lambda: log_likelihood(ht.Prior(), Panel([1, 2], [[1.0], [2.0]])),
        lambda: log_likelihood(
            ht.Prior(time=RBF(3.0)), drawn_panel(0.1, points=3, steps=4, seed=0)
        ),
        lambda: fit(ht.Prior(), some_observations(), learn=("drift",)),
        lambda: fit(ht.Prior(), some_observations(), learn=()),
        lambda: fit(ht.Prior(RBF(0.3) + WhiteKernel()), some_observations()),
        lambda: fit(ht.Prior(RBF(0.3, "fixed")), some_observations(), learn=("space",)),
        lambda: Panel([1, 2], [["a"], ["b"]]),
        lambda: Observations([1, 2], [0, -1], [1.0, 2.0]),
        lambda: ht.tv_gp_ucb(ht.Prior(), learn="epsilon"),  # type: ignore[arg-type]
        lambda: empirical_prior([]),
        lambda: empirical_prior(Panel([1, 2], [[1.0, 3.0], [1.0, 3.0]])),
        lambda: empirical_prior(Panel([1, 2], [[1.0, np.nan], [2.0, np.nan]])),
        lambda: empirical_prior(None),  # type: ignore[arg-type]
        lambda: empirical_prior([Panel([1], [[1.0]]), Panel([1], [[1.0, 2.0]])]),
        lambda: Panel([1, 2], [[1.0], [1e200]]),
        lambda: log_likelihood(None, some_observations()),  # type: ignore[arg-type]
        lambda: log_likelihood(ht.Prior(), None),  # type: ignore[arg-type]
        lambda: log_likelihood(ht.Prior(ht.Tabulated(np.eye(2))), Observations([1], [2], [0.0])),
        lambda: gradient(ht.Prior(time=ht.Forgetting(1.0)), some_observations()),
        lambda: log_likelihood(
            ht.Prior(ht.Tabulated(np.eye(3))), Observations([1, 2, 3], [0.5, 1.0, 2.0], [1, 2, 3])
        ),
        lambda: log_likelihood(
            ht.Prior(), Observations(np.arange(2e4), np.zeros((20000, 1)), np.zeros(20000))
        ),
        lambda: gradient(
            ht.Prior(ht.Tabulated(np.eye(900))),
            Panel(np.arange(700.0), np.where(np.eye(700, 900) > 0, np.nan, 1.0)),
        ),
        lambda: Panel(np.arange(1.0), [[np.datetime64("2020")]]),
        lambda: Panel(np.arange(2.0), [["1", "2"], ["4", "3"]]),
        lambda: gradient(
            ht.Prior(time=ht.Forgetting(1.0)), drawn_panel(0.1, points=3, steps=4, seed=0)
        ),
        lambda: fit(ht.Prior(), some_observations(), learn=None),  # type: ignore[arg-type]
        lambda: fit(ht.Prior(), some_observations(), restarts="a"),  # type: ignore[arg-type]
        lambda: fit(None, some_observations()),  # type: ignore[arg-type]
    ],
)
def test_bad_data_is_refused(make: object) -> None:
    with pytest.raises(HeliotropeError):
        make()  # type: ignore[operator]


def test_masked_values_are_gaps() -> None:
    panel = Panel([1, 2], np.ma.masked_greater([[1.0, 999.0], [2.0, 3.0]], 100))
    assert np.isnan(panel.values[0, 1])
