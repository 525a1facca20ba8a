"""Whether high or low values are good. Policies maximize; a sign turns values for them."""

from typing import Literal, TypeAlias

from heliotrope.errors import InputError
from heliotrope.validation import short_repr

Direction: TypeAlias = Literal["maximize", "minimize"]

_SIGNS = {"maximize": 1.0, "minimize": -1.0}


def sign_of(direction: str) -> float:
    """Return the factor of values that makes the highest the best, or raise an InputError."""
    if not isinstance(direction, str) or direction not in _SIGNS:
        raise InputError("maximize or minimize", short_repr(direction), "", "direction")
    return _SIGNS[direction]
