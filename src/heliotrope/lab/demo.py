"""The demo: three policies chase the maximum of one drifting function, in numbers and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

import heliotrope as ht
from heliotrope.lab.environments import FiniteEpisode, GPDrift
from heliotrope.policies import Policy
from heliotrope.validation import Array, Indices, as_whole

Tick = Callable[[], None]
"""Called once for each piece of work done."""

Rect = tuple[float, float, float, float]  # left, bottom, width, height; shares of a figure

_SIDE = 50  # points of the grid a coordinate
_FRAMES = 50  # of the film, at most
_MOMENTS = 4  # of the still picture, at most
_RECENT = 20  # steps that count as recent
_SCALE = 2.5  # of the colours; the function's deviation is 1
_TRUTH = "true $f_t$"
_LOOKS: Any = {  # colours of Okabe and Ito, safe for the colour-blind
    _TRUTH: {"color": "black", "marker": "D"},
    "GP-UCB": {"color": "#E69F00", "marker": "s"},
    "R-GP-UCB": {"color": "#0072B2", "marker": "^"},
    "TV-GP-UCB": {"color": "#D55E00", "marker": "o"},
}


@dataclass(frozen=True, eq=False)
class Track:
    """What one policy did: points (T,), their regrets (T,), seconds, and its mean at some times."""

    name: str
    chosen: Indices
    regrets: Array
    seconds: float
    means: Mapping[int, Array]

    def averages(self, window: int) -> Array:
        """Average regret of the latest ``window`` steps, at each time, (T,)."""
        sums = self.regrets.cumsum()
        sums[window:] -= sums[:-window].copy()
        return np.asarray(sums / np.minimum(np.arange(1, len(sums) + 1), window))


@dataclass(frozen=True, eq=False)
class Race:
    """One world, and the tracks of all policies in it."""

    episode: FiniteEpisode
    tracks: Sequence[Track]

    @property
    def horizon(self) -> int:
        """Number of steps, T."""
        return len(self.episode.values)

    @cached_property
    def truth(self) -> Track:
        """The track of one who knows: always at the maximum."""
        values = self.episode.values
        means = dict(enumerate(values, start=1))
        return Track(_TRUTH, values.argmax(axis=1), np.zeros(self.horizon), 0.0, means)


def policies(prior: ht.Prior) -> dict[str, Policy]:
    """Return the paper's three policies, by name."""
    beta = ht.LogBeta(0.8, 4.0)
    return {
        "GP-UCB": ht.gp_ucb(prior, beta),
        "R-GP-UCB": ht.r_gp_ucb(prior, 38, beta),
        "TV-GP-UCB": ht.tv_gp_ucb(prior, beta),
    }


def race(steps: int, seed: int, tick: Tick) -> Race:
    """Let all policies face one world of the paper's model; ticks once a step of each."""
    steps, seed = as_whole(steps, "steps", least=1), as_whole(seed, "seed", least=0)
    prior = ht.Prior(RBF(0.2), ht.Forgetting(0.01), noise=0.01)
    with threadpool_limits(1):  # a step is too short to share out: on a busy machine 10 x faster
        episode = GPDrift(ht.grid(_SIDE, _SIDE), prior).episode(steps, seed)
        named = policies(prior).items()
        tracks = [_track(n, ht.Optimizer(episode.domain, p, seed), episode, tick) for n, p in named]
    return Race(episode, tracks)


def film_times(steps: int) -> list[int]:
    """Return the times that the film shows."""
    return _spread(_FRAMES, steps)


def draw_still(race: Race, path: Path) -> None:
    """Write the picture: what is true and believed at a few times, and the regret over time."""
    figure = Figure(figsize=(9.0, 6.5))
    times = _spread(_MOMENTS, race.horizon)
    cells = figure.add_gridspec(
        4, _MOMENTS, left=0.085, right=0.635, bottom=0.16, top=0.94, wspace=0.1, hspace=0.1
    )
    for row, track in enumerate([race.truth, *race.tracks]):
        maps = [_Map(figure, cells[row, i], race, track) for i in range(len(times))]
        for panel, t in zip(maps, times, strict=True):
            panel.show(t)
            panel.ax.set_title(f"$t = {t}$" if row == 0 else "", fontsize=10)
        style: Any = {"rotation": 90, "va": "center", "weight": "bold"}
        maps[0].ax.text(-0.48, 0.5, track.name, color=_LOOKS[track.name]["color"], **style)
    _explain(figure, maps[0].image, bar=(0.085, 0.075, 0.55, 0.018), marks=(0.85, 0.005))
    upper = _Curves(figure.add_axes((0.73, 0.6, 0.25, 0.34)), race, race.horizon, columns=1)
    lower = _Curves(figure.add_axes((0.73, 0.22, 0.25, 0.34)), race, _RECENT, columns=0)
    upper.ax.set(xlabel="", xticklabels=[], ylabel="average regret $R_t / t$")
    lower.ax.set_ylabel(f"regret, mean of recent {_RECENT} steps")
    for curves in (upper, lower):
        curves.show(race.horizon)
    figure.savefig(path, dpi=200)


def draw_film(race: Race, path: Path, tick: Tick) -> None:
    """Write the film: what is true and believed, and the average regret so far; ticks a frame."""
    figure = Figure(figsize=(8.0, 4.7))
    cells = figure.add_gridspec(1, 4, left=0.06, right=0.98, bottom=0.46, top=0.88, wspace=0.1)
    tracks = [race.truth, *race.tracks]
    maps = [_Map(figure, cells[0, i], race, track) for i, track in enumerate(tracks)]
    for panel, track in zip(maps, tracks, strict=True):
        panel.ax.set_title(track.name, color=_LOOKS[track.name]["color"], weight="bold")
    _explain(figure, maps[0].image, bar=(0.66, 0.14, 0.3, 0.025), marks=(0.81, 0.17))
    curves = _Curves(figure.add_axes((0.085, 0.115, 0.52, 0.27)), race, race.horizon, columns=3)
    clock = figure.text(0.5, 0.955, "", ha="center", va="center", fontsize=12)
    writer = PillowWriter(fps=5)
    with writer.saving(figure, path, dpi=90):
        for t in film_times(race.horizon):
            clock.set_text(f"time step {t}")
            curves.show(t)
            for panel in maps:
                panel.show(t)
            writer.grab_frame()
            tick()


class _Map:
    """A heat map of what a track believes, with its recent points and the true maximum."""

    def __init__(self, figure: Figure, cell: SubplotSpec, race: Race, track: Track) -> None:
        self._points, self._truth, self._track = race.episode.domain.points, race.truth, track
        self.ax = figure.add_subplot(cell, xticks=[0.2, 0.8], yticks=[0.2, 0.8])
        self.ax.tick_params(labelbottom=cell.is_last_row(), labelleft=cell.is_first_col())
        self.ax.set_xlabel("$x_1$" if cell.is_last_row() else "", labelpad=-8)
        self.ax.set_ylabel("$x_2$" if cell.is_first_col() else "", labelpad=-12)
        self.image = self.ax.imshow(
            np.zeros((_SIDE, _SIDE)),
            cmap=colormaps["viridis"].resampled(20),  # bands read like contours and pack well
            vmin=-_SCALE,
            vmax=_SCALE,
            alpha=0.8,
            origin="lower",
            extent=(0.0, 1.0, 0.0, 1.0),
            interpolation="bicubic",
        )
        above: Any = {"clip_on": False, "zorder": 3}
        self._chosen = self.ax.scatter([], [], ec="white", lw=0.6, **_LOOKS[track.name], **above)
        self._best = self.ax.scatter([], [], s=130, c="white", marker="*", ec="black", **above)

    def show(self, t: int) -> None:
        """Show time t; older points are smaller."""
        self.image.set_data(self._track.means[t].reshape(_SIDE, _SIDE).T)
        recent = self._track.chosen[max(t - _RECENT, 0) : t]
        self._chosen.set_offsets(self._points[recent])
        self._chosen.set_sizes(np.linspace(8.0, 40.0, _RECENT)[-len(recent) :])
        self._best.set_offsets(self._points[self._truth.chosen[t - 1]])


class _Curves:
    """Average regret of each policy over time, with a legend if it has columns."""

    def __init__(self, ax: Axes, race: Race, window: int, columns: int) -> None:
        self.ax = ax
        self._curves = []
        every = max(race.horizon // 6, 1)
        for track in race.tracks:
            look = {"markevery": (every - 1, every), "ms": 5, **_LOOKS[track.name]}
            line = ax.plot([], [], label=track.name, **look)[0]
            self._curves.append((line, track.averages(window)))
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


def _explain(figure: Figure, image: AxesImage, bar: Rect, marks: tuple[float, float]) -> None:
    """Add the colour bar and the meaning of the marks, where there is room."""
    label = r"true value $f_t$, or posterior mean $\mu_t$"
    cax = figure.add_axes(bar)
    figure.colorbar(image, cax=cax, orientation="horizontal", extend="both", label=label)
    star = Line2D([], [], ls="", marker="*", mfc="white", mec="black", ms=12)
    past, *chosen = [Line2D([], [], ls="", ms=5, **look) for look in _LOOKS.values()]
    handles: Any = [star, past, tuple(chosen)]
    labels = ["true maximum", f"its recent {_RECENT} places", f"recent {_RECENT} points chosen"]
    place: Any = {"loc": "lower center", "bbox_to_anchor": marks, "frameon": False, "fontsize": 9}
    figure.legend(handles, labels, handler_map={tuple: HandlerTuple(None)}, **place)


def _track(name: str, optimizer: ht.Optimizer, episode: FiniteEpisode, tick: Tick) -> Track:
    """Go through an episode as environments.play does, keeping the time taken and the belief."""
    horizon = len(episode.values)
    shown = {*film_times(horizon), *_spread(_MOMENTS, horizon)}
    chosen, regrets, seconds, means = [], [], 0.0, {}
    for t in range(1, horizon + 1):
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
    return Track(name, np.array(chosen), np.array(regrets), seconds, means)


def _spread(count: int, last: int) -> list[int]:
    """At most ``count`` whole times, equally spread, the last one included."""
    count = min(count, last)
    return [round(last * (i + 1) / count) for i in range(count)]
