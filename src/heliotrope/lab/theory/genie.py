"""The genie of Theorem thm:conv, and the theorem's constant as a number.

With probability P(A) the regret of a step is at least epsilon |grad g|^2 / (4 L d) (eq:LB_end1),
where A says that second derivatives of f_{t-1} and g_t are at most L (A_1, A_2), that the step
along the gradient of g_t is at most eta (A_3), and that the maximizer of f_{t-1} lies eta inside
(A_4).

Symbols
-------
v  (d,) variances of the derivatives of g        q  bound of P(not A_1), and of P(not A_2)
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.errors import InputError
from heliotrope.kernels import SpaceKernel
from heliotrope.lab.environments import FiniteEpisode, Step
from heliotrope.lab.theory.bounds import Assumptions
from heliotrope.lab.theory.constants import gradient_variances
from heliotrope.lab.theory.information import expect
from heliotrope.validation import Array, as_vector, as_whole

_LEVELS = np.geomspace(0.5, 20.0, 100)  # candidates of L, in units of b_2


def run_genie(episode: FiniteEpisode, seed: int = 0) -> Iterator[Step]:
    """Run the genie of Theorem thm:conv, which sees f_{t-1} without noise before it chooses x_t.

    It is not a policy: it reads the episode's true values. Given f_{t-1}, earlier values are
    uninformative, and f_t(x) has mean sqrt(1 - epsilon) f_{t-1}(x) under a constant prior mean. So
    the maximizer of f_{t-1} is the best choice, and its regret, of order epsilon per step, is a
    lower bound for every policy in expectation. At t = 1 the genie draws a random point.
    """
    rng = np.random.default_rng(as_whole(seed, "seed", least=0))
    index = int(rng.integers(len(expect(episode, FiniteEpisode).domain)))
    for t, values in zip(episode.times.tolist(), episode.values, strict=True):
        yield episode.step(t, index)
        index = int(values.argmax())


def genie_bound(assumptions: Assumptions, kernel: SpaceKernel, distances: ArrayLike) -> float:
    """Lower bound of the expected regret per step of every policy: thm:conv with its constant.

    ``distances`` (n,) are those of the maximizer of independent draws of f from the boundary of
    [0, r]^d; they give P(A_4), less sqrt(log(1 / delta) / (2 n)). The rest is computed:

        E r_t >= epsilon / (4 L d) (P(A_4) - q) (E |grad g|^2 - sqrt(E |grad g|^4 P(not A_2, A_3)))

    at the L and eta that maximize it. The bound is 0 if ``a2`` and ``b2`` are unknown.
    """
    constants, d = expect(assumptions, Assumptions).constants, assumptions.dimension
    inside = np.sort(as_vector(distances, "distances"))
    if inside.min(initial=0.0) < 0.0:
        raise InputError("distances of at least 0", f"{inside.min():g}")
    if constants.a2 is None or constants.b2 is None or not len(inside):
        return 0.0
    v = gradient_variances(kernel, d)
    chance = np.arange(len(inside), 0.0, -1.0) / len(inside)  # P(A_4) for eta = each distance
    chance -= np.sqrt(np.log(1.0 / assumptions.delta) / (2.0 * len(inside)))
    L = (constants.b2 * _LEVELS)[:, None]
    log_q = np.log(0.5 * d * (d + 1) * constants.a2) - (L / constants.b2) ** 2
    q = np.exp(np.minimum(log_q, 0.0))
    slope = expected_square(v, q + _steep(assumptions, v, L, inside))
    return float(np.max(assumptions.epsilon / (4.0 * L * d) * np.maximum(chance - q, 0.0) * slope))


def expected_square(v: Array, missing: Array) -> Array:
    """Lower bound of E |grad g|^2 on an event that is missed with this probability."""
    square, fourth = v.sum(), v.sum() ** 2 + 2.0 * (v**2).sum()
    return np.asarray(np.maximum(square - np.sqrt(fourth * np.minimum(missing, 1.0)), 0.0))


def _steep(assumptions: Assumptions, v: Array, L: Array, eta: Array) -> Array:
    """Bound P(not A_3) for levels L (n, 1) and distances eta (m,)."""
    if assumptions.epsilon == 0.0:
        return np.zeros((len(L), len(eta)))
    limits = 2.0 * L * np.sqrt(assumptions.dimension) * eta / np.sqrt(assumptions.epsilon)
    return np.asarray(sum(np.exp(-0.5 * limits**2 / one) for one in v))
