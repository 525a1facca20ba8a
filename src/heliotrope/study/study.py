"""A named, durable optimizer: a log of events in a store, and the fold over it in memory."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from heliotrope.errors import located, relocated
from heliotrope.spaces import Options, Parameter, SearchSpace
from heliotrope.storage import Event, Journal, Store, open_store
from heliotrope.storage.protocol import DEFAULT_STORE
from heliotrope.study import decisions, exports, views
from heliotrope.study.cache import Decision, StateCache
from heliotrope.study.clocks import Clock, Now, Steps, Wall, wall_time
from heliotrope.study.commands import Command, Evaluation, as_time
from heliotrope.study.config import Direction, StudyConfig
from heliotrope.study.events import created
from heliotrope.study.policies import PolicyChoice
from heliotrope.study.state import StudyState
from heliotrope.study.verbs import StudyVerbs

T = TypeVar("T")


class Study(StudyVerbs):
    """Ask and tell by name, from any process: what was acknowledged is on disk.

    Every method may be called from several threads, and several processes may hold the same
    study of one store. What each call promises stands in docs/studies.md.

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
        self, store: Store, name: str, *, journal: Journal | None = None, now: Now = wall_time
    ) -> None:
        self._store, self._now = store, now
        self._info = store.find(name)
        self._cache = StateCache(store, journal or Journal(store), self._info.uid, now)

    @classmethod
    def create(
        cls,
        name: str,
        space: SearchSpace | Options | Mapping[str, Parameter] | Sequence[str],
        *,
        context: SearchSpace | Mapping[str, Parameter] | None = None,
        policy: Mapping[str, Any] | None = None,
        direction: Direction = "maximize",
        clock: Clock | str | None = None,
        seed: int = 0,
        store: Store | str = DEFAULT_STORE,
        now: Now = wall_time,
    ) -> Study:
        """Begin a study.

        Parameters
        ----------
        space
            Parameters by name, or the names of options; or a SearchSpace or Options.
        context
            Parameters by name that are given at every ask, not chosen; or a SearchSpace.
        policy
            Such as ``{"epsilon": 0.01}``; parameters that are not given are learned.
        clock
            A unit of time such as "10min" makes epsilon one of ten minutes; by default time is
            a counter of asks.
        store
            A store or its URL: memory:, sqlite:///file.db, postgresql://...
        now
            The wall clock, for tests to replace.
        """
        with located("policy"):
            chosen = PolicyChoice.from_json(policy)
        with located("clock"):
            ticking = Wall(clock) if isinstance(clock, str) else clock or Steps()
        config = StudyConfig(
            _as_space(space), chosen, direction, ticking, seed, _as_context(context)
        )
        return _with_store(store, lambda opened: cls.create_from(name, config, opened, now=now))

    @classmethod
    def create_from(
        cls,
        name: str,
        config: StudyConfig,
        store: Store,
        *,
        journal: Journal | None = None,
        now: Now = wall_time,
    ) -> Study:
        """Begin a study of a config."""
        with located("seed"):  # all that is refused before there is a policy
            bare = StudyState("", config, 0.0)
        bare.extend([])  # refuses a policy that does not fit the space
        store.create(name, created(config), now())
        return cls(store, name, journal=journal, now=now)

    @classmethod
    def open(cls, name: str, store: Store | str = DEFAULT_STORE, now: Now = wall_time) -> Study:
        """Go on with a study that exists."""
        return _with_store(store, lambda opened: cls(opened, name, now=now)._readable(), make=False)

    @property
    def name(self) -> str:
        """What the study is called."""
        return self._info.name

    @property
    def uid(self) -> str:
        """What tells it from all others, also from one that gets its name when it is deleted."""
        return self._info.uid

    @property
    def config(self) -> StudyConfig:
        """What it was created with."""
        return self._cache.read(lambda state: state.config)

    # ---- changing it

    def do(self, command: Command[T]) -> T:
        """Do what a command says, and return its result when it is on disk."""
        return self._cache.change(self._decision(command))

    def do_all(self, commands: Sequence[Command[Any]]) -> list[Any]:
        """Do several commands, synced together; return the result of each, or its error."""
        return self._cache.change_all([self._decision(command) for command in commands])

    def delete(self) -> None:
        """Remove the study with all its events."""
        self._store.delete(self._info.uid)

    # ---- reading it

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log, or what came after an event."""
        return self._store.events(self._info.uid, after, limit)

    def open_asks(self) -> list[Evaluation]:
        """Asks that wait for their results, oldest first."""
        return self._cache.read(lambda state: state.open)

    def belief(
        self, t: float | None = None, *, context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """What is believed at a time, by default now, as JSON has it; also of the past.

        In a study with contexts it is about one, by default that of the latest ask.
        """
        with located("t"):
            when = None if t is None else as_time(t)

        def look(state: StudyState) -> views.Show:
            at = decisions.present(state, self._now) if when is None else when
            return views.belief(state, at, context)

        return self._cache.read(look)()  # which may take a while, when others go on

    def summary(self, *, context: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The configuration, the counts, the present best and the drift in words, as JSON.

        In a study with contexts the best is that in one, by default in that of the latest ask.
        """
        return self._cache.read(
            lambda state: {
                "name": self.name,
                "uid": self.uid,
                **views.summary(state, decisions.present(state, self._now), context),
            }
        )

    def track(self) -> dict[str, Any]:
        """Results over time with what was chosen, and how the best has moved."""
        return self._cache.read(views.track)()

    def export(self, kind: str = "csv") -> str:
        """All asks with their results, as CSV or JSON."""
        return exports.export(self.config, self.events(), kind)

    # ---- the rest

    def _decision(self, command: Command[T]) -> Decision[T]:
        return lambda state, emit: decisions.decide(command, state, emit, self._now)

    def _readable(self) -> Study:
        """Itself, if it can be read."""
        self._cache.read(lambda state: state.seq)
        return self


def _as_space(
    space: SearchSpace | Options | Mapping[str, Parameter] | Sequence[str],
) -> SearchSpace | Options:
    if isinstance(space, (SearchSpace, Options)):
        return space
    return SearchSpace(space) if isinstance(space, Mapping) else Options(space)


def _as_context(context: SearchSpace | Mapping[str, Parameter] | None) -> SearchSpace | None:
    if context is None or isinstance(context, SearchSpace):
        return context
    with relocated("space", "context"):
        return SearchSpace(context)


def _with_store(store: Store | str, begin: Callable[[Store], Study], *, make: bool = True) -> Study:
    """A study of a store, or of a URL's, which is closed when the study is no longer used."""
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
