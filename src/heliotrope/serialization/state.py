"""States of objects as arrays by name; the states of parts have a prefix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

State = dict[str, NDArray[Any]]


def under(prefix: str, state: Mapping[str, NDArray[Any]]) -> State:
    """Return a part's state with a prefix before each name.

    Examples
    --------
    >>> list(under("engine/", {"mean": np.zeros(2)}))
    ['engine/mean']
    """
    return {f"{prefix}{name}": array for name, array in state.items()}


def part(state: State, prefix: str) -> State:
    """Return the entries whose names begin with a prefix, and remove it."""
    return {name.removeprefix(prefix): a for name, a in state.items() if name.startswith(prefix)}


def copied(state: State) -> State:
    """Return a deep copy of a state."""
    return {name: np.array(array) for name, array in state.items()}
