"""The picture of a replay: regret over time, and the values of the best policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import LogLocator, NullLocator

from heliotrope.lab import pictures
from heliotrope.lab.environments import average_regret
from heliotrope.lab.replay.candidates import CANDIDATES
from heliotrope.lab.replay.result import ReplayResult
from heliotrope.validation import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

_PARTS = 60  # intervals over which values are averaged
_SETTLED = 20  # 1/20 of the steps, in which regret may lie outside the picture
_WIDE = 8.0  # ratio of the highest to the lowest curve, above which the axis is logarithmic
_PAUSES = 30  # above which pauses are not marked


def draw_replay(result: ReplayResult) -> Picture:
    """Draw the average regret, and the values of the best policy next to the best possible.

    The axis counts steps, so that pauses take no space; a few pauses are marked.
    """
    picture, ((left, right),) = pictures.panels(1, 2, width=3.6, height=2.6, sharey=False)
    _draw_regrets(result, left)
    _draw_values(result, right)
    step = "" if result.log.step == "1" else f" of {result.log.step}"
    pauses = np.flatnonzero(np.diff(result.times) > 1.5) + 1.5
    marked = 0 < len(pauses) <= _PAUSES
    for axes in (left, right):
        axes.set(xlabel=f"steps{step}" + (", pauses dotted" if marked else ""))
        axes.margins(x=0.01)
        for at in pauses if marked else ():
            axes.axvline(at, color="#bbbbbb", linewidth=0.6, linestyle=":", zorder=0.5)
    picture.legend(loc="outside lower center", ncols=5)
    return picture


def _draw_regrets(result: ReplayResult, axes: Axes) -> None:
    counts = np.arange(1, len(result.rewards) + 1)
    curves = {
        CANDIDATES[score.policy]: average_regret(result.regrets(score.policy))
        for score in result.scores
    }
    for rank, (name, curve) in enumerate(curves.items()):
        axes.plot(counts, curve, label=name, zorder=3.0 - 0.1 * rank, **pictures.STYLES[name])
    axes.set(ylabel="average regret $R_t / t$", title="Regret (lower is better)")
    _scale(axes, np.stack(list(curves.values())))


def _scale(axes: Axes, curves: Array) -> None:
    """Fit the axis to the settled part of curves (policies, T), logarithmic if far apart."""
    settled, ends = curves[:, curves.shape[1] // _SETTLED :], curves[:, -1]
    if 0.0 < _WIDE * ends.min() < ends.max():
        axes.set(yscale="log", ylim=(0.6 * ends.min(), 1.2 * settled.max()))
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(0.0, 1.05 * float(settled.max()) or 1.0)


def _draw_values(result: ReplayResult, axes: Axes) -> None:
    best, name = result.best_possible, CANDIDATES[result.best]
    curves: dict[str, tuple[Array, dict[str, Any]]] = {
        "best possible": (best, {"color": "black", "linewidth": 0.9}),
        f"_{name}": (best - result.regrets(result.best), pictures.STYLES[name]),
        "mean of all places": (result.rewards.mean(axis=1), {"color": "#999999", "linewidth": 0.9}),
    }
    length = -(-len(best) // _PARTS)
    starts = np.arange(0, len(best), length)
    for label, (rewards, look) in curves.items():
        parts = np.split(result.values(rewards), starts[1:])
        axes.plot(starts + 0.5 * (length + 1), [part.mean() for part in parts], label=label, **look)
    means = f", means of {length} steps" if length > 1 else ""
    axes.set(ylabel="value", title=f"Values of the best policy{means}")
