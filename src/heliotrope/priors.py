"""Priors: a space kernel times a time kernel, with noise and mean.

Cov[f_s(x), f_t(x')] = c(|s - t|) k(x, x'). The paper's model (eq:tv_model0, eq:tv_model) is
c(dt) = rho^dt with rho = sqrt(1 - epsilon); a static function has c = 1. Only Wiener is not
stationary: c(s, t) = 1 + rate (min(s, t) - t0).
"""

from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Kernel

from heliotrope.domains import Domain, Finite, Places, are_indices
from heliotrope.errors import InputError, KernelError
from heliotrope.kernels import DomainKernel, SpaceKernel, Tabulated, check_kernel, has_white_noise
from heliotrope.serialization.codec import register
from heliotrope.validation import (
    Array,
    Checked,
    as_array,
    as_number,
    as_positive,
    as_share,
    checked,
)

CANDIDATE_EPSILONS = tuple(np.geomspace(1e-4, 0.3, 7))
"""Candidates for an unknown epsilon."""
EXACT_MEASUREMENTS = "For exact measurements use a ten-thousandth of the function's variance."


@register
@dataclass(frozen=True)
class Static:
    """The function does not change: c(dt) = 1."""

    rho: ClassVar[float] = 1.0


@register
@dataclass(frozen=True)
class Forgetting(Checked):
    """The paper's drift: in each unit of time a share ``epsilon`` of the function is replaced.

    ``rho`` = sqrt(1 - epsilon) is the correlation over one unit of time.

    Examples
    --------
    >>> Forgetting(0.19).rho
    0.9
    """

    epsilon: float = field(metadata=checked(as_share, zero=True, one=True))

    @property
    def rho(self) -> float:
        return float(np.sqrt(1.0 - self.epsilon))


@register
@dataclass(frozen=True)
class Wiener(Checked):
    """A random walk (Brunzema et al. 2022): f_{t + dt} = f_t + N(0, rate dt k).

    The posterior mean does not revert to the prior mean, unlike under Forgetting. The variance
    grows by ``rate`` times k per unit of time. At t0, the time of the first evaluation, f has the
    space kernel's covariance; before t0 it is constant.

    Examples
    --------
    >>> Wiener(0.02).rate
    0.02
    """

    rate: float = field(metadata=checked(as_positive))
    rho: ClassVar[float] = 1.0


Markov = Static | Forgetting | Wiener  # given f_t, the future is independent of the past
TimeKernel: TypeAlias = "Markov | Kernel"


@register
@dataclass(frozen=True, eq=False)
class Prior:
    """A time-varying Gaussian process: f ~ GP(mean, space x time), measured with noise.

    Parameters
    ----------
    space
        Any scikit-learn kernel, or :class:`~heliotrope.kernels.Tabulated`.
    time
        :class:`Static`, :class:`Forgetting`, :class:`Wiener`, or any stationary scikit-learn
        kernel over time.
    noise
        Variance of the measurement noise, sigma^2.
    mean
        A number, or one number per point of a Finite domain.

    Examples
    --------
    >>> Prior(RBF(0.2), Forgetting(0.01), noise=0.01).noise
    0.01
    """

    space: SpaceKernel = field(default_factory=lambda: RBF(0.2))
    time: TimeKernel = field(default_factory=Static)
    noise: float = 0.01
    mean: float | Array = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.space, (Kernel, Tabulated)):
            raise KernelError("a scikit-learn kernel or Tabulated(K) as space", repr(self.space))
        _check_time(self.time)
        noise = as_number(self.noise, "noise")
        if noise <= 0.0:
            raise InputError("a positive noise variance", repr(self.noise), EXACT_MEASUREMENTS)
        object.__setattr__(self, "noise", noise)
        flat = isinstance(self.mean, np.ndarray) and self.mean.ndim == 0
        flat = flat or isinstance(self.mean, (int, float, np.number))
        mean = as_number(self.mean, "mean") if flat else as_array(self.mean, "mean", ndim=1)
        object.__setattr__(self, "mean", mean)

    def over(self, domain: Domain) -> DomainKernel:
        """Return the space kernel over a domain, after a check that both fit."""
        if isinstance(self.mean, np.ndarray) and not (
            isinstance(domain, Finite) and len(domain) == len(self.mean)
        ):
            raise InputError(
                "a mean vector over a Finite domain, one value per point",
                f"{len(self.mean)} values for "
                + (f"{len(domain)} points" if isinstance(domain, Finite) else "a Box"),
            )
        return DomainKernel(self.space, domain)

    def mean_at(self, places: Places) -> Array:
        """Prior mean at places."""
        if not isinstance(self.mean, np.ndarray):
            return np.full(len(places), self.mean)
        if not are_indices(places):
            raise InputError(
                "points of the domain, because the prior mean is a vector over it",
                "other points",
                "Use a prior whose mean is a number.",
            )
        mean: Array = self.mean[places]
        return mean


def correlation(time: TimeKernel, dt: Array) -> Array:
    """c(dt) of a stationary time kernel; c(0) scales the variance."""
    if isinstance(time, Wiener):
        raise InputError("a stationary time kernel here", str(time), "Use Static or Forgetting.")
    if isinstance(time, (Static, Forgetting)):
        return np.asarray(time.rho ** np.abs(dt))
    flat = np.abs(np.ravel(dt))[:, None]
    return np.asarray(time(flat, np.zeros((1, 1)))).reshape(np.shape(dt))


def covariance_in_time(time: TimeKernel, s: Array, t: Array, start: float) -> Array:
    """c(s, t) of a time kernel; ``start`` is the Wiener process's t0."""
    if not isinstance(time, Wiener):
        return correlation(time, s - t)
    return np.asarray(1.0 + time.rate * np.maximum(np.minimum(s, t) - start, 0.0))


def _check_time(time: TimeKernel) -> None:
    if isinstance(time, Markov):
        return
    if not isinstance(time, Kernel):
        raise KernelError(
            "Static(), Forgetting(epsilon), Wiener(rate) or a scikit-learn kernel as time",
            repr(time),
        )
    if not time.is_stationary():
        raise KernelError("a stationary kernel over time", str(time))
    if has_white_noise(time):
        raise KernelError("a time kernel without a WhiteKernel", str(time), "Use Prior(noise=...).")
    check_kernel(time, np.geomspace(0.01, 1000.0, 40)[:, None])
