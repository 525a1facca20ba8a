"""A user's program with types: studies of parameters and of options, both clients, an optimizer."""

from collections.abc import Mapping
from typing import Any, assert_type

import pandas as pd

import heliotrope as ht


def latency(workers: int, rate: float, mode: str, cache: bool) -> float:
    return workers * rate + len(mode) - cache


def brightness(room: str) -> float:
    return float(len(room))


def with_parameters() -> float:
    space = {
        "workers": ht.Integer(1, 32),
        "rate": ht.Real(0.0, 1.0),
        "mode": ht.Categorical(["slow", "fast"]),
        "cache": ht.Boolean(),
    }
    study = ht.Study.create("web", space, context={"load": ht.Real(0, 1)}, store="memory:")
    ask = study.ask(context={"load": 0.5})
    study.tell(ask, latency(**ask.params))
    study.add(study.best.choice, 2.0, context={"load": 0.5})
    row = {"workers": 4, "rate": 0.5, "mode": "slow", "cache": False, "load": 0.5, "value": 3.0}
    study.add_table(pd.DataFrame([row]))
    assert_type(study.best_params, Mapping[str, Any])
    return latency(**study.best_params)


def with_options() -> float:
    study = ht.Study.create("light", ["hall", "roof"], store="memory:")
    ask = study.ask()
    study.tell(ask, brightness(ask.option))
    return brightness(study.best.option)


def with_an_optimizer() -> float:
    space = {"workers": ht.Integer(1, 32), "mode": ht.Categorical(["slow", "fast"])}
    optimizer = ht.Optimizer(space, ht.auto(space))
    ask = optimizer.ask()
    optimizer.tell(ask, latency(rate=0.5, cache=False, **ask.params))
    rooms = ht.Optimizer(["hall", "roof"], ht.auto(["hall", "roof"]))
    rooms.tell(rooms.begin("hall"), brightness(rooms.ask().option))
    return latency(rate=0.5, cache=False, **optimizer.best().params)


def at_a_service() -> float:
    space = {"workers": ht.Integer(1, 32), "rate": ht.Real(0.0, 1.0)}
    with ht.connect("http://127.0.0.1:8765") as service:
        study = service.create("web", space, direction="minimize")
        ask = study.ask()
        ask = study.tell_and_ask(ask, latency(mode="slow", cache=True, **ask.params))
        return latency(mode="slow", cache=True, **study.best_params)


async def at_a_service_from_asyncio() -> float:
    space = {"workers": ht.Integer(1, 32), "mode": ht.Categorical(["slow", "fast"])}
    async with ht.client.connect_async("http://127.0.0.1:8765") as service:
        study = await service.create("web", space, direction="minimize")
        ask = await study.ask()
        await study.tell(ask, latency(rate=0.5, cache=True, **ask.params))
        best = (await study.summary()).best
        return 0.0 if best is None else latency(rate=0.5, cache=True, **best.params)
