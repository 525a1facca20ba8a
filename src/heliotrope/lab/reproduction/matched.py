"""Figures 2a and 2b: average regret over time, every policy with the true parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from heliotrope.acquisition import LogBeta
from heliotrope.domains import grid
from heliotrope.kernels import RBF, Kernel, Matern
from heliotrope.lab import pictures
from heliotrope.lab.claims import OURS, Claim, compare, judge
from heliotrope.lab.environments import FiniteEpisode, GPDrift, Step, average_regret, play
from heliotrope.lab.reproduction.curves import judge_steadier
from heliotrope.lab.reproduction.figure import FigureOptions, TrialResults, stacked
from heliotrope.lab.reproduction.series import CurveRow, Series, rows
from heliotrope.lab.theory import block_length, run_genie
from heliotrope.lab.trials import trial_seed
from heliotrope.policies import gp_ucb, r_gp_ucb, tv_gp_ucb
from heliotrope.priors import Forgetting, Prior
from heliotrope.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

DRIFTS = (0.001, 0.01, 0.03)
PAPER_BETA = LogBeta(0.8, 4.0)
NOISE = 0.01
SIDE = 50
_POLICIES = ("TV-GP-UCB", "R-GP-UCB", "GP-UCB", "genie")
_ABSTRACT, _SYNTHETIC = "paper, abstract", "paper, synthetic data"
_RECOVERY = 3  # steps compared before and after a restart

_KernelName: TypeAlias = Literal["SE", "Matern 5/2"]
_Player: TypeAlias = Callable[[FiniteEpisode, int], Iterator[Step]]


def kernel(name: _KernelName) -> Kernel:
    """The paper's kernels, with length scale 0.2."""
    return RBF(0.2) if name == "SE" else Matern(0.2, nu=2.5)


def prior(name: _KernelName, epsilon: float) -> Prior:
    """The paper's synthetic model."""
    return Prior(kernel(name), Forgetting(epsilon), NOISE)


@lru_cache(maxsize=len(DRIFTS))
def world(name: _KernelName, epsilon: float, side: int = SIDE) -> GPDrift:
    """The environment over the unit square, cached in each process."""
    return GPDrift(grid(side, side), prior(name, epsilon))


@dataclass(frozen=True)
class Matched:
    """Regret of all policies; those of a trial face the same functions and noise."""

    name: str
    kernel: _KernelName
    trials: int
    horizon: int
    seed: int
    side: int = SIDE

    @property
    def notes(self) -> tuple[str, ...]:
        """What the picture shows, and which settings are ours."""
        return (
            "Bands are two standard errors of the mean.",
            f"Ours, not the paper's: the horizon T = {self.horizon} (the paper states none), and "
            "the curves of GP-UCB and the genie.",
        )

    def block(self, epsilon: float) -> int:
        """N of the corollary's formula."""
        return block_length(epsilon, self.horizon, kernel(self.kernel), 2)

    def settings(self) -> Mapping[str, object]:
        """Everything that a trial depends on except its number."""
        return {
            "figure": self.name,
            "kernel": str(kernel(self.kernel)),
            "horizon": self.horizon,
            "seed": self.seed,
            "grid": [self.side, self.side],
            "noise": NOISE,
            "beta": [PAPER_BETA.c1, PAPER_BETA.c2],
            "N": {str(epsilon): self.block(epsilon) for epsilon in DRIFTS},
        }

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """The curves, in the order of a trial's arrays."""
        return tuple(
            Series(
                panel=f"epsilon = {epsilon}",
                policy=policy,
                epsilon=epsilon,
                parameter={"TV-GP-UCB": epsilon, "R-GP-UCB": self.block(epsilon)}.get(policy),
            )
            for epsilon in DRIFTS
            for policy in _POLICIES
        )

    def trial(self, number: int) -> Mapping[str, Array]:
        """Run every policy at every epsilon: regrets (series, T)."""
        seed = trial_seed(self.seed, number)
        regrets = []
        for epsilon in DRIFTS:
            episode = world(self.kernel, epsilon, self.side).episode(self.horizon, seed)
            regrets += [
                [step.regret for step in player(episode, seed)] for player in self._players(epsilon)
            ]
        return {"regret": np.array(regrets)}

    def rows(self, results: TrialResults) -> list[CurveRow]:
        """Average regret at every time."""
        times = np.arange(1.0, self.horizon + 1.0)
        return rows(self.name, self.series, times, average_regret(stacked(results)))

    def claims(self, results: TrialResults) -> list[Claim]:
        """Test the orderings, the steadiness of the curves, and our additions."""
        by_step = stacked(results)
        final = {one: by_step[:, i].mean(axis=1) for i, one in enumerate(self._keys())}
        pairs = (
            ("R-GP-UCB", "TV-GP-UCB", _SYNTHETIC),
            ("GP-UCB", "TV-GP-UCB", _ABSTRACT),
            ("GP-UCB", "R-GP-UCB", _ABSTRACT),
            ("TV-GP-UCB", "genie", OURS),
        )
        claims = [
            *(_above(*pair, epsilon, final) for pair in pairs for epsilon in DRIFTS),
            *(self._oscillates(epsilon, by_step) for epsilon in DRIFTS),
            *(self._steadier(epsilon, by_step) for epsilon in DRIFTS),
        ]
        for policy in _POLICIES[:2]:
            claims += [
                _faster_is_harder(policy, slow, fast, final) for slow, fast in pairwise(DRIFTS)
            ]
        return [claim for claim in claims if claim is not None]

    def draw(self, results: TrialResults) -> Picture:
        """One panel per epsilon."""
        values, t = average_regret(stacked(results)), np.arange(1.0, self.horizon + 1.0)
        picture, (axes,) = pictures.panels(1, len(DRIFTS))
        for i, (_, policy) in enumerate(self._keys()):
            pictures.curve(axes[i // len(_POLICIES)], t, values[:, i], policy)
        for epsilon, one in zip(DRIFTS, axes, strict=True):
            one.set(title=rf"$\epsilon = {epsilon}$", xlabel="time $t$", xlim=(0, self.horizon))
        axes[0].set(ylabel="average regret $R_t / t$", ylim=(0, None))
        pictures.legend(picture, axes[0])
        return picture

    def _players(self, epsilon: float) -> list[_Player]:
        known = prior(self.kernel, epsilon)
        policies = (
            tv_gp_ucb(known, PAPER_BETA),
            r_gp_ucb(known, self.block(epsilon), PAPER_BETA),
            gp_ucb(known, PAPER_BETA),
        )
        return [*(partial(play, policy) for policy in policies), run_genie]

    def _keys(self) -> list[tuple[float, str]]:
        return [(epsilon, policy) for epsilon in DRIFTS for policy in _POLICIES]

    def _oscillates(self, epsilon: float, by_step: Array) -> Claim | None:
        """R-GP-UCB has more regret just after a restart; None without a restart."""
        starts = np.arange(self.block(epsilon), self.horizon - _RECOVERY, self.block(epsilon))
        if not len(starts):
            return None
        regret = by_step[:, self._keys().index((epsilon, "R-GP-UCB"))]
        near = starts[:, None] + np.arange(_RECOVERY)
        after, before = (
            regret[:, near].mean(axis=(1, 2)),
            regret[:, near - _RECOVERY].mean(axis=(1, 2)),
        )
        found = compare(after, before)
        return judge(
            f"R-GP-UCB has more regret just after a restart than just before, epsilon = {epsilon}",
            f"{after.mean():.3f} per step against {before.mean():.3f} ({found})",
            _SYNTHETIC,
            found,
        )

    def _steadier(self, epsilon: float, by_step: Array) -> Claim | None:
        """The mean curve of TV-GP-UCB varies less from the first restart on; None without one."""
        first = self.block(epsilon)
        if first >= self.horizon:
            return None
        restarts, smooth = (
            average_regret(by_step[:, self._keys().index((epsilon, policy))])[:, first - 1 :]
            for policy in ("R-GP-UCB", "TV-GP-UCB")
        )
        return judge_steadier(smooth, restarts, f"epsilon = {epsilon}", _SYNTHETIC)


def _above(
    worse: str, better: str, source: str, epsilon: float, final: Mapping[tuple[float, str], Array]
) -> Claim:
    high, low = final[epsilon, worse], final[epsilon, better]
    found = compare(high, low)
    return judge(
        f"{better} ends below {worse} at epsilon = {epsilon}",
        f"{low.mean():.3f} against {high.mean():.3f} ({found})",
        source,
        found,
    )


def _faster_is_harder(
    policy: str, slow: float, fast: float, final: Mapping[tuple[float, str], Array]
) -> Claim:
    found = compare(final[fast, policy], final[slow, policy])
    return judge(
        f"{policy} has more regret at epsilon = {fast} than at {slow}",
        f"{final[fast, policy].mean():.3f} against {final[slow, policy].mean():.3f} ({found})",
        OURS,
        found,
    )


def fig2a(options: FigureOptions) -> Matched:
    """Squared exponential kernel."""
    return Matched("fig2a", "SE", options.trials or 200, options.horizon or 300, options.seed)


def fig2b(options: FigureOptions) -> Matched:
    """Matern kernel."""
    return Matched(
        "fig2b", "Matern 5/2", options.trials or 200, options.horizon or 300, options.seed
    )
