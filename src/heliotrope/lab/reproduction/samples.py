"""Figure 1: two samples of the one-dimensional model over time, with the track of the maximum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern

from heliotrope.domains import grid
from heliotrope.lab import pictures
from heliotrope.lab.claims import Claim
from heliotrope.lab.environments import GPDrift
from heliotrope.lab.reproduction.figure import FigureOptions, TrialResults
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
    """One world per kernel in a single trial."""

    horizon: int
    seed: int

    name = "fig1"
    trials = 1
    notes = ("One world per kernel; nothing is averaged over trials.",)

    def settings(self) -> Mapping[str, object]:
        """Everything that a trial depends on except its number."""
        return {
            "figure": self.name,
            "kernels": [str(kernel) for kernel in _KERNELS.values()],
            "epsilon": _EPSILON,
            "points": _POINTS,
            "horizon": self.horizon,
            "seed": self.seed,
        }

    def trial(self, number: int) -> Mapping[str, Array]:
        """Draw f (T, points) of each kernel."""
        seed, line = trial_seed(self.seed, number), grid(_POINTS)
        priors = {name: Prior(kernel, Forgetting(_EPSILON)) for name, kernel in _KERNELS.items()}
        return {
            name: GPDrift(line, prior).episode(self.horizon, seed).values
            for name, prior in priors.items()
        }

    def rows(self, results: TrialResults) -> list[CurveRow]:
        """Position and height of the maximum."""
        curves, values = [], []
        for name, f in results[0].items():
            curves += [Series(name, "argmax", _EPSILON), Series(name, "max", _EPSILON)]
            values += [_argmax(f), f.max(axis=1)]
        return rows(self.name, curves, np.arange(1.0, self.horizon + 1.0), np.array([values]))

    def claims(self, results: TrialResults) -> list[Claim]:
        """Test that the maximum moves with time."""
        claims = []
        for name, f in results[0].items():
            moves = [
                float(np.abs(_argmax(f)[lag:] - _argmax(f)[:-lag]).mean()) for lag in self._lags()
            ]
            claims.append(
                Claim(
                    f"The position of the maximum changes much more between distant times ({name})",
                    f"moves by {moves[0]:.3f} in a step, {moves[1]:.3f} in {self._lags()[1]} steps",
                    moves[1] > 3.0 * moves[0],
                )
            )
        return claims

    def draw(self, results: TrialResults) -> Picture:
        """Values as colours over time and place, with the maximum as dots."""
        picture, (axes,) = pictures.panels(1, 2, width=3.4)
        limit = max(float(np.abs(f).max()) for f in results[0].values())
        for one, (name, f) in zip(axes, results[0].items(), strict=True):
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


def _argmax(f: Array) -> Array:
    """Position of the maximum at each time."""
    return np.asarray(f.argmax(axis=1) / (_POINTS - 1.0))


def fig1(options: FigureOptions) -> Samples:
    """Two samples of the model."""
    return Samples(as_whole(options.horizon or 300, "horizon", least=3), options.seed)
