"""The command ``heliotrope bounds``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heliotrope.cli.console import AsJson, Seed, progress
from heliotrope.lab.commands import lab_errors_as_messages, show

if TYPE_CHECKING:
    from heliotrope.lab.theory.report import MeasuredRegret, Setting, Theory


_POINTS = 4_100  # of a grid in more than two dimensions


_Constant0 = Annotated[
    float | None, typer.Option(help="Constant of eq:k_deriv0. Default: derived.")
]
_Constant1 = Annotated[
    float | None, typer.Option(help="Constant of eq:k_deriv1. Default: derived.")
]


class _Kernel(StrEnum):
    se = "se"
    matern = "matern"


def bounds_command(
    kernel: Annotated[_Kernel, typer.Option(help="Squared exponential, or Matern.")] = _Kernel.se,
    nu: Annotated[
        float, typer.Option(help="Smoothness of Matern; above 1 unless a1 and b1 are given.")
    ] = 2.5,
    length: Annotated[float, typer.Option(help="Length scale, in the unit cube.")] = 0.2,
    dimension: Annotated[int, typer.Option(min=1, max=12, help="Number of coordinates.")] = 2,
    epsilon: Annotated[float, typer.Option(help="Drift rate, per step.")] = 0.01,
    horizon: Annotated[int, typer.Option(min=1, max=2000, help="Number of steps, T.")] = 300,
    noise: Annotated[float, typer.Option(help="Variance of the noise.")] = 0.01,
    delta: Annotated[float, typer.Option(help="Probability that a bound fails.")] = 0.1,
    trials: Annotated[int, typer.Option(min=1, max=1000, help="Simulated functions.")] = 10,
    seed: Seed = 0,
    side: Annotated[
        int | None,
        typer.Option(min=1, max=2000, help="Grid points per coordinate. Default: by dimension."),
    ] = None,
    a0: _Constant0 = None,
    b0: _Constant0 = None,
    a1: _Constant1 = None,
    b1: _Constant1 = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw the bounds and the measured regret over epsilon to this file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the paper's regret bounds and ours, and compare them with measured regret."""
    given = {"a0": a0, "b0": b0, "a1": a1, "b1": b1}
    with lab_errors_as_messages():
        from heliotrope.lab.theory import (  # scikit-learn is slow to load
            Assumptions,
            report,
            tables,
        )

        space = report.named_kernel(kernel, length, nu)
        constants = report.constants(space, dimension, given)
        assumptions = Assumptions(horizon, epsilon, noise, constants, dimension, delta)
        side = side or {1: 200, 2: 50}.get(dimension, max(2, int(_POINTS ** (1 / dimension))))
        setting = report.Setting(space, assumptions, side, trials, seed)
        numbers, measured = _bound_and_measure(setting)
    found = [
        tables.theory_table(setting, numbers),
        tables.bounds_table(setting, numbers),
        tables.regret_table(setting, measured),
    ]
    written = [] if picture is None else [picture]
    if picture is not None:
        with lab_errors_as_messages():
            _draw(setting, picture)
    show(found, [report.summarize_bounds(setting, numbers, measured)], written, as_json)


def _draw(setting: Setting, path: Path) -> None:
    """Measure and draw at all epsilons, with a progress bar."""
    from heliotrope.lab import pictures
    from heliotrope.lab.theory import sweep

    with progress() as bars:
        total = setting.trials * len(sweep.EPSILONS) * len(sweep.COMPARED)
        task = bars.add_task("drawing", total=total)
        rows = sweep.sweep(setting, lambda: bars.advance(task))
    with pictures.paper():
        sweep.draw(setting, rows).savefig(path)


def _bound_and_measure(setting: Setting) -> tuple[Theory, list[MeasuredRegret]]:
    """Compute the bounds and measure the regret, with progress bars."""
    from heliotrope.lab.theory import report

    with progress() as bars:
        bounding = bars.add_task("bounding", total=1)
        measuring = bars.add_task("playing", total=setting.trials * len(report.strategies(setting)))
        numbers = report.theory(setting)
        bars.advance(bounding)
        return numbers, report.simulate(setting, lambda: bars.advance(measuring))
