"""The frame in which an agent works: the sign, scale and unit of its values, places and times.

Symbols
-------
y, x, t   a value, a point and a time as the user gives them
z, u, n   the same in the frame: z = w(s y), u in the unit cube, n = told + (t - latest) / pace
s, w      sign and warp of the values
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from heliotrope.domains import Choices, Places, UnitCube
from heliotrope.estimation import Model
from heliotrope.policies.protocol import Policy, Signed
from heliotrope.precision import Precision
from heliotrope.validation import Array
from heliotrope.warps import IDENTITY, Moments, Warp


@dataclass(frozen=True)
class Frame:
    """Turns values, places and times into those of an agent, and its answers back.

    Without a ``cube``, places are the user's own. Time is in units of the ``pace``. With
    ``counts`` it is the number of results: ``told`` of them at the time ``latest``.

    Examples
    --------
    >>> frame = Frame(sign=-1.0, latest=10.0, told=4.0, pace=2.0)
    >>> frame.time(14.0), frame.value(3.0)
    (6.0, -3.0)
    >>> frame.moments(np.array([-3.0]), np.array([0.5]))
    (array([3.]), array([0.5]))
    """

    sign: float = 1.0
    cube: UnitCube | None = None
    counts: bool = False
    latest: float = 0.0
    told: float = 0.0
    pace: float = 1.0
    warp: Warp = IDENTITY

    def learned(self, model: Model, latest: float, told: float) -> Frame:
        """The frame for a model, after ``told`` results of which the latest was at ``latest``."""
        own = replace(self, warp=model.world.warp, pace=model.pace)
        return replace(own, latest=latest, told=told) if self.counts else own

    @property
    def is_linear(self) -> bool:
        """Whether a value is Gaussian if z is."""
        return self.warp == IDENTITY

    # ---- into the frame

    def policy(self, policy: Policy) -> Policy:
        """The policy for signed values; its parameters keep their meaning for the user's values."""
        if self.sign < 0.0 and isinstance(policy, Signed):
            negated: Policy = policy.negated()
            return negated
        return policy

    def time(self, t: float) -> float:
        """The time in the frame."""
        return self.told + (t - self.latest) / self.pace

    def places(self, places: Places) -> Places:
        return places if self.cube is None else self.cube.enter(places)

    def choices(self, choices: Choices) -> Choices:
        return choices if self.cube is None else self.cube.choices(choices)

    def value(self, y: float) -> float:
        return float(self.warp.inside(self.sign * y))

    def precision(self, y: float, precision: Precision) -> Precision:
        """The precision of a result y; its own variance follows the slope of the warp."""
        if precision.variance is None or self.is_linear:
            return precision
        slope = float(self.warp.slope(self.sign * y))
        return Precision(precision.variance * slope**2, precision.repeats)

    # ---- and back

    def place(self, place: Places, choices: Choices) -> Places:
        """The place among choices of the user's domain, given one of the frame."""
        return place if self.cube is None else self.cube.leave(place, choices)

    def values(self, z: Array) -> Array:
        """Values, such as draws; scores of the frame become values in the order of the frame."""
        return self.sign * self.warp.outside(z)

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of values, if z is Gaussian with this mean and variance."""
        center, spread = self.warp.moments(mean, variance)
        return self.sign * center, spread

    def covariance(self, joint: Array, here: Moments, there: Moments | None = None) -> Array:
        """Covariance of values at places with others, if that of z is ``joint``.

        ``here`` and ``there`` are means and variances of z; by default both are the same.
        """
        if there is None:
            return self.warp.covariance(here[0], joint)
        return self.warp.cross_covariance(here, there, joint)

    def noise(self, mean: float, noise: float) -> float:
        """The noise variance of values, at a mean of z and with a noise variance of z."""
        return float(self.warp.moments(np.array([mean]), np.array([noise]))[1][0])
