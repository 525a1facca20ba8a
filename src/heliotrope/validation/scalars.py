"""Checks of single numbers; built-in numbers need no numpy."""

from __future__ import annotations

import reprlib
import sys
from typing import Any, TypeAlias

from heliotrope.errors import InputError

Json: TypeAlias = dict[str, Any]

LARGEST = 1e100  # squares of inputs must not overflow


def short_repr(value: object) -> str:
    """Return the repr of any value in a few characters."""
    try:
        return reprlib.repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return f"a {type(value).__name__}"


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
