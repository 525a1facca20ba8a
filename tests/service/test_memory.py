"""The memory of the service: measured sizes, admission, and states that leave."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any, Literal
from unittest import mock

import numpy as np
import pytest

from heliotrope.domains import Finite
from heliotrope.domains.adapters import UnitCube
from heliotrope.service import Limits, create_app, memory
from heliotrope.service.batches import together
from heliotrope.service.memory import (
    HeldStudy,
    NoRoomError,
    StudyMemory,
    expected_bytes,
    measured_bytes,
)
from heliotrope.service.studies import Studies
from heliotrope.storage import Journal, MemoryStore
from heliotrope.study import Study, StudyConfig
from heliotrope.study.commands import Ask
from heliotrope.study.state import StudyState
from serving import error_of, post, serving

OPTIONS = [f"option {number}" for number in range(150)]  # a state of 1 to 2 MB
MEGABYTE = 1_000_000


@pytest.fixture
def counts() -> list[int]:
    """The numbers of states that the service has reported."""
    return []


@pytest.fixture
def few(counts: list[int]) -> Studies:
    """Twenty studies where about seven fit into the memory."""
    store = MemoryStore()
    studies = Studies(store, Journal(store), Limits(memory=10), counts.append)
    for number in range(20):
        studies.create(f"s{number}", {"options": OPTIONS})
    return studies


@pytest.fixture
def impatient() -> Iterator[None]:
    with mock.patch.object(memory, "PATIENCE", 0.05):
        yield


def states() -> int:
    """The number of states of studies in this process."""
    gc.collect()
    return sum(isinstance(value, StudyState) for value in gc.get_objects())


def most_states(use: Callable[[], object]) -> int:
    """The most states at a time beyond those before, seen when a study decides."""
    before, seen = states(), [0]
    begin, do_all = Study.begin_all, Study.do

    def counting(method: Callable[..., Any]) -> Callable[..., Any]:
        def count(*arguments: Any) -> Any:
            result = method(*arguments)
            seen.append(states())
            return result

        return count

    with (
        mock.patch.object(Study, "begin_all", counting(begin)),
        mock.patch.object(Study, "do", counting(do_all)),
    ):
        use()
    return max(seen) - before


# Measuring


def test_arrays_are_measured_once_and_views_with_what_they_hold() -> None:
    numbers = np.zeros(1_000_000)
    for value in (numbers, [numbers, numbers], numbers[:2], {"a": numbers[5:], "b": numbers.T}):
        assert 8e6 < measured_bytes(value) < 8.01e6
    assert measured_bytes(lambda: numbers) > 8e6  # a closure
    assert measured_bytes((np, Study, measured_bytes)) < 1_000  # the program


@pytest.mark.parametrize("options", [2, 150, 600])
def test_no_more_is_expected_than_measured_of_new_studies(options: int) -> None:
    config = StudyConfig.from_json({"options": [str(number) for number in range(options)]})
    study = Study.create_from("a", config, MemoryStore())
    study.tell(study.ask(), 1.0)
    assert measured_bytes(study.in_memory()) < expected_bytes(config)
    assert expected_bytes(study.first_config()) == expected_bytes(config)


def test_metrics_and_results_are_measured() -> None:
    goals: dict[str, Literal["maximize", "watch"]] = {"m": "maximize"}
    goals |= {f"m{number}": "watch" for number in range(3)}
    one = Study.create("one", OPTIONS, store="memory:")
    several = Study.create("several", OPTIONS, store="memory:", metrics=goals)
    for study in (one, several):
        study.ask()
    assert measured_bytes(several.in_memory()) > 2.5 * measured_bytes(one.in_memory())
    before = measured_bytes(one.in_memory())
    for value in range(50):
        one.add(OPTIONS[value], float(value))
    assert measured_bytes(one.in_memory()) > before


# States leave


def test_a_state_that_is_unloaded_is_freed_at_once_and_read_again() -> None:
    study = Study.create("a", OPTIONS, store="memory:")
    ask = study.ask()
    space = weakref.ref(study.config.space)
    gc.disable()
    try:
        study.unload()
        assert space() is None
    finally:
        gc.enable()
    assert study.open_asks() == [ask]


def test_a_domain_that_fills_the_cube_is_not_copied() -> None:
    options, others = Finite(np.eye(5)), Finite(2.0 * np.eye(5))
    assert UnitCube(options).domain is options
    scaled = UnitCube(others).domain
    assert isinstance(scaled, Finite)
    np.testing.assert_array_equal(scaled.points, options.points)


# Admission


def test_a_batch_to_many_studies_holds_few_at_a_time(few: Studies) -> None:
    commands = [(f"s{number}", Ask()) for number in range(20)]
    outcomes = list[Any]()
    assert most_states(lambda: outcomes.extend(together(few, commands))) <= 6
    assert [type(outcome).__name__ for outcome in outcomes] == ["Evaluation"] * 20


def test_simultaneous_requests_hold_few_studies_at_a_time(few: Studies, counts: list[int]) -> None:
    asked = list[Any]()

    def ask(number: int) -> None:
        asked.append(few.use(f"s{number}", lambda study: study.do(Ask())))

    def crowd() -> None:
        threads = [Thread(target=ask, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    crowd()
    assert max(counts) <= 10
    assert len({evaluation.id for evaluation in asked}) == 20


def held_in(memory: StudyMemory, name: str) -> HeldStudy:
    return memory.hold(Study.create(name, OPTIONS, store="memory:"))


@pytest.mark.usefixtures("impatient")
def test_without_room_a_request_waits_and_is_refused() -> None:
    counts = list[int]()
    small = StudyMemory(8 * MEGABYTE, counts.append)
    first, second = held_in(small, "first"), held_in(small, "second")
    with small.using(first), pytest.raises(NoRoomError), small.using(second):
        pytest.fail("it was admitted")  # pragma: no cover
    assert small.find("second", None) is None  # it is not even kept
    second = small.hold(second.study)
    with small.using(second):
        assert counts[-1] == 1  # the first one has left
    assert small.find("first", None) is None


def test_a_request_that_waits_is_admitted_when_there_is_room() -> None:
    small = StudyMemory(10 * MEGABYTE, lambda _: None)
    first, second = held_in(small, "first"), held_in(small, "second")
    done = list[str]()

    def use_second() -> None:
        with small.using(second):
            done.append("second")

    with small.using(first):
        thread = Thread(target=use_second)
        thread.start()
        thread.join(0.1)
        done.append("first")
    thread.join()
    assert done == ["first", "second"]


@pytest.mark.usefixtures("impatient")
def test_a_study_larger_than_the_limit_is_served_alone() -> None:
    small = StudyMemory(MEGABYTE, lambda _: None)
    first, second = held_in(small, "first"), held_in(small, "second")
    for held in (first, second, first):
        with small.using(held):
            held.study.ask()
    assert len(first.study.open_asks()) == 2
    with small.using(first), pytest.raises(NoRoomError), small.using(second):
        pytest.fail("it was admitted")  # pragma: no cover


def test_a_larger_size_than_expected_is_remembered() -> None:
    several = StudyMemory(100 * MEGABYTE, lambda _: None)
    held = held_in(several, "first")
    with (
        mock.patch.object(memory, "expected_bytes", return_value=1_000),
        several.using(held),
    ):
        held.study.ask()
    assert held.size == several.of_study(held.study) > 500_000


@pytest.mark.usefixtures("impatient")
def test_a_refused_request_is_answered_503_with_a_time_to_try_again() -> None:
    with serving(create_app("memory:")) as client:
        for name in ("a", "b"):
            post(client, "", name=name, options=["x", "y"])
        with mock.patch.object(StudyMemory, "_makes_room", return_value=False):
            refused = client.post("/api/studies/a/ask", json={})
            commands = [{"study": name, "verb": "ask", "body": {}} for name in "ab"]
            batch = client.post("/api/batch", json={"commands": commands})
        assert error_of(refused)[:2] == (503, "memory")
        assert float(refused.headers["Retry-After"]) > 0
        assert [answer["status"] for answer in batch.json()["answers"]] == [503, 503]
        assert post(client, "/a/ask")["option"] in ("x", "y")
        assert client.get("/api/studies/b").json()["open"] == []


def test_requests_do_not_wait_in_more_than_some_threads() -> None:
    small = StudyMemory(10 * MEGABYTE, lambda _: None)
    first, second = held_in(small, "first"), held_in(small, "second")
    with (
        mock.patch.object(memory, "_WAITING", 0),
        small.using(first),
        pytest.raises(NoRoomError),
        small.using(second),
    ):
        pytest.fail("it was admitted")  # pragma: no cover


def test_health_is_answered_while_requests_wait() -> None:
    """Requests that wait hold threads; the health check needs one too."""
    app = create_app("memory:", limits=Limits(memory=10))
    with serving(app) as client:
        for number in range(4):
            post(client, "", name=f"s{number}", options=OPTIONS)
        asks = [
            Thread(target=lambda name=f"s{number % 4}": post(client, f"/{name}/ask"))
            for number in range(12)
        ]
        for thread in asks:
            thread.start()
        assert client.get("/healthz").json()["status"] == "ok"
        for thread in asks:
            thread.join()
        open_asks = [client.get(f"/api/studies/s{number}").json()["open"] for number in range(4)]
    assert sum(len(entry) for entry in open_asks) == 12
