"""Processor time of one ask plus tell after the same number of results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import Matern

import heliotrope as ht
from heliotrope.lab.environments import Place
from heliotrope.lab.environments.suite import Sliced
from heliotrope.lab.league import CommandCompetitor
from heliotrope.lab.league.commands import CommandPlayer
from heliotrope.policies import Policy
from heliotrope.validation import Array

COUNTS = (100, 300, 1000)
STEPS = 5  # timed after each count
_WORLD = Sliced("hartmann-3")

Step = Callable[[float], None]
"""Asks and tells once, at a time."""


@dataclass(frozen=True)
class Timing:
    """Median milliseconds of a step after ``told`` results, or the reason of a failure."""

    name: str
    told: int
    milliseconds: float
    failure: str = ""

    def __str__(self) -> str:
        return self.failure or f"{self.milliseconds:.3g}"


@dataclass(frozen=True, eq=False)
class Results:
    """Values measured at random points of the world, at times 1, 2, ..."""

    t: Array
    x: Array
    y: Array

    @classmethod
    def drawn(cls, count: int) -> Results:
        """Draw ``count`` results."""
        episode = _WORLD.episode(count, seed=0)
        x = np.random.default_rng(0).random((count, _WORLD.domain.dimension))
        y = [episode.measure(t, point) for t, point in zip(episode.times, x, strict=True)]
        return cls(episode.times, x, np.array(y))


def ours() -> dict[str, Policy]:
    """Our policies: all parameters learned, and all given."""
    prior = ht.Prior(0.9 * Matern(0.3, nu=2.5), ht.Forgetting(0.01), noise=0.05)
    return {"auto": ht.auto(_WORLD.domain), "tv_gp_ucb, parameters given": ht.tv_gp_ucb(prior)}


def timings(peers: Sequence[CommandCompetitor], limit: float) -> Iterator[Timing]:
    """Time all optimizers after each count; a reply may take at most ``limit`` seconds."""
    for told in COUNTS:
        results = Results.drawn(told)
        for name, policy in ours().items():
            yield _timed(name, _optimizer_step(policy, results), time.process_time, told)
        for peer in peers:
            try:
                with peer.player(_WORLD.domain, 0) as player:
                    step = _peer_step(player, results, limit)
                    yield _timed(peer.name, step, player.spent, told)
            except TimeoutError:
                yield Timing(peer.name, told, np.nan, f"over {limit:g} s")
            except ht.HeliotropeError as error:
                yield Timing(peer.name, told, np.nan, error.got[:60])


def _timed(name: str, step: Step, spent: Callable[[], float], told: int) -> Timing:
    seconds = []
    for i in range(STEPS):
        before = spent()
        step(told + 1.0 + i)
        seconds.append(spent() - before)
    return Timing(name, told, 1e3 * float(np.median(seconds)))


def _optimizer_step(policy: Policy, results: Results) -> Step:
    optimizer = ht.Optimizer(_WORLD.domain, policy, seed=0)
    optimizer.tell_many(results.t, results.x, results.y)

    def step(t: float) -> None:
        optimizer.tell(optimizer.ask(t), float(results.y[-1]))

    return step


def _peer_step(player: CommandPlayer, results: Results, limit: float) -> Step:
    told: list[tuple[float, Place, float]] = list(
        zip(results.t.tolist(), results.x, results.y.tolist(), strict=True)
    )
    player.tell_many(told, limit)

    def step(t: float) -> None:
        place = player.ask(t, limit)
        player.tell(t, place, float(results.y[-1]), limit)

    return step
