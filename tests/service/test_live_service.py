"""Studies of running systems over HTTP, from the clients and on the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

import heliotrope as ht
from heliotrope.cli import app
from heliotrope.client import connect_async
from heliotrope.client.service import Service
from heliotrope.errors import InputError
from heliotrope.service import create_app
from heliotrope.study import Evaluation
from heliotrope.study.commands import Hold
from serving import error_of, post, serving

SPACE = {"workers": {"type": "integer", "low": 1, "high": 16}}
GOALS: dict[str, Any] = {
    "metrics": {"throughput": "maximize", "p99": "watch"},
    "limits": {"p99": {"below": 200.0}},
    "baseline": {"workers": 8},
    "moves": {"largest": {"workers": 4}},
}


def values(ask: Evaluation | dict[str, Any]) -> dict[str, float]:
    params = ask["params"] if isinstance(ask, dict) else ask.params
    return {"throughput": 40.0 * params["workers"], "p99": 60.0 + 8.0 * params["workers"]}


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with serving(create_app("memory:")) as client:
        yield client


def test_bodies_have_values_by_metric(http: httpx.Client) -> None:
    post(http, "", name="web", space=SPACE, **GOALS)
    asked = post(http, "/web/ask")
    assert asked["reason"] == "first"
    assert asked["params"] == {"workers": 8}
    post(http, "/web/tell", id=asked["id"], value={"throughput": 320.0, "p99": 124.0})
    for _ in range(8):
        asked = post(http, "/web/ask")
        told = post(
            http, "/web/tell", id=asked["id"], value=values(asked), std={"p99": 1.0}, ask={}
        )
        post(http, "/web/tell", id=told["ask"]["id"], value={"p99": values(told["ask"])["p99"]})
    assert post(http, "/web/ask", cost=1e9).keys() == {"hold_until"}
    assert post(http, "/web/applied", params={"workers": 3}) == {"applied": True}
    assert post(http, "/web/ask")["params"]["workers"] <= 7
    summary = http.get("/api/studies/web").json()
    assert summary["gain"]["now"]["low"] <= summary["gain"]["now"]["high"]
    belief = http.get("/api/studies/web/belief", params={"metric": "p99"}).json()
    assert len(belief["safe"]) == len(belief["mean"])
    export = http.get("/api/studies/web/export").text
    assert "metrics.throughput,metrics.p99,std.p99" in export


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/tell", {"id": "ID", "value": {"latency": 1.0}}, "value"),
        ("/tell", {"id": "ID", "value": {}}, "value"),
        ("/tell", {"id": "ID", "value": {"p99": "fast"}}, "value.p99"),
        ("/tell", {"id": "ID", "value": 3.0}, "value"),
        ("/tell", {"id": "ID", "value": {"p99": 1.0}, "std": {"throughput": 1.0}}, "std"),
        ("/tell", {"id": "ID", "value": {"p99": 1.0}, "std": {"p99": -1.0}}, "std.p99"),
        ("/applied", {"params": {"workers": 99}}, "params.workers"),
        ("/applied", {}, ""),
        ("/applied", {"option": "a"}, "params"),
        ("/ask", {"cost": 0}, "cost"),
    ],
)
def test_wrong_bodies_are_refused(
    http: httpx.Client, path: str, body: dict[str, Any], field: str
) -> None:
    if http.get("/api/studies/refusing").status_code == 404:
        post(http, "", name="refusing", space=SPACE, **GOALS)
        post(http, "/refusing/ask")
    before = http.get("/api/studies/refusing/events").json()
    id = before["events"][1]["id"]
    response = http.post(
        f"/api/studies/refusing{path}", json={**body, **({"id": id} if "id" in body else {})}
    )
    assert error_of(response)[0] == 422
    assert error_of(response)[2] == field
    assert http.get("/api/studies/refusing/events").json() == before


@pytest.mark.parametrize("risk", [5e-324, 1e-300, 1e-17, 0.0, 1.0])
def test_a_risk_that_no_ask_can_keep_is_refused(http: httpx.Client, risk: float) -> None:
    body = {"name": "surest", "space": SPACE, **GOALS, "risk": risk}
    status, _, field = error_of(http.post("/api/studies", json=body))
    assert (status, field) == (422, "risk")
    assert http.get("/api/studies/surest").status_code == 404


def test_the_clients_have_the_same_calls(http: httpx.Client) -> None:
    with ht.connect(str(http.base_url)) as service:
        _used(service)
    asyncio.run(_awaited(str(http.base_url)))


def _used(service: Service) -> None:
    study = service.create("remote", {"workers": ht.Integer(1, 16)}, **GOALS)
    assert service.create("remote", {"workers": ht.Integer(1, 16)}, exist_ok=True, **GOALS)
    for _ in range(8):
        ask = study.ask()
        study.tell(ask, values(ask), std={"p99": 1.0})
    study.applied({"workers": 4})
    assert isinstance(study.ask(cost=1e9), Hold)
    assert study.summary().gain is not None
    assert study.belief(metric="p99")["metric"] == "p99"
    with pytest.raises(InputError, match="several objectives"):
        study.front()
    local = ht.Study.create("local", {"workers": ht.Integer(1, 16)}, store="memory:", **GOALS)
    assert local.config.to_json() == study.config.to_json()
    assert list(local.to_frame().columns) == [
        name for name in study.to_frame().columns if name not in ("std.p99", "reason")
    ]


async def _awaited(url: str) -> None:
    async with connect_async(url) as service:
        study = await service.open("remote")
        assert isinstance(await study.ask(cost=1e9), Hold)
        await study.applied({"workers": 5})
        ask = await study.ask()
        await study.tell(ask, values(ask))
        both = await service.create(
            "both",
            {"workers": ht.Integer(1, 16)},
            metrics={"throughput": "maximize", "p99": "minimize"},
        )
        assert (await both.front()).choices == []


def test_the_command_line_has_them_too(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELIOTROPE_STORE", f"sqlite:///{tmp_path}/store.db")
    made = run(
        *("create", "web", "--space", json.dumps(SPACE), "--limits", "p99<200"),
        *("--metrics", "throughput=maximize,p99=watch", "--baseline", "workers=8"),
        *("--largest", "workers=4", "--move-cost", "workers=0.1", "--risk", "0.1"),
    )
    assert made == {"created": "web"}
    study = ht.Study.open("web", f"sqlite:///{tmp_path}/store.db")
    assert study.config.to_json()["limits"] == {"p99": {"below": 200.0}}
    assert study.config.to_json()["moves"]["cost"] == {"workers": 0.1}
    for _ in range(7):
        asked = run("ask", "web")
        told = [f"{name}={value}" for name, value in values(asked).items()]
        run("tell", "web", asked["id"], *told, "--std", "p99=2")
    assert run("applied", "web", "--params", "workers=2") == {"applied": True}
    assert run("ask", "web", "--cost", "1e9").keys() == {"hold_until"}
    shown = run("show", "web")
    assert shown["applied"] == {"params": {"workers": 2}}
    assert shown["metrics"]["p99"]["told"] == 7
    refused = CliRunner().invoke(app, ["study", "tell", "web", asked["id"], "throughput"])
    assert refused.exit_code == 2
    assert "METRIC=NUMBER" in refused.stderr
    refused = CliRunner().invoke(app, ["study", "front", "web"])
    assert "several objectives" in refused.stderr
    run("create", "rooms", "--options", "a,b", "--limits", "value>=90%", "--baseline", "a")
    assert ht.Study.open("rooms", f"sqlite:///{tmp_path}/store.db").config.to_json()["limits"] == {
        "value": {"at_least": "90%"}
    }


def run(*words: str) -> Any:
    result = CliRunner().invoke(app, ["study", *words])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)
