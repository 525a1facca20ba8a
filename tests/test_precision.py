"""The noise of a single result: its forms, their Gaussian approximations, and what tell does."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binom, norm, poisson
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.errors import InputError
from heliotrope.precision import USUAL, Precision, value_and_precision

Z = float(norm.ppf(0.975))


# ---- the forms


def test_each_form_gives_a_value_and_a_precision() -> None:
    assert value_and_precision(2.5) == (2.5, USUAL)
    assert value_and_precision(2.5, std=0.5) == (2.5, Precision(0.25))
    assert value_and_precision(2.5, n=7) == (2.5, Precision(repeats=7))
    p = 5.0 / 18.0
    assert value_and_precision(successes=1, trials=10) == (0.1, Precision(p * (1.0 - p) / 9.0))
    assert value_and_precision(count=3, exposure=2.0) == (1.5, Precision(7.0 / 4.0))


def test_no_result_counts_as_certain() -> None:
    for trials in (1, 2, 10, 10**6):
        for successes in (0, trials):
            _, precision = value_and_precision(successes=successes, trials=trials)
            assert precision.noise(usual=0.0) > 0.0
    assert value_and_precision(count=0, exposure=10.0) == (0.0, Precision(0.04))


BAD: dict[str, dict[str, Any]] = {
    "nothing": {},
    "value and successes": {"y": 1.0, "successes": 1, "trials": 2},
    "value and count": {"y": 1.0, "count": 1, "exposure": 2.0},
    "std and n": {"y": 1.0, "std": 0.1, "n": 2},
    "std alone": {"std": 0.1},
    "n alone": {"n": 3},
    "no trials": {"successes": 1},
    "no successes": {"trials": 1},
    "no exposure": {"count": 1},
    "proportion and rate": {"successes": 1, "trials": 2, "count": 1, "exposure": 1.0},
    "too many successes": {"successes": 3, "trials": 2},
    "negative successes": {"successes": -1, "trials": 2},
    "no trial": {"successes": 0, "trials": 0},
    "half a trial": {"successes": 0, "trials": 1.5},
    "n 0": {"y": 1.0, "n": 0},
    "n negative": {"y": 1.0, "n": -2},
    "n a half": {"y": 1.0, "n": 1.5},
    "n a boolean": {"y": 1.0, "n": True},
    "n NaN": {"y": 1.0, "n": np.nan},
    "std 0": {"y": 1.0, "std": 0.0},
    "std tiny": {"y": 1.0, "std": 1e-200},
    "std huge": {"y": 1.0, "std": 1e50},
    "variance too high": {"count": 10**50, "exposure": 1e-40},
    "std negative": {"y": 1.0, "std": -0.1},
    "std NaN": {"y": 1.0, "std": np.nan},
    "std infinite": {"y": 1.0, "std": np.inf},
    "std a boolean": {"y": 1.0, "std": True},
    "std a text": {"y": 1.0, "std": "0.1"},
    "std an array": {"y": 1.0, "std": [0.1, 0.2]},
    "count negative": {"count": -1, "exposure": 1.0},
    "count NaN": {"count": np.nan, "exposure": 1.0},
    "exposure 0": {"count": 1, "exposure": 0.0},
    "rate too high": {"count": 10**99, "exposure": 1e-50},
    "y NaN": {"y": np.nan, "std": 0.1},
}


@pytest.mark.parametrize("name", BAD)
def test_a_result_that_is_refused_changes_nothing(name: str) -> None:
    optimizer = ht.Optimizer(domain := ht.grid(5), ht.auto(domain), seed=0)
    suggestion = optimizer.ask()
    before = optimizer.dumps()
    with pytest.raises(InputError):
        optimizer.tell(suggestion, **BAD[name])
    assert optimizer.dumps() == before
    optimizer.tell(suggestion, 1.0)


def test_an_unknown_argument_is_refused() -> None:
    optimizer = ht.Optimizer(ht.grid(5), ht.policies.Uniform())
    with pytest.raises(TypeError, match="sdt"):
        optimizer.tell(optimizer.ask(), 1.0, sdt=0.1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="sdt"):
        optimizer.tell_many([1.0], [0], [1.0], sdt=0.1)  # type: ignore[call-arg]
    assert len(optimizer.history) == 0


NUMBERS = st.none() | st.integers(-3, 12) | st.floats() | st.booleans()


@given(
    y=NUMBERS,
    noise=st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(("std", "n", "successes", "trials", "count", "exposure"), NUMBERS),
    ),
)
def test_any_arguments_give_a_finite_result_or_an_input_error(y: Any, noise: Any) -> None:
    optimizer = ht.Optimizer(ht.grid(3), ht.policies.Uniform())
    suggestion = optimizer.ask()
    try:
        optimizer.tell(suggestion, y, **noise)
    except InputError:
        assert optimizer.open == (suggestion,)
        assert len(optimizer.history) == 0
        return
    told = optimizer.history[0]
    assert np.isfinite(told.y)
    assert 0.0 < told.precision.noise(1.0) < np.inf


# ---- the approximations cover as they should, by exact sums


def covered(center: Any, variance: Any, probabilities: Any, truth: float) -> float:
    """The probability that the 95 % interval holds the truth."""
    inside = np.abs(truth - center) <= Z * np.sqrt(variance)
    return float(probabilities @ inside)


@pytest.mark.parametrize("trials", [5, 10, 20, 50, 200])
def test_the_interval_of_a_proportion_covers_it(trials: int) -> None:
    counts = np.arange(trials + 1)
    told = [value_and_precision(successes=int(s), trials=trials) for s in counts]
    center, variance = np.array([(y, own.noise(np.nan)) for y, own in told]).T
    shares = np.linspace(0.001, 0.999, 999)
    ours, wald = np.array(
        [
            (
                covered(center, variance, binom.pmf(counts, trials, p), p),
                covered(center, center * (1 - center) / trials, binom.pmf(counts, trials, p), p),
            )
            for p in shares
        ]
    ).T
    assert ours.min() > 0.926
    assert 0.95 < ours.mean() < 0.99
    assert wald.min() < 0.2  # a proportion of 0 or 1 would count as certain


def test_the_interval_of_a_proportion_covers_it_for_any_number_of_trials() -> None:
    lowest = 1.0
    for trials in range(5, 80):
        counts = np.arange(trials + 1)
        told = [value_and_precision(successes=int(s), trials=trials) for s in counts]
        center, variance = np.array([(y, own.noise(np.nan)) for y, own in told]).T
        for p in np.linspace(0.005, 0.5, 100):  # the other half is its mirror image
            lowest = min(lowest, covered(center, variance, binom.pmf(counts, trials, p), p))
    assert lowest > 0.907


def test_the_interval_of_a_rate_covers_it() -> None:
    counts = np.arange(400)
    told = [value_and_precision(count=int(c), exposure=2.0) for c in counts]
    center, variance = np.array([(y, own.noise(np.nan)) for y, own in told]).T
    for rate in np.geomspace(0.005, 100.0, 500):
        probabilities = poisson.pmf(counts, 2.0 * rate)
        assert covered(center, variance, probabilities, rate) > 0.946
    few = poisson.pmf(counts, 2.0 * 0.005)
    assert covered(center, counts / 4.0, few, 0.005) < 0.02  # Wald


def test_values_are_not_shrunk_so_that_many_results_average_to_the_truth() -> None:
    """The weighted mean of many results, by exact sums, beside Agresti and Coull's."""
    p = 0.05
    for trials in (1, 5, 20):
        counts = np.arange(trials + 1)
        told = [value_and_precision(successes=int(s), trials=trials) for s in counts]
        center, variance = np.array([(y, own.noise(np.nan)) for y, own in told]).T
        weights = binom.pmf(counts, trials, p) / variance
        assert weights @ center / weights.sum() == pytest.approx(p, abs=0.008)
    shrunk = (np.arange(2) + 2.0) / 5.0
    assert binom.pmf([0, 1], 1, p) @ shrunk > 0.4  # for single trials


# ---- what tell does with them


def prior() -> ht.Prior:
    return ht.Prior(time=ht.Forgetting(0.02), noise=0.1)


@pytest.mark.parametrize("domain", [ht.grid(6, 6), ht.Box([0.0, 0.0], [1.0, 1.0])])
def test_repeats_and_their_mean_agree(domain: ht.Finite | ht.Box) -> None:
    """n results at one point and time give the posterior of their mean, told with n."""
    single, mean = (ht.Optimizer(domain, ht.tv_gp_ucb(prior()), seed=1) for _ in range(2))
    rng = np.random.default_rng(0)
    for t in range(1, 9):
        x, y = rng.integers(0, 6, 2) / 5.0, rng.normal(size=t)
        for value in y:
            single.tell(single.begin(x, float(t)), value)
        mean.tell(mean.begin(x, float(t)), y.mean(), n=t)
    X = rng.integers(0, 6, (10, 2)) / 5.0
    one, other = single.belief(9.0, X), mean.belief(9.0, X)
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-8)
    np.testing.assert_allclose(one.std, other.std, atol=1e-8)


def test_the_usual_standard_error_changes_nothing() -> None:
    said, silent = (ht.Optimizer(ht.grid(6, 6), ht.tv_gp_ucb(prior()), seed=1) for _ in range(2))
    for _ in range(20):
        one, other = said.ask(), silent.ask()
        assert one.index == other.index
        said.tell(one, float(one.x.sum()), std=np.sqrt(0.1))
        silent.tell(other, float(other.x.sum()))
    np.testing.assert_allclose(said.belief().std, silent.belief().std, atol=1e-12)


STDS = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=12)


@given(stds=STDS, seed=st.integers(0, 2**31))
def test_told_one_by_one_at_once_and_replayed_are_the_same(stds: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    t, at = np.sort(rng.integers(0, 20, len(stds))).astype(float), rng.integers(0, 9, len(stds))
    y, std = rng.normal(size=len(stds)), np.where(rng.random(len(stds)) < 0.3, np.nan, stds)
    n = np.where(np.isnan(std), rng.integers(1, 5, len(stds)), 1)
    one, many, late, copy = (ht.Optimizer(ht.grid(3, 3), ht.tv_gp_ucb(prior())) for _ in range(4))
    for i in range(len(stds)):
        noise = {"n": int(n[i])} if np.isnan(std[i]) else {"std": float(std[i])}
        one.tell(one.begin(int(at[i]), t[i]), y[i], **noise)
    many.tell_many(t, at, y, std=std, n=n)
    late.tell_many(t[-1:], at[-1:], y[-1:], std=std[-1:], n=n[-1:])
    late.tell_many(t[:-1], at[:-1], y[:-1], std=std[:-1], n=n[:-1])
    history = one.history
    np.testing.assert_allclose(history.std, std, rtol=1e-15)
    np.testing.assert_array_equal(history.n, n)
    copy.tell_many(history.t, history.index, history.y, std=history.std, n=history.n)
    known = one.belief(21.0)
    for other in (many, late, copy, ht.Optimizer.loads(one.dumps())):
        np.testing.assert_allclose(other.belief(21.0).mean, known.mean, atol=1e-8)
        np.testing.assert_allclose(other.belief(21.0).std, known.std, atol=1e-8)


def test_many_results_take_numbers_proportions_and_rates() -> None:
    t, at = np.arange(1.0, 4.0), np.arange(3)
    optimizer = ht.Optimizer(ht.grid(2, 3), ht.tv_gp_ucb(prior()))
    optimizer.tell_many(t, at, [1.0, 2.0, 3.0], std=0.5)
    optimizer.tell_many(t + 3.0, at, successes=[1, 2, 0], trials=10)
    optimizer.tell_many(t + 6.0, at, count=[0, 1, 7], exposure=[1.0, 2.0, 3.5])
    history = optimizer.history
    assert history.y.tolist() == [1.0, 2.0, 3.0, 0.1, 0.2, 0.0, 0.0, 0.5, 2.0]
    assert history.std[:3].tolist() == [0.5] * 3
    np.testing.assert_allclose(history.std[6] ** 2, 4.0)
    assert np.all(history.std > 0.0)


@pytest.mark.parametrize(
    "columns",
    [
        {"y": [1.0, 2.0], "std": [0.1, -0.1]},
        {"y": [1.0, 2.0], "std": [0.1, 0.1, 0.1]},
        {"y": [1.0, 2.0], "std": [[0.1, 0.1]]},
        {"y": [1.0, 2.0], "std": [0.1, True]},
        {"y": [1.0, 2.0], "std": "ab"},
        {"y": [1.0, 2.0], "n": [1, 0]},
        {"y": [1.0, 2.0], "n": 2, "std": 0.1},
        {"y": [1.0, 2.0], "successes": 1, "trials": 2},
        {"successes": [1, 3], "trials": 2},
        {"successes": [1, np.nan], "trials": 2},
        {"std": [0.1, 0.1]},
        {},
    ],
)
def test_many_results_with_a_bad_one_change_nothing(columns: dict[str, Any]) -> None:
    optimizer = ht.Optimizer(ht.grid(2, 3), ht.tv_gp_ucb(prior()))
    before = optimizer.dumps()
    with pytest.raises(InputError):
        optimizer.tell_many([1.0, 2.0], [0, 1], **columns)
    assert optimizer.dumps() == before


def test_an_imprecise_result_teaches_little() -> None:
    beliefs = []
    for std in (1e-3, 1.0, 1e3):
        optimizer = ht.Optimizer(ht.grid(2, 3), ht.tv_gp_ucb(prior()))
        optimizer.tell(optimizer.begin(2, 1.0), 1.0, std=std)
        beliefs.append(optimizer.belief())
    means, deviations = ([getattr(one, name)[2] for one in beliefs] for name in ("mean", "std"))
    np.testing.assert_allclose(means, 1.0 / (1.0 + np.array([1e-6, 1.0, 1e6])), rtol=1e-8)
    assert deviations[0] < deviations[1] < deviations[2] < 1.0


@pytest.mark.parametrize("name", ["tv_gp_ucb", "dense", "auto"])
@pytest.mark.parametrize("domain", [ht.grid(4, 4), ht.Box([0.0, 0.0], [1.0, 1.0])])
@pytest.mark.parametrize("decades", [(-40.0, -2.0), (-6.0, 6.0), (0.0, 40.0)])
def test_any_standard_errors_leave_the_belief_sensible(
    name: str, domain: ht.Finite | ht.Box, decades: tuple[float, float]
) -> None:
    """Also of results at one point and time that contradict each other."""
    engine = "dense" if name == "dense" else None
    policy = ht.auto(domain) if name == "auto" else ht.tv_gp_ucb(prior(), engine=engine)
    optimizer, rng = ht.Optimizer(domain, policy), np.random.default_rng(1)
    points, t = rng.integers(0, 4, (3, 2)) / 3.0, 0.0
    for _ in range(30):
        t += float(rng.integers(0, 2))
        suggestion = optimizer.begin(points[rng.integers(3)], t)
        optimizer.tell(suggestion, float(rng.normal()), std=10.0 ** rng.uniform(*decades))
        optimizer.propose(t)
        belief = optimizer.belief(X=points)
        assert np.abs(belief.mean).max() < 10.0
        assert np.all(np.isfinite(belief.std))


def test_precise_repeats_give_the_belief_of_every_engine() -> None:
    prior = ht.Prior(space=RBF(0.2), noise=0.01)
    found = []
    for engine in ("reference", "dense", "finite"):
        opt = ht.Optimizer(ht.grid(5), ht.tv_gp_ucb(prior, engine=engine), seed=0)
        for _ in range(3):
            opt.tell(opt.begin(2, t=1.0), 1.0, std=1e-45)
        found.append(opt.belief(2.0).mean)
    np.testing.assert_allclose(found, [found[0]] * 3, atol=1e-9)


def test_a_value_that_is_too_large_is_named_with_its_own_sign() -> None:
    opt = ht.Optimizer(ht.grid(5), ht.auto(ht.grid(5)), direction="minimize")
    with pytest.raises(InputError, match=r"got a size of 1e\+46\."):
        opt.tell(opt.ask(), 1e46)
