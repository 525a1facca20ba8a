"""What pictures of a belief show: options, a curve along one parameter, or a map over two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heliotrope.domains import Domain, Finite
from heliotrope.errors import InputError
from heliotrope.live.rules import Mask
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Belief
from heliotrope.spaces import Boolean, Categorical, Integer, Options, Parameter, Real, SearchSpace
from heliotrope.study.everyday import EverydayStudy
from heliotrope.validation import Array, short_repr

_LINE, _SIDE = 101, 41  # points of a curve, and of a side of a map


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
    named = {shown.name: shown for shown in slices}
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
        expected = f"a metric with a limit, of {', '.join(goals.rules.limited)}"
        raise InputError(expected, short_repr(name), "", "metric")
    return name, [limit["bound"] for limit in source.belief(t, metric=name).get("limits", ())]


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
    name, mean, std = band["parameter"], np.array(band["mean"]), np.array(band["std"])
    parameter = space.parameters[name]
    is_log, is_discrete = _is_log(parameter), _is_discrete(parameter)
    return Slice(name, band["values"], mean, std, best[name], is_log, is_discrete, _safe(band))


def _safe(shown: Mapping[str, Any]) -> Mask | None:
    """Which of the values shown are known to keep all limits; None without limits."""
    return np.array(shown["safe"]) if "safe" in shown else None


def _is_discrete(parameter: Parameter) -> bool:
    return isinstance(parameter, (Categorical, Boolean))


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
    column, row = (
        int(np.abs(np.array(values) - at).argmin())
        for values, at in zip(surface.values, surface.best, strict=True)
    )
    cuts: list[Any] = [(row, slice(None)), (slice(None), column)]
    layers = {name: np.array(shown[name]) for name in ("mean", "std", "safe") if name in shown}
    slices = []
    for name, values, cut in zip(surface.names, shown["values"], cuts, strict=True):
        band = {key: layer[cut] for key, layer in layers.items()}
        slices.append(_slice(space, {**band, "parameter": name, "values": values}, best))
    return slices


@dataclass(frozen=True)
class _Axis:
    """The values of a parameter in a slice, and on a side of a map."""

    values: Sequence[Any]
    side: Sequence[Any]
    log: bool = False
    is_discrete: bool = False


def _of_optimizer(opt: Optimizer, t: float | None) -> tuple[View | None, Sequence[Slice]]:
    if opt.contextual is not None:
        raise InputError("an optimizer without contexts", "a contextual one")
    if isinstance(opt.space, Options):
        belief = opt.belief(t)
        return OptionBeliefs(opt.space.names, belief.mean, belief.std), []
    best, axes = opt.best(t), dict[str, _Axis]()
    if isinstance(opt.space, SearchSpace):
        varying = {name: p for name, p in opt.space.parameters.items() if p.count != 1}
        axes = {name: _axis_of_parameter(parameter) for name, parameter in varying.items()}
        return _around(opt, t, best.params, axes)
    names = ["x"] if len(best.x) == 1 else [f"x{i}" for i in range(len(best.x))]
    axes = {name: _axis_of_coordinate(opt.domain, i) for i, name in enumerate(names)}
    varying_axes = {name: axis for name, axis in axes.items() if len(axis.values) > 1}
    return _around(opt, t, dict(zip(names, best.x.tolist(), strict=True)), varying_axes)


def _axis_of_parameter(parameter: Parameter) -> _Axis:
    values, side = _values(parameter, _LINE), _values(parameter, _SIDE)
    return _Axis(values, side, _is_log(parameter), _is_discrete(parameter))


def _values(parameter: Parameter, count: int) -> list[Any]:
    if parameter.count is not None and parameter.count <= count:
        return [parameter.value(i) for i in range(parameter.count)]
    return [parameter.decode(np.array([u])) for u in np.linspace(0.0, 1.0, count)]


def _axis_of_coordinate(domain: Domain, i: int) -> _Axis:
    if isinstance(domain, Finite):
        values = np.unique(domain.points[:, i]).tolist()
        return _Axis(values, values)
    values = np.linspace(domain.lower[i], domain.upper[i], _LINE).tolist()
    return _Axis(values, values[:: _LINE // _SIDE])


def _around(
    opt: Optimizer, t: float | None, best: Mapping[str, Any], axes: Mapping[str, _Axis]
) -> tuple[View | None, Sequence[Slice]]:
    """Slices along the axes through the best; two numbers are a map."""

    def believed(rows: Sequence[Mapping[str, Any]]) -> Belief:
        named = opt.space is not None
        return opt.belief(t, rows if named else np.array([list(row.values()) for row in rows]))

    slices = []
    for name, axis in axes.items():
        belief = believed([{**best, name: value} for value in axis.values])
        drawn = name, axis.values, belief.mean, belief.std, best[name], axis.log, axis.is_discrete
        slices.append(Slice(*drawn))
    if len(slices) != 2 or any(axis.is_discrete for axis in axes.values()):
        return (slices[0] if len(slices) == 1 else None), slices
    names, (across, up) = tuple(axes), axes.values()
    cells = [{**best, names[0]: x, names[1]: y} for y in up.side for x in across.side]
    mean = believed(cells).mean.reshape(len(up.side), -1)
    at, log = (float(best[names[0]]), float(best[names[1]])), (across.log, up.log)
    return Surface(names, (across.side, up.side), mean, at, log), slices
