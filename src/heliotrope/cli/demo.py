"""The command ``heliotrope demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from heliotrope.cli.console import lab_errors_as_messages, progress

if TYPE_CHECKING:
    from heliotrope.lab.demo import Race

_LAST = 100  # steps of the table's second average


def demo(
    out: Annotated[
        Path, typer.Option(file_okay=False, help="Folder for the pictures, made if missing.")
    ] = Path("heliotrope-demo"),
    steps: Annotated[int, typer.Option(min=1, max=2000, help="Steps of each policy.")] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Which world to draw.")] = 0,
    animation: Annotated[bool, typer.Option(help="Make the animation too.")] = True,
) -> None:
    """Race GP-UCB, R-GP-UCB and TV-GP-UCB on one drifting function, and draw what happened."""
    with lab_errors_as_messages():
        out.mkdir(parents=True, exist_ok=True)
        race, pictures = _race_and_draw(out, steps, seed, animation)
    console = Console()
    console.print(_regret_table(race))
    console.print(_verdict(race), highlight=False)
    for picture in pictures:
        typer.echo(f"Wrote {picture}")


def _race_and_draw(out: Path, steps: int, seed: int, animation: bool) -> tuple[Race, list[Path]]:
    """Do the work of the demo under progress bars; return the race and the pictures' paths."""
    from heliotrope.lab import demo  # here, because matplotlib is slow to load

    still, film = out / "demo.png", out / "demo.gif"
    with progress() as bars:
        racing = bars.add_task("racing", total=3 * steps)
        race = demo.race(steps, seed, lambda: bars.advance(racing))
        demo.draw_still(race, still)
        if not animation:
            return race, [still]
        filming = bars.add_task("drawing", total=len(demo.film_times(steps)))
        demo.draw_film(race, film, lambda: bars.advance(filming))
    return race, [still, film]


def _regret_table(race: Race) -> Table:
    last = min(_LAST, race.horizon)
    table = Table(title=f"Regret over {race.horizon} steps (lower is better)")
    table.add_column("policy")
    for heading in ("average regret", f"in the last {last} steps", "ms a step"):
        table.add_column(heading, justify="right")
    for track in race.tracks:
        numbers = track.regrets.mean(), track.regrets[-last:].mean()
        pace = 1000.0 * track.seconds / race.horizon
        table.add_row(track.name, *(f"{number:.3f}" for number in numbers), f"{pace:.2f}")
    return table


def _verdict(race: Race) -> str:
    """Say what the numbers mean, and no more than they do."""
    best, *others = sorted(race.tracks, key=lambda track: float(track.regrets.mean()))
    losses = " and ".join(f"{track.name} {track.regrets.mean():.2f}" for track in others)
    return (
        f"In this world {best.name} stayed closest to the moving maximum: on average its points "
        f"were {best.regrets.mean():.2f} below the best value of their moment ({losses}). "
        "One world is one draw; try another --seed."
    )
