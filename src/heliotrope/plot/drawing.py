"""Drawing of views of a belief, and of the limits of a metric, on matplotlib's axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from heliotrope.plot.slices import OptionBeliefs, Slice, Surface, View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#777777"  # differ in grey, too
BAND = 2.0  # standard deviations
BAND_LABEL = "± 2 standard deviations"
_LONGEST = 24  # characters of an option's name
_UNSAFE = "not known to keep all limits"


def draw(axes: Axes, shown: View, label: str = "value") -> None:
    """Draw a view; ``label`` names the values."""
    if isinstance(shown, OptionBeliefs):
        _draw_options(axes, shown, label)
    elif isinstance(shown, Surface):
        _draw_surface(axes, shown, label)
    else:
        _draw_slice(axes, shown, label)


def draw_limits(axes: Axes, shown: View, bounds: Sequence[float]) -> None:
    """Draw limits as lines, as far as there is an axis of values, and shade unsafe choices."""
    if isinstance(shown, Surface):
        _shade_surface(axes, shown)
        return
    line = axes.axvline if isinstance(shown, OptionBeliefs) else axes.axhline
    for bound in bounds:
        line(bound, color="black", linestyle=":", label="limit")
    if isinstance(shown, OptionBeliefs):
        _grey_options(axes, shown)
    else:
        _shade_slice(axes, shown)
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)


def _grey_options(axes: Axes, shown: OptionBeliefs) -> None:
    if shown.safe is not None:
        order = np.argsort(shown.mean)
        unsafe = np.flatnonzero(~shown.safe[order])
        points = shown.mean[order][unsafe]
        axes.plot(points, unsafe, "o", color="white", markeredgecolor=GREY, zorder=4, label=_UNSAFE)


def _shade_slice(axes: Axes, shown: Slice) -> None:
    """Shade each value halfway to its neighbours."""
    if shown.safe is None:
        return
    at = np.array(range(len(shown.values)) if shown.is_discrete else shown.values, dtype=float)
    edges = np.concatenate([at[:1], (at[1:] + at[:-1]) / 2, at[-1:]])
    spans = zip(edges[:-1][~shown.safe], edges[1:][~shown.safe], strict=True)
    for i, (low, high) in enumerate(spans):
        label = None if i else _UNSAFE
        axes.axvspan(low, high, color=GREY, alpha=0.25, linewidth=0, label=label)


def _shade_surface(axes: Axes, shown: Surface) -> None:
    if shown.safe is None or shown.safe.all():
        return
    veil = np.where(shown.safe, np.nan, 1.0)
    axes.pcolormesh(*shown.values, veil, cmap="gray", vmin=0, vmax=1, alpha=0.55, shading="nearest")
    axes.set_title(f"veiled: {_UNSAFE}", fontsize="medium", loc="left")


def _draw_options(axes: Axes, shown: OptionBeliefs, label: str) -> None:
    order = np.argsort(shown.mean)
    at = np.arange(len(order))
    spread = BAND * shown.std[order]
    axes.errorbar(shown.mean[order], at, xerr=spread, fmt="o", color=BLUE, ecolor=GREY)
    axes.set_yticks(at, [shortened(shown.names[i]) for i in order])
    axes.set(xlabel=label)


def _draw_slice(axes: Axes, shown: Slice, label: str) -> None:
    if shown.is_discrete:
        at = np.arange(len(shown.values))
        axes.errorbar(at, shown.mean, yerr=BAND * shown.std, fmt="o", color=BLUE, ecolor=GREY)
        axes.set_xticks(at, [shortened(str(value)) for value in shown.values])
    else:
        band = shown.mean - BAND * shown.std, shown.mean + BAND * shown.std
        axes.plot(shown.values, shown.mean, color=BLUE, label="mean")
        axes.fill_between(shown.values, *band, color=BLUE, alpha=0.2, linewidth=0, label=BAND_LABEL)
        axes.axvline(shown.best, color=ORANGE, linestyle="--", label="best")
        axes.legend(frameon=False)
        axes.set_xscale("log" if shown.log else "linear")
    axes.set(xlabel=shown.name, ylabel=label)


def _draw_surface(axes: Axes, shown: Surface, label: str) -> None:
    drawn = axes.pcolormesh(*shown.values, shown.mean, cmap="cividis", shading="nearest")
    axes.figure.colorbar(drawn, ax=axes, label=label)
    axes.plot(*shown.best, "*", color=ORANGE, markersize=14, markeredgecolor="white", label="best")
    axes.set(xlabel=shown.names[0], ylabel=shown.names[1])
    for axis, log in zip((axes.set_xscale, axes.set_yscale), shown.log, strict=True):
        axis("log" if log else "linear")
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0))  # not on the map


def shortened(name: str) -> str:
    """A long name without its middle."""
    if len(name) <= _LONGEST:
        return name
    half = (_LONGEST - 1) // 2
    return f"{name[:half]}…{name[-half:]}"
