"""Typed, named search spaces: suggestions as dictionaries, and lists of named options.

In a Box many points decode to the same configuration, because integers are rounded and a category
is the largest of its coordinates. A model that learns at the suggested point instead of the
measured one sees one configuration as several points with different values (Garrido-Merchan and
Hernandez-Lobato, Neurocomputing 380, 2020). ``SearchSpace.snap`` returns the canonical point of a
configuration, as ``SearchSpace.point`` does. An Optimizer over a SearchSpace measures there.
``snap`` also accepts many points at once, for a kernel that sees snapped points alone.
"""

from heliotrope.spaces.options import Options as Options
from heliotrope.spaces.parameters import (
    Boolean as Boolean,
    Categorical as Categorical,
    Integer as Integer,
    Parameter as Parameter,
    Real as Real,
    Value as Value,
)
from heliotrope.spaces.space import (
    SearchSpace as SearchSpace,
    SpaceLike as SpaceLike,
    as_space as as_space,
    is_space_like as is_space_like,
)
