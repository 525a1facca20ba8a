"""What pictures of a belief show: options, a curve along one parameter, or a map over two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heliotrope.domains import Finite
from heliotrope.errors import InputError
from heliotrope.optimizer import Optimizer
from heliotrope.spaces import Boolean, Categorical, Options, Parameter, Real, SearchSpace
from heliotrope.study.everyday import EverydayStudy
from heliotrope.validation import Array, short_repr

_LINE, _SIDE = 101, 41  # points of a curve, and of a side of a map


@dataclass(frozen=True, eq=False)
class OptionBeliefs:
    """The belief about every option."""

    names: Sequence[str]
    mean: Array
    std: Array


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


@dataclass(frozen=True, eq=False)
class Surface:
    """The mean (up, across) over two numbers."""

    names: Sequence[str]
    values: tuple[Sequence[float], Sequence[float]]
    mean: Array
    best: tuple[float, float]
    log: tuple[bool, bool]


View = OptionBeliefs | Slice | Surface


def view_of(source: EverydayStudy | Optimizer, t: float | None, parameter: str | None) -> View:
    """What a picture of the belief shows; a ``parameter`` asks for its slice."""
    view, slices = _shown(source, t)
    if parameter is None and view is not None:
        return view
    named = {one.name: one for one in slices}
    if parameter is None:
        return slices[0]
    if parameter not in named:
        raise InputError(f"a parameter among {', '.join(named) or 'none'}", repr(parameter)[:60])
    return named[parameter]


def slices_of(source: EverydayStudy | Optimizer, t: float | None) -> Sequence[Slice]:
    """The belief along each parameter that varies; InputError if there are none."""
    slices = _shown(source, t)[1]
    if not slices:
        raise InputError("a space of parameters", "none", "Options have no parameters.")
    return slices


def _shown(
    source: EverydayStudy | Optimizer, t: float | None
) -> tuple[View | None, Sequence[Slice]]:
    if isinstance(source, EverydayStudy):
        return _of_study(source, t)
    if isinstance(source, Optimizer):
        return _of_optimizer(source, t)
    raise InputError("a study or an optimizer", short_repr(source))


def _of_study(study: EverydayStudy, t: float | None) -> tuple[View | None, Sequence[Slice]]:
    """The picture of a study's belief, None if it is one slice of several; and all slices."""
    shown: Mapping[str, Any] = study.belief(t)
    if shown["view"] == "none":
        raise InputError("a policy with a belief", "one without")
    if shown["view"] == "options":
        rows = shown["options"]
        mean, std = (np.array([row[name] for row in rows]) for name in ("mean", "std"))
        return OptionBeliefs([row["option"] for row in rows], mean, std), []
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
    return _named(name, space.parameters[name], band["values"], mean, std, best[name])


def _named(
    name: str, parameter: Parameter, values: Sequence[Any], mean: Array, std: Array, best: Any
) -> Slice:
    is_discrete = isinstance(parameter, (Categorical, Boolean))
    return Slice(name, values, mean, std, best, _is_log(parameter), is_discrete)


def _is_log(parameter: Parameter) -> bool:
    return not isinstance(parameter, (Categorical, Boolean)) and parameter.log


def _surface(space: SearchSpace, shown: Mapping[str, Any], best: Mapping[str, Any]) -> Surface:
    names = shown["parameters"]
    log = tuple(_is_log(space.parameters[name]) for name in names)
    at = tuple(float(best[name]) for name in names)
    across, up = ([float(value) for value in values] for values in shown["values"])
    return Surface(names, (across, up), np.array(shown["mean"]), at, log)  # type: ignore[arg-type]


def _through(
    surface: Surface, space: SearchSpace, shown: Mapping[str, Any], best: Mapping[str, Any]
) -> list[Slice]:
    """The row and the column of a map that are nearest to the best."""
    mean, std = surface.mean, np.array(shown["std"])
    column, row = (
        int(np.abs(np.array(values) - at).argmin())
        for values, at in zip(surface.values, surface.best, strict=True)
    )
    across, up = surface.names
    return [
        _named(
            across, space.parameters[across], shown["values"][0], mean[row], std[row], best[across]
        ),
        _named(
            up, space.parameters[up], shown["values"][1], mean[:, column], std[:, column], best[up]
        ),
    ]


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
    assert best is not None
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
