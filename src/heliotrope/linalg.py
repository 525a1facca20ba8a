"""Structured linear algebra that the engines share, and what stands in for a model if it fails.

Symbols
-------
n   rows of a factor        N   length of the state (points, or dictionary points)
R   (n, N) rows whose R^T R is the covariance that observations have explained
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
from scipy.linalg import blas, cho_solve, lapack
from threadpoolctl import ThreadpoolController

from heliotrope.errors import KernelError
from heliotrope.validation import Array, Indices

_RECYCLED = 2**25 - 2**16  # bytes, just below glibc's own maximum: see :func:`_recycle_memory`
_BLAS = ThreadpoolController()  # of numpy and scipy
T = TypeVar("T")
_ROUNDING = 1e-6  # a variance further below zero than this share is no rounding error
JITTER = 1e-10  # share of the mean variance added before factorizing a kernel; the only jitter

NUMERICAL_FAILURES = (KernelError, np.linalg.LinAlgError, ArithmeticError)
"""Errors after which the last model that works stays in use, while a model is fitted or used.

The failure is logged and counted, and the next estimate tries again. Any other error passes.
"""
fallbacks = Counter[str]()
"""Number of fallbacks of this process, by what failed."""
fallbacks_raise = os.environ.get("HELIOTROPE_FALLBACKS") == "raise"
"""Whether failures are raised instead, as in tests that expect none."""
fallback_log = logging.getLogger("heliotrope.fallbacks")


def _recycle_memory() -> None:
    """Let glibc reuse the memory of freed arrays of at most ``_RECYCLED`` bytes.

    By default glibc returns freed arrays of 128 kB or more to the system, and new pages cost more
    than the arithmetic on them. It raises this limit to the largest array freed so far.
    Processor time in ms, by the limit:

    ================================  =======  ====  ====  =====  =====
    ..                                default  1 MB  4 MB  16 MB  31 MB
    ================================  =======  ====  ====  =====  =====
    tell of ``auto`` in a 2-D box        10.8  11.1   7.2    8.1    7.5
    Matern 5/2 between 1,000 points                          44     19
    ================================  =======  ====  ====  =====  =====
    """
    np.empty(_RECYCLED, dtype=np.uint8)


_recycle_memory()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread.

    Small products alternate between numpy's and scipy's BLAS. Their idle threads would compete for
    the cores.
    """
    with _BLAS.limit(limits=1):
        yield


def jittered_cholesky(K: Array, jitter: float = JITTER) -> Array:
    """Lower Cholesky factor of a positive semi-definite matrix with jitter on its diagonal.

    Raises KernelError when the matrix has a negative eigenvalue larger than the jitter.
    """
    if jitter:
        scale = (float(np.mean(np.diag(K))) if len(K) else 0.0) or 1.0
        K = K + jitter * scale * np.eye(len(K))
    if not len(K):
        return K
    factor: Array
    factor, info = lapack.dpotrf(K, lower=1)  # scipy's cholesky is ten times slower on small ones
    if info:
        raise KernelError(
            "a positive semi-definite kernel matrix",
            f"one with the eigenvalue {float(np.linalg.eigvalsh(K)[0]):.3g}",
            "Check the kernel, or raise the matrix's negative eigenvalues to zero.",
        )
    return factor


def checked_variance(variance: float, prior_variance: float, rounding: float = _ROUNDING) -> float:
    """Clip a variance that rounding made negative; a truly negative one is a kernel error."""
    if variance < -rounding * max(prior_variance, 1e-300):
        raise KernelError(
            "a positive definite kernel",
            f"a posterior variance of {variance:.3g} where the prior's is {prior_variance:.3g}",
            "Check the kernel over the whole domain.",
        )
    return max(variance, 0.0)


def pivoted_cholesky(K: Array, tolerance: float) -> tuple[Array, Array]:
    """Choose points until no other has more than ``tolerance`` of remaining variance.

    Returns the chosen indices (r,) and the lower factor L (r, r) of K[chosen][:, chosen].
    """
    factor, pivots, rank, _ = lapack.dpstrf(K, tol=tolerance, lower=1)
    return pivots[:rank] - 1, np.tril(factor[:rank, :rank])


def low_rank_root(K: Array, tolerance: float) -> Array:
    """F (n, r) with F F^T = K up to ``tolerance`` on the diagonal, to sample from N(0, K)."""
    factor, pivots, rank, _ = lapack.dpstrf(K, tol=tolerance, lower=1)
    root = np.empty((len(K), rank))
    root[pivots - 1] = np.tril(factor)[:, :rank]
    return root


def pivoted_rows(
    row: Callable[[int], Array], diagonal: Array, tolerance: float, most: int
) -> tuple[Indices, Array, Array]:
    """Factor a covariance K (n, n) from as few of its rows as needed.

    Returns the chosen points (r,), rows R (r, n) and the remaining diagonal (n,): K is R^T R plus
    a remainder with that diagonal. It is at most ``tolerance``, unless ``most`` points are reached.
    """
    left, R = np.maximum(diagonal, 0.0), np.empty((min(most, len(diagonal)), len(diagonal)))
    chosen: list[int] = []
    while len(chosen) < len(R):
        i, r = int(left.argmax()), len(chosen)
        if left[i] <= tolerance:
            break
        R[r] = (row(i) - R[:r, i] @ R[:r]) / np.sqrt(left[i])
        left = np.maximum(left - R[r] ** 2, 0.0)
        left[chosen] = left[i] = 0.0
        chosen.append(i)
    rows = R if len(chosen) == len(R) else R[: len(chosen)].copy()  # a view keeps the rest
    return np.array(chosen, dtype=np.intp), rows, left


def leading_rows(
    R: Array, tolerance: float, values: Callable[[Array], Array] | None = None
) -> Array:
    """Few rows S with R^T R - S^T S positive and its diagonal at most the tolerance.

    R^T R = sum_k l_k v_k v_k^T with orthonormal v_k, and the rows of S are sqrt(l_k) v_k. They
    come from the eigenvectors of the small (n, n) matrix R R^T. Dropping the directions with
    l_k <= l lowers the diagonal by sum_k l_k v_k^2 <= l: this gives the first cut. The second cut
    sums the exact losses, up to l_k / N, beyond which a single row loses more than the tolerance.

    If columns are weights of features, ``values`` maps rows to the values that must not lose more
    than the tolerance. Each value is a product with features of length at most 1.
    """
    if len(R) > R.shape[1]:
        R = np.asarray(np.linalg.qr(R, mode="r"))  # the same R^T R with fewer rows
    spectrum, vectors = np.linalg.eigh(R @ R.T)  # in increasing order
    first = int(np.searchsorted(spectrum, 0.5 * tolerance))
    S: Array = vectors[:, first:].T @ R
    doubtful = S[: int(np.searchsorted(spectrum, tolerance * R.shape[1])) - first]
    if values is None:
        lost = np.einsum("nm,nm->m", R, R) - np.einsum("nm,nm->m", S, S)
    else:
        lost, doubtful = np.asarray(0.5 * tolerance), values(doubtful)
    lost_up_to = np.square(doubtful)
    np.cumsum(lost_up_to, axis=0, out=lost_up_to)
    lost_up_to += lost
    return S[int(np.count_nonzero(lost_up_to.max(axis=1, initial=0.0) <= tolerance)) :]


def solve_lower(L: Array, B: Array, transposed: bool = False) -> Array:
    """Solve L X = B, or L^T X = B."""
    if len(L) != len(B):
        raise ValueError(f"the right-hand side needs {len(L)} rows, not {len(B)}")
    if not B.size:
        return np.empty_like(B)
    factor, lower = (L, 1) if L.flags.f_contiguous else (L.T, 0)  # avoids a copy
    solution: Array
    solution, info = lapack.dtrtrs(factor, B, lower=lower, trans=int(transposed) ^ (1 - lower))
    if info:
        raise np.linalg.LinAlgError(f"the pivot {info} is zero")
    return solution


def solve_lower_in_rows(L: Array, B: Array) -> Array:
    """Solve L X = B for a B stored by rows: as X^T L^T = B^T it needs no transposed copies."""
    X: Array = blas.dtrsm(
        1.0, L, np.array(B, order="C").T, side=1, lower=1, trans_a=1, overwrite_b=1
    )
    return X.T


class PackedCholesky:
    """The factor of a symmetric matrix that gains rows: A = L L^T, stored row by row.

    A triangular solve on a view of a growing square buffer would copy it each time. Packed rows of
    L are BLAS's packed upper triangle of L^T, which it solves in place.
    """

    def __init__(self, packed: Array | None = None) -> None:
        self._buffer = np.empty(64) if packed is None else packed
        self._used = 0 if packed is None else len(packed)

    @classmethod
    def of(cls, A: Array) -> PackedCholesky:
        return cls(jittered_cholesky(A, jitter=0.0)[np.tril_indices(len(A))])

    def __len__(self) -> int:
        return (int(np.sqrt(8 * self._used + 1)) - 1) // 2

    @property
    def packed(self) -> Array:
        """The rows of L, one after another."""
        return self._buffer[: self._used]

    def append(self, row: Array, pivot: float) -> None:
        """Append a row of the factor: L row = the new column, pivot^2 = remaining variance."""
        stop = self._used + len(row) + 1
        if stop > len(self._buffer):
            self._buffer = np.concatenate([self._buffer, np.empty(stop)])
        self._buffer[self._used : stop - 1] = row
        self._buffer[stop - 1] = pivot
        self._used = stop

    def solve(self, b: Array, transposed: bool = False) -> Array:
        """Solve L x = b, or L^T x = b, for one right-hand side."""
        if not len(self):
            return np.zeros(0)
        solution: Array = blas.dtpsv(len(self), self.packed, b, trans=int(not transposed))
        return solution

    def full(self) -> Array:
        lower = np.zeros((len(self), len(self)))
        lower[np.tril_indices(len(self))] = self.packed
        return lower


def most_relevant(K: Array, alpha: Array, Q: Array, most: int, tolerance: float) -> Indices:
    """Choose at most ``most`` of n points: those whose removal would change functions most.

    The functions are sums over P blocks: k_p(x, B) alpha_p and k_p(x, B) Q_pq k_q(B, x'), with
    K (P, n, n), alpha (n, P) and Q (n, P, n, P). Removing point j replaces each k_p(b_j, .) by its
    projection e_p on the others, at squared distance r_j with 1 / r_j = (K_p^{-1})_jj. The point
    with the least sum over p of (alpha_jp^2 + Q_jpjp) r_jp is removed, and alpha, Q and K^{-1} are
    updated: e_p is minus column j of K_p^{-1} over its diagonal, and I + e_p e_j^T projects all
    three. Points whose loss is below ``tolerance`` are always removed.

    Only the diagonals and the rows that are needed are computed: removal i adds E_i S_i + S_i^T
    E_i^T to Q, where E_i holds its e_p and S_i is row j plus half of e_p times its own block.
    """
    n, alpha, kept = len(alpha), alpha.copy(), np.ones(len(alpha), dtype=bool)
    inverses, effects = np.array([inverse(block) for block in K]), np.einsum("jpjp->jp", Q).copy()
    diagonal = np.einsum("pjj->jp", inverses).copy()
    E, S, D = np.empty((n, *alpha.shape)), np.empty((n, *Q.shape[1:])), np.empty((n, *K.shape[:2]))
    for i in range(n - 1):
        losses = np.sum((alpha**2 + effects) / diagonal, axis=1)
        j = int(np.where(kept, losses, np.inf).argmin())
        if n - i <= most and losses[j] > tolerance:
            break
        D[i] = inverses[:, j] + np.einsum("ip,ipn->pn", E[:i, j], D[:i])
        S[i] = Q[j] + np.einsum("ip,ipmq->pmq", E[:i, j], S[:i])
        S[i] += np.einsum("iqp,imq->pmq", S[:i, :, j], E[:i])
        E[i] = e = -D[i].T / diagonal[j]  # (n, P)
        S[i] += 0.5 * S[i, :, j][:, None] * e
        alpha += e * alpha[j]
        effects += 2.0 * e * np.einsum("pnp->np", S[i])
        diagonal += e * D[i].T
        diagonal[j], kept[j] = 1.0, False  # the point is removed: 1 keeps the division harmless
    return np.flatnonzero(kept)


def inverse(K: Array) -> Array:
    """Inverse of a kernel matrix with jitter on its diagonal."""
    return inverse_of_factored(jittered_cholesky(K))


def inverse_of_factored(L: Array) -> Array:
    """Inverse of L L^T, from the lower factor L."""
    if not len(L):
        return L
    lower = np.tril(lapack.dpotri(L, lower=1)[0])
    return np.asarray(lower + np.tril(lower, -1).T)


def projection(K: Array, kept: Indices, removed: Indices) -> Array:
    """W (r, g): the weights of r kept points nearest, in the RKHS, to those of g others."""
    W: Array = cho_solve(
        (jittered_cholesky(K[np.ix_(kept, kept)]), True), K[np.ix_(kept, removed)], overwrite_b=True
    )
    return W


def first_that_works(what: str, *attempts: Callable[[], T]) -> tuple[T, str]:
    """Return the result of the first attempt that works, and why those before it failed.

    The reason is "" if the first attempt works. If all fail, the last failure is raised.

    Examples
    --------
    >>> first_that_works("the estimate", lambda: 1.0, lambda: 2.0)
    (1.0, '')
    """
    troubles = ""
    for attempt in attempts[:-1]:
        try:
            return attempt(), troubles
        except NUMERICAL_FAILURES as error:
            troubles = trouble(what, error)
    return attempts[-1](), troubles


def trouble(what: str, error: Exception) -> str:
    """Log and count a failure, and return it in words."""
    if fallbacks_raise:
        raise error
    cause = f"{what} failed ({type(error).__name__}: {error})"
    fallbacks[what] += 1
    fallback_log.warning("%s", cause)
    return f"{cause}; the last model that works stays in use"
