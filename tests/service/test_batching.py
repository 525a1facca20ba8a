"""Batches of requests to a study: written together, answered one by one."""

from __future__ import annotations

import asyncio
from unittest import mock

import pytest

from heliotrope.errors import UnknownSuggestionError
from heliotrope.service.memory import HeldStudy
from heliotrope.spaces import Options
from heliotrope.study import Evaluation, Study
from heliotrope.study.commands import Ask, Hold, Tell


@pytest.fixture
def study() -> Study:
    return Study.create("pump", Options(["a", "b", "c"]), store="memory:")


def test_simultaneous_requests_form_a_batch(study: Study) -> None:
    async def crowd() -> list[Evaluation | Hold]:
        held = HeldStudy(study)
        return await asyncio.gather(*(held.do(Ask()) for _ in range(8)))

    with mock.patch.object(study, "do_all", wraps=study.do_all) as served:
        asks = asyncio.run(crowd())
    assert [len(call.args[0]) for call in served.call_args_list] == [8]
    assert asks == study.open_asks()


def test_each_gets_its_own_answer(study: Study) -> None:
    async def crowd() -> tuple[object, object]:
        held = HeldStudy(study)
        ask = await held.do(Ask())
        assert isinstance(ask, Evaluation)
        told = held.do(Tell(ask.id, 1.0))
        wrong = held.do(Tell("nobody's", 1.0))
        return await asyncio.gather(told, wrong, return_exceptions=True)

    told, wrong = asyncio.run(crowd())
    assert told is None
    assert isinstance(wrong, UnknownSuggestionError)
    assert study.summary()["told"] == 1


def test_a_client_that_disconnects_does_not_stop_the_batch(study: Study) -> None:
    async def crowd() -> Evaluation | Hold:
        held = HeldStudy(study)
        impatient = asyncio.create_task(held.do(Ask()))
        await asyncio.sleep(0)  # it stands in line
        impatient.cancel()
        await held.do(Ask())
        return await held.do(Ask())

    last = asyncio.run(crowd())
    assert last == study.open_asks()[-1]
    assert len(study.open_asks()) == 3
