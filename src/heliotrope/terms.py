"""Terms of a prior: f_t(x) = sum_c g^c_t(x), each with a space kernel and a behaviour in time.

Cov[g_s(x), g_t(x')] = k(x, x') c(s, t). The kernel k includes the variance. If it is a
number, all places share the term. A Markov term has a state of p blocks u_t, each a function of x:
g_t = h(t) . u_t and u_{t + dt} = A(dt) u_t + noise. The prior covariance of u_t is S(t) k.

Symbols
-------
p  blocks      h (p,)  observation vector      A (p, p)  transition
S (p, p)  prior covariance of the blocks, in units of k
J  harmonics   rho = sqrt(1 - epsilon), the correlation over one unit of time
"""

from dataclasses import dataclass, field, fields
from functools import cached_property
from math import factorial, inf, log1p, sqrt

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.errors import InputError, KernelError
from heliotrope.kernels import (
    ConstantKernel,
    Kernel,
    PointKernel,
    Product,
    SpaceKernel,
    Sum,
    Tabulated,
    check_kernel,
    has_white_noise,
    is_kernel,
    is_space_kernel,
    native,
)
from heliotrope.serialization.codec import register
from heliotrope.validation import (
    Array,
    Checked,
    as_number,
    as_positive,
    as_share,
    as_whole,
    checked,
    short_repr,
)

_SHORTEST, _LONGEST = 1e-6, 1e15  # time spans
_FAR = 1e4  # units of a trend: the square times the variance must not hide the noise
_MOST_HARMONICS = 100
_STEPS = {  # N, by nu
    1.5: np.array([[1.0, 1.0], [-1.0, -1.0]]),
    2.5: np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [-1.0, -3.0, -2.0]]),
}
_SPREADS = {  # S, by nu
    1.5: np.eye(2),
    2.5: np.array([[1.0, 0.0, -1.0 / 3.0], [0.0, 1.0 / 3.0, 0.0], [-1.0 / 3.0, 0.0, 1.0]]),
}

CHOICE = "choice"
"""The part of a belief that a choice depends on: the terms that differ between places.

Its variance is the one that is left if the terms that all places share are known.
"""

SHARED = "what all places share"
"""The part of a belief that no choice depends on."""

NOISE_PART = "noise"
"""The name of the noise among the shares of the variance."""

_ONE: Array = np.ones((1, 1))
_ONLY: Array = np.ones(1)


def as_space(kernel: object) -> SpaceKernel:
    """Return a term's space kernel; a positive number becomes a constant kernel."""
    if is_space_kernel(kernel):
        return kernel
    try:
        return ConstantKernel(as_positive(kernel, "a kernel"))
    except InputError:
        raise KernelError(
            "a kernel, Tabulated(K), or a positive variance that all places share",
            short_repr(kernel),
        ) from None


@dataclass(frozen=True, eq=False, repr=False)
class Term(Checked):
    """One term of a prior. Terms with the same ``name`` form one part of a belief."""

    kernel: "SpaceKernel | float"
    name: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if as_space(self.kernel) is not self.kernel:
            object.__setattr__(self, "kernel", as_positive(self.kernel, "a kernel"))
        name = type(self).__name__.lower() if self.name == "" else self.name
        if not isinstance(name, str) or name in (CHOICE, SHARED, NOISE_PART):
            raise InputError(
                f"a name, as text, other than {CHOICE!r}, {SHARED!r} and {NOISE_PART!r}",
                short_repr(self.name),
            )
        object.__setattr__(self, "name", name)

    def __repr__(self) -> str:
        own = {part.name: getattr(self, part.name) for part in fields(self) if part.init}
        if self.name == type(self).__name__.lower():
            del own["name"]
        inside = ", ".join(f"{name}={value!r}" for name, value in own.items())
        return f"{type(self).__name__}({inside})"

    @cached_property
    def space(self) -> SpaceKernel:
        """The space kernel k."""
        return as_space(self.kernel)

    @cached_property
    def shared(self) -> bool:
        """Whether all places share the term, so that no choice depends on it."""
        return not isinstance(self.space, Tabulated) and _is_constant(native(self.space))

    def in_time(self, s: Array, t: Array, start: float = -inf) -> Array:
        """c(s, t) for times that broadcast; a random walk begins at ``start``."""
        raise NotImplementedError


class MarkovTerm(Term):
    """A term with a Markov state of ``order`` = p blocks."""

    @property
    def order(self) -> int:
        return 1

    @property
    def rate(self) -> float:
        """The rate at which the state's correlation decays: about exp(-rate dt)."""
        return 0.0

    def seen(self, t: float) -> Array:
        """The observation vector h(t), (p,)."""
        return _ONLY

    def transition(self, dt: float) -> Array:
        """The transition matrix A(dt), (p, p)."""
        return _ONE

    def spread(self, t: float, start: float) -> Array:
        """The prior covariance S(t) of the blocks, (p, p), in units of k."""
        return _ONE

    def seen_after(self, t: float, dt: float) -> Array:
        """A(dt)^T h(t), (p,): the observation vector of g_t for the state at t - dt."""
        return np.asarray(self.seen(t) @ self.transition(dt))

    def gain_before(self, t: float, dt: float, start: float) -> Array:
        """A(dt)^{-1} S(t) h(t), (p,): the prior covariance of u_t and g_t, moved back to t - dt."""
        return np.asarray(
            np.linalg.solve(self.transition(dt), self.spread(t, start) @ self.seen(t)), dtype=float
        )

    def scale(self, t: float, start: float) -> float:
        """The variance factor c(t, t) = h . S h."""
        h = self.seen(t)
        return float(h @ self.spread(t, start) @ h)


def _is_constant(kernel: Kernel) -> bool:
    if isinstance(kernel, (Sum, Product)):
        return _is_constant(kernel.k1) and _is_constant(kernel.k2)
    return isinstance(kernel, ConstantKernel)


def as_duration(value: object, name: str) -> float:
    """Return a time span whose ratios to other times are numerically stable."""
    span = as_positive(value, name)
    if not _SHORTEST <= span <= _LONGEST:
        raise InputError(f"{name} from {_SHORTEST:g} to {_LONGEST:g}", repr(value), "", name)
    return span


class _Forgets(MarkovTerm):
    """A Markov term whose blocks all have the correlation rho^|dt|."""

    epsilon: float

    @cached_property
    def rho(self) -> float:
        return sqrt(1.0 - self.epsilon)

    @cached_property
    def rate(self) -> float:
        return -0.5 * log1p(-self.epsilon) if self.epsilon < 1.0 else inf

    def transition(self, dt: float) -> Array:
        return np.asarray(self.rho**dt * np.eye(self.order))

    def seen_after(self, t: float, dt: float) -> Array:
        return np.asarray(self.rho**dt * self.seen(t))

    def gain_before(self, t: float, dt: float, start: float) -> Array:
        return np.asarray(self.rho**-dt * self.seen(t))

    def scale(self, t: float, start: float) -> float:
        return 1.0

    def in_time(self, s: Array, t: Array, start: float = -inf) -> Array:
        return np.asarray(self.rho ** np.abs(s - t))


@register
@dataclass(frozen=True, eq=False, repr=False)
class Stays(MarkovTerm):
    """A static term: k(x, x').

    Examples
    --------
    >>> from heliotrope.kernels import Matern
    >>> Stays(0.5 * Matern(0.3, nu=2.5)).name
    'stays'
    """

    def in_time(self, s: Array, t: Array, start: float = -inf) -> Array:
        return np.ones(np.broadcast_shapes(np.shape(s), np.shape(t)))


@register
@dataclass(frozen=True, eq=False, repr=False)
class Drifts(_Forgets):
    """The paper's drift: k(x, x') (1 - epsilon)^(|dt| / 2).

    Examples
    --------
    >>> from heliotrope.kernels import Matern
    >>> Drifts(Matern(0.2, nu=2.5), epsilon=0.19).rho
    0.9
    """

    epsilon: float = field(metadata=checked(as_share, zero=True, one=True))


@register
@dataclass(frozen=True, eq=False, repr=False)
class Walks(MarkovTerm):
    """A random walk: k(x, x') (1 + growth (min(s, t) - t0)), where t0 is the first time."""

    growth: float = field(metadata=checked(as_positive))

    def spread(self, t: float, start: float) -> Array:
        return np.array([[1.0 + self.growth * max(t - start, 0.0)]])

    def in_time(self, s: Array, t: Array, start: float = -inf) -> Array:
        return np.asarray(1.0 + self.growth * np.maximum(np.minimum(s, t) - start, 0.0))


@register
@dataclass(frozen=True, eq=False, repr=False)
class Level(_Forgets):
    """A level that all places share: variance (1 - epsilon)^(|dt| / 2).

    Examples
    --------
    >>> Level(0.7, epsilon=0.02).shared
    True
    """

    kernel: "SpaceKernel | float" = field(init=False)
    variance: float = field(metadata=checked(as_positive))
    epsilon: float = field(default=0.0, metadata=checked(as_share, zero=True, one=True))

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", self.variance)
        super().__post_init__()


@register
@dataclass(frozen=True, eq=False, repr=False)
class Season(_Forgets):
    """A periodic term: k(x, x') (1 / J) sum_j cos(2 pi j dt / P) rho^|dt|.

    Examples
    --------
    >>> Season(0.3, period=144.0).shared
    True
    """

    period: float = field(metadata=checked(as_duration))
    harmonics: int = field(default=1, metadata=checked(as_whole, least=1))
    epsilon: float = field(default=0.0, metadata=checked(as_share, zero=True, one=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.harmonics > _MOST_HARMONICS:
            raise InputError(f"at most {_MOST_HARMONICS}", repr(self.harmonics), "", "harmonics")

    @cached_property
    def order(self) -> int:
        return 2 * self.harmonics

    def seen(self, t: float) -> Array:
        angles = self._frequencies * t
        return np.concatenate([np.cos(angles), np.sin(angles)]) / sqrt(self.harmonics)

    def spread(self, t: float, start: float) -> Array:
        return np.eye(self.order)

    def in_time(self, s: Array, t: Array, start: float = -inf) -> Array:
        waves: Array = np.cos(np.multiply.outer(s - t, self._frequencies)).mean(axis=-1)
        return super().in_time(s, t) * waves

    @cached_property
    def _frequencies(self) -> Array:
        return np.asarray(2.0 * np.pi / self.period * np.arange(1.0, self.harmonics + 1.0))


@register
@dataclass(frozen=True, eq=False, repr=False)
class Trend(MarkovTerm):
    """A linear trend: k(x, x') (s - origin) (t - origin) / unit^2."""

    origin: float = field(default=0.0, metadata=checked(as_number))
    unit: float = field(default=1.0, metadata=checked(as_duration))

    def seen(self, t: float) -> Array:
        return np.array([self._since_origin(t)])

    def in_time(self, s: Array, t: Array, start: float = -inf) -> Array:
        return np.asarray(self._since_origin(s) * self._since_origin(t))

    def _since_origin(self, t: ArrayLike) -> Array:
        units = (np.asarray(t) - self.origin) / self.unit
        farthest = float(np.abs(units).max(initial=0.0))
        if farthest > _FAR:
            raise InputError(
                f"times within {_FAR:g} units of the trend's origin",
                f"one {farthest:.3g} units away",
                "Give Trend an origin near your times, and a longer unit.",
                "t",
            )
        return units


@register
@dataclass(frozen=True, eq=False, repr=False)
class Smooth(MarkovTerm):
    """A smooth drift: k(x, x') times the Matern correlation of |dt| / length, nu 1.5 or 2.5.

    The state is (g, g' / lam, g'' / lam^2) with lam = sqrt(2 nu) / length (Hartikainen and Sarkka
    2010), so A(dt) = exp(-lam dt) sum_k (lam dt N)^k / k!, and N^p = 0.
    """

    length: float = field(metadata=checked(as_duration))
    nu: float = field(default=1.5, metadata=checked(as_positive))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in _STEPS:
            raise InputError("nu to be 1.5 or 2.5", repr(self.nu), "", "nu")

    @cached_property
    def order(self) -> int:
        return len(_STEPS[self.nu])

    @cached_property
    def rate(self) -> float:
        return sqrt(2.0 * self.nu) / self.length

    @cached_property
    def generator(self) -> Array:
        """F (p, p) of A(dt) = exp(F dt)."""
        return np.asarray(self.rate * (_STEPS[self.nu] - np.eye(self.order)))

    def seen(self, t: float) -> Array:
        return np.asarray(np.eye(self.order)[0])

    def transition(self, dt: float) -> Array:
        step = self.rate * dt * _STEPS[self.nu]
        powers = [np.linalg.matrix_power(step, k) / factorial(k) for k in range(self.order)]
        return np.asarray(np.exp(-self.rate * dt) * np.sum(powers, axis=0))

    def spread(self, t: float, start: float) -> Array:
        return _SPREADS[self.nu]

    def in_time(self, s: Array, t: Array, start: float = -inf) -> Array:
        r = self.rate * np.abs(s - t)
        series = 1.0 + r if self.nu == 1.5 else 1.0 + r + r**2 / 3.0
        return np.asarray(series * np.exp(-r))


@register
@dataclass(frozen=True, eq=False, repr=False)
class Stationary(Term):
    """A term with any stationary kernel over time, for engines dense and reference."""

    time: "PointKernel" = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_time(self.time)

    def in_time(self, s: Array, t: Array, start: float = -inf) -> Array:
        dt = np.abs(np.subtract(s, t))
        return np.asarray(self.time(np.ravel(dt)[:, None], np.zeros((1, 1)))).reshape(dt.shape)


def _check_time(time: object) -> None:
    if not is_kernel(time):
        raise KernelError(
            "time to be Static(), Forgetting(epsilon), Wiener(rate) or a kernel",
            short_repr(time),
        )
    if not time.is_stationary():
        raise KernelError("a stationary kernel over time", str(time))
    if has_white_noise(time):
        raise KernelError("a time kernel without a WhiteKernel", str(time), "Use Prior(noise=...).")
    check_kernel(time, np.geomspace(0.01, 1000.0, 40)[:, None])
