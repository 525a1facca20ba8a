"""Optimizers over named spaces, and of the lowest value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.errors import InputError
from heliotrope.policies import Policy, d_ucb, exp3, pe_gp_ucb

BOX = ht.SearchSpace({"x": ht.Real(-2, 2), "n": ht.Integer(1, 5000), "on": ht.Boolean()})
LISTED = ht.SearchSpace({"x": ht.Real(0, 1, step=0.25), "mode": ht.Categorical(["a", "b"])})
OPTIONS = ht.Options(["hall", "roof", "yard"], features=[[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
PRIOR = ht.Prior(RBF(0.3), ht.Forgetting(0.01), noise=0.01, mean=20.0)
POINTS = ht.grid(11)
POLICIES: list[Policy] = [
    ht.tv_gp_ucb(PRIOR), pe_gp_ucb(PRIOR, [0.01, 0.1]), exp3(10.0, 30.0, horizon=100),
    d_ucb(10.0, 30.0, discount=0.9), ht.auto(POINTS),
]  # fmt: skip
BELOW = ht.Prior(RBF(0.3), ht.Forgetting(0.01), noise=0.01, mean=-20.0)
NEGATIVE: list[Policy] = [  # of the same policies
    ht.tv_gp_ucb(BELOW), pe_gp_ucb(BELOW, [0.01, 0.1]), exp3(-30.0, -10.0, horizon=100),
    d_ucb(-30.0, -10.0, discount=0.9), ht.auto(POINTS),
]  # fmt: skip


def bowl(params: dict[str, Any]) -> float:
    return float((params["x"] - 0.5) ** 2 + 3.0 * params["on"])


def test_auto_minimizes_over_a_space_with_dictionaries_in_and_out() -> None:
    opt = ht.Optimizer(BOX, ht.auto(BOX), seed=1, direction="minimize")
    for _ in range(40):
        s = opt.ask()
        assert s.params == BOX.params(s.x)
        np.testing.assert_array_equal(BOX.point(s.params), s.x)  # the point that is measured
        opt.tell(s, bowl(s.params))
    best = opt.best()
    assert bowl(best.params) < 0.05
    assert abs(best.mean - bowl(best.params)) < 5 * best.std + 0.05


@pytest.mark.parametrize("space", [BOX, LISTED], ids=["box", "listed"])
def test_configurations_go_in(space: ht.SearchSpace) -> None:
    opt = ht.Optimizer(space, ht.auto(space))
    some = [space.params(np.full(space.domain.dimension, u)) for u in (0.2, 0.9)]
    begun = opt.begin(some[0])
    assert begun.params == some[0]
    opt.tell(begun, 1.0)
    opt.tell_many([1.0, 2.0], some, [1.0, 2.0])
    np.testing.assert_array_equal(opt.history.x[1:], [space.point(one) for one in some])
    belief = opt.belief(X=some)
    np.testing.assert_array_equal(belief.points, [space.point(one) for one in some])
    assert opt.sample(X=some, size=3).shape == (3, 2)


def test_options_go_in_and_out_by_name() -> None:
    opt = ht.Optimizer(OPTIONS, ht.auto(OPTIONS))
    s = opt.begin("yard")
    assert (s.option, s.params, s.index) == ("yard", {}, 2)
    opt.tell(s, 2.0)
    opt.tell_many([2.0, 3.0], ["hall", "yard"], [1.0, 2.0])
    assert opt.history.index.tolist() == [2, 0, 2]
    assert opt.best().option in ("roof", "yard")  # one point, by their features
    assert opt.ask().option in OPTIONS.names
    assert opt.belief(X=["roof", "yard"]).mean.tolist() == opt.belief().mean[1:].tolist()


@pytest.mark.parametrize("space", [BOX, LISTED, OPTIONS], ids=["box", "listed", "options"])
def test_a_saved_optimizer_keeps_space_and_direction(
    space: ht.SearchSpace | ht.Options, tmp_path: Path
) -> None:
    opt = ht.Optimizer(space, ht.auto(space), seed=3, direction="minimize")
    for i in range(6):
        opt.tell(opt.ask(), 20.0 + i)
    waiting = opt.ask()
    opt.save(tmp_path / "saved")
    again = ht.Optimizer.load(tmp_path / "saved")
    assert (again.space, again.direction) == (space, "minimize")
    assert again.open[0].params == waiting.params
    assert again.open[0].option == waiting.option
    ask, other = again.ask(), opt.ask()
    assert (ask.params, ask.option, ask.t) == (other.params, other.option, other.t)
    assert again.best().mean == opt.best().mean


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_minimizing_is_maximizing_the_negative(policy: Policy) -> None:
    negative = NEGATIVE[POLICIES.index(policy)]
    low = ht.Optimizer(POINTS, policy, seed=2, direction="minimize")
    high = ht.Optimizer(POINTS, negative, seed=2)
    noise = np.random.default_rng(0).normal(size=15)
    for i in range(15):
        one, other = low.ask(), high.ask()
        assert one.index == other.index
        y = 20.0 + float(one.x[0]) + 0.1 * float(noise[i])
        low.tell(one, y)
        high.tell(other, -y)
    low.tell_many([3.5], [[0.5]], [20.0])
    high.tell_many([3.5], [[0.5]], [-20.0])
    assert low.ask().index == high.ask().index
    np.testing.assert_array_equal(low.history.y, -high.history.y)
    if type(policy).__name__ in ("GPPolicy", "Adaptive"):
        np.testing.assert_array_equal(low.belief().mean, -high.belief().mean)
        np.testing.assert_array_equal(low.sample(size=2), -high.sample(size=2))
        assert low.best().index == high.best().index
    if type(policy).__name__ == "Adaptive":
        assert low.model().mean == -high.model().mean


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ht.Optimizer(BOX, ht.auto(BOX), direction="down"), "maximize or minimize"),  # type: ignore[arg-type]
        (lambda: ht.Optimizer(BOX, ht.auto(BOX)).begin({"x": 0.0}), "a value of 'n'"),
        (lambda: ht.Optimizer(OPTIONS, ht.auto(OPTIONS)).begin("cellar"), "one of"),
        (lambda: ht.Optimizer(POINTS, ht.auto(POINTS)).begin({"x": 0.0}), "SearchSpace"),
        (
            lambda: ht.Optimizer(BOX, ht.auto(BOX)).tell_many([1], [{"x": 9.0}], [1]),
            "^0.params.n: ",
        ),
        (lambda: ht.Optimizer(BOX, ht.auto(BOX)).ask(context=[1.0]), "no context"),
        (lambda: ht.auto("x"), "a SearchSpace or Options"),
    ],
)
def test_wrong_input_is_refused(call: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()
