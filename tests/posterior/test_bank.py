"""Learning while tracking: the bank of engines and its estimate of the drift."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF, Matern

import heliotrope as ht
from heliotrope.domains import Domain
from heliotrope.errors import HeliotropeError, InputError, KernelError
from heliotrope.estimation import Observations, log_likelihood
from heliotrope.lab.environments import GPDrift
from heliotrope.memory import Restart
from heliotrope.policies import GPPolicy
from heliotrope.posterior import (
    BankEngine,
    Engine,
    HasSurface,
    Learned,
    build,
    engine_options,
    mixture,
)
from heliotrope.serialization.codec import State
from scenario import play
from strategies import assert_same, refusal

EPSILONS = (0.001, 0.02, 0.4)
GRID, BOX = ht.grid(6, 6), ht.Box([0.0, -1.0], [1.0, 1.0])
PRIOR = ht.Prior(RBF(0.3), ht.Forgetting(0.5), 0.01)


def drifting(epsilon: float) -> ht.Prior:
    return PRIOR.with_time(ht.Forgetting(epsilon))


def learner(**options: Any) -> ht.Optimizer:
    learn = ht.Learn(**{"epsilons": EPSILONS} | options)
    return ht.Optimizer(GRID, ht.tv_gp_ucb(PRIOR, learn=learn))


def restarting(every: float) -> ht.Optimizer:
    learn = ht.Learn(epsilons=EPSILONS)
    return ht.Optimizer(GRID, GPPolicy(PRIOR, ht.UCB(2.0), Restart(every), learn=learn))


def follow(optimizer: ht.Optimizer, epsilon: float, steps: int) -> ht.Optimizer:
    episode = GPDrift(GRID, drifting(epsilon)).episode(steps, 0)
    for t in range(1, steps + 1):
        s = optimizer.ask()
        optimizer.tell(s, episode.measure(t, s.index or 0))
    return optimizer


def bank_over(domain: Domain, engine: str | None = None, **options: Any) -> BankEngine:
    learn = ht.Learn(**{"epsilons": EPSILONS} | options)
    return BankEngine(learn, PRIOR, lambda prior: build(prior, domain, engine_options(engine)))


def learned_of(weights: list[float], epsilons: tuple[float, ...] = EPSILONS) -> Learned:
    priors = [drifting(epsilon) for epsilon in epsilons]
    return Learned(priors, np.array(epsilons), np.array(weights), np.empty(0), np.empty(0))


# What is learned


@pytest.mark.parametrize("truth", EPSILONS)
def test_the_drift_is_learned(truth: float) -> None:
    learned = follow(learner(), truth, 250).learned()
    assert learned.weights.sum() == pytest.approx(1.0)
    assert learned.epsilon == pytest.approx(truth, rel=0.5)
    assert learned.interval[0] <= truth <= learned.interval[1]
    assert len(learned.t) == len(learned.path) == 250
    assert learned.path[-1] == learned.epsilon


@pytest.mark.parametrize("truth", [0.005, 0.09])
def test_the_interval_covers_a_drift_between_candidates(truth: float) -> None:
    low, high = follow(learner(), truth, 250).learned().interval
    assert low <= truth <= high


def test_weights_are_those_of_the_likelihoods() -> None:
    optimizer = follow(learner(), 0.02, 30)
    told = optimizer.history
    data = Observations(told.t, told.x, told.y)
    np.testing.assert_allclose(
        optimizer.learned().weights, likelihood_weights([data]), rtol=1e-5, atol=1e-12
    )


def likelihood_weights(episodes: list[Observations]) -> Any:
    scores = np.array([log_likelihood(drifting(epsilon), episodes) for epsilon in EPSILONS])
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


@pytest.mark.parametrize("choose", ["best", "mixture"])
def test_noise_and_scale_in_a_box(choose: str) -> None:
    prior = ht.Prior(RBF(0.1), ht.Forgetting(0.01), 0.001)
    learn = ht.Learn((0.01,), noises=(1.0, 30.0), scales=(1.0, 5.0), choose=choose)  # type: ignore[arg-type]
    optimizer = ht.Optimizer(ht.Box([0], [1]), ht.tv_gp_ucb(prior, beta=4.0, learn=learn))
    rng = np.random.default_rng(0)
    for _ in range(60):
        s = optimizer.ask()
        optimizer.tell(s, float(np.sin(5 * s.x[0]) + np.sqrt(0.03) * rng.normal()))
    learned = optimizer.learned()
    likeliest = learned.priors[int(learned.weights.argmax())]
    assert likeliest.noise == pytest.approx(0.03)
    assert likeliest.space == RBF(0.5)
    assert "noise 0.03, RBF(length_scale=0.5)" in str(learned)


# How it is said


def test_the_estimate_in_words() -> None:
    learned = follow(learner(), 0.02, 60).learned()
    low, high = learned.interval
    assert str(learned) == (
        f"epsilon {learned.epsilon:.3g} per unit of time (95 %: {low:.3g} to {high:.3g}), "
        "after 60 results"
    )


@pytest.mark.parametrize(
    ("candidates", "truth", "edge", "advice"),
    [
        ((0.02, 0.4), 0.0005, "low", "add lower epsilons"),
        ((0.0005, 0.005), 0.4, "high", "add higher epsilons"),
        (EPSILONS, 0.02, None, "results"),
    ],
)
def test_a_drift_beyond_the_candidates_is_reported(
    candidates: tuple[float, ...], truth: float, edge: str | None, advice: str
) -> None:
    learned = follow(learner(epsilons=candidates), truth, 150).learned()
    assert learned.at_edge == edge
    assert advice in str(learned)


@pytest.mark.parametrize(
    ("weights", "epsilons", "edge"),
    [
        ([0.5, 0.5], (0.01, 0.1), None),  # before any data
        ([1.0], (0.01,), None),  # nothing to choose from
        ([0.9, 0.1], (0.1, 0.01), "high"),  # in any order
        ([0.9, 0.1], (0.0, 0.01), None),  # nothing is slower
        ([0.1, 0.9], (0.01, 1.0), None),  # nothing is faster
        ([0.3, 0.3, 0.4], (0.01, 0.01, 0.1), "low"),  # two hypotheses of one rate
    ],
)
def test_edges(
    weights: list[float], epsilons: tuple[float, ...], edge: Literal["low", "high"] | None
) -> None:
    assert learned_of(weights, epsilons).at_edge == edge


def test_the_estimate_is_a_geometric_mean() -> None:
    expected = 0.001**0.25 * 0.02**0.5 * 0.4**0.25
    assert learned_of([0.25, 0.5, 0.25]).epsilon == pytest.approx(expected)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [([1.0, 0.0, 0.0], 0.0), ([0.0, 0.5, 0.5], 0.02), ([0.5, 0.25, 0.25], 0.01)],
)
def test_a_candidate_of_zero(weights: list[float], expected: float) -> None:
    """The share of what drifts, times the geometric mean of 0.01 and 0.04."""
    learned = learned_of(weights, (0.0, 0.01, 0.04))
    assert learned.epsilon == pytest.approx(expected)


def test_an_interval_that_begins_at_zero() -> None:
    for weights, expected in (([1.0, 0.0, 0.0], (0.0, 0.005)), ([0.0, 1.0, 0.0], (0.005, 0.02))):
        interval = learned_of(weights, (0.0, 0.01, 0.04)).interval
        np.testing.assert_allclose(interval, expected, rtol=1e-12)


def test_a_static_function_is_recognized() -> None:
    learned = follow(learner(epsilons=(0.0, 0.01, 0.1)), 0.0, 150).learned()
    assert learned.epsilon < 1e-3
    assert learned.interval == (0.0, 0.005)
    assert learned.at_edge is None


# How it is drawn


@pytest.mark.parametrize(
    ("epsilons", "scale"), [(EPSILONS, "log"), ((0.0, 0.02), "symlog"), ((0.0,), "symlog")]
)
def test_the_estimate_can_be_drawn(epsilons: tuple[float, ...], scale: str) -> None:
    learned = follow(learner(epsilons=epsilons), 0.02, 30).learned()
    figure = Figure()
    axes = figure.subplots()
    learned.draw(axes)
    figure.canvas.draw_idle()
    (line,) = axes.lines
    np.testing.assert_array_equal(line.get_ydata(), learned.path)
    assert axes.get_yscale() == scale


def test_time_never_falls_though_results_come_late() -> None:
    optimizer = learner()
    asked = [optimizer.ask(t) for t in (1.0, 2.0, 2.5, 4.0)]
    for i in (2, 0, 3):
        optimizer.tell(asked[i], float(i))
    optimizer.tell(optimizer.ask(7.0), 0.5)
    optimizer.tell(asked[1], 1.0)
    np.testing.assert_array_equal(optimizer.learned().t, [4.0, 4.0, 4.0, 7.0, 7.0])


# What it acts on


def test_one_hypothesis_is_its_engine() -> None:
    for domain in (GRID, BOX):
        bank = bank_over(domain, epsilons=(0.5,))
        alone = build(PRIOR, domain)
        places = GRID.indices if domain is GRID else BOX.scaled(GRID.points)
        for t in play([bank, alone], domain, PRIOR, steps=30, irregular=True):
            for found, expected in zip(
                bank.predict(t + 0.5, places), alone.predict(t + 0.5, places), strict=True
            ):
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
        assert bank.log_likelihood == pytest.approx(alone.log_likelihood)
        covariance = alone.covariance(t, places)
        np.testing.assert_allclose(bank.covariance(t, places), covariance, atol=1e-12)


def test_the_mixture_has_the_mean_and_variance_of_its_parts() -> None:
    optimizer = follow(learner(), 0.02, 6)
    told, weights = optimizer.history, optimizer.learned().weights
    means, variances = [], []
    for epsilon in EPSILONS:
        alone = ht.Optimizer(GRID, ht.tv_gp_ucb(drifting(epsilon)))
        alone.tell_many(told.t, told.index, told.y)
        belief = alone.belief(7.0)
        means.append(belief.mean)
        variances.append(belief.std**2)
    mean = weights @ np.array(means)
    second = weights @ (np.array(variances) + np.array(means) ** 2)
    belief = optimizer.belief(7.0)
    np.testing.assert_allclose(belief.mean, mean, atol=1e-9)
    np.testing.assert_allclose(belief.std**2, second - mean**2, atol=1e-9)


def test_the_covariance_of_a_mixture_agrees_with_its_variance() -> None:
    bank = bank_over(GRID)
    for t in play([bank], GRID, PRIOR, steps=8, irregular=False):
        _, variance = bank.predict(t, GRID.indices, count_open=False)
        diagonal = bank.covariance(t, GRID.indices).diagonal()
        np.testing.assert_allclose(diagonal, variance, atol=1e-9)
        cross = bank.covariance(t, GRID.indices, GRID.indices[4:6])
        np.testing.assert_allclose(cross, bank.covariance(t, GRID.indices)[:, 4:6], atol=1e-12)


def test_the_best_is_the_likeliest_alone() -> None:
    optimizer = follow(learner(choose="best"), 0.02, 60)
    told, weights = optimizer.history, optimizer.learned().weights
    alone = ht.Optimizer(GRID, ht.tv_gp_ucb(drifting(EPSILONS[int(weights.argmax())])))
    alone.tell_many(told.t, told.index, told.y)
    belief, expected = optimizer.belief(61.0), alone.belief(61.0)
    np.testing.assert_allclose(belief.mean, expected.mean, atol=1e-12)
    np.testing.assert_allclose(belief.std, expected.std, atol=1e-9)


@pytest.mark.parametrize("choose", ["best", "mixture"])
def test_the_surface_over_a_box_is_what_is_predicted(choose: str) -> None:
    bank = bank_over(BOX, choose=choose)
    X, h = BOX.scaled(np.random.default_rng(1).random((20, 2))), 1e-5
    for t in play([bank], BOX, PRIOR, steps=12, irregular=False):
        surface = bank.surface(t)
        for found, expected in zip(surface.value(X), bank.predict(t, X), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-10)
    for i, step in enumerate(h * np.eye(2)):
        ahead, behind = surface.value(X + step), surface.value(X - step)
        for j, slope in enumerate(surface.gradient(X)):
            np.testing.assert_allclose(slope[:, i], (ahead[j] - behind[j]) / (2 * h), atol=1e-6)


class Silent:
    """An engine that has no surface to show."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def surface(self, t: float) -> Any:
        raise AssertionError("a surface that nobody needs")


def test_only_the_surface_of_the_likeliest_is_made() -> None:
    learn = ht.Learn(epsilons=EPSILONS, choose="best")

    def make(prior: ht.Prior) -> Engine:
        likeliest = prior.time == ht.Forgetting(EPSILONS[0])  # the first, before any data
        return build(prior, BOX) if likeliest else Silent(build(prior, BOX))

    bank = BankEngine(learn, PRIOR, make)
    assert isinstance(bank, HasSurface)
    mean, variance = bank.surface(1.0).value(BOX.lower[None, :])
    np.testing.assert_array_equal([mean, variance], [[0.0], [1.0]])


# A memory that restarts


def test_what_was_learned_outlives_a_restart() -> None:
    optimizer = follow(restarting(20), 0.02, 50)
    told, learned = optimizer.history, optimizer.learned()
    epochs = [told.t <= 20, (told.t > 20) & (told.t <= 40), told.t > 40]
    data = [Observations(told.t[e], told.x[e], told.y[e]) for e in epochs]
    np.testing.assert_allclose(learned.weights, likelihood_weights(data), rtol=1e-5, atol=1e-12)
    assert len(learned.path) == 50
    np.testing.assert_array_equal(learned.t, told.t)


def test_the_likelihood_after_a_restart_is_that_of_the_new_data() -> None:
    optimizer = follow(restarting(20), 0.02, 25)
    told, scores = optimizer.history, []
    for epsilon in EPSILONS:
        parts = [Observations(told.t[e], told.x[e], told.y[e]) for e in (told.t <= 20, told.t > 20)]
        scores.append([log_likelihood(drifting(epsilon), part) for part in parts])
    before, after = np.array(scores).T
    expected = np.logaddexp.reduce(before + after) - np.logaddexp.reduce(before)
    assert optimizer.log_likelihood == pytest.approx(expected, rel=1e-6)


def test_a_restart_forgets_the_function() -> None:
    optimizer = follow(restarting(20), 0.02, 20)
    belief = optimizer.belief(21.0)
    np.testing.assert_array_equal(belief.mean, np.zeros(36))
    np.testing.assert_allclose(belief.std, np.ones(36), rtol=1e-12)


# Files


@pytest.mark.parametrize("choose", ["best", "mixture"])
def test_a_learning_optimizer_survives_its_file(choose: str, tmp_path: Path) -> None:
    check_file(follow(learner(choose=choose), 0.02, 40), tmp_path / "file")


@pytest.mark.parametrize("steps", [19, 20, 25])
def test_a_restarting_one_survives_its_file(steps: int, tmp_path: Path) -> None:
    check_file(follow(restarting(20), 0.02, steps), tmp_path / "file")


def check_file(optimizer: ht.Optimizer, path: Path) -> None:
    waiting = optimizer.ask()
    optimizer.save(path)
    again = ht.Optimizer.load(path)
    for one in (optimizer, again):
        for _ in range(3):
            one.tell(one.ask(), 0.1)
        one.tell(waiting.id, 0.3)
    np.testing.assert_array_equal(again.learned().weights, optimizer.learned().weights)
    np.testing.assert_array_equal(again.learned().path, optimizer.learned().path)
    np.testing.assert_array_equal(again.learned().t, optimizer.learned().t)
    assert_same(again, optimizer)


# All or nothing


class Breaking:
    """An engine whose next step fails after it was taken, once it is told to break."""

    breaks = False

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        if name not in ("open", "tell", "cancel"):
            return found

        def step(*arguments: Any) -> None:
            found(*arguments)
            if self.breaks:
                self.breaks = False
                raise KernelError("a positive definite kernel", "another")

        return step


def breaking_bank(domain: Domain, engine: str) -> tuple[BankEngine, Breaking]:
    made: list[Breaking] = []

    def make(prior: ht.Prior) -> Any:
        made.append(Breaking(build(prior, domain, engine_options(engine))))
        return made[-1]

    bank = BankEngine(ht.Learn(epsilons=EPSILONS), PRIOR, make)
    return bank, made[1]


@pytest.mark.parametrize("most_steps", [5, 2_000])
@pytest.mark.parametrize(
    ("domain", "engine"),
    [(GRID, "finite"), (BOX, "box"), (GRID, "dense"), (BOX, "reference")],
    ids=["finite", "box", "dense", "reference"],
)
@pytest.mark.parametrize("name", ["open", "tell", "cancel"])
def test_a_step_that_fails_in_one_engine_is_taken_by_none(
    name: str, domain: Domain, engine: str, most_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixture, "_MOST_STEPS", most_steps)
    bank, fragile = breaking_bank(domain, engine)
    place = np.array([3]) if domain is GRID else np.array([[0.2, 0.4]])
    step: dict[str, Callable[[], None]] = {
        "open": lambda: bank.open(100, 99.0, place),
        "tell": lambda: bank.tell(99, 0.7),
        "cancel": lambda: bank.cancel(99),
    }
    *_, t = play([bank], domain, PRIOR, steps=12, irregular=True)
    bank.open(99, t, place)
    before = copied(bank.state())
    fragile.breaks = True
    with pytest.raises(KernelError):
        step[name]()
    assert_same_state(bank.state(), before)
    step[name]()


def copied(state: State) -> State:
    return {name: array.copy() for name, array in state.items()}


def assert_same_state(one: State, other: State) -> None:
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


# What is refused


def test_a_drift_without_a_rate_is_refused() -> None:
    smooth = PRIOR.with_time(Matern(5.0, nu=1.5))
    with refusal(InputError):
        ht.tv_gp_ucb(smooth, learn=ht.Learn())
    with refusal(InputError):
        BankEngine(ht.Learn(), smooth, lambda prior: build(prior, GRID))


@pytest.mark.parametrize("time", [ht.Static(), ht.Forgetting(0.3)], ids=str)
def test_the_rate_of_the_prior_does_not_matter(time: ht.Static | ht.Forgetting) -> None:
    expected = follow(learner(), 0.02, 5)
    policy = ht.tv_gp_ucb(PRIOR.with_time(time), learn=ht.Learn(epsilons=EPSILONS))
    found = follow(ht.Optimizer(GRID, policy), 0.02, 5)
    np.testing.assert_array_equal(found.learned().weights, expected.learned().weights)


def test_what_is_given_cannot_be_read_as_learned() -> None:
    with pytest.raises(HeliotropeError, match="learn"):
        ht.Optimizer(ht.grid(3), ht.tv_gp_ucb(PRIOR)).learned()


def test_what_cannot_be_tried_is_refused() -> None:
    table = PRIOR.with_space(ht.Tabulated(np.eye(3)))
    with pytest.raises(InputError, match="length scales"):
        ht.tv_gp_ucb(table, learn=ht.Learn(scales=(1.0, 2.0)))


@pytest.mark.parametrize(
    "options",
    [{"epsilons": ()}, {"epsilons": (0.1, 2.0)}, {"noises": (0.0,)}, {"choose": "worst"}],
    ids=str,
)
def test_bad_candidates_are_refused(options: dict[str, Any]) -> None:
    with refusal(InputError):
        ht.Learn(**options)
