"""A grammar of plain worlds, from which new ones are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from heliotrope.lab.plain.drifts import DRIFTS
from heliotrope.lab.plain.named import OUTSIDE, cube, options
from heliotrope.lab.plain.results import RESULTS
from heliotrope.lab.plain.shapes import SHAPES
from heliotrope.lab.plain.world import CHOOSERS, PlainWorld
from heliotrope.spaces import (
    Boolean,
    Categorical,
    Integer,
    Options,
    Parameter,
    Real,
    SearchSpace,
)

T = TypeVar("T")

_NOISES = (0.0, 0.0, 1e-9, 1e-6, 1e-3, 0.01, 0.1, 0.2, 0.3, 1.0, 3.0, 10.0)
_QUIET = (0.0, 0.0, 0.0, 1e-3, 0.1, 0.3)
_UNITS = (1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e12)
_OFFSETS = (0.0, -3.0, 50.0, 1e4, -1e9, 1e9)  # in units
_PARAMETERS: tuple[Parameter, ...] = (
    Real(0.0, 1.0),
    Real(-1e6, 1e6),
    Real(1e-9, 1e-3, log=True),
    Real(0.0, 10.0, step=0.5),
    Real(1e6, 1e6 + 1.0),
    Integer(0, 3),
    Integer(-50, 1_000),
    Integer(1, 4_096, log=True),
    Boolean(),
    Categorical(["a", "b", "c"]),
    Categorical([1, 2.5, "three", True]),
)


_SPACES: tuple[SearchSpace | Options, ...] = (cube(1), cube(1), cube(2), cube(3), options(5))


class Choose(Protocol):
    """Draws one value of a list."""

    def __call__(self, among: Sequence[T], /) -> T: ...


def draw(seed: int) -> PlainWorld:
    """A random plain world; the same seed gives the same world.

    Examples
    --------
    >>> draw(7) == draw(7)
    True
    """
    rng = np.random.default_rng([seed, 31])
    return world_by(lambda among: among[int(rng.integers(len(among)))], seed)


def world_by(choose: Choose, seed: int) -> PlainWorld:
    """A world whose parts are chosen by a function, such as one of hypothesis."""
    family = choose(list(_PARTS))
    fields: dict[str, Any] = {"space": _plain_space(choose), "noise": choose(_QUIET)}
    fields["shape"] = choose(list(SHAPES))
    fields["direction"] = choose(("maximize", "minimize"))
    fields |= _PARTS[family](choose)
    return PlainWorld(f"{family}/{seed}", family, **fields, seed=seed)


def _plain_space(choose: Choose) -> SearchSpace | Options:
    return choose(_SPACES)


def _mixed_space(choose: Choose) -> SearchSpace | Options:
    count = choose((0, 1, 2, 3, 4))
    if count == 0:
        return options(choose((1, 2, 3, 10, 30, 100)))
    return SearchSpace({f"p{i + 1}": choose(_PARAMETERS) for i in range(count)})


def _exact(choose: Choose) -> dict[str, Any]:
    return {"noise": 0.0, "space": cube(choose((1, 1, 2, 2, 3, 4, 6)))}


def _noise(choose: Choose) -> dict[str, Any]:
    return {"noise": choose(_NOISES), "results": choose(("values", "values", "heavy tails"))}


def _results(choose: Choose) -> dict[str, Any]:
    return {"results": choose(list(RESULTS))}


def _unit(choose: Choose) -> dict[str, Any]:
    unit = choose(_UNITS)
    return {"unit": unit, "offset": unit * choose(_OFFSETS)}


def _drift(choose: Choose) -> dict[str, Any]:
    return {"drift": choose(list(DRIFTS))}


def _space(choose: Choose) -> dict[str, Any]:
    return {"space": _mixed_space(choose)}


def _context(choose: Choose) -> dict[str, Any]:
    day = SearchSpace({"day": Categorical(["mon", "tue", "sun"])})
    return {"context": choose((OUTSIDE, day)), "drift": choose(("still", "slow"))}


def _limit(choose: Choose) -> dict[str, Any]:
    return {"limited": True, "drift": choose(("still", "slow"))}


def _chosen(choose: Choose) -> dict[str, Any]:
    return {"chooser": choose(CHOOSERS[1:])}


def _late(choose: Choose) -> dict[str, Any]:
    return {"workers": choose((1, 2, 4, 8)), "cancelled": choose((0.0, 0.1, 0.3))}


def _clock(choose: Choose) -> dict[str, Any]:
    return {"clock": choose(("s", "10min", "d")), "drift": choose(("still", "slow", "fast"))}


_PARTS = {
    "exact": _exact,
    "noise": _noise,
    "results": _results,
    "unit": _unit,
    "drift": _drift,
    "space": _space,
    "context": _context,
    "limit": _limit,
    "chosen by the user": _chosen,
    "late": _late,
    "clock": _clock,
}
