"""The service: its routes, its streams, and restarts."""

from __future__ import annotations

import csv
import io
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from itertools import count, islice
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import httpx
import numpy as np
import pytest

from cluster import wait_for
from heliotrope import Optimizer
from heliotrope.client import read_tokens
from heliotrope.errors import DamagedError, FormatError, HeliotropeError, StoreError
from heliotrope.service import Limits, Settings, create_app
from heliotrope.service.app import app_from
from heliotrope.service.errors import response_to
from heliotrope.service.running import checked_hosts, is_loopback
from heliotrope.service.studies import STEPS, Demos, Studies, peaks
from heliotrope.storage import GroupCommit, MemoryStore, open_store
from heliotrope.study import Study
from heliotrope.study.commands import BY_VERB
from heliotrope.surroundings import Surroundings
from serving import (
    OPTIONS,
    SPACE,
    Command,
    command,
    error_of,
    log_of,
    messages,
    post,
    refused,
    serving,
)

EVENTS = "text/event-stream"
REAL = {"type": "real", "low": 0, "high": 1}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with serving(create_app("memory:")) as found:
        yield found


@pytest.fixture
def study(client: httpx.Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """The path of a new study of options."""
    name = f"s-{abs(hash(request.node.nodeid))}"
    post(client, "", name=name, **OPTIONS)
    yield f"/{name}"
    client.delete(f"/api/studies/{name}")


# ---- routes


def test_a_study_is_created_once(client: httpx.Client) -> None:
    body = {"name": "once", **SPACE, "direction": "minimize", "seed": 3}
    created = client.post("/api/studies", json=body)
    assert created.status_code == 201
    assert created.json()["setup"]["direction"] == "minimize"
    assert created.json() == client.get("/api/studies/once").json()
    again = client.post("/api/studies", json=body)
    assert error_of(again) == (409, "study_exists", "name")


def test_asks_and_tells_are_in_the_log(client: httpx.Client, study: str) -> None:
    first = post(client, f"{study}/ask")
    both = post(client, f"{study}/tell", id=first["id"], value=1.5, ask={"t": 7.5})
    assert both["told"] == first["id"]
    assert both["ask"]["t"] == 7.5
    assert post(client, f"{study}/cancel", id=both["ask"]["id"]) == {"cancelled": both["ask"]["id"]}
    log = client.get(f"/api/studies{study}/events").json()
    kinds = [event["kind"] for event in log["events"]]
    assert [kind for kind in kinds if kind != "learned"] == [
        "created",
        "asked",
        "told",
        "asked",
        "cancelled",
    ]
    assert [event["seq"] for event in log["events"]] == list(range(1, log["last"] + 1))


def test_results_may_have_their_own_noise(client: httpx.Client, study: str) -> None:
    forms: list[dict[str, Any]] = [
        {"value": 1.5, "std": 0.5},
        {"value": 1.5, "n": 4, "std": None},
        {"successes": 3, "trials": 10},
        {"count": 0, "exposure": 2.5, "value": None},
    ]
    for form in forms:
        post(client, f"{study}/tell", id=post(client, f"{study}/ask")["id"], **form)
        post(client, f"{study}/add", option=OPTIONS["options"][0], **form)
    log = client.get(f"/api/studies{study}/events").json()["events"]
    told = [event for event in log if event["kind"] == "told"]
    for form, event, other in zip(forms, told[::2], told[1::2], strict=True):
        said = {name: value for name, value in form.items() if value is not None}
        for name in said.keys() & {"value", "std"}:
            said[name] = {"value": said[name]}
        assert {**event, **said} == event
        assert {**other, **said} == other


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({}, "value"),
        ({"value": 1.0, "std": 0}, "std"),
        ({"value": 1.0, "std": "1"}, "std"),
        ({"value": 1.0, "n": 1.5}, "n"),
        ({"value": 1.0, "n": True}, "n"),
        ({"value": 1.0, "count": 1, "exposure": 1}, "value"),
        ({"successes": 3, "trials": 2}, "successes"),
        ({"count": 10**60, "exposure": 1}, "value"),
    ],
)
def test_a_wrong_noise_is_refused(
    client: httpx.Client, study: str, form: dict[str, Any], field: str
) -> None:
    ask = post(client, f"{study}/ask")
    before = client.get(f"/api/studies{study}/events").json()
    told = client.post(f"/api/studies{study}/tell", json={"id": ask["id"], **form})
    assert error_of(told) == (422, "input", field)
    assert client.get(f"/api/studies{study}/events").json() == before


def test_an_ask_names_an_option_or_has_parameters(client: httpx.Client, study: str) -> None:
    ask = post(client, f"{study}/ask")
    assert set(ask) == {"id", "t", "option"}
    assert ask["option"] in OPTIONS["options"]
    post(client, "", name="with space", **SPACE)
    ask = post(client, "/with%20space/ask")
    assert set(ask) == {"id", "t", "params"}
    assert 0.0 <= ask["params"]["x"] <= 1.0


def test_a_key_makes_an_ask_repeatable(client: httpx.Client, study: str) -> None:
    first = post(client, f"{study}/ask", key="mine")
    assert post(client, f"{study}/ask", key="mine") == first
    post(client, f"{study}/tell", id=first["id"], value=1.0)
    again = client.post(f"/api/studies{study}/ask", json={"key": "mine"})
    assert error_of(again) == (409, "closed_suggestion", "key")


def test_a_tell_is_repeatable_and_final(client: httpx.Client, study: str) -> None:
    ask = post(client, f"{study}/ask")
    for _ in range(2):
        assert post(client, f"{study}/tell", id=ask["id"], value=1.0) == {"told": ask["id"]}
    other = client.post(f"/api/studies{study}/tell", json={"id": ask["id"], "value": 2.0})
    assert error_of(other) == (409, "closed_suggestion", "value")
    assert client.get(f"/api/studies{study}").json()["told"] == 1


def test_the_belief_can_be_read(client: httpx.Client, study: str) -> None:
    for value in (1.0, 2.0, 3.0):
        ask = post(client, f"{study}/ask")
        post(client, f"{study}/tell", id=ask["id"], value=value)
    summary = client.get(f"/api/studies{study}").json()
    assert (summary["asked"], summary["told"], summary["open"]) == (3, 3, [])
    belief = client.get(f"/api/studies{study}/belief").json()
    assert [entry["option"] for entry in belief["options"]] == OPTIONS["options"]
    assert client.get(f"/api/studies{study}/belief", params={"t": 1.0}).json()["t"] == 1.0
    track = client.get(f"/api/studies{study}/track").json()
    assert [result["value"] for result in track["results"]] == [1.0, 2.0, 3.0]


def test_results_are_exported(client: httpx.Client, study: str) -> None:
    ask = post(client, f"{study}/ask")
    post(client, f"{study}/tell", id=ask["id"], value=2.5)
    table = client.get(f"/api/studies{study}/export")
    (row,) = csv.DictReader(io.StringIO(table.text))
    assert (row["id"], row["option"], float(row["value"])) == (ask["id"], ask["option"], 2.5)
    assert table.headers["content-disposition"] == f'attachment; filename="{study[1:]}.csv"'
    tree = client.get(f"/api/studies{study}/export", params={"kind": "json"}).json()
    assert tree["results"][0]["value"] == 2.5


def test_studies_are_listed_by_name(client: httpx.Client) -> None:
    names = [f"listed {i}" for i in range(5)]
    for name in names:
        post(client, "", name=name, **OPTIONS)
    found, after = [], "listed"
    while after is not None:
        page = client.get("/api/studies", params={"after": after, "limit": 2}).json()
        found += [entry["name"] for entry in page["studies"]]
        after = page["next"]
    assert [name for name in found if name.startswith("listed")] == names
    assert found == sorted(found)


def test_a_deleted_study_frees_its_name(client: httpx.Client) -> None:
    post(client, "", name="gone", **OPTIONS)
    ask = post(client, "/gone/ask")
    assert client.delete("/api/studies/gone").status_code == 204
    assert error_of(client.get("/api/studies/gone"))[:2] == (404, "unknown_study")
    assert error_of(client.delete("/api/studies/gone"))[:2] == (404, "unknown_study")
    post(client, "", name="gone", **OPTIONS)
    old = client.post("/api/studies/gone/tell", json={"id": ask["id"], "value": 1.0})
    assert error_of(old) == (404, "unknown_suggestion", "id")


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("", {"name": "n"}, (422, "input", "")),
        ("", {**OPTIONS}, (422, "input", "name")),
        ("", {"name": "a/b", **OPTIONS}, (422, "input", "name")),
        ("", {"name": "n", "options": ["a", "a"]}, (422, "input", "options.1.name")),
        ("", {"name": "n", **OPTIONS, "policy": {"kind": "magic"}}, (422, "input", "policy.kind")),
        ("", {"name": "n", **OPTIONS, "direction": "up"}, (422, "input", "direction")),
        ("", {"name": "n", **OPTIONS, "clock": {"kind": "sun"}}, (422, "input", "clock")),
        ("", {"name": "n", **OPTIONS, "colour": "red"}, (422, "input", "colour")),
        ("", {"name": "n", **OPTIONS, "fleet": {}}, (422, "input", "fleet")),
        ("", {"name": "n", **OPTIONS, "fleet": None}, (422, "input", "fleet")),
        ("", {"name": "n", "space": {"x": {"type": "real"}}}, (422, "input", "space.x.low")),
        ("", {"name": "n", "space": {"x": {**REAL, "high": -1}}}, (422, "input", "space.x.high")),
        ("", {"name": "n", "space": {"x": {"type": "odd"}}}, (422, "input", "space.x.type")),
        ("", {"name": "n", "space": {"x": 7}}, (422, "input", "space.x")),
        ("", {"name": "n", "space": {}}, (422, "input", "space")),
        ("", {"name": "n", "space": []}, (422, "input", "space")),
        ("", {"name": "n", "options": []}, (422, "input", "options")),
        ("", {"name": "n", "options": ["a", {"name": 7}]}, (422, "input", "options.1.name")),
        ("", {"name": "n", **OPTIONS, "policy": {"beta": -1}}, (422, "input", "policy.beta")),
        ("", {"name": "n", **OPTIONS, "context": []}, (422, "input", "context")),
        (
            "",
            {"name": "n", **OPTIONS, "context": {"x": {"type": "real"}}},
            (422, "input", "context.x.low"),
        ),
        ("/none/ask", {}, (404, "unknown_study", "name")),
        ("/none/tell", {"id": "a-1", "value": 1}, (404, "unknown_study", "name")),
        ("/fixed/ask", {"t": "soon"}, (422, "input", "t")),
        ("/fixed/ask", {"t": True}, (422, "input", "t")),
        ("/fixed/ask", {"key": ""}, (422, "input", "key")),
        ("/fixed/ask", {"context": {"outside": 20}}, (422, "input", "context")),
        ("/fixed/ask", {"uid": "another"}, (404, "unknown_study", "uid")),
        ("/fixed/ask", [], (422, "input", "body")),
        ("/fixed/tell", {"value": 1.0}, (422, "input", "id")),
        ("/fixed/tell", {"id": "a-1", "value": "1"}, (422, "input", "value")),
        ("/fixed/tell", {"id": "a-1", "value": 1.0}, (404, "unknown_suggestion", "id")),
        ("/fixed/tell", {"id": "a", "value": 1, "ask": {"t": []}}, (422, "input", "ask.t")),
        ("", {"name": "n", **OPTIONS, "seed": 2**70}, (422, "input", "seed")),
        ("/fixed/add", {"option": "a"}, (422, "input", "value")),
        ("/fixed/add", {"value": 1.0}, (422, "input", "")),
        ("/fixed/add", {"option": "a", "params": {}, "value": 1.0}, (422, "input", "")),
        ("/fixed/add", {"option": "", "value": 1.0}, (422, "input", "option")),
        ("/fixed/add", {"option": 7, "value": 1.0}, (422, "input", "option")),
        ("/fixed/add", {"params": {"x": 1}, "value": 1.0}, (422, "input", "option")),
        ("/fixed/add", {"params": [], "value": 1.0}, (422, "input", "params")),
        ("/fixed/add", {"option": "a", "value": "1"}, (422, "input", "value")),
        ("/fixed/add", {"option": "a", "value": 1, "t": "soon"}, (422, "input", "t")),
        ("/fixed/add", {"option": "a", "value": 1, "context": {}}, (422, "input", "context")),
        ("/fixed/add", {"option": "a", "value": 1, "uid": "x"}, (404, "unknown_study", "uid")),
        ("/none/add", {"option": "a", "value": 1}, (404, "unknown_study", "name")),
        ("/fixed/cancel", {"id": "a-1"}, (404, "unknown_suggestion", "id")),
        ("/fixed/cancel", {"id": "a-1", "why": "no"}, (422, "input", "why")),
    ],
)
def test_errors_describe_the_mistake_and_change_nothing(
    client: httpx.Client, path: str, body: Any, expected: tuple[int, str, str]
) -> None:
    client.post("/api/studies", json={"name": "fixed", **OPTIONS})
    before = client.get("/api/studies", params={"limit": 1000}).json()
    assert error_of(client.post(f"/api/studies{path}", json=body)) == expected
    assert client.get("/api/studies", params={"limit": 1000}).json() == before


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/studies?limit=0", (422, "input", "limit")),
        ("/api/studies?limit=many", (422, "input", "limit")),
        ("/api/studies?after=..", (422, "input", "after")),
        ("/api/studies/fixed/belief?t=nan", (422, "input", "t")),
        ("/api/studies/fixed/belief?t=now", (422, "input", "t")),
        ("/api/studies/fixed/belief?context={}", (422, "input", "context")),
        ("/api/studies/fixed/belief?context={", (422, "json", "context")),
        ('/api/studies/fixed?context={"a":NaN}', (422, "json", "context")),
        ("/api/studies/fixed/events?after=-1", (422, "input", "after")),
        ("/api/studies/fixed/events?after=99999999999999999999", (422, "input", "after")),
        ("/api/studies/fixed/export?kind=pickle", (422, "input", "kind")),
        ("/api/studies/fixed?contxt={}", (422, "input", "contxt")),
        ("/api/studies/fixed/belief?t=1&t=2", (422, "input", "t")),
        ("/api/studies/fixed/track?t=1", (422, "input", "t")),
        ("/healthz?t", (422, "input", "t")),
        ("/api/nothing", (404, "not_found", "")),
        ("/api/demo", (405, "method_not_allowed", "")),
    ],
)
def test_odd_queries_are_refused(
    client: httpx.Client, path: str, expected: tuple[int, str, str]
) -> None:
    client.post("/api/studies", json={"name": "fixed", **OPTIONS})
    assert error_of(client.get(path)) == expected


@pytest.mark.parametrize("verb", ["ask", "tell", "cancel"])
def test_a_query_beside_a_body_is_refused(client: httpx.Client, study: str, verb: str) -> None:
    answer = client.post(f"/api/studies{study}/{verb}?key=mine", json={})
    assert error_of(answer) == (422, "input", "key")
    assert "key: expected no query; got 'key'." in answer.text


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/api/studies", "GET, POST"),
        ("/api/studies/fixed", "DELETE, GET"),
        ("/api/studies/fixed/ask", "POST"),
        ("/healthz", "GET"),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE"])
def test_other_methods_are_told_which_there_are(
    client: httpx.Client, method: str, path: str, methods: str
) -> None:
    answer = client.request(method, path)
    assert error_of(answer) == (405, "method_not_allowed", "")
    assert answer.headers["allow"] == methods


def test_a_wrong_ask_beside_a_result_is_found_in_its_place(
    client: httpx.Client, study: str
) -> None:
    ask, used = post(client, f"{study}/ask", t=5.0), post(client, f"{study}/ask", key="used")
    post(client, f"{study}/cancel", id=used["id"])
    result = {"id": ask["id"], "value": 1.0}
    early = client.post(f"/api/studies{study}/tell", json={**result, "ask": {"t": 1.0}})
    assert error_of(early) == (422, "time", "ask.t")
    again = client.post(f"/api/studies{study}/tell", json={**result, "ask": {"key": "used"}})
    assert error_of(again) == (409, "closed_suggestion", "ask.key")
    assert client.get(f"/api/studies{study}").json()["told"] == 0


def test_an_ask_in_a_context(client: httpx.Client) -> None:
    weather = {"outside": {"type": "real", "low": -10, "high": 40}}
    created = post(client, "", name="in context", **SPACE, context=weather)
    assert created["setup"]["context"] == {"outside": {**weather["outside"], "log": False}}
    assert created["context"] == {"outside": 15.0}
    path = "/api/studies/in context"
    ask = post(client, "/in context/ask", context={"outside": 21.5})
    assert ask["context"] == {"outside": 21.5}

    result = {"id": ask["id"], "value": 1.0}
    for wrong, field in (({}, ""), ({"context": {"outside": 99}}, ".outside")):
        assert error_of(client.post(f"{path}/ask", json=wrong)) == (422, "input", f"context{field}")
        told = client.post(f"{path}/tell", json={**result, "ask": wrong})
        assert error_of(told) == (422, "input", f"ask.context{field}")
    following = post(client, "/in context/tell", **result, ask={"context": {"outside": 30}})
    assert following["ask"]["context"] == {"outside": 30.0}

    there = {"context": '{"outside": 5}'}
    for look, expected in (({}, 30.0), (there, 5.0)):
        summary = client.get(path, params=look).json()
        belief = client.get(f"{path}/belief", params=look).json()
        for said in (summary, summary["best"], belief, belief["best"]):
            assert said["context"] == {"outside": expected}
    warm = client.get(f"{path}/belief", params={"context": '{"outside": "warm"}'})
    assert error_of(warm) == (422, "input", "context.outside")
    (shown,) = client.get(f"{path}/track").json()["results"]
    assert shown["context"] == {"outside": 21.5}
    assert client.get(f"{path}/export").text.startswith("id,t,params.x,context.outside,value")


def test_a_result_that_was_measured_elsewhere(client: httpx.Client, study: str) -> None:
    before = numbers(client)["heliotrope_tells_total"]
    added = post(client, f"{study}/add", option=OPTIONS["options"][1], value=1.5, t=3, key="mine")
    assert (added["option"], added["t"]) == (OPTIONS["options"][1], 3.0)
    assert numbers(client)["heliotrope_tells_total"] == before + 1.0
    same = {"option": added["option"], "value": 1.5, "key": "mine"}
    assert post(client, f"{study}/add", **same) == added
    path = f"/api/studies{study}/add"
    other = client.post(path, json={**same, "value": 2.5})
    assert error_of(other) == (409, "closed_suggestion", "value")
    other = client.post(path, json={**same, "option": OPTIONS["options"][0]})
    assert error_of(other) == (409, "closed_suggestion", "key")
    early = client.post(path, json={**same, "key": "another", "t": 2.0})
    assert error_of(early) == (422, "time", "t")
    (result,) = client.get(f"/api/studies{study}/track").json()["results"]
    assert (result["option"], result["value"]) == (added["option"], 1.5)


def test_such_a_result_in_a_space_and_a_context(client: httpx.Client) -> None:
    weather = {"outside": {"type": "real", "low": -10, "high": 40}}
    post(client, "", name="elsewhere", **SPACE, context=weather)
    result = {"params": {"x": 0.25}, "value": 1.0, "context": {"outside": 20}}
    added = post(client, "/elsewhere/add", **result)
    assert (added["params"], added["context"]) == ({"x": 0.25}, {"outside": 20.0})
    for wrong, field in (
        ({"params": {"x": 1.5}}, "params.x"),
        ({"params": {}}, "params.x"),
        ({"params": None, "option": "x"}, "params"),
        ({"context": None}, "context"),
        ({"context": {"outside": 50}}, "context.outside"),
    ):
        answer = client.post("/api/studies/elsewhere/add", json={**result, **wrong})
        assert error_of(answer) == (422, "input", field)
    assert client.get("/api/studies/elsewhere").json()["asked"] == 1


def test_the_last_event_is_known_beyond_the_end(client: httpx.Client, study: str) -> None:
    post(client, f"{study}/ask")
    for after in (0, 1, 2, 99):
        page = client.get(f"/api/studies{study}/events", params={"after": after}).json()
        assert page["last"] == 2
        assert len(page["events"]) == max(0, 2 - after)


def test_the_belief_before_a_study_is_that_of_the_model(client: httpx.Client, study: str) -> None:
    post(client, f"{study}/tell", id=post(client, f"{study}/ask")["id"], value=7.0)
    model = client.get(f"/api/studies{study}").json()["model"]
    options = client.get(f"/api/studies{study}/belief", params={"t": -3.0}).json()["options"]
    assert [one["mean"] for one in options] == pytest.approx([model["mean"]] * 3)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"key": ""}', "key: expected a text of 1 to 200 characters; got ''."),
        (b'{"key": 7}', "key: expected a text of 1 to 200 characters; got 7."),
        (b"[]", "body: expected an object; got []."),
        (b"null", "body: expected an object; got null."),
        (b"", "body: expected an object; got nothing."),
        (
            b'{"t" 1}',
            "body: expected JSON; got an error at character 5 (expecting ':' delimiter).",
        ),
    ],
)
def test_errors_of_other_packages_are_translated(
    client: httpx.Client, study: str, body: bytes, said: str
) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client.post(f"/api/studies{study}/ask", content=body, headers=headers)
    assert said in answer.json()["error"]["message"]


def test_the_file_of_a_study_is_downloaded(client: httpx.Client, study: str) -> None:
    for value in (1.0, 2.0):
        post(client, f"{study}/tell", id=post(client, f"{study}/ask")["id"], value=value)
    answer = client.get(f"/api/studies{study}/file")
    assert answer.headers["Content-Type"] == "application/octet-stream"
    name = study.removeprefix("/")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}.heliotrope"'
    assert Optimizer.loads(answer.content).ask().option == post(client, f"{study}/ask")["option"]
    assert client.get("/api/studies/nothing/file").status_code == 404


def test_the_description_has_every_route(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    one = "/api/studies/{name}"
    assert {path: set(methods) for path, methods in paths.items()} == {
        "/api/studies": {"get", "post"},
        one: {"get", "delete"},
        **{f"{one}/{verb}": {"post"} for verb in BY_VERB},
        "/api/batch": {"post"},
        **{f"{one}/{noun}": {"get"} for noun in ("belief", "track", "events", "export", "front")},
        f"{one}/file": {"get"},
        "/api/demo": {"post"},
        "/healthz": {"get"},
        "/metrics": {"get"},
    }


def test_health_and_metrics_tell_of_the_service(client: httpx.Client, study: str) -> None:
    assert client.get("/healthz").json()["status"] == "ok"
    before = numbers(client)
    ask = post(client, f"{study}/ask")
    post(client, f"{study}/tell", id=ask["id"], value=1.0)
    client.post(f"/api/studies{study}/tell", json={"id": "a-1", "value": 1.0})
    after = numbers(client)
    tell = 'heliotrope_requests_total{method="POST",route="/api/studies/{name}/tell",status="%s"}'
    for name in ("heliotrope_asks_total", "heliotrope_tells_total", tell % 200, tell % 404):
        assert after[name] == before.get(name, 0.0) + 1.0
    assert after["heliotrope_studies_in_memory"] >= 1.0


def numbers(client: httpx.Client) -> dict[str, float]:
    lines = client.get("/metrics").text.splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
    return {name: float(value) for name, value in pairs}


# ---- limits


@pytest.mark.parametrize(
    ("setup", "field"),
    [
        ({"options": [f"o{i}" for i in range(21)]}, "options"),
        ({"space": {"x": {"type": "integer", "low": 1, "high": 21}}}, "space"),
        ({"space": {f"x{i}": {"type": "real", "low": 0, "high": 1} for i in range(4)}}, "space"),
        ({"space": {"x": REAL}, "context": {f"c{i}": REAL for i in range(3)}}, "context"),
        ({**OPTIONS, "context": {"n": {"type": "integer", "low": 1, "high": 7}}}, "context"),
    ],
)
def test_large_domains_are_refused(setup: dict[str, Any], field: str) -> None:
    with serving(create_app("memory:", limits=Limits(points=20, coordinates=3))) as client:
        refusal = client.post("/api/studies", json={"name": "large", **setup})
        assert error_of(refusal) == (422, "input", field)
        assert client.get("/api/studies").json()["studies"] == []


@pytest.mark.parametrize("count", [2_000, 2_001, 5_000, 5_001])
def test_a_space_of_any_number_of_configurations_is_served(
    client: httpx.Client, count: int
) -> None:
    """Those of up to 5,000 are listed; more are a box."""
    name = f"of {count}"
    post(client, "", name=name, space={"n": {"type": "integer", "low": 1, "high": count}})
    assert 1 <= post(client, f"/{name}/ask")["params"]["n"] <= count


def test_studies_streams_and_demos_are_limited() -> None:
    limits = Limits(studies=2, streams=1, demos=1)
    with serving(create_app("memory:", limits=limits)) as client:
        post(client, "", name="a", **OPTIONS)
        with client.stream("GET", "/api/studies/a/events", headers={"Accept": EVENTS}) as stream:
            events = messages(stream.iter_lines())
            assert next(events)["seq"] == 1
            second = client.get("/api/studies/a/events", headers={"Accept": EVENTS})
            assert error_of(second)[:2] == (429, "busy")
        assert client.post("/api/demo", json={}).status_code == 201
        assert error_of(client.post("/api/demo", json={}))[:2] == (429, "busy")
        third = client.post("/api/studies", json={"name": "c", **OPTIONS})
        assert error_of(third)[:2] == (422, "limit")  # nothing that passes: no client waits for it


def test_few_studies_are_held_in_memory_and_all_work() -> None:
    options = [f"o{i}" for i in range(150)]  # about 1.5 MB
    with serving(create_app("memory:", limits=Limits(memory=5))) as client:
        names = [f"/s{i}" for i in range(6)]
        for name in names:
            post(client, "", name=name[1:], options=options)
        asks = {name: post(client, f"{name}/ask") for name in names}
        for name in names:
            post(client, f"{name}/tell", id=asks[name]["id"], value=1.0)
        assert [client.get(f"/api/studies{name}").json()["told"] for name in names] == [1] * 6
        assert numbers(client)["heliotrope_studies_in_memory"] <= 3.0


def test_demos_can_be_forbidden() -> None:
    with serving(create_app("memory:", demo=False)) as client:
        assert error_of(client.post("/api/demo", json={})) == (403, "no_demo", "")


# ---- what others do to a study


def other_store(tmp_path: Path) -> tuple[str, Callable[[], Any]]:
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    return url, lambda: open_store(url)


def test_a_study_created_again_elsewhere_is_noticed(tmp_path: Path) -> None:
    url, opened = other_store(tmp_path)
    with serving(create_app(url)) as client:
        post(client, "", name="shared", **OPTIONS)
        old = post(client, "/shared/ask")
        store = opened()
        Study.open("shared", store).delete()
        assert error_of(client.get("/api/studies/shared"))[:2] == (404, "unknown_study")
        Study.create("shared", ["x", "y"], store=store)
        assert post(client, "/shared/ask")["option"] in ("x", "y")
        stale = client.post("/api/studies/shared/tell", json={"id": old["id"], "value": 1.0})
        assert error_of(stale)[:2] == (404, "unknown_suggestion")
        store.close()


def test_a_file_that_was_moved_acknowledges_nothing(tmp_path: Path) -> None:
    path = tmp_path / "studies.db"
    with serving(create_app(f"sqlite:///{path}")) as client:
        post(client, "", name="moved", **OPTIONS)
        ask = post(client, "/moved/ask")
        path.rename(tmp_path / "elsewhere.db")
        result = {"id": ask["id"], "value": 1.0}
        for _ in range(2):
            told = client.post("/api/studies/moved/tell", json=result)
            assert error_of(told) == (503, "store", "")
        assert error_of(client.get("/healthz")) == (503, "store", "")
        (tmp_path / "elsewhere.db").rename(path)
        assert client.get("/healthz").status_code == 200
        assert [event.body["kind"] for event in log_of(f"sqlite:///{path}", "moved")] == [
            "created",
            "asked",
        ]
        post(client, "/moved/tell", **result)


def test_a_stream_has_what_this_and_other_processes_write(tmp_path: Path) -> None:
    url, opened = other_store(tmp_path)
    with serving(create_app(url)) as client:
        post(client, "", name="watched", **OPTIONS)
        post(client, "/watched/ask")
        store = opened()
        other = Study.open("watched", store)
        headers = {"Accept": EVENTS}
        with client.stream("GET", "/api/studies/watched/events", headers=headers) as stream:
            assert stream.headers["content-type"].startswith(EVENTS)
            events = messages(stream.iter_lines())
            assert [event["kind"] for event in islice(events, 2)] == ["created", "asked"]
            ask = post(client, "/watched/ask")
            assert next(events)["id"] == ask["id"]
            foreign = other.ask()
            assert next(events)["id"] == foreign.id
            other.delete()
            assert list(events) == []  # it ends
        store.close()


def test_an_interrupted_stream_resumes(client: httpx.Client, study: str) -> None:
    for _ in range(4):
        post(client, f"{study}/ask")
    path = f"/api/studies{study}/events"
    for params, others in (({"after": 3}, {}), ({}, {"Last-Event-ID": "3"})):
        headers = {"Accept": EVENTS, **others}
        with client.stream("GET", path, params=params, headers=headers) as stream:
            found = [event["seq"] for event in islice(messages(stream.iter_lines()), 2)]
        assert found == [4, 5]


def test_requests_that_a_stopping_service_drops_can_be_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, answered = Event(), Event()

    def hang(_: Study, decisions: Sequence[object]) -> list[Exception]:
        begun.set()
        assert answered.wait(60)
        return [RuntimeError()] * len(decisions)

    def ask(url: str) -> httpx.Response:
        try:
            return httpx.post(url, json={}, timeout=60.0)
        finally:
            answered.set()

    monkeypatch.setattr(Study, "do_all", hang)
    with ThreadPoolExecutor(1) as pool:
        with serving(create_app("memory:")) as client:
            post(client, "", name="slow", **OPTIONS)
            answer = pool.submit(ask, f"{client.base_url}/api/studies/slow/ask")
            assert begun.wait(60)
        assert error_of(answer.result()) == (503, "stopping", "")
        assert int(answer.result().headers["retry-after"]) > 0
        assert answer.result().headers["cache-control"] == "no-store"


@pytest.mark.parametrize("kind", [StoreError, DamagedError, FormatError])
def test_a_failing_store_is_reported_without_details(kind: type[HeliotropeError]) -> None:
    answer = response_to(kind("to use /secret/place", "«disk I/O error»"))
    assert answer.status_code == 503
    assert b"secret" not in bytes(answer.body)


def test_time_and_random_numbers_come_from_outside() -> None:
    """Two services with equal surroundings write equal logs."""

    def log() -> list[Any]:
        ticks, random = count(1_000.0, 0.5), Random(3)
        outside = Surroundings(lambda: next(ticks), random.randrange)
        with serving(
            app_from(Settings("memory:", estimators=None), surroundings=outside)
        ) as client:
            post(client, "", name="pump", **OPTIONS)
            for value in (0.5, 1.5):
                post(client, "/pump/tell", id=post(client, "/pump/ask")["id"], value=value)
            return [client.get(f"/api/studies/pump{path}").json() for path in ("", "/events")]

    first, again = log(), log()
    assert first == again
    assert first[1]["events"][0]["at"] < 1_100.0


# ---- demos


def test_a_demo_follows_its_hills() -> None:
    store = MemoryStore()
    journal = GroupCommit(store)
    studies = Studies(store, journal, Limits(), lambda _: None)
    demos = Demos(studies, most=1, pause=0.0)
    name = demos.start()
    wait_for(lambda: studies.use(name, lambda study: study.summary())["told"] >= 100)
    demos.close()
    results = studies.use(name, lambda study: study.track())["results"]
    late = [result["value"] for result in results[60:]]
    journal.close()
    assert len(results) <= STEPS
    assert sum(late) / len(late) > 0.3  # a random place has 0.08 on average


class NoStudies(Studies):
    """Studies that fail by a defect."""

    surroundings = Surroundings()

    def create(self, name: str, data: dict[str, Any]) -> Any:
        return None

    def use(self, *_: Any) -> Any:
        raise RuntimeError("a defect")


def test_a_failed_demo_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    demos = Demos(NoStudies.__new__(NoStudies), most=1, pause=0.0)
    name = demos.start()
    demos.close()
    (record,) = caplog.records
    assert record.getMessage() == f"{name} ends"
    assert record.exc_info is not None


def test_the_hills_change_places() -> None:
    peak = np.array([0.5 + 0.35, 0.5])
    assert peaks(peak, 0.0) == pytest.approx(0.5, abs=0.02)
    assert peaks(peak, 100.0) < 0.1


# ---- several processes, and their ends


def take_part(run: Command, name: str, pairs: int, told: dict[str, float]) -> None:
    """Ask and tell; note what was acknowledged."""
    with run.client() as client:
        ask = post(client, f"/{name}/ask")
        for i in range(pairs):
            value = i / pairs
            answer = post(client, f"/{name}/tell", id=ask["id"], value=value, ask={})
            told[ask["id"]] = value
            ask = answer["ask"]


def check_log(url: str, name: str, told: dict[str, float]) -> None:
    """Every acknowledged result is in the log once, and the log has no holes."""
    log = log_of(url, name)
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    asked = [event.body["id"] for event in log if event.body["kind"] == "asked"]
    assert asked == sorted(asked, key=lambda id: int(id.rpartition("-")[2]))
    assert len(set(asked)) == len(asked)
    results = [
        (event.body["id"], event.body["value"]["value"]) for event in log if "value" in event.body
    ]
    assert len(dict(results)) == len(results)
    assert told.items() <= dict(results).items()


@pytest.mark.parametrize("workers", [1, 2])
def test_clients_of_several_processes_lose_nothing(tmp_path: Path, workers: int) -> None:
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    told: dict[str, dict[str, float]] = {"one": {}, "two": {}}
    with command(url, "--workers", str(workers)) as run, ThreadPoolExecutor(8) as pool:
        with run.client() as client:
            for name in told:
                post(client, "", name=name, **OPTIONS)
        parts = [
            pool.submit(take_part, run, name, 6, told[name]) for name in told for _ in range(4)
        ]
        for part in parts:
            part.result()
    for name, results in told.items():
        assert len(results) == 24
        check_log(url, name, results)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_acknowledged_survives(tmp_path: Path, how: signal.Signals) -> None:
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    told: dict[str, float] = {}
    with command(url) as run, ThreadPoolExecutor(6) as pool:
        with run.client() as client:
            post(client, "", name="hurried", **OPTIONS)
        parts = [pool.submit(take_part, run, "hurried", 10_000, told) for _ in range(6)]
        wait_for(lambda: len(told) >= 30)
        assert run.stop(how) == -how
        assert all(isinstance(part.exception(), httpx.TransportError) for part in parts)
    check_log(url, "hurried", told)
    with closing(open_store(url)) as store:
        study = Study(store, "hurried")
        assert study.summary()["told"] >= len(told)
        study.tell(study.ask().id, 1.0)


# ---- starting it


def test_the_command_requires_a_token_on_public_addresses(tmp_path: Path) -> None:
    store, file = f"sqlite:///{tmp_path / 'studies.db'}", tmp_path / "tokens"
    assert "a token for an address that others can reach" in refused(store, "--host", "0.0.0.0")
    file.write_text("short\n")
    assert "tokens of 16 to 500" in refused(store, "--token-file", str(file))
    assert not (tmp_path / "studies.db").exists()


def test_the_command_serves_no_other_service() -> None:
    said = refused("http://127.0.0.1:8765")
    assert "expected a store to serve; got http://127.0.0.1:8765" in said
    assert "HELIOTROPE_STORE" in said


@pytest.fixture
def default_port_in_use() -> Iterator[None]:
    """Another program at the default port, if there is none yet."""
    with ExitStack() as stack:
        with suppress(OSError):
            stack.enter_context(socket.create_server(("127.0.0.1", 8765)))
        yield


@pytest.mark.usefixtures("default_port_in_use")
def test_the_command_reports_errors_of_the_store(tmp_path: Path) -> None:
    assert "a store that processes can share" in refused("memory:", "--workers", "2")
    assert "the folder of" in refused(f"sqlite:///{tmp_path / 'no' / 'studies.db'}")


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("localhost.example.org", False),
        ("", False),
    ],
)
def test_loopback_addresses_are_known(host: str, loopback: bool) -> None:
    assert is_loopback(host) == loopback


def test_names_of_the_service_depend_on_its_address() -> None:
    assert "127.0.0.1" in checked_hosts("127.0.0.1", [], [])
    assert checked_hosts("0.0.0.0", [], ["t" * 20]) == ("*",)
    assert checked_hosts("0.0.0.0", ["tuning.example.org"], ["t" * 20]) == ("tuning.example.org",)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_port_in_use_is_reported_in_one_line(
    client: httpx.Client, tmp_path: Path, workers: str
) -> None:
    port = str(client.base_url.port)
    said = refused(f"sqlite:///{tmp_path}/studies.db", "--port", port, "--workers", workers)
    assert list(tmp_path.iterdir()) == []
    assert said.count("\n") == 1
    assert f"port {port} (Address already in use). Choose another --port." in said


def test_tokens_are_read_from_lines(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# of clients\n\n  {'a' * 20}\n{'b' * 20}\n")
    assert read_tokens(file) == ("a" * 20, "b" * 20)
