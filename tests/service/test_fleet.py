"""Batches of commands to many studies; leases, repairs and streams over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from unittest import mock

import httpx
import pytest

import heliotrope as ht
from heliotrope.client.service import Service
from heliotrope.errors import (
    ClosedSuggestionError,
    InputError,
    StoreError,
    UnknownStudyError,
    UnknownSuggestionError,
)
from heliotrope.service import Limits, create_app
from heliotrope.service.batches import together
from heliotrope.service.studies import Studies
from heliotrope.storage import Append, GroupCommit, Journal, MemoryStore
from heliotrope.study import Study
from heliotrope.study.commands import Add, Ask, Cancel, Heartbeat, Tell
from serving import OPTIONS, post, serving

EVENTS = "text/event-stream"


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with serving(create_app("memory:", limits=Limits(streams=5))) as found:
        yield found


@pytest.fixture(scope="module")
def service(client: httpx.Client) -> Iterator[Service]:
    with ht.connect(str(client.base_url)) as connected:
        yield connected


@pytest.fixture(params=[Journal, GroupCommit])
def studies(request: pytest.FixtureRequest) -> Iterator[Studies]:
    store = MemoryStore()
    journal = request.param(store)
    found = Studies(store, journal, Limits(), lambda _: None)
    for number in range(20):
        found.create(f"s{number}", {"options": ["a", "b"]})
    yield found
    if isinstance(journal, GroupCommit):
        journal.close()


# Batches


def test_many_studies_are_written_with_one_sync(studies: Studies) -> None:
    names = [f"s{number}" for number in range(20)]
    with mock.patch.object(studies.store, "append", wraps=studies.store.append) as append:
        asks = together(studies, [(name, Ask()) for name in names])
        assert append.call_count == 1
        tells: list[Any] = [
            (name, Tell(ask.id, 1.0, Ask())) for name, ask in zip(names, asks, strict=True)
        ]
        following = together(studies, tells)
        assert append.call_count == 2
    for name, ask in zip(names, following, strict=True):
        assert studies.use(name, lambda study: study.open_asks()) == [ask]


def test_each_command_is_answered_on_its_own(studies: Studies) -> None:
    first, other = together(studies, [("s0", Ask()), ("s1", Ask())])
    results = together(
        studies,
        [
            ("s0", Tell(first.id, 1.0)),
            ("s0", Tell(first.id, 2.0)),
            ("nobody", Ask()),
            ("s1", Tell("nonsense", 1.0)),
            ("s1", Tell(other.id, 3.0)),
            ("s0", Ask()),
            ("s0", Tell(first.id, 1.0)),
        ],
    )
    kinds = [type(result) for result in results]
    assert kinds[:5] == [
        type(None),
        ClosedSuggestionError,
        UnknownStudyError,
        UnknownSuggestionError,
        type(None),
    ]
    assert results[6] is None
    assert studies.use("s0", lambda study: study.open_asks()) == [results[5]]
    assert together(studies, []) == []


def test_a_study_that_was_replaced_is_found(studies: Studies) -> None:
    studies.use("s3", lambda study: study.ask())
    studies.store.delete(studies.find("s3").uid)
    Study.create("s3", ["c", "d"], store=studies.store)
    (ask,) = together(studies, [("s3", Ask())])
    assert ask.option in ("c", "d")


def test_batches_from_many_threads_lose_nothing(studies: Studies) -> None:
    """They meet in the same studies, in different orders."""
    names = [f"s{number}" for number in range(8)]

    def work(client: int) -> list[Any]:
        order = names[client:] + names[:client]
        return together(studies, [(name, Add(1.0, option="a")) for name in order * 3])

    with ThreadPoolExecutor(8) as pool:
        results = [one for found in pool.map(work, range(8)) for one in found]
    assert not [one for one in results if isinstance(one, Exception)]
    for name in names:
        assert studies.use(name, lambda study: study.summary()["told"]) == 24


def test_a_closed_journal_answers_every_command() -> None:
    store = MemoryStore()
    study = Study.create("pump", ["a", "b"], store=store)
    group = GroupCommit(store)
    group.close()
    with group.together():
        futures = [group.submit(Append(study.uid, 1, [{}])) for _ in range(2)]
    for future in futures:
        with pytest.raises(StoreError):
            future.result(timeout=5.0)


def test_a_batch_over_http(service: Service, client: httpx.Client) -> None:
    remote = [service.create(f"fleet-{number}", ["a", "b"]) for number in range(3)]
    asks = service.batch([(study, Ask(lease="1h")) for study in remote])
    results = service.batch(
        [
            (remote[0], Tell(asks[0].id, 1.0)),
            (remote[1], Tell(asks[0].id, 1.0)),
            (remote[1], Heartbeat(asks[1].id)),
            (remote[2], Cancel(asks[2].id)),
            (remote[2], Add(2.0, option="b")),
        ]
    )
    assert results[0] is results[3] is None
    assert isinstance(results[1], UnknownSuggestionError)
    assert results[2].until >= asks[1].until
    assert results[4].option == "b"
    assert [study.summary()["told"] for study in remote] == [1, 0, 1]
    text = client.get("/metrics").text
    assert "heliotrope_tells_total 2.0" in text
    for study in remote:
        study.delete()


def test_a_wrong_command_of_a_batch_is_answered_on_its_own(service: Service) -> None:
    study = service.create("own", {"x": ht.Real(0, 1)}, context={"n": ht.Integer(0, 3)})
    first, second = study.ask(context={"n": 1}), study.ask(context={"n": 1})
    results = service.batch(
        [
            (study, Tell(first.id, float("nan"))),
            (study, Tell(second.id, 1.0)),
            (study, Tell(first.id, 1.0, std=-1.0)),
            (study, Tell(first.id, 1.0, params={"x": float("nan")})),
            (study, Add(1.0, {"x": 2.0}, context={"n": 1})),
            (study, Ask(context={"n": 9})),
            (study, Ask(key="")),
        ]
    )
    fields = [getattr(result, "field", None) for result in results]
    assert fields == ["value", None, "std", "", "params.x", "context.n", "key"]
    assert [type(result) for result in results] == [InputError, type(None), *[InputError] * 5]
    assert study.summary().told == 1
    study.delete()


@pytest.mark.parametrize("items", [3, [3], [("own", Ask())], [(None, Ask())], [(1, 2, 3)]], ids=str)
def test_items_that_are_no_commands_are_refused(service: Service, items: Any) -> None:
    with pytest.raises(InputError, match="a study"):
        service.batch(items)


@pytest.mark.parametrize(
    ("entry", "code", "field"),
    [
        (5, "input", "commands"),
        ({"study": "x", "verb": "ask"}, "input", "commands"),
        ({"study": 1, "verb": "ask", "body": {}}, "input", "study"),
        ({"study": "x", "verb": "delete", "body": {}}, "input", "verb"),
        ({"study": "x", "verb": "tell", "body": {"id": "a", "value": "b"}}, "input", "body.value"),
        ({"study": "x", "verb": "tell", "body": []}, "input", "body"),
        ({"study": "../x", "verb": "ask", "body": {}}, "unknown_study", "name"),
    ],
)
def test_wrong_entries_are_answered_in_their_place(
    client: httpx.Client, entry: Any, code: str, field: str
) -> None:
    answers = client.post("/api/batch", json={"commands": [entry]}).json()["answers"]
    assert (answers[0]["error"]["code"], answers[0]["error"]["field"]) == (code, field)


@pytest.mark.parametrize("body", [{}, {"commands": 5}, {"commands": [1] * 1001}, {"other": []}])
def test_wrong_batches_are_refused(client: httpx.Client, body: Any) -> None:
    assert client.post("/api/batch", json=body).status_code == 422


# Leases, repairs and points over HTTP


def test_leases_and_points_over_http(service: Service) -> None:
    study = service.create("leased", ["a", "b"], lease="10min", clock="1min")
    ask = study.ask()
    assert ask.until is not None
    assert study.heartbeat(ask, "1d").until > ask.until + 80_000.0  # type: ignore[operator]
    assert study.open_asks()[0].until is not None
    with pytest.raises(InputError) as refused:
        study.ask(lease="soon")
    assert refused.value.field == "lease"
    other = "a" if ask.option == "b" else "b"
    with pytest.raises(UnknownSuggestionError):
        study.do(Tell(ask.id, 1.0, option=other))
    study.tell(ask, 1.0)
    study.ask(t=9.0)
    study.retime(5.0)
    assert study.open_asks()[0].t == 5.0
    study.delete()


# Streams


def test_simultaneous_streams_do_not_exceed_their_limit(client: httpx.Client) -> None:
    post(client, "", name="followed", **OPTIONS)
    barrier = Barrier(20)

    def follow(_: int) -> int:
        with httpx.Client(base_url=client.base_url, timeout=10.0) as own:
            barrier.wait()
            path, headers = "/api/studies/followed/events", {"Accept": EVENTS}
            with own.stream("GET", path, headers=headers) as response:
                barrier.wait(timeout=60.0)  # all have their answer before one ends
                return response.status_code

    with ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(follow, range(20)))
    assert sorted(statuses) == [200] * 5 + [429] * 15
    client.delete("/api/studies/followed")
