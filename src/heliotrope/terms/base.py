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
from math import inf

import numpy as np

from heliotrope.errors import InputError, KernelError
from heliotrope.kernels import (
    ConstantKernel,
    Kernel,
    Product,
    SpaceKernel,
    Sum,
    Tabulated,
    is_space_kernel,
    native,
)
from heliotrope.validation import (
    Array,
    Checked,
    as_positive,
    short_repr,
)

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
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.init}
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
