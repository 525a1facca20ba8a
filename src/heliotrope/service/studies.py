"""The studies of one process; recently used ones stay in memory, within a budget."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeAlias, TypeVar

from heliotrope.domains import Domain, Finite
from heliotrope.errors import InputError, UnknownStudyError, located
from heliotrope.service.errors import RequestError
from heliotrope.service.settings import Limits
from heliotrope.spaces import Options
from heliotrope.storage import Journal, Store, StudyInfo
from heliotrope.storage.protocol import as_name
from heliotrope.study import Study, StudyConfig
from heliotrope.study.command_fields import Command
from heliotrope.study.estimators import Estimators
from heliotrope.study.space_adapter import SpaceAdapter

T = TypeVar("T")
_Waiting: TypeAlias = tuple[Command[Any], asyncio.Future[Any]]

_LARGEST_BATCH = 64  # requests: the first waits for the last


class HeldStudy:
    """A study in memory; requests to it form batches, which share a thread and a sync to disk.

    Requests that arrive during one batch form the next. A thread for each request would cost more
    processor time than the decisions themselves.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.size = 0.0  # megabytes
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None

    async def do(self, command: Command[T]) -> T:
        """Carry out a command, and return its result once it is on disk."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((command, future))
        if self._task is None:  # it starts a little later: simultaneous requests join the batch
            self._task = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        try:
            while self._waiting:
                batch = self._waiting[:_LARGEST_BATCH]
                del self._waiting[:_LARGEST_BATCH]
                await self._run(batch)
        finally:
            self._task = None

    async def _run(self, batch: Sequence[_Waiting]) -> None:
        commands, loop = [command for command, _ in batch], asyncio.get_running_loop()
        try:
            outcomes = await loop.run_in_executor(None, self.study.do_all, commands)
        except Exception as error:
            outcomes = [error] * len(batch)
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            if future.done():  # the client has disconnected
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)


class Studies:
    """Studies by name; the least recently used leave the memory when the budget is exceeded.

    A study that another process deleted leaves it at its next use, also if a new study has taken
    its name.
    """

    def __init__(
        self,
        store: Store,
        journal: Journal,
        limits: Limits,
        count: Callable[[int], None],
        estimators: Estimators | None = None,
    ) -> None:
        self.store, self._journal, self._limits = store, journal, limits
        self._estimators = estimators
        self._count = count  # reports the number of studies in memory
        self._held: OrderedDict[str, HeldStudy] = OrderedDict()
        self._lock = Lock()

    def create(self, name: str, data: dict[str, Any]) -> Study:
        """Create a study from its description as JSON, within the limits."""
        with located("name"):
            as_name(name)
        config = StudyConfig.from_json(data)
        _check_size(config, self._limits)
        if self.store.count() >= self._limits.studies:
            most = f"at most {self._limits.studies:,} studies"
            raise RequestError(422, "limit", most, "one more", "Delete some first.")
        study = Study.create_from(
            name, config, self.store, journal=self._journal, estimators=self._estimators
        )
        return self._hold(name, study).study

    def find(self, name: str) -> StudyInfo:
        """The store's entry of a study; UnknownStudyError."""
        with _no_such_name():
            return self.store.find(name)

    def use(self, name: str, action: Callable[[Study], T], uid: str | None = None) -> T:
        """Call a function with a study, which has this uid if one is given; UnknownStudyError."""
        held = self._get(name, uid)
        try:
            return action(held.study)
        except UnknownStudyError:  # a new study may have its name
            self._release(name, held.study)
            return action(self._get(name, uid).study)

    async def do(self, name: str, command: Command[T]) -> T:
        """Carry out a command, without a thread that waits for the disk; UnknownStudyError."""
        uid: str | None = getattr(command, "uid", None)
        held = await self._get_async(name, uid)
        try:
            return await held.do(command)
        except UnknownStudyError:  # as in use()
            self._release(name, held.study)
            return await (await self._get_async(name, uid)).do(command)

    def do_together(self, commands: Sequence[tuple[str, Command[Any]]]) -> list[Any]:
        """Carry out commands to many studies with one sync; return each result or error."""
        by_study: dict[str, list[int]] = {}
        for number, (name, _) in enumerate(commands):
            by_study.setdefault(name, []).append(number)
        begun = list[tuple[list[int], Callable[[], list[Any]]]]()
        with self._journal.together():
            for name, numbers in by_study.items():
                some = [commands[number][1] for number in numbers]
                begun.append((numbers, self._begun(name, some)))
        results: list[Any] = [None] * len(commands)
        for numbers, finish in begun:
            for number, result in zip(numbers, finish(), strict=True):
                results[number] = result
        return [
            self._again(*command) if isinstance(result, UnknownStudyError) else result
            for command, result in zip(commands, results, strict=True)
        ]

    def _begun(self, name: str, commands: Sequence[Command[Any]]) -> Callable[[], list[Any]]:
        try:
            return self._get(name, None).study.begin_all(commands)
        except Exception as error:
            failed = [error for _ in commands]
            return lambda: failed

    def _again(self, name: str, command: Command[T]) -> T | Exception:
        """The outcome of a command whose study may have been replaced, as in use()."""
        try:
            return self.use(name, lambda study: study.do(command), getattr(command, "uid", None))
        except Exception as error:
            return error

    def delete(self, name: str, uid: str | None = None) -> None:
        """Delete a study, which has this uid if one is given; UnknownStudyError."""

        def remove(study: Study) -> None:
            self._release(name, study)
            study.delete()

        self.use(name, remove, uid)

    def _get(self, name: str, uid: str | None) -> HeldStudy:
        held = self._in_memory(name, uid)
        if held is None:
            with _no_such_name():
                study = Study(self.store, name, journal=self._journal, estimators=self._estimators)
            held = self._hold(name, study)
        if uid not in (None, held.study.uid):
            got = "another study of the same name"
            raise UnknownStudyError("the study with this uid", got, "", "uid")
        return held

    async def _get_async(self, name: str, uid: str | None) -> HeldStudy:
        held = self._in_memory(name, uid)
        if held is not None:
            return held
        return await asyncio.get_running_loop().run_in_executor(None, self._get, name, uid)

    def _in_memory(self, name: str, uid: str | None) -> HeldStudy | None:
        with self._lock:
            held = self._held.get(name)
            if held is None or uid not in (None, held.study.uid):
                return None
            self._held.move_to_end(name)
            return held

    def _hold(self, name: str, study: Study) -> HeldStudy:
        """Keep a study in memory, unless another thread has kept it already."""
        with self._lock:
            held = self._held.get(name)
            if held is None or held.study.uid != study.uid:
                held = self._held[name] = HeldStudy(study)
        try:
            held.size = megabytes(held.study.config)
        except BaseException:
            self._release(name, held.study)
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

    def _release(self, name: str, study: Study) -> None:
        with self._lock:
            held = self._held.get(name)
            if held is not None and held.study is study:
                del self._held[name]
            self._count(len(self._held))


@contextmanager
def _no_such_name() -> Iterator[None]:
    """Raise UnknownStudyError for a name that no study can have."""
    try:
        yield
    except InputError as error:
        raise UnknownStudyError("the name of a study", error.got, error.advice) from None


def megabytes(config: StudyConfig) -> float:
    """Rough memory of a study, from measurements.

    n independent points need n x n matrices, others some rows of n.
    """
    domain = config.adapter.domain
    if not isinstance(domain, Finite):
        return 5.0
    return 1.5 + ((len(domain) / 50) ** 2 if config.adapter.is_independent else len(domain) / 20)


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
