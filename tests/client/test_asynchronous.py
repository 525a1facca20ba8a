"""The client for asyncio has the results, errors and retries of the synchronous one."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import httpx
import pytest

import heliotrope as ht
from heliotrope.client import asynchronous, connect_async
from heliotrope.client.asynchronous import AsyncService, AsyncStudy, AsyncTransport
from heliotrope.client.study import RemoteStudy
from heliotrope.errors import (
    ClosedSuggestionError,
    InputError,
    ServiceError,
    StudyExistsError,
    UnknownStudyError,
)
from served import Served

SPACE = {"x": ht.Real(0, 1)}


async def scenario(url: str, path: Path) -> None:
    async with connect_async(url) as service:
        study = await service.create("boiler", SPACE, seed=1)
        assert repr(study) == "AsyncStudy('boiler')"
        asks = await asyncio.gather(*(study.ask() for _ in range(8)))
        assert len({ask.id for ask in asks}) == 8
        await asyncio.gather(*(study.tell(ask, 0.1) for ask in asks[:6]))
        following = await study.tell_and_ask(asks[6], 0.5)
        await study.cancel(following)
        added = await study.add({"x": 0.25}, 0.1, std=0.3)
        assert added.params == {"x": 0.25}
        summary = await study.summary()
        assert (summary.told, summary.open) == (8, [asks[7]])
        assert await study.open_asks() == [asks[7]]
        assert (await study.belief()).view == "band"
        assert len((await study.track()).results) == 8
        assert (await study.export()).startswith("id,t,params.x,value,std")
        await study.save(path)
        assert ht.Optimizer.load(path).asked == (await study.summary()).asked
        assert len(await study.events(limit=3)) == 3
        assert [info.name for info in await service.studies()] == ["boiler"]
        with pytest.raises(ClosedSuggestionError):
            await study.tell(following, 1.0)
        with pytest.raises(InputError):
            await study.ask(t=float("nan"))
        again = await service.create("boiler", SPACE, seed=1, exist_ok=True)
        assert again.uid == study.uid
        with pytest.raises(StudyExistsError, match="seed 2 instead of 1"):
            await service.create("boiler", SPACE, seed=2, exist_ok=True)
        await (await service.open("boiler")).delete()
        with pytest.raises(UnknownStudyError):
            await study.ask()
    with pytest.raises(ServiceError, match="a closed one"):
        await study.summary()


def test_a_study_is_used_from_asyncio(tmp_path: Path) -> None:
    with Served(f"sqlite:///{tmp_path}/s.db") as served:
        asyncio.run(scenario(served.url, tmp_path / "file"))


def test_a_remote_study_continues_and_optimizes(tmp_path: Path) -> None:
    with Served(f"sqlite:///{tmp_path}/s.db") as served, ht.connect(served.url) as service:
        for _ in range(2):
            study = service.create("boiler", SPACE, exist_ok=True)
            report = study.optimize(lambda params: params["x"], 4)
            assert report.told == 4
        assert study.best.params.keys() == {"x"}
        assert repr(study) == "RemoteStudy('boiler')"
        assert len(study.to_frame()) == 8
        with pytest.raises(StudyExistsError, match="direction 'minimize' instead of 'maximize'"):
            service.create("boiler", SPACE, direction="minimize", exist_ok=True)


def scripted(*outcomes: httpx.Response | type[httpx.TransportError]) -> AsyncService:
    answers = iter(outcomes)

    def handle(request: httpx.Request) -> httpx.Response:
        outcome = next(answers)
        if isinstance(outcome, httpx.Response):
            return outcome
        raise outcome("broken", request=request)

    http = httpx.AsyncClient(base_url="http://there/api/", transport=httpx.MockTransport(handle))
    return AsyncService(AsyncTransport(http, 30.0, retries=2))


def test_it_tries_again_with_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asynchronous, "sleep", wait)
    busy, empty = httpx.Response(503), httpx.Response(200, json={"studies": [], "next": None})
    assert asyncio.run(scripted(httpx.ReadError, busy, empty).studies()) == []
    assert len(waited) == 2
    with pytest.raises(ServiceError, match="in the last of 3 attempts"):
        asyncio.run(scripted(*[httpx.ConnectError] * 3).studies())
    with pytest.raises(ServiceError, match="status 503"):
        asyncio.run(scripted(busy, busy, busy).studies())


def test_it_has_the_methods_of_the_synchronous_client() -> None:
    everyday = {
        "add_table",
        "best",
        "best_params",
        "optimize",
        "surroundings",  # of the keys of optimize
        "to_frame",
        "to_polars",
    }

    def methods(kind: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}

    def arguments(method: Any) -> list[Any]:
        found = inspect.signature(method).parameters.values()
        return [(one.name, one.kind, one.default) for one in found]

    assert methods(AsyncStudy) == methods(RemoteStudy) - everyday
    for name in methods(AsyncStudy):
        one, other = getattr(AsyncStudy, name), getattr(RemoteStudy, name)
        if callable(one):
            assert arguments(one) == arguments(other)


@pytest.mark.parametrize(
    "wrong", [{"url": "ftp://x"}, {"token": ""}, {"timeout": 0}, {"retries": -1}]
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        connect_async(**({"url": "http://there"} | wrong))
