"""Typed, named search spaces: suggestions as dictionaries, and lists of named options.

A Gaussian process has points, a system has configurations. In a Finite domain each point is one
configuration. In a Box many points decode to the same configuration, because integers are rounded
and a category is the largest of its coordinates. A model that learns at the suggested point instead
of the measured one takes one configuration for several, whose values disagree (Garrido-Merchan and
Hernandez-Lobato, Neurocomputing 380, 2020). ``SearchSpace.snap`` returns the canonical point of a
configuration, as ``SearchSpace.point`` does. Open evaluations there::

    proposed = opt.propose()
    s = opt.begin(space.snap(proposed.x), proposed.t)
    opt.tell(s, measure(**space.params(s.x)))

Those authors also apply the kernel to snapped points, so that the belief is constant wherever the
configuration is. ``snap`` accepts many points at once for that purpose.
"""

from heliotrope.spaces.choices import Boolean, Categorical
from heliotrope.spaces.discrete import Value
from heliotrope.spaces.forms import Parameter
from heliotrope.spaces.options import Options
from heliotrope.spaces.ranges import Integer, Real
from heliotrope.spaces.space import SearchSpace

__all__ = [
    "Boolean",
    "Categorical",
    "Integer",
    "Options",
    "Parameter",
    "Real",
    "SearchSpace",
    "Value",
]
