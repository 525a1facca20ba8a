"""Lines of requests to a study: served together, each answered for itself."""

from __future__ import annotations

import asyncio
from unittest import mock

import pytest

from heliotrope.errors import UnknownSuggestionError
from heliotrope.service.lines import Line
from heliotrope.spaces import Options
from heliotrope.study import Ask, Study


@pytest.fixture
def study() -> Study:
    return Study.create("pump", Options(["a", "b", "c"]), store="memory:")


def test_those_who_come_together_are_served_together(study: Study) -> None:
    async def crowd() -> list[Ask]:
        line = Line(study)
        return await asyncio.gather(*(line.decide(study.asking()) for _ in range(8)))

    with mock.patch.object(study, "change_all", wraps=study.change_all) as served:
        asks = asyncio.run(crowd())
    assert [len(call.args[0]) for call in served.call_args_list] == [8]
    assert asks == study.open_asks()


def test_each_gets_its_own_answer(study: Study) -> None:
    async def crowd() -> tuple[object, object]:
        line = Line(study)
        ask = await line.decide(study.asking())
        told = line.decide(study.telling(ask.id, 1.0))
        wrong = line.decide(study.telling("nobody's", 1.0))
        return await asyncio.gather(told, wrong, return_exceptions=True)

    told, wrong = asyncio.run(crowd())
    assert told is None
    assert isinstance(wrong, UnknownSuggestionError)
    assert study.summary()["told"] == 1


def test_who_leaves_the_line_does_not_stop_it(study: Study) -> None:
    async def crowd() -> Ask:
        line = Line(study)
        impatient = asyncio.create_task(line.decide(study.asking()))
        await asyncio.sleep(0)  # it stands in line
        impatient.cancel()
        await line.decide(study.asking())
        return await line.decide(study.asking())

    last = asyncio.run(crowd())
    assert last == study.open_asks()[-1]
    assert len(study.open_asks()) == 3
