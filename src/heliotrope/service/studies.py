"""The studies of one process: those in use are held in memory, within a budget."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from heliotrope.domains import Domain, Finite
from heliotrope.errors import ConflictError, InputError, UnknownStudyError, located
from heliotrope.service.lines import Line
from heliotrope.service.refusals import LimitError
from heliotrope.service.settings import Limits
from heliotrope.spaces import Options
from heliotrope.storage import Append, Event, GroupCommit, Store, StudyInfo
from heliotrope.storage.protocol import as_name
from heliotrope.study import Setup, Study
from heliotrope.study.commands import Command
from heliotrope.study.terrain import Terrain

T = TypeVar("T")
Written = Callable[[str, int], None]
"""Told of each append that is on disk: the study's uid, and the number of its last event."""


class Journal:
    """A group commit that tells when something was written, and when not for a conflict."""

    def __init__(self, store: Store, written: Written, conflict: Callable[[], None]) -> None:
        self._group = GroupCommit(store)
        self._written, self._conflict = written, conflict

    def submit(self, append: Append, follows: Future[int] | None = None) -> Future[int]:
        """Have events written."""
        future = self._group.submit(append, follows)
        future.add_done_callback(lambda done: self._tell(append.study, done))
        return future

    def close(self) -> None:
        """Write what waits, and stop."""
        self._group.close()

    def _tell(self, uid: str, done: Future[int]) -> None:
        error = done.exception()
        if error is None:
            self._written(uid, done.result())
        elif isinstance(error, ConflictError):
            self._conflict()


@dataclass
class _Held:
    study: Study
    line: Line
    size: float = 0.0  # megabytes

    def checked(self, uid: str | None) -> Study:
        """The study, if it is the one that was meant."""
        if uid not in (None, self.study.uid):
            raise UnknownStudyError("the study of that uid", "another one of its name", "", "uid")
        return self.study


class Studies:
    """Studies by name; the ones used longest ago are let go when there are too many.

    Whatever happened to a study elsewhere is noticed when it is used: one that was deleted, also
    if another one has its name now, is let go.
    """

    def __init__(
        self, store: Store, journal: Journal, limits: Limits, count: Callable[[int], None]
    ) -> None:
        self._store, self._journal, self._limits = store, journal, limits
        self._count = count  # told how many are held
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._lock = Lock()

    def create(self, name: str, data: dict[str, Any]) -> Study:
        """Begin a study of a setup as JSON has it, if it is not too large."""
        with located("name"):
            as_name(name)
        setup = Setup.from_json(data)
        _check_size(setup, self._limits)
        if self._store.count() >= self._limits.studies:
            raise LimitError(
                f"at most {self._limits.studies:,} studies", "one more", "Delete some first."
            )
        study = Study.create_from(name, setup, self._store, journal=self._journal)
        return self._hold(name, study).study

    def find(self, name: str) -> StudyInfo:
        """What the store says of a study; UnknownStudyError."""
        with _no_such_name():
            return self._store.find(name)

    def page(self, after: str, limit: int) -> list[StudyInfo]:
        """Studies in the order of their names, those beyond the name ``after``."""
        with located("after"):
            return self._store.studies(after, limit)

    def events(self, uid: str, after: int, limit: int) -> list[Event]:
        """Events of a study beyond a number."""
        return self._store.events(uid, after, limit)

    def use(self, name: str, action: Callable[[Study], T], uid: str | None = None) -> T:
        """Do something with a study, of that uid if one is given; UnknownStudyError."""
        held = self._get(name)
        try:
            return action(held.checked(uid))
        except UnknownStudyError:  # begun anew under its name, perhaps
            self._let_go(name, held.study)
            return action(self._get(name).checked(uid))

    async def do(self, name: str, command: Command[T]) -> T:
        """Have a study do a command, and wait for the disk without a thread; UnknownStudyError."""
        held = await self._get_soon(name)
        try:
            return await held.line.do(command)
        except UnknownStudyError:  # as in use
            self._let_go(name, held.study)
            held = await self._get_soon(name)
            return await held.line.do(command)

    def delete(self, name: str, uid: str | None = None) -> None:
        """Remove a study, of that uid if one is given; UnknownStudyError."""

        def remove(study: Study) -> None:
            self._let_go(name, study)
            study.delete()

        self.use(name, remove, uid)

    def _get(self, name: str) -> _Held:
        held = self._at_hand(name)
        if held is not None:
            return held
        with _no_such_name():
            study = Study(self._store, name, journal=self._journal)
        return self._hold(name, study)

    async def _get_soon(self, name: str) -> _Held:
        held = self._at_hand(name)
        if held is not None:
            return held
        return await asyncio.get_running_loop().run_in_executor(None, self._get, name)

    def _at_hand(self, name: str) -> _Held | None:
        with self._lock:
            held = self._held.get(name)
            if held is not None:
                self._held.move_to_end(name)
            return held

    def _hold(self, name: str, study: Study) -> _Held:
        """Keep a study, or take the one that another thread was faster to keep."""
        with self._lock:
            held = self._held.setdefault(name, _Held(study, Line(study)))
        try:
            held.size = megabytes(held.study.setup)
        except BaseException:
            self._let_go(name, held.study)
            raise
        self._make_room()
        return held

    def _make_room(self) -> None:
        with self._lock:
            while len(self._held) > 1 and self._total() > self._limits.memory:
                self._held.popitem(last=False)
            self._count(len(self._held))

    def _total(self) -> float:
        return sum(held.size for held in self._held.values())

    def _let_go(self, name: str, study: Study) -> None:
        with self._lock:
            held = self._held.get(name)
            if held is not None and held.study is study:
                del self._held[name]
            self._count(len(self._held))


@contextmanager
def _no_such_name() -> Iterator[None]:
    """A name that no study can have is one of no study."""
    try:
        yield
    except InputError as error:
        raise UnknownStudyError("the name of a study", error.got, error.advice) from None


def megabytes(setup: Setup) -> float:
    """Roughly what a study takes in memory, as it was measured.

    Of n points that share nothing there are matrices of n x n, of others some rows of n.
    """
    domain = setup.terrain.domain
    if not isinstance(domain, Finite):
        return 5.0
    return 1.5 + ((len(domain) / 50) ** 2 if setup.terrain.apart else len(domain) / 20)


def _check_size(setup: Setup, limits: Limits) -> None:
    chosen = "options" if isinstance(setup.space, Options) else "space"
    _check_domain(Terrain(setup.space).domain, limits, chosen)
    _check_domain(setup.terrain.domain, limits, "context")


def _check_domain(domain: Domain, limits: Limits, field: str) -> None:
    listed = isinstance(domain, Finite)
    size = len(domain) if isinstance(domain, Finite) else domain.dimension
    most, what = (limits.points, "points") if listed else (limits.coordinates, "coordinates")
    if size > most:
        raise InputError(f"a domain of at most {most:,} {what}", f"{size:,}", "", field)
