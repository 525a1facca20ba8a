"""The picture of a league: everybody on everything, and the mean ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heliotrope.lab.league.standings import Standings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

_CELL = 0.3  # inches
_DARK = 0.55  # share of random's regret above which black figures are read better


def draw(standings: Standings) -> Picture:
    """Regret by policy and problem as a share of random's, best policy on top; mean ranks."""
    from matplotlib.figure import Figure as Picture

    places = standings.places
    rows, columns = len(places), len(standings.problems)
    size = (_CELL * columns + 4.0, _CELL * rows + 1.9)
    picture = Picture(figsize=size, layout="constrained")
    ratio = [_CELL * columns, 1.8]
    left, right = picture.subplots(1, 2, sharey=True, width_ratios=ratio)
    names = [place.policy for place in places]
    _draw_shares(left, standings, names)
    right.barh(range(rows), [place.rank for place in places], height=0.7, color="#0072b2")
    for row, place in enumerate(places):
        right.text(place.rank, row, f" {place.rank:.1f}", va="center", fontsize=7)
    right.set(xlabel="mean rank", xlim=(0, 1.15 * rows))
    right.grid(visible=False)
    picture.suptitle(
        "Average regret as a share of random's\n(bold: least of the problem, x: unfinished)",
        fontsize=9,
    )
    return picture


def _draw_shares(axes: Axes, standings: Standings, names: list[str]) -> None:
    shares = np.array(
        [[standings.score(id, name).normalized for id in standings.problems] for name in names]
    )
    axes.imshow(shares, cmap="cividis", vmin=0.0, vmax=1.0, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        text = _cell(standings, names[row], column)
        colour = "white" if share <= _DARK else "black"  # nothing played (NaN) leaves it white
        axes.text(column, row, text, ha="center", va="center", fontsize=5.5, color=colour)
    axes.set_yticks(range(len(names)), names)
    axes.set_xticks(range(len(standings.problems)), standings.problems, rotation=90, fontsize=6.5)
    axes.grid(visible=False)


def _cell(standings: Standings, name: str, column: int) -> str:
    score = standings.score(standings.problems[column], name)
    if score.finished < score.trials:
        return "x"
    text = f"{score.normalized:.2f}"
    return rf"$\mathbf{{{text}}}$" if standings.won(score) else text
