"""The suite of problems: stable ids, paired worlds, and true optima."""

from __future__ import annotations

from itertools import groupby, pairwise, product
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import heliotrope as ht
from data import DATA
from heliotrope.domains import Box, Finite
from heliotrope.errors import InputError
from heliotrope.lab.environments import Episode, FiniteEpisode, GPDrift, MeasuredEpisode, Place
from heliotrope.lab.environments.suite import (
    SUITE,
    Decades,
    Jumps,
    LogWindows,
    MovingPeaks,
    Periodic,
    Relays,
    Sliced,
    UnevenNoise,
    Waves,
    playable_problems,
    problem,
)
from heliotrope.lab.environments.suite.faults import outages, spikes
from heliotrope.lab.environments.suite.functions import FUNCTIONS
from heliotrope.validation import Array

IDS = """
paper/se/0.001 paper/se/0.01 paper/se/0.03 paper/matern/0.001 paper/matern/0.01 paper/matern/0.03
jumps/still jumps/drift periodic/50 periodic/200 peaks/steady peaks/bursts
sliced/rastrigin sliced/schwefel sliced/styblinski-tang sliced/eggholder sliced/ackley
sliced/rosenbrock sliced/shekel sliced/hartmann-3 sliced/hartmann-6 sliced/powell
table/intel table/i405 table/i5 table/metrla table/pemsbay
relays/design relays/final faults/spikes faults/outages level/day noise/uneven decades/3 decades/6
sparse/6 sparse/10 mixed/categories mixed/integers
""".split()  # noqa: SIM905 - a list of 39 lines
MADE_UP = [id for id in IDS if not SUITE[id].measured]
TABLES = [id for id in IDS if SUITE[id].family == "table"]
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


def measured(*ids: str) -> pytest.MarkDecorator:
    """Skip a test where the files of these problems are missing."""
    missing = sorted({file for id in ids for file in SUITE[id].missing(DATA)})
    return pytest.mark.skipif(bool(missing), reason=f"not in the data: {', '.join(missing)}")


EACH = [pytest.param(id, marks=measured(id)) if SUITE[id].measured else id for id in IDS]


def folder(id: str) -> Path | None:
    return DATA if SUITE[id].measured else None


def some_values(episode: Episode, t: float, count: int) -> list[float]:
    """Values at random places."""
    rng, domain = np.random.default_rng(int(t)), episode.domain
    if isinstance(domain, Finite):
        return [episode.value(t, int(i)) for i in rng.integers(len(domain), size=count)]
    points = domain.snap(domain.scaled(rng.random((count, domain.dimension))))
    return [episode.value(t, x) for x in points]


def some_place(episode: Episode) -> Place:
    """The first point of a Finite domain, or a corner of a Box on its lattices."""
    domain = episode.domain
    return 0 if isinstance(domain, Finite) else domain.snap(domain.lower[None])[0]


def test_ids_are_stable() -> None:
    assert list(SUITE) == IDS
    assert [problem(id).family for id in ("paper/se/0.01", "table/i5")] == ["paper", "table"]


@pytest.mark.parametrize("id", EACH)
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
        place = some_place(one)
        assert one.measure(t, place) == same.measure(t, place) == one.step(t, place).y
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


@measured(*TABLES)
def test_the_measured_tables_are_those_that_their_notes_tell_of() -> None:
    sizes = {id: problem(id).world(DATA) for id in TABLES}
    found = {id: world.values.shape for id, world in sizes.items() if isinstance(world, LogWindows)}
    assert found == {
        "table/intel": (720, 51),
        "table/i405": (1200, 77),
        "table/i5": (180, 115),
        "table/metrla": (2016, 207),
        "table/pemsbay": (10860, 16),
    }


SEEDED = ["peaks/steady", "sliced/powell", "periodic/200", "faults/spikes", "sparse/6"]


@pytest.mark.parametrize("seed", [-1, 1.5, "1"])
@pytest.mark.parametrize("id", SEEDED)
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


@pytest.mark.parametrize("id", EACH)
def test_the_best_of_a_finite_world_is_its_exact_maximum(id: str) -> None:
    episode = problem(id).world(folder(id)).episode(HORIZON, seed=5)
    if not isinstance(episode.domain, Finite):
        assert isinstance(episode.domain, Box)
        return
    for t in (1.0, float(episode.times[-1])):
        values = [episode.value(t, place) for place in range(len(episode.domain))]
        assert episode.best(t) == max(values)


def fine_points(box: Box, columns: list[int], side: int) -> Array:
    """All lattice rows with ``side`` points of each continuous coordinate among the columns."""
    axes = [[(list(lattice.columns), row) for row in lattice.rows] for lattice in box.lattices]
    free = [column for column in columns if box.continuous[column]]
    axes += [[([column], np.array([u])) for u in np.linspace(0.0, 1.0, side)] for column in free]
    points = []
    for chosen in product(*axes):
        points.append(np.full(box.dimension, 0.5))
        for where, coordinates in chosen:
            points[-1][where] = coordinates
    return np.array(points)


@pytest.mark.parametrize(
    ("id", "side"),
    [("sparse/6", 90), ("sparse/10", 90), ("mixed/categories", 30), ("mixed/integers", 20)],
)
def test_the_best_of_a_box_is_what_a_dense_search_finds(id: str, side: int) -> None:
    world, seed, t = problem(id).world(), 2, 7.0
    assert isinstance(world, Waves)
    episode, free = world.episode(8, seed), world.domain.continuous
    points = fine_points(world.domain, world.columns(seed).tolist(), side)
    values = np.array([episode.value(t, x) for x in points])
    assert episode.best(t) >= values.max()

    def climbed(start: Array) -> float:
        def cost(u: Array) -> float:
            return -episode.value(t, np.where(free, u, start))

        return -float(minimize(cost, start, bounds=[(0.0, 1.0)] * len(start)).fun)

    top = max(climbed(points[i]) for i in np.argsort(values)[-5:])
    assert_allclose(episode.best(t), top, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("id", ["sparse/6", "sparse/10"])
def test_two_coordinates_matter_and_each_seed_draws_them(id: str) -> None:
    world, rng = problem(id).world(), np.random.default_rng(0)
    assert isinstance(world, Waves)
    d = world.domain.dimension
    for seed in range(3):
        episode, columns = world.episode(3, seed), world.columns(seed).tolist()
        x, other = rng.random((2, d))
        other[columns] = x[columns]
        assert episode.value(2, x) == episode.value(2, other)
        for column in columns:
            other = np.where(np.arange(d) == column, rng.random(d), x)
            assert episode.value(2, x) != episode.value(2, other)
    assert len({tuple(world.columns(seed).tolist()) for seed in range(20)}) > 5


def test_waves_have_the_covariance_of_their_gaussian_process() -> None:
    world, count = Waves(Box([0.0] * 3, [1.0] * 3), [0.3] * 3, epsilon=0.1, noise=0.0), 1_000
    x, y = np.array([0.2, 0.2, 0.2]), np.array([0.4, 0.3, 0.2])
    worlds = [world.episode(4, seed) for seed in range(count)]
    here, there, later = (
        np.array([one.value(t, place) for one in worlds])
        for t, place in ((1.0, x), (1.0, y), (4.0, x))
    )
    # a mean of products of two normal variables deviates by at most sqrt(2 / n)
    error = 4.0 * np.sqrt(2.0 / count)
    assert_allclose(here.mean(), 0.0, atol=error)
    assert_allclose(np.mean(here**2), 1.0, atol=error)
    assert_allclose(np.mean(here * there), np.exp(-0.5 * 0.05 / 0.09), atol=error)
    assert_allclose(np.mean(here * later), 0.9**1.5, atol=error)


def test_a_mixed_space_has_categories_integers_and_real_numbers() -> None:
    shapes = {}
    for id in ("mixed/categories", "mixed/integers"):
        box = problem(id).world().domain
        assert isinstance(box, Box)
        shapes[id] = [lattice.rows.shape for lattice in box.lattices], int(box.continuous.sum())
    assert shapes["mixed/categories"] == ([(5, 5), (2, 1)], 2)
    assert shapes["mixed/integers"] == ([(3, 3), (8, 1), (21, 1)], 1)


@pytest.mark.parametrize("id", ["faults/spikes", "faults/outages"])
def test_faults_change_the_results_and_not_the_function(id: str) -> None:
    clean = problem("paper/matern/0.01").world().episode(150, seed=4)
    faulty = problem(id).world().episode(150, seed=4)
    assert isinstance(clean, FiniteEpisode)
    assert isinstance(faulty, MeasuredEpisode)
    assert_array_equal(faulty.values, clean.values)
    faults = 0
    for t in clean.times.tolist():
        if faulty.measure(t, 7) == clean.measure(t, 7):
            assert faulty.measure(t, 300) == clean.measure(t, 300)
        else:
            faults += 1
            assert faulty.measure(t, 7) == faulty.measure(t, 300)
    assert 5 <= faults <= 75


def test_a_tenth_of_the_results_are_spikes() -> None:
    steps = 5_000
    told = spikes(steps, np.random.default_rng(0))
    drawn = told[~np.isnan(told)]
    assert abs(len(drawn) / steps - 0.1) < 4.0 * np.sqrt(0.1 * 0.9 / steps)
    assert np.all((np.abs(drawn) >= 3.0) & (np.abs(drawn) <= 100.0))
    assert abs(np.mean(drawn > 0.0) - 0.5) < 4.0 * np.sqrt(0.25 / len(drawn))
    # the logarithm is uniform: its median is the middle, with the deviation width / (2 sqrt(n))
    width = np.log(100.0 / 3.0)
    middle = np.log(3.0) + 0.5 * width
    assert abs(np.median(np.log(np.abs(drawn))) - middle) < 2.0 * width / np.sqrt(len(drawn))


def test_outages_are_runs_of_one_constant() -> None:
    told = outages(50_000, np.random.default_rng(0))
    groups = [(key, len(list(group))) for key, group in groupby(np.nan_to_num(told).tolist())]
    assert {key for key, _ in groups} == {-10.0, 0.0, 10.0}
    lengths = [length for key, length in groups[:-1] if key]
    between = [length for key, length in groups[:-1] if not key]
    # outages that touch may join, one in 50 of them
    assert sum(length > 30 for length in lengths) < 0.03 * len(lengths)
    error = np.sqrt((30**2 - 1) / 12 / len(lengths))
    assert abs(np.mean(lengths) - 15.5) < 4.0 * error + 0.5
    assert abs(np.mean(between) - 50.0) < 4.0 * 50.0 / np.sqrt(len(between))


def test_the_level_of_a_day_is_several_times_larger_than_the_differences() -> None:
    world, ratios = problem("level/day").world(), []
    assert isinstance(world, GPDrift)
    for seed in range(20):
        level = world.parts(150, seed)["season"]
        assert_allclose(level, np.tile(level[:, :1], (1, 400)), atol=1e-9)
        assert np.corrcoef(level[:-24, 0], level[24:, 0])[0, 1] > 0.9
        values = world.episode(150, seed).values
        ratios.append(level[:, 0].std() / values.std(axis=1).mean())
    assert 4.0 < np.median(ratios) < 7.0
    assert min(ratios) > 1.5


def test_the_noise_variance_differs_by_a_factor_of_100() -> None:
    world = problem("noise/uneven").world()
    assert isinstance(world, UnevenNoise)
    scales, episode = world.scales(seed=3), world.episode(20, seed=3)
    assert_allclose(world.noise * np.array([scales.min(), scales.max()]) ** 2, [0.005, 0.5])
    for place in (int(scales.argmin()), int(scales.argmax()), 17):
        added = [episode.measure(t, place) - episode.value(t, place) for t in episode.times]
        assert_allclose(added, scales[place] * episode.noises, atol=1e-12)
    assert not np.allclose(scales, world.scales(seed=4))


@pytest.mark.parametrize("count", [3, 6])
def test_positive_values_span_decades(count: int) -> None:
    world, seeds = problem(f"decades/{count}").world(), 300
    assert isinstance(world, Decades)
    worlds = [world.episode(2, seed) for seed in range(seeds)]
    logarithms = np.log10([one.value(1, 0) for one in worlds])
    assert_allclose(4.0 * logarithms.std(), count, rtol=4.0 * np.sqrt(0.5 / seeds))
    episode = world.episode(500, seed=0)
    factors = [episode.measure(t, 9) / episode.value(t, 9) for t in episode.times]
    assert_allclose(np.mean(factors), 1.0, atol=4.0 * np.sqrt(0.04 / 500))
    assert_allclose(np.var(np.log(factors)), 0.04, rtol=4.0 * np.sqrt(2.0 / 500))


@pytest.fixture
def round_trips(tmp_path: Path) -> Path:
    """Round trips between 23 machines in 12 rows: 100 i + j + row; some are missing."""
    i, j = np.indices((23, 23))
    table = (100 * i + j + np.arange(1, 13)[:, None, None]).astype(np.uint16)
    table[:, np.arange(23), np.arange(23)] = 0
    table[4:6, 21, 3] = 0
    np.savez(tmp_path / "relay_rtt.npz", rtt_10ms=table)
    return tmp_path / "relay_rtt.npz"


def test_a_relay_costs_both_links(round_trips: Path) -> None:
    world = Relays(round_trips, final=False)
    for seed in range(5):
        i, j = world.pair(seed)
        episode = world.episode(100, seed)
        assert (episode.horizon, len(world.domain)) == (12, 21)
        relays = [k for k in range(23) if k not in (i, j)]
        links = [[100 * i + k + t, 100 * k + j + t] for t in (3, 9) for k in relays]
        cost = -10.0 * np.sum(links, axis=1).reshape(2, -1)
        filled = np.arange(21) == relays.index(3) if i == 21 else np.zeros(21, dtype=bool)
        assert_allclose(episode.values[[2, 8]][:, ~filled], cost[:, ~filled])


def test_a_missing_round_trip_is_the_median_of_its_link(round_trips: Path) -> None:
    world = Relays(round_trips, final=False)
    seed = next(seed for seed in range(100) if world.pair(seed)[0] == 21)
    _, j = world.pair(seed)
    known = 2103.0 + np.array([1, 2, 3, 4, 7, 8, 9, 10, 11, 12])
    onward = 300.0 + j + np.arange(1.0, 13.0)
    cost = -world.episode(12, seed).values[:, 3] / 10.0
    assert_allclose(cost[4:6], np.median(known) + onward[4:6])
    assert_allclose(cost[:4], known[:4] + onward[:4])


def test_pairs_for_design_and_final_figures_differ(round_trips: Path) -> None:
    design, final = (Relays(round_trips, final=final) for final in (False, True))
    assert {design.pair(seed) for seed in range(100)} == {
        (i, j) for i in (20, 21, 22) for j in (20, 21, 22) if i != j
    }
    assert all(min(final.pair(seed)) < 20 for seed in range(100))
    assert any(max(final.pair(seed)) >= 20 for seed in range(100))


@measured("relays/design")
def test_the_measured_round_trips_are_those_that_their_notes_tell_of() -> None:
    world = problem("relays/design").world(DATA)
    assert isinstance(world, Relays)
    assert (world.values.shape, world.longest) == ((688, 99, 99), 688)
    assert_array_equal(world.domain.points, np.eye(97))
    starts = {float(world.episode(150, seed).values[0, 0]) for seed in range(5)}
    assert len(starts) == 5
    assert world.episode(150, seed=0).values.max() < 0.0


def test_round_trips_that_are_none_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "relay_rtt.npz"
    with pytest.raises(InputError, match="relay_rtt"):
        problem("relays/design").world(tmp_path / "none")
    file.write_text("no archive")
    with pytest.raises(InputError, match="rtt_10ms"):
        Relays(file, final=False)
    for arrays in ({"other": np.ones(3)}, {"rtt_10ms": np.ones((2, 3))}):
        np.savez(file, **arrays)
        with pytest.raises(InputError, match="rtt_10ms"):
            Relays(file, final=False)


def test_problems_whose_files_are_missing_are_skipped_with_a_reason(round_trips: Path) -> None:
    ids, skipped = playable_problems(None, round_trips.parent)
    assert ids == tuple(id for id in IDS if id not in TABLES)
    assert len(skipped) == 5
    assert skipped[0].startswith("Skipped table/intel: ")
    assert skipped[0].endswith(" has no intel_temperature.csv.gz, intel_locations.csv.")
    assert playable_problems(None, None) == (tuple(MADE_UP), ())
    assert playable_problems("table/i5", round_trips.parent) == (("table/i5",), ())


def test_waves_that_cannot_be_are_refused() -> None:
    box, space = Box([0.0] * 2, [1.0] * 2), problem("mixed/integers").world().domain
    assert isinstance(space, Box)
    for lengths in ([], [0.3] * 3):
        with pytest.raises(InputError, match="1 to 2 lengths"):
            Waves(box, lengths, epsilon=0.01, noise=0.01)
    with pytest.raises(InputError, match="lattices"):
        Waves(space, [0.3], epsilon=0.01, noise=0.01)
    with pytest.raises(InputError, match="epsilon"):
        Waves(box, [0.3], epsilon=1.5, noise=0.01)


def test_a_measured_table_has_the_shape_of_the_true_one() -> None:
    with pytest.raises(InputError, match="measured"):
        MeasuredEpisode(ht.grid(2), np.zeros((3, 2)), np.zeros(3), np.zeros((3, 1)))
