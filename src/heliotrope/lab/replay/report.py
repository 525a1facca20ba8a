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
from heliotrope.lab.replay.candidates import CANDIDATES, FIXED, LEARNING, RANDOM
from heliotrope.lab.replay.drift import half_life
from heliotrope.lab.replay.picture import draw
from heliotrope.lab.replay.result import Replay, ReplayRow
from heliotrope.policies.registry import DEFAULT

_ALONE = 0.05  # share that places have in common with their neighbours, and below it none
_SAID = {**CANDIDATES, LEARNING: f"{DEFAULT.label} that learns the drift"}


def sentences(replay: Replay) -> list[str]:
    """What the replay means: the drift, what was made up, and what to use."""
    said = [drift_in_words(replay)]
    if replay.filled > 0.0:
        said.append(
            f"{replay.filled:.1%} of the values to test on were gaps; they are filled between "
            "their neighbours in time."
        )
    neighbours = replay.setup.neighbours
    if neighbours is not None and neighbours.share < _ALONE:
        said.append("Neighbouring places do not move together here: try without the locations.")
    return [*said, recommendation(replay)]


def drift_in_words(replay: Replay) -> str:
    """Say what the fitted epsilon means."""
    drift, longest = replay.setup.drift, float(replay.log.times[-1])
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
    place = repr(replay.log.names[replay.setup.fixed])
    if len(replay.choices) == 1:
        return f"There is nothing to compare {_SAID[replay.best]} with: replay others too."
    if replay.best == FIXED:
        return f"Stay at {place}: no policy did better than the best place of the past."
    if replay.best == RANDOM:
        return "No policy did better than a random choice: this log does not show what would."
    said = f"Use {_SAID[replay.best]}{_parameters(replay)}."
    rivals = [_SAID[policy] for policy in replay.rivals if policy != FIXED]
    if rivals:
        said += f" The log does not show for certain that it beats {_listed(rivals)}."
    if FIXED in replay.rivals:
        said += f" Staying at {place}, the best of the past, may do as well."
    return said


def _parameters(replay: Replay) -> str:
    setup, name = replay.setup, replay.best
    return f" ({setup.tuned[name].in_words(setup.drift.epsilon)})" if name in setup.tuned else ""


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
    setup = replay.setup
    neighbours = setup.neighbours
    return {
        "heliotrope": __version__,
        "rows": {"trained": replay.trained, "tested": len(replay.rewards)},
        "places": len(replay.log.names),
        "step": replay.log.step,
        "direction": "minimize" if replay.minimize else "maximize",
        "gaps_filled": replay.filled,
        "epsilon": setup.drift.epsilon,
        "epsilon_interval": setup.drift.interval,
        "half_life_steps": setup.drift.half_life,
        "noise": setup.prior.noise,
        "kernel": "empirical covariance" if neighbours is None else str(neighbours.kernel),
        "tuned": {name: asdict(tuning) for name, tuning in setup.tuned.items()},
        "scores": [asdict(score) for score in replay.scores],
        "drift": drift_in_words(replay),
        "recommendation": recommendation(replay),
    }
