"""The command line: parses, calls and renders; what is done stands elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from heliotrope import __version__
from heliotrope.errors import HeliotropeError

if TYPE_CHECKING:
    from heliotrope.demo import Race

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

_LAST = 100  # steps of the table's second average


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"heliotrope {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print it and exit."
        ),
    ] = False,
) -> None:
    """Find what is best now, of a noisy function that keeps changing."""


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(file_okay=False, help="Folder for the pictures, made if missing.")
    ] = Path("heliotrope-demo"),
    steps: Annotated[int, typer.Option(min=1, max=2000, help="Steps of each policy.")] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Which world to draw.")] = 0,
    animation: Annotated[bool, typer.Option(help="Make the animation too.")] = True,
) -> None:
    """Race GP-UCB, R-GP-UCB and TV-GP-UCB on one drifting function, and draw what happened."""
    with _errors_as_messages():
        out.mkdir(parents=True, exist_ok=True)
        race, pictures = _race_and_draw(out, steps, seed, animation)
    console = Console()
    console.print(_regret_table(race))
    console.print(_verdict(race), highlight=False)
    for picture in pictures:
        typer.echo(f"Wrote {picture}")


@contextmanager
def _errors_as_messages() -> Iterator[None]:
    """Turn what a user can mend into one line on stderr and exit code 1."""
    try:
        yield
    except HeliotropeError as error:
        message = str(error)
    except OSError as error:
        message = (
            f"cannot use {error.filename}: {error.strerror}." if error.filename else str(error)
        )
    else:
        return
    typer.echo(f"heliotrope: {message}", err=True)
    raise typer.Exit(1)


def _race_and_draw(out: Path, steps: int, seed: int, animation: bool) -> tuple[Race, list[Path]]:
    """Do the work of the demo under progress bars; return the race and the pictures' paths."""
    from heliotrope import demo  # here, because matplotlib is slow to load

    still, film = out / "demo.png", out / "demo.gif"
    columns = (TextColumn("{task.description:<8}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        racing = progress.add_task("racing", total=3 * steps)
        race = demo.race(steps, seed, lambda: progress.advance(racing))
        demo.draw_still(race, still)
        if not animation:
            return race, [still]
        filming = progress.add_task("drawing", total=len(demo.film_times(steps)))
        demo.draw_film(race, film, lambda: progress.advance(filming))
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
