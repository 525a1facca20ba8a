"""A named, durable optimizer: a log of events in a store, and the fold over it in memory."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heliotrope.errors import located, relocated
from heliotrope.spaces import Options, Parameter, SearchSpace
from heliotrope.storage import Event, Store, open_store
from heliotrope.study import decisions, exports, views
from heliotrope.study.clocks import Clock, Now, Steps, Wall, wall_time
from heliotrope.study.decisions import Wish, as_time
from heliotrope.study.events import Ask, as_key, as_value, created, id_of
from heliotrope.study.fold import Fold
from heliotrope.study.journals import Direct, Journal
from heliotrope.study.policies import PolicyChoice
from heliotrope.study.replica import Decision, Emit, Replica
from heliotrope.study.setups import Direction, Setup

DEFAULT_STORE = "sqlite:///heliotrope.db"


class Study:
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
        self._replica = Replica(store, journal or Direct(store), self._info.uid, now)

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
            Such as ``{"kind": "tv_gp_ucb", "epsilon": 0.01}``; what is not given is learned.
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
        setup = Setup(_as_space(space), chosen, direction, ticking, seed, _as_context(context))
        return _with_store(store, lambda opened: cls.create_from(name, setup, opened, now=now))

    @classmethod
    def create_from(
        cls,
        name: str,
        setup: Setup,
        store: Store,
        *,
        journal: Journal | None = None,
        now: Now = wall_time,
    ) -> Study:
        """Begin a study of a setup."""
        with located("seed"):  # all that is refused before there is a policy
            bare = Fold("", setup, 0.0)
        bare.extend([])  # refuses a policy that does not fit the space
        store.create(name, created(setup), now())
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
    def setup(self) -> Setup:
        """What it was created with."""
        return self._replica.read(lambda fold: fold.setup)

    # ---- changing it

    def ask(
        self,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Ask:
        """Suggest what to measure now, in the ``context`` if the study has contexts.

        A ``key`` of the caller's own makes it safe to repeat: while the ask is open, the same key
        gives it again, in its first context; later it is refused, with a ClosedSuggestionError.
        """
        return self._replica.change(self.asking(t, context=context, key=key))

    def tell(self, ask: Ask | str, value: float) -> None:
        """Take the result of an ask, or of its id; again is accepted, another value is refused."""
        self._replica.change(self.telling(ask, value))

    def tell_and_ask(
        self,
        ask: Ask | str,
        value: float,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Ask:
        """Tell a result and ask for the next in one go: both are done, or neither."""
        both = self.telling_and_asking(ask, value, t, context=context, key=key)
        return self._replica.change(both)

    def add(
        self,
        params: Mapping[str, Any] | str,
        value: float,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Ask:
        """Take the value of what somebody else chose, as if it had been asked for and told at once.

        ``params`` has a value for every parameter, or is the name of an option. A ``key`` of the
        caller's own makes it safe to repeat: the same result is taken once, another one by the
        same key is refused, with a ClosedSuggestionError.
        """
        return self._replica.change(self.adding(params, value, t, context=context, key=key))

    def cancel(self, ask: Ask | str) -> None:
        """Give up an ask whose measurement failed, by itself or its id; again is accepted."""
        self._replica.change(lambda fold, emit: decisions.cancel(fold, emit, id_of(ask)))

    def delete(self) -> None:
        """Remove the study with all its events."""
        self._store.delete(self._info.uid)

    # ---- changing it for many at a time

    def change_all(self, decisions: Sequence[Decision[Any]]) -> list[Any]:
        """Answer several callers, synced together; return the result of each, or its error."""
        return self._replica.change_all(decisions)

    def asking(
        self,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Decision[Ask]:
        """What :meth:`ask` decides."""
        wish = _wish(t, context, key)
        return lambda fold, emit: decisions.ask(fold, emit, wish, self._now)

    def telling(self, ask: Ask | str, value: float) -> Decision[None]:
        """What :meth:`tell` decides."""
        number = as_value(value)
        return lambda fold, emit: decisions.tell(fold, emit, id_of(ask), number)

    def adding(
        self,
        params: Mapping[str, Any] | str,
        value: float,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Decision[Ask]:
        """What :meth:`add` decides."""
        number, wish = as_value(value), _wish(t, context, key)
        return lambda fold, emit: decisions.add(fold, emit, params, number, wish, self._now)

    def telling_and_asking(
        self,
        ask: Ask | str,
        value: float,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Decision[Ask]:
        """What :meth:`tell_and_ask` decides."""
        number, wish = as_value(value), _wish(t, context, key)

        def both(fold: Fold, emit: Emit) -> Ask:
            decisions.check(fold, wish, self._now)  # before anything is told
            decisions.tell(fold, emit, id_of(ask), number)
            return decisions.ask(fold, emit, wish, self._now)

        return both

    # ---- reading it

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log, or what came after an event."""
        return self._store.events(self._info.uid, after, limit)

    def open_asks(self) -> list[Ask]:
        """Asks that wait for their results, oldest first."""
        return self._replica.read(lambda fold: fold.open)

    def belief(
        self, t: float | None = None, *, context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """What is believed at a time, by default now, as JSON has it; also of the past.

        In a study with contexts it is about one, by default that of the latest ask.
        """
        when = None if t is None else as_time(t)

        def look(fold: Fold) -> views.Show:
            at = decisions.present(fold, self._now) if when is None else when
            return views.belief(fold, at, context)

        return self._replica.read(look)()  # which may take a while, when others go on

    def summary(self, *, context: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The setup, the counts, the best now, the drift in words, as JSON has it.

        In a study with contexts the best is that in one, by default in that of the latest ask.
        """
        return self._replica.read(
            lambda fold: {
                "name": self.name,
                "uid": self.uid,
                **views.summary(fold, decisions.present(fold, self._now), context),
            }
        )

    def track(self) -> dict[str, Any]:
        """Results over time with what was chosen, and how the best has moved."""
        return self._replica.read(views.track)()

    def export(self, kind: str = "csv") -> str:
        """All asks with their results, as CSV or JSON."""
        return exports.export(self.setup, self.events(), kind)

    # ---- the rest

    def _readable(self) -> Study:
        """Itself, if it can be read."""
        self._replica.read(lambda fold: fold.seq)
        return self


def _wish(t: float | None, context: Mapping[str, Any] | None, key: str | None) -> Wish:
    return Wish(t, context, None if key is None else as_key(key))


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
