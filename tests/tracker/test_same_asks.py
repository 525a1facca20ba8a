"""The same for the same: an optimizer and a study ask alike, wherever the study is.

Each sequence of commands is drawn with its seed: what is measured, fails, or comes late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import heliotrope as ht
from games import KINDS, OptimizerSurface, Reopened, StudySurface, play, study_arguments
from heliotrope.client import connect_async
from served import Served

STEPS = 11
SEEDS = {name: 100 + number for number, name in enumerate(KINDS)}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = f"sqlite:///{tmp_path_factory.mktemp('same')}/studies.db"
    with Served(store, estimate_in_requests=True) as served:
        yield served.url


class Awaited:
    """A study of an asynchronous client, called from synchronous code."""

    def __init__(self, url: str, name: str) -> None:
        self._url, self._name = url, name

    def create(self, **arguments: Any) -> Awaited:
        asyncio.run(self._create(arguments))
        return self

    async def _create(self, arguments: dict[str, Any]) -> None:
        async with connect_async(self._url, timeout=120) as service:
            await service.create(self._name, **arguments)

    def __getattr__(self, verb: str) -> Any:
        return lambda *given, **named: asyncio.run(self._call(verb, given, named))

    async def _call(self, verb: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        async with connect_async(self._url, timeout=120) as service:
            study = await service.open(self._name)
            return await getattr(study, verb)(*given, **named)


@pytest.mark.parametrize("name", KINDS)
def test_an_optimizer_and_a_study_ask_alike(name: str) -> None:
    kind, seed = KINDS[name], SEEDS[name]
    study = ht.Study.create("one", store="memory:", **study_arguments(kind, seed))
    alone = play(OptimizerSurface(kind, seed), kind, seed, STEPS)
    assert play(StudySurface(study, kind), kind, seed, STEPS) == alone
    assert len(alone) >= STEPS


@pytest.mark.parametrize("name", ["plain", "baseline of options", "limits", "late and open"])
def test_a_study_asks_alike_wherever_it_is(name: str, tmp_path: Path, url: str) -> None:
    """In a file, opened again before each ask, and behind a service with either client."""
    kind, seed = KINDS[name], SEEDS[name]
    arguments, title = study_arguments(kind, seed), name.replace(" ", "-")
    alone = play(OptimizerSurface(kind, seed), kind, seed, STEPS)
    store = f"sqlite:///{tmp_path}/studies.db"
    ht.Study.create(title, store=store, **arguments)
    assert play(Reopened(title, store, kind), kind, seed, STEPS) == alone
    with ht.connect(url, timeout=120) as service:
        served = service.create(title, **arguments)
        assert play(StudySurface(served, kind), kind, seed, STEPS) == alone
    awaited = Awaited(url, f"{title}-async").create(**arguments)
    assert play(StudySurface(awaited, kind), kind, seed, STEPS) == alone


@pytest.mark.parametrize("name", ["baseline in contexts", "relative limits", "moves"])
def test_a_snapshot_asks_as_its_study(name: str) -> None:
    kind, seed = KINDS[name], SEEDS[name]
    study = ht.Study.create("one", store="memory:", **study_arguments(kind, seed))
    play(StudySurface(study, kind), kind, seed, STEPS)
    state = study.state()
    context = {"load": 0.5} if kind.context else None
    point = state.config.adapter.context_point(state.config.adapter.check_context(context))
    restored = type(state)(state.uid, state.config, state.created)
    restored.loads(state.dumps())
    ours, theirs = (one.tracker.propose(None, point) for one in (state, restored))
    assert (ours.t, ours.x.tolist(), ours.reason) == (theirs.t, theirs.x.tolist(), theirs.reason)


@pytest.mark.parametrize("name", ["baseline in contexts", "two objectives", "limits"])
def test_a_saved_optimizer_asks_as_it_would_have(name: str, tmp_path: Path) -> None:
    kind, seed = KINDS[name], SEEDS[name]
    surface = OptimizerSurface(kind, seed)
    play(surface, kind, seed, STEPS)
    surface.optimizer.save(tmp_path / "saved.heliotrope")
    again = ht.Optimizer.load(tmp_path / "saved.heliotrope")
    context = [0.5] if kind.context else None
    ours, theirs = (one.propose(context=context) for one in (surface.optimizer, again))
    assert (ours.t, ours.x.tolist(), ours.reason) == (theirs.t, theirs.x.tolist(), theirs.reason)
