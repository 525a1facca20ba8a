"""A replay told to its owner: in words, as a picture, as files."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import asdict, astuple, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from heliotrope import __version__
from heliotrope.arrays import Array
from heliotrope.experiments.figures import style
from heliotrope.experiments.replays.players import POLICIES
from heliotrope.experiments.replays.replay import Replay, ReplayRow
from heliotrope.experiments.series import average_regret

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_ENDLESS = 1e5  # steps; a half life beyond is as good as none
_SMOOTH = 40  # stretches that the picture of values is averaged over


def drift_in_words(replay: Replay) -> str:
    """Say what the fitted epsilon means."""
    lesson = replay.lesson
    low, high = lesson.fit.interval or (lesson.epsilon, lesson.epsilon)
    fitted = f"epsilon {lesson.epsilon:.3g} a step (95 %: {low:.3g} to {high:.3g})"
    if lesson.half_life > _ENDLESS:
        return f"What you learn hardly gets stale within this log: {fitted}."
    steps = max(1, round(lesson.half_life))
    after = f"{steps} step{'' if steps == 1 else 's'}{_of(replay.log.step)}"
    return f"Half of what you learn is stale after {after}: {fitted}."


def _of(step: str) -> str:
    return "" if step == "1" else f" of {step}"


def recommendation(replay: Replay) -> str:
    """Say what to use, and how sure that is."""
    best, place = replay.best, repr(replay.log.names[replay.lesson.fixed])
    sentences = [f"Use {POLICIES[best]}{_parameters(replay, best)}."]
    if best == "fixed":
        sentences = [f"Stay at {place}: no policy did better than the best place of the past."]
    elif best == "random":
        sentences = ["Nothing here beats a random choice: the past does not tell the future."]
    others = [POLICIES[policy] for policy in replay.tied if policy != "fixed"]
    if others:
        sentences.append(f"This log cannot tell it from {_listed(others)}.")
    if "fixed" in replay.tied:
        sentences.append(f"Staying at {place}, the best of the past, may do as well.")
    if replay.log.points is not None and "space" in replay.lesson.fit.at_bounds:
        sentences.append("Neighbours do not move together here: try without the locations.")
    return " ".join(sentences)


def _parameters(replay: Replay, policy: str) -> str:
    lesson = replay.lesson
    said = {
        "tv_gp_ucb": f" with epsilon {lesson.epsilon:.3g}",
        "learning": " (it learns the drift as it goes)",
        "r_gp_ucb": f" with a restart every {lesson.every:g} steps",
    }
    return said.get(policy, "")


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def draw(replay: Replay) -> Picture:
    """Average regret over time, and what the best policy took beside the best there was."""
    t = replay.log.times[replay.trained :]
    picture, ((left, right),) = style.panels(1, 2, width=3.6, height=2.5, sharey=False)
    for score in replay.scores:
        left.plot(
            t,
            average_regret(replay.regrets(score.policy)),
            label=POLICIES[score.policy],
            **style.LOOK[POLICIES[score.policy]],
        )
    axis = f"time (steps{_of(replay.log.step)})"
    left.set(xlabel=axis, ylabel="average regret $R_t / t$", ylim=(0, None), title="Regret")
    _draw_values(replay, right, t)
    right.set(xlabel=axis, ylabel="value", title="Values taken, smoothed")
    left.legend(fontsize=7)
    right.legend(fontsize=7)
    return picture


def _draw_values(replay: Replay, axes: object, t: Array) -> None:
    sign, values = (-1.0 if replay.minimize else 1.0), replay.episode.values
    best = values.max(axis=1)
    curves = {
        "best possible": (best, {"color": "black", "linewidth": 0.9}),
        POLICIES[replay.best]: (
            best - replay.regrets(replay.best),
            style.LOOK[POLICIES[replay.best]],
        ),
        "mean of all places": (values.mean(axis=1), {"color": "#999999", "linestyle": ":"}),
    }
    parts = np.array_split(np.arange(len(t)), min(_SMOOTH, len(t)))
    at = [float(t[part].mean()) for part in parts]
    for name, (curve, look) in curves.items():
        axes.plot(at, [sign * float(curve[part].mean()) for part in parts], label=name, **look)  # type: ignore[attr-defined]


def write(replay: Replay, out: str | os.PathLike[str]) -> list[Path]:
    """Write replay.csv (every step), .json (scores and settings), .png and .pdf."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"replay.{kind}" for kind in ("csv", "json", "png", "pdf")]
    with paths[0].open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow([field.name for field in fields(ReplayRow)])
        table.writerows(astuple(row) for row in replay.rows())
    paths[1].write_text(json.dumps(_record(replay), indent=2) + "\n", encoding="utf-8")
    with style.paper():
        picture = draw(replay)
        for path in paths[2:]:
            picture.savefig(path)
    return paths


def _record(replay: Replay) -> dict[str, object]:
    lesson = replay.lesson
    return {
        "heliotrope": __version__,
        "rows": {"trained": replay.trained, "tested": len(replay.episode.values)},
        "places": len(replay.log.names),
        "step": replay.log.step,
        "direction": "minimize" if replay.minimize else "maximize",
        "gaps_filled": replay.filled,
        "epsilon": lesson.epsilon,
        "epsilon_interval": lesson.fit.interval,
        "half_life_steps": lesson.half_life,
        "noise": lesson.prior.noise,
        "space": str(lesson.prior.space),
        "N": lesson.every,
        "c1": dict(lesson.c1),
        "scores": [asdict(score) for score in replay.scores],
        "drift": drift_in_words(replay),
        "recommendation": recommendation(replay),
    }
