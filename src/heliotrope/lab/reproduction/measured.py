"""Shared parts of the figures on measured data: reading tables and running policies."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from heliotrope.errors import InputError
from heliotrope.lab.environments import Table, play
from heliotrope.policies import Policy
from heliotrope.validation import Array

if TYPE_CHECKING:
    import pandas as pd

PolicyFactories = Mapping[str, Callable[[int], Policy]]
"""Functions by policy name that make the policy with a given first place."""


def read_table(folder: Path | None, name: str) -> pd.DataFrame:
    """Read one of the measured tables from the folder given, or from $HELIOTROPE_DATA."""
    import pandas as pd

    path = _folder(folder) / name
    if not path.is_file():
        raise InputError(f"{name} in the data folder", f"no such file in {path.parent}", _ADVICE)
    return pd.read_csv(path)


_ADVICE = "Set the folder of the measured tables with --data or $HELIOTROPE_DATA."


def _folder(given: Path | None) -> Path:
    named = given or os.environ.get("HELIOTROPE_DATA")
    if named is None:
        raise InputError("a folder of measured tables", "none", _ADVICE)
    return Path(named)


def replays(
    factories: PolicyFactories, table: Table, horizon: int, first: int, seed: int
) -> dict[str, Array]:
    """Regrets and chosen places, (policies, T) each, on a table; all start at the same place."""
    episode = table.episode(horizon)
    played = [list(play(make(first), episode, seed)) for make in factories.values()]
    return {
        "regret": np.array([[step.regret for step in steps] for steps in played]),
        "index": np.array([[float(step.index or 0) for step in steps] for steps in played]),
    }


def first_place(places: int, seed: int, number: int) -> int:
    """The first place of a trial; no two trials share one."""
    return int(np.random.default_rng(seed).permutation(places)[number])
