"""The command ``heliotrope demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from heliotrope.cli.console import Seed, progress
from heliotrope.lab.commands import OutFolder, lab_errors_as_messages

if TYPE_CHECKING:
    from heliotrope.lab.demo import Race

_LAST = 100  # steps in the second average of the table


def demo_command(
    out: OutFolder = Path("heliotrope-demo"),
    steps: Annotated[int, typer.Option(min=1, max=2000, help="Number of steps.")] = 300,
    seed: Seed = 0,
    animation: Annotated[bool, typer.Option(help="Also make the animation.")] = True,
) -> None:
    """Compare GP-UCB, R-GP-UCB and TV-GP-UCB on one drifting function, and plot the run."""
    with lab_errors_as_messages():
        out.mkdir(parents=True, exist_ok=True)
        race, pictures = _race_and_draw(out, steps, seed, animation)
    console = Console()
    console.print(_regret_table(race))
    console.print(_summary(race), highlight=False)
    for picture in pictures:
        typer.echo(f"Wrote {picture}")


def _race_and_draw(out: Path, steps: int, seed: int, animation: bool) -> tuple[Race, list[Path]]:
    """Run the race and draw it, with progress bars; return the race and the files."""
    from heliotrope.lab import demo  # matplotlib is slow to load

    still, animated = out / "demo.png", out / "demo.gif"
    with progress() as bars:
        racing = bars.add_task("racing", total=3 * steps)
        race = demo.race(steps, seed, lambda: bars.advance(racing))
        demo.draw_picture(race, still)
        if not animation:
            return race, [still]
        drawing = bars.add_task("drawing", total=len(demo.frame_times(steps)))
        demo.draw_animation(race, animated, lambda: bars.advance(drawing))
    return race, [still, animated]


def _regret_table(race: Race) -> Table:
    last = min(_LAST, race.horizon)
    table = Table(title=f"Regret over {race.horizon} steps (lower is better)")
    table.add_column("policy")
    for heading in ("average regret", f"in the last {last} steps", "ms per step"):
        table.add_column(heading, justify="right")
    for trajectory in race.trajectories:
        numbers = trajectory.regrets.mean(), trajectory.regrets[-last:].mean()
        pace = 1000.0 * trajectory.seconds / race.horizon
        table.add_row(trajectory.name, *(f"{number:.3f}" for number in numbers), f"{pace:.2f}")
    return table


def _summary(race: Race) -> str:
    """One sentence about the result, and its limits."""
    best, *others = sorted(
        race.trajectories, key=lambda trajectory: float(trajectory.regrets.mean())
    )
    losses = " and ".join(
        f"{trajectory.name} {trajectory.regrets.mean():.2f}" for trajectory in others
    )
    return (
        f"On this function {best.name} stayed closest to the moving maximum: its points were "
        f"{best.regrets.mean():.2f} below the best value of their step on average ({losses}). "
        "This is one random function; try another --seed."
    )
