"""A replay told to its owner: in words, and as files."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, astuple, fields
from pathlib import Path

from heliotrope import __version__
from heliotrope.lab import pictures
from heliotrope.lab.replay.drift import half_life
from heliotrope.lab.replay.picture import draw
from heliotrope.lab.replay.players import POLICIES
from heliotrope.lab.replay.result import Replay, ReplayRow

_ALONE = 0.05  # share that places have in common with their neighbours, and below it none
_SAID = {**POLICIES, "learning": "TV-GP-UCB that learns the drift"}


def sentences(replay: Replay) -> list[str]:
    """What the replay means: the drift, what was made up, and what to use."""
    said = [drift_in_words(replay)]
    if replay.filled > 0.0:
        said.append(
            f"{replay.filled:.1%} of the values to test on were gaps; they are filled between "
            "their neighbours in time."
        )
    neighbours = replay.lesson.neighbours
    if neighbours is not None and neighbours.share < _ALONE:
        said.append("Neighbouring places do not move together here: try without the locations.")
    return [*said, recommendation(replay)]


def drift_in_words(replay: Replay) -> str:
    """Say what the fitted epsilon means."""
    drift, longest = replay.lesson.drift, float(replay.log.times[-1])
    low, high = drift.interval
    fitted = f"epsilon {drift.epsilon:.3g} a step (95 %: {low:.2g} to {high:.2g})"
    if half_life(low) > longest and half_life(high) < 1.0:
        return f"The log does not show how soon what you learn is stale: {fitted}."
    if drift.half_life > longest:
        return f"What you learn hardly gets stale within this log: {fitted}."
    if drift.half_life < 0.5:
        return f"What you learn is stale at the next step: {fitted}."
    count = max(1, round(drift.half_life))
    steps = "1 step" if count == 1 else f"{count} steps"
    return f"Half of what you learn is stale after {steps}{_of(replay.log.step)}: {fitted}."


def _of(step: str) -> str:
    return "" if step == "1" else f" of {step}"


def recommendation(replay: Replay) -> str:
    """Say what to use, and how sure that is."""
    place = repr(replay.log.names[replay.lesson.fixed])
    if len(replay.choices) == 1:
        return f"There is nothing to compare {_SAID[replay.best]} with: replay others too."
    if replay.best == "fixed":
        return f"Stay at {place}: no policy did better than the best place of the past."
    if replay.best == "random":
        return "No policy did better than a random choice: this log does not show what would."
    said = f"Use {_SAID[replay.best]}{_parameters(replay)}."
    rivals = [_SAID[policy] for policy in replay.rivals if policy != "fixed"]
    if rivals:
        said += f" The log does not show for certain that it beats {_listed(rivals)}."
    if "fixed" in replay.rivals:
        said += f" Staying at {place}, the best of the past, may do as well."
    return said


def _parameters(replay: Replay) -> str:
    lesson, name = replay.lesson, replay.best
    if name not in lesson.tuned:
        return ""
    tuning = lesson.tuned[name]
    given = {
        "tv_gp_ucb": f"epsilon = {lesson.drift.epsilon:.3g}, ",
        "r_gp_ucb": f"a restart every {tuning.every} steps, ",
    }
    return f" ({given.get(name, '')}beta = {tuning.c1:g} log(0.4 t))"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def write(replay: Replay, out: str | os.PathLike[str]) -> list[Path]:
    """Write replay.csv (every step), .json (scores and what was learned), .png and .pdf."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    table, record, *drawings = (folder / f"replay.{kind}" for kind in ("csv", "json", "png", "pdf"))
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(ReplayRow)])
        writer.writerows(map(astuple, replay.rows()))
    record.write_text(json.dumps(_record(replay), indent=2) + "\n", encoding="utf-8")
    with pictures.paper():
        picture = draw(replay)
        for path in drawings:
            picture.savefig(path)
    return [table, record, *drawings]


def _record(replay: Replay) -> dict[str, object]:
    lesson = replay.lesson
    neighbours = lesson.neighbours
    return {
        "heliotrope": __version__,
        "rows": {"trained": replay.trained, "tested": len(replay.rewards)},
        "places": len(replay.log.names),
        "step": replay.log.step,
        "direction": "minimize" if replay.minimize else "maximize",
        "gaps_filled": replay.filled,
        "epsilon": lesson.drift.epsilon,
        "epsilon_interval": lesson.drift.interval,
        "half_life_steps": lesson.drift.half_life,
        "noise": lesson.prior.noise,
        "kernel": "empirical covariance" if neighbours is None else str(neighbours.kernel),
        "tuned": {name: asdict(tuning) for name, tuning in lesson.tuned.items()},
        "scores": [asdict(score) for score in replay.scores],
        "drift": drift_in_words(replay),
        "recommendation": recommendation(replay),
    }
