"""Figure 1: two samples of the one-dimensional model over time, with the track of the maximum.

The picture shows the first world of each kernel. The claim is judged on all worlds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heliotrope.domains import grid
from heliotrope.kernels import RBF, Matern
from heliotrope.lab import pictures
from heliotrope.lab.claims import Claim, compare, judge
from heliotrope.lab.environments import GPDrift
from heliotrope.lab.reproduction.figure import FigureOptions, TrialResults, stacked
from heliotrope.lab.reproduction.series import CurveRow, Series, rows
from heliotrope.lab.trials import trial_seed
from heliotrope.priors import Forgetting, Prior
from heliotrope.validation import Array, as_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_EPSILON = 0.01
_POINTS = 200
_KERNELS = {"SE": RBF(0.2), "Matern 3/2": Matern(0.2, nu=1.5)}
_TITLES = {"SE": "Squared exponential, $l = 0.2$", "Matern 3/2": r"Matérn, $\nu = 1.5$, $l = 0.2$"}


@dataclass(frozen=True)
class Samples:
    """One world per kernel and trial."""

    trials: int
    horizon: int
    seed: int

    name = "fig1"
    notes = (
        "The picture and the rows show the first world of each kernel.",
        "Ours, not the paper's: the horizon, and the number of points.",
    )

    def settings(self) -> Mapping[str, object]:
        """Everything that a trial depends on except its number."""
        return {
            "figure": self.name,
            "kernels": [str(kernel) for kernel in _KERNELS.values()],
            "epsilon": _EPSILON,
            "points": _POINTS,
            "lags": list(self._lags()),
            "horizon": self.horizon,
            "seed": self.seed,
        }

    def trial(self, number: int) -> Mapping[str, Array]:
        """Draw a world of each kernel: the moves of its maximum, and f (T, points) in trial 0."""
        seed, line = trial_seed(self.seed, number), grid(_POINTS)
        found: dict[str, Array] = {}
        for name, kernel in _KERNELS.items():
            world = GPDrift(line, Prior(kernel, Forgetting(_EPSILON)))
            f = world.episode(self.horizon, seed).values
            found[_moves(name)] = np.array([_moved(f, lag) for lag in self._lags()])
            if number == 0:
                found[name] = f
        return found

    def rows(self, results: TrialResults) -> list[CurveRow]:
        """Position and height of the maximum."""
        curves, values = [], []
        for name, f in _first(results).items():
            curves += [Series(name, "argmax", _EPSILON), Series(name, "max", _EPSILON)]
            values += [_argmax(f), f.max(axis=1)]
        return rows(self.name, curves, np.arange(1.0, self.horizon + 1.0), np.array([values]))

    def claims(self, results: TrialResults) -> list[Claim]:
        """Test that the maximum moves with time."""
        claims = []
        for name in _KERNELS:
            near, far = stacked(results, _moves(name)).T
            found = compare(far, 3.0 * near)
            claims.append(
                judge(
                    f"The position of the maximum changes significantly at distant times ({name}; "
                    "our criterion: over three times as much as in a step)",
                    f"{near.mean():.3f} in a step, {far.mean():.3f} in {self._lags()[1]} steps "
                    f"({found})",
                    "paper, figure 1",
                    found,
                )
            )
        return claims

    def draw(self, results: TrialResults) -> Picture:
        """Values as colours over time and place, with the maximum as dots."""
        picture, (axes,) = pictures.panels(1, 2, width=3.4)
        limit = max(float(np.abs(f).max()) for f in _first(results).values())
        for one, (name, f) in zip(axes, _first(results).items(), strict=True):
            image = one.imshow(
                f.T,
                origin="lower",
                aspect="auto",
                extent=(0.5, self.horizon + 0.5, 0, 1),
                cmap="RdBu_r",
                vmin=-limit,
                vmax=limit,
                interpolation="nearest",
            )
            one.plot(np.arange(1, self.horizon + 1), _argmax(f), "k.", markersize=1.5)
            one.set(title=_TITLES[name], xlabel="time $t$")
            one.grid(visible=False)
        axes[0].set(ylabel="$x$  (dots: the maximum)")
        picture.colorbar(image, ax=axes, label="$f_t(x)$")
        return picture

    def _lags(self) -> tuple[int, int]:
        return 1, max(2, self.horizon // 2)


def _moves(name: str) -> str:
    """Name of the array of a kernel's moves."""
    return f"{name}, moves"


def _moved(f: Array, lag: int) -> float:
    """Mean distance of the maximum from where it is ``lag`` steps later."""
    at = _argmax(f)
    return float(np.abs(at[lag:] - at[:-lag]).mean())


def _first(results: TrialResults) -> Mapping[str, Array]:
    return {name: results[0][name] for name in _KERNELS}


def _argmax(f: Array) -> Array:
    """Position of the maximum at each time."""
    return np.asarray(f.argmax(axis=1) / (_POINTS - 1.0))


def fig1(options: FigureOptions) -> Samples:
    """Two samples of the model."""
    horizon = as_whole(options.horizon or 300, "horizon", least=3)
    return Samples(options.trials or 200, horizon, options.seed)
