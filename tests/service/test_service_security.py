"""Attacks on the service, each with its outcome; docs/reference/security.md lists them."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from heliotrope.service import Limits, create_app
from heliotrope.service.auth import digest, is_accepted
from serving import OPTIONS, error_of, post, serving

TOKEN, OTHER = "correct-horse-battery-staple", "another-token-of-its-own"
JSON = {"Content-Type": "application/json"}
STUDIES = "/api/studies"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with serving(create_app("memory:", limits=Limits(body=20_000, patience=0.5))) as found:
        post(found, "", name="mine", **OPTIONS)
        post(found, "/mine/ask")
        yield found


@pytest.fixture(scope="module")
def locked() -> Iterator[httpx.Client]:
    app = create_app("memory:", tokens=(TOKEN, OTHER))
    with serving(app, Authorization=f"Bearer {TOKEN}") as found:
        post(found, "", name="mine", **OPTIONS)
        yield found


def state(client: httpx.Client) -> Any:
    """Everything that a request could change."""
    return client.get(STUDIES, params={"limit": 1000}).json()


# ---- tokens


@pytest.mark.parametrize(
    "header",
    [
        "",
        TOKEN,
        "Bearer",
        f"Basic {TOKEN}",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN.upper()}",
        f"Bearer  {TOKEN}",
        f"Bearer {TOKEN} {TOKEN}",
        "Bearer *",
        "Bearer é",
    ],
)
def test_every_route_needs_a_token(locked: httpx.Client, header: str) -> None:
    before, headers = state(locked), httpx.Headers({"Authorization": header, **JSON}, "latin-1")
    for method, path in (
        ("GET", STUDIES),
        ("GET", f"{STUDIES}/mine"),
        ("GET", f"{STUDIES}/mine/events"),
        ("GET", "/metrics"),
        ("GET", "/api/nothing"),
        ("POST", STUDIES),
        ("POST", f"{STUDIES}/mine/ask"),
        ("POST", f"{STUDIES}/mine/add"),
        ("POST", "/api/demo"),
        ("DELETE", f"{STUDIES}/mine"),
    ):
        answer = locked.request(method, path, headers=headers, content=b"{}")
        assert error_of(answer) == (401, "no_token", "")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert state(locked) == before


@pytest.mark.parametrize("token", [TOKEN, OTHER])
def test_any_of_the_tokens_will_do(locked: httpx.Client, token: str) -> None:
    answer = locked.get(STUDIES, headers={"Authorization": f"bearer {token}"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "path", ["/api/../metrics", "//api/studies", "/API/studies", "/api%2fstudies", "/./metrics"]
)
def test_unusual_paths_do_not_bypass_the_token(locked: httpx.Client, path: str) -> None:
    status, _ = raw(locked, f"GET {path} HTTP/1.1")
    assert status in (401, 404)


def test_public_pages_reveal_no_studies(locked: httpx.Client) -> None:
    for path in ("/", "/healthz", "/openapi.json", "/studies/mine", "/studies/none"):
        answer = locked.get(path, headers={"Authorization": ""})
        assert answer.status_code == 200
        assert '"mine"' not in answer.text
    same = [locked.get(f"/studies/{name}", headers={"Authorization": ""}) for name in ("mine", "x")]
    assert same[0].content == same[1].content


def test_every_token_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[int, int]] = []

    def compare(a: bytes, b: bytes) -> bool:
        compared.append((len(a), len(b)))
        return a == b

    digests = [digest(TOKEN), digest(OTHER)]
    monkeypatch.setattr("heliotrope.service.auth.hmac.compare_digest", compare)
    for given in (TOKEN, OTHER, "", "x" * 10_000):
        is_accepted(f"Bearer {given}", digests)
    assert compared == [(32, 32)] * 8  # digests of one length, both of them, each time


def test_no_token_is_ever_logged(caplog: pytest.LogCaptureFixture) -> None:
    app = create_app("memory:", tokens=(TOKEN,))
    with caplog.at_level(logging.DEBUG), serving(app, Authorization=f"Bearer {TOKEN}") as client:
        client.get(STUDIES)
        client.get(STUDIES, headers={"Authorization": "Bearer wrong-but-still-secret"})
        client.get(f"{STUDIES}/none")
    written = [record.getMessage() for record in caplog.records if record.name != "httpcore.http11"]
    assert not any(TOKEN in line or "wrong-but" in line for line in written)


# ---- other sites


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://127.0.0.1.evil.example"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "evil.example:127.0.0.1"},
        {"Host": "[::1"},
        {"Host": ""},
    ],
)
def test_another_site_changes_nothing(client: httpx.Client, headers: dict[str, str]) -> None:
    before = state(client)
    for method, path in (
        ("POST", STUDIES),
        ("POST", f"{STUDIES}/mine/ask"),
        ("POST", f"{STUDIES}/mine/add"),
        ("POST", "/api/demo"),
        ("DELETE", f"{STUDIES}/mine"),
    ):
        body = json.dumps({"name": "theirs", **OPTIONS}).encode()
        answer = client.request(method, path, headers={**headers, **JSON}, content=body)
        assert error_of(answer)[0] == 403
        assert not any(name.startswith("access-control") for name in answer.headers)
    assert state(client) == before


@pytest.mark.parametrize(
    "kind",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"],
)
def test_forms_of_other_sites_are_refused(client: httpx.Client, kind: str) -> None:
    before = state(client)
    body = json.dumps({"name": "theirs", **OPTIONS}).encode()
    for path in (STUDIES, f"{STUDIES}/mine/ask", "/api/demo"):
        answer = client.post(path, headers={"Content-Type": kind}, content=body)
        assert error_of(answer) == (415, "not_json", "")
    assert state(client) == before


def test_a_preflight_is_not_answered(client: httpx.Client) -> None:
    asking = {"Origin": "https://evil.example", "Access-Control-Request-Method": "DELETE"}
    answer = client.options(f"{STUDIES}/mine", headers=asking)
    assert answer.status_code == 405
    assert "access-control-allow-origin" not in answer.headers


def test_our_own_page_may_do_everything(client: httpx.Client) -> None:
    headers = {"Origin": str(client.base_url), "Sec-Fetch-Site": "same-origin"}
    assert client.post(f"{STUDIES}/mine/ask", headers=headers, json={}).status_code == 200


def test_reading_is_refused_to_pages_of_other_sites(client: httpx.Client) -> None:
    answer = client.get(f"{STUDIES}/mine", headers={"Sec-Fetch-Site": "cross-site"})
    assert error_of(answer) == (403, "cross_site", "")


def test_answers_forbid_caching_framing_and_sniffing(client: httpx.Client) -> None:
    for answer in (client.get(STUDIES), client.get(f"{STUDIES}/mine/export"), client.get("/no")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


# ---- bodies

DEEP = 3_000


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "input"),
        (b"{", "json"),
        (b"null", "input"),
        (b"[]", "input"),
        (b'"text"', "input"),
        (b"{} {}", "json"),
        (b"\xef\xbb\xbf{}", "json"),
        (b'{"key": "\xff"}', "json"),
        ('{"key": "x"}'.encode("utf-16"), "json"),
        (rb'{"key": "\ud800"}', "json"),
        (b'{"t": 1, "t": 2}', "json"),
        (b'{"t": NaN}', "json"),
        (b'{"t": Infinity}', "json"),
        (b'{"t": -Infinity}', "json"),
        (b'{"t": 1e999}', "json"),
        (b'{"t": 1' + b"0" * 5_000 + b"}", "json"),
        (b'{"t": 1' + b"0" * 400 + b"}", "input"),
        (b'{"t": 1e99999999999999999999}', "json"),
        (b'{"t": 1e200}', "input"),
        (b'{"t": ' + b"[" * 800 + b"]" * 800 + b"}", "input"),
        (b'{"t": ' + b"[" * DEEP + b"]" * DEEP + b"}", "json"),
        (b'{"t": ' + b'{"a":' * DEEP, "json"),
        (b'{"key": "' + b"k" * 201 + b'"}', "input"),
        (b'{"__proto__": 1}', "input"),
        (b'{"\\u0000": 1}', "input"),
    ],
)
def test_malformed_bodies_are_refused(client: httpx.Client, body: bytes, code: str) -> None:
    before = state(client)
    answer = client.post(f"{STUDIES}/mine/ask", headers=JSON, content=body)
    assert error_of(answer)[:2] == (422, code)
    assert state(client) == before


@pytest.mark.parametrize("depth", [10, 100, 500, 800, 900])
def test_deep_descriptions_are_refused(client: httpx.Client, depth: int) -> None:
    before = state(client)
    for space in ('{"x": {"type": "categorical", "choices": %s}}', '{"x": %s}', "%s"):
        deep = space % ("[" * depth + "]" * depth)
        body = f'{{"name": "deep", "space": {deep}}}'.encode()
        answer = client.post(STUDIES, headers=JSON, content=body)
        assert error_of(answer)[0] == 422
    assert state(client) == before


@pytest.mark.parametrize("chunked", [False, True])
def test_large_bodies_are_refused(client: httpx.Client, chunked: bool) -> None:
    text = json.dumps({"name": "large", "options": ["x" * 30_000]}).encode()
    content = io.BytesIO(text) if chunked else text
    answer = client.post(STUDIES, headers=JSON, content=content)
    assert error_of(answer) == (413, "too_large", "body")


def test_an_endless_body_times_out(client: httpx.Client) -> None:
    started = time.monotonic()
    head = (
        f"POST {STUDIES}/mine/ask HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9"
    )
    status, _ = raw(client, head, b'{"t"')
    assert status == 408
    assert time.monotonic() - started < 30.0


def test_a_request_cut_off_is_not_carried_out(client: httpx.Client) -> None:
    before = state(client)
    with connected(client) as link:
        link.sendall(
            f"POST {STUDIES}/mine/ask HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{}".encode()
        )
    time.sleep(0.2)
    assert state(client) == before


@pytest.mark.parametrize(
    "value", [True, "1", None, [], {}, 1e300, -1e300, [1.0], {"$gt": 0}, "NaN", "1; DROP TABLE"]
)
def test_values_are_numbers(client: httpx.Client, value: Any) -> None:
    before = state(client)
    ask = client.get(f"{STUDIES}/mine").json()["open"][0]
    answer = client.post(f"{STUDIES}/mine/tell", json={"id": ask["id"], "value": value})
    assert error_of(answer) == (422, "input", "value")
    assert state(client) == before


# ---- names

NAMES = [
    "%2e%2e",
    "..%2f..%2fetc%2fpasswd",
    "..%5c..%5cwindows",
    "%2e",
    "%00",
    "mine%00",
    "mine%0a",
    "mine%20",
    "%20mine",
    "mine%2f",
    "mine;a=b",
    "m%C4%B1ne",
    "%EF%BC%8E%EF%BC%8E",
    "%ff%fe",
    "%F0%9F%8C%BB",
    "mine'%20OR%20'1'='1",
    "mine'--",
    "mine%22;DROP%20TABLE%20heliotrope_studies;--",
    "1%20UNION%20SELECT%20*%20FROM%20heliotrope_studies",
    "%25",
    "*",
    "m%25",
    "m_ne",
    "MINE",
    "{name}",
    "%3Cscript%3E",
    "a" * 101,
]


@pytest.mark.parametrize("name", NAMES)
def test_tricks_in_names_find_no_study(client: httpx.Client, name: str) -> None:
    before = state(client)
    for method, rest in (("GET", ""), ("GET", "/events"), ("POST", "/ask"), ("DELETE", "")):
        line = f"{method} {STUDIES}/{name}{rest} HTTP/1.1\r\nContent-Type: application/json"
        status, answer = raw(client, f"{line}\r\nContent-Length: 2", b"{}")
        assert status in (404, 405)
        assert b"Traceback" not in answer
    assert state(client) == before


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\0", " a", "é", "a\n", "'", "%"])
def test_invalid_names_create_no_study(client: httpx.Client, name: str) -> None:
    before = state(client)
    answer = client.post(STUDIES, json={"name": name, **OPTIONS})
    assert error_of(answer) == (422, "input", "name")
    assert state(client) == before


def test_sql_in_texts_stays_text(tmp_path: Path) -> None:
    evil = "x'); DROP TABLE heliotrope_events; --"
    with serving(create_app(f"sqlite:///{tmp_path / 's.db'}")) as client:
        post(client, "", name="mine", options=[evil, 'y" OR 1=1'])
        ask = post(client, "/mine/ask", key=evil)
        assert post(client, "/mine/ask", key=evil) == ask
        refusal = client.post(f"{STUDIES}/mine/tell", json={"id": evil, "value": 1.0})
        assert error_of(refusal) == (404, "unknown_suggestion", "id")
        page = client.get(STUDIES, params={"after": "m' OR 1=1"})
        assert error_of(page) == (422, "input", "after")
        events = client.get(f"{STUDIES}/mine/events").json()["events"]
        assert events[0]["setup"]["options"][0] == evil
        assert events[1]["key"] == evil
    assert sorted(path.name for path in tmp_path.iterdir() if "db" in path.name)[0] == "s.db"


@pytest.mark.parametrize(
    "file", ["..%2fapp.py", "%2e%2e/app.py", "../pages.py", "", "nothing.js", "%00", "a%2fb"]
)
def test_only_the_pages_own_files_are_served(client: httpx.Client, file: str) -> None:
    assert raw(client, f"GET /static/{file} HTTP/1.1")[0] == 404


# ---- the protocol


@pytest.mark.parametrize(
    "request_line",
    [
        "GET /api/studies HTTP/9.9",
        "GE T /api/studies HTTP/1.1",
        "GET /api/studies HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example",
        "POST /api/studies HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 4",
        "POST /api/studies HTTP/1.1\r\nContent-Length: 4\r\nContent-Length: 5",
        "POST /api/studies HTTP/1.1\r\nContent-Length: -1",
    ],
)
def test_request_smuggling_is_refused(client: httpx.Client, request_line: str) -> None:
    status, _ = raw(client, request_line, b"{}GET /api/studies HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert status in (400, 403, 415)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE", "HEAD", "OPTIONS", "BREW"])
def test_other_methods_change_nothing(client: httpx.Client, method: str) -> None:
    before = state(client)
    status, _ = raw(client, f"{method} {STUDIES}/mine HTTP/1.1\r\nContent-Type: application/json")
    assert status in (400, 405)
    assert state(client) == before


# ---- whatever the description allows, and what it does not

GOALS = {
    "metrics": {"rate": "maximize", "heat": "watch"},
    "limits": {"heat": {"below": 30.0}},
    "baseline": OPTIONS["options"][0],
}
LIMITS = Limits(points=200, coordinates=10, studies=50)


async def description() -> dict[str, Any]:
    way = httpx.ASGITransport(create_app("memory:"))
    async with httpx.AsyncClient(transport=way, base_url="http://127.0.0.1") as client:
        found: dict[str, Any] = (await client.get("/openapi.json")).json()
        return found


described = schemathesis.openapi.from_dict(asyncio.run(description()))


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[httpx.Client]:
    with serving(create_app("memory:", demo=False, limits=LIMITS)) as found:
        yield found


@described.parametrize()
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
def test_generated_requests_match_the_openapi_document(
    case: schemathesis.Case[Any], fuzzed: httpx.Client
) -> None:
    fuzzed.post(STUDIES, json={"name": "mine", **OPTIONS})
    fuzzed.post(STUDIES, json={"name": "live", **OPTIONS, **GOALS})
    aim(case, fuzzed)
    before = state(fuzzed)
    answer = case.call(base_url=str(fuzzed.base_url))
    case.validate_response(answer, checks=CHECKS)
    if answer.status_code >= 400:
        assert state(fuzzed) == before


def aim(case: schemathesis.Case[Any], client: httpx.Client) -> None:
    """Have half of the cases meet a study, and an open ask of it if the id is a proper one."""
    length = len(str(case.path_parameters.get("name", "-")))
    if length % 2:
        return
    name = case.path_parameters["name"] = "live" if length % 4 else "mine"
    body: Any = case.body
    if isinstance(body, dict) and isinstance(body.get("id"), str) and 1 <= len(body["id"]) <= 100:
        body["id"] = post(client, f"/{name}/ask")["id"]


def raw(client: httpx.Client, head: str, body: bytes = b"") -> tuple[int, bytes]:
    """Send raw bytes; return the first answer's status, and all bytes received."""
    host = "" if "\r\nHost:" in head else "\r\nHost: 127.0.0.1"
    with connected(client) as link:
        link.sendall(f"{head}{host}\r\nConnection: close\r\n\r\n".encode() + body)
        answer = b""
        while chunk := link.recv(65_536):
            answer += chunk
    return int(answer[9:12]), answer


def connected(client: httpx.Client) -> socket.socket:
    assert client.base_url.port is not None
    return socket.create_connection((client.base_url.host, client.base_url.port), timeout=30.0)
