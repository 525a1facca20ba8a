"""Array types, and the checks of all user input.

The names for arrays are imported on first use: a client checks single numbers and needs no numpy.
"""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from heliotrope.errors import InputError
from heliotrope.lazy import lazy_names

if TYPE_CHECKING:
    from heliotrope.validation.arrays import (
        Array as Array,
        Indices as Indices,
        as_array as as_array,
        as_column as as_column,
        as_indices as as_indices,
        as_points as as_points,
        as_table as as_table,
        as_vector as as_vector,
    )
else:  # otherwise a misspelled name would pass a type check
    _CHECKS = ("as_array", "as_column", "as_indices", "as_points", "as_table", "as_vector")
    __getattr__ = lazy_names(__name__, {"arrays": ("Array", "Indices", *_CHECKS)})

Json: TypeAlias = dict[str, Any]

LARGEST = 1e100  # squares of inputs must not overflow


def short_repr(value: object) -> str:
    """Return the repr of any value in a few characters."""
    try:
        return reprlib.repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return f"a {type(value).__name__}"


def counted(count: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is 1.

    Examples
    --------
    >>> counted(1, "result"), counted(2000, "result")
    ('1 result', '2,000 results')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def as_python(value: object) -> object:
    """Return a numpy scalar as the Python value; anything else unchanged."""
    numpy = sys.modules.get("numpy")  # not loaded: not a numpy scalar
    return value.item() if numpy is not None and isinstance(value, numpy.generic) else value


def as_number(value: object, name: str, advice: str = "") -> float:
    """Return a finite real number, or raise an InputError."""
    if (isinstance(value, float) or type(value) is int) and -LARGEST <= value <= LARGEST:
        return float(value)
    from heliotrope.validation.arrays import real_number

    return real_number(value, name, advice)


def as_positive(value: object, name: str) -> float:
    """Return a finite number above zero."""
    number = as_number(value, name)
    if number <= 0.0:
        raise InputError(f"{name} to be above zero", repr(value))
    return number


def as_whole(value: object, name: str, least: int) -> int:
    """Return a whole number of at least ``least``."""
    number = as_number(value, name)
    if number != int(number) or number < least:
        raise InputError(f"{name} to be a whole number of at least {least}", repr(value))
    return value.__index__() if hasattr(value, "__index__") else int(number)  # exact beyond 2**53


def as_share(value: object, name: str, *, zero: bool = False, one: bool = False) -> float:
    """Return a number between 0 and 1; ``zero`` and ``one`` allow the ends."""
    number = as_number(value, name)
    if not (0.0 < number < 1.0 or (zero and number == 0.0) or (one and number == 1.0)):
        least, most = "at least" if zero else "above", "at most" if one else "below"
        raise InputError(f"{name} {least} 0 and {most} 1", repr(value))
    return number


def checked(check: Callable[..., object], **options: object) -> Mapping[str, Any]:
    """Metadata of a field of a :class:`Checked` dataclass, with options of its check."""
    return {"check": partial(check, **options)}


class Checked:
    """A frozen dataclass that replaces values by what their fields' checks return.

    A field whose default is None accepts None unchecked.
    """

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            check, value = field.metadata.get("check"), getattr(self, field.name)
            if check is not None and (value is not None or field.default is not None):
                object.__setattr__(self, field.name, check(value, field.name))
