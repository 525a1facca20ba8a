"""The page "Many small machines": functions that die, race, and have nothing but a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

import heliotrope as ht
from heliotrope.storage import MemoryStore
from heliotrope.study import StudyConfig
from small_machine import invoke, names, store_of

Table: Any = names()["Table"]
SPACE = {"heat": ht.Real(20, 80), "mode": ht.Categorical(["a", "b"])}
SETUPS: dict[str, dict[str, Any]] = {
    "steps": {"policy": {"kind": "tv_gp_ucb", "epsilon": 0.05}},
    "wall": {"clock": "10min", "direction": "minimize"},
    "limits": {
        "metrics": {"yield": "maximize", "cost": "watch"},
        "limits": {"cost": {"below": 90.0}},
        "baseline": {"heat": 40.0, "mode": "a"},
    },
}


class KilledError(Exception):
    """The machine of a function went away."""


class Mortal(Table):  # type: ignore[misc]
    """A table whose function is killed before or after some writes."""

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self.rng, self.armed, self.killed = rng, False, {"before": 0, "after": 0}

    def swap(self, key: str, old: object, new: object) -> bool:
        self._may_die("before")
        written: bool = super().swap(key, old, new)
        self._may_die("after")
        return written

    def _may_die(self, when: str) -> None:
        if self.armed and self.rng.random() < 0.2:
            self.killed[when] += 1
            raise KilledError


class Raced(Table):  # type: ignore[misc]
    """A table on which another function comes first, once: after this one has read the log."""

    def __init__(self) -> None:
        super().__init__()
        self.race: Callable[[], object] | None = None
        self.lost = 0

    def swap(self, key: str, old: object, new: object) -> bool:
        race, self.race = self.race, None
        if race is not None:
            race()
        written: bool = super().swap(key, old, new)
        self.lost += not written
        return written


def until_answered(table: object, path: str, seconds: float, body: object) -> Any:
    """The answer to a request that is repeated as long as its function is killed."""
    while True:
        try:
            status, answer = invoke(table, path, seconds, body)
        except KilledError:
            continue
        assert status == 200, answer
        return answer


def measured(setup: str, params: Mapping[str, Any], number: int) -> Any:
    value = -abs(params["heat"] - 50.0 - number / 5.0) + 5.0 * (params["mode"] == "b")
    return {"yield": value, "cost": params["heat"]} if setup == "limits" else value


@pytest.mark.parametrize("setup", SETUPS)
def test_functions_that_are_killed_ask_what_a_study_in_memory_asks(setup: str) -> None:
    table, now = Mortal(Random(7)), [0.0]
    ht.Study.create("oven", SPACE, store=store_of(table), seed=3, now=lambda: 0.0, **SETUPS[setup])
    twin = ht.Study.create(
        "oven", SPACE, store="memory:", seed=3, now=lambda: now[0], **SETUPS[setup]
    )
    table.armed = True
    for number in range(60):
        now[0] = 400.0 * number
        ask = until_answered(table, "/oven/ask", now[0], {"key": f"job {number}"})
        other = twin.ask()
        assert (ask["t"], ask["params"]) == (other.t, other.params)
        assert ask.get("reason") == other.reason
        if number % 10 == 7:
            until_answered(table, "/oven/cancel", now[0], {"id": ask["id"]})
            twin.cancel(other)
            continue
        value = measured(setup, ask["params"], number)
        until_answered(table, "/oven/tell", now[0], {"id": ask["id"], "value": value})
        twin.tell(other, value)
    table.armed = False
    mine = ht.Study.open("oven", store_of(table), now=lambda: now[0])
    kinds = [event.body["kind"] for event in mine.events()]
    assert kinds == [event.body["kind"] for event in twin.events()]
    assert mine.best_params == twin.best_params
    assert store_of(table).snapshot(mine.uid) is not None
    assert min(table.killed.values()) >= 10


def begun(table: object) -> ht.Study:
    return ht.Study.create("oven", SPACE, store=store_of(table), **SETUPS["steps"])


def test_of_two_asks_at_once_one_decides_again() -> None:
    table = Raced()
    begun(table)
    first = []
    table.race = lambda: first.append(invoke(table, "/oven/ask", 0.0, {"key": "a"}))
    second = invoke(table, "/oven/ask", 0.0, {"key": "b"})
    assert table.lost == 1
    status, answer = first[0]
    twin = ht.Study.create("oven", SPACE, store="memory:", **SETUPS["steps"])
    assert status == second[0] == 200
    asks = [answer["params"], second[1]["params"]]
    assert asks == [twin.ask().params, twin.ask().params]
    assert [ask.id for ask in ht.Study.open("oven", store_of(table)).open_asks()] == [
        answer["id"],
        second[1]["id"],
    ]


def test_of_two_results_at_once_the_second_is_refused() -> None:
    table = Raced()
    study = begun(table)
    id = study.ask().id
    table.race = lambda: invoke(table, "/oven/tell", 0.0, {"id": id, "value": 1.0})
    status, answer = invoke(table, "/oven/tell", 0.0, {"id": id, "value": 2.0})
    assert (status, answer["error"]["code"]) == (422, "closed_suggestion")
    assert [e.body["value"] for e in study.events() if e.body["kind"] == "told"] == [{"value": 1.0}]
    assert table.lost == 1


def test_of_two_studies_with_one_name_the_second_is_refused() -> None:
    table = Raced()
    table.race = lambda: begun(table)
    with pytest.raises(ht.HeliotropeError, match="a name that no study has"):
        begun(table)
    store = store_of(table)
    assert store.count() == len(store.studies()) == 1
    assert len(table.keys("log/")) == 1


def test_functions_at_the_same_time_lose_nothing() -> None:
    table = Table()
    begun(table)

    def work(worker: int) -> None:
        for number in range(15):
            ask = invoke(table, "/oven/ask", 0.0, {"key": f"{worker} {number}"})[1]
            assert invoke(table, "/oven/tell", 0.0, {"id": ask["id"], "value": 1.0})[0] == 200

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    study = ht.Study.open("oven", store_of(table))
    assert study.summary().told == 45
    assert [event.seq for event in study.events()] == [*range(1, len(study.events()) + 1)]


@pytest.mark.parametrize(
    ("path", "body", "code", "field"),
    [
        ("/kiln/ask", {}, "unknown_study", ""),
        ("/oven/burn", {}, "input", "verb"),
        ("/oven/ask", {"when": 3}, "input", "body.when"),
        ("/oven/ask", [], "input", "body"),
        ("/oven/tell", {"id": "x", "value": 1.0}, "unknown_suggestion", "id"),
    ],
)
def test_errors_are_answers(path: str, body: Any, code: str, field: str) -> None:
    table = Table()
    begun(table)
    status, answer = invoke(table, path, 0.0, body)
    assert status == 422
    error = answer["error"]
    assert (error["code"], error["field"]) == (code, field)
    assert error["expected"]
    assert error["got"]


def test_a_store_of_ones_own_needs_no_clock_probe_or_close() -> None:
    store = store_of(Table())
    assert store.clock_offset() == MemoryStore().clock_offset() == 0.0
    store.probe()
    store.close()
    study = ht.Study.create_from("a", StudyConfig.from_json({"options": ["x", "y"]}), store)
    assert study.ask().option in ("x", "y")
