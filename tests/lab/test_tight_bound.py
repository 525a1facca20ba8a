"""Our bound of the information that change in time adds, and the paper's errata."""

from __future__ import annotations

from itertools import product
from math import erfc, exp, log, pi, sqrt

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern, RationalQuadratic

import heliotrope as ht
from heliotrope.acquisition import FiniteBeta
from heliotrope.errors import KernelError
from heliotrope.lab import theory
from heliotrope.lab.environments import GPDrift, play
from heliotrope.lab.theory import gains
from heliotrope.lab.theory.information import drift_added, joint_information
from heliotrope.terms import Drifts, Level, Season, Smooth, Stationary, Stays, Term
from heliotrope.validation import Array
from strategies import fixed

KERNELS = (RBF, lambda length: Matern(length, nu=0.5), lambda length: Matern(length, nu=2.5))


def random_blocks(N: int, cases: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Kernel matrices (cases, N, N) of random points, epsilons (cases,) and noises (cases,)."""
    matrices = []
    for make in KERNELS:
        for _ in range(cases // len(KERNELS)):
            length, d = 10.0 ** rng.uniform(-2, 1), int(rng.integers(1, 4))
            x = rng.random((N, d))[rng.integers(0, N, N)]  # some points twice
            matrices.append(make(length)(x))
    count = len(matrices)
    return np.array(matrices), 10.0 ** rng.uniform(-5, 0, count), 10.0 ** rng.uniform(-4, 1, count)


@pytest.mark.parametrize("N", [1, 2, 3, 4, 5, 7, 10, 15, 24, 38])
def test_the_theorem_in_random_cases(N: int) -> None:
    """450 cases for each N, 4,500 in all: for all points, not only for the best ones."""
    K, epsilon, noise = random_blocks(N, 450, np.random.default_rng(N))
    lags = np.abs(np.subtract.outer(np.arange(N), np.arange(N)))
    drifting = K * (1.0 - epsilon[:, None, None]) ** (lags / 2.0)
    still, moving = (
        np.array([joint_information(one, s) for one, s in zip(all_of, noise, strict=True)])
        for all_of in (K, drifting)
    )
    added = [drift_added(N, e, s) for e, s in zip(epsilon, noise, strict=True)]
    tight = np.array([forms[2][-1] for forms in added])
    corrected = np.array([forms[1][-1] for forms in added])
    assert len(K) == 450
    assert np.all(moving <= (still + tight) * (1.0 + 1e-9) + 1e-9)
    assert np.all(tight <= corrected * (1.0 + 1e-12))


@given(st.integers(1, 2000), st.just(0.0) | st.floats(1e-5, 1.0), st.floats(1e-6, 100.0))
@fixed(200)
def test_it_is_never_above_the_corrected_form(N: int, epsilon: float, noise: float) -> None:
    found = theory.drift_information(N, epsilon, noise)
    assert 0.0 <= found.tight <= found.corrected * (1.0 + 1e-12)
    offsets = np.abs(np.arange(1, N + 1) - (N + 1) // 2)
    direct = 0.5 * np.log1p((1.0 - (1.0 - epsilon) ** offsets) / noise).sum()
    assert found.tight == pytest.approx(direct, rel=1e-9, abs=1e-12)
    assert found.tight <= N**2 * epsilon / (8.0 * noise) * (1.0 + 1e-9) + 1e-12


def test_a_block_of_the_papers_setting() -> None:
    found = theory.drift_information(38, 0.01, 0.01)
    rounded = [round(one, 1) for one in (found.printed, found.corrected, found.tight)]
    assert rounded == [548.7, 86.8, 40.1]


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_drift_adds_nothing_within_one_step(epsilon: float) -> None:
    found = theory.drift_information(1, epsilon, 0.01)
    assert (found.corrected, found.tight) == (0.0, 0.0)


@given(st.integers(1, 80), st.floats(0.0, 1.0), st.floats(0.001, 10.0), st.floats(0.0, 9.0))
@fixed(60)
def test_the_tight_regret_bound_is_the_smallest_valid_one(
    T: int, epsilon: float, noise: float, scale: float
) -> None:
    constants = theory.KernelConstants(3.0, 1.5, 5.0, 7.0)
    problem = theory.Assumptions(T, epsilon, noise, constants, dimension=2)
    bound = theory.tv_block_bound(problem, scale * np.log1p(np.arange(1.0, T + 1.0)))
    assert bound.tight is not None
    assert bound.tight <= bound.corrected
    assert bound.valid == bound.tight


def test_rates() -> None:
    se, matern = RBF(0.2), Matern(0.2, nu=2.5)
    assert theory.tight_tv_rate(se, 2).drift_exponent == pytest.approx(1 / 4)
    c = theory.complexity(matern, 2)
    assert theory.tight_tv_rate(matern, 2).drift_exponent == pytest.approx((1 - c) / (2 - c) / 2)
    rates = theory.r_rate, theory.tv_rate, theory.corrected_tv_rate, theory.tight_tv_rate
    exponents = [rate(matern, 2).drift_exponent for rate in rates]
    assert exponents == sorted(exponents)
    for rate in rates:
        with pytest.raises(KernelError, match="nu > 2"):
            rate(Matern(0.2, nu=2.0), 2)


# Other stationary time kernels, and sums


TIMES: dict[str, Kernel] = {
    "smooth": RBF(3.0),
    "rough": Matern(3.0, nu=0.5),
    "scaled": 0.5 * Matern(2.0, nu=1.5),
    "rational": RationalQuadratic(2.0, 1.0),
}
SUMS: dict[str, list[Term]] = {
    "two drifts": [Drifts(0.5 * RBF(0.3), epsilon=0.2), Drifts(0.5 * Matern(0.1), epsilon=0.01)],
    "stays and level": [Stays(0.4 * RBF(0.3)), Level(0.6, epsilon=0.1)],
    "season and smooth": [Season(0.3 * RBF(0.2), period=3.0), Smooth(0.7 * RBF(0.4), length=2.0)],
    "any": [Stays(0.2 * RBF(0.1)), Stationary(0.8 * RBF(0.3), time=RBF(2.0))],
}
PRIORS = {name: ht.Prior(RBF(0.3), time, 0.05) for name, time in TIMES.items()} | {
    name: ht.Prior(noise=0.05, terms=terms) for name, terms in SUMS.items()
}
priors = pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)


@priors
def test_no_choice_has_more_information_than_its_block(prior: ht.Prior) -> None:
    line, rng = ht.grid(3, 3), np.random.default_rng(0)
    blocks = gains.block_gains(prior, line, theory.gain_curve(prior, line, 12))
    for N in range(1, 13):
        for _ in range(8):
            places = rng.integers(0, 9, N)
            assert theory.mutual_information(prior, line, places) <= blocks[N - 1]


@priors
def test_the_bounds_enclose_the_exact_gain(prior: ht.Prior) -> None:
    """Against all choices, by independent code."""
    domain, T = ht.grid(3, 1), 4
    choices = product(range(3), repeat=T)
    exact = max(theory.mutual_information(prior, domain, list(x)) for x in choices)
    assert theory.max_information_gain(prior, domain, T).upper == pytest.approx(exact)
    greedy = theory.greedy_gain(prior, domain, T)
    assert greedy.lower <= exact * (1.0 + 1e-9)
    assert exact <= greedy.upper * (1.0 + 1e-9)


def test_a_long_block_is_better_than_single_steps() -> None:
    """Where little changes, blocks around their middle give the smallest bound."""
    prior = ht.Prior(noise=0.5, terms=[Stays(0.5 * RBF(0.5)), Smooth(0.5 * RBF(0.5), length=400.0)])
    domain, T = ht.grid(12), 60
    gain = theory.max_information_gain(prior, domain, T)
    assert gain.lower < gain.upper < 0.4 * T * 0.5 * log(1.0 + 1.0 / 0.5)


@priors
def test_the_bound_over_a_finite_domain_holds(prior: ht.Prior) -> None:
    domain, T = ht.grid(9), 25
    bound = theory.finite_bound(prior, domain, T, delta=0.1)
    world = GPDrift(domain, prior)
    policy = ht.tv_gp_ucb(prior, FiniteBeta(len(domain), 0.1))
    for seed in range(4):
        regret = sum(step.regret for step in play(policy, world.episode(T, seed), seed))
        assert regret <= bound


# The genie


def test_the_constant_of_the_lower_bound() -> None:
    """Below what the genie measures, proportional to epsilon, and known only for smooth kernels."""
    kernel, distances = RBF(0.2), np.random.default_rng(0).random(400) / 2.0
    constants = theory.kernel_constants(kernel, 2)
    slow, fast = (
        theory.genie_bound(theory.Assumptions(100, e, 0.01, constants, 2), kernel, distances)
        for e in (1e-6, 1e-5)
    )
    assert 0.0 < slow < 1e-6
    assert fast == pytest.approx(10.0 * slow, rel=0.1)
    rough = Matern(0.2, nu=1.5)
    problem = theory.Assumptions(100, 0.01, 0.01, theory.kernel_constants(rough, 2), 2)
    assert theory.genie_bound(problem, rough, distances) == 0.0


def test_the_genie_is_above_its_bound() -> None:
    kernel, epsilon = RBF(0.2), 0.01
    world = GPDrift(ht.grid(200), ht.Prior(kernel, ht.Forgetting(epsilon), 0.01))
    drawn = GPDrift(ht.grid(200), ht.Prior(kernel, ht.Forgetting(1.0), 0.01)).episode(500, 0).values
    x = world.domain.points[drawn.argmax(axis=1), 0]
    problem = theory.Assumptions(100, epsilon, 0.01, theory.kernel_constants(kernel, 1))
    bound = theory.genie_bound(problem, kernel, np.minimum(x, 1.0 - x))
    runs = [theory.run_genie(world.episode(100, seed)) for seed in range(10)]
    measured = np.mean([[step.regret for step in run][1:] for run in runs])
    assert 0.0 < bound < measured


def test_second_derivatives_stay_within_their_tail() -> None:
    """P(sup |f''| > L) <= a_2 exp(-(L / b_2)^2), by finite differences of draws."""
    kernel, x = RBF(0.3), np.linspace(0.0, 1.0, 120)[:, None]
    values, vectors = np.linalg.eigh(kernel(x))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    f = np.random.default_rng(0).standard_normal((2000, 120)) @ root.T
    bends = np.abs(np.diff(f, n=2, axis=1)).max(axis=1) / (x[1, 0] - x[0, 0]) ** 2
    found = theory.kernel_constants(kernel, 1)
    assert found.a2 is not None
    assert found.b2 == pytest.approx(2.0 * sqrt(3.0) / 0.3**2)
    for L in np.quantile(bends, [0.5, 0.9, 0.99]):
        assert np.mean(bends > L) <= found.a2 * exp(-((L / found.b2) ** 2))


# Errata


def test_the_final_information_inequality_is_false() -> None:
    """gamma~_T <= (T / N + 1) (gamma_N + N^3 epsilon) fails; the other two forms hold."""
    epsilon, noise, N, T = 0.01, 1e-4, 6, 1000
    point = ht.Finite([[0.0]])
    drifting = ht.Prior(RBF(0.2), ht.Forgetting(epsilon), noise)
    gain = theory.mutual_information(drifting, point, [0] * T)  # one point: there is no choice
    gamma = 0.5 * log(1.0 + N / noise)
    drift = theory.drift_information(N, epsilon, noise)
    printed, corrected, tight = (
        (T / N + 1.0) * (gamma + one) for one in (drift.printed, drift.corrected, drift.tight)
    )
    assert gain > printed
    assert gain <= tight <= corrected


def test_a_probability_stands_for_its_complement() -> None:
    """At beta_t = 2 log(3 pi_t / delta) a step fails with at most delta / (3 pi_t)."""
    delta, t = 0.1, 5
    share = delta / (3.0 * pi**2 * t**2 / 6.0)
    beta = 2.0 * log(1.0 / share)
    holds = 1.0 - erfc(sqrt(beta / 2.0))
    assert holds >= 1.0 - share
    assert 1.0 - holds <= share < 0.5  # "with probability at least delta / (3 pi_t)" says little


def test_the_tail_of_the_noise_is_printed_for_its_complement() -> None:
    """Pr(|z| <= L) <= exp(-L^2 / 2) is false; Pr(|z| > L) is meant."""
    L = np.linspace(0.5, 4.0, 20)
    outside = 2.0 * norm.sf(L)
    assert np.all(outside <= np.exp(-(L**2) / 2.0))
    assert np.any(1.0 - outside > np.exp(-(L**2) / 2.0))


def test_the_mismatch_at_a_step_is_that_of_the_data_before_it() -> None:
    """eq:R_rt_4 replaces posteriors of t - 1, so it needs Delta_{t-1}; Delta_t differs."""
    epsilon, noise = 0.1, 0.01

    def delta(n: int) -> float:
        """The largest difference of deviations after n measurements of one point."""
        times = np.arange(1.0, n + 1.0)
        found = []
        for rho in (sqrt(1.0 - epsilon), 1.0):
            K = rho ** np.abs(np.subtract.outer(times, times)) + noise * np.eye(n)
            k = rho ** (n + 1.0 - times)
            found.append(sqrt(1.0 - k @ np.linalg.solve(K, k)))
        return abs(found[0] - found[1])

    assert delta(1) != pytest.approx(delta(2), rel=0.05)
