"""Processes that ask, tell and add. Little is imported here: each of them imports it again."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import Connection
from typing import Any

from heliotrope.errors import HeliotropeError
from heliotrope.storage import EventBody, GroupCommit, open_store
from heliotrope.study import Study
from studies import some_choice, some_context, some_result
from writers import PROCESSES, start

PROCESSES.set_forkserver_preload(["heliotrope.study", "heliotrope.storage.sqlite", "psycopg"])

Acknowledged = tuple[Any, ...]
"""What a call gave: ("asked", id), ("told", id, value), ("cancelled", id), ("applied", params)."""


def work(url: str, seed: int, steps: int, says: Connection) -> None:
    """Ask, tell, add and cancel; print what was acknowledged."""
    rng = random.Random(seed)
    with closing(open_store(url)) as store, closing(GroupCommit(store)) as journal:
        study = Study(store, "pump", journal=journal if seed % 2 else None)
        mine: list[str] = []
        for _ in range(steps):
            step(study, mine, rng, says.send)
    says.send(None)


def step(
    study: Study, mine: list[str], rng: random.Random, say: Callable[[Acknowledged], None]
) -> None:
    """One random action of a client."""
    if study.config.goals is not None and rng.random() < 0.1:
        params = some_choice(study, rng)
        study.applied(params)
        say(("applied", logged(params)))
        return
    if rng.random() < 0.1:
        context, value = some_context(study, rng), some_result(study, rng)
        added = study.add(some_choice(study, rng), value, context=context).id
        say(("asked", added))
        say(("told", added, logged(value)))
        return
    if len(mine) < 2 or rng.random() < 0.4:
        mine.append(study.ask(context=some_context(study, rng)).id)
        say(("asked", mine[-1]))
        return
    id, value = mine.pop(rng.randrange(len(mine))), some_result(study, rng)
    if rng.random() < 0.1:
        study.cancel(id)
        say(("cancelled", id))
    elif rng.random() < 0.3:
        mine.append(study.tell_and_ask(id, value, context=some_context(study, rng)).id)
        say(("told", id, logged(value)))
        say(("asked", mine[-1]))
    else:
        study.tell(id, value)
        say(("told", id, logged(value)))


def acknowledged(hears: Connection) -> list[Acknowledged]:
    """Everything that a process printed until it ended or finished."""
    found: list[Acknowledged] = []
    try:
        while (said := hears.recv()) is not None:
            found.append(said)
    except EOFError:
        pass
    return found


def killed(url: str, seed: int, after: int) -> list[Acknowledged]:
    """The acknowledgements of a process that was killed during its work."""
    process, hears = start(work, url, seed, 10**6)
    found = [hears.recv() for _ in range(after)]
    os.kill(process.pid, signal.SIGKILL)
    found += acknowledged(hears)
    process.join()
    return found


def lost(study: Study, said: list[Acknowledged]) -> list[Acknowledged]:
    """Acknowledged events that the log lacks, or has in another order."""
    log = [_entry(event.body) for event in study.events()]
    places = {entry: place for place, entry in enumerate(log)}
    missing, last = [], -1
    for entry in said:
        place = places.get(entry, -1)
        if place < last:
            missing.append(entry)
        last = max(last, place)
    return missing


def logged(value: Any) -> Any:
    """A value, values by metric, or parameters, as they can be looked up."""
    if isinstance(value, (int, float)):
        value = {"value": value}
    return tuple(sorted(value.items())) if isinstance(value, dict) else value


def _entry(body: EventBody) -> Acknowledged:
    if body["kind"] == "applied":
        return "applied", logged(body["params"])
    return body["kind"], body.get("id"), *([logged(body["value"])] if "value" in body else [])


__all__ = ["HeliotropeError", "acknowledged", "killed", "logged", "lost", "start", "step", "work"]
