"""The package's own kernels against scikit-learn's, and what both are used for."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from sklearn.gaussian_process import kernels as scikit
from sklearn.gaussian_process.kernels import DotProduct, RationalQuadratic, WhiteKernel

import heliotrope as ht
from heliotrope import kernels as own
from heliotrope.errors import InputError, KernelError
from heliotrope.estimation import Observations, fit, gradient
from heliotrope.kernels import is_kernel, native
from heliotrope.kernels.scikit import differences
from heliotrope.serialization.codec import decode, encode
from heliotrope.validation import Array
from strategies import assert_same, fixed, play, refusal, square

NUS = (0.5, 1.5, 2.5, np.inf)
positive = st.floats(0.05, 20.0)
bounds = st.just("fixed") | st.just((1e-3, 1e3))


@st.composite
def twins(draw: Any, dimension: int, depth: int = 2) -> tuple[own.Kernel, Any]:
    """A kernel of this package, and scikit-learn's of the same name and arguments."""
    kind = draw(st.sampled_from(["RBF", "Matern", "ConstantKernel", "Sum", "Product"]))
    if kind in ("Sum", "Product") and depth:
        (k1, k2), (s1, s2) = zip(*(draw(twins(dimension, depth - 1)) for _ in "ab"), strict=True)
        return getattr(own, kind)(k1, k2), getattr(scikit, kind)(s1, s2)
    if kind == "ConstantKernel":
        arguments: tuple[Any, ...] = draw(positive), draw(bounds)
        return own.ConstantKernel(*arguments), scikit.ConstantKernel(*arguments)
    several = st.lists(positive, min_size=dimension, max_size=dimension)
    arguments = draw(positive | several), draw(bounds)
    if kind == "RBF":
        return own.RBF(*arguments), scikit.RBF(*arguments)
    nu = draw(st.sampled_from(NUS))
    return own.Matern(*arguments, nu=nu), scikit.Matern(*arguments, nu=nu)


@st.composite
def problems(draw: Any) -> tuple[own.Kernel, Any, Array, Array]:
    """Twins, and points, some of which coincide."""
    dimension, seed = draw(st.integers(1, 6)), draw(st.integers(0, 99))
    rng = np.random.default_rng(seed)
    X, Y = rng.random((7, dimension)), rng.random((5, dimension))
    X[3], Y[:2] = X[0], X[:2]
    return *draw(twins(dimension)), X, Y


@given(problem=problems())
@fixed(150)
def test_values_and_gradients_are_those_of_scikit_learn(
    problem: tuple[own.Kernel, Any, Array, Array],
) -> None:
    kernel, twin, X, Y = problem
    expected, slopes = twin(X, eval_gradient=True)
    assert_allclose(kernel(X), expected, rtol=1e-12)
    assert_allclose(kernel(X, Y), twin(X, Y), rtol=1e-12)
    assert_allclose(kernel.diag(X), twin.diag(X), rtol=1e-12)
    assert_allclose(kernel.by_theta(X), slopes, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    assert kernel.by_theta(X).shape == slopes.shape


@given(problem=problems())
@fixed(60)
def test_parameters_are_those_of_scikit_learn(
    problem: tuple[own.Kernel, Any, Array, Array],
) -> None:
    kernel, twin, X, _ = problem
    assert repr(kernel) == repr(twin)
    assert kernel.is_stationary()
    names = [(one.name, one.n_elements, one.fixed) for one in kernel.hyperparameters]
    assert names == [(one.name, one.n_elements, one.fixed) for one in twin.hyperparameters]
    np.testing.assert_array_equal(kernel.theta, twin.theta)
    np.testing.assert_array_equal(kernel.bounds, np.reshape(twin.bounds, (-1, 2)))
    moved = kernel.theta + 0.3
    clone = kernel.clone_with_theta(moved)
    assert_allclose(clone(X), twin.clone_with_theta(moved)(X), rtol=1e-12)
    assert_allclose(clone.theta, moved)


@given(problem=problems())
@fixed(60)
def test_conversion_keeps_values_and_free_parameters(
    problem: tuple[own.Kernel, Any, Array, Array],
) -> None:
    kernel, twin, X, Y = problem
    converted = native(twin)
    assert type(converted) is type(kernel)
    assert native(kernel) is kernel
    np.testing.assert_array_equal(converted(X, Y), kernel(X, Y))
    np.testing.assert_array_equal(converted.theta, kernel.theta)
    np.testing.assert_array_equal(converted.by_theta(X), kernel.by_theta(X))


@pytest.mark.parametrize("nu", NUS)
@pytest.mark.parametrize("length", [0.4, (0.4, 1.3)])
def test_derivatives_by_a_point(nu: float, length: float | tuple[float, ...]) -> None:
    """Far from the cusp of Matern 1/2; the differences' step is 1e-5 of the width."""
    rng = np.random.default_rng(0)
    X, B, kernel = rng.random((6, 2)), 1.2 + rng.random((4, 2)), own.Matern(length, nu=nu)
    expected = differences(lambda points: kernel(points, B), X, B)
    assert_allclose(kernel.by_point(X, B), expected, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [
        scikit.Matern(0.8, nu=3.7),
        DotProduct(0.3) + scikit.RBF(0.4),
        2.0 * RationalQuadratic(0.6, alpha=1.5) * scikit.Matern([0.4, 1.0], nu=1.5),
    ],
    ids=repr,
)
def test_other_kernels_of_scikit_learn_work_as_they_are(kernel: Any) -> None:
    X = np.random.default_rng(0).random((6, 2))
    expected, slopes = kernel(X, eval_gradient=True)
    converted = native(kernel)
    assert repr(converted) == repr(kernel)
    assert converted.is_stationary() == kernel.is_stationary()
    assert_allclose(converted(X), expected, rtol=1e-12)
    assert_allclose(converted.diag(X), kernel.diag(X), rtol=1e-12)
    assert_allclose(converted.by_theta(X), slopes, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(converted.theta, kernel.theta)
    np.testing.assert_array_equal(converted.bounds, kernel.bounds)
    longer = converted.rescaled(2.0)
    lengths = {
        name: 2.0 * np.asarray(value)
        for name, value in kernel.get_params().items()
        if name.endswith("length_scale")
    }
    assert_allclose(longer(X), kernel.clone_with_theta(kernel.theta).set_params(**lengths)(X))


def test_a_subclass_keeps_its_own_formula() -> None:
    class Halved(scikit.RBF):  # type: ignore[misc]  # scikit-learn has no types
        def __call__(self, X: Array, Y: Any = None, eval_gradient: bool = False) -> Any:
            return 0.5 * super().__call__(X, Y)

    X = np.random.default_rng(0).random((4, 2))
    np.testing.assert_array_equal(native(Halved(0.3))(X), 0.5 * scikit.RBF(0.3)(X))


def test_operators() -> None:
    kernel = np.float64(2.0) * own.RBF(0.3) + 1
    assert kernel == own.Sum(
        own.Product(own.ConstantKernel(2.0), own.RBF(0.3)), own.ConstantKernel(1.0)
    )
    assert repr(own.RBF(0.3) * 4.0) == "RBF(length_scale=0.3) * 2**2"
    assert repr(1.0 + own.Matern([0.3, 1.0])) == "1**2 + Matern(length_scale=[0.3, 1], nu=1.5)"
    assert kernel.rescaled(3.0) == 2.0 * own.RBF(3.0 * 0.3) + 1.0
    assert kernel != 2.0 * own.Matern(0.3, nu=np.inf) + 1.0


@pytest.mark.parametrize("other", ["RBF", 0.0, None, np.ones(2), scikit.RBF(0.3)], ids=repr)
def test_other_operands_are_refused(other: Any) -> None:
    with refusal(KernelError):
        own.RBF(0.3) * other


@pytest.mark.parametrize("arguments", [(0.0,), ((0.3, -1.0),), (0.3, "free"), (0.3, (2.0, 1.0))])
def test_bad_parameters_are_refused(arguments: Any) -> None:
    with refusal(InputError):
        own.RBF(*arguments)
    with refusal(InputError):
        own.Matern(*arguments)


def test_a_nu_without_a_formula_is_refused() -> None:
    with refusal(InputError):
        own.Matern(0.3, nu=3.7)


def test_one_length_for_each_coordinate() -> None:
    with refusal(KernelError):
        ht.Optimizer(ht.grid(5), ht.tv_gp_ucb(ht.Prior(own.RBF((0.3, 0.4)))))


def test_what_a_kernel_is() -> None:
    assert is_kernel(own.RBF())
    assert is_kernel(scikit.RBF())
    assert not any(map(is_kernel, (0.5, "RBF", ht.Tabulated([[1.0]]), own.RBF)))


SPACES: list[tuple[own.Kernel, Any]] = [
    (own.RBF(0.3), scikit.RBF(0.3)),
    (2.0 * own.Matern((0.3, 0.6), nu=2.5), 2.0 * scikit.Matern([0.3, 0.6], nu=2.5)),
    (own.Matern(0.5, nu=0.5) + own.RBF(0.9), scikit.Matern(0.5, nu=0.5) + scikit.RBF(0.9)),
]


@pytest.mark.parametrize(("kernel", "twin"), SPACES, ids=repr)
@pytest.mark.parametrize("time", [ht.Forgetting(0.05), own.Matern(5.0, nu=1.5)], ids=repr)
@pytest.mark.parametrize("domain", [ht.grid(4, 4), square()], ids=["finite", "box"])
def test_a_user_may_bring_either(kernel: Any, twin: Any, time: Any, domain: Any) -> None:
    """The same asks; the prior holds what the user gave."""
    mine, theirs = (
        play(ht.Optimizer(domain, ht.tv_gp_ucb(ht.Prior(space, time, noise=0.05)), seed=3))
        for space in (kernel, twin)
    )
    assert [s.x.tolist() for s in mine.history] == [s.x.tolist() for s in theirs.history]
    assert ht.Prior(twin, time).space is twin
    assert repr(ht.Prior(twin, time)) == repr(ht.Prior(kernel, time))


@pytest.mark.parametrize("kernel", [kernel for kernel, _ in SPACES], ids=repr)
def test_saved_and_restored(kernel: own.Kernel, tmp_path: Any) -> None:
    arrays: dict[str, Array] = {}
    assert decode(json.loads(json.dumps(encode(kernel, arrays))), arrays) == kernel
    optimizer = play(ht.Optimizer(square(), ht.tv_gp_ucb(ht.Prior(kernel)), seed=3))
    optimizer.save(tmp_path / "saved")
    assert_same(ht.Optimizer.load(tmp_path / "saved"), optimizer)


def observations(n: int = 25) -> Observations:
    rng = np.random.default_rng(0)
    return Observations(np.arange(1.0, n + 1), rng.random((n, 2)), rng.normal(size=n))


@pytest.mark.parametrize(("kernel", "twin"), SPACES, ids=repr)
def test_either_is_learned(kernel: Any, twin: Any) -> None:
    """The fitted kernel has the type of the one that was given."""
    data = observations()
    mine, theirs = (ht.Prior(space, ht.Forgetting(0.1), noise=0.2) for space in (kernel, twin))
    assert gradient(mine, data) == pytest.approx(gradient(theirs, data), rel=1e-9)
    fitted, other = (fit(prior, data, restarts=0) for prior in (mine, theirs))
    assert type(fitted.prior.space) is type(kernel)
    assert type(other.prior.space) is type(twin)
    assert fitted.value == pytest.approx(other.value, abs=1e-6)


def test_a_composite_kernel_of_the_user_is_learned_and_learned_over() -> None:
    kernel = scikit.ConstantKernel(1.0, (0.5, 2.0)) * (scikit.RBF(0.3) + RationalQuadratic(0.5))
    found = fit(ht.Prior(kernel, ht.Forgetting(0.1), noise=0.2), observations(), restarts=0)
    space: Any = found.prior.space
    assert type(space) is scikit.Product
    assert 0.5 <= space.k1.constant_value <= 2.0
    white = ht.Prior(scikit.RBF(0.3) + WhiteKernel(0.1))
    with refusal(KernelError):
        fit(white, observations())
