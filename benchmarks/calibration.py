"""Whether the intervals and probabilities of the default policy come true, in worlds of all kinds.

Each world is one of the suite's problems over listed points, or the paper's model with a jump to
another world after 90 of 150 steps. At 5, 12, 40 and 150 results, and 10 and 30 results after the
jump, the 95 % interval of the value at the believed best, and of those at 20 random points, is
compared with the truth; and so is the probability that nothing is better by more than a tenth of
the values' deviation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

import heliotrope as ht
from benchmarks.report import Finding
from heliotrope.lab.environments import FiniteEpisode
from heliotrope.lab.environments.suite.problems import problem
from heliotrope.validation import Array

PROBLEMS = [f"paper/{kernel}/{rate}" for kernel in ("se", "matern") for rate in (0.001, 0.01, 0.03)]
PROBLEMS += ["jumps/still", "jumps/drift", "periodic/50", "periodic/200", "level/day"]
PROBLEMS += [f"table/{name}" for name in ("intel", "i405", "i5", "metrla", "pemsbay")]
PROBLEMS += ["decades/3", "noise/uneven", "relays/final", "faults/outages"]
SEEDS, FIRST_SEED = 10, 80_000
COUNTS, JUMP, SINCE = (5, 12, 40, 150), 90, (100, 120)
SAMPLES, RIVALS, PLACES, SHARE = 400, 60, 20, 0.1


class Check(NamedTuple):
    """Whether the intervals at the best and elsewhere held, the probability, and what came true."""

    at_best: bool
    elsewhere: float
    probability: float
    came_true: bool


def findings() -> Iterator[Finding]:
    checks = _checks(PROBLEMS, COUNTS, jump=0)
    for count in COUNTS:
        yield from _compared(f"after {count} results", checks[count])
    jumped = _checks(["paper/matern/0.001", "paper/matern/0.01"], SINCE, jump=JUMP)
    yield from _compared(
        "10 and 30 results after a jump", [one for s in SINCE for one in jumped[s]]
    )


def _checks(names: Sequence[str], counts: Sequence[int], jump: int) -> dict[int, list[Check]]:
    found: dict[int, list[Check]] = {count: [] for count in counts}
    for name in names:
        world = problem(name).world()
        for seed in range(SEEDS if not jump else 3 * SEEDS):
            episode = world.episode(max(counts), FIRST_SEED + seed)
            assert isinstance(episode, FiniteEpisode)
            if jump:
                other = world.episode(max(counts), FIRST_SEED + 1_000 + seed)
                assert isinstance(other, FiniteEpisode)
                episode = _joined(episode, other, jump)
            for count, check in _played(episode, seed, counts):
                found[count].append(check)
    return found


def _joined(one: FiniteEpisode, other: FiniteEpisode, jump: int) -> FiniteEpisode:
    """An episode that jumps to another one."""
    values = np.vstack([one.values[:jump], other.values[jump:]])
    return FiniteEpisode(one.domain, values, [one.noise(t) for t in one.times.tolist()])


def _played(
    episode: FiniteEpisode, seed: int, counts: Sequence[int]
) -> Iterator[tuple[int, Check]]:
    domain, rng = episode.domain, np.random.default_rng([FIRST_SEED, seed])
    opt = ht.Optimizer(domain, ht.auto(domain), seed=seed)
    for step, t in enumerate(episode.times.tolist()):
        ask = opt.ask(t)
        assert ask.index is not None
        opt.tell(ask, episode.measure(t, ask.index))
        if step + 1 in counts:
            yield step + 1, _check(opt, episode.values[step], rng)


def _check(opt: ht.Optimizer, truth: Array, rng: np.random.Generator) -> Check:
    belief, best = opt.belief(opt.latest), opt.best(opt.latest).index
    assert best is not None
    holds = np.abs(belief.mean - truth) <= 1.96 * belief.std + 1e-9
    margin = SHARE * float(np.std(opt.history.y))
    rivals = np.argsort(belief.mean + 3.0 * belief.std)[-RIVALS:]
    draws = opt.sample(opt.latest, belief.points[[best, *rivals]], size=SAMPLES)
    beaten = draws.max(axis=1) - draws[:, 0] > margin
    came_true = truth.max() - truth[best] <= margin
    places = rng.integers(len(truth), size=PLACES)
    return Check(
        bool(holds[best]),
        float(holds[places].mean()),
        1.0 - float(beaten.mean()),
        bool(came_true),
    )


def _compared(when: str, checks: Sequence[Check]) -> Iterator[Finding]:
    at_best, elsewhere, probability, came_true = np.array(checks, dtype=float).T
    for where, held in (("the believed best", at_best), ("random points", elsewhere)):
        yield Finding(
            f"{when}: the 95 % interval at {where} holds at least 92 %",
            f"{held.mean():.1%} of {len(checks)} worlds",
            bool(held.mean() >= 0.92),
        )
    gap = probability.mean() - came_true.mean()
    yield Finding(
        f"{when}: the probability that nothing is better is within 7 points of what came true",
        f"{probability.mean():.0%} said, {came_true.mean():.0%} true, {len(checks)} worlds",
        bool(abs(gap) <= 0.07),
    )
