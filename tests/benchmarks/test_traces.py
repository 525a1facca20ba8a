"""Traces: their setups, the player, and how two traces are compared."""

from __future__ import annotations

import importlib
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
STEPS = 12

Trace = dict[str, Any]


def module(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.{name}")


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def trace() -> Trace:
    """Four asks, the last two after a look, and a look at the end."""
    asks = [
        {"t": float(i), "choice": i, "reason": None, "expected": {"value": [1.0, 0.5]}}
        for i in range(4)
    ]
    looks = [
        {"step": step, "best": 1, "error": None, "belief": {"value": [1.0, 0.5], "best": [1.0]}}
        for step in (1, 3)
    ]
    return {"asks": asks, "looks": looks, "spread": {"value": 0.1, "best": 0.1}}


def verdict(old: Trace, new: Trace) -> tuple[str, int | None, bool]:
    found = module("traces.comparison").compare(old, new)
    return found.verdict, found.step, found.same


def test_the_same_trace_is_equal(trace: Trace) -> None:
    assert verdict(trace, deepcopy(trace)) == ("equal", None, True)


def test_numbers_may_differ_by_rounding(trace: Trace) -> None:
    new = deepcopy(trace)
    new["asks"][1]["t"] += 1e-13
    new["looks"][0]["belief"]["value"][0] += 1e-11
    assert verdict(trace, new) == ("equal up to rounding", None, True)


def test_beliefs_may_differ_although_all_asks_are_equal(trace: Trace) -> None:
    new = deepcopy(trace)
    new["looks"][1]["belief"]["value"][0] += 1e-3
    found = module("traces.comparison").compare(trace, new)
    assert (found.verdict, found.step, found.same) == ("different", None, False)
    assert found.largest == pytest.approx(1e-2)
    assert found.words == "different: equal asks, beliefs differ by up to 1.0e-02"


def test_another_best_is_a_difference(trace: Trace) -> None:
    new = deepcopy(trace)
    new["looks"][0]["best"] = 2
    assert verdict(trace, new) == ("different", None, False)
    assert "the best after ask 1: 1; now 2" in module("traces.comparison").compare(trace, new).words


def test_a_belief_that_one_code_lacks_is_a_difference(trace: Trace) -> None:
    new = deepcopy(trace)
    new["looks"][1]["belief"]["value"] = []
    assert verdict(trace, new) == ("different", None, False)


def test_the_first_ask_that_differs_is_found(trace: Trace) -> None:
    new = deepcopy(trace)
    new["asks"][2] |= {"choice": 7, "expected": {"value": [1.2, 0.5]}}
    new["asks"][3] |= {"choice": 8}
    new["looks"][1]["belief"]["value"][1] += 0.2
    found = module("traces.comparison").compare(trace, new)
    assert (found.verdict, found.step, found.same) == ("different", 2, False)
    assert (found.earlier, found.largest) == (0.0, pytest.approx(2.0))
    assert found.words.startswith("different from ask 2 on (2; now 7); beliefs differ by up to")


def test_places_that_were_believed_alike_are_a_tie(trace: Trace) -> None:
    new = deepcopy(trace)
    new["asks"][2] |= {"choice": 7, "expected": {"value": [1.0 + 1e-12, 0.5]}}
    assert verdict(trace, new) == ("tie", 2, False)
    new["asks"][2]["reason"] = "best"
    assert verdict(trace, new) == ("different", 2, False)


def test_a_search_that_ends_beside_the_same_maximum_is_listed_apart(trace: Trace) -> None:
    trace["asks"][2]["choice"] = {"x": 0.25, "codec": "zip"}
    new = deepcopy(trace)
    new["asks"][2]["choice"]["x"] += 1e-6
    assert verdict(trace, new) == ("search", 2, False)
    new["asks"][2]["choice"] = {"x": 0.25 + 1e-4, "codec": "zip"}
    new["asks"][2]["expected"] = None
    assert verdict(trace, new) == ("different", 2, False)
    new["asks"][2]["choice"] = {"x": 0.25 + 1e-6, "codec": "raw"}
    assert verdict(trace, new) == ("different", 2, False)


def test_without_beliefs_or_after_a_difference_nothing_is_a_tie(trace: Trace) -> None:
    new = deepcopy(trace)
    new["asks"][2]["choice"] = 7
    late = deepcopy(new)
    late["looks"][0]["belief"]["value"][0] += 1e-3
    assert verdict(trace, late) == ("different", 2, False)
    new["asks"][2]["expected"] = None
    assert verdict(trace, new) == ("different", 2, False)


def test_a_setup_that_cannot_be_played_is_reported(trace: Trace) -> None:
    found = module("traces.comparison").compare(trace, {"failed": "AttributeError: ask"})
    assert (found.verdict, found.words) == ("failed", "failed (now: AttributeError: ask)")


def test_there_are_30_setups_with_names_of_their_own() -> None:
    setups = module("traces.setups").SETUPS
    assert len(setups) == len({setup.name for setup in setups}) == 30
    assert not any(setup.goals for setup in setups if setup.surface == "optimizer")


@pytest.mark.parametrize("number", range(30))
def test_a_setup_is_played_and_repeats_itself(number: int) -> None:
    player = module("traces.player")
    setup = replace(module("traces.setups").SETUPS[number], steps=STEPS)
    played = player.trace_of(setup)
    assert "failed" not in played, played
    assert len(played["asks"]) == STEPS
    assert not any(ask.get("error") for ask in played["asks"])
    (look,) = played["looks"]
    has_belief = "uniform" not in setup.name
    assert bool(look["best"] is not None and look["belief"]["best"]) == has_belief
    if number % 5 == 0:
        assert player.trace_of(setup) == played


@pytest.mark.parametrize("space", ["Grid((3, 4))", "Cube(2, -1.0, 3.0)", "Names(7)", "SERVER"])
def test_a_choice_has_its_unit_coordinates(space: str) -> None:
    known = {**vars(module("traces.worlds")), **vars(module("traces.setups"))}
    built = eval(space, known)
    for u in ([0.0] * built.dimension, [0.4] * built.dimension, [1.0] * built.dimension):
        choice = built.choice(np.array(u))
        again = built.choice(built.unit(choice))
        assert again == choice or again == pytest.approx(choice)


def test_a_player_runs_with_the_code_of_a_revision() -> None:
    against = module("against")
    show = "import heliotrope, sys; print(heliotrope.__file__, 'benchmarks' in sys.modules)"
    with against.source_of("HEAD") as source:
        assert against.run(source, "-c", show).split() == [
            str(source / "heliotrope" / "__init__.py"),
            "False",
        ]
    with pytest.raises(SystemExit, match="no code of the revision"), against.source_of("nowhere"):
        pass


def test_step_compares_the_least_times() -> None:
    step = module("step")
    turns = [({"ask": 2.0}, {"ask": 9.0}), ({"ask": 4.0}, {"ask": 2.1})]
    (found,) = step.compared("a box", turns)
    assert found.holds
    assert "1.050 times" in found.measured
    (slower,) = step.compared("a box", [({"ask": 2.0}, {"ask": 2.3})])
    assert not slower.holds
    assert step.grown({"megabytes": 8.0}, {"megabytes": 22.0}).holds
    assert not step.grown({"megabytes": 8.0}, {"megabytes": 24.0}).holds


def test_every_case_of_step_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = module("step_cases")
    for name in ("BEFORE", "PAIRS", "BOX_STEPS", "STUDY_STEPS", "LIVE_STEPS", "WARM", "MANY"):
        monkeypatch.setattr(cases, name, 3)
    assert {*module("step").ABOUT, "growth"} == {*cases.CASES, "import"}
    for name, case in cases.CASES.items():
        assert all(value > 0.0 or name == "growth" for value in case().values())


def test_against_is_an_option_of_traces_and_step(capsys: pytest.CaptureFixture[str]) -> None:
    read = module("__main__")._read
    assert read(["traces", "step", "--against", "HEAD~3"]) == (
        ["traces", "step"],
        {"against": "HEAD~3"},
    )
    for arguments in (["--against", "HEAD"], ["speed", "--against", "HEAD"]):
        with pytest.raises(SystemExit):
            read(arguments)
        assert "--against is an option of traces and step" in capsys.readouterr().err
    assert "benchmarks.__main__" in sys.modules
