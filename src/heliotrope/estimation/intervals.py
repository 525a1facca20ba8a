"""Profile-likelihood intervals of functions of the fitted parameters.

The profile likelihood of a quantity at a value is the maximum likelihood over all parameters that
give the quantity this value. The 95 % interval ends where twice its logarithm is 1.96^2 below the
maximum. Newton steps with the Hessian at the maximum find a point of the profile. Each step keeps
the quantity constant to first order, and a shift along B s then makes it exact.

Symbols
-------
u  (p,) coordinates of the fit         g   the quantity, with the slope s (p,)
B  (p, p) the inverse of minus the Hessian of the log likelihood, the covariance of u
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from heliotrope.validation import Array

_FALL = 1.959963984540054  # root of twice the fall at the ends: chi-square, one degree, 95 %
_CLOSE = 0.05  # tolerance of this root
_POINTS, _STEPS = 12, 8  # points of the profile on each side; Newton steps for each
_HIGHER = 0.2  # log likelihood above the maximum that is not rounding
_GAIN = 0.03  # log likelihood that is worth a further step
_HOPELESS = 50.0  # fall of the log likelihood, less the expected gain, from which no step returns
_LONGEST = 1.5  # step of a coordinate
_DIFFERENCE = 1e-3
_LEAST_CURVATURE = 0.01  # of flat directions

Differentiable = Callable[[Array], tuple[float, Array]]


class Estimate(NamedTuple):
    """A fitted value, with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


class NoMaximumError(Exception):
    """The likelihood is higher at ``u`` than at the supposed maximum."""

    def __init__(self, u: Array) -> None:
        super().__init__()
        self.u = u


class Profile:
    """The profile of a log likelihood around ``base`` (p,), where it is about at its maximum.

    ``bounds`` is (p, 2), ``top`` the value of the maximum. A point of a profile that is clearly
    higher raises NoMaximumError.
    """

    def __init__(self, objective: Differentiable, base: Array, bounds: Array, top: float) -> None:
        self._objective, self._base, self._bounds, self._top = objective, base, bounds, top
        here = objective(base)[1]
        ahead = [objective(base + step)[1] for step in _DIFFERENCE * np.eye(len(base))]
        H = (here - np.array(ahead)) / _DIFFERENCE
        curvatures, axes = np.linalg.eigh(0.5 * (H + H.T))
        self._B = (axes / np.maximum(curvatures, _LEAST_CURVATURE)) @ axes.T

    def estimate(
        self, quantity: Differentiable, limits: Sequence[float], other: Array | None = None
    ) -> Estimate:
        """A quantity at the base, and its interval within limits.

        The likelihood may have another ridge; the search runs from a point ``other`` on it too, and
        the interval is the wider one.
        """
        value, s = quantity(self._base)
        error = float(np.sqrt(s @ self._B @ s))
        if error == 0.0:
            return Estimate(value, value, value)
        starts = [self._base] if other is None else [self._base, other]
        ends = [self._end(quantity, value, error, *pair) for pair in product(limits, starts)]
        return Estimate(value, min(ends), max(ends))

    def _end(
        self, quantity: Differentiable, value: float, error: float, limit: float, start: Array
    ) -> float:
        """Where the fall reaches 1.96 on the way from the value to a limit; else the limit."""
        sign, most = np.sign(limit - value), abs(limit - value)
        inside, near, outside, far = 0.0, 0.0, most, np.inf  # distances from the value, and falls
        u, tried = start, min(_FALL * error, most)
        for _ in range(_POINTS):
            point, fall = self._point(quantity, value + sign * tried, u)
            if abs(fall - _FALL) < _CLOSE or (fall < _FALL and tried == most):
                break
            if fall < _FALL:
                inside, near, u = tried, fall, point
            else:
                outside, far = tried, fall
            tried = min(_next(inside, near, outside, far), most)
        return float(value + sign * tried)

    def _point(self, quantity: Differentiable, value: float, start: Array) -> tuple[Array, float]:
        """The most likely u at which the quantity has a value, and the root of twice the fall."""
        u = self._shifted(quantity, value, start)
        top, slopes = self._objective(u)
        length = 1.0
        for _ in range(_STEPS):
            s, newton = quantity(u)[1], self._B @ slopes
            newton -= self._B @ s * (s @ newton) / (s @ self._B @ s)
            gain = 0.5 * length * slopes @ newton
            if gain < _GAIN or self._top - top - gain > _HOPELESS:
                break
            step = np.clip(length * newton, -_LONGEST, _LONGEST)
            tried = self._shifted(quantity, value, u + step)
            better, ahead = self._objective(tried)
            if better > top:
                u, top, slopes = tried, better, ahead
            else:
                length *= 0.25
        if top > self._top + _HIGHER:
            raise NoMaximumError(u)
        return u, float(np.sqrt(2.0 * max(self._top - top, 0.0)))

    def _shifted(self, quantity: Differentiable, value: float, u: Array) -> Array:
        """Move u within the bounds until the quantity has a value."""
        for _ in range(_POINTS):
            here, s = quantity(u)
            along = self._B @ s
            u = np.clip(u + along * (value - here) / (s @ along), *self._bounds.T)
        return u


def _next(inside: float, near: float, outside: float, far: float) -> float:
    """The next distance to try, between one with a smaller and one with a larger fall."""
    if np.isinf(far):
        return inside * float(np.clip(_FALL / max(near, 1e-6), 1.2, 4.0))
    share = (_FALL - near) / (far - near)
    return inside + (outside - inside) * float(np.clip(share, 0.1, 0.9))
