"""Pictures by one call, with matplotlib: each function returns the axes that it drew on.

``source`` is a study, here or at a service, or an optimizer. ``ax`` are axes to draw on; without
them a figure is made by pyplot, as notebooks show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.errors import InputError, NoBeliefError, requires_extra
from heliotrope.estimation import Model
from heliotrope.optimizer import Optimizer
from heliotrope.plot.drawing import BAND, BAND_LABEL, BLUE, GREY, draw, draw_limits, shortened
from heliotrope.plot.slices import limits_of, slices_of, view_of
from heliotrope.study.everyday import EverydayStudy
from heliotrope.validation import Array, as_array, as_number, as_table, short_repr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from heliotrope.lab.replay import ReplayResult

__all__ = ["belief", "importance", "limits", "parts", "regret", "track"]


def belief(
    source: EverydayStudy | Optimizer,
    t: float | None = None,
    *,
    parameter: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The believed mean, with a band of two standard deviations, at a time (default: now).

    Options are points with intervals, one parameter is a curve, two are a map. With more
    parameters it is the curve of the given one or of the first, with the others as in the best.
    """
    axes = _axes(ax)
    draw(axes, view_of(source, t, parameter))
    return axes


def limits(
    source: EverydayStudy,
    metric: str | None = None,
    t: float | None = None,
    *,
    parameter: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The belief about a limited metric of a study, its limits, and which choices keep them.

    The metric is by default the first with a limit. Dotted lines are its limits. What is not known
    to keep all limits is shaded; such options are hollow points.
    """
    name, bounds = limits_of(source, metric, t)
    axes, shown = _axes(ax), view_of(source, t, parameter, name)
    draw(axes, shown, name)
    draw_limits(axes, shown, bounds)
    return axes


def track(source: EverydayStudy | Optimizer, *, ax: Axes | None = None) -> Axes:
    """The results over time; of a study also the best value as it was believed at the time."""
    axes = _axes(ax)
    if isinstance(source, Optimizer):
        t, y = source.history.t, source.history.y
    elif not isinstance(source, EverydayStudy):
        raise InputError("a study or an optimizer", short_repr(source))
    else:
        shown = source.track()
        t, y = (_column(shown["results"], name) for name in ("t", "value"))
        if shown["best"]:
            times, mean, std = (_column(shown["best"], name) for name in ("t", "mean", "std"))
            axes.plot(times, mean, color=BLUE, label="believed best")
            band = mean - BAND * std, mean + BAND * std
            axes.fill_between(times, *band, color=BLUE, alpha=0.2, label=BAND_LABEL)
    axes.plot(t, y, ".", color=GREY, markersize=4, label="results")
    axes.locator_params("x", integer=bool(np.all(t == np.round(t))))
    axes.set(xlabel="time", ylabel="value")
    axes.legend(frameon=False)
    return axes


def regret(regrets: ReplayResult | Mapping[str, ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Average regret R_t / t of a replay, or of regrets (T,) or (trials, T) by name.

    Several trials are a mean with a band of two standard errors.
    """
    axes = _axes(ax)
    for name, values in _by_name(regrets).items():
        table = _trials(values, str(name))
        steps = np.arange(1, table.shape[1] + 1)
        averages = table.cumsum(axis=1) / steps
        mean = averages.mean(axis=0)
        (line,) = axes.plot(steps, mean, label=name)
        if len(averages) > 1:
            error = BAND * averages.std(axis=0, ddof=1) / np.sqrt(len(averages))
            axes.fill_between(steps, mean - error, mean + error, color=line.get_color(), alpha=0.2)
    axes.set(xlabel="steps", ylabel="average regret $R_t / t$")
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.legend(frameon=False)
    return axes


def parts(
    source: EverydayStudy | Optimizer | Mapping[str, float],
    t: float | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """What the world is made of: the share of each part, and of the noise, in a result's variance.

    The shares are those of a study's present model, those of
    :meth:`heliotrope.Optimizer.shares` at a time, or given by name.
    """
    return _bars(_axes(ax), _shares(source, t), "share of the variance of a result")


def importance(
    source: EverydayStudy | Optimizer, t: float | None = None, *, ax: Axes | None = None
) -> Axes:
    """Which parameters matter now.

    Each parameter varies alone over its range, with the others as in the best. Its share is the
    standard deviation of the believed mean, divided by the sum over all parameters.
    """
    moved = {part.name: float(np.std(part.mean)) for part in slices_of(source, t)}
    total = sum(moved.values()) or 1.0
    shares = {name: size / total for name, size in moved.items()}
    return _bars(_axes(ax), shares, "share of the change around the best")


def _axes(ax: Axes | None) -> Axes:
    with requires_extra("lab"):
        from matplotlib import axes, pyplot
    if ax is None:
        return pyplot.subplots(layout="constrained")[1]
    if not isinstance(ax, axes.Axes):
        advice = "Take one of the axes that pyplot.subplots() returns."
        raise InputError("matplotlib axes", short_repr(ax), advice, "ax")
    return ax


def _shares(
    source: EverydayStudy | Optimizer | Mapping[str, float], t: float | None
) -> dict[str, float]:
    if isinstance(source, Optimizer):
        return source.shares(t)
    if isinstance(source, EverydayStudy):
        summary = source.summary()
        if not summary.told or not source.config.policy.has_model:
            raise NoBeliefError("a study with a belief", "one without", "Tell a result first.")
        return Model.from_json(summary.model).shares()
    if not isinstance(source, Mapping):
        raise InputError("a study, an optimizer, or shares by name", short_repr(source))
    return {str(name): as_number(share, str(name)) for name, share in source.items()}


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> Array:
    return np.array([row[name] for row in rows])


def _trials(regrets: ArrayLike, name: str) -> Array:
    """Regrets (trials, T), also of one trial."""
    if np.ndim(regrets) < 2:
        return as_array(regrets, name, ndim=1)[None]
    return as_table(regrets, name)


def _by_name(regrets: ReplayResult | Mapping[str, ArrayLike]) -> Mapping[str, Any]:
    if isinstance(regrets, Mapping):
        if not regrets:
            raise InputError("regrets of at least one policy", "none")
        return regrets
    if not hasattr(regrets, "scores"):
        raise InputError("regrets by name, or the result of a replay", short_repr(regrets))
    return {score.policy: regrets.regrets(score.policy) for score in regrets.scores}


def _bars(axes: Axes, shares: Mapping[str, float], label: str) -> Axes:
    ordered = sorted(shares.items(), key=lambda share: share[1])
    names = [shortened(name) for name, _ in ordered]
    drawn = axes.barh(range(len(names)), [share for _, share in ordered], color=BLUE)
    axes.bar_label(drawn, [f" {share:.0%}" for _, share in ordered])
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel=label)
    axes.margins(x=0.2)
    return axes
