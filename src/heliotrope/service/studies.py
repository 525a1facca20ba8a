"""The studies of one process: created within limits, and used as the memory permits.

Demo studies are driven by the service itself: two moving peaks.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from threading import Event, Lock, Thread
from typing import Any, TypeVar

import numpy as np

from heliotrope.domains import Domain, Finite
from heliotrope.errors import HeliotropeError, InputError, UnknownStudyError, located
from heliotrope.policies.learner import Estimation, Update
from heliotrope.service import Limits
from heliotrope.service.errors import RequestError, log
from heliotrope.service.memory import HeldStudy, StudyMemory, expected_bytes
from heliotrope.spaces import Options
from heliotrope.storage import Journal, Store, StudyInfo
from heliotrope.storage.protocol import as_name
from heliotrope.study import Study, StudyConfig
from heliotrope.study.command_fields import Command
from heliotrope.study.estimators import Estimators, Learn
from heliotrope.study.fleets import MOST as MOST_ALIKE
from heliotrope.study.results import Summary
from heliotrope.study.space_adapter import SpaceAdapter
from heliotrope.surroundings import REAL, Surroundings
from heliotrope.validation import Array

T = TypeVar("T")
STEPS = 300
_PAUSE = 0.2  # seconds between two steps
_NOISE = 0.1  # standard deviation
_SPACE = {name: {"type": "real", "low": 0.0, "high": 1.0} for name in ("x", "y")}


class Studies:
    """Studies by name, of which the recently used stay in memory.

    A study that another process deleted leaves it at its next use, also if a new study has taken
    its name. ``count`` reports the number of studies in memory.
    """

    def __init__(
        self,
        store: Store,
        journal: Journal,
        limits: Limits,
        count: Callable[[int], None],
        estimators: Estimators | None = None,
        surroundings: Surroundings = REAL,
    ) -> None:
        self.store, self.journal, self._limits = store, journal, limits
        self._estimators, self.surroundings = estimators, surroundings
        self._memory = StudyMemory(1_000_000 * limits.memory, count)

    def create(self, name: str, data: dict[str, Any]) -> Summary:
        """Create a study from its description as JSON, within the limits."""
        with located("name"):
            as_name(name)
        config = StudyConfig.from_description(data)
        with self._memory.room(2 * (expected_bytes(config) + self._largest(config.like))):
            _check_size(config, self._limits)
            if self.store.count() >= self._limits.studies:
                most = f"at most {self._limits.studies:,} studies"
                raise RequestError(422, "limit", most, "one more", "Delete some first.")
            study = Study.create_from(
                name, config, self.store, journal=self.journal, surroundings=self.surroundings
            )
            return study.summary()

    def _largest(self, names: Sequence[str]) -> int:
        """The bytes of the largest of some studies; create reads them one after the other."""
        sizes = [self._memory.of_study(Study(self.store, name)) for name in names[:MOST_ALIKE]]
        return max(sizes, default=0)

    def find(self, name: str) -> StudyInfo:
        """The store's entry of a study; UnknownStudyError."""
        with _no_such_name():
            return self.store.find(name)

    def use(self, name: str, action: Callable[[Study], T], uid: str | None = None) -> T:
        """Call a function with a study, which has this uid if one is given; UnknownStudyError."""

        def used(held: HeldStudy) -> T:
            with self._memory.using(held):
                return action(held.study)

        return self._with_study(name, uid, used)

    async def do(self, name: str, command: Command[T]) -> T:
        """Carry out a command, without a thread that waits for the disk; UnknownStudyError."""
        uid: str | None = getattr(command, "uid", None)
        held = await self._get_async(name, uid)
        try:
            return await held.do(command)
        except UnknownStudyError:  # as in _with_study()
            self._memory.release(held)
            return await (await self._get_async(name, uid)).do(command)

    @contextmanager
    def using(self, name: str, *, wait: bool) -> Iterator[Study]:
        """Use a study for a while; NoRoomError without room, with ``wait`` after some seconds."""
        held = self._get(name, None)
        with self._memory.using(held, wait=wait):
            yield held.study

    def delete(self, name: str, uid: str | None = None) -> None:
        """Delete a study, which has this uid if one is given; UnknownStudyError."""

        def remove(held: HeldStudy) -> None:
            self._memory.release(held)
            held.study.delete()

        self._with_study(name, uid, remove)

    def _with_study(self, name: str, uid: str | None, action: Callable[[HeldStudy], T]) -> T:
        held = self._get(name, uid)
        try:
            return action(held)
        except UnknownStudyError:  # a new study may have its name
            self._memory.release(held)
            return action(self._get(name, uid))

    def _get(self, name: str, uid: str | None) -> HeldStudy:
        held = self._memory.find(name, uid)
        if held is None:
            held = self._opened(name)
        if uid not in (None, held.study.uid):
            got = "another study of the same name"
            raise UnknownStudyError("the study with this uid", got, "", "uid")
        return held

    def _opened(self, name: str) -> HeldStudy:
        waiting = None if self._estimators is None else AdmittedEstimators(self._estimators)
        with _no_such_name():
            study = Study(
                self.store,
                name,
                journal=self.journal,
                estimators=waiting,
                surroundings=self.surroundings,
            )
        held = self._memory.hold(study)
        if waiting is not None:
            waiting.admit = partial(self._memory.using, held)
        return held

    async def _get_async(self, name: str, uid: str | None) -> HeldStudy:
        held = self._memory.find(name, uid)
        if held is not None:
            return held
        return await asyncio.get_running_loop().run_in_executor(None, self._get, name, uid)


class AdmittedEstimators:
    """Estimators whose results are taken once there is room for the state of the study."""

    def __init__(self, estimators: Estimators) -> None:
        self._estimators = estimators
        self.admit: Callable[[], AbstractContextManager[None]] = nullcontext

    def consider(self, uid: str, due: Callable[[], Estimation | None], learn: Learn) -> None:
        def learn_admitted(update: Update) -> None:
            with self.admit():
                learn(update)

        self._estimators.consider(uid, due, learn_admitted)


@contextmanager
def _no_such_name() -> Iterator[None]:
    """Raise UnknownStudyError for a name that no study can have."""
    try:
        yield
    except InputError as error:
        raise UnknownStudyError("the name of a study", error.got, error.advice) from None


def _check_size(config: StudyConfig, limits: Limits) -> None:
    chosen = "options" if isinstance(config.space, Options) else "space"
    _check_domain(SpaceAdapter(config.space).domain, limits, chosen)
    _check_domain(config.adapter.domain, limits, "context")


def _check_domain(domain: Domain, limits: Limits, field: str) -> None:
    listed = isinstance(domain, Finite)
    size = len(domain) if isinstance(domain, Finite) else domain.dimension
    most, what = (limits.points, "points") if listed else (limits.coordinates, "coordinates")
    if size > most:
        raise InputError(f"a domain of at most {most:,} {what}", f"{size:,}", "", field)


# Demos


class Demos:
    """Threads that each ask and tell for some hundred steps."""

    def __init__(self, studies: Studies, most: int, pause: float = _PAUSE) -> None:
        self._studies, self._most, self._pause = studies, most, pause
        self._threads: set[Thread] = set()
        self._lock, self._stop = Lock(), Event()

    def start(self) -> str:
        """Create a study and drive it; return its name; RequestError if too many run."""
        with self._lock:
            self._threads = {thread for thread in self._threads if thread.is_alive()}
            if len(self._threads) >= self._most:
                raise RequestError(429, "busy", f"at most {self._most} demos at a time", "one more")
            name = f"demo-{self._studies.surroundings.uid()[:6]}"
            self._studies.create(name, {"space": _SPACE})
            thread = Thread(target=self._drive, args=(name,), name=name, daemon=True)
            self._threads.add(thread)
            thread.start()
        return name

    def close(self) -> None:
        """Stop all demos, and wait for their threads."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _drive(self, name: str) -> None:
        noise = np.random.default_rng([0, 1]).normal(scale=_NOISE, size=STEPS)
        try:
            for error in noise.tolist():
                self._studies.use(name, partial(_step, noise=error))
                if self._stop.wait(self._pause):
                    return
        except HeliotropeError as reason:  # such as a deleted study
            log.info("%s ends: %s", name, reason)
        except Exception:  # a thread can only log it
            log.exception("%s ends", name)


def peaks(x: Array, t: float) -> float:
    """Two peaks that move in the unit square and take turns in being the higher one."""
    phase = 2.0 * np.pi * t / 200.0
    height = 0.5 + 0.4 * np.sin(0.7 * phase)
    first = 0.5 + 0.35 * np.array([np.cos(phase), np.sin(phase)])
    second = 0.5 - 0.35 * np.array([np.sin(0.6 * phase), np.cos(0.6 * phase)])
    return float(height * _peak(x - first) + (1.0 - height) * _peak(x - second))


def _peak(distance: Array) -> float:
    return float(np.exp(-(distance @ distance) / 0.05))


def _step(study: Study, noise: float) -> None:
    ask = study.ask()
    x = np.array([ask.params[name] for name in _SPACE])
    study.tell(ask.id, peaks(x, ask.t) + noise)
