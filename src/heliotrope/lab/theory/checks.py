"""A check of what kind of thing came, for functions that take more than numbers."""

from __future__ import annotations

from typing import TypeVar

from heliotrope.errors import InputError

Kind = TypeVar("Kind")


def expect(value: object, kind: type[Kind]) -> Kind:
    """Return the value if it is of that kind, or complain."""
    if not isinstance(value, kind):
        raise InputError(f"a {kind.__name__}", f"a {type(value).__name__}")
    return value
