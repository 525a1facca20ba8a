"""Environments: their episodes, filled gaps, and runs of policies in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process.kernels import RBF, Matern
from threadpoolctl import threadpool_limits

import heliotrope as ht
from heliotrope.domains import Domain, Lattice
from heliotrope.errors import InputError
from heliotrope.lab.environments import (
    Environment,
    Episode,
    FiniteEpisode,
    Function,
    GPDrift,
    Place,
    Step,
    Table,
    play,
    run,
)
from heliotrope.linalg import low_rank_root
from heliotrope.policies.model_free import UniformAgent
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.surroundings import RNGFactory
from heliotrope.terms import (
    Drifts,
    Level,
    Season,
    Smooth,
    Stationary,
    Stays,
    Term,
    Trend,
    Walks,
)
from heliotrope.validation import Array
from strategies import PRIOR, bad_numbers, fixed, refusal, square

NAN = float("nan")
DRIFT = ht.Prior(RBF(0.3), ht.Forgetting(0.2), noise=0.04, mean=2.0)
LOG = np.array([[1.0, 5.0, 0.0], [2.0, 4.0, 9.0], [3.0, 3.0, 1.0], [4.0, 2.0, 1.0]])


def hill(x: Array, t: float) -> float:
    """A hill of height 3 that walks along the first coordinate."""
    return float(3.0 - (x[0] - 0.1 * t) ** 2 - 2.0 * (x[1] - 0.25) ** 2)


WORLDS: dict[str, Callable[[], Environment]] = {
    "drift": lambda: GPDrift(ht.grid(4, 4), DRIFT),
    "sum": lambda: GPDrift(ht.grid(4, 4), ht.Prior(terms=TERMS.values())),
    "table": lambda: Table(LOG, noise=0.5),
    "function": lambda: Function(ht.grid(4, 4), hill, noise=0.5),
    "function in a box": lambda: Function(square(), hill, noise=0.5),
}
worlds = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)


def complaint(call: Callable[[], object]) -> str:
    """The message of the error that a call raises."""
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


# What all worlds have in common


@worlds
def test_the_same_seed_is_the_same_world(world: Callable[[], Environment]) -> None:
    def rows(seed: int) -> list[Step]:
        return list(run(ht.uniform(), world(), 4, seed))

    assert rows(3) == rows(3)
    assert [step.y for step in rows(3)] != [step.y for step in rows(4)]


@worlds
def test_run_plays_one_episode(world: Callable[[], Environment]) -> None:
    assert isinstance(world(), Environment)
    episode = world().episode(4, 7)
    assert isinstance(episode, Episode)
    assert episode.horizon == len(episode.times) == 4
    assert list(run(ht.uniform(), world(), 4, seed=7)) == list(play(ht.uniform(), episode, 7))


@worlds
def test_a_step_has_the_values_of_the_episode(world: Callable[[], Environment]) -> None:
    episode = world().episode(4, 0)
    finite = isinstance(episode.domain, ht.Finite)
    for step in play(ht.uniform(), episode, seed=1):
        place: Place = np.array(step.x) if step.index is None else step.index
        assert finite == (step.index is not None)
        assert step.y == episode.measure(step.t, place)
        assert step.regret == episode.regret(step.t, place) == step.best - step.value
        assert (step.value, step.best) == (episode.value(step.t, place), episode.best(step.t))
        if isinstance(episode.domain, ht.Finite):
            assert step.x == tuple(episode.domain.points[step.index])


@worlds
def test_all_policies_face_the_same_noise(world: Callable[[], Environment]) -> None:
    episode = world().episode(4, 0)
    for one, other in zip(
        play(ht.uniform(), episode, seed=1), play(ht.uniform(), episode, seed=2), strict=True
    ):
        assert one.y - one.value == pytest.approx(other.y - other.value, abs=1e-12)


@worlds
def test_steps_make_a_table(world: Callable[[], Environment]) -> None:
    steps: Any = run(ht.uniform(), world(), 4)  # pandas' types know no dataclasses
    frame = pd.DataFrame(steps)
    assert list(frame) == ["t", "index", "x", "y", "value", "best", "regret"]
    assert frame["t"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert all(frame[name].dtype == float for name in ("t", "y", "value", "best", "regret"))
    assert all(isinstance(x, tuple) for x in frame["x"])
    np.testing.assert_allclose(frame["regret"], frame["best"] - frame["value"])


@worlds
@given(value=bad_numbers.filter(lambda value: value is not None) | st.sampled_from([0.5, -1]))
@fixed(15)
def test_a_bad_horizon_or_seed(world: Callable[[], Environment], value: Any) -> None:
    environment = world()
    with refusal(InputError):
        run(ht.uniform(), environment, value)
    with refusal(InputError):
        run(ht.uniform(), environment, 3, seed=value)
    with refusal(InputError):
        run(ht.uniform(), environment, 0)
    with refusal(InputError):
        environment.episode(10**12, 0)


@worlds
@pytest.mark.parametrize("t", [0, 5, 1.5, NAN, "1", None], ids=repr)
def test_a_time_that_is_not_of_the_episode(world: Callable[[], Environment], t: Any) -> None:
    episode = world().episode(4, 0)
    place: Place = 0 if isinstance(episode.domain, ht.Finite) else np.array([0.5, 0.5])
    calls: list[Callable[[], object]] = [
        lambda: episode.measure(t, place),
        lambda: episode.regret(t, place),
        lambda: episode.value(t, place),
        lambda: episode.step(t, place),
        lambda: episode.best(t),
        lambda: episode.noise(t),
    ]
    for call in calls:
        with refusal(InputError):
            call()


@worlds
def test_a_place_that_is_not_of_the_domain(world: Callable[[], Environment]) -> None:
    episode = world().episode(4, 0)
    outside: list[Any] = [np.array([0.5, 1.5]), -1, 16, 0.5, None, "a"]
    for place in outside:
        with refusal(InputError):
            episode.step(1, place)


def test_errors_are_raised_before_the_first_step() -> None:
    world = GPDrift(ht.grid(3), DRIFT)
    wrong: list[Any] = [None, GPDrift, ht.grid(3), world.episode(3, 0)]
    for environment in wrong:
        with refusal(InputError):
            run(ht.uniform(), environment, 3)
    for episode in (None, Episode, world):
        with refusal(InputError):
            play(ht.uniform(), episode)  # type: ignore[arg-type]
    for policy in (None, ht.uniform):
        with refusal(InputError):
            run(policy, world, 3)  # type: ignore[arg-type]


class Ramp(Episode):
    """A custom environment: the values are the points' numbers times t."""

    @property
    def domain(self) -> Domain:
        return ht.grid(4)

    @property
    def times(self) -> Array:
        return np.array([0.5, 2.0])

    def value(self, t: float, place: Place) -> float:
        return t * float(place)

    def best(self, t: float) -> float:
        return 3.0 * t

    def noise(self, t: float) -> float:
        return 0.0


def test_a_custom_environment_has_five_members() -> None:
    steps = list(play(ht.uniform(), Ramp()))
    assert [step.t for step in steps] == [0.5, 2.0]
    for step in steps:
        assert step.y == step.value == step.t * (step.index or 0)
        assert step.regret == step.t * (3 - (step.index or 0))


class Recorder:
    """The uniform policy, noting the times at which it is asked."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def start(self, domain: Domain) -> UniformAgent:
        times = self.times

        class Agent(UniformAgent):
            def choose(self, t: float, make_rng: RNGFactory) -> Any:
                times.append(t)
                return super().choose(t, make_rng)

        return Agent(domain)


# The paper's drift


def test_a_drifting_gp_has_the_moments_of_its_prior() -> None:
    """Over 600 worlds, each moment within 5 standard errors: sqrt((1 + c^2) / n), or 1/sqrt(n)."""
    world, n = GPDrift(ht.grid(6), DRIFT), 600
    worlds = [world.episode(4, seed) for seed in range(n)]
    f = np.array([episode.values for episode in worlds]) - 2.0
    K = RBF(0.3)(ht.grid(6).points)
    assert np.abs(f.mean(axis=0)).max() < 5.0 / np.sqrt(n)
    for s, t in ((0, 0), (3, 3), (0, 1), (1, 3)):
        expected = np.sqrt(0.8) ** (t - s) * K
        found = np.einsum("ni,nj->ij", f[:, s], f[:, t]) / n
        assert np.all(np.abs(found - expected) < 5.0 * np.sqrt((1.0 + expected**2) / n))
    noise = np.array([episode.noise(t) for episode in worlds for t in episode.times])
    assert abs(np.mean(noise**2) - 0.04) < 5.0 * 0.04 * np.sqrt(2.0 / noise.size)


TERMS: dict[str, Term] = {
    "stays": Stays(0.5 * RBF(0.3)),
    "drifts": Drifts(RBF(0.3), epsilon=0.2),
    "walks": Walks(RBF(0.3), growth=0.4),
    "level": Level(0.7, epsilon=0.3),
    "season": Season(0.6 * RBF(0.3), period=7.0, harmonics=2, epsilon=0.1),
    "shared season": Season(0.3, period=5.0),
    "trend": Trend(0.4 * RBF(0.3), origin=2.0, unit=3.0),
    "smooth 3/2": Smooth(RBF(0.3), length=4.0, nu=1.5),
    "smooth 5/2": Smooth(RBF(0.3), length=0.8, nu=2.5),
    "any": Stationary(RBF(0.3), time=RBF(2.0)),
}


@pytest.mark.parametrize("when", [None, (0.4, 1.0, 3.7, 3.9)], ids=["steps", "real times"])
@pytest.mark.parametrize("terms", [*((one,) for one in TERMS), tuple(TERMS)], ids=" + ".join)
def test_a_world_has_the_covariance_of_its_terms(
    terms: tuple[str, ...], when: tuple[float, ...] | None
) -> None:
    """Over 300 worlds, within 5 standard errors, sqrt((c_ii c_jj + c_ij^2) / n)."""
    domain, n = ht.grid(3), 300
    prior = ht.Prior(noise=0.01, mean=2.0, terms=[TERMS[name] for name in terms])
    world = GPDrift(domain, prior, when)
    episodes = [world.episode(4, seed) for seed in range(n)]
    f = np.array([episode.values for episode in episodes]) - 2.0
    model = SpaceTime(prior, domain)
    model.begin(float(episodes[0].times[0]))
    times, at = np.repeat(episodes[0].times, 3), np.tile(domain.indices, 4)
    expected = model.between(times, at, times, at)
    found = np.einsum("ni,nj->ij", f.reshape(n, -1), f.reshape(n, -1)) / n
    variance = np.multiply.outer(expected.diagonal(), expected.diagonal()) + expected**2
    assert np.all(np.abs(found - expected) <= 5.0 * np.sqrt(variance / n) + 1e-9)


def test_real_times_of_a_world() -> None:
    world = GPDrift(ht.grid(4), DRIFT, times=[0.5, 1.25, 9.0])
    assert world.episode(2, seed=0).times.tolist() == [0.5, 1.25]
    steps = list(run(ht.tv_gp_ucb(DRIFT), world, 3))
    assert [step.t for step in steps] == [0.5, 1.25, 9.0]
    even = GPDrift(ht.grid(4), DRIFT, times=np.arange(1.0, 6.0)).episode(5, 3)
    assert np.array_equal(even.values, GPDrift(ht.grid(4), DRIFT).episode(5, 3).values)
    with refusal(InputError):
        world.episode(4, seed=0)
    for times in ([1.0, 1.0], [2.0, 1.0], [NAN], [[1.0]], "a"):
        with refusal(InputError):
            GPDrift(ht.grid(4), DRIFT, times=times)
    with refusal(InputError):
        GPDrift(ht.grid(2), ht.Prior(time=RBF(3.0))).episode(3001, 0)


def test_the_parts_of_a_world_add_up() -> None:
    prior = ht.Prior(noise=0.01, mean=2.0, terms=[*TERMS.values(), Level(0.1)])
    world = GPDrift(ht.grid(4), prior)
    parts = world.parts(9, 3)
    assert list(parts) == prior.parts()
    np.testing.assert_allclose(2.0 + sum(parts.values()), world.episode(9, 3).values)
    assert np.ptp(parts["level"], axis=1).max() < 1e-12


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.2, 1.0])
def test_one_drifting_term_is_the_papers_recursion(epsilon: float) -> None:
    """Bit for bit: seeds of figures and of the league must not change their worlds."""
    domain, steps, seed = ht.grid(5, 5), 40, 3
    prior = ht.Prior(RBF(0.2), ht.Forgetting(epsilon), 0.04, 2.0)
    rng = np.random.default_rng([seed, steps])
    F = low_rank_root(RBF(0.2)(domain.points), 1e-10)
    f = rng.standard_normal((steps, F.shape[1])) @ F.T
    rho = float(np.sqrt(1.0 - epsilon))
    for t in range(1, steps):
        f[t] = np.sqrt(1.0 - rho**2) * f[t] + rho * f[t - 1]
    episode = GPDrift(domain, prior).episode(steps, seed)
    assert np.array_equal(episode.values, f + 2.0)
    noise = rng.normal(scale=0.2, size=steps).tolist()
    assert [episode.noise(t) for t in episode.times] == noise


def test_a_world_does_not_depend_on_the_number_of_threads() -> None:
    def drawn(threads: int) -> bytes:
        with threadpool_limits(threads):
            world = GPDrift(ht.grid(25, 25), ht.Prior(Matern(0.2, nu=2.5), ht.Forgetting(0.1)))
            return world.episode(60, 0).values.tobytes()

    assert drawn(1) == drawn(2) == drawn(1)


def test_another_horizon_is_another_world() -> None:
    world = GPDrift(ht.grid(4), DRIFT)
    assert not np.any(world.episode(3, 0).values == world.episode(4, 0).values[:3])


def test_a_static_world() -> None:
    values = GPDrift(ht.grid(5), ht.Prior()).episode(6, 0).values
    np.testing.assert_allclose(values, np.tile(values[0], (6, 1)), rtol=1e-12)


@pytest.mark.parametrize(
    ("domain", "prior"),
    [
        (square(), DRIFT),
        (ht.grid(101, 100), DRIFT),
        (None, DRIFT),
        (ht.grid(3), None),
        (ht.grid(3), ht.Prior(mean=np.zeros(4))),
    ],
    ids=[
        "box",
        "too many points",
        "no domain",
        "no prior",
        "another mean",
    ],
)
def test_what_cannot_drift(domain: Any, prior: Any) -> None:
    with refusal(InputError):
        GPDrift(domain, prior)


# Tables


def test_a_table_is_replayed() -> None:
    table = Table(LOG)
    assert table.domain.points.ravel().tolist() == [0.0, 1.0, 2.0]
    assert (table.filled, table.horizon) == (0.0, 4)
    for row, step in zip(LOG, run(ht.uniform(), table, 4), strict=True):
        assert step.y == step.value == row[step.index or 0]
        assert step.regret == row.max() - step.y


def test_a_horizon_takes_the_first_rows() -> None:
    table = Table(LOG, noise=0.3)
    short, whole = table.episode(2, seed=5), table.episode(seed=5)
    np.testing.assert_array_equal(short.values, LOG[:2])
    np.testing.assert_array_equal(whole.values, LOG)
    assert [short.noise(t) for t in (1, 2)] == [whole.noise(t) for t in (1, 2)]
    for horizon in (0, 5, 1.5):
        with refusal(InputError):
            table.episode(horizon)  # type: ignore[arg-type]


def test_gaps_are_interpolated_in_time() -> None:
    values = np.array(
        [[NAN, 1.0, 7.0], [2.0, NAN, 7.0], [NAN, NAN, NAN], [6.0, 4.0, 7.0], [NAN, 5.0, 7.0]]
    )
    table = Table(values, times=[0.0, 1.0, 2.0, 5.0, 6.0])
    expected = [[2.0, 1.0, 7.0], [2.0, 1.6, 7.0], [3.0, 2.2, 7.0], [6.0, 4.0, 7.0], [6.0, 5.0, 7.0]]
    np.testing.assert_allclose(table.values, expected, rtol=1e-15)
    assert table.filled == pytest.approx(6 / 15)
    masked = Table(np.ma.masked_invalid(values), times=table.times)
    np.testing.assert_array_equal(masked.values, table.values)


@given(data=st.data(), gaps=st.integers(0, 2**12 - 1))
@fixed(30)
def test_what_was_logged_stays_and_what_is_filled_lies_between(
    data: st.DataObject, gaps: int
) -> None:
    drawn = data.draw(st.lists(st.floats(-9.0, 9.0), min_size=12, max_size=12))
    values = np.array(drawn).reshape(4, 3)
    missing = (gaps >> np.arange(12) & 1).astype(bool).reshape(4, 3)
    missing[2] = False
    table = Table(np.where(missing, NAN, values))
    np.testing.assert_array_equal(table.values[~missing], values[~missing])
    for j in range(3):
        known = values[~missing[:, j], j]
        assert np.all(table.values[:, j] >= known.min() - 1e-12)
        assert np.all(table.values[:, j] <= known.max() + 1e-12)
    assert table.filled == missing.mean()


def test_policies_are_asked_at_the_times_of_the_table() -> None:
    times, recorder = [-3.0, 0.25, 10.0, 1e6], Recorder()
    steps = list(run(recorder, Table(LOG, times), 4))
    assert recorder.times == times == [step.t for step in steps]


def test_a_table_over_points_and_a_tracking_policy() -> None:
    points = np.array([[0.0, 0.1], [0.5, 0.2], [1.0, 0.9]])
    table = Table(LOG, points=points)
    for step in run(ht.tv_gp_ucb(PRIOR), table, 4):
        assert step.x == tuple(points[step.index or 0])


def test_noise_is_added_to_what_is_measured_alone() -> None:
    """2000 draws: their variance within 5 standard errors."""
    table = Table(np.zeros((2000, 2)), noise=0.25)
    noise = np.array([step.y for step in run(ht.uniform(), table, 2000)])
    assert abs(noise.var() - 0.25) < 5.0 * 0.25 * np.sqrt(2.0 / 2000)
    assert np.all(table.episode(seed=1).values == 0.0)


@pytest.mark.parametrize(
    ("values", "others", "said"),
    [
        ([[1.0, NAN], [2.0, NAN]], {}, "column 1"),
        ([1.0, 2.0], {}, "2 dimension"),
        (np.zeros((3, 0)), {}, "shape (3, 0)"),
        (np.zeros((0, 3)), {}, "shape (0, 3)"),
        ([[1.0, np.inf]], {}, "finite"),
        ([[1.0], [1.0, 2.0]], {}, "table"),
        ([["a"]], {}, "table"),
        (np.array([[1j]]), {}, "table"),
        (LOG, {"times": [1, 2, 3]}, "4 times"),
        (LOG, {"times": [1, 2, 2, 3]}, "increasing"),
        (LOG, {"times": [1, 2, NAN, 3]}, "finite"),
        (LOG, {"points": [[0.0], [1.0]]}, "3 points"),
        (LOG, {"noise": -1.0}, "at least 0"),
        (LOG, {"noise": "none"}, "noise"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_table_is_named(values: Any, others: dict[str, Any], said: str) -> None:
    assert said in complaint(lambda: Table(values, **others))


def test_a_table_cannot_be_changed_from_outside() -> None:
    mine = LOG.copy()
    table = Table(mine)
    mine[:] = 0.0
    assert table.episode().values.tolist() == LOG.tolist()
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 7.0


@pytest.mark.parametrize(
    ("values", "noise"),
    [(np.zeros((2, 3)), 0.0), (np.zeros((0, 4)), 0.0), (np.zeros((2, 4)), [1] * 3)],
)
def test_values_that_do_not_fit_the_points(values: Array, noise: Any) -> None:
    with refusal(InputError):
        FiniteEpisode(ht.grid(4), values, noise)


# Functions


def test_a_function_over_points_is_its_table() -> None:
    domain = ht.grid(4, 3)
    episode = Function(domain, hill).episode(5, 0)
    assert isinstance(episode, FiniteEpisode)
    expected = [[hill(x, t) for x in domain.points] for t in range(1, 6)]
    np.testing.assert_array_equal(episode.values, expected)
    assert episode.best(3) == max(expected[2])
    assert episode.noise(3) == 0.0


def test_values_are_computed_once() -> None:
    calls: list[float] = []

    def counted(x: Array, t: float) -> float:
        calls.append(t)
        return hill(x, t)

    world = Function(ht.grid(2, 2), counted)
    world.episode(3, 0)
    world.episode(2, 1)
    world.episode(4, 2)
    assert calls == [1.0] * 4 + [2.0] * 4 + [3.0] * 4 + [4.0] * 4


def test_the_best_in_a_box_is_found() -> None:
    """Inside, on the boundary once the hill has left, and of several hills the highest."""
    episode = Function(square(), hill).episode(15, 0)
    for t in range(1, 16):
        assert episode.best(t) == pytest.approx(3.0 - max(0.1 * t - 1.0, 0.0) ** 2, abs=1e-6)

    def hills(x: Array, t: float) -> float:
        return t * 1e6 * float(np.sin(17.0 * x[0]) * np.sin(13.0 * x[1]) + 0.2 * x[0])

    axis = np.linspace(0.0, 1.0, 1500)
    grid = np.sin(17.0 * axis)[:, None] * np.sin(13.0 * axis) + 0.2 * axis[:, None]
    found = Function(square(), hills).episode(1, 0).best(1)
    assert found >= 1e6 * grid.max()
    assert found <= 1e6 * (grid.max() + (17.0 + 13.0) ** 2 / 1500**2)  # slopes vanish there


def test_the_best_of_a_kink_is_found() -> None:
    world = Function(ht.Box(-2.0, 5.0), lambda x, t: -abs(x[0] - t))
    assert [world.episode(3, 0).best(t) for t in (1, 2, 3)] == pytest.approx([0.0] * 3, abs=1e-5)


def test_the_best_is_one_that_may_be_chosen() -> None:
    """Of 5,000 whole numbers beside a continuous coordinate, of many more than are tried."""
    whole = Lattice((0,), np.arange(5_000.0)[:, None])
    alone = Function(ht.Box(0.0, 4_999.0, [whole]), lambda x, t: -abs(x[0] - 1233.25 - t))
    assert alone.episode(1, 0).best(1) == -0.25
    beside = ht.Box([0.0, -1.0], [4_999.0, 1.0], [whole])
    world = Function(beside, lambda x, t: -abs(x[0] - 1233.25 - t) - (x[1] - 0.3) ** 2)
    assert world.episode(1, 0).best(1) == pytest.approx(-0.25, abs=1e-9)
    assert world.episode(1, 0).regret(1, np.array([1234.0, 0.3])) == pytest.approx(0.0, abs=1e-9)


def test_the_best_of_a_time_is_searched_for_once() -> None:
    calls: list[float] = []

    def counted(x: Array, t: float) -> float:
        calls.append(t)
        return hill(x, t)

    world = Function(square(), counted)
    first = world.episode(2, 0).best(2)
    searched = len(calls)
    assert searched > 500
    assert world.episode(3, 1).best(2) == first
    assert len(calls) == searched


def test_the_best_may_be_given() -> None:
    world = Function(square(), hill, best=lambda t: 10.0 * t)
    for step in run(ht.uniform(), world, 3):
        assert step.best == 10.0 * step.t
        assert step.value == hill(np.array(step.x), step.t)


def test_a_policy_tracks_a_function_in_a_box() -> None:
    """A slow hill is followed: less regret than at random, paired, by 5 standard errors."""
    world = Function(square(), lambda x, t: 4.0 * hill(x, 0.1 * t), noise=0.01)
    prior = ht.Prior(RBF(0.4), ht.Forgetting(0.02), 0.01, mean=11.0)
    gains = []
    for seed in range(5):
        tracked, blind = (
            [step.regret for step in run(policy, world, 40, seed)]
            for policy in (ht.tv_gp_ucb(prior), ht.uniform())
        )
        assert min(tracked + blind) > -1e-6
        gains.append(np.mean(blind) - np.mean(tracked))
    assert np.mean(gains) > 5.0 * np.std(gains, ddof=1) / np.sqrt(5)


@pytest.mark.parametrize("domain", [ht.grid(3, 3), square()], ids=["grid", "box"])
@pytest.mark.parametrize("bad", [NAN, np.inf, None, "high", [1.0, 2.0], 1j], ids=repr)
def test_a_failing_function_reports_where(domain: Domain, bad: Any) -> None:
    world = Function(domain, lambda x, t: bad if t == 2 and x[0] > 0.5 else 0.0)
    said = complaint(lambda: [step.best for step in run(ht.uniform(), world, 3)])
    assert "x = [0." in said or "x = [1.0, 0.0]" in said
    assert "t = 2" in said


@pytest.mark.parametrize(
    "arguments",
    [
        (None, hill),
        (square(), None),
        (square(), hill, -0.1),
        (square(), hill, NAN),
        (square(), hill, 0.0, 3.0),
        (ht.grid(3, 3), hill, 0.0, hill),
    ],
    ids=["domain", "f", "negative noise", "no noise", "best", "best of points"],
)
def test_bad_functions_are_refused(arguments: tuple[Any, ...]) -> None:
    with refusal(InputError):
        Function(*arguments)


def test_a_best_that_is_not_a_number_is_named() -> None:
    world = Function(square(), hill, best=lambda t: NAN * t)
    assert "best(t) at t = 1" in complaint(lambda: next(run(ht.uniform(), world, 3)))
