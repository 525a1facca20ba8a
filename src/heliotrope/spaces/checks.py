"""Checks of the description of a space: names, numbers, lists and JSON objects."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from heliotrope.errors import InputError
from heliotrope.validation import as_number, as_python, short_repr

NAME = 100  # characters
INTEGER = 1e12  # beyond it, neighbours on a logarithmic scale are close to rounding errors
COORDINATES = 2_000  # of a point; a categorical of 1,000 choices has 1,000


def is_text(value: object, longest: int = NAME) -> bool:
    """Whether this is a printable text of 1 to ``longest`` characters."""
    return isinstance(value, str) and 0 < len(value) <= longest and value.isprintable()


def as_text(value: object, name: str, longest: int = NAME) -> str:
    """Return a printable text of 1 to ``longest`` characters, or raise an InputError."""
    text = as_python(value)
    if type(text) is not str or not is_text(text, longest):
        raise InputError(f"{name} to be 1 to {longest:,} printable characters", short_repr(value))
    return text


def as_integer(value: object, name: str) -> int:
    """Return a whole number from -1e12 to 1e12."""
    number = as_number(value, name)
    if number != int(number) or abs(number) > INTEGER:
        expected = f"{name} to be a whole number of a size up to {INTEGER:g}"
        raise InputError(expected, short_repr(value))
    return int(number)


def as_index(value: object, count: int) -> int:
    """Return an index below ``count``."""
    index = as_python(value)
    if type(index) is not int or not 0 <= index < count:
        raise InputError(f"an index from 0 to {count - 1}", short_repr(value))
    return index


def as_boolean(value: object, name: str) -> bool:
    """Return True or False; 0 and 1 are refused."""
    truth = as_python(value)
    if not isinstance(truth, bool):
        raise InputError(f"{name} to be true or false", short_repr(value))
    return truth


def as_list(value: object, name: str, most: int, unless: str = "") -> Sequence[Any]:
    """Return a list of 1 to ``most`` items; ``unless`` ends the message with an exception."""
    items = value.to_list() if hasattr(value, "to_list") else value  # a column of a table
    items = items.tolist() if isinstance(items, np.ndarray) else items
    if not isinstance(items, Sequence) or isinstance(items, (str, bytes, bytearray)):
        raise InputError(f"{name} as a list", short_repr(value))
    if not 1 <= len(items) <= most:
        raise InputError(f"1 to {most:,} {name}{unless}", f"{len(items):,}")
    return items


def as_object(value: object, name: str) -> Mapping[Any, Any]:
    """Return a mapping, such as a JSON object."""
    if not isinstance(value, Mapping):
        raise InputError(f"{name} as a mapping", short_repr(value))
    return value


def same_keys(
    fields: Mapping[Any, Any], needed: Sequence[str], optional: Sequence[str] = ()
) -> None:
    """Raise an InputError for a missing or an unknown key."""
    for key in needed:
        if key not in fields:
            raise InputError(f"a value of {key!r}", "none", field=key)
    for key in fields:
        if key not in needed and key not in optional:
            raise InputError(
                f"no keys but {short_repr([*needed, *optional])}",
                short_repr(key),
                field=key if is_text(key) else "",
            )
