"""The command line: parses, calls and renders; what is done stands elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
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
    from heliotrope.theory.report import Measured, Setting, Theory

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


class _Kernel(StrEnum):
    se = "se"
    matern = "matern"


@app.command()
def bounds(
    kernel: Annotated[_Kernel, typer.Option(help="Squared exponential or Matern.")] = _Kernel.se,
    nu: Annotated[float, typer.Option(help="Smoothness of the Matern kernel, above 1.")] = 2.5,
    length: Annotated[float, typer.Option(help="Length scale in the unit cube.")] = 0.2,
    dimension: Annotated[int, typer.Option(min=1, max=2, help="1 or 2.")] = 2,
    epsilon: Annotated[float, typer.Option(help="Share that is new after a step.")] = 0.01,
    horizon: Annotated[int, typer.Option(min=1, max=2000, help="Steps, T.")] = 300,
    noise: Annotated[float, typer.Option(help="Variance of the noise.")] = 0.01,
    delta: Annotated[float, typer.Option(help="How often a bound may fail.")] = 0.1,
    trials: Annotated[int, typer.Option(min=1, max=1000, help="Worlds to simulate.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Which worlds to draw.")] = 0,
    side: Annotated[
        int | None, typer.Option(min=1, max=2000, help="Points a coordinate; 200, or 50 in 2-D.")
    ] = None,
    a0: Annotated[float | None, typer.Option(help="Constants of eq:k_deriv0 ...")] = None,
    b0: Annotated[float | None, typer.Option(help="... derived if not given.")] = None,
    a1: Annotated[float | None, typer.Option(help="Constants of eq:k_deriv1 ...")] = None,
    b1: Annotated[float | None, typer.Option(help="... derived if not given.")] = None,
) -> None:
    """Compute the paper's regret bounds, and measure beside them how loose they are."""
    given = {"a0": a0, "b0": b0, "a1": a1, "b1": b1}
    with _errors_as_messages():
        from heliotrope.theory import Problem, report, tables  # scikit-learn is slow to load

        space = report.named_kernel(kernel, length, nu)
        constants = report.constants(space, dimension, given)
        problem = Problem(horizon, epsilon, noise, constants, dimension, delta)
        side = side or (200 if dimension == 1 else 50)
        setting = report.Setting(space, problem, side, trials, seed)
        numbers, measured = _bound_and_measure(setting)
    console = Console()
    console.print(tables.theory_table(setting, numbers))
    console.print(tables.regret_table(setting, numbers, measured))
    console.print(report.verdict(setting, numbers, measured), highlight=False)


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


def _bound_and_measure(setting: Setting) -> tuple[Theory, list[Measured]]:
    """Do the work of the bounds under a progress bar."""
    from heliotrope.theory import report

    columns = (TextColumn("{task.description:<8}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bounding = progress.add_task("bounding", total=1)
        measuring = progress.add_task(
            "playing", total=setting.trials * len(report.players(setting))
        )
        numbers = report.theory(setting)
        progress.advance(bounding)
        return numbers, report.simulate(setting, lambda: progress.advance(measuring))


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
