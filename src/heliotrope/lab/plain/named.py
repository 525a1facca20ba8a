"""Plain worlds by name: the ordinary cases, one or two of each kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

from heliotrope.lab.plain.world import PlainWorld
from heliotrope.spaces import Boolean, Categorical, Integer, Options, Real, SearchSpace

LINE = SearchSpace({"x": Real(0.0, 1.0)})
SERVER = SearchSpace(
    {
        "workers": Integer(1, 64, log=True),
        "timeout": Real(1e-3, 10.0, log=True),
        "compress": Boolean(),
        "codec": Categorical(["raw", "zip", "zstd"]),
    }
)
OUTSIDE = SearchSpace({"outside": Real(-10.0, 40.0)})


def cube(dimension: int) -> SearchSpace:
    """Real parameters x1, x2, ... from 0 to 1."""
    return SearchSpace({f"x{i + 1}": Real(0.0, 1.0) for i in range(dimension)})


def options(count: int) -> Options:
    """Options without features."""
    return Options([f"option {i + 1}" for i in range(count)])


def _alike(count: int) -> Options:
    return Options([f"place {i + 1}" for i in range(count)], [[i, i % 5] for i in range(count)])


_FAMILIES: dict[str, dict[str, dict[str, Any]]] = {
    "exact": {
        "bowl": {},
        "kink": {"shape": "kink"},
        "plane": {"shape": "plane"},
        "step": {"shape": "step"},
        "plateau": {"shape": "plateau"},
        "floor": {"shape": "floor"},
        "ties": {"shape": "ties"},
        "constant": {"shape": "constant"},
        "waves": {"shape": "waves"},
        "steep": {"shape": "steep"},
        "bowl of 2": {"space": cube(2), "direction": "minimize"},
        "valley of 2": {"shape": "valley", "space": cube(2)},
        "bowl of 3": {"space": cube(3)},
        "kink of 4": {"shape": "kink", "space": cube(4)},
        "bowl of 6": {"space": cube(6), "direction": "minimize"},
    },
    "noise": {
        "1e-9": {"noise": 1e-9},
        "1e-6": {"noise": 1e-6, "shape": "kink"},
        "1e-3": {"noise": 1e-3, "space": cube(2)},
        "0.01": {"noise": 0.01, "shape": "waves"},
        "0.1": {"noise": 0.1, "direction": "minimize"},
        "0.3": {"noise": 0.3, "space": cube(2)},
        "1": {"noise": 1.0},
        "3": {"noise": 3.0, "shape": "plateau"},
        "10": {"noise": 10.0},
        "only": {"noise": 1.0, "shape": "constant"},
        "heavy tails": {"noise": 0.1, "results": "heavy tails"},
    },
    "results": {
        "counts": {"results": "counts"},
        "count and exposure": {"results": "count and exposure", "space": options(8)},
        "zeros and ones": {"results": "zeros and ones"},
        "proportions": {"results": "proportions", "space": cube(2)},
        "successes and trials": {"results": "successes and trials", "space": options(5)},
        "with std": {"results": "with std", "noise": 0.2},
        "exact with std": {"results": "with std"},
        "with n": {"results": "with n", "noise": 0.3},
    },
    "unit": {
        "1e-12": {"unit": 1e-12, "noise": 0.1},
        "1e12": {"unit": 1e12, "space": cube(2)},
        "offset 1e9": {"offset": 1e9, "noise": 0.1},
        "exact offset 1e9": {"offset": -1e9},
        "offset in a tiny unit": {"unit": 1e-12, "offset": 1e-9, "direction": "minimize"},
    },
    "drift": {
        "slow": {"drift": "slow", "noise": 0.1},
        "slow and exact": {"drift": "slow"},
        "fast": {"drift": "fast", "noise": 0.1},
        "trend": {"drift": "trend", "noise": 0.1},
        "daily level": {"drift": "daily level", "noise": 0.1},
        "season": {"drift": "season", "noise": 0.1, "space": cube(2)},
        "swap": {"drift": "swap", "space": options(4), "noise": 0.2},
        "jump": {"drift": "jump", "noise": 0.1},
        "comeback": {"drift": "comeback", "space": options(3), "noise": 0.2},
        "comeback on a line": {"drift": "comeback", "noise": 0.1},
    },
    "space": {
        "log": {"space": SearchSpace({"rate": Real(1e-6, 1.0, log=True)})},
        "integers": {"space": SearchSpace({"n": Integer(1, 32)})},
        "steps": {"space": SearchSpace({"x": Real(-5.0, 5.0, step=0.5)}), "noise": 0.1},
        "category": {"space": SearchSpace({"mode": Categorical(["a", "b", "c", "d"])})},
        "boolean": {"space": SearchSpace({"on": Boolean()}), "noise": 0.1},
        "server": {"space": SERVER, "noise": 0.1, "direction": "minimize"},
        "far bounds": {"space": SearchSpace({"x": Real(1e9, 1e9 + 1e3)})},
        "one option": {"space": options(1), "noise": 0.1},
        "two options": {"space": options(2), "noise": 1.0},
        "100 options": {"space": options(100), "noise": 0.1},
        "places": {"space": _alike(30), "shape": "bowl", "noise": 0.1},
    },
    "context": {
        "weather": {"context": OUTSIDE, "noise": 0.1},
        "exact weather": {"context": OUTSIDE},
        "options on days": {
            "space": options(5),
            "context": SearchSpace({"day": Categorical(["mon", "tue", "sun"])}),
            "noise": 0.1,
        },
    },
    "limit": {
        "exact": {"limited": True, "space": cube(2)},
        "noise": {"limited": True, "noise": 0.1, "direction": "minimize"},
        "options": {"limited": True, "space": options(6), "noise": 0.1},
    },
    "chosen by the user": {
        "repeated": {"chooser": "repeated"},
        "clustered": {"chooser": "clustered", "space": cube(2)},
        "anywhere": {"chooser": "anywhere", "noise": 0.1},
        "repeated noise": {"chooser": "repeated", "noise": 0.3, "shape": "step"},
    },
    "late": {
        "four workers": {"workers": 4},
        "eight workers": {"workers": 8, "noise": 0.1, "space": cube(3)},
        "cancelled": {"cancelled": 0.2},
        "cancelled options": {"cancelled": 0.3, "workers": 3, "space": options(10), "noise": 0.1},
    },
    "clock": {
        "minutes": {"clock": "10min", "noise": 0.1},
        "exact days": {"clock": "d", "drift": "slow", "space": cube(2)},
    },
}


def _named(family: str, name: str, fields: dict[str, Any]) -> PlainWorld:
    full = f"{family}/{name}"
    return PlainWorld(full, family, **{"space": LINE, **fields}, seed=crc32(full.encode()))


PLAIN_WORLDS: Mapping[str, PlainWorld] = {
    world.name: world
    for family, worlds in _FAMILIES.items()
    for world in (_named(family, name, fields) for name, fields in worlds.items())
}
"""Every plain world by its name."""
