"""R-PERP: batches of largest variance in random order, elimination, restarts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.errors import InputError
from heliotrope.lab.environments import GPDrift, play
from heliotrope.policies import r_perp
from heliotrope.policies.phased_elimination import PhasedAgent
from heliotrope.posterior import ReferenceOptions, build
from strategies import PRIOR, refusal, square

STILL = ht.Prior(RBF(0.3), noise=0.01)
LINE = ht.grid(6, 6)


def agent_of(opt: ht.Optimizer) -> PhasedAgent:
    agent = opt.agent
    assert isinstance(agent, PhasedAgent)
    return agent


def asked(opt: ht.Optimizer, count: int, y: float = 0.0) -> list[int]:
    places = []
    for _ in range(count):
        s = opt.ask()
        assert s.index is not None
        opt.tell(s, y)
        places.append(s.index)
    return places


def test_a_batch_has_the_largest_variances() -> None:
    """Phase 1 plans two points, phase 2 four; by the reference formulas."""
    opt = ht.Optimizer(LINE, r_perp(STILL, 100), seed=3)
    for size in (2, 4):
        played = asked(opt, size)
        engine = build(STILL, LINE, ReferenceOptions())
        planned = []
        for key in range(size):
            _, variance = engine.predict(1.0, LINE.indices)
            planned.append(int(variance.round(9).argmax()))
            engine.open(key, 1.0, np.array([planned[-1]]))
            engine.tell(key, 0.0)
        assert Counter(played) == Counter(planned)  # values of 0 eliminate nothing


def test_the_order_is_random() -> None:
    orders = [asked(ht.Optimizer(LINE, r_perp(STILL, 100), seed=s), 6)[2:] for s in range(40)]
    assert len({tuple(sorted(order)) for order in orders}) == 1
    firsts = Counter(order[0] for order in orders)
    assert len(firsts) == 4
    assert max(firsts.values()) < 25  # 10 expected, standard deviation 2.7


def test_points_that_cannot_be_the_best_are_eliminated() -> None:
    """By the bounds of the phase's own results, as formulas."""
    opt = ht.Optimizer(LINE, r_perp(STILL, 100, beta=4.0), seed=0)
    told = []
    for _ in range(2):
        s = opt.ask()
        assert s.index is not None
        told.append((s.index, float(s.x.sum())))
        opt.tell(s, told[-1][1])
    engine = build(STILL, LINE, ReferenceOptions())
    for key, (index, y) in enumerate(told):
        engine.open(key, 1.0, np.array([index]))
        engine.tell(key, y)
    mean, variance = engine.predict(2.0, LINE.indices)
    reach = 2.0 * np.sqrt(variance)
    expected = np.flatnonzero(mean + reach >= (mean - reach).max())
    left = agent_of(opt).left
    assert 0 < len(left) < 36
    assert left.tolist() == expected.tolist()
    assert set(asked(opt, 4)) <= set(left.tolist())


def test_it_starts_again_after_a_restart() -> None:
    opt = ht.Optimizer(LINE, r_perp(STILL, 7, beta=0.1), seed=0)
    first = Counter(asked(opt, 2, 1.0))
    for _ in range(5):
        s = opt.ask()
        opt.tell(s, float(s.x.sum()))
    assert len(agent_of(opt).left) < 36
    assert Counter(asked(opt, 2, 1.0)) == first
    assert opt.latest == 9.0


def test_a_cancelled_evaluation_returns_to_the_batch() -> None:
    opt = ht.Optimizer(LINE, r_perp(STILL, 100), seed=0)
    s = opt.ask()
    opt.cancel(s, avoid=False)
    again = asked(opt, 2)
    assert s.index in again


def test_more_open_than_planned() -> None:
    """The phase ends when its own batch is told; other open evaluations do not delay it."""
    opt = ht.Optimizer(LINE, r_perp(STILL, 100), seed=0)
    first, second, extra = (opt.ask() for _ in range(3))
    assert extra.index not in (first.index, second.index)
    opt.tell(first, 0.0)
    opt.tell(second, 0.0)
    assert len(asked(opt, 4)) == 4
    opt.tell(extra, 0.0)
    assert len(opt.history) == 7


def test_it_finds_the_best_of_a_static_function() -> None:
    world = GPDrift(LINE, STILL)
    for seed in range(3):
        regret = [step.regret for step in play(r_perp(STILL, 200), world.episode(90, seed), seed)]
        assert np.mean(regret[60:]) < 0.3 * np.mean(regret[:6])


def test_in_a_box_it_plays_on_fixed_points() -> None:
    opt = ht.Optimizer(square(), r_perp(PRIOR, 20), seed=0)
    for _ in range(8):
        s = opt.ask()
        opt.tell(s, float(-s.x.sum()))
    points = agent_of(opt)._points.tolist()
    assert all(x in points for x in opt.history.x.tolist())


def test_refusals() -> None:
    with refusal(InputError):
        r_perp(None, 5)  # type: ignore[arg-type]
    with refusal(InputError):
        r_perp(STILL, 0)
    with pytest.raises(InputError, match="takes a context"):
        ht.Optimizer(ht.Contextual(ht.grid(3), ht.Box([0], [1])), r_perp(STILL, 5))
