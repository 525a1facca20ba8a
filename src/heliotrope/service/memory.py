"""The states of studies in memory, and the requests that use them, within a limit of bytes.

A request is admitted once its study's state and its own work fit. The work takes about as much as
the state: a new model and a belief in the past are built beside the present one.

======================================  ========  ====================  ====================
study                                   state     most in its requests  charged with a request
======================================  ========  ====================  ====================
2 options, 300 results                  0.16 MB   0.6 MB                1.1 MB, then 0.3 MB
a space of 3 coordinates, 100 results   0.7 MB    2.9 MB                1.0 MB, then 1.4 MB
200 options, 300 results                3.7 MB    5.5 MB                8.0 MB, then 7.4 MB
2,000 options, 6 results                52 MB     103 MB                129 MB, then 103 MB
======================================  ========  ====================  ====================

The requests were an ask, a tell, a belief now and one in the past; figures by tracemalloc.

A state is measured after its first request and as it grows, and the size is remembered if it
exceeds what was expected from the configuration. Without room the least recently used states leave
the memory. If all are in use, the request waits, and is refused after some seconds. A study that
exceeds the limit by itself is served while no other request is.
"""

import asyncio
import ctypes
import gc
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from threading import Condition
from time import monotonic
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, TypeAlias, TypeVar

import numpy as np

from heliotrope.domains import Finite
from heliotrope.service.errors import RequestError
from heliotrope.spaces import Options
from heliotrope.study import Study, StudyConfig
from heliotrope.study.command_fields import Command

T = TypeVar("T")
_Waiting: TypeAlias = tuple[Command[Any], asyncio.Future[Any]]
Using: TypeAlias = "Callable[[HeldStudy], AbstractContextManager[None]]"
"""Admits a request that uses the state of a study."""

PATIENCE = 10.0  # seconds to wait for room
_WAITING = 64  # requests that may wait at a time: each has a thread
_RETRY_AFTER = "3"  # seconds
_MMAP_THRESHOLD, _LARGE = -3, 4_000_000  # a parameter of mallopt(), and bytes
_LEAST = 500_000  # bytes expected of a state
_PER_POINT, _PER_COORDINATE = 16_000, 8  # bytes expected of a point, and of each coordinate of it
_LARGEST_BATCH = 64  # requests: the first waits for the last
_SELDOM = 64  # most events between two measurements; until then their number doubles
_SHARED = (type, ModuleType, BuiltinFunctionType)  # the program holds them anyway


class NoRoomError(RequestError):
    """The states in use leave no room for another one."""

    def __init__(self) -> None:
        expected, got = "room in the memory for this study", "other studies in use, which fill it"
        super().__init__(503, "memory", expected, got, "Send the request again later.")
        self.headers = {"Retry-After": _RETRY_AFTER}


def return_large_arrays() -> None:
    """Make this process return each large array to the system when it is freed.

    Otherwise glibc keeps them for later ones: after six studies of 2,000 options at once a process
    held 620 MB, of which 206 MB were in use, instead of 198 MB.
    """
    if sys.platform == "linux":
        with suppress(AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)


class HeldStudy:
    """A study whose requests form batches, which share a thread and a sync to disk.

    Requests that arrive during one batch form the next. A thread for each request would cost more
    processor time than the decisions themselves. ``size`` is the number of bytes of its state, at
    first as expected, later as measured.
    """

    def __init__(self, study: Study, using: Using = lambda _: nullcontext()) -> None:
        self.study, self._using = study, using
        self.size, self.is_loaded, self.users = 0, False, 0  # users: requests
        self._measured = 0  # number of the event after which it was measured
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None

    def measure(self) -> int | None:
        """The bytes of the state, or None if they have hardly changed."""
        state, base = self.study.in_memory()
        if state is None or state.seq < min(2 * self._measured, self._measured + _SELDOM):
            return None
        self._measured = state.seq
        return measured_bytes((state, base))

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
            outcomes = await loop.run_in_executor(None, self._do_all, commands)
        except Exception as error:
            outcomes = [error] * len(batch)
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            if future.done():  # the client has disconnected
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    def _do_all(self, commands: Sequence[Command[Any]]) -> list[Any]:
        with self._using(self):
            return self.study.do_all(commands)


class StudyMemory:
    """The studies of this process by name, least recently used first, and the bytes in use."""

    def __init__(self, limit: int, count: Callable[[int], None]) -> None:
        self._limit, self._count = limit, count  # bytes; reports the number of states
        self._held: OrderedDict[str, HeldStudy] = OrderedDict()
        self._larger: dict[str, int] = {}  # by uid, the bytes of states larger than expected
        self._taken = 0  # bytes of states and of requests in progress
        self._loaded = self._running = self._waiting = 0  # states; requests
        self._changed = Condition()

    def find(self, name: str, uid: str | None) -> HeldStudy | None:
        """A study of this name, and with this uid if one is given."""
        with self._changed:
            held = self._held.get(name)
            if held is None or uid not in (None, held.study.uid):
                return None
            self._held.move_to_end(name)
            return held

    def hold(self, study: Study) -> HeldStudy:
        """Keep a study, unless another thread has kept it already."""
        with self._changed:
            held = self._held.get(study.name)
            if held is None or held.study.uid != study.uid:
                self._leave(study.name)
                held = self._held[study.name] = HeldStudy(study, self.using)
        return held

    def release(self, held: HeldStudy) -> None:
        """Drop a study, such as one that is deleted, once no request uses it."""
        with self._changed:
            if self._held.get(held.study.name) is held:
                self._leave(held.study.name)

    def of_study(self, study: Study) -> int:
        """The bytes of the state of a study, as measured before or as expected."""
        with self._changed:
            measured = self._larger.get(study.uid)
        return expected_bytes(study.first_config()) if measured is None else measured

    @contextmanager
    def using(self, held: HeldStudy, *, wait: bool = True) -> Iterator[None]:
        """Use the state of a study; NoRoomError if it and the request do not fit in time."""
        size = held.size or self.of_study(held.study)
        with self._changed:
            held.size, held.users = held.size or size, held.users + 1
        try:
            with self.room(held.size, held, wait=wait):
                yield
        finally:
            self._finish(held)

    @contextmanager
    def room(
        self, work: int, held: HeldStudy | None = None, *, wait: bool = True
    ) -> Iterator[None]:
        """Room for a request of this many bytes, and for the state that it uses."""
        with self._changed:
            self._wait_for_room(work, held, PATIENCE if wait else 0.0)
            self._taken, self._running = self._taken + work, self._running + 1
            if held is not None and not held.is_loaded:
                held.is_loaded = True
                self._add(1, held.size)
        try:
            yield
        finally:
            with self._changed:
                self._taken, self._running = self._taken - work, self._running - 1
                self._changed.notify_all()

    def _wait_for_room(self, work: int, held: HeldStudy | None, patience: float) -> None:
        end = monotonic() + patience
        while not self._makes_room(work, held):
            left = end - monotonic()
            if left <= 0.0 or self._waiting == _WAITING:
                raise NoRoomError
            self._waiting += 1
            self._changed.wait(left)
            self._waiting -= 1

    def _makes_room(self, work: int, held: HeldStudy | None) -> bool:
        """Drop unused states, and return whether a request fits; one that is alone always does."""
        need = work if held is None or held.is_loaded else work + held.size
        if self._taken + need > self._limit:
            self._drop_unused(need)
        return self._taken + need <= self._limit or not self._running

    def _drop_unused(self, need: int) -> None:
        for held in [held for held in self._held.values() if held.is_loaded and not held.users]:
            if self._taken + need <= self._limit:
                return
            self._leave(held.study.name)

    def _leave(self, name: str) -> None:
        """Keep a study no longer; requests that use its state finish before it is dropped."""
        held = self._held.pop(name, None)
        if held is not None and not held.users:
            self._unload(held)

    def _finish(self, held: HeldStudy) -> None:
        """Note the end of a request, and the size of the state by then."""
        size = held.measure()
        with self._changed:
            held.users -= 1
            if size is not None and held.is_loaded:
                self._resize(held, size)
            if not held.users and self._held.get(held.study.name) is not held:
                self._unload(held)
            elif not held.users and not held.is_loaded:  # it was refused
                del self._held[held.study.name]
            self._changed.notify_all()

    def _resize(self, held: HeldStudy, size: int) -> None:
        self._add(0, size - held.size)
        if size > held.size:
            self._larger[held.study.uid] = size
        held.size = size

    def _unload(self, held: HeldStudy) -> None:
        if held.is_loaded:
            held.is_loaded = False
            self._add(-1, -held.size)
            held.study.unload()

    def _add(self, states: int, size: int) -> None:
        """Change the number of states and their bytes."""
        self._loaded, self._taken = self._loaded + states, self._taken + size
        self._count(self._loaded)


def expected_bytes(config: StudyConfig) -> int:
    """A generous guess of the memory of a state before it is measured, from the table above."""
    space = config.space
    if isinstance(space, Options):  # its domain may be large: it is not built here
        points = len(space.names)
        coordinates = points if space.features is None else space.features.shape[1]
    else:
        domain = config.adapter.domain
        points = len(domain) if isinstance(domain, Finite) else 0
        coordinates = domain.dimension
    metric_bytes = _LEAST + points * (_PER_POINT + _PER_COORDINATE * coordinates)
    return int(metric_bytes * len(config.metrics))


def measured_bytes(root: object) -> int:
    """The bytes of an object and of all that it refers to, each counted once.

    Only the program is left out: modules, classes and the globals of functions. A view counts with
    the whole array that it is a view of. 10,000 objects take about 5 ms.
    """
    total, seen, left = 0, set[int](), [root]
    while left:
        value = left.pop()
        if id(value) in seen or isinstance(value, _SHARED):
            continue
        seen.add(id(value))
        total += sys.getsizeof(value)  # of an array: with its numbers, unless it is a view
        left.extend(_parts(value))
    return total


def _parts(value: object) -> list[Any]:
    if isinstance(value, FunctionType):
        return [value.__closure__, value.__defaults__, value.__kwdefaults__]
    if isinstance(value, np.ndarray):
        return [value.base, *gc.get_referents(value)]
    return gc.get_referents(value)
