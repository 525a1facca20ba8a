"""The drift demo: three policies track the maximum of one drifting function."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.animation import PillowWriter
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.image import AxesImage
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from threadpoolctl import threadpool_limits

import heliotrope as ht
from heliotrope.kernels import RBF
from heliotrope.lab.environments import FiniteEpisode, GPDrift
from heliotrope.policies import Policy
from heliotrope.validation import Array, Indices, as_whole

_Rect = tuple[float, float, float, float]  # left, bottom, width, height, as fractions of a figure

_SIDE = 50  # grid points per coordinate
_FRAMES = 50  # of the animation, at most
_SNAPSHOTS = 4  # of the picture, at most
_RECENT = 20  # steps that count as recent
_SCALE = 2.5  # of the colours; the function's standard deviation is 1
_TRUTH = "true $f_t$"
_STYLES: Any = {  # Okabe and Ito's colours for the colour-blind
    _TRUTH: {"color": "black", "marker": "D"},
    "GP-UCB": {"color": "#E69F00", "marker": "s"},
    "R-GP-UCB": {"color": "#0072B2", "marker": "^"},
    "TV-GP-UCB": {"color": "#D55E00", "marker": "o"},
}


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The run of one policy: points (T,), regrets (T,), seconds, and its mean at some times."""

    name: str
    chosen: Indices
    regrets: Array
    seconds: float
    means: Mapping[int, Array]

    def averages(self, window: int) -> Array:
        """Average regret of the latest ``window`` steps at each time, (T,)."""
        sums = self.regrets.cumsum()
        sums[window:] -= sums[:-window].copy()
        return np.asarray(sums / np.minimum(np.arange(1, len(sums) + 1), window))


@dataclass(frozen=True, eq=False)
class Race:
    """One world, and the trajectories of all policies in it."""

    episode: FiniteEpisode
    trajectories: Sequence[Trajectory]

    @property
    def horizon(self) -> int:
        """Number of steps, T."""
        return len(self.episode.values)

    @cached_property
    def truth(self) -> Trajectory:
        """The trajectory of the true maximum."""
        values = self.episode.values
        means = dict(enumerate(values, start=1))
        return Trajectory(_TRUTH, values.argmax(axis=1), np.zeros(self.horizon), 0.0, means)


def policies(prior: ht.Prior) -> dict[str, Policy]:
    """Return the paper's three policies, by name."""
    beta = ht.LogBeta(0.8, 4.0)
    return {
        "GP-UCB": ht.gp_ucb(prior, beta),
        "R-GP-UCB": ht.r_gp_ucb(prior, 38, beta),
        "TV-GP-UCB": ht.tv_gp_ucb(prior, beta),
    }


def race(steps: int, seed: int, tick: Callable[[], None]) -> Race:
    """Run all policies in one world of the paper's model; tick once per step of each."""
    steps, seed = as_whole(steps, "steps", least=1), as_whole(seed, "seed", least=0)
    prior = ht.Prior(RBF(0.2), ht.Forgetting(0.01), noise=0.01)
    with threadpool_limits(1):  # a step is too short for several threads
        episode = GPDrift(ht.grid(_SIDE, _SIDE), prior).episode(steps, seed)
        named = policies(prior).items()
        shown = {*frame_times(steps), *_spread(_SNAPSHOTS, steps)}
        trajectories = [
            follow(n, ht.Optimizer(episode.domain, p, seed), episode, tick, shown) for n, p in named
        ]
    return Race(episode, trajectories)


def frame_times(steps: int) -> list[int]:
    """Return the times of the animation's frames."""
    return _spread(_FRAMES, steps)


def draw_picture(race: Race, path: Path) -> None:
    """Write the picture: true values and posterior means at a few times, and regret over time."""
    figure = Figure(figsize=(9.0, 6.5))
    times = _spread(_SNAPSHOTS, race.horizon)
    cells = figure.add_gridspec(
        4, _SNAPSHOTS, left=0.085, right=0.635, bottom=0.16, top=0.94, wspace=0.1, hspace=0.1
    )
    for row, trajectory in enumerate([race.truth, *race.trajectories]):
        maps = [_Map(figure, cells[row, i], race, trajectory) for i in range(len(times))]
        for panel, t in zip(maps, times, strict=True):
            panel.show(t)
            panel.ax.set_title(f"$t = {t}$" if row == 0 else "", fontsize=10)
        style: Any = {"rotation": 90, "va": "center", "weight": "bold"}
        maps[0].ax.text(
            -0.48, 0.5, trajectory.name, color=_STYLES[trajectory.name]["color"], **style
        )
    _explain(figure, maps[0].image, bar=(0.085, 0.075, 0.55, 0.018), marks=(0.85, 0.005))
    upper = _Curves(figure.add_axes((0.73, 0.6, 0.25, 0.34)), race, race.horizon, columns=1)
    lower = _Curves(figure.add_axes((0.73, 0.22, 0.25, 0.34)), race, _RECENT, columns=0)
    upper.ax.set(xlabel="", xticklabels=[], ylabel="average regret $R_t / t$")
    lower.ax.set_ylabel(f"mean regret of recent {_RECENT} steps")
    for curves in (upper, lower):
        curves.show(race.horizon)
    figure.savefig(path, dpi=200)


def draw_animation(race: Race, path: Path, tick: Callable[[], None]) -> None:
    """Write the animation of true values, posterior means and regret; tick once per frame."""
    figure = Figure(figsize=(8.0, 4.7))
    cells = figure.add_gridspec(1, 4, left=0.06, right=0.98, bottom=0.46, top=0.88, wspace=0.1)
    trajectories = [race.truth, *race.trajectories]
    maps = [
        _Map(figure, cells[0, i], race, trajectory) for i, trajectory in enumerate(trajectories)
    ]
    for panel, trajectory in zip(maps, trajectories, strict=True):
        panel.ax.set_title(trajectory.name, color=_STYLES[trajectory.name]["color"], weight="bold")
    _explain(figure, maps[0].image, bar=(0.66, 0.14, 0.3, 0.025), marks=(0.81, 0.17))
    curves = _Curves(figure.add_axes((0.085, 0.115, 0.52, 0.27)), race, race.horizon, columns=3)
    clock = figure.text(0.5, 0.955, "", ha="center", va="center", fontsize=12)
    writer = PillowWriter(fps=5)
    with writer.saving(figure, path, dpi=90):
        for t in frame_times(race.horizon):
            clock.set_text(f"time step {t}")
            curves.show(t)
            for panel in maps:
                panel.show(t)
            writer.grab_frame()
            tick()


class _Map:
    """A heat map of a posterior mean, with the recent points and the true maximum."""

    def __init__(
        self, figure: Figure, cell: SubplotSpec, race: Race, trajectory: Trajectory
    ) -> None:
        self._points, self._truth, self._trajectory = (
            race.episode.domain.points,
            race.truth,
            trajectory,
        )
        self.ax = figure.add_subplot(cell, xticks=[0.2, 0.8], yticks=[0.2, 0.8])
        self.ax.tick_params(labelbottom=cell.is_last_row(), labelleft=cell.is_first_col())
        self.ax.set_xlabel("$x_1$" if cell.is_last_row() else "", labelpad=-8)
        self.ax.set_ylabel("$x_2$" if cell.is_first_col() else "", labelpad=-12)
        self.image = self.ax.imshow(
            np.zeros((_SIDE, _SIDE)),
            cmap=colormaps["viridis"].resampled(20),  # bands look like contours and compress well
            vmin=-_SCALE,
            vmax=_SCALE,
            alpha=0.8,
            origin="lower",
            extent=(0.0, 1.0, 0.0, 1.0),
            interpolation="bicubic",
        )
        above: Any = {"clip_on": False, "zorder": 3}
        self._chosen = self.ax.scatter(
            [], [], ec="white", lw=0.6, **_STYLES[trajectory.name], **above
        )
        self._best = self.ax.scatter([], [], s=130, c="white", marker="*", ec="black", **above)

    def show(self, t: int) -> None:
        """Show time t; older points are smaller."""
        self.image.set_data(self._trajectory.means[t].reshape(_SIDE, _SIDE).T)
        recent = self._trajectory.chosen[max(t - _RECENT, 0) : t]
        self._chosen.set_offsets(self._points[recent])
        self._chosen.set_sizes(np.linspace(8.0, 40.0, _RECENT)[-len(recent) :])
        self._best.set_offsets(self._points[self._truth.chosen[t - 1]])


class _Curves:
    """Average regret of each policy over time; a legend with ``columns`` columns, if any."""

    def __init__(self, ax: Axes, race: Race, window: int, columns: int) -> None:
        self.ax = ax
        self._curves = []
        every = max(race.horizon // 6, 1)
        for trajectory in race.trajectories:
            look = {"markevery": (every - 1, every), "ms": 5, **_STYLES[trajectory.name]}
            line = ax.plot([], [], label=trajectory.name, **look)[0]
            self._curves.append((line, trajectory.averages(window)))
        highest = max(curve.max() for _, curve in self._curves)
        ax.set(xlim=(0, race.horizon), ylim=(0.0, (1.35 if columns else 1.05) * highest + 1e-9))
        ax.set(xlabel="time step $t$", ylabel="average regret $R_t / t$")
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        if columns:
            ax.legend(frameon=False, loc="upper right", ncols=columns, fontsize=9)

    def show(self, t: int) -> None:
        """Show the curves up to time t."""
        for line, curve in self._curves:
            line.set_data(np.arange(1, t + 1), curve[:t])


def _explain(figure: Figure, image: AxesImage, bar: _Rect, marks: tuple[float, float]) -> None:
    """Add the colour bar and the legend of the markers."""
    label = r"true value $f_t$, or posterior mean $\mu_t$"
    cax = figure.add_axes(bar)
    figure.colorbar(image, cax=cax, orientation="horizontal", extend="both", label=label)
    star = Line2D([], [], ls="", marker="*", mfc="white", mec="black", ms=12)
    past, *chosen = [Line2D([], [], ls="", ms=5, **look) for look in _STYLES.values()]
    handles: Any = [star, past, tuple(chosen)]
    labels = ["true maximum", f"its recent {_RECENT} places", f"recent {_RECENT} chosen points"]
    place: Any = {"loc": "lower center", "bbox_to_anchor": marks, "frameon": False, "fontsize": 9}
    figure.legend(handles, labels, handler_map={tuple: HandlerTuple(None)}, **place)


def follow(
    name: str,
    optimizer: ht.Optimizer,
    episode: FiniteEpisode,
    tick: Callable[[], None],
    shown: Container[int] = (),
) -> Trajectory:
    """Play an episode, and record the time taken and the posterior mean at the shown times."""
    chosen, regrets, seconds, means = [], [], 0.0, {}
    for t in range(1, episode.horizon + 1):
        start = perf_counter()
        suggestion = optimizer.ask(t)
        index = int(suggestion.index or 0)
        optimizer.tell(suggestion, episode.measure(t, index))
        seconds += perf_counter() - start
        chosen.append(index)
        regrets.append(episode.regret(t, index))
        if t in shown:
            means[t] = optimizer.belief(t).mean
        tick()
    return Trajectory(name, np.array(chosen), np.array(regrets), seconds, means)


def _spread(count: int, last: int) -> list[int]:
    """At most ``count`` whole times, evenly spaced, including the last one."""
    count = min(count, last)
    return [round(last * (i + 1) / count) for i in range(count)]
