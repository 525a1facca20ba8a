"""The common style of all pictures: fonts and sizes of a paper, colours that differ in grey."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

from heliotrope.validation import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

STYLES: dict[str, dict[str, Any]] = {
    "TV-GP-UCB": {"color": "#0072b2", "linestyle": "-"},
    "TV-GP-UCB, sum": {"color": "#cc3311", "linestyle": "-", "linewidth": 1.8},
    "TV-GP-UCB, 0.04": {"color": "#56b4e9", "linestyle": (0, (5, 1))},
    "R-GP-UCB": {"color": "#d55e00", "linestyle": "--"},
    "GP-UCB": {"color": "#009e73", "linestyle": "-."},
    "RExp3": {"color": "#cc79a7", "linestyle": (0, (4, 1, 1, 1, 1, 1))},
    "RExp3, tuned": {"color": "#aa4499", "linestyle": (0, (2, 1))},
    "auto": {"color": "#882255", "linestyle": (0, (3, 1))},
    "random": {"color": "#666666", "linestyle": ":"},
    "TV-GP-UCB, learning": {"color": "#56b4e9", "linestyle": "-"},
    "best of the past": {"color": "#e69f00", "linestyle": (0, (6, 2))},
    "genie": {"color": "#000000", "linestyle": (0, (1, 1)), "linewidth": 1.0},
}
_PAPER: Any = {
    "font.family": "serif",
    "font.serif": ["STIXGeneral", "DejaVu Serif"],
    "mathtext.fontset": "stix",
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 9.0,
    "legend.fontsize": 8.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.3,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "figure.dpi": 200,
}


@contextmanager
def paper() -> Iterator[None]:
    """Draw in the style of a paper."""
    with mpl.rc_context(_PAPER):
        yield


def panels(
    rows: int,
    columns: int,
    width: float = 2.3,
    height: float = 2.1,
    *,
    sharex: bool = False,
    sharey: bool = True,
) -> tuple[Picture, Any]:
    """A picture of panels (rows, columns), by default with a shared vertical axis."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(width * columns, height * rows + 0.35), layout="constrained")
    return picture, picture.subplots(rows, columns, sharex=sharex, sharey=sharey, squeeze=False)


def curve(axes: Axes, t: Array, values: Array, policy: str) -> None:
    """Draw the mean of values (trials, T) with a band of two standard errors."""
    mean = values.mean(axis=0)
    axes.plot(t, mean, label=policy, **STYLES[policy])
    if len(values) > 1:
        error = 2.0 * values.std(axis=0, ddof=1) / np.sqrt(len(values))
        color = STYLES[policy]["color"]
        axes.fill_between(t, mean - error, mean + error, color=color, alpha=0.15, linewidth=0)


def legend(picture: Picture, axes: Axes, columns: int | None = None) -> None:
    """Draw one legend above all panels, with the meaning of the bands of :func:`curve`."""
    from matplotlib.patches import Patch

    handles, labels = axes.get_legend_handles_labels()
    handles.append(Patch(color="#000000", alpha=0.15, linewidth=0))
    labels.append("bands: ± 2 standard errors")
    picture.legend(handles, labels, loc="outside upper center", ncols=columns or len(labels))
