"""What an object knows, as arrays by name; the states of its parts under a prefix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

State = dict[str, NDArray[Any]]


def under(prefix: str, state: Mapping[str, NDArray[Any]]) -> State:
    """The entries of a part's state, as they are named in the whole's.

    Examples
    --------
    >>> list(under("engine/", {"mean": np.zeros(2)}))
    ['engine/mean']
    """
    return {f"{prefix}{name}": array for name, array in state.items()}


def part(state: State, prefix: str) -> State:
    """The entries of a state whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): a for name, a in state.items() if name.startswith(prefix)}


def copied(state: State) -> State:
    """The same in arrays of its own, which nobody holds on to."""
    return {name: np.array(array) for name, array in state.items()}
