"""Plain worlds: ordinary functions and ordinary use break nothing, and regret is small."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

import heliotrope as ht
from heliotrope.errors import InputError
from heliotrope.lab.plain import (
    PLAIN_WORLDS,
    Asked,
    OptimizerSurface,
    PlainWorld,
    Record,
    ReopenedSurface,
    StudySurface,
    Surface,
    Truth,
    draw,
    is_quiet,
    judge,
    play,
)
from heliotrope.lab.plain.named import LINE, cube, options
from heliotrope.lab.plain.results import Told
from strategies import fixed, plain_worlds

FEW, MANY = 12, 150
SURFACES: tuple[type[OptimizerSurface] | type[StudySurface], ...] = (
    OptimizerSurface,
    StudySurface,
    ReopenedSurface,
)
JUDGED = (
    "exact/bowl",
    "exact/bowl of 2",
    "exact/step",
    "results/count and exposure",
    "unit/exact offset 1e9",
    "drift/slow",
    "drift/daily level",
    "space/100 options",
    "space/integers",
    "late/eight workers",
)


def surface_for(truth: Truth) -> Surface:
    """One of the surfaces that the world allows, by its seed."""
    world = truth.world
    allowed = SURFACES if world.context is None else SURFACES[1:]
    return allowed[world.seed % len(allowed)](truth)


def assert_nothing_happened(record: Record) -> None:
    assert record.failures == []
    assert record.warnings == []
    assert record.fallbacks == []
    assert record.messages == []
    assert record.differences == []


@pytest.mark.parametrize("name", sorted(set(PLAIN_WORLDS) - set(JUDGED)))
def test_nothing_happens_in_a_plain_world(name: str) -> None:
    truth = Truth(PLAIN_WORLDS[name])
    assert_nothing_happened(play(truth, surface_for(truth), FEW))


@pytest.mark.parametrize("name", JUDGED)
def test_the_default_learns_a_plain_world(name: str) -> None:
    truth = Truth(PLAIN_WORLDS[name])
    record = play(truth, surface_for(truth), MANY)
    assert_nothing_happened(record)
    verdict = judge(truth, record, MANY)
    assert verdict.holds, verdict


@given(plain_worlds())
@fixed(20)
def test_nothing_happens_in_a_drawn_world(world: PlainWorld) -> None:
    truth = Truth(world)
    assert_nothing_happened(play(truth, surface_for(truth), 8))


def test_an_exact_function_is_minimized() -> None:
    study = ht.Study.create(
        "b", {"x": ht.Real(0, 1)}, direction="minimize", store="memory:", seed=0
    )
    report = study.optimize(lambda p: (p["x"] - 0.3) ** 2, n=150, progress=False)
    assert (report.told, report.cancelled) == (150, 0)
    assert_allclose(study.best_params["x"], 0.3, atol=1e-3)


# ---- the worlds themselves


def test_a_drawn_world_depends_on_its_seed_alone() -> None:
    worlds = [draw(seed) for seed in range(200)]
    assert worlds == [draw(seed) for seed in range(200)]
    families = {world.family for world in worlds}
    assert families == {world.family for world in PLAIN_WORLDS.values()}


def test_regret_is_what_a_choice_loses() -> None:
    truth = Truth(PlainWorld("", "", LINE, unit=-1.0, seed=3))
    own, random = truth.regret(LINE.params([0.5]), 0)
    values = truth.values(truth.candidates, 0)
    best, half = values.max(), truth.values(np.array([[0.5]]), 0)[0]
    assert_allclose(own, best - half, atol=1e-2)
    assert_allclose(random, best - values.mean(), atol=1e-2)
    assert_allclose([values.mean(), values.std()], [0.0, 1.0], atol=1e-9)


@pytest.mark.parametrize("results", ["values", "counts", "proportions"])
def test_low_values_are_good_where_they_are_told_so(results: str) -> None:
    up = Truth(PlainWorld("", "", LINE, results=results, seed=3))
    down = Truth(replace(up.world, direction="minimize"))
    rng = np.random.default_rng(0)
    for truth in (up, down):
        best, worst = (
            LINE.params(truth.candidates[find(truth.values(truth.candidates, 0))])
            for find in (np.argmax, np.argmin)
        )
        good, bad = (
            np.mean([truth.measure(choice, 0, None, rng)["value"] for _ in range(300)])
            for choice in (best, worst)
        )
        assert truth.world.sign * (good - bad) > 0.0
        assert truth.regret(best, 0)[0] < 0.01 < truth.regret(worst, 0)[0]


def test_worlds_without_much_noise_or_movement_are_quiet() -> None:
    quiet = {name for name, world in PLAIN_WORLDS.items() if is_quiet(Truth(world))}
    assert {"exact/bowl", "noise/0.3", "drift/slow", "context/weather"} <= quiet
    assert not quiet & {"noise/1", "noise/heavy tails", "drift/trend", "results/zeros and ones"}


def test_unknown_parts_are_refused() -> None:
    with pytest.raises(InputError, match="bowl"):
        PlainWorld("", "", LINE, shape="bucket")


# ---- the player


class Faulty(StudySurface):
    """Asks by itself, and fails at every third result."""

    def tell(self, asked: Asked, told: Told) -> None:
        super().tell(asked, told)
        if self._study.summary().told % 3 == 0:
            np.float64(1.0) / np.float64(0.0)
            raise ZeroDivisionError("in a test")


def test_failures_and_warnings_are_recorded() -> None:
    truth = Truth(PlainWorld("", "", options(3), noise=0.1))
    record = play(truth, Faulty(truth), 9)
    assert [line.split(",")[0] for line in record.failures] == ["step 2", "step 5", "step 8"]
    assert all("ZeroDivisionError: in a test" in line for line in record.failures)
    assert len(record.warnings) == 3
    assert len(record.regrets) == 9


class Forgetful(OptimizerSurface):
    """Its twin has another seed, and was told nothing."""

    def twin(self) -> OptimizerSurface:
        return OptimizerSurface(Truth(PlainWorld("", "", cube(2), seed=1)))


def test_a_twin_that_asks_something_else_is_found() -> None:
    truth = Truth(PlainWorld("", "", cube(2)))
    assert len(play(truth, Forgetful(truth), 6).differences) > 0
