"""The bounds of TV-GP-UCB and its measured regret over epsilon, as numbers and as a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from heliotrope.lab import pictures
from heliotrope.lab.theory.bounds import RegretBound, tv_block_bound
from heliotrope.lab.theory.gains import gain_curve
from heliotrope.lab.theory.report import (
    GENIE,
    PRACTICAL,
    THEOREM,
    TV,
    MeasuredRegret,
    Setting,
    simulate,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

EPSILONS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
COMPARED = ((TV, THEOREM), (TV, PRACTICAL), (GENIE, ""))
_LABELS = {
    (TV, THEOREM): "measured, the theorem's beta",
    (TV, PRACTICAL): "measured, beta = 0.8 log 4t",
    (GENIE, ""): "measured, the genie",
}
_STYLES = (("#d55e00", "--"), ("#009e73", "-."), ("#0072b2", "-"))


@dataclass(frozen=True)
class SweepRow:
    """The bound and the measured regrets at one epsilon, per step."""

    epsilon: float
    bound: RegretBound
    measured: Sequence[MeasuredRegret]


def sweep(setting: Setting, tick: Callable[[], None]) -> list[SweepRow]:
    """Bound and measure TV-GP-UCB at all epsilons; gamma_N is the same for all."""
    with threadpool_limits(1):
        gains = gain_curve(setting.prior, setting.domain, setting.assumptions.horizon).upper
    rows = []
    for epsilon in EPSILONS:
        assumptions = replace(setting.assumptions, epsilon=epsilon)
        at = replace(setting, assumptions=assumptions)
        measured = simulate(at, tick, COMPARED)
        rows.append(SweepRow(epsilon, tv_block_bound(assumptions, gains), measured))
    return rows


def draw(setting: Setting, rows: Sequence[SweepRow]) -> Picture:
    """Draw the three forms of eq:weakened2 and the measured regret on logarithmic axes."""
    T, epsilons = setting.assumptions.horizon, [row.epsilon for row in rows]
    picture, ((axes,),) = pictures.panels(1, 1, width=5.6, height=3.4)
    forms = {
        "as printed": [row.bound.printed for row in rows],
        "as corrected": [row.bound.corrected for row in rows],
        "ours": [row.bound.valid for row in rows],
    }
    for (name, values), (color, line) in zip(forms.items(), _STYLES, strict=True):
        label = f"bound eq:weakened2, {name}"
        axes.plot(epsilons, np.array(values) / T, line, color=color, label=label)
    for i, marker in enumerate("osD"):
        found = [row.measured[i] for row in rows]
        axes.errorbar(
            epsilons,
            [one.mean for one in found],
            yerr=[0.0 if np.isnan(one.error) else 2.0 * one.error for one in found],
            marker=marker,
            markersize=3,
            color="black" if i else "#0072b2",
            linewidth=0.8,
            linestyle=":" if i == 2 else "-",
            label=_LABELS[COMPARED[i]],
        )
    axes.set(xscale="log", yscale="log", xlabel=r"$\epsilon$", ylabel="regret per step $R_T / T$")
    axes.set_title(f"{setting.kernel}, T = {T}; bars: ± 2 standard errors")
    picture.legend(loc="outside lower center", ncols=2)
    return picture
