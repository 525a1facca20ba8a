"""The command ``heliotrope demo``."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from heliotrope.cli.console import AsJson, Seed, progress
from heliotrope.lab.commands import OutFolder, lab_errors_as_messages, show

if TYPE_CHECKING:
    from heliotrope.lab.demo.drift import Trajectory
    from heliotrope.lab.demo.season import SeasonRun

_LAST = 100  # steps in the second average of the table


class _World(StrEnum):
    drift = "drift"
    season = "season"


def demo_command(
    out: OutFolder = Path("heliotrope-demo"),
    world: Annotated[
        _World, typer.Option(help="Function to track: the paper's drift, or a daily season.")
    ] = _World.drift,
    steps: Annotated[int, typer.Option(min=1, max=2000, help="Number of steps.")] = 300,
    seed: Seed = 0,
    animation: Annotated[bool, typer.Option(help="Also make the animation of the drift.")] = True,
    as_json: AsJson = False,
) -> None:
    """Compare GP-UCB, R-GP-UCB and TV-GP-UCB on one drifting function, and plot the run.

    With --world season, compare TV-GP-UCB with and without a model of the season.
    """
    with lab_errors_as_messages():
        out.mkdir(parents=True, exist_ok=True)
        if world == _World.drift:
            trajectories, summary, pictures = _show_drift(out, steps, seed, animation)
        else:
            trajectories, summary, pictures = _show_season(out, steps, seed)
    show([_regret_table(trajectories)], [summary], pictures, as_json)


_Shown = tuple["Sequence[Trajectory]", str, list[Path]]
"""The runs, a sentence about them, and the files written."""


def _show_drift(out: Path, steps: int, seed: int, animation: bool) -> _Shown:
    """Run the race and draw it, with progress bars."""
    from heliotrope.lab.demo import drift  # matplotlib is slow to load

    still, animated = out / "demo.png", out / "demo.gif"
    with progress() as bars:
        racing = bars.add_task("racing", total=3 * steps)
        race = drift.race(steps, seed, lambda: bars.advance(racing))
        drift.draw_picture(race, still)
        summary = _drift_summary(race.trajectories)
        if not animation:
            return race.trajectories, summary, [still]
        drawing = bars.add_task("drawing", total=len(drift.frame_times(steps)))
        drift.draw_animation(race, animated, lambda: bars.advance(drawing))
    return race.trajectories, summary, [still, animated]


def _show_season(out: Path, steps: int, seed: int) -> _Shown:
    """Run the policies of the season demo and draw them, with a progress bar."""
    from heliotrope.lab.demo import season, season_picture  # matplotlib is slow to load

    still = out / "season.png"
    with progress() as bars:
        running = bars.add_task("running", total=len(season.season_policies()) * steps)
        run = season.run_season(steps, seed, lambda: bars.advance(running))
        season_picture.draw_season(run, still)
    return run.trajectories, _season_summary(run), [still]


def _regret_table(trajectories: Sequence[Trajectory]) -> Table:
    horizon = len(trajectories[0].chosen)
    last = min(_LAST, horizon)
    table = Table(title=f"Regret over {horizon} steps (lower is better)")
    table.add_column("policy")
    for heading in ("average regret", f"in the last {last} steps", "ms per step"):
        table.add_column(heading, justify="right")
    for trajectory in trajectories:
        numbers = trajectory.regrets.mean(), trajectory.regrets[-last:].mean()
        pace = 1000.0 * trajectory.seconds / horizon
        table.add_row(trajectory.name, *(f"{number:.3f}" for number in numbers), f"{pace:.2f}")
    return table


def _drift_summary(trajectories: Sequence[Trajectory]) -> str:
    """One sentence about the result, and its limits."""
    best, *others = sorted(trajectories, key=lambda trajectory: float(trajectory.regrets.mean()))
    losses = " and ".join(
        f"{trajectory.name} {trajectory.regrets.mean():.2f}" for trajectory in others
    )
    return (
        f"On this function {best.name} stayed closest to the moving maximum: its points were "
        f"{best.regrets.mean():.2f} below the best value of their step on average ({losses}). "
        "This is one random function; try another --seed."
    )


def _season_summary(run: SeasonRun) -> str:
    from heliotrope.lab.demo.season import DRIFT, SUM

    x = float(run.episode.domain.points[run.place, 0])
    return (
        f"The forecast of the next day at x = {x:.2f} has a root mean square error of "
        f"{run.error(SUM):.2f} with the sum of season, drift and level, and of "
        f"{run.error(DRIFT):.2f} with the drift alone. "
        "This is one random function; try another --seed."
    )
