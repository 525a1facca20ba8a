"""A list of named options as a Finite domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from heliotrope.domains import Finite
from heliotrope.errors import InputError, located
from heliotrope.spaces.checks import COORDINATES, as_index, as_list, as_object, as_text, same_keys
from heliotrope.tables import DataFrame, frame_rows
from heliotrope.validation import Array, as_number, short_repr

Features: TypeAlias = Sequence[float] | Mapping[str, float]

_OPTIONS = 10_000
_UNLESS = f", {COORDINATES:,} without features"
_FEATURES = 100


class Options:
    """Named options of which one is chosen at a time: arms, sensors, channels.

    Features are numbers in a fixed order, or by name, or a table of them. With features an option
    is the point of its features, each scaled to [0, 1] over all options. So a kernel sees which are
    alike. Options with equal features are the same point. Without features every option has a
    coordinate of its own, and all are equally far apart.

    At most 10,000 options of up to 100 features each, 2,000 without features; names have 1 to 100
    printable characters.

    Examples
    --------
    >>> options = Options(["hall", "roof"], features=[[2.0, 21.5], [9.0, 14.0]])
    >>> options.domain.points
    array([[0., 1.],
           [1., 0.]])
    >>> options.name(1)
    'roof'
    """

    def __init__(
        self, names: Sequence[str], features: Sequence[Features] | Array | DataFrame | None = None
    ) -> None:
        with located("options"):
            self._indices = _numbered(names)
            self.names = tuple(self._indices)  # in order
            self._labels: tuple[str, ...] | None = None
            self._features: Array | None = None
            if features is not None:
                self._labels, self._features = _table(features, len(self._indices))
            elif len(self._indices) > COORDINATES:
                raise InputError(
                    f"at most {COORDINATES:,} options without features",
                    f"{len(self._indices):,}",
                    "Give features that say which are alike.",
                )

    @property
    def features(self) -> Array | None:
        """The given features (options, features), read-only; None without features."""
        return self._features

    @cached_property
    def domain(self) -> Finite:
        """The domain of an optimizer: a point for each option, in order."""
        if self._features is None:
            return Finite(np.eye(len(self._indices)))
        low, width = self._features.min(axis=0), np.ptp(self._features, axis=0)
        return Finite((self._features - low) / np.where(width > 0.0, width, 1.0))

    def name(self, index: int) -> str:
        """Return the name of the option at an index."""
        return self.names[as_index(index, len(self.names))]

    def index(self, name: str) -> int:
        """Return the index of the option with a name."""
        if not isinstance(name, str) or name not in self._indices:
            raise InputError(f"one of {short_repr(list(self.names))}", short_repr(name))
        return self._indices[name]

    def to_json(self) -> list[Any]:
        """Return the JSON form, which :meth:`from_json` reads."""
        if self._features is None:
            return list(self.names)
        rows: list[Any] = self._features.tolist()
        if self._labels is not None:
            rows = [dict(zip(self._labels, row, strict=True)) for row in rows]
        return [{"name": name, "features": row} for name, row in zip(self.names, rows, strict=True)]

    @classmethod
    def from_json(cls, data: Any) -> Options:
        """Read ``["hall", "roof"]`` or ``[{"name": "hall", "features": [2.0, 21.5]}, ...]``.

        The features of an option may also be named: ``{"height": 2.0, "warmth": 21.5}``.
        """
        forms = []
        with located("options"):
            for i, entry in enumerate(as_list(data, "options", _OPTIONS, _UNLESS)):
                form = entry if isinstance(entry, Mapping) else {"name": entry}
                with located(str(i)):
                    same_keys(form, ("name",), ("features",))
                forms.append(form)
        features: list[Any] = [form.get("features") for form in forms]
        none = all(entry is None for entry in features)
        return cls([form["name"] for form in forms], None if none else features)

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Options) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        return f"Options({short_repr(list(self.names))})"


def _numbered(names: object) -> dict[str, int]:
    """Return the index of each name."""
    indices: dict[str, int] = {}
    for i, entry in enumerate(as_list(names, "options", _OPTIONS, _UNLESS)):
        with located(f"{i}.name"):
            name = as_text(entry, "an option's name")
            if name in indices:
                raise InputError("names that differ", f"{short_repr(name)} twice")
            indices[name] = i
    return indices


def _table(features: object, count: int) -> tuple[tuple[str, ...] | None, Array]:
    """Return the names of the features, or None, and their values (count, features)."""
    rows_of_table = frame_rows(features) if isinstance(features, DataFrame) else features
    entries = as_list(rows_of_table, "lists of features", _OPTIONS)
    if len(entries) != count:
        raise InputError(f"features for each of the {count:,} options", f"{len(entries):,}")
    labels: tuple[str, ...] | None = None
    rows: list[list[float]] = []
    for i, entry in enumerate(entries):
        with located(f"{i}.features"):
            if i == 0 and isinstance(entry, Mapping):
                names = as_list(list(entry), "features", _FEATURES)
                labels = tuple(as_text(name, "a feature's name") for name in names)
            rows.append(_row(entry, labels))
            if len(rows[i]) != len(rows[0]):
                raise InputError(f"{len(rows[0])} features, as before", f"{len(rows[i])}")
    table = np.array(rows)
    table.flags.writeable = False
    return labels, table


def _row(entry: object, labels: tuple[str, ...] | None) -> list[float]:
    """Return one option's features, in the order of their names."""
    if labels is None:
        values = as_list(entry, "features", _FEATURES)
        return [as_number(value, f"feature {i}") for i, value in enumerate(values)]
    named = as_object(entry, "features by name")
    same_keys(named, labels)
    return [as_number(named[label], f"feature {label!r}") for label in labels]
