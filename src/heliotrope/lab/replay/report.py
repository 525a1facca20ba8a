"""The report of a replay: sentences and files."""

import csv
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, astuple, fields
from pathlib import Path

from heliotrope import __version__
from heliotrope.lab import pictures
from heliotrope.lab.replay.candidates import CANDIDATES, FIXED, LEARNING, RANDOM_CHOICE
from heliotrope.lab.replay.drift import half_life
from heliotrope.lab.replay.picture import draw_replay
from heliotrope.lab.replay.result import ReplayResult, ReplayRow
from heliotrope.policies.registry import STUDY_DEFAULT

_ALONE = 0.05  # share of variance in common with neighbours that is negligible
_LABELS = {**CANDIDATES, LEARNING: f"{STUDY_DEFAULT.label} that learns the drift"}


def sentences(result: ReplayResult) -> list[str]:
    """The drift, the filled gaps and the recommendation, in sentences."""
    said = [drift_in_words(result)]
    if result.filled > 0.0:
        said.append(
            f"{result.filled:.1%} of the test values were gaps; they are interpolated in time."
        )
    neighbours = result.setup.neighbours
    if neighbours is not None and neighbours.share < _ALONE:
        said.append("Neighbouring places are not correlated: try without the locations.")
    return [*said, recommendation(result)]


def drift_in_words(result: ReplayResult) -> str:
    """Explain the fitted epsilon."""
    drift, longest = result.setup.drift, float(result.log.times[-1])
    low, high = drift.interval
    fitted = f"epsilon {drift.epsilon:.3g} per step (95 %: {low:.2g} to {high:.2g})"
    if half_life(low) > longest and half_life(high) < 1.0:
        return f"The log does not show how fast information becomes stale: {fitted}."
    if drift.half_life > longest:
        return f"Information hardly becomes stale within this log: {fitted}."
    if drift.half_life < 0.5:
        return f"Information is stale at the next step: {fitted}."
    count = max(1, round(drift.half_life))
    steps = "1 step" if count == 1 else f"{count} steps"
    return f"Half of the information is stale after {steps}{_of(result.log.step)}: {fitted}."


def _of(step: str) -> str:
    return "" if step == "1" else f" of {step}"


def recommendation(result: ReplayResult) -> str:
    """Recommend a policy, and name those that may be as good."""
    place = repr(result.log.names[result.setup.fixed])
    if len(result.choices) == 1:
        return f"{_LABELS[result.best]} is the only policy: replay others for a comparison."
    if result.best == FIXED:
        return f"Stay at {place}: no policy was better than the best place of the past."
    if result.best == RANDOM_CHOICE:
        return "No policy was better than random choice."
    said = f"Use {_LABELS[result.best]}{_parameters(result)}."
    rivals = [_LABELS[policy] for policy in result.rivals if policy != FIXED]
    if rivals:
        said += f" It is not significantly better than {_listed(rivals)}."
    if FIXED in result.rivals:
        said += f" Staying at {place}, the best place of the past, may be as good."
    return said


def _parameters(result: ReplayResult) -> str:
    setup, name = result.setup, result.best
    return f" ({setup.tuned[name].in_words(setup.drift.epsilon)})" if name in setup.tuned else ""


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def write_replay(result: ReplayResult, out: str | os.PathLike[str]) -> list[Path]:
    """Write replay.csv (every step), .json (scores and the learned setup), .png and .pdf."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    table, numbers, *drawings = (
        folder / f"replay.{kind}" for kind in ("csv", "json", "png", "pdf")
    )
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(ReplayRow)])
        writer.writerows(map(astuple, result.rows()))
    numbers.write_text(json.dumps(record(result), indent=2) + "\n", encoding="utf-8")
    with pictures.paper():
        picture = draw_replay(result)
        for path in drawings:
            picture.savefig(path)
    return [table, numbers, *drawings]


def record(result: ReplayResult) -> dict[str, object]:
    """All numbers and settings as JSON."""
    setup = result.setup
    neighbours = setup.neighbours
    return {
        "heliotrope": __version__,
        "rows": {"trained": result.trained, "tested": len(result.rewards)},
        "places": len(result.log.names),
        "step": result.log.step,
        "direction": "minimize" if result.minimize else "maximize",
        "gaps_filled": result.filled,
        "epsilon": setup.drift.epsilon,
        "epsilon_interval": setup.drift.interval,
        "half_life_steps": setup.drift.half_life,
        "noise": setup.prior.noise,
        "kernel": "empirical covariance" if neighbours is None else str(neighbours.kernel),
        "tuned": {name: asdict(tuning) for name, tuning in setup.tuned.items()},
        "scores": [asdict(score) for score in result.scores],
        "drift": drift_in_words(result),
        "recommendation": recommendation(result),
    }
