"""The structured linear algebra against plain numpy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process.kernels import RBF, Matern
from threadpoolctl import threadpool_info, threadpool_limits

from heliotrope.errors import KernelError
from heliotrope.linalg import (
    PackedCholesky,
    jittered_cholesky,
    leading_rows,
    low_rank_root,
    most_relevant,
    one_thread,
    pivoted_cholesky,
    projection,
    solve_lower,
    solve_lower_in_rows,
)
from heliotrope.validation import Array, Indices


def blas_threads() -> dict[str, int]:
    """The threads of BLAS by the package whose BLAS it is."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    found = {Path(pool["filepath"]).parent.name: pool["num_threads"] for pool in pools}
    return {name.removesuffix(".libs"): threads for name, threads in found.items()}


@pytest.mark.skipif(sys.platform != "linux", reason="Apple's BLAS is not controlled")
def test_numpy_and_scipy_are_limited_to_one_thread() -> None:
    before = blas_threads()
    with threadpool_limits(2):
        assert set(blas_threads().values()) == {2}
        with one_thread():
            assert blas_threads() == {"numpy": 1, "scipy": 1}
    assert blas_threads() == before


SEEDS = st.integers(0, 10_000)


@given(SEEDS, st.integers(1, 40), st.integers(1, 30), st.sampled_from([1e-12, 1e-6, 1e-2, 10.0]))
def test_leading_rows_lose_at_most_the_tolerance(
    seed: int, n: int, N: int, tolerance: float
) -> None:
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(n, N)) * np.geomspace(1.0, 1e-6, n)[:, None]
    S = leading_rows(R, tolerance)
    lost = R.T @ R - S.T @ S
    assert lost.diagonal().max() <= tolerance + 1e-12
    assert np.linalg.eigvalsh(lost).min() > -1e-12
    assert len(S) <= min(n, N)


@given(SEEDS, st.integers(0, 25), st.booleans(), st.booleans(), st.integers(0, 2))
def test_lower_systems_are_solved_in_any_memory_layout(
    seed: int, n: int, transposed: bool, fortran: bool, columns: int
) -> None:
    rng = np.random.default_rng(seed)
    L = np.tril(rng.normal(size=(n, n)) / (n or 1), -1) + np.eye(n)
    B = rng.normal(size=(2 * n, 3))[::2, :columns] if columns else rng.normal(size=n)
    X = solve_lower(np.asfortranarray(L) if fortran else L, B, transposed)
    assert X.shape == B.shape
    assert np.allclose((L.T if transposed else L) @ X, B, atol=1e-10)


@given(SEEDS, st.integers(1, 25), st.integers(1, 9), st.booleans())
def test_lower_systems_are_solved_in_rows(seed: int, n: int, columns: int, fortran: bool) -> None:
    rng = np.random.default_rng(seed)
    L = np.tril(rng.normal(size=(n, n)) / n, -1) + np.eye(n)
    B = rng.normal(size=(2 * n, columns))[::2]
    before = B.copy()
    X = solve_lower_in_rows(np.asfortranarray(L) if fortran else L, B)
    assert X.flags.c_contiguous
    assert np.allclose(L @ X, B, atol=1e-10)
    assert np.array_equal(B, before)


def test_systems_without_a_solution_are_refused() -> None:
    with pytest.raises(ValueError, match="needs 3 rows, not 2"):
        solve_lower(np.eye(3), np.ones(2))
    with pytest.raises(np.linalg.LinAlgError):
        solve_lower(np.zeros((2, 2)), np.ones(2))


@given(SEEDS, st.integers(0, 25))
def test_packed_cholesky_grows_like_the_whole_factor(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n + 2))
    A = root @ root.T + 0.1 * np.eye(n)
    factor = PackedCholesky()
    for i in range(n):
        row = factor.solve(A[:i, i])
        factor.append(row, float(np.sqrt(A[i, i] - row @ row)))
    L = np.linalg.cholesky(A) if n else A
    b = rng.normal(size=n)
    assert len(factor) == n
    np.testing.assert_allclose(factor.full(), L, atol=1e-8)
    np.testing.assert_allclose(factor.solve(b), np.linalg.solve(L, b), atol=1e-7)
    np.testing.assert_allclose(factor.solve(b, transposed=True), np.linalg.solve(L.T, b), atol=1e-7)
    np.testing.assert_allclose(PackedCholesky.of(A).full(), L, atol=1e-8)


def test_low_rank_root_gives_the_kernel_back() -> None:
    x = np.linspace(0, 1, 60)[:, None]
    smooth, rough = RBF(0.3)(x), Matern(0.3, nu=0.5)(x)
    F = low_rank_root(smooth, 1e-10)
    assert F.shape[1] < 20
    np.testing.assert_allclose(F @ F.T, smooth, atol=1e-9)
    F = low_rank_root(rough, 1e-10)
    np.testing.assert_allclose(F @ F.T, rough, atol=1e-9)


def test_pivoted_cholesky_leaves_little_of_the_others() -> None:
    x = np.random.default_rng(0).random((50, 2))
    K = RBF(0.5)(x)
    chosen, L = pivoted_cholesky(K, 1e-8)
    np.testing.assert_allclose(L @ L.T, K[np.ix_(chosen, chosen)], atol=1e-12)
    features = np.linalg.solve(L, K[chosen])
    assert (K.diagonal() - (features**2).sum(axis=0)).max() <= 1e-8


def test_jittered_cholesky_names_the_negative_eigenvalue() -> None:
    with pytest.raises(KernelError, match="eigenvalue -1"):
        jittered_cholesky(np.array([[0.0, 1.0], [1.0, 0.0]]))


@given(SEEDS)
def test_most_relevant_drops_the_point_of_least_loss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 6
    K = RBF(0.3)(rng.random((n, 1))) + 1e-3 * np.eye(n)
    alpha, root = rng.normal(size=n), rng.normal(size=(n, 2))
    Q = root @ root.T
    residual = 1.0 / np.diag(np.linalg.inv(K))
    expected = int(np.argmin((alpha**2 + Q.diagonal()) * residual))
    kept = most_relevant(K[None], alpha[:, None], Q[:, None, :, None], most=n - 1, tolerance=0.0)
    assert sorted({*range(n)} - {*kept.tolist()}) == [expected]
    W = projection(K, kept, np.array([expected]))
    best = np.linalg.solve(K[np.ix_(kept, kept)], K[kept] @ alpha)
    np.testing.assert_allclose(alpha[kept] + W @ alpha[[expected]], best, rtol=1e-5, atol=1e-6)


def test_most_relevant_of_two_blocks_is_the_projection_of_both() -> None:
    rng = np.random.default_rng(3)
    x = rng.random((6, 1))
    K = np.array([RBF(0.3)(x), Matern(0.5, nu=1.5)(x)]) + 1e-3 * np.eye(6)
    alpha, root = rng.normal(size=(6, 2)), rng.normal(size=(12, 3))
    Q = (root @ root.T).reshape(6, 2, 6, 2)
    residual = 1.0 / np.array([np.diag(np.linalg.inv(block)) for block in K]).T
    loss = np.sum((alpha**2 + np.einsum("jpjp->jp", Q)) * residual, axis=1)
    kept = most_relevant(K, alpha, Q, most=5, tolerance=0.0)
    assert sorted({*range(6)} - {*kept.tolist()}) == [int(loss.argmin())]


@given(SEEDS, st.integers(1, 8))
def test_most_relevant_drops_one_point_after_the_other(seed: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.random((9, 1))
    K = np.array([RBF(0.3)(x), Matern(0.5, nu=1.5)(x)]) + 1e-3 * np.eye(9)
    alpha, root = rng.normal(size=(9, 2)), rng.normal(size=(18, 3))
    Q = (root @ root.T).reshape(9, 2, 9, 2)
    found = most_relevant(K, alpha, Q, most=most, tolerance=0.0)
    left = np.arange(9)
    while len(left) > most:
        stays = left[most_relevant(*_of(left, K, alpha, Q), len(left) - 1, 0.0)]
        gone = np.setdiff1d(left, stays)
        for p in range(2):
            W = projection(K[p], stays, gone)
            alpha[stays, p] += W @ alpha[gone, p]
            Q[stays, p] += np.tensordot(W, Q[gone, p], axes=1)
            Q[:, :, stays, p] += np.tensordot(Q[:, :, gone, p], W, axes=(2, 1))
        left = stays
    np.testing.assert_array_equal(found, left)


def _of(some: Indices, K: Array, alpha: Array, Q: Array) -> tuple[Array, Array, Array]:
    return K[:, some][:, :, some], alpha[some], Q[some][:, :, some]


def test_most_relevant_drops_twins_and_points_without_weight() -> None:
    x = np.array([[0.0], [0.5], [0.5], [1.0]])
    alpha, Q = np.array([1.0, 1.0, 1.0, 0.0]), np.zeros((4, 4))
    K = RBF(0.3)(x)[None]
    kept = most_relevant(K, alpha[:, None], Q[:, None, :, None], most=4, tolerance=1e-6)
    assert len(kept) == 2
    assert 0 in kept
    assert 3 not in kept
