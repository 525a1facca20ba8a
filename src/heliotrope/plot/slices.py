"""What pictures of a belief show: options, a curve along one parameter, or a map over two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.optimizer import Optimizer
from heliotrope.spaces import Boolean, Categorical, Integer, Options, Parameter, Real, SearchSpace
from heliotrope.study.everyday import EverydayStudy
from heliotrope.validation import Array, short_repr

_LINE, _SIDE = 101, 41  # points of a curve, and of a side of a map

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class OptionBeliefs:
    """The belief about every option; ``safe`` ones are known to keep all limits."""

    names: Sequence[str]
    mean: Array
    std: Array
    safe: Mask | None = None


@dataclass(frozen=True, eq=False)
class Slice:
    """The belief along one parameter, with the others as in the best, whose value is ``best``."""

    name: str
    values: Sequence[Any]
    mean: Array
    std: Array
    best: Any
    log: bool = False
    is_discrete: bool = False
    safe: Mask | None = None


@dataclass(frozen=True, eq=False)
class Surface:
    """The mean (up, across) over two numbers."""

    names: Sequence[str]
    values: tuple[Sequence[float], Sequence[float]]
    mean: Array
    best: tuple[float, float]
    log: tuple[bool, bool]
    safe: Mask | None = None


View = OptionBeliefs | Slice | Surface


def view_of(
    source: EverydayStudy | Optimizer,
    t: float | None,
    parameter: str | None,
    metric: str | None = None,
) -> View:
    """What a picture of the belief shows; a ``parameter`` asks for its slice.

    ``metric`` names one of several metrics of a study.
    """
    view, slices = _shown(source, t, metric)
    if parameter is None and view is not None:
        return view
    named = {one.name: one for one in slices}
    if parameter is None:
        return slices[0]
    if parameter not in named:
        raise InputError(f"a parameter among {', '.join(named) or 'none'}", repr(parameter)[:60])
    return named[parameter]


def limits_of(
    source: EverydayStudy, metric: str | None, t: float | None
) -> tuple[str, Sequence[float]]:
    """The name of a limited metric, by default of the first, and its bounds in its own unit."""
    goals = source.config.goals if isinstance(source, EverydayStudy) else None
    if goals is None or not goals.rules.limits:
        advice = "Pass limits to Study.create."
        raise InputError("a study with limits", short_repr(source), advice)
    name = goals.rules.limited[0] if metric is None else metric
    if name not in goals.rules.limited:
        known = ", ".join(goals.rules.limited)
        raise InputError(f"a metric with a limit, of {known}", short_repr(name), "", "metric")
    return name, [one["bound"] for one in source.belief(t, metric=name).get("limits", ())]


def slices_of(source: EverydayStudy | Optimizer, t: float | None) -> Sequence[Slice]:
    """The belief along each parameter that varies; InputError if there are none."""
    slices = _shown(source, t)[1]
    if not slices:
        raise InputError("a space of parameters", "none", "Options have no parameters.")
    return slices


def _shown(
    source: EverydayStudy | Optimizer, t: float | None, metric: str | None = None
) -> tuple[View | None, Sequence[Slice]]:
    if isinstance(source, EverydayStudy):
        return _of_study(source, t, metric)
    if isinstance(source, Optimizer):
        return _of_optimizer(source, t)
    raise InputError("a study or an optimizer", short_repr(source))


def _of_study(
    study: EverydayStudy, t: float | None, metric: str | None
) -> tuple[View | None, Sequence[Slice]]:
    """The picture of a study's belief, None if it is one slice of several; and all slices."""
    shown: Mapping[str, Any] = study.belief(t, metric=metric)
    if shown["view"] == "none":
        raise InputError("a policy with a belief", "one without")
    if shown["view"] == "options":
        rows = shown["options"]
        mean, std = (np.array([row[name] for row in rows]) for name in ("mean", "std"))
        safe = np.array([row["safe"] for row in rows]) if "safe" in rows[0] else None
        return OptionBeliefs([row["option"] for row in rows], mean, std, safe), []
    space = study.config.space
    assert isinstance(space, SearchSpace)
    best = shown["best"]["params"]
    if shown["view"] == "map":
        surface = _surface(space, shown, best)
        return surface, _through(surface, space, shown, best)
    bands = [shown] if shown["view"] == "band" else shown["slices"]
    slices = [_slice(space, band, best) for band in bands]
    return (slices[0] if len(slices) == 1 else None), slices


def _slice(space: SearchSpace, band: Mapping[str, Any], best: Mapping[str, Any]) -> Slice:
    name = band["parameter"]
    mean, std = np.array(band["mean"]), np.array(band["std"])
    made = _named(name, space.parameters[name], band["values"], mean, std, best[name])
    return replace(made, safe=_safe(band))


def _safe(shown: Mapping[str, Any]) -> Mask | None:
    """Which of the values shown are known to keep all limits; None without limits."""
    return np.array(shown["safe"]) if "safe" in shown else None


def _named(
    name: str, parameter: Parameter, values: Sequence[Any], mean: Array, std: Array, best: Any
) -> Slice:
    is_discrete = isinstance(parameter, (Categorical, Boolean))
    return Slice(name, values, mean, std, best, _is_log(parameter), is_discrete)


def _is_log(parameter: Parameter) -> bool:
    return isinstance(parameter, (Real, Integer)) and parameter.log


def _surface(space: SearchSpace, shown: Mapping[str, Any], best: Mapping[str, Any]) -> Surface:
    names = shown["parameters"]
    log = tuple(_is_log(space.parameters[name]) for name in names)
    at = tuple(float(best[name]) for name in names)
    across, up = ([float(value) for value in values] for values in shown["values"])
    mean, safe = np.array(shown["mean"]), _safe(shown)
    return Surface(names, (across, up), mean, at, log, safe)  # type: ignore[arg-type]


def _through(
    surface: Surface, space: SearchSpace, shown: Mapping[str, Any], best: Mapping[str, Any]
) -> list[Slice]:
    """The row and the column of a map that are nearest to the best."""
    mean, std = surface.mean, np.array(shown["std"])
    column, row = (
        int(np.abs(np.array(values) - at).argmin())
        for values, at in zip(surface.values, surface.best, strict=True)
    )
    cuts: list[Any] = [(row, slice(None)), (slice(None), column)]
    slices = []
    for name, values, cut in zip(surface.names, shown["values"], cuts, strict=True):
        made = _named(name, space.parameters[name], values, mean[cut], std[cut], best[name])
        slices.append(replace(made, safe=None if surface.safe is None else surface.safe[cut]))
    return slices


def _of_optimizer(opt: Optimizer, t: float | None) -> tuple[View | None, Sequence[Slice]]:
    if opt.contextual is not None:
        raise InputError("an optimizer without contexts", "a contextual one")
    if isinstance(opt.space, Options):
        found = opt.belief(t)
        return OptionBeliefs(opt.space.names, found.mean, found.std), []
    if isinstance(opt.space, SearchSpace):
        return _of_space(opt, opt.space, t)
    return _of_points(opt, t)


def _of_space(
    opt: Optimizer, space: SearchSpace, t: float | None
) -> tuple[View | None, Sequence[Slice]]:
    best = opt.best(t).params
    slices = []
    for name, parameter in space.parameters.items():
        if parameter.count != 1:
            values = _values(parameter)
            found = opt.belief(t, [{**best, name: value} for value in values])
            slices.append(_named(name, parameter, values, found.mean, found.std, best[name]))
    if len(slices) != 2 or any(one.is_discrete for one in slices):
        return (slices[0] if len(slices) == 1 else None), slices
    one, other = slices
    across, up = (_values(space.parameters[each.name], _SIDE) for each in slices)
    cells = [{**best, one.name: x, other.name: y} for y in up for x in across]
    mean = opt.belief(t, cells).mean.reshape(len(up), -1)
    at = float(one.best), float(other.best)
    return Surface((one.name, other.name), (across, up), mean, at, (one.log, other.log)), slices


def _values(parameter: Parameter, count: int = _LINE) -> list[Any]:
    if parameter.count is not None and parameter.count <= count:
        return [parameter.value(i) for i in range(parameter.count)]
    assert isinstance(parameter, Real) or parameter.count is not None
    return [parameter.decode(np.array([u])) for u in np.linspace(0.0, 1.0, count)]


def _of_points(opt: Optimizer, t: float | None) -> tuple[View | None, Sequence[Slice]]:
    """Slices along the coordinates of a Box, or of the points of a Finite domain."""
    best = opt.best(t).x
    names = ["x"] if len(best) == 1 else [f"x{i}" for i in range(len(best))]
    grids = [_grid(opt, i, best) for i in range(len(best))]
    slices = []
    for i, (name, grid) in enumerate(zip(names, grids, strict=True)):
        if len(grid) > 1:
            found = opt.belief(t, grid)
            values = grid[:, i].tolist()
            slices.append(Slice(name, values, found.mean, found.std, float(best[i])))
    if len(best) != 2 or len(slices) != 2:
        return (slices[0] if len(slices) == 1 else None), slices
    across, up = (np.unique(grid[:, i]) for i, grid in enumerate(grids))
    if not isinstance(opt.domain, Finite):
        across, up = (values[:: max(1, len(values) // _SIDE)] for values in (across, up))
    cells = np.array([(x, y) for y in up for x in across])
    mean = opt.belief(t, cells).mean.reshape(len(up), -1)
    ends = float(best[0]), float(best[1])
    return Surface(names, (across.tolist(), up.tolist()), mean, ends, (False, False)), slices


def _grid(opt: Optimizer, i: int, best: Array) -> Array:
    """Points along coordinate i through the best, in order."""
    if isinstance(opt.domain, Finite):
        values = np.unique(opt.domain.points[:, i])
    else:
        values = np.linspace(opt.domain.lower[i], opt.domain.upper[i], _LINE)
    points = np.tile(best, (len(values), 1))
    points[:, i] = values
    return points
