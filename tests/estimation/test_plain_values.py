"""Exact values and long quiet runs are no faults, and no jumps."""

import numpy as np
import pytest

import heliotrope as ht
from heliotrope.estimation.changes import length_of_new_world
from heliotrope.estimation.regime import Regime
from heliotrope.estimation.results import Results
from heliotrope.estimation.world import World

PLACES = {
    "bowl": lambda x: -((x - 0.824) ** 2) / 0.0375,
    "step": lambda x: float(x > 0.3),
    "kink": lambda x: -abs(x - 0.7),
    "constant": lambda _: 4.0,
}
WORLD = World(
    mean=0.0,
    mean_variance=1.0,
    stays=0.03,
    drifts=0.01,
    level=0.01,
    noise=1e-4,
    drift_rate=1e-3,
    level_rate=1e-3,
    lengths=(1.0,),
)


@pytest.mark.parametrize("name", PLACES)
def test_an_exact_optimum_is_not_left_again(name: str) -> None:
    """From result 60 on, all asks but the odd one are within a hundredth of the best."""
    f = PLACES[name]
    opt = ht.Optimizer({"x": ht.Real(0, 1)}, ht.auto({"x": ht.Real(0, 1)}), seed=0)
    for _ in range(110):
        ask = opt.ask()
        opt.tell(ask, f(float(ask.x[0])))
    y = opt.history.y
    best = max(f(x) for x in np.linspace(0.0, 1.0, 1001))
    assert np.mean(best - y[60:] > 0.01 * (best - y.min())) <= 0.05
    assert opt.learner is not None
    assert len(opt.learner.faults(frozenset())) <= 1  # beside the step, a value may look like one


@pytest.mark.parametrize(("later", "length"), [(-4.5, 0), (4.5, 2)])
def test_results_that_agree_with_earlier_ones_at_their_place_are_no_jump(
    later: float, length: int
) -> None:
    """An early result of -4.5 at 0 looks like a fault; two more like it say that it was none."""
    x = np.array([0.0, *np.linspace(0.4, 1.0, 26), 0.0, 0.0])
    y = np.array([-4.5, *np.zeros(26), later, later])
    results = Results(np.arange(29.0), x[:, None], y)
    assert length_of_new_world(Regime(results, WORLD, 1.0)) == length
