"""The surfaces that play plain worlds: an optimizer, a study in memory, and a reopened study."""

from __future__ import annotations

import json
import sqlite3
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import closing
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heliotrope.lab.plain.results import Told
from heliotrope.lab.plain.truth import LIMITED, Truth
from heliotrope.live import Live
from heliotrope.optimizer import Optimizer
from heliotrope.policies import auto
from heliotrope.storage import Append, MemoryStore, Store, open_store
from heliotrope.study import Study
from heliotrope.surroundings import Now, Surroundings

_STARTED = 1.7e9  # seconds since 1970


@dataclass(frozen=True)
class Asked:
    """An open evaluation: its handle at the surface, and the parameters or option."""

    handle: Any
    choice: Any


class Surface(ABC):
    """What a user calls. Each method is one call, or a few queries."""

    @abstractmethod
    def ask(self, seconds: float, context: Any) -> Asked:
        """Ask what to measure, at a time since the start."""

    @abstractmethod
    def tell(self, asked: Asked, told: Told) -> None:
        """Tell a result."""

    @abstractmethod
    def cancel(self, asked: Asked) -> None:
        """Cancel an evaluation."""

    @abstractmethod
    def add(self, choice: Any, told: Told, seconds: float, context: Any) -> None:
        """Add the result of a choice of the user."""

    @abstractmethod
    def numbers(self) -> list[float]:
        """Numbers of the best and of a belief that the user reads; they must be finite."""

    @abstractmethod
    def twin(self) -> Surface:
        """A copy, saved and opened again, that shares nothing with this surface."""

    def following(self, twin: Surface) -> Surface:
        """The one that continues after the comparison: the twin, if it accepts the open handles."""
        return twin

    def close(self) -> None:  # noqa: B027 - most surfaces hold nothing open
        """Free files."""


class OptimizerSurface(Surface):
    """An optimizer with the default policy, saved in a file and loaded."""

    def __init__(self, truth: Truth) -> None:
        world = truth.world
        direction = None if world.limited else world.direction
        live = Live(**goals_of(truth)) if world.limited else None
        self._clock, policy = world.clock is not None, auto(world.space)
        self._opt = Optimizer(world.space, policy, world.seed, direction=direction, live=live)

    def ask(self, seconds: float, context: Any) -> Asked:
        asked = self._opt.ask(self._time(seconds))
        return Asked(asked.id, _choice(asked))

    def tell(self, asked: Asked, told: Told) -> None:
        self._opt.tell(asked.handle, told.get("value"), **_noise(told))

    def cancel(self, asked: Asked) -> None:
        self._opt.cancel(asked.handle)

    def add(self, choice: Any, told: Told, seconds: float, context: Any) -> None:
        begun = self._opt.begin(choice, self._time(seconds))
        self._opt.tell(begun, told.get("value"), **_noise(told))

    def numbers(self) -> list[float]:
        best = self._opt.best()
        belief = self._opt.belief(None, [_choice(best)])
        return [best.mean, best.std, *belief.mean.tolist(), *belief.std.tolist()]

    def twin(self) -> OptimizerSurface:
        twin = copy(self)
        with tempfile.TemporaryDirectory() as folder:
            self._opt.save(Path(folder, "saved"))
            twin._opt = Optimizer.load(Path(folder, "saved"))
        return twin

    def _time(self, seconds: float) -> float | None:
        return seconds if self._clock else None


class StudySurface(Surface):
    """A study in memory; its twin is replayed from its log."""

    def __init__(self, truth: Truth, policy: Mapping[str, Any] | None = None) -> None:
        world, self._seconds = truth.world, 0.0
        goals = goals_of(truth) if world.limited else {"direction": world.direction}
        self._study = Study.create(
            "plain",
            world.space,
            context=world.context,
            clock=world.clock,
            seed=world.seed,
            policy=policy,
            store=self._store(),
            now=self._now,
            **goals,
        )

    def ask(self, seconds: float, context: Any) -> Asked:
        self._seconds = seconds
        asked = self._study.ask(context=context)
        return Asked(asked.id, _choice(asked))

    def tell(self, asked: Asked, told: Told) -> None:
        self._study.tell(asked.handle, **told)

    def cancel(self, asked: Asked) -> None:
        self._study.cancel(asked.handle)

    def add(self, choice: Any, told: Told, seconds: float, context: Any) -> None:
        self._seconds = seconds
        self._study.add(choice, context=context, **told)

    def numbers(self) -> list[float]:
        summary, belief = self._study.summary(), self._study.belief()
        best = summary.best
        listed = [best.mean, best.std] if best is not None else []
        return [*listed, *_numbers_in(belief.to_json())]

    def twin(self) -> StudySurface:
        twin = copy(self)
        twin._study = replayed(self._study, self._now)
        return twin

    def following(self, twin: Surface) -> Surface:
        return self

    def _store(self) -> Store:
        return MemoryStore()

    def _now(self) -> float:
        return _STARTED + self._seconds


class ReopenedSurface(StudySurface):
    """A study in a SQLite file, which is closed and opened again."""

    def __init__(self, truth: Truth) -> None:
        self._folder = tempfile.TemporaryDirectory()
        super().__init__(truth)

    def twin(self) -> ReopenedSurface:
        """The study of a copy of the file."""
        twin = copy(self)
        twin._folder = tempfile.TemporaryDirectory()
        with (
            closing(sqlite3.connect(self._file())) as file,
            closing(sqlite3.connect(twin._file())) as other,
        ):
            file.backup(other)
        twin._opened = open_store(f"sqlite:///{twin._file()}")
        twin._study = Study.open("plain", twin._opened, now=twin._now)
        return twin

    def following(self, twin: Surface) -> Surface:
        self.close()
        return twin

    def close(self) -> None:
        self._opened.close()
        self._folder.cleanup()

    def _file(self) -> Path:
        return Path(self._folder.name, "study.db")

    def _store(self) -> Store:
        self._opened = open_store(f"sqlite:///{self._file()}")
        return self._opened


def replayed(study: Study, now: Now = time.time) -> Study:
    """A study that replays the events of another one, in a store of its own."""
    store = MemoryStore()
    first, *others = study.events()
    uid = store.create("twin", dict(first.body), first.at)
    for event in others:
        text = json.dumps(event.body).replace(f'"{study.uid[:12]}-', f'"{uid[:12]}-')
        store.append([Append(uid, event.seq - 1, [json.loads(text)], event.at)])
    return Study(store, "twin", surroundings=Surroundings(now))


def goals_of(truth: Truth) -> dict[str, Any]:
    """Two metrics, one with a limit, and a baseline that keeps it."""
    return {
        "metrics": {"gain": truth.world.direction, LIMITED: "watch"},
        "limits": {LIMITED: {"below": truth.limit}},
        "baseline": truth.baseline,
    }


def _choice(asked: Any) -> Any:
    return asked.option or asked.params


def _noise(told: Told) -> Told:
    return {name: value for name, value in told.items() if name != "value"}


def _numbers_in(tree: Any) -> list[float]:
    if isinstance(tree, Mapping):
        return [number for part in tree.values() for number in _numbers_in(part)]
    if isinstance(tree, list):
        return [number for part in tree for number in _numbers_in(part)]
    return [tree] if isinstance(tree, float) else []
