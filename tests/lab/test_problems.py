"""The suite of problems: stable ids, paired worlds, and true optima."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import heliotrope as ht
from data import DATA, measured
from heliotrope.domains import Box, Finite
from heliotrope.errors import InputError
from heliotrope.lab.environments import Episode, FiniteEpisode
from heliotrope.lab.environments.suite import (
    SUITE,
    Jumps,
    LogWindows,
    MovingPeaks,
    Periodic,
    Sliced,
    problem,
)
from heliotrope.lab.environments.suite.functions import FUNCTIONS
from heliotrope.validation import Array

IDS = """
paper/se/0.001 paper/se/0.01 paper/se/0.03 paper/matern/0.001 paper/matern/0.01 paper/matern/0.03
jumps/still jumps/drift periodic/50 periodic/200 peaks/steady peaks/bursts
sliced/rastrigin sliced/schwefel sliced/styblinski-tang sliced/eggholder sliced/ackley
sliced/rosenbrock sliced/shekel sliced/hartmann-3 sliced/hartmann-6 sliced/powell
table/intel table/i405 table/i5 table/metrla table/pemsbay
""".split()  # noqa: SIM905 - a list of 27 lines
MADE_UP = [id for id in IDS if not SUITE[id].measured]
HORIZON = 30
TOPS = {  # where each function is highest, and how high
    "rastrigin": (np.zeros(5), 0.0),
    "schwefel": (np.full(4, 420.9687462275036), 0.0),
    "styblinski-tang": (np.full(4, -2.903534018185960), 4 * 39.16616570377142),
    "eggholder": (np.array([512.0, 404.2319]), 959.6407),
    "ackley": (np.zeros(4), 0.0),
    "rosenbrock": (np.ones(3), 0.0),
    "shekel": (np.array([4.000747, 3.99951, 4.00075, 3.99951]), 10.5364),
    "hartmann-3": (np.array([0.114614, 0.555649, 0.852547]), 3.86278),
    "hartmann-6": (np.array([0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]), 3.32237),
    "powell": (np.zeros(4), 0.0),
}


def folder(id: str) -> Path | None:
    return DATA if SUITE[id].measured else None


def some_values(episode: Episode, t: float, count: int) -> list[float]:
    """Values at random places."""
    rng, domain = np.random.default_rng(int(t)), episode.domain
    if isinstance(domain, Finite):
        return [episode.value(t, int(i)) for i in rng.integers(len(domain), size=count)]
    return [episode.value(t, x) for x in domain.scaled(rng.random((count, domain.dimension)))]


def test_ids_are_stable() -> None:
    assert list(SUITE) == IDS
    assert [problem(id).family for id in ("paper/se/0.01", "table/i5")] == ["paper", "table"]


@pytest.mark.parametrize(
    "id", [pytest.param(id, marks=measured) if SUITE[id].measured else id for id in IDS]
)
def test_no_value_exceeds_the_best_of_a_world(id: str) -> None:
    world = problem(id).world(folder(id))
    one, same, other = (world.episode(HORIZON, seed) for seed in (3, 3, 4))
    times = one.times.tolist()
    assert one.horizon == HORIZON
    assert times[0] == 1.0
    for t in times[:: HORIZON // 5]:
        values = some_values(one, t, 40)
        assert values == some_values(same, t, 40)
        assert one.noise(t) == same.noise(t)
        assert max(values) <= one.best(t) + 1e-9 * abs(one.best(t))
    if world.noise:
        assert [one.noise(t) for t in times] != [other.noise(t) for t in other.times.tolist()]


@pytest.mark.parametrize("id", MADE_UP)
def test_noise_is_of_the_variance_that_the_world_says(id: str) -> None:
    world, steps = problem(id).world(), 300
    episode = world.episode(steps, seed=0)
    drawn = np.array([episode.noise(t) for t in episode.times.tolist()])
    # a sample variance deviates by sqrt(2 / n) of itself
    assert_allclose(drawn.var(), world.noise, rtol=4.0 * np.sqrt(2.0 / steps))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_their_published_maxima(name: str) -> None:
    function, (x, top) = FUNCTIONS[name], TOPS[name]
    low, high = function.range
    anywhere = np.random.default_rng(0).uniform(low, high, (10_000, function.dimension))
    assert len(x) == function.dimension
    assert_allclose(function.value(x), top, atol=1e-4 * max(1.0, abs(top)))
    assert function.value(anywhere).max() <= top + 1e-9
    assert function.value(anywhere.reshape(100, 100, -1)).shape == (100, 100)


def slices(name: str, steps: int) -> Array:
    return np.linspace(*FUNCTIONS[name].range, steps)


def best(name: str, steps: int) -> Array:
    episode = Sliced(name).episode(steps, seed=0)
    return np.array([episode.best(t) for t in episode.times.tolist()])


@pytest.mark.parametrize("name", ["rastrigin", "schwefel", "styblinski-tang"])
def test_slices_of_a_sum_are_as_high_as_its_rest(name: str) -> None:
    steps, function = 21, FUNCTIONS[name]
    x = np.tile(TOPS[name][0], (steps, 1))
    x[:, -1] = slices(name, steps)
    assert_allclose(best(name, steps), function.value(x), atol=1e-6)


def test_slices_of_ackley_are_highest_in_the_middle() -> None:
    x = np.zeros((21, 4))
    x[:, -1] = slices("ackley", 21)
    assert_allclose(best("ackley", 21), FUNCTIONS["ackley"].value(x), atol=1e-9)


@pytest.mark.parametrize("name", ["eggholder", "rosenbrock", "hartmann-3"])
def test_the_search_of_a_slice_finds_what_a_fine_grid_does(name: str) -> None:
    steps, function = 7, FUNCTIONS[name]
    axis = np.linspace(*function.range, 401)
    mesh = np.stack(np.meshgrid(*[axis] * (function.dimension - 1), indexing="ij"), axis=-1)
    for time, found in zip(slices(name, steps), best(name, steps), strict=True):
        whole = np.concatenate([mesh, np.full((*mesh.shape[:-1], 1), time)], axis=-1)
        assert found >= function.value(whole).max() - 1e-9


@pytest.mark.parametrize("name", ["shekel", "hartmann-6"])
def test_the_slice_of_the_top_is_as_high_as_the_top(name: str) -> None:
    low, high = FUNCTIONS[name].range
    where = (TOPS[name][0][-1] - low) / (high - low)
    steps = 41
    found = best(name, steps)[round(where * (steps - 1))]
    assert found <= TOPS[name][1] + 1e-4
    assert found >= 0.99 * TOPS[name][1]


def test_jumps_come_as_often_as_they_should() -> None:
    world = Jumps(ht.grid(3), ht.Prior(time=ht.Static()), every=5.0)
    values = world.episode(2_000, seed=1).values
    jumps = int(np.sum(np.abs(np.diff(values, axis=0)).max(axis=1) > 0.0))
    mean, deviation = 1_999 / 5.0, np.sqrt(1_999 * 0.2 * 0.8)
    assert abs(jumps - mean) < 4.0 * deviation


def test_between_jumps_there_is_the_steady_drift() -> None:
    prior = ht.Prior(time=ht.Forgetting(0.05))
    values = Jumps(ht.grid(2), prior, every=1e6).episode(4_000, seed=1).values[:, 0]
    found = float(np.corrcoef(values[1:], values[:-1])[0, 1])
    # an AR(1) coefficient is estimated with the error sqrt((1 - rho^2) / T)
    assert abs(found - np.sqrt(0.95)) < 4.0 * np.sqrt(0.05 / 4_000)


def test_a_periodic_world_has_the_priors_variance() -> None:
    world = Periodic(ht.grid(2), ht.Prior(mean=3.0), period=7.0)
    values = np.array([world.episode(7, seed).values[:, 0] for seed in range(400)])
    # over the worlds; a sample variance deviates by sqrt(2 / n), a mean by sqrt(1 / n)
    assert_allclose(values.var(axis=0), 1.0, atol=4.5 * np.sqrt(2.0 / 400))
    assert_allclose(values.mean(axis=0), 3.0, atol=4.5 * np.sqrt(1.0 / 400))


@pytest.mark.parametrize(("every", "changes"), [(1, 59), (10, 5)])
def test_peaks_move_when_they_should(every: int, changes: int) -> None:
    episode = MovingPeaks(2, every, shift=0.05).episode(60, seed=0)
    best = [episode.best(t) for t in episode.times.tolist()]
    assert sum(a != b for a, b in pairwise(best)) == changes
    assert 30.0 <= min(best) <= max(best) <= 70.0


def test_the_best_of_the_peaks_is_reached() -> None:
    episode = MovingPeaks(1, 1, shift=0.01).episode(5, seed=2)
    fine = np.linspace(0.0, 1.0, 2_001)
    highest = max(episode.value(3.0, np.array([x])) for x in fine)
    # the steepest cone falls by 120 a unit, and a peak is within half a step
    assert episode.best(3.0) - 120.0 * 0.5 / 2_000 <= highest <= episode.best(3.0)


@pytest.fixture
def log(tmp_path: Path) -> LogWindows:
    """A log of 20 rows of three places, a pause in the middle."""
    days = [f"2020-01-01 {hour:02d}:00" for hour in range(10)]
    days += [f"2020-01-02 {hour:02d}:00" for hour in range(10)]
    rows = [f"{day},{i},{2 * i},{100 - i}" for i, day in enumerate(days)]
    (tmp_path / "log.csv").write_text("\n".join(["time,a1,a2,b1", *rows]))
    (tmp_path / "places.csv").write_text("place,x,y\na1,0,0\na2,0,2\nb1,4,0\n")
    return LogWindows(tmp_path / "log.csv", tmp_path / "places.csv", prefix="a")


def test_a_window_holds_rows_of_the_log_as_they_come(log: LogWindows) -> None:
    starts = set()
    for seed in range(10):
        episode = log.episode(6, seed)
        start = int(episode.values[0, 0])
        starts.add(start)
        assert_array_equal(episode.values[:, 0], np.arange(start, start + 6))
        assert_array_equal(episode.values[:, 1], 2.0 * np.arange(start, start + 6))
    assert len(starts) > 3


def test_a_window_longer_than_the_log_is_all_of_it(log: LogWindows) -> None:
    episode = log.episode(100, seed=5)
    assert isinstance(episode, FiniteEpisode)
    assert episode.horizon == log.longest == 20
    assert episode.times[[0, 9, 10]].tolist() == [1.0, 10.0, 25.0]
    assert log.domain.points.tolist() == [[0.0, 0.0], [0.0, 0.5]]


@measured
def test_the_measured_tables_are_those_that_their_notes_tell_of() -> None:
    sizes = {id: problem(id).world(DATA) for id in IDS if SUITE[id].measured}
    found = {id: world.values.shape for id, world in sizes.items() if isinstance(world, LogWindows)}
    assert found == {
        "table/intel": (720, 51),
        "table/i405": (1200, 77),
        "table/i5": (180, 115),
        "table/metrla": (2016, 207),
        "table/pemsbay": (10860, 16),
    }


@pytest.mark.parametrize("seed", [-1, 1.5, "1"])
@pytest.mark.parametrize("id", ["peaks/steady", "sliced/powell", "periodic/200"])
def test_a_seed_that_is_none_is_refused(id: str, seed: int) -> None:
    with pytest.raises(InputError, match="seed"):
        problem(id).world().episode(5, seed)


def test_a_world_is_made_once() -> None:
    assert problem("peaks/steady").world() is problem("peaks/steady").world()
    assert isinstance(problem("peaks/steady").world().domain, Box)


def test_what_cannot_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HELIOTROPE_DATA", raising=False)
    with pytest.raises(InputError, match="paper/se"):
        problem("paper/se/0.5")
    with pytest.raises(InputError, match="HELIOTROPE_DATA"):
        problem("table/intel").world()
    with pytest.raises(InputError, match="intel_temperature"):
        problem("table/intel").world(tmp_path)
    with pytest.raises(InputError, match="rastrigin"):
        Sliced("sphere")
    with pytest.raises(InputError, match="at least 1"):
        Jumps(ht.grid(3), ht.Prior(), every=0.5)
