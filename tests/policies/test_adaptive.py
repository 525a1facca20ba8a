"""Policies with learned parameters, including the default one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.acquisition import MeasurementUCB
from heliotrope.domains import Domain, Lattice, initial_count
from heliotrope.errors import InputError, NoBeliefError, TimeError
from heliotrope.estimation import (
    Model,
    is_estimate_due,
)
from heliotrope.lab.environments import GPDrift, play
from heliotrope.policies import GPPolicy, Policy, uniform
from heliotrope.policies.adaptive import Adaptive, AdaptiveAgent
from heliotrope.policies.auto import Tracking, lasting_beta
from heliotrope.policies.registry import REGISTRY, Named
from heliotrope.testing import check_policy
from strategies import ask_of, assert_same, refusal
from studies import standard_error

GRID, BOX = ht.grid(6, 6), ht.Box([-30.0, 1000.0], [10.0, 1001.0])
MIXED = ht.Box([0.0, 5.0], [1.0, 9.0], [Lattice((1,), np.array([[5.0], [6.0], [9.0]]))])
DOMAINS: dict[str, Domain] = {"grid": GRID, "box": BOX, "mixed": MIXED}


def hill(x: Any, t: float) -> float:
    """A hill over the box that moves slowly, in an arbitrary unit."""
    u = (x[0] + 30.0) / 40.0, x[1] - 1000.0
    return 500.0 - 40.0 * float((u[0] - 0.3 - 0.002 * t) ** 2 + (u[1] - 0.6) ** 2)


def tracked(optimizer: ht.Optimizer, f: Callable[[Any, float], float], steps: int) -> ht.Optimizer:
    for _ in range(steps):
        s = optimizer.ask()
        optimizer.tell(s, f(s.x, s.t))
    return optimizer


def agent_of(optimizer: ht.Optimizer) -> AdaptiveAgent:
    agent = optimizer.agent
    assert isinstance(agent, AdaptiveAgent)
    return agent


# What is learned


def test_a_peak_is_found_among_noise() -> None:
    box, rng = ht.Box([0.0, 0.0], [1.0, 1.0]), np.random.default_rng(118)
    optimizer = ht.Optimizer(box, ht.auto(box), seed=18)
    values = list[float]()
    for _ in range(70):
        s = optimizer.ask()
        values.append(10.0 * float(np.exp(-np.sum((s.x - [0.7, 0.35]) ** 2) / 0.0128)))
        optimizer.tell(s, values[-1] + 0.5 * rng.standard_normal())
    assert max(values[:15]) < 1.0  # all of the first looks miss it
    assert np.mean(values[-20:]) > 5.0  # random choice has 0.4


# The acquisition


def test_measurement_ucb_counts_the_effect_of_a_measurement() -> None:
    """The mean moves by s^2 / sqrt(s^2 + noise) times a standard normal."""
    std, noise = np.array([0.0, 0.1, 2.0]), 0.25
    moved = MeasurementUCB(1.0, noise).value(1.0, np.zeros(3), std)
    rng = np.random.default_rng(0)
    f = std * rng.standard_normal((200_000, 1))
    y = f + np.sqrt(noise) * rng.standard_normal(f.shape)
    mean = y * std**2 / (std**2 + noise)
    np.testing.assert_allclose(moved, mean.std(axis=0), rtol=5.0 / np.sqrt(400_000))


def test_slopes_of_a_measured_bound() -> None:
    bound, std, h = MeasurementUCB(3.0, 0.2), np.array([0.05, 0.4, 3.0]), 1e-6
    by_mean, by_std = bound.slopes(1.0, np.ones(3), std)
    up, down = (bound.value(1.0, np.ones(3), std + step) for step in (h, -h))
    np.testing.assert_allclose(by_std, (up - down) / (2.0 * h), rtol=1e-7)
    assert by_mean.tolist() == [1.0, 1.0, 1.0]


def test_noise_of_a_measured_bound_is_positive() -> None:
    with refusal(InputError):
        MeasurementUCB(3.0, 0.0)


def test_beta_lasts_the_longer_the_slower_the_drift() -> None:
    betas = [lasting_beta(rate) for rate in (1.0, 0.1, 0.01, 0.003, 0.001, 1e-4, 0.0)]
    assert betas == sorted(betas)
    assert betas[0] == betas[2] == ht.LogBeta()(10)


# The policy


@pytest.mark.parametrize("name", ["box", "mixed"])
def test_the_default_policy_keeps_the_laws(name: str) -> None:
    laws = ("stays in the domain", "late results", "constant values", "extreme values")
    check_policy(ht.auto(DOMAINS[name]), DOMAINS[name], laws=laws)


def test_too_large_values_are_refused() -> None:
    """Up to the limit the next learning takes them, whatever else was told."""
    optimizer, rng = ht.Optimizer(GRID, ht.auto(GRID), seed=0), np.random.default_rng(0)
    for _ in range(45):
        suggestion = optimizer.ask()
        with pytest.raises(
            InputError, match=r"below 1e\+45 in size.*got a size of 1e\+46.*larger unit"
        ):
            optimizer.tell(suggestion, -1e46)
        optimizer.tell(suggestion, float(rng.choice([1e45, -1e45, 1.0, 0.0])))
    assert np.all(np.isfinite(optimizer.belief().mean))


def test_a_hill_in_any_unit_is_climbed() -> None:
    """Without noise, and within a tenth of the box: 40 * 0.1^2 = 0.4 below the top."""
    optimizer = tracked(ht.Optimizer(BOX, ht.auto(BOX), seed=0), hill, 40)
    best = optimizer.best()
    assert hill(best.x, best.t) > 500.0 - 0.4
    assert best.mean == pytest.approx(hill(best.x, best.t), abs=1.0)


def test_units_make_no_difference() -> None:
    """Powers of two, so that rounding has no effect either."""
    plain, scaled = ht.grid(5, 5), ht.grid(5, 5, upper=4.0)
    one = ht.Optimizer(plain, ht.auto(plain), seed=2)
    other = ht.Optimizer(scaled, ht.auto(scaled), seed=2)
    for _ in range(25):
        s, other_s = one.ask(), other.ask()
        assert s.index == other_s.index
        y = float(np.sin(5.0 * s.x).sum())
        one.tell(s, y)
        other.tell(other_s, 64.0 * y)


def test_first_points_lie_apart() -> None:
    for seed in range(5):
        optimizer = ht.Optimizer(BOX, ht.auto(BOX), seed=seed)
        x = BOX.unit(np.array([optimizer.ask().x for _ in range(5)]))
        gaps = np.linalg.norm(x[:, None] - x[None], axis=2) + 9.0 * np.eye(5)
        assert gaps.min() > 0.3


def test_choices_lie_on_the_lattice() -> None:
    optimizer = ht.Optimizer(MIXED, ht.auto(MIXED), seed=0)
    tracked(optimizer, lambda x, _: float(x[0] * x[1]), 20)
    assert set(optimizer.history.x[:, 1].tolist()) <= {5.0, 6.0, 9.0}


def test_a_context_is_kept() -> None:
    domain = ht.Contextual(choices=ht.Box(0.0, 4.0), context=ht.Box(-10.0, 40.0))
    optimizer = ht.Optimizer(domain, ht.auto(domain.joined), seed=0)
    for i in range(15):
        context = float(i % 3) * 20.0 - 10.0
        s = optimizer.ask(context=context)
        assert s.x[1] == context
        optimizer.tell(s, -((s.x[0] - 2.0) ** 2) + context)
    assert optimizer.best(context=5.0).x[1] == 5.0


@pytest.mark.parametrize("name", ["grid", "box"])
def test_saved_in_the_middle(name: str) -> None:
    optimizer = ht.Optimizer(DOMAINS[name], ht.auto(DOMAINS[name]), seed=3)
    tracked(optimizer, lambda x, _: float(np.sum(x) % 3.0), 17)
    optimizer.ask()
    read = ht.Optimizer.loads(optimizer.dumps())
    assert read.model() == optimizer.model()
    s, other = optimizer.ask(), read.ask()
    assert ask_of(s) == ask_of(other)
    optimizer.tell(s, 1.0)  # the 18th, at which it learns
    read.tell(other, 1.0)
    assert is_estimate_due(18)
    assert read.model() == optimizer.model()
    if name == "grid":
        assert_same(optimizer, read)


def test_open_evaluations_outlive_what_is_learned() -> None:
    """Results told late, after a new estimate of the model, and in any order."""
    optimizer = ht.Optimizer(GRID, ht.auto(GRID), seed=0)
    waiting = [optimizer.ask() for _ in range(3)]
    tracked(optimizer, lambda x, _: float(x[0]), 13)
    optimizer.cancel(waiting[0])
    for s in reversed(waiting[1:]):
        optimizer.tell(s, float(s.x[0]))
    expected = sorted((o.t, int(o.index or 0), o.y) for o in optimizer.history)
    kept = [(one.t, int(one.place[0]), one.y) for one in agent_of(optimizer).knowledge.latest]
    assert kept == expected


def test_points_of_cancelled_evaluations_do_not_stay_in_a_box() -> None:
    """Of several hundred, only the latest few stay until the next model."""
    agents = [Adaptive(Tracking(), deferred=True).start(ht.Box([0.0], [1.0])) for _ in range(2)]
    rng = np.random.default_rng(2)
    for key, (x, y) in enumerate(zip(rng.random((9, 1)), rng.normal(size=9), strict=True)):
        for agent in agents:
            agent.open(key, float(key), x[None])
            agent.tell(key, float(y))
    for key in range(100, 400):
        agents[0].open(key, 9.0, rng.random((1, 1)))
    for key in range(100, 400):
        agents[0].cancel(key)
    points = [len(agent.state()["inner/engine/points/B"]) for agent in agents]
    assert points[1] == 9
    assert points[0] < 70
    where = np.linspace(0.0, 1.0, 5)[:, None]
    found, expected = (agent.predict(10.0, where, count_open=True) for agent in agents)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_memory_is_bounded() -> None:
    optimizer = ht.Optimizer(ht.grid(3), Adaptive(Named("gp_ucb")), seed=0)
    tracked(optimizer, lambda x, t: float(x[0]) + np.sin(t), 500)
    agent = agent_of(optimizer)
    assert (
        len(agent.knowledge.latest) == 400 + 500 - 429
    )  # as many, and those told since it learned
    assert agent.knowledge.latest[0].t < 100.0  # some are old


def test_memory_is_bounded_between_two_learnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliotrope.policies.learner.is_estimate_due", lambda _: False)
    agent, held = ht.auto(GRID).start(GRID), list[int]()
    for step in range(820):
        agent.open(step, float(step), np.array([step % 7]))
        agent.tell(step, float(step % 5))
        held.append(len(agent.knowledge.latest))
    assert held == [*range(1, 601), *range(400, 601), *range(400, 419)]


@pytest.mark.parametrize("values", ["tiny", "huge", "constant", "steps"])
def test_values_of_any_kind(values: str) -> None:
    f: dict[str, Callable[[Any, float], float]] = {
        "tiny": lambda x, _: 1e-80 * float(x[0]),
        "huge": lambda x, _: 1e40 * float(x[0]) - 1e41,
        "constant": lambda *_: -3.0,
        "steps": lambda _, t: float(t > 10.0),
    }
    optimizer = tracked(ht.Optimizer(GRID, ht.auto(GRID), seed=0), f[values], 30)
    belief = optimizer.belief()
    assert np.isfinite(belief.mean).all()
    assert np.isfinite(belief.std).all()


def test_one_point_alone() -> None:
    domain = ht.Finite([[2.0, 3.0]])
    optimizer = tracked(ht.Optimizer(domain, ht.auto(domain)), lambda _, t: t, 10)
    assert optimizer.best().index == 0


@pytest.mark.parametrize("name", [name for name in REGISTRY if REGISTRY[name].has_prior])
def test_every_named_policy_learns_its_parameters(name: str) -> None:
    optimizer = ht.Optimizer(GRID, Adaptive(Named(name)), seed=0)
    tracked(optimizer, lambda x, t: 20.0 + float(np.sin(3.0 * x[0] + 0.05 * t)), 20)
    assert abs(optimizer.model().mean - 20.0) < 1.0
    assert ask_of(ht.Optimizer.loads(optimizer.dumps()).ask()) == ask_of(optimizer.ask())


def test_parameters_follow_from_the_drift_between_results() -> None:
    """Results 60 units of time apart, of which one unit has a sixtieth of the drift."""
    model = Model(pace=60.0)
    epsilon = model.per_unit(0.01)
    assert model.per_result(epsilon) == pytest.approx(0.01, rel=1e-9)
    restarting = Named("r_gp_ucb").policy(model, epsilon, GRID)
    assert isinstance(restarting, GPPolicy)
    assert restarting.memory == ht.memory.Restart(38.0)
    given = Named("r_gp_ucb", '{"every": 120.0}').policy(model, epsilon, GRID)
    assert isinstance(given, GPPolicy)
    assert given.memory == ht.memory.Restart(2.0)


def test_wrong_recipes_and_domains() -> None:
    wrong: list[Callable[[], object]] = [
        lambda: Named("best"),
        lambda: Adaptive(Named),  # type: ignore[arg-type]
        lambda: Adaptive(uniform()),  # type: ignore[arg-type]
        lambda: ht.auto([0.0, 1.0]),  # type: ignore[list-item]
    ]
    for attempt in wrong:
        with refusal(InputError):
            attempt()


def test_the_default_policy_needs_no_parameters() -> None:
    """With everything to learn, its regret is at most a tenth above that with known parameters.

    Six paired trials of 120 steps, within three standard errors of them.
    """
    prior = ht.Prior(RBF(0.2), ht.Forgetting(0.03), 0.01, mean=100.0)
    world = GPDrift(ht.grid(12, 12), prior)
    policies: tuple[Policy, ...] = (ht.tv_gp_ucb(prior), ht.auto(world.domain), ht.uniform())
    regrets = np.array(
        [
            [
                np.mean([s.regret for s in play(policy, world.episode(120, seed), seed)])
                for policy in policies
            ]
            for seed in range(6)
        ]
    )
    beyond = regrets[:, 1] - 1.1 * regrets[:, 0]
    assert beyond.mean() < 3.0 * standard_error(beyond.tolist())
    assert regrets[:, 1].mean() < 0.6 * regrets[:, 2].mean()


def test_the_default_policy_takes_a_context() -> None:
    """The best point is at the context."""
    domain = ht.Contextual(ht.Finite(np.linspace(0.0, 1.0, 9)), ht.Box(0.0, 1.0))
    optimizer, rng = ht.Optimizer(domain, ht.auto(domain), seed=0), np.random.default_rng(0)
    regrets = []
    for _ in range(60):
        context = rng.random()
        suggestion = optimizer.ask(context=[context])
        assert suggestion.choice is not None
        missed = abs(float(np.ravel(suggestion.choice)[0]) - context)
        optimizer.tell(suggestion, -missed)
        regrets.append(missed)
    assert np.mean(regrets[30:]) < 0.15  # chance has 0.33


@pytest.mark.parametrize("unit", [3600.0, 2.0**-16])
@pytest.mark.parametrize("name", ["auto", "tv_gp_ucb", "wgp_ucb", "cp_gp_ucb"])
def test_the_unit_of_time_does_not_matter(name: str, unit: float) -> None:
    domain = ht.grid(5, 5)
    policy = ht.auto(domain) if name == "auto" else Adaptive(Named(name))
    one, other = (ht.Optimizer(domain, policy, seed=3) for _ in range(2))
    for number in range(1, 31):
        a, b = one.ask(t=number), other.ask(t=1.5e5 + unit * number)
        assert a.index == b.index
        for optimizer, asked in ((one, a), (other, b)):
            optimizer.tell(asked, np.sin(0.2 * number) + float(a.x @ [0.3, 0.7]))
    assert other.model().pace == pytest.approx(unit * one.model().pace, rel=1e-9)


def test_restarts_follow_the_clock_of_the_user() -> None:
    """Results every tenth of a unit, and a restart every two units: after 4.1, nothing counts."""
    optimizer = ht.Optimizer(ht.grid(5), Adaptive(Named("r_gp_ucb", '{"every": 2.0}')), seed=0)
    for number in range(10, 30):
        optimizer.tell(optimizer.ask(t=0.1 * number), float(np.cos(number)))
    before, after = (optimizer.belief(t) for t in (4.0, 4.2))
    assert np.ptp(before.mean) > 0.1
    assert np.ptp(after.mean) < 1e-9


@pytest.mark.parametrize("wrong", [-1e3, 1e3])
def test_an_outlier_does_little_harm(wrong: float) -> None:
    """The maximum is at 0.3: within a tenth of it if all is well, anywhere if not."""
    domain, rng = ht.Box(0.0, 1.0), np.random.default_rng(0)
    optimizer = ht.Optimizer(domain, ht.auto(domain), seed=0)
    for number in range(45):
        s = optimizer.ask()
        value = -10.0 * float(s.x[0] - 0.3) ** 2 + 0.1 * rng.standard_normal()
        optimizer.tell(s, wrong if number == 20 else value)
    best = optimizer.best()
    assert abs(best.x[0] - 0.3) < 0.1
    assert abs(best.mean) < 1.0
    assert optimizer.history.y[20] == wrong


def test_what_was_learned_can_be_read_and_drawn_from() -> None:
    optimizer = ht.Optimizer(domain := ht.Box([0, 100], [1, 300]), ht.auto(domain), seed=0)
    for number in range(20):
        s = optimizer.ask()
        optimizer.tell(s, 50.0 + 10.0 * float(s.x[0]) + 0.1 * (number % 3))
    assert optimizer.model().mean == pytest.approx(55.0, abs=10.0)
    X = [[0.1, 120.0], [0.9, 250.0]]
    belief, drawn = optimizer.belief(X=X), optimizer.sample(X=X, size=4_000)
    error = belief.std / np.sqrt(4_000)
    assert np.all(np.abs(drawn.mean(axis=0) - belief.mean) < 5.0 * error)
    assert drawn.std(axis=0) == pytest.approx(belief.std, rel=0.1)
    assert np.isfinite(optimizer.log_likelihood)
    with pytest.raises(NoBeliefError, match="model"):
        optimizer.learned()
    with pytest.raises(NoBeliefError, match="joint posterior"):
        ht.Optimizer(ht.grid(3), Adaptive(Named("pe_gp_ucb"))).sample(1.0)
    with pytest.raises(NoBeliefError, match="such as auto"):
        ht.Optimizer(ht.grid(3), ht.uniform()).model()
    with pytest.raises(TimeError, match="before the latest one; got 3"):
        optimizer.belief(3.0, X)


@pytest.mark.parametrize(
    ("domain", "count"),
    [
        (ht.grid(20, 20), 5),
        (ht.SearchSpace({"m": ht.Categorical(list("abcdefghij"))}).domain, 10),
        (ht.SearchSpace({"m": ht.Categorical(list("abcdefghij")), "x": ht.Real(0, 1)}).domain, 5),
        (ht.Box([0, 0, 0], [1, 1, 1]), 7),
        (ht.grid(1), 1),
    ],
    ids=["grid", "category", "category and number", "box", "point"],
)
def test_first_points_are_two_a_thing_to_choose_and_one(domain: Domain, count: int) -> None:
    assert initial_count(domain) == count


@pytest.mark.parametrize("jump", [5.0, -5.0, -60.0])
def test_a_jump_of_the_level_of_all_values_is_got_over(jump: float) -> None:
    """Random choice has a regret of 0.25 per step; a lost policy has more than half of it."""
    domain, rng = ht.grid(10, 10), np.random.default_rng(1)
    optimizer = ht.Optimizer(domain, ht.auto(domain), seed=1)
    late = []
    for number in range(130):
        s = optimizer.ask()
        regret = float(np.sum((s.x - 1.0 / 3.0) ** 2))
        optimizer.tell(s, (jump if number >= 50 else 0.0) - regret + 0.05 * rng.standard_normal())
        late += [regret] if number >= 100 else []
    assert np.mean(late) < 0.05
    assert optimizer.model().mean == pytest.approx(jump, abs=1.0)


def test_a_jump_is_got_over_in_any_order_of_the_results() -> None:
    domain, rng = ht.grid(30), np.random.default_rng(3)
    optimizer = ht.Optimizer(domain, ht.auto(domain), seed=3)
    waiting, late = list[ht.Suggestion](), list[float]()
    for number in range(120):
        while len(waiting) < 8:
            waiting.append(optimizer.ask())
        s = waiting.pop(int(rng.integers(8)))
        regret = 2.0 * float(s.x[0] - 0.3) ** 2
        level = 50.0 if s.t >= 40.0 else 0.0
        optimizer.tell(s, level - regret + 0.05 * rng.standard_normal())
        late += [regret] if number >= 80 else []
    assert np.mean(late) < 0.1  # random choice has 0.25


@pytest.mark.parametrize("burst", [2, 4, 10])
def test_results_in_bursts_are_remembered(burst: int) -> None:
    domain, rng = ht.grid(50), np.random.default_rng(0)
    optimizer = ht.Optimizer(domain, ht.auto(domain), seed=0)
    late = []
    for number in range(80):
        s = optimizer.ask(t=3600.0 * (number // burst) + 1e-3 * (number % burst))
        regret = 10.0 * float(s.x[0] - 0.3) ** 2
        optimizer.tell(s, 0.05 * rng.standard_normal() - regret)
        late += [regret] if number >= 40 else []
    assert np.mean(late) < 0.1  # random choice has 1.23
    now, later = optimizer.belief().std, optimizer.belief(optimizer.belief().t + 3600.0).std
    assert np.median(later) < 2.0 * np.median(now) + 0.05


def test_an_outage_is_got_over() -> None:
    """For a while all values are low; then they are as before."""
    box, rng = ht.Box([0.0, 0.0], [1.0, 1.0]), np.random.default_rng(0)
    optimizer = ht.Optimizer(box, ht.auto(box), seed=0)
    late = list[float]()
    for step in range(140):
        s = optimizer.ask()
        regret = float(np.sum((s.x - [0.3, 0.4]) ** 2))
        is_out = 40 <= step < 70
        optimizer.tell(s, -5.0 if is_out else 0.05 * rng.standard_normal() - regret)
        late += [regret] if step >= 100 else []
    assert np.mean(late) < 0.1  # random choice has 0.22


def test_after_an_outage_the_jump_before_it_still_counts() -> None:
    """Values jump by 20 at step 40; then there is an outage."""
    domain, rng = ht.grid(12), np.random.default_rng(0)
    optimizer = ht.Optimizer(domain, ht.auto(domain), seed=0)
    since = list[float]()
    for step in range(120):
        s = optimizer.ask()
        level = 0.0 if step < 40 else 20.0
        hill = -((s.x[0] - 0.4) ** 2)
        value = level + hill + 0.05 * rng.standard_normal()
        optimizer.tell(s, -20.0 if 80 <= step < 90 else value)
        since.append(agent_of(optimizer).knowledge.since)
    jump, outage = since[79], since[89]
    assert 39.0 <= jump <= 43.0
    assert 79.0 <= outage <= 83.0
    assert since[-1] == jump
    assert min(one.t for one in agent_of(optimizer).knowledge.latest) >= jump


def played(optimizer: ht.Optimizer, levels: Sequence[float], places: Sequence[float]) -> list[int]:
    """The number of the regime after each of 30 results for each level and place of the best."""
    rng, numbers = np.random.default_rng(0), list[int]()
    for level, best in zip(levels, places, strict=True):
        for _ in range(30):
            s = optimizer.ask()
            value = level - 20.0 * (s.x[0] - best) ** 2
            optimizer.tell(s, value + 0.05 * rng.standard_normal())
            numbers.append(agent_of(optimizer).knowledge.number)
    return numbers


def test_regimes_that_return_are_known_again() -> None:
    domain = ht.grid(40)
    optimizer = ht.Optimizer(domain, ht.auto(domain), seed=0)
    levels, places = (0.0, 30.0, -30.0) * 2, (0.2, 0.8, 0.5) * 2
    numbers = np.reshape(played(optimizer, levels, places), (6, 30))
    assert numbers[:, -1].tolist() == [1, 2, 3, 1, 2, 3]
    assert (numbers[3:, 3:] == numbers[3:, -1:]).all()  # from the fourth result on
    y = np.reshape(optimizer.history.y, (6, 30)) - np.array(levels)[:, None]
    assert y[3:, 3:].min() > -1.0
    assert agent_of(optimizer).faults(frozenset()) == frozenset()


def test_a_saved_optimizer_remembers_its_regimes(tmp_path: Path) -> None:
    domain = ht.grid(40)
    optimizer = ht.Optimizer(domain, ht.auto(domain), seed=0)
    played(optimizer, (0.0, 30.0, -30.0), (0.2, 0.8, 0.5))
    optimizer.save(tmp_path / "saved.npz")
    loaded = ht.Optimizer.load(tmp_path / "saved.npz")
    assert len(agent_of(loaded).knowledge.remembered) == 2
    again = [played(one, (0.0, 30.0), (0.2, 0.8)) for one in (optimizer, loaded)]
    assert again[0] == again[1]
    assert np.array_equal(optimizer.history.y, loaded.history.y)


def test_a_peak_is_looked_at_beside_a_known_place_and_is_no_new_regime() -> None:
    """A narrow peak, ten times as high as all before, is found late."""
    domain, rng = ht.grid(60), np.random.default_rng(0)
    optimizer = ht.Optimizer(domain, ht.auto(domain), seed=0)
    for _ in range(80):
        s = optimizer.ask()
        value = np.sin(3.0 * s.x[0]) + 10.0 * np.exp(-(((s.x[0] - 0.65) / 0.06) ** 2))
        optimizer.tell(s, value + 0.05 * rng.standard_normal())
    assert agent_of(optimizer).knowledge.begun == 1
    assert optimizer.history.y[-20:].mean() > 8.0
