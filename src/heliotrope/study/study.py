"""A named, durable optimizer: a log of events in a store, and the state after them in memory."""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Self, TypeVar

from heliotrope.errors import HeliotropeError, StudyExistsError, located
from heliotrope.policies.learner import Update
from heliotrope.serialization.archive import read_file
from heliotrope.storage import Event, Journal, Store, open_store
from heliotrope.storage.protocol import DEFAULT_STORE
from heliotrope.study import decisions, exports, files, fleets, views
from heliotrope.study.cache import Chain, Decision, StateCache
from heliotrope.study.clocks import by_store
from heliotrope.study.command_fields import Command
from heliotrope.study.commands import Evaluation, as_time
from heliotrope.study.config import StudyConfig, check_same
from heliotrope.study.creating import CreatesInStore
from heliotrope.study.creation import NewStudy
from heliotrope.study.estimators import ConsidersEstimates
from heliotrope.study.everyday import EverydayStudy
from heliotrope.study.results import BeliefReport, Front, Summary, Track
from heliotrope.study.state import StudyState, config_of, created_event
from heliotrope.surroundings import REAL, Now, Surroundings
from heliotrope.validation import counted

T = TypeVar("T")
S = TypeVar("S", bound="Study")

_log = logging.getLogger(__name__)


class Study(CreatesInStore, EverydayStudy):
    """Ask and tell by name, from any process: when a call returns, its events are on disk.

    Several threads may share a study, and several processes may open the same study of a store.
    The page Studies of the reference describes the guarantees of each call.

    Examples
    --------
    >>> import heliotrope as ht
    >>> space = {"x": ht.Real(0, 1), "mode": ht.Categorical(["a", "b"])}
    >>> study = ht.Study.create("boiler", space, store="memory:")
    >>> ask = study.ask()
    >>> sorted(ask.params)
    ['mode', 'x']
    >>> study.tell(ask, 21.5)
    >>> [event.body["kind"] for event in study.events()]
    ['created', 'asked', 'told', 'learned']
    """

    def __init__(
        self,
        store: Store,
        name: str,
        *,
        journal: Journal | None = None,
        estimators: ConsidersEstimates | None = None,
        surroundings: Surroundings = REAL,
    ) -> None:
        self._store, self.surroundings = store, by_store(surroundings, store)
        self._estimators = estimators  # without any, a result waits for the model that is due
        self._info = store.find(name)
        written_by, now = journal or Journal(store), self.surroundings.now
        self._cache = StateCache(store, written_by, self._info.uid, now)

    @classmethod
    def _create(cls, new: NewStudy, store: Store | str, exist_ok: bool, now: Now) -> Self:
        config, surroundings = StudyConfig.of(new), Surroundings(now)
        return _with_store(
            store,
            lambda opened: cls.create_from(
                new.name, config, opened, exist_ok=exist_ok, surroundings=surroundings
            ),
        )

    @classmethod
    def create_from(
        cls,
        name: str,
        config: StudyConfig,
        store: Store,
        *,
        exist_ok: bool = False,
        journal: Journal | None = None,
        estimators: ConsidersEstimates | None = None,
        surroundings: Surroundings = REAL,
    ) -> Self:
        """Create a study from its configuration, or with ``exist_ok`` continue it.

        It starts from what the studies that it is ``like`` have learned by now.
        """
        if config.like and config.fleet is None:
            config = fleets.joined(config, lambda other: cls(store, other).state())
        with located("seed"):  # no other error is possible before there is a policy
            bare = StudyState("", config, 0.0)
        bare.extend([])  # raises an error if the policy does not fit the space
        begin = partial(
            cls, store, name, journal=journal, estimators=estimators, surroundings=surroundings
        )
        try:
            store.create(name, created_event(config), surroundings.now())
        except StudyExistsError:
            if not exist_ok:
                raise
            existing = begin()
            check_same(config, existing.config)
            return existing
        _log.info("created the study %s", name)
        return begin()

    @classmethod
    def open(cls, name: str, store: Store | str = DEFAULT_STORE, now: Now = REAL.now) -> Self:
        """Open an existing study."""
        surroundings = Surroundings(now)
        return _with_store(
            store,
            lambda opened: cls(opened, name, surroundings=surroundings)._readable(),
            make=False,
        )

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        name: str,
        store: Store | str = DEFAULT_STORE,
        now: Now = REAL.now,
    ) -> Self:
        """Create a study from a file that ``save`` of a study or of an optimizer wrote.

        It asks what the saved one would ask. A study has named parameters or options and a policy
        that is described by its name: an optimizer without these is refused with an InputError.
        """
        data = read_file(path)
        return _with_store(store, lambda opened: cls._loaded(data, str(path), name, opened, now))

    @classmethod
    def _loaded(cls, data: bytes, source: str, name: str, store: Store, now: Now) -> Self:
        surroundings = Surroundings(now)
        files.load(data, source, name, store, surroundings)
        study = cls(store, name, surroundings=surroundings)
        try:
            study._readable()
        except HeliotropeError:
            study.delete()
            raise
        return study

    @property
    def name(self) -> str:
        return self._info.name

    @property
    def uid(self) -> str:
        """The identifier of this study alone, even if a later study gets its name."""
        return self._info.uid

    @property
    def config(self) -> StudyConfig:
        """The configuration that it was created with."""
        return self._cache.read(lambda state: state.config)

    # ---- changing it

    def do(self, command: Command[T]) -> T:
        return self._cache.change(self._decision(command))

    def do_all(self, commands: Sequence[Command[Any]]) -> list[Any]:
        """Carry out several commands with one sync; return the result or the error of each."""
        return self._cache.change_all([self._decision(command) for command in commands])

    def begin_all(self, commands: Sequence[Command[Any]]) -> Callable[[], list[Any]]:
        """Decide several commands, and return a function that waits for the disk.

        That one returns the result or the error of each.
        """
        return self._cache.begin_all([self._decision(command) for command in commands])

    def consider(self) -> None:
        """Hand over the estimate that is due, if others estimate for this study."""
        self._cache.read(self._hand_over)

    def delete(self) -> None:
        """Delete the study with all its events."""
        self._store.delete(self._info.uid)
        _log.info("deleted the study %s", self.name)

    # ---- reading it

    def state(self) -> StudyState:
        """The state of all events on disk, which must not be changed."""
        return self._cache.read(lambda state: state)

    def in_memory(self) -> tuple[StudyState | None, bytes]:
        """The state in memory, if there is one, and a snapshot; only for measuring their size."""
        return self._cache.in_memory()

    def unload(self) -> None:
        """Drop the state from the memory; the next use reads it from the store."""
        self._cache.unload()

    def first_config(self) -> StudyConfig:
        """The configuration, read from the store without building the state."""
        (first,) = self.events(limit=1)
        return config_of(first.body)

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log, or at most ``limit`` events after event number ``after``."""
        return self._store.events(self._info.uid, after, limit)

    def open_asks(self) -> list[Evaluation]:
        """Open evaluations, oldest first."""
        return self._cache.read(lambda state: state.open)

    def belief(
        self,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        metric: str | None = None,
    ) -> BeliefReport:
        """The belief at a present, future or past time (default: now).

        In a study with contexts it is the belief in one context, by default that of the latest ask.
        With several metrics it is that of one ``metric``, by default the objective. With limits,
        ``safe`` says which of the choices shown keep them, and ``limits`` where they lie.
        """
        look = self._at(t, lambda state, at: views.belief(state, at, context, metric))
        return BeliefReport(self._cache.read(look)())  # without the lock: it may take a while

    def front(self, t: float | None = None, *, context: Mapping[str, Any] | None = None) -> Front:
        """The best trade-offs between several objectives, now or at a later time."""
        return Front(
            self._cache.read(self._at(t, lambda state, at: views.front(state, at, context)))
        )

    def summary(self, *, context: Mapping[str, Any] | None = None) -> Summary:
        """The configuration, the counts, the present best and the drift in words.

        In a study with contexts the best is that in one context, by default that of the latest ask.
        """
        shown = self._cache.read(
            lambda state: views.summary(state, state.time(self.surroundings.now()), context)
        )
        return Summary({"name": self.name, "uid": self.uid, **shown})

    def track(self) -> Track:
        """The results over time with their choices, and the best over time."""
        return Track(self._cache.read(views.track)())

    def file(self) -> bytes:
        """The bytes that :meth:`save` writes."""
        return self._cache.read(lambda state: files.dumps(state, self.events(limit=state.seq)))

    def export(self, kind: str = "csv") -> str:
        """All evaluations with their results, as CSV or JSON."""
        return exports.export(self.config, self.events(), kind)

    def __repr__(self) -> str:
        try:
            told = self._cache.read(lambda state: state.told)
            return f"Study({self.name!r}, {self.config.direction}, {counted(told, 'result')})"
        except HeliotropeError:  # it was deleted, or its store is closed
            return f"Study({self.name!r})"

    # ---- private

    def _decision(self, command: Command[T]) -> Decision[T]:
        learn = decisions.learn if self._estimators is None else self._learn_later
        return Decision(
            lambda state: decisions.decide(command, state, self.surroundings.moment(), learn),
            before=lambda state: decisions.expire(state, self.surroundings.now(), command),
        )

    def _learn_later(self, state: StudyState) -> Chain[None]:
        yield from decisions.judge(state)
        self._hand_over(state)

    def _hand_over(self, state: StudyState) -> None:
        for name, metric in state.metrics.items():
            learner = metric.learner
            if self._estimators is None or learner is None or learner.knowledge.due is None:
                continue
            key = self.uid if state.config.goals is None else f"{self.uid} {name}"
            self._estimators.consider(key, learner.estimation, partial(self._learned, name))

    def _learned(self, name: str, update: Update) -> None:
        """Take what was learned elsewhere about a metric."""

        def take(state: StudyState) -> Chain[None]:
            yield from decisions.take(update, state, name)
            self._hand_over(state)

        self._cache.change(Decision(take))

    def _at(
        self, t: float | None, view: Callable[[StudyState, float], T]
    ) -> Callable[[StudyState], T]:
        """A view at a time, by default now."""
        with located("t"):
            when = None if t is None else as_time(t)
        return lambda state: view(
            state, state.time(self.surroundings.now()) if when is None else when
        )

    def _readable(self) -> Self:
        """Return itself, or raise an error if it cannot be read."""
        self._cache.read(lambda state: state.seq)
        return self


def _with_store(store: Store | str, begin: Callable[[Store], S], *, make: bool = True) -> S:
    """A study in a store; a store opened from a URL is closed with the study."""
    if isinstance(store, Store):
        return begin(store)
    opened = open_store(store, make=make)
    try:
        study = begin(opened)
    except BaseException:
        opened.close()
        raise
    weakref.finalize(study, opened.close)
    return study
