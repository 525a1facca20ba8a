"""Parameters of other projects: how their values become those of a search space, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import heliotrope as ht
from heliotrope.errors import InputError
from heliotrope.spaces import Parameter
from heliotrope.validation import short_repr


class ForeignParameter(Protocol):
    """A parameter of another project. ``enter`` converts its values, ``leave`` converts back."""

    @property
    def parameter(self) -> Parameter:
        """The parameter of the search space."""

    def enter(self, value: Any) -> Any:
        """Convert a value to one of the search space."""

    def leave(self, value: Any) -> Any:
        """Convert a value of the search space back."""


@dataclass(frozen=True)
class Same:
    """A parameter whose values are those of the search space."""

    parameter: Parameter

    def enter(self, value: Any) -> Any:
        return value

    def leave(self, value: Any) -> Any:
        return value


@dataclass(frozen=True)
class Listed:
    """Any values in a list; if they are ordered, neighbours are alike.

    Examples
    --------
    >>> Listed([None, "relu"]).enter("relu")
    1
    """

    values: Sequence[Any]
    ordered: bool = False

    @property
    def parameter(self) -> Parameter:
        count = len(self.values)
        return ht.Integer(0, count - 1) if self.ordered else ht.Categorical(range(count))

    def enter(self, value: Any) -> int:
        for position, one in enumerate(self.values):
            if one is value or (one == value and isinstance(one, bool) == isinstance(value, bool)):
                return position
        raise InputError(f"one of {short_repr(list(self.values))}", short_repr(value))

    def leave(self, value: Any) -> Any:
        return self.values[value]
