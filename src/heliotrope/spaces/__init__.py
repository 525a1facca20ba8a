"""Typed, named search spaces: suggestions as dictionaries, lists of named options.

A Gaussian process knows points, and a system knows configurations. Over a Finite domain the two
are the same; in a Box many points decode to one configuration, because integers are rounded and a
category is the largest of its coordinates. A model that is told the point it chose, and not the
one that was measured, takes one configuration for several and sees them disagree
(Garrido-Merchan and Hernandez-Lobato, Neurocomputing 380, 2020). ``SearchSpace.snap`` gives the
one canonical point of a configuration, which is also what ``SearchSpace.point`` returns; it is
the point to open an evaluation at::

    proposed = opt.propose()
    s = opt.begin(space.snap(proposed.x), proposed.t)
    opt.tell(s, measure(**space.params(s.x)))

They go one step further and let the kernel itself see snapped points alone, so that the belief is
flat wherever the configuration is the same. ``snap`` takes many points at once for that.
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
