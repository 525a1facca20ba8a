"""Exact values and long quiet runs are no faults, and no jumps."""

from collections.abc import Callable

import numpy as np
import pytest

import heliotrope as ht
from heliotrope.estimation.changes import Regime, latest_change
from heliotrope.estimation.results import Results
from heliotrope.estimation.world import World
from heliotrope.validation import Array

PLACES: dict[str, Callable[[float], float]] = {
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
    change = latest_change(Regime(results, WORLD, 1.0), [])
    assert (0 if change is None else change.results) == length


@pytest.mark.parametrize("seed", [1, 2])
def test_zeros_among_ones_are_no_faults(seed: int) -> None:
    """Successes and failures: the regret of the second half is below 0.4 of random choice's."""
    rng = np.random.default_rng(seed)
    center = rng.uniform(0.1, 0.9)

    def probability(x: Array) -> Array:
        return np.asarray(1.0 / (1.0 + np.exp(20.0 * (x - center) ** 2 - 2.0)))

    opt = ht.Optimizer({"x": ht.Real(0, 1)}, ht.auto({"x": ht.Real(0, 1)}), seed=seed)
    for _ in range(120):
        ask = opt.ask()
        opt.tell(ask, float(rng.random() < probability(ask.x)[0]))
    everywhere = probability(np.linspace(0.0, 1.0, 201))
    regret = everywhere.max() - probability(opt.history.x[60:, 0])
    assert regret.mean() < 0.4 * (everywhere.max() - everywhere.mean())
    assert opt.learner is not None
    assert not opt.learner.faults(frozenset())


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([0.0, 1.0, 1.0, 0.0, 1.0], 1.0),  # successes and failures
        ([3.0, 5.0, 3.0, 4.0, 5.0, 4.0, 9.0], 1.0),  # counts
        ([0.5, 0.5, 0.5], 0.0),  # a constant
        ([0.1, 0.2, 0.3, 0.4, 0.3, 0.2], 0.1),
        ([0.11, 0.23, 0.37, 0.49, 0.37], 0.0),  # hardly any is repeated
        ([-10.0, -10.0, 0.11, 0.23, 0.37, 0.49], 0.0),  # placeholders
    ],
)
def test_repeated_values_show_how_they_are_rounded(values: list[float], unit: float) -> None:
    y = np.array(values)
    results = Results(np.arange(len(y), dtype=float), y[:, None], y)
    assert results.rounding == pytest.approx(unit**2 / 12.0)
