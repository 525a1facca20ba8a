"""Plain worlds: 1,000 drawn ones, each through a drawn surface, and 50 exact functions.

``python -m benchmarks plain --worlds 50 --seed 7`` plays 50 others. Each world is played for 150
steps through an optimizer, a study in memory, a study in a SQLite file or an Optuna study, and is
saved and opened again three times. A run that was stopped continues. The table by family goes to
``benchmarks/plain.csv``, from which the site takes it.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks.history import current_commit
from benchmarks.kept import Kept
from benchmarks.plain_exact import exact_findings
from benchmarks.plain_optuna import OptunaSurface, allows
from benchmarks.report import Finding
from heliotrope.estimation import is_estimate_due
from heliotrope.lab.plain import (
    OptimizerSurface,
    PlainWorld,
    ReopenedSurface,
    StudySurface,
    Surface,
    Truth,
    draw,
    judge,
    play,
)

STEPS, WORLDS, FIRST_SEED, PROCESSES = 150, 1_000, 31_000_000, 2
_WIDTH = 150  # characters, of the table
FILE = Path(__file__).parent / "plain.csv"
SURFACES: Mapping[str, Callable[[Truth], Surface]] = {
    "optimizer": OptimizerSurface,
    "study": StudySurface,
    "reopened study": ReopenedSurface,
    "Optuna": OptunaSurface,
}


@dataclass(frozen=True)
class Row:
    """How one world went; ``short`` says that the regret was too large."""

    seed: int
    family: str
    surface: str
    failures: list[str]
    warnings: list[str]
    fallbacks: list[str]
    messages: list[str]
    differences: list[str]
    own: float
    random: float
    reference: float
    short: bool
    median_ms: float
    slowest: float

    @property
    def ratio(self) -> float:
        """Regret over that of random choices; NaN where all choices are equal."""
        return self.own / self.random if self.random > 0.0 else float("nan")


def findings(worlds: int = WORLDS, seed: int = FIRST_SEED) -> Iterator[Finding]:
    yield from exact_findings()
    rows = _rows(range(seed, seed + worlds))
    _print_table(rows)
    _print_troubles(rows)
    if worlds == WORLDS and seed == FIRST_SEED:
        _write(rows)
    for name, lists in (
        ("failed call", [row.failures for row in rows]),
        ("warning", [row.warnings for row in rows]),
        ("other message in the log", [row.messages for row in rows]),
        ("ask that differs after reopening", [row.differences for row in rows]),
    ):
        count = sum(map(len, lists))
        yield Finding(f"{worlds:,} plain worlds: no {name}", f"{count:,}", count == 0)
    yield _fallback_finding(rows)
    short = sum(row.short for row in rows)
    yield Finding(
        f"{worlds:,} plain worlds: regret of the second half at most 0.2 of random's, or 1.5 times "
        "that of a GP that knows a fast or noisy world",
        f"{short:,} fall short",
        short == 0,
    )


def _fallback_finding(rows: Sequence[Row]) -> Finding:
    fallbacks = sum(len(row.fallbacks) for row in rows)
    estimates = len(rows) * sum(map(is_estimate_due, range(1, STEPS + 1)))
    return Finding(
        f"{len(rows):,} plain worlds: at most 1 fallback in 1,000 estimates",
        f"{fallbacks:,} in about {estimates:,}",
        1_000 * fallbacks <= estimates,
    )


def surface_for(world: PlainWorld) -> str:
    """The name of the surface that plays a world: one of those that it allows, by its seed."""
    names = [name for name in SURFACES if name != "Optuna" or allows(world)]
    names = [name for name in names if name != "optimizer" or world.context is None]
    return names[int(np.random.default_rng([world.seed, 5]).integers(len(names)))]


def row_of(seed: int) -> Row:
    """Play the world of a seed."""
    world = draw(seed)
    name, truth = surface_for(world), Truth(world)
    record = play(truth, SURFACES[name](truth), STEPS)
    verdict = judge(truth, record, STEPS)
    return Row(
        seed,
        world.family,
        name,
        record.failures,
        record.warnings,
        record.fallbacks,
        record.messages,
        record.differences,
        verdict.own,
        verdict.random,
        verdict.reference,
        not verdict.holds,
        1e3 * float(np.median(record.seconds)),
        record.slowest,
    )


def _rows(seeds: Sequence[int]) -> list[Row]:
    kept = Kept(f"plain-{current_commit()}")
    missing = [seed for seed in seeds if seed not in kept]
    with ProcessPoolExecutor(PROCESSES, initializer=threadpool_limits, initargs=(1,)) as pool:
        for row in pool.map(row_of, missing):
            kept.get(row.seed, partial(asdict, row))
    return [Row(**kept.get(seed, dict)) for seed in seeds]


def _by_family(rows: Sequence[Row]) -> Iterator[dict[str, str]]:
    families: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        families[row.family].append(row)
    for family, own in [*sorted(families.items()), ("all", list(rows))]:
        ratios = [row.ratio for row in own if np.isfinite(row.ratio)]
        yield {
            "family": family,
            "worlds": str(len(own)),
            "failed calls": str(sum(len(row.failures) for row in own)),
            "warnings": str(sum(len(row.warnings) for row in own)),
            "fallbacks": str(sum(len(row.fallbacks) for row in own)),
            "other asks": str(sum(len(row.differences) for row in own)),
            "regret / random's, median": f"{np.median(ratios):.3f}" if ratios else "",
            "90 %": f"{np.quantile(ratios, 0.9):.2f}" if ratios else "",
            "short": str(sum(row.short for row in own)),
            "ms per call": f"{np.median([row.median_ms for row in own]):.1f}",
            "slowest / median": f"{np.median([row.slowest for row in own]):.0f}",
        }


def _print_table(rows: Sequence[Row]) -> None:
    lines = list(_by_family(rows))
    table = Table(*lines[0], title=f"{len(rows):,} plain worlds, {STEPS} steps each")
    for line in lines:
        table.add_row(*line.values())
    Console(width=_WIDTH).print(table)


def _print_troubles(rows: Sequence[Row]) -> None:
    """Each world in which something happened, and what falls short."""
    for row in rows:
        where = f"draw({row.seed}), {row.family}, {row.surface}"
        for name in ("failures", "warnings", "fallbacks", "messages", "differences"):
            listed = getattr(row, name)
            if listed:
                print(f"{where}: {len(listed)} {name}, the first: {listed[0]}")
        if row.short:
            figures = f"regret {row.own:.3g}, random {row.random:.3g}, GP {row.reference:.3g}"
            print(f"{where} falls short: {figures}: {json.dumps(_described(row.seed))}")


def _described(seed: int) -> dict[str, str]:
    """The parts of a world that are not the usual ones."""
    world = draw(seed)
    usual = PlainWorld(world.name, world.family, world.space, seed=world.seed)
    parts = {name: value for name, value in vars(world).items() if value != getattr(usual, name)}
    return {name: str(value) for name, value in parts.items()} | {"space": str(world.space)}


def _write(rows: Sequence[Row]) -> None:
    lines = list(_by_family(rows))
    with FILE.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
