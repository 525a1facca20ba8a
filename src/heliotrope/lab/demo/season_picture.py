"""The picture of the season demo: forecasts, parts, choices and regret."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from heliotrope.lab import pictures
from heliotrope.lab.demo.drift import Trajectory
from heliotrope.lab.demo.season import DAY, DRIFT, STATIC, SUM, Forecast, SeasonRun
from heliotrope.lab.environments import average_regret
from heliotrope.validation import Array, Indices

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLES = {
    SUM: "TV-GP-UCB with the sum",
    DRIFT: "TV-GP-UCB with a drift only",
    STATIC: "GP-UCB",
}
_PARTS = {"season": "season", "drifts": "drift", "level": "shared level"}
_NEAR = 0.05  # distance within which a measurement counts as nearby
_TRUTH: Any = {"color": "black", "linewidth": 1.0}
_WIDTH = 1.96  # deviations of a 95 % band


def draw_season(run: SeasonRun, path: Path) -> None:
    """Write the picture of a run."""
    with pictures.paper():
        figure = Figure(figsize=(7.4, 6.6), layout="constrained")
        rows: Any = figure.subfigures(3, 1, height_ratios=(1.15, 0.85, 1.15), hspace=0.04)
        _draw_forecasts(run, rows[0].subplots(1, 2, sharey=True))
        _draw_parts(run, rows[1].subplots(1, 3, sharey=True))
        left, right = rows[2].subplots(1, 2, width_ratios=(1.15, 1.0))
        _draw_choices(run, left)
        _draw_regret(run, right)
        figure.savefig(path)


def _draw_forecasts(run: SeasonRun, axes: Any) -> None:
    """The last day and the next one at one place: measurements, forecast and true values."""
    x = float(run.episode.domain.points[run.place, 0])
    first = max(run.horizon - DAY, 0)
    rows = np.arange(first, run.horizon + DAY)
    for one, policy in zip(axes, (SUM, DRIFT), strict=True):
        one.plot(_days(rows), run.episode.values[rows, run.place], label="truth", **_TRUTH)
        _draw_band(one, run, run.forecasts[policy], policy)
        near = _measured_near(run, policy, first)
        one.plot(_days(near[0]), near[1], ".", color=_color(policy), ms=5, label="measured nearby")
        one.axvline(_days(run.horizon - 1), color="#666666", linewidth=0.8, linestyle=":")
        one.set_title(f"{_TITLES[policy]}: forecast error {run.error(policy):.2f}")
        one.set_xlabel("time (days)")
        one.legend(loc="upper left", ncols=3, columnspacing=1.0, handlelength=1.4)
    low, high = axes[0].get_ylim()
    axes[0].set(ylim=(low, high + 0.22 * (high - low)), ylabel=f"value at $x = {x:.2f}$")


def _draw_parts(run: SeasonRun, axes: Any) -> None:
    """The parts of the forecast, by the policy with the sum."""
    for one, (part, forecast) in zip(axes, run.parts.items(), strict=True):
        rows = np.arange(run.horizon, run.horizon + DAY)
        one.plot(_days(rows), run.true_parts[part][rows, run.place], **_TRUTH)
        _draw_band(one, run, forecast, SUM)
        one.set_title(f"Part of the forecast: {_PARTS[part]}")
        one.set_xlabel("time (days)")
    axes[0].set_ylabel(f"value at $x = {run.episode.domain.points[run.place, 0]:.2f}$")


def _draw_choices(run: SeasonRun, axes: Axes) -> None:
    """Points measured in the last two days, over the true values without the level."""
    first = max(run.horizon - 2 * DAY, 0)
    values = (run.episode.values - run.true_parts["level"])[first : run.horizon]
    x = run.episode.domain.points[:, 0]
    edges = (_days(first - 1), _days(run.horizon - 1), float(x[0]), float(x[-1]))
    image = axes.imshow(
        values.T, origin="lower", aspect="auto", extent=edges, cmap="Greys", alpha=0.75
    )
    axes.figure.colorbar(image, ax=axes, label="true value without the level", pad=0.02)
    rows = np.arange(first, run.horizon)
    for policy, marker in ((DRIFT, "s"), (SUM, "o")):
        chosen = _trajectory(run, policy).chosen[first:]
        look: Any = {"ls": "", "marker": marker, "ms": 3, "mec": "white", "mew": 0.4}
        look |= {"clip_on": False, "zorder": 3}
        axes.plot(_days(rows), x[chosen], color=_color(policy), label=policy, **look)
    axes.set(xlabel="time (days)", ylabel="place $x$", title="Places measured in the last two days")
    axes.grid(False)


def _draw_regret(run: SeasonRun, axes: Axes) -> None:
    days = _days(np.arange(run.horizon))
    for trajectory in run.trajectories:
        average = average_regret(trajectory.regrets)
        label = f"{_TITLES[trajectory.name]}: {average[-1]:.2f}"
        axes.plot(days, average, label=label, **pictures.STYLES[trajectory.name])
    highest = max(average_regret(one.regrets)[-1] for one in run.trajectories)
    axes.set(ylim=(0.0, 2.2 * highest), xlabel="time (days)", ylabel="average regret $R_t / t$")
    axes.set_title("Regret over the whole run")
    axes.legend(loc="upper right")


def _draw_band(axes: Axes, run: SeasonRun, forecast: Forecast, policy: str) -> None:
    days, color = _days(np.arange(run.horizon, run.horizon + DAY)), _color(policy)
    axes.plot(days, forecast.mean, color=color, linewidth=1.6, label="forecast, 95 %")
    low, high = (forecast.mean + sign * _WIDTH * forecast.std for sign in (-1.0, 1.0))
    axes.fill_between(days, low, high, color=color, alpha=0.18, linewidth=0)


def _measured_near(run: SeasonRun, policy: str, first: int) -> tuple[Indices, Array]:
    """Rows and values of a policy's measurements near the place, since the row ``first``."""
    chosen, x = _trajectory(run, policy).chosen, run.episode.domain.points[:, 0]
    near = np.abs(x[chosen] - x[run.place]) <= _NEAR
    rows = np.flatnonzero(near & (np.arange(len(chosen)) >= first))
    return rows, np.array([run.episode.measure(row + 1, int(chosen[row])) for row in rows.tolist()])


def _trajectory(run: SeasonRun, policy: str) -> Trajectory:
    return next(one for one in run.trajectories if one.name == policy)


def _color(policy: str) -> str:
    return str(pictures.STYLES[policy]["color"])


def _days(rows: Any) -> Any:
    """Times of rows in days; row 0 is step 1."""
    return (rows + 1.0) / DAY
