"""The client: its requests, its retries, and its reading of the answers."""

from __future__ import annotations

import gzip
import inspect
import json
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import example, given, strategies as st

import heliotrope as ht
from heliotrope import errors
from heliotrope.client import transport as transports
from heliotrope.client.errors import error_from
from heliotrope.client.service import Service
from heliotrope.client.study import RemoteStudy
from heliotrope.client.transport import Transport
from heliotrope.errors import (
    HeliotropeError,
    InputError,
    ServiceError,
    StudyExistsError,
    UnknownStudyError,
    UnknownSuggestionError,
)
from heliotrope.study import Evaluation, StudyConfig
from served import Served

Handler = Callable[[httpx.Request], httpx.Response]
Outcome = httpx.Response | type[httpx.TransportError]

TOKEN = "a-token-that-nobody-may-see"
SPACE = {"x": ht.Real(0, 1)}
SETUP = StudyConfig(ht.SearchSpace(SPACE), seed=0).to_json()
SUMMARY: dict[str, Any] = {
    "name": "boiler",
    "uid": "a" * 32,
    "setup": SETUP,
    "open": [{"id": "a-0", "t": 1.0, "params": {"x": 1}}],
}
ASK = {"id": "a-0", "t": 1.0, "params": {"x": 0.5}}


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """No test waits; what would have been waited is listed."""
    waited: list[float] = []
    monkeypatch.setattr(transports, "sleep", waited.append)
    return waited


@contextmanager
def refused(kind: type[HeliotropeError]) -> Iterator[pytest.ExceptionInfo[HeliotropeError]]:
    """Expect exactly this error."""
    with pytest.raises(HeliotropeError) as caught:
        yield caught
    assert type(caught.value) is kind, caught.value


class Script:
    """A service that gives prepared answers, one to each request, and keeps the requests."""

    def __init__(self, *outcomes: Outcome) -> None:
        self._outcomes = iter(outcomes)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        outcome = next(self._outcomes)
        if isinstance(outcome, httpx.Response):
            return outcome
        raise outcome("broken", request=request)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content or "{}") for request in self.requests]


def service(handler: Handler, retries: int = 5) -> Service:
    http = httpx.Client(
        base_url="http://there/api/",
        headers={"Authorization": f"Bearer {TOKEN}"},
        transport=httpx.MockTransport(handler),
    )
    return Service(Transport(http, timeout=30.0, retries=retries))


def study(handler: Handler, retries: int = 5) -> RemoteStudy:
    return RemoteStudy(service(handler, retries)._transport, SUMMARY)


def ok(data: object, status: int = 200) -> httpx.Response:
    return httpx.Response(status, json=data)


def error(status: int, code: str, expected: str = "this", got: str = "that") -> httpx.Response:
    return httpx.Response(status, content=answer(code, expected, got, "", ""))


def answer(code: str, expected: str, got: str, advice: str, field: str) -> bytes:
    """An error as the service answers it."""
    parts = {"expected": expected, "got": got, "advice": advice, "field": field}
    message = str(HeliotropeError(**parts))
    return json.dumps({"error": {"code": code, "message": message, **parts}}).encode()


EXISTS = error(409, "study_exists")
UNKNOWN = error(404, "unknown_study")
LOST: list[Outcome] = [  # the service may have acted
    httpx.ReadError,
    httpx.ReadTimeout,
    httpx.WriteError,
    httpx.RemoteProtocolError,
    httpx.Response(502),
    error(503, "store"),
    httpx.Response(504, text="<html>"),
]
UNSENT: list[Outcome] = [httpx.ConnectError, httpx.ConnectTimeout, *map(httpx.Response, (408, 429))]


# ---- the surface


def test_it_has_the_methods_of_a_study() -> None:
    of_the_service = {"create", "create_from", "open", "close"}
    of_a_server = {"do_all", "begin_all", "consider", "state", "load"}
    of_a_server |= {"first_config", "in_memory", "unload"}
    for name, member in inspect.getmembers(ht.Study):
        if name.startswith("_") or name in of_the_service | of_a_server:
            continue
        mine = getattr(RemoteStudy, name)
        if callable(member):
            assert inspect.signature(mine) == inspect.signature(member), name
        assert mine.__doc__ == member.__doc__, name


def test_it_creates_as_a_study_is_created() -> None:
    mine = inspect.signature(Service.create).parameters
    theirs = inspect.signature(ht.Study.create).parameters
    assert [*mine][1:] == [name for name in theirs if name not in ("store", "now")]
    assert all(mine[name] == theirs[name] for name in [*mine][1:])


def test_connect_sends_nothing_and_keeps_the_token_to_itself() -> None:
    with ht.connect("https://nowhere.invalid/some/where/", TOKEN, timeout=1.0) as there:
        assert TOKEN not in repr(there) + repr(vars(there))
        assert there._transport._http.headers["Authorization"] == f"Bearer {TOKEN}"
        assert there._transport._http.base_url == "https://nowhere.invalid/some/where/api/"
    with refused(ServiceError) as caught:
        there.studies()
    assert "a closed one" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nowhere",
        "ftp://nowhere",
        "sqlite:///heliotrope.db",
        "http://",
        "http:///path",
        "http://[::1",
        "http://nowhere:port",
        "http://nowhere:99999",
        "http://no..where",
        f"http://{'x' * 64}.com",
        "http://no\x00where",
        "http://" + "x" * 70_000,
        f"http://me:{TOKEN}@nowhere",
        f"http://me:{TOKEN}/@nowhere",
        f"http://nowhere?token={TOKEN}",
        f"http://nowhere#{TOKEN}",
        None,
        8765,
    ],
)
def test_urls_are_checked(url: Any) -> None:
    with refused(InputError) as caught:
        ht.connect(url)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("token", ["", " ", "new\nline", "schlüssel", "\x00", b"bytes", 5])
def test_tokens_are_checked(token: Any) -> None:
    with refused(InputError) as caught:
        ht.connect("http://nowhere", token)
    assert str(caught.value).startswith("token: expected")


@pytest.mark.parametrize(
    "options", [{"timeout": 0}, {"timeout": None}, {"retries": -1}, {"retries": 1.5}]
)
def test_patience_is_checked(options: dict[str, Any]) -> None:
    with refused(InputError):
        ht.connect("http://nowhere", **options)


# ---- trying again


@pytest.mark.parametrize("outcome", [*LOST, *UNSENT], ids=str)
def test_what_passes_is_tried_again_with_the_same_key(
    outcome: Outcome, pauses: list[float]
) -> None:
    script = Script(outcome, outcome, ok(ASK), ok(ASK))
    there = study(script)
    assert there.ask() == Evaluation("a-0", 1.0, {"x": 0.5})
    there.ask()
    first, second, third, fourth = script.bodies
    assert first == second == third
    assert fourth["key"] != first["key"]
    assert len(first["key"]) == 32
    assert [0.1, 0.2] <= pauses <= [0.2, 0.4]


@pytest.mark.parametrize("outcome", [*LOST, *UNSENT], ids=str)
def test_a_result_is_sent_again_with_the_same_key(outcome: Outcome) -> None:
    script = Script(outcome, ok(ASK), ok(ASK), ok(ASK))
    there = study(script)
    assert there.add({"x": np.float64(0.5)}, 2.0) == Evaluation("a-0", 1.0, {"x": 0.5})
    there.add({"x": 0.5}, 2.0)
    there.add({"x": 0.5}, 2.0, 3.0, key="mine")
    first, again, other, mine = script.bodies
    assert first == again
    assert first["key"] != other["key"]
    usual = {"params": {"x": 0.5}, "value": 2.0, "uid": SUMMARY["uid"]}
    assert first == {**usual, "key": first["key"]}
    assert mine == {**usual, "t": 3.0, "key": "mine"}


def test_an_ask_can_replace_its_id() -> None:
    script = Script(ok(ASK), ok({"told": "a-0", "ask": ASK}), ok({"told": "a-0"}), ok({}))
    there = study(script)
    ask = there.ask()
    there.tell_and_ask(ask, 1.0)
    there.tell(ask, 1.0)
    there.cancel(ask)
    assert [body["id"] for body in script.bodies[1:]] == ["a-0"] * 3


def test_pauses_double_up_to_a_limit(pauses: list[float]) -> None:
    study(Script(*[httpx.ConnectError] * 9, ok(SUMMARY)), retries=9).summary()
    longest = [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0, 10.0]
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True))
    study(Script(*[httpx.ConnectError] * 2_000, ok(SUMMARY)), retries=2_000).summary()
    assert max(pauses) <= 10.0


@pytest.mark.parametrize(
    ("said", "least", "most"),
    [("7", 7.0, 7.0), ("60", 60.0, 60.0), ("0", 0.1, 0.2), ("soon", 0.1, 0.2), ("-1", 0.1, 0.2)],
)
def test_retry_after_is_heeded(said: str, least: float, most: float, pauses: list[float]) -> None:
    busy = httpx.Response(429, headers={"Retry-After": said})
    study(Script(busy, ok(SUMMARY))).summary()
    assert least <= pauses[0] <= most


@pytest.mark.parametrize("said", ["61", "9" * 400])
def test_no_caller_waits_forever(said: str, pauses: list[float]) -> None:
    busy = error(503, "store")
    busy.headers["Retry-After"] = said
    with refused(errors.StoreError):
        study(Script(busy)).summary()
    assert pauses == []


@pytest.mark.parametrize("status", [302, 400, 403, 404, 413, 500])
def test_what_will_not_pass_is_not_tried_again(status: int, pauses: list[float]) -> None:
    answer = httpx.Response(status, headers={"Location": "http://elsewhere/"}, text=TOKEN)
    with refused(ServiceError) as caught:
        study(Script(answer)).summary()
    assert f"status {status}" in str(caught.value)
    assert TOKEN not in str(caught.value)
    assert pauses == []


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (httpx.ConnectError, "an answer from http://there/api/; got ConnectError (broken)"),
        (httpx.ReadTimeout, "none within 30 s"),
        (httpx.Response(502), "status 502"),
    ],
)
@pytest.mark.parametrize("retries", [0, 3])
def test_in_the_end_it_gives_up(outcome: Outcome, said: str, retries: int) -> None:
    script = Script(*[outcome] * (retries + 1))
    with refused(ServiceError) as caught:
        study(script, retries).tell("a-0", 1.0)
    assert len(script.requests) == retries + 1
    assert said in str(caught.value)
    assert TOKEN not in str(caught.value)


# ---- what cannot simply be sent twice


@pytest.mark.parametrize("lost", LOST, ids=str)
def test_a_creation_that_was_done_is_recognized(lost: Outcome) -> None:
    script = Script(lost, EXISTS, ok(SUMMARY))
    there = service(script).create("boiler", SPACE)
    assert there.name == "boiler"
    assert there.config.to_json() == SETUP
    assert script.bodies[0] == script.bodies[1] == {"name": "boiler", **SETUP}


@pytest.mark.parametrize("lost", LOST, ids=str)
def test_a_study_of_somebody_else_is_not(lost: Outcome) -> None:
    theirs = {**SUMMARY, "setup": {**SETUP, "seed": 1}}
    with refused(StudyExistsError):
        service(Script(lost, EXISTS, ok(theirs))).create("boiler", SPACE)


@pytest.mark.parametrize("unsent", [(), *((one,) for one in UNSENT)], ids=str)
def test_nor_one_that_was_there_before(unsent: tuple[Outcome, ...]) -> None:
    with refused(StudyExistsError):
        service(Script(*unsent, EXISTS)).create("boiler", SPACE)


@pytest.mark.parametrize("lost", LOST, ids=str)
def test_a_deletion_that_was_done_is_done(lost: Outcome) -> None:
    script = Script(lost, UNKNOWN)
    study(script).delete()
    assert [request.method for request in script.requests] == ["DELETE", "DELETE"]


@pytest.mark.parametrize("unsent", [(), *((one,) for one in UNSENT)], ids=str)
def test_a_study_that_was_gone_before_is_missed(unsent: tuple[Outcome, ...]) -> None:
    with refused(UnknownStudyError):
        study(Script(*unsent, UNKNOWN)).delete()


# ---- answers


sentences = st.text(st.characters(codec="utf-8"), max_size=30)


@given(st.sampled_from(["input", "store"]), sentences, sentences, sentences, sentences)
@example("input", "a; got b", "c. d", "e. f", "space.x.low")
@example("input", "1 to 2. No", "0.5. Yes", "", "")
def test_messages_come_through(code: str, expected: str, got: str, advice: str, field: str) -> None:
    rebuilt = error_from(422, answer(code, expected, got, advice, field))
    assert rebuilt.args == (expected, got, advice, field)


def test_parts_of_messages_come_through() -> None:
    rebuilt = error_from(422, answer("time", "low < 0.5", "1.5", "Go.", "x.low"))
    assert type(rebuilt) is errors.TimeError
    assert str(rebuilt) == "x.low: expected low < 0.5; got 1.5. Go."
    assert rebuilt.args == ("low < 0.5", "1.5", "Go.", "x.low")


def test_unknown_errors_are_passed_on() -> None:
    with refused(ServiceError) as caught:
        study(Script(error(403, "host", "its own name", "another"))).summary()
    assert str(caught.value) == "expected its own name; got another."


CALLS: dict[str, Callable[[RemoteStudy], object]] = {
    "ask": lambda there: there.ask(),
    "tell and ask": lambda there: there.tell_and_ask("a-0", 1.0),
    "tell": lambda there: there.tell("a-0", 1.0),
    "add": lambda there: there.add({"x": 0.5}, 1.0),
    "cancel": lambda there: there.cancel("a-0"),
    "open asks": lambda there: there.open_asks(),
    "events": lambda there: there.events(),
    "belief": lambda there: there.belief(),
    "summary": lambda there: there.summary(),
    "track": lambda there: there.track(),
}
NONSENSE: list[object] = [None, 1, "text", [], [[]], True]
HOLLOW: list[object] = [{}, {"ask": 1}, {"open": [1]}, {"events": [{}]}, {"events": 3}, {"id": 1}]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("answer", NONSENSE, ids=repr)
def test_nonsense_is_refused(call: Callable[[RemoteStudy], object], answer: object) -> None:
    with refused(ServiceError):
        call(study(Script(ok(answer))))


@pytest.mark.parametrize("call", ["ask", "tell and ask", "add", "open asks", "events"])
@pytest.mark.parametrize("answer", HOLLOW, ids=repr)
def test_what_is_missing_is_noticed(call: str, answer: object) -> None:
    with refused(ServiceError):
        CALLS[call](study(Script(ok(answer))))


@pytest.mark.parametrize("answer", [*NONSENSE, *HOLLOW, {"name": "x"}, {"studies": [{}]}], ids=repr)
def test_nonsense_of_a_service_is_refused(answer: object) -> None:
    with refused(ServiceError):
        service(Script(ok(answer))).studies()
    with refused(ServiceError):
        service(Script(ok(answer))).open("boiler")


@pytest.mark.parametrize("content", [b"", b"<html>", b"\xff", b"[" * 100_000])
def test_only_json_is_understood(content: bytes) -> None:
    with refused(ServiceError):
        study(Script(httpx.Response(200, content=content))).summary()


def test_a_token_is_asked_for(pauses: list[float]) -> None:
    with refused(ServiceError) as caught:
        study(Script(error(401, "no_token"))).summary()
    assert "expected a token that the service accepts" in str(caught.value)
    assert TOKEN not in str(caught.value)
    assert pauses == []


def test_a_setup_of_another_version_is_refused() -> None:
    there = RemoteStudy(service(Script())._transport, {**SUMMARY, "setup": {"space": 1}})
    with refused(ServiceError):
        _ = there.config


def test_events_come_in_pages() -> None:
    log = [{"seq": n, "at": 5.0, "v": 1, "kind": "told", "value": n} for n in range(1, 8)]

    def pages(request: httpx.Request) -> httpx.Response:
        after, limit = (int(request.url.params[name]) for name in ("after", "limit"))
        return ok({"events": log[after : after + min(limit, 3)], "last": 7})

    there = study(pages)
    assert [event.seq for event in there.events()] == [1, 2, 3, 4, 5, 6, 7]
    assert [event.seq for event in there.events(2, 4)] == [3, 4, 5, 6]
    assert there.events(limit=0) == []
    (last,) = there.events(6)
    assert (last.at, last.body) == (5.0, {"v": 1, "kind": "told", "value": 7})


def test_a_service_that_repeats_events_is_refused() -> None:
    page = {"events": [{"seq": 1, "at": 0.0}], "last": 2}
    with refused(ServiceError):
        study(Script(ok(page), ok(page))).events()


def test_studies_come_in_pages() -> None:
    info = {"uid": "u", "created": 1.0, "updated": 2.0, "events": 3}
    first = {"studies": [{"name": "a", **info}, {"name": "b", **info}], "next": "b"}
    script = Script(ok(first), ok({"studies": [{"name": "c", **info}], "next": None}))
    assert [study.name for study in service(script).studies()] == ["a", "b", "c"]
    assert script.requests[1].url.params["after"] == "b"


class Trickle(httpx.SyncByteStream):
    """An answer in pieces."""

    def __init__(self, pieces: int) -> None:
        self.left = pieces

    def __iter__(self) -> Iterator[bytes]:
        while self.left:
            self.left -= 1
            yield b" " * 1_000


def test_answers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transports, "_LARGEST", 10_000)
    endless = Trickle(1_000_000)
    with refused(ServiceError) as caught:
        study(Script(httpx.Response(200, stream=endless))).export()
    assert "at most 10,000 bytes" in str(caught.value)
    assert endless.left > 999_000
    packed = gzip.compress(bytes(1_000_000))
    with refused(ServiceError):
        study(
            Script(httpx.Response(200, headers={"Content-Encoding": "gzip"}, content=packed))
        ).export()


def test_what_cannot_be_unpacked_is_refused() -> None:
    answer = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=Trickle(1))
    with refused(ServiceError):
        study(Script(answer)).summary()


def test_a_try_ends_even_if_bytes_keep_coming(monkeypatch: pytest.MonkeyPatch) -> None:
    hours = iter(range(0, 3_600_000, 10))
    monkeypatch.setattr(transports, "monotonic", lambda: next(hours))
    slow = Trickle(1_000)
    with refused(ServiceError) as caught:
        study(Script(httpx.Response(200, stream=slow)), retries=0).summary()
    assert "none within 30 s" in str(caught.value)
    assert slow.left == 1_000 - 4


# ---- what is not sent at all


@pytest.mark.parametrize("name", ["", "..", "a/b", "a?b", "a#b", "%2e", "x" * 101, None, 5])
def test_names_stay_names(name: Any) -> None:
    there = service(Script())
    for call in (there.open, lambda given: there.create(given, SPACE)):
        with refused(InputError):
            call(name)


@pytest.mark.parametrize(
    "call",
    [
        lambda there: there.tell("a-0", float("nan")),
        lambda there: there.tell("a-0", "high"),
        lambda there: there.tell("a-0", 1.0, std=-1.0),
        lambda there: there.tell("a-0", 1.0, n=0),
        lambda there: there.tell("a-0", successes=3, trials=2),
        lambda there: there.tell("a-0"),
        lambda there: there.tell(object(), 1.0),
        lambda there: there.tell_and_ask("a-0", 1.0, float("inf")),
        lambda there: there.ask("now"),
        lambda there: there.ask(key=b"bytes"),
        lambda there: there.add({"x": 1.5}, 1.0),
        lambda there: there.add({"x": 0.5}, float("nan")),
        lambda there: there.add({"x": 0.5}, count=1),
        lambda there: there.add("x", 1.0),
        lambda there: there.add({"x": 0.5}, 1.0, context={"outside": 20}),
        lambda there: there.belief("now"),
        lambda there: there.events(-1),
        lambda there: there.events(limit=-1),
    ],
)
def test_bad_input_is_not_sent(call: Callable[[RemoteStudy], object]) -> None:
    with refused(InputError):
        call(study(Script()))


def test_a_setup_is_checked_before_it_is_sent() -> None:
    there = service(Script())
    with refused(InputError):
        there.create("boiler", SPACE, policy={"kind": "best"})
    with refused(InputError):
        there.create("boiler", SPACE, clock="now and then")
    with refused(InputError):
        there.create("boiler", 5)  # type: ignore[arg-type]


# ---- a real service


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("service")
    with Served(f"sqlite:///{folder / 'studies.db'}", estimate_in_requests=True) as running:
        yield running


@pytest.fixture
def there(served: Served) -> Iterator[Service]:
    with ht.connect(served.url) as connected:
        yield connected


SPACES: dict[str, Any] = {
    "options": ["hall", "roof", "cellar"],
    "numbers": {"x": ht.Real(1, 100, log=True), "n": ht.Integer(1, 5)},
    "mixed": {"x": ht.Real(0, 1), "mode": ht.Categorical(["a", "b"]), "on": ht.Boolean()},
}


PLACES: dict[str, Any] = {
    "options": "roof",
    "numbers": {"x": np.float64(12.5), "n": np.int64(3)},
    "mixed": {"x": 0.25, "mode": "b", "on": np.True_},
}


def use(there: ht.Study | RemoteStudy) -> Iterator[object]:
    """Use a study in every way, and yield all its answers."""
    first, second = there.ask(key="1"), there.ask(2.5, key="2")
    yield first.to_json()
    yield there.ask(key="1") == first
    there.tell(first.id, 1.5)
    there.tell(first.id, 1.5)
    third = there.tell_and_ask(second.id, -0.5, key="3")
    fourth = there.tell_and_ask(third.id, 0.25, 7.25, key="4")
    there.cancel(there.ask(key="5"))
    place = PLACES[there.name]
    added = there.add(place, 2.0, 9.5, key="6")
    yield added.to_json()
    yield there.add(place, 2.0, key="6") == added
    noisy = there.ask(key="7")
    there.tell(noisy, np.float64(1.25), std=np.float64(0.5))
    there.tell(noisy, 1.25, std=0.5)
    there.tell(there.ask(key="8"), successes=3, trials=10)
    yield there.add(place, count=4, exposure=2.0, key="9").to_json()
    yield there.tell_and_ask(there.ask(key="10"), 1.0, n=3, key="11").to_json()
    yield [ask.to_json() for ask in there.open_asks()]
    yield from (there.belief(), there.belief(3.0), there.track())
    summary = there.summary()
    yield {key: value for key, value in summary.items() if key not in ("name", "created")}
    yield [(event.seq, event.body) for event in there.events()]
    yield [event.seq for event in there.events(2, 3)]
    for row in json.loads(there.export("json"))["results"]:
        yield row["id"], row["state"], row["value"]
    yield there.export().splitlines()[0]
    yield there.config.to_json()
    yield from mistakes(there, first, fourth)


def mistakes(
    there: ht.Study | RemoteStudy, told: Evaluation, waiting: Evaluation
) -> Iterator[object]:
    calls: list[Callable[[], object]] = [
        lambda: there.tell(told.id, 2.0),
        lambda: there.cancel(told.id),
        lambda: there.tell("nonsense", 2.0),
        lambda: there.tell(waiting.id + "0", 2.0),
        lambda: there.tell(waiting.id, float("nan")),
        lambda: there.tell(waiting.id, 1e200),
        lambda: there.tell(waiting.id, 1.0, std=0.0),
        lambda: there.tell(waiting.id, 1.0, successes=1, trials=2),
        lambda: there.tell(waiting.id),
        lambda: there.add(PLACES[there.name], 2.0, n=2, key="6"),
        lambda: there.ask(-1.0),
        lambda: there.tell_and_ask(waiting.id, 1.0, -1.0),
        lambda: there.ask(key="1"),
        lambda: there.add(PLACES[there.name], 2.5, key="6"),
        lambda: there.add(PLACES[there.name], 2.0, key="1"),
        lambda: there.add(PLACES[there.name], 2.0, 3.0),
        lambda: there.add({"x": 0.5}, 2.0),
        lambda: there.add("garden", 2.0),
    ]
    for call in calls:
        with pytest.raises(HeliotropeError) as caught:
            call()
        yield type(caught.value).__name__, str(caught.value), vars(caught.value)


@pytest.mark.parametrize("space", SPACES)
def test_a_remote_study_behaves_like_a_local_one(
    there: Service, space: str, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"direction": "minimize", "seed": 5}
    here = ht.Study.create(space, SPACES[space], **options, store="memory:")
    remote = there.create(space, SPACES[space], **options)
    for mine, theirs in zip(use(remote), use(here), strict=True):
        assert without_uid(mine, remote) == without_uid(theirs, here)
    with refused(InputError):
        remote.export("xml")
    remote.save(tmp_path / "file")
    assert ht.Optimizer.load(tmp_path / "file").asked == remote.summary().asked
    remote.delete()


def use_in_contexts(there: ht.Study | RemoteStudy) -> Iterator[object]:
    """Use a study with contexts, and yield all its answers."""
    first = there.ask(context={"outside": np.int64(20), "wet": np.True_}, key="1")
    yield first.to_json()
    yield there.ask(context={"outside": 25.5, "wet": False}, key="1") == first
    second = there.tell_and_ask(first.id, 1.5, context={"outside": 3.125, "wet": False}, key="2")
    yield second.to_json()
    place = PLACES[there.name.partition(" ")[0]]
    yield there.add(place, 1.0, context={"outside": 20.5, "wet": np.True_}, key="3").to_json()
    yield [ask.to_json() for ask in there.open_asks()]
    elsewhere = {"outside": 35, "wet": True}
    yield from (there.belief(), there.belief(context=elsewhere), there.belief(1.0), there.track())
    for summary in (there.summary(), there.summary(context=elsewhere)):
        yield {key: value for key, value in summary.items() if key not in ("name", "created")}
    yield there.export().splitlines()[0]
    wrong: list[dict[str, Any] | None] = [
        None,
        {"outside": 20},
        {"outside": float("nan"), "wet": True},
    ]
    calls: list[Callable[[], object]] = [
        *(lambda context=context: there.ask(context=context) for context in wrong),
        *(
            lambda context=context: there.tell_and_ask(second.id, 1.0, context=context)
            for context in wrong
        ),
        *(lambda context=context: there.add(place, 1.0, context=context) for context in wrong),
        *(lambda context=context: there.belief(context=context) for context in wrong[1:]),
        *(lambda context=context: there.summary(context=context) for context in wrong[1:]),
    ]
    for call in calls:
        with pytest.raises(InputError) as caught:
            call()
        yield str(caught.value), vars(caught.value)
    yield [(event.seq, event.body) for event in there.events()]


@pytest.mark.parametrize("space", SPACES)
def test_remote_contexts_behave_like_local_ones(there: Service, space: str) -> None:
    context = ht.SearchSpace({"outside": ht.Real(-10, 40), "wet": ht.Boolean()})
    name = f"{space} in contexts"
    here = ht.Study.create(name, SPACES[space], context=context, store="memory:")
    remote = there.create(name, SPACES[space], context=context)
    for mine, theirs in zip(use_in_contexts(remote), use_in_contexts(here), strict=True):
        assert without_uid(mine, remote) == without_uid(theirs, here)
    remote.delete()


def test_a_context_is_refused_where_there_is_none(there: Service) -> None:
    remote = there.create("without contexts", ["a", "b"])
    calls: list[Callable[..., object]] = [remote.ask, remote.belief, remote.summary]
    for call in calls:
        with refused(InputError) as caught:
            call(context={"outside": 20})
        assert caught.value.field == "context"
    remote.delete()


def without_uid(said: object, study: ht.Study | RemoteStudy) -> object:
    """The same as JSON, without the uid of the study."""
    id = study.open_asks()[0].id.partition("-")[0]
    text = json.dumps(said).replace(study.uid, "uid").replace(id, "id")
    return json.loads(re.sub(r"id-[0-9a-f]{8}-", "id-mark-", text))


def test_studies_are_made_found_and_removed(there: Service) -> None:
    names = [f"study {i}" for i in range(3)]
    for name in names:
        assert there.create(name, ["a", "b"]).name == name
    assert [info.name for info in there.studies() if info.name in names] == names
    with refused(StudyExistsError):
        there.create(names[0], ["a", "b"])
    first = there.open(names[0])
    for name in names:
        there.open(name).delete()
    assert not any(info.name in names for info in there.studies())
    for call in (first.ask, first.delete, lambda: there.open(names[0])):
        with refused(UnknownStudyError):
            call()


def test_the_successor_of_a_deleted_study_is_not_changed(there: Service) -> None:
    old = there.create("renewed", ["a", "b"])
    ask = old.ask()
    old.delete()
    new = there.create("renewed", ["a", "b"])
    for change in (old.ask, old.delete):
        with refused(UnknownStudyError):
            change()
    with refused(UnknownSuggestionError):
        old.tell_and_ask(ask.id, 1.0)
    assert new.summary()["asked"] == 0
    new.delete()


class Flaky(httpx.BaseTransport):
    """Loses requests on their way, and answers on their way back."""

    def __init__(self, seed: int) -> None:
        self._inner, self._random = httpx.HTTPTransport(), Random(seed)
        self.lost = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        luck = self._random.random()
        if luck < 0.1:
            raise httpx.ConnectError("lost before", request=request)
        response = self._inner.handle_request(request)
        if luck > 0.5:
            return response
        response.read()
        response.close()
        self.lost += 1
        if luck < 0.2:
            return httpx.Response(504)
        raise httpx.ReadError("lost behind", request=request)

    def close(self) -> None:
        self._inner.close()


@contextmanager
def shaky(served: Served, seed: int) -> Iterator[Service]:
    """A service behind an unreliable connection."""
    transport = Flaky(seed)
    http = httpx.Client(base_url=f"{served.url}/api/", transport=transport)
    with Service(Transport(http, timeout=30.0, retries=100)) as there:
        yield there
    assert transport.lost > 3


def work(there: RemoteStudy, steps: int, told: dict[str, float], given_up: set[str]) -> None:
    """Evaluation and tell, give up and add now and then; note what was done."""
    ask = there.ask()
    for step in range(steps):
        if step % 5 == 2:
            told[there.add("a", step + 0.25).id] = step + 0.25
        if step % 5 == 4:
            there.cancel(ask.id)
            given_up.add(ask.id)
            ask = there.ask()
        told[ask.id] = step + 0.5
        ask = there.tell_and_ask(ask.id, told[ask.id])
    told[ask.id] = -1.0
    there.tell(ask.id, told[ask.id])


def assert_log(store: str, name: str, told: dict[str, float], given_up: set[str]) -> None:
    """The log has exactly what was done, once."""
    events = ht.Study.open(name, store).events()
    kinds: dict[str, list[Any]] = {"created": [], "asked": [], "told": [], "cancelled": []}
    for event in events:
        if event.body["kind"] in kinds:
            kinds[event.body["kind"]].append(event.body)
    asked = [body["id"] for body in kinds["asked"]]
    assert sorted(asked) == sorted(told.keys() | given_up)
    logged = {body["id"]: body["value"]["value"] for body in kinds["told"]}
    assert len(logged) == len(kinds["told"])
    assert logged == told
    assert sorted(body["id"] for body in kinds["cancelled"]) == sorted(given_up)
    assert len(kinds["created"]) == 1


def test_nothing_is_lost_or_duplicated_on_an_unreliable_connection(
    served: Served, there: Service
) -> None:
    told: dict[str, float] = {}
    given_up: set[str] = set()
    there.create("shaky", ["a", "b", "c"])

    def worker(seed: int) -> None:
        with shaky(served, seed) as line:
            work(line.open("shaky"), 10, told, given_up)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(worker, range(4)))
    assert (len(told), len(given_up)) == (4 * 13, 4 * 2)
    assert_log(served.store, "shaky", told, given_up)


def test_creations_and_deletions_on_a_shaky_line(served: Served, there: Service) -> None:
    names = [f"shaky {i}" for i in range(10)]
    with shaky(served, 7) as line:
        made = [line.create(name, ["a", "b"]) for name in names]
        assert [info.name for info in there.studies() if info.name in names] == names
        for study in made:
            study.delete()
    assert not any(info.name in names for info in there.studies())


def test_a_service_may_be_killed_and_restarted(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transports, "sleep", lambda _: time.sleep(0.05))
    told: dict[str, float] = {}
    given_up: set[str] = set()
    with ht.connect(served.url, retries=2_000) as there, ThreadPoolExecutor(1) as pool:
        study = there.create("mortal", ["a", "b", "c"])
        job = pool.submit(work, study, 40, told, given_up)
        while len(told) < 10 and not job.done():
            time.sleep(0.001)
        served.kill()
        assert not job.done()
        served.start()
        job.result()
    assert (len(told), len(given_up)) == (49, 8)
    assert_log(served.store, "mortal", told, given_up)


def test_a_study_starts_from_what_similar_ones_learned(there: Service) -> None:
    levels = {"hall": 1.0, "roof": 5.0, "yard": 2.0, "cellar": 0.0}
    similar = there.create("similar", list(levels), seed=1)
    for _ in range(16):
        ask = similar.ask()
        similar.tell(ask, levels[str(ask.option)])
    heir = there.create("heir", list(levels), seed=2, like=["similar"])
    assert heir.ask().option == "roof"
    with refused(UnknownStudyError):
        there.create("orphan", list(levels), like=["nobody"])
    assert "orphan" not in {one.name for one in there.studies()}
