"""Array types, and the checks of all user input.

The names for arrays are imported on first use, because a client needs no numpy.
"""

from typing import TYPE_CHECKING

from heliotrope.lazy import lazy_names
from heliotrope.validation.scalars import (
    LARGEST as LARGEST,
    Checked as Checked,
    Json as Json,
    as_number as as_number,
    as_positive as as_positive,
    as_python as as_python,
    as_share as as_share,
    as_whole as as_whole,
    checked as checked,
    short_repr as short_repr,
)

if TYPE_CHECKING:
    from heliotrope.validation.arrays import (
        Array as Array,
        Indices as Indices,
        as_array as as_array,
        as_indices as as_indices,
        as_points as as_points,
        as_table as as_table,
        as_vector as as_vector,
    )
else:  # otherwise a misspelled name would pass a type check
    _ARRAYS = ("Array", "Indices", "as_array", "as_indices", "as_points", "as_table", "as_vector")
    __getattr__ = lazy_names(__name__, {"arrays": _ARRAYS})
