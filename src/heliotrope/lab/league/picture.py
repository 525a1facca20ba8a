"""The picture of a tournament: regret by policy and problem, and mean ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heliotrope.lab.league.standings import Standings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

_CELL = 0.3  # inches
_DARK = 0.55  # share of random's regret above which black text is readable


def draw_standings(standings: Standings) -> Picture:
    """Draw the regret as a share of random's, best policy on top, and the mean ranks."""
    from matplotlib.figure import Figure as Picture

    ranking = standings.ranking
    rows, columns = len(ranking), len(standings.problems)
    size = (_CELL * columns + 4.0, _CELL * rows + 1.9)
    picture = Picture(figsize=size, layout="constrained")
    ratio = [_CELL * columns, 1.8]
    left, right = picture.subplots(1, 2, sharey=True, width_ratios=ratio)
    names = [standing.policy for standing in ranking]
    _draw_shares(left, standings, names)
    right.barh(range(rows), [standing.rank for standing in ranking], height=0.7, color="#0072b2")
    for row, standing in enumerate(ranking):
        right.text(standing.rank, row, f" {standing.rank:.1f}", va="center", fontsize=7)
    right.set(xlabel="mean rank", xlim=(0, 1.15 * rows))
    right.grid(visible=False)
    picture.suptitle(
        "Average regret as a share of random's\n(bold: lowest of the problem, x: unfinished)",
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
        colour = "white" if share <= _DARK else "black"  # NaN leaves the cell white
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
