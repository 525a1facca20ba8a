"""How often limits are crossed, and what keeping them costs; all parameters are learned.

An objective and one or two limited metrics are independent worlds of one kind over 40 points of a
line: a Gaussian process of variance 1 and length scale 0.2 that drifts. A limit is 0.5, and the
search starts from a point that keeps it by 0.3. In some worlds the metric rises by 1 over the run,
so that the safe region shrinks, or is half drawn anew in the middle, so that it jumps. A step
crosses if the true value of a metric is above its limit. Steps at which no point keeps all limits
are counted apart. The regret is against the best point that keeps all limits. The design used other
seeds.

Every seventh world is also played by ``auto`` without limits, and by TVSafeOpt, which knows the
kernel, the noise and the drift, but nothing of what shrinks or jumps.

A run continues where the last one ended.
``python -m benchmarks.live_limits 100`` plays the first 100 worlds of each setting.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from functools import partial
from itertools import product

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern

import heliotrope as ht
from benchmarks.kept import Kept
from benchmarks.report import Finding
from benchmarks.safe_opt import TVSafeOpt
from heliotrope.live import Live
from heliotrope.validation import Array

POINTS, HORIZON, FIRST_SEED = 40, 150, 320_000
LIMIT, MARGIN, NOISE, RISK = 0.5, 0.3, 0.01, 0.05
WORLDS, EVERY = 84, 7  # worlds of each setting; every seventh is also played by the others
LIMITED, FREE, SAFE_OPT = "limits", "no limits", "TVSafeOpt"
KERNELS: dict[str, Kernel] = {"se": RBF(0.2), "matern": Matern(0.2, nu=2.5)}


@dataclass(frozen=True)
class Setting:
    """A kind of world."""

    kernel: str
    drift: float
    limits: int
    change: str = "none"  # or shrinks, jumps

    @property
    def most(self) -> float:
        """The share of steps that may cross a limit."""
        return RISK if self.change == "none" else 0.08


SETTINGS = [Setting(*some) for some in product(KERNELS, (0.0, 0.003, 0.02), (1, 2))]
SETTINGS += [
    Setting(kernel, 0.003, 1, change) for kernel in KERNELS for change in ("shrinks", "jumps")
]


@dataclass(frozen=True, eq=False)
class World:
    """Values of the objective and the metrics, (1 + limits, T, M), and the first point."""

    values: Array
    start: int
    noise: Array

    @classmethod
    def draw(cls, setting: Setting, seed: int) -> World:
        """Draw worlds until one has a point from which to start."""
        rng = np.random.default_rng([FIRST_SEED, seed, *map(ord, str(setting))])
        while True:
            values = np.stack([_values(setting, rng) for _ in range(1 + setting.limits)])
            if setting.change == "shrinks":
                values[1:] += np.linspace(0.0, 1.0, HORIZON)[:, None]
            inside = np.flatnonzero((LIMIT - values[1:, 0]).min(axis=0) > MARGIN)
            if len(inside):
                noise = np.sqrt(NOISE) * rng.standard_normal(values.shape[:2])
                return cls(values, int(rng.choice(inside)), noise)

    def keeps(self, step: int) -> Array:
        """Which points keep all limits, (M,)."""
        return np.asarray((self.values[1:, step] <= LIMIT).all(axis=0))

    def regret(self, step: int, index: int) -> float:
        """Against the best point that keeps all limits; NaN if there is none."""
        best = self.values[0, step, self.keeps(step)].max(initial=-np.inf)
        return float(best - self.values[0, step, index]) if np.isfinite(best) else np.nan


def points() -> Array:
    return np.linspace(0.0, 1.0, POINTS)[:, None]


def _values(setting: Setting, rng: np.random.Generator) -> Array:
    """One world (T, M): f_{t+1} = sqrt(1 - eps) f_t + sqrt(eps) g."""
    K = KERNELS[setting.kernel](points())
    root = np.linalg.cholesky(K + 1e-9 * np.eye(POINTS))
    f = root @ rng.standard_normal(POINTS)
    rows = [f]
    for step in range(1, HORIZON):
        jumps = setting.change == "jumps" and step == HORIZON // 2
        share = 0.5 if jumps else setting.drift
        f = np.sqrt(1.0 - share) * f + np.sqrt(share) * (root @ rng.standard_normal(POINTS))
        rows.append(f)
    return np.array(rows)


Row = tuple[float, float, float]
"""The share of steps that cross though a point keeps all limits; of those without such a point; and
the regret."""

Tell = Callable[[int, int], Array]
"""The measured values (1 + limits,) of a step at a point."""


def play(setting: Setting, seed: int, player: str) -> Row:
    """Play one world of a setting."""
    world = World.draw(setting, seed)

    def measured(step: int, index: int) -> Array:
        return np.asarray(world.values[:, step, index] + world.noise[:, step])

    if player == SAFE_OPT:
        path = _path_of_safe_opt(setting, world.start, measured)
    else:
        path = _path_of_auto(setting, world.start, measured, seed, limited=player == LIMITED)
    keeps = np.array([world.keeps(step) for step in range(HORIZON)])
    possible = keeps.any(axis=1)
    crossed = possible & ~keeps[np.arange(HORIZON), path]
    regrets = [world.regret(step, index) for step, index in enumerate(path)]
    share = crossed.sum() / max(possible.sum(), 1)
    return float(share), float(np.mean(~possible)), float(np.nanmean(regrets))


def _path_of_auto(
    setting: Setting, start: int, measured: Tell, seed: int, *, limited: bool
) -> list[int]:
    names = [f"metric {i}" for i in range(setting.limits)] if limited else []
    metrics = {"value": "maximize", **dict.fromkeys(names, "watch")}
    limits = {name: {"at_most": LIMIT} for name in names}
    live = Live(metrics, limits=limits, safe=[start], risk=RISK)  # type: ignore[arg-type]
    domain = ht.Finite(points())
    opt = ht.Optimizer(domain, ht.auto(domain), seed=seed, live=live)
    path = list[int]()
    for step in range(HORIZON):
        ask = opt.ask()
        assert ask.index is not None
        told = measured(step, ask.index).tolist()
        opt.tell(ask, dict(zip(metrics, told, strict=False)))
        path.append(ask.index)
    return path


def _path_of_safe_opt(setting: Setting, start: int, measured: Tell) -> list[int]:
    prior = ht.Prior(KERNELS[setting.kernel], ht.Forgetting(setting.drift), NOISE)
    chooser = TVSafeOpt(ht.Finite(points()), prior, setting.limits, LIMIT)
    path = list[int]()
    for step in range(HORIZON):
        path.append(chooser.choose(float(step)) if step else start)
        chooser.tell(float(step), path[-1], measured(step, path[-1]))
    return path


def results(worlds: int) -> dict[tuple[Setting, str], dict[int, Row]]:
    """All results by seed; those that are missing are computed."""
    kept = Kept("limits")
    rows: dict[tuple[Setting, str], dict[int, Row]] = {}
    for seed, setting, player in _order(worlds):
        row = kept.get((*astuple(setting), seed, player), partial(play, setting, seed, player))
        rows.setdefault((setting, player), {})[seed] = row
    return rows


def _order(worlds: int) -> Iterator[tuple[int, Setting, str]]:
    """All games, so that what is done at any time is balanced."""
    for seed in range(worlds):
        players = (LIMITED,) if seed % EVERY else (LIMITED, FREE, SAFE_OPT)
        yield from ((seed, setting, player) for player in players for setting in SETTINGS)


def findings(worlds: int = WORLDS) -> Iterator[Finding]:
    rows = results(worlds)
    for setting in SETTINGS:
        crossed, impossible, regret = np.array(list(rows[setting, LIMITED].values())).T
        error = crossed.std() / np.sqrt(len(crossed))
        change = "" if setting.change == "none" else f", {setting.change}"
        seeds = rows[setting, FREE]
        beside = ", ".join(
            f"{player} {_told([rows[setting, player][seed] for seed in seeds])}"
            for player in (LIMITED, FREE, SAFE_OPT)
        )
        yield Finding(
            f"{setting.kernel}, drift {setting.drift}, {setting.limits} limit(s){change}: "
            f"at most {setting.most} of the steps cross",
            f"{crossed.mean():.3f} (standard error {error:.3f}, {len(crossed)} worlds), regret "
            f"{np.nanmean(regret):.2f}; no point is safe in {impossible.mean():.3f} of all "
            f"steps; crossings and regret in {len(seeds)} worlds: {beside}",
            bool(crossed.mean() <= setting.most),
        )


def _told(rows: list[Row]) -> str:
    crossed, _, regret = np.array(rows).T
    return f"{crossed.mean():.3f} and {np.nanmean(regret):.2f}"


if __name__ == "__main__":
    for found in findings(int(sys.argv[1]) if len(sys.argv) > 1 else WORLDS):
        print(f"{'yes' if found.holds else 'NO ':3} {found.claim}: {found.measured}")
