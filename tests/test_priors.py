"""Priors and kernels, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    ExpSineSquared,
    Kernel,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

import heliotrope as ht
from heliotrope.kernels import DomainKernel, native
from heliotrope.priors import correlation
from strategies import X, fixed, square

KERNELS: dict[str, Kernel] = {
    "RBF": RBF(0.4),
    "RBF, anisotropic": RBF([0.4, 0.9]),
    "Matern 1/2": Matern(0.5, nu=0.5),
    "Matern 3/2": Matern(0.5, nu=1.5),
    "Matern 5/2": Matern(0.5, nu=2.5),
    "Matern 5/2, anisotropic": Matern([0.5, 1.1], nu=2.5),
    "Matern 3.7": Matern(0.8, nu=3.7),
    "Matern infinity": Matern(0.5, nu=np.inf),
    "scaled": ConstantKernel(2.5) * RBF(0.4),
    "sum": RBF(0.4) + Matern(0.7, nu=1.5),
    "product": RBF(0.9) * Matern(0.7, nu=2.5) * ConstantKernel(0.5),
    "nested": 2.0 * (RBF(0.6) + 0.5) * Matern(0.9, nu=2.5) + DotProduct(0.3),
    "rational quadratic": RationalQuadratic(0.6, alpha=1.5),
    "dot product": DotProduct(0.7),
    "power": Exponentiation(RBF(0.6), 2),
}


@given(epsilon=st.floats(0.0, 1.0), s=st.floats(0.0, 50.0), t=st.floats(0.0, 50.0))
@fixed(50)
def test_forgetting_is_the_papers_covariance(epsilon: float, s: float, t: float) -> None:
    """Cov[f_s(x), f_t(x)] = (1 - epsilon)^(|s - t| / 2)."""
    got = correlation(ht.Forgetting(epsilon), np.array([s - t]))
    assert got[0] == pytest.approx((1.0 - epsilon) ** (abs(s - t) / 2.0), rel=1e-12, abs=1e-300)


def test_nothing_changes_under_a_static_time() -> None:
    assert correlation(ht.Static(), np.array([-7.0, 0.0, 1e9])).tolist() == [1.0, 1.0, 1.0]


def test_a_time_kernel_is_a_function_of_the_gap() -> None:
    gaps = np.array([[-3.0, 0.0], [1.5, 40.0]])
    expected = np.exp(-0.5 * (gaps / 2.0) ** 2)
    np.testing.assert_allclose(correlation(RBF(2.0), gaps), expected, rtol=1e-12)


@pytest.mark.parametrize("engine", ["finite", "dense", "reference"])
def test_a_prior_variance_other_than_one(engine: str) -> None:
    """One observation: the posterior by hand, k(x, x) = 1 + (x . x) / 4 + 3."""
    space = 3.0 * RBF(0.5) + 0.25 * DotProduct(2.0)
    prior = ht.Prior(space, ht.Forgetting(0.19), noise=0.5, mean=2.0)
    optimizer = ht.Optimizer(ht.grid(5, 5), ht.tv_gp_ucb(prior, engine=engine))
    points = optimizer.domain.points  # type: ignore[union-attr]
    variance = 4.0 + 0.25 * np.sum(points**2, axis=1)
    np.testing.assert_allclose(optimizer.belief(1.0).std ** 2, variance, rtol=1e-12)
    optimizer.tell_many([1.0], [7], [4.0])
    k = 0.9 * space(points[7:8], points)[0]
    expected_mean = 2.0 + k * (4.0 - 2.0) / (variance[7] + 0.5)
    expected_variance = variance - k**2 / (variance[7] + 0.5)
    belief = optimizer.belief(2.0)
    np.testing.assert_allclose(belief.mean, expected_mean, rtol=1e-12)
    np.testing.assert_allclose(belief.std**2, expected_variance, rtol=1e-12)


def test_an_amplitude_of_the_time_kernel_scales_the_variance() -> None:
    prior = ht.Prior(RBF(0.3), 4.0 * RBF(5.0))
    belief = ht.Optimizer(ht.grid(5), ht.tv_gp_ucb(prior)).belief(3.0)
    np.testing.assert_allclose(belief.std, 2.0, rtol=1e-12)


def test_a_mean_vector_is_the_belief_before_any_data() -> None:
    mean = np.arange(5.0)
    for engine in ("finite", "dense", "reference"):
        policy = ht.tv_gp_ucb(ht.Prior(mean=mean), engine=engine)
        assert ht.Optimizer(ht.grid(5), policy).belief(1.0).mean.tolist() == mean.tolist()


def test_a_mean_vector_cannot_be_changed_from_outside() -> None:
    mean = np.arange(5.0)
    prior = ht.Prior(mean=mean)
    mean[:] = 9.0
    assert np.asarray(prior.mean).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


# Spaces


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_a_space_is_its_kernel_over_the_domain(kernel: Kernel) -> None:
    domain = ht.grid(4, 3)
    space, K = DomainKernel(kernel, domain), kernel(domain.points)
    some = np.array([5, 0, 5, 11])
    np.testing.assert_allclose(space.block(some, domain.indices), K[some], rtol=1e-13)
    np.testing.assert_allclose(space.diagonal(some), np.diag(K)[some], rtol=1e-13)
    for i in (3, 7, 3):
        np.testing.assert_allclose(space.row(i), K[i], rtol=1e-13)


def test_a_space_of_a_table_is_the_table() -> None:
    domain, table = ht.grid(3), ht.Tabulated([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]])
    space = DomainKernel(table, domain)
    np.testing.assert_array_equal(space.block(domain.indices, domain.indices), table.K)
    np.testing.assert_array_equal(space.diagonal(np.array([2, 0])), [3.0, 2.0])
    np.testing.assert_array_equal(space.row(1), table.K[1])
    np.testing.assert_array_equal(space.block(np.array([1]), domain.points), table.K[1:2])


@pytest.mark.parametrize(
    "kernel", [RBF(0.3) + WhiteKernel(0.7), 2.0 * (RBF(0.3) + WhiteKernel(0.35))], ids=repr
)
def test_white_noise_belongs_to_a_point_and_no_other(kernel: Kernel) -> None:
    """scikit-learn drops it between two arrays; here a place keeps it, even one that coincides."""
    points = np.vstack([ht.grid(3, 3).points, [[0.5, 0.5]]])
    domain = ht.Finite(points)
    space = DomainKernel(kernel, domain)
    expected = kernel(points)
    everywhere = space.block(domain.indices, domain.indices)
    np.testing.assert_allclose(everywhere, expected, rtol=1e-13)
    np.testing.assert_allclose(space.diagonal(domain.indices), np.diag(expected), rtol=1e-13)
    for i in (0, 4, 9):
        np.testing.assert_allclose(space.row(i), expected[i], rtol=1e-13)


def test_white_noise_of_the_space_is_learned_at_its_point_alone() -> None:
    """f itself is rough there: measuring it many times reveals it, and no neighbour."""
    kernel, noise = RBF(0.3) + WhiteKernel(0.7), 0.01
    prior = ht.Prior(kernel, noise=noise)
    optimizer = ht.Optimizer(ht.grid(5), ht.gp_ucb(prior))
    optimizer.tell_many(np.ones(50), np.full(50, 0.5), np.full(50, 1.0))
    belief = optimizer.belief(1.0)
    k = kernel(ht.grid(5).points)[2]
    np.testing.assert_allclose(belief.mean, k / (k[2] + noise / 50), rtol=1e-9)
    np.testing.assert_allclose(belief.std**2, 1.7 - k**2 / (k[2] + noise / 50), atol=1e-9)


# Gradients


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_gradients_agree_with_central_differences(kernel: Kernel) -> None:
    """Step 1e-5: truncation h^2 k''' / 6 < 1e-8 and rounding 1e-16 / h = 1e-11, both here and in
    the differences (step 2e-6) that stand in where no formula is known.
    """
    B = np.array([[0.1, 0.9], [0.6, 0.4], [0.8, 0.8]])
    h, gradient = 1e-5, native(kernel).by_point(X, B)
    assert gradient.shape == (len(X), len(B), 2)
    for i, shift in enumerate(h * np.eye(2)):
        differences = (kernel(X + shift, B) - kernel(X - shift, B)) / (2.0 * h)
        np.testing.assert_allclose(gradient[:, :, i], differences, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("name", ["RBF", "Matern 3/2", "Matern 5/2", "Matern infinity", "product"])
def test_a_smooth_kernel_is_flat_at_its_centre(name: str) -> None:
    gradient = native(KERNELS[name]).by_point(X, X)
    np.testing.assert_array_equal(gradient[range(3), range(3)], np.zeros((3, 2)))


@pytest.mark.parametrize("kernel", [DotProduct(0.7), RBF(0.4), 2.0 * DotProduct() * RBF(0.3)])
def test_the_gradient_of_the_variance(kernel: Kernel) -> None:
    """k(x, x) is s (c + x . x) with gradient 2 s x for dot products, and flat for the others."""
    expected = {True: np.zeros_like(X), False: 2.0 * X}[kernel.is_stationary()]
    factor = 2.0 if kernel.n_dims == 3 else 1.0
    gradient = DomainKernel(kernel, square()).diagonal_gradient(X)
    np.testing.assert_allclose(gradient, factor * expected, rtol=0.0, atol=1e-8)


def test_a_periodic_time_kernel_remembers_the_same_hour() -> None:
    prior = ht.Prior(RBF(0.3), ExpSineSquared(1.0, periodicity=24.0), noise=1e-4)
    optimizer = ht.Optimizer(ht.grid(5), ht.tv_gp_ucb(prior))
    optimizer.tell_many([0.0], [0.5], [1.5])
    assert optimizer.belief(24.0).mean[2] == pytest.approx(1.5, abs=1e-3)
    assert optimizer.belief(12.0).mean[2] < 0.5
