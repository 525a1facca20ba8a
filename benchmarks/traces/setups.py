"""The setups of the traces: 30 rows of data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from benchmarks.traces.worlds import Cube, Grid, Named, Names, Range, Space, Words

Form: TypeAlias = Literal["value", "std", "n", "trials", "count"]


@dataclass(frozen=True)
class Setup:
    """What is asked, and how its results are told.

    Attributes
    ----------
    policy
        Of an optimizer: the name of its factory and the arguments. An argument ``prior`` has the
        length scale, epsilon and noise. Of a study: its policy as JSON.
    context
        The space of the contexts.
    clock
        The unit of a study's wall clock, or "t" for an optimizer that is given uneven times.
    workers
        Evaluations that are open at once; results come in another order than the asks.
    cancelled
        Share of the evaluations that fail.
    own
        Each time after this number of steps the user measures a choice of his own.
    unit, offset
        Told is ``offset + unit * value``.
    form
        The arguments of ``tell`` that describe the noise.
    goals
        The goals of a study. The function of the metric "load" is that of ``worlds.load``, and each
        other metric is a hill.
    """

    name: str
    surface: Literal["optimizer", "study"]
    space: Space
    policy: Any = None
    direction: Literal["maximize", "minimize"] = "maximize"
    context: Cube | Named | None = None
    clock: str | None = None
    workers: int = 1
    cancelled: float = 0.0
    own: int = 0
    unit: float = 1.0
    offset: float = 0.0
    form: Form = "value"
    goals: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 60
    seed: int = 0


LINE = Named({"x": Range(0.0, 1.0)})
PAIR = Named({"x": Range(0.0, 1.0), "y": Range(-1.0, 3.0)})
SERVER = Named(
    {
        "workers": Range(1, 64, log=True, whole=True),
        "timeout": Range(1e-3, 10.0, log=True),
        "codec": Words(("raw", "zip", "zstd")),
    }
)
OUTSIDE = Named({"outside": Range(-10.0, 40.0)})
PRIOR = {"length": 0.3, "epsilon": 0.02, "noise": 0.01}
GIVEN = {"epsilon": 0.02, "variance": 0.2, "noise": 0.01, "mean": 0.3}

AUTO: tuple[str, dict[str, Any]] = ("auto", {})
LIMIT: dict[str, Any] = {
    "metrics": {"gain": "maximize", "load": "watch"},
    "limits": {"load": {"below": 1.6}},
    "baseline": {"x": 0.2, "y": 0.0},
}
MINIMIZED: dict[str, Any] = {"direction": "minimize"}
LATE: dict[str, Any] = {"workers": 4, "cancelled": 0.15}


def _of(surface: Literal["optimizer", "study"], **rows: dict[str, Any]) -> tuple[Setup, ...]:
    named = ((name.replace("_", " "), fields) for name, fields in rows.items())
    return tuple(Setup(f"{surface}: {name}", surface, **fields) for name, fields in named)


def _gp(kind: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return kind, {"prior": PRIOR, **arguments}


SETUPS = (
    *_of(
        "optimizer",
        auto_in_a_box={"space": Cube(2), "policy": AUTO},
        auto_on_a_line={"space": Cube(1, -5.0, 5.0), "policy": AUTO, "own": 4, **MINIMIZED},
        auto_on_a_grid={"space": Grid((12, 12)), "policy": AUTO, "form": "std"},
        auto_with_options={"space": Names(8), "policy": AUTO, "form": "n", "own": 7},
        auto_in_a_named_space={"space": SERVER, "policy": AUTO, "own": 9, **MINIMIZED},
        auto_with_late_results={"space": Cube(2), "policy": AUTO, **LATE},
        auto_with_contexts={"space": Grid((12,)), "context": Cube(1), "policy": AUTO},
        auto_with_a_season={"space": LINE, "policy": ("auto", {"season": 24.0}), "clock": "t"},
        auto_in_other_units={"space": Cube(2), "policy": AUTO, "unit": 1e6, "offset": -3e6},
        tv_gp_ucb_on_a_grid={"space": Grid((20, 20)), "policy": _gp("tv_gp_ucb"), "own": 6},
        tv_gp_ucb_in_a_box={"space": Cube(2), "policy": _gp("tv_gp_ucb"), **MINIMIZED},
        tv_gp_ucb_late={"space": Grid((15, 15)), "policy": _gp("tv_gp_ucb"), "clock": "t", **LATE},
        r_gp_ucb={"space": Grid((15, 15)), "policy": _gp("r_gp_ucb", every=20.0)},
        cp_gp_ucb={"space": Names(10), "policy": _gp("cp_gp_ucb"), "form": "trials"},
        wdbo={"space": Grid((15, 15)), "policy": _gp("wdbo")},
        tv_ts={"space": Grid((15, 15)), "policy": _gp("tv_ts")},
        uniform={"space": SERVER, "policy": ("uniform", {}), "own": 5},
    ),
    *_of(
        "study",
        auto_in_a_box={"space": PAIR, "own": 8},
        auto_with_a_wall_clock={"space": LINE, "clock": "10min", "unit": 1e-3, **MINIMIZED},
        auto_with_late_options={"space": Names(6), "form": "count", **LATE},
        auto_in_a_named_space={"space": SERVER, "form": "n"},
        auto_with_contexts={"space": LINE, "context": OUTSIDE},
        given_drift={"space": PAIR, "policy": {"epsilon": 0.02}},
        given_parameters={"space": Names(10), "policy": GIVEN, "form": "trials", **MINIMIZED},
        limit_and_baseline={"space": PAIR, "goals": LIMIT},
        relative_limit={
            "space": Names(8),
            "clock": "10min",
            "goals": {
                "metrics": {"gain": "maximize", "load": "watch"},
                "limits": {"load": {"at_most": "115%"}},
                "baseline": "option 2",
            },
            **LATE,
        },
        two_objectives={
            "space": PAIR,
            "goals": {"metrics": {"gain": "maximize", "cost": "minimize"}},
        },
        weights={
            "space": Names(10),
            "goals": {
                "metrics": {"gain": "maximize", "cost": "minimize"},
                "objective": {"gain": 1.0, "cost": -0.5},
            },
        },
        moves={
            "space": PAIR,
            "goals": {**LIMIT, "moves": {"largest": {"x": 0.2}, "cost": {"y": 0.02}}},
        },
        limit_with_contexts={
            "space": LINE,
            "context": OUTSIDE,
            "goals": {**LIMIT, "baseline": {"x": 0.2}},
        },
    ),
)
"""The rows, each with a name of its own."""
