"""A named, durable optimizer: a log of events in a store, and the fold over it in memory."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heliotrope.arrays import as_number
from heliotrope.errors import InputError, TimeError, located
from heliotrope.spaces import Options, Parameter, SearchSpace
from heliotrope.storage import Event, Store, open_store
from heliotrope.study import views
from heliotrope.study.clocks import Clock, Now, Steps, Wall, wall_time
from heliotrope.study.events import Ask, as_key, as_value, created
from heliotrope.study.fold import Fold
from heliotrope.study.journals import Direct, Journal
from heliotrope.study.policies import PolicyChoice
from heliotrope.study.replica import Decision, Emit, Replica
from heliotrope.study.setups import Direction, Setup

DEFAULT_STORE = "sqlite:///heliotrope.db"
_MOST_OPEN = 1000


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
    >>> study.tell(ask.id, 21.5)
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
        setup = Setup(_as_space(space), chosen, direction, ticking, seed)
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

    def ask(self, t: float | None = None, *, key: str | None = None) -> Ask:
        """Suggest what to measure now.

        A ``key`` of the caller's own makes it safe to repeat: while the ask is open, the same key
        gives it again; later it is refused, with a ClosedSuggestionError.
        """
        return self._replica.change(self.asking(t, key=key))

    def tell(self, id: str, value: float) -> None:
        """Take a result; the same again is accepted, another value for it is refused."""
        self._replica.change(self.telling(id, value))

    def tell_and_ask(
        self, id: str, value: float, t: float | None = None, *, key: str | None = None
    ) -> Ask:
        """Tell a result and ask for the next in one go: both are done, or neither."""
        return self._replica.change(self.telling_and_asking(id, value, t, key=key))

    def cancel(self, id: str) -> None:
        """Give up an ask whose measurement failed; again is accepted."""
        self._replica.change(lambda fold, emit: _cancel(fold, emit, id))

    def delete(self) -> None:
        """Remove the study with all its events."""
        self._store.delete(self._info.uid)

    # ---- changing it for many at a time

    def change_all(self, decisions: Sequence[Decision[Any]]) -> list[Any]:
        """Answer several callers, synced together; return the result of each, or its error."""
        return self._replica.change_all(decisions)

    def asking(self, t: float | None = None, *, key: str | None = None) -> Decision[Ask]:
        """What :meth:`ask` decides."""
        checked = None if key is None else as_key(key)
        return lambda fold, emit: self._ask(fold, emit, t, checked)

    def telling(self, id: str, value: float) -> Decision[None]:
        """What :meth:`tell` decides."""
        number = as_value(value)
        return lambda fold, emit: _tell(fold, emit, id, number)

    def telling_and_asking(
        self, id: str, value: float, t: float | None = None, *, key: str | None = None
    ) -> Decision[Ask]:
        """What :meth:`tell_and_ask` decides."""
        tell, ask = self.telling(id, value), self.asking(t, key=key)

        def both(fold: Fold, emit: Emit) -> Ask:
            if key is None or fold.ask_of_key(key) is None:
                self._time_to_ask(fold, t)  # refused before anything is told
            tell(fold, emit)
            return ask(fold, emit)

        return both

    # ---- reading it

    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log, or what came after an event."""
        return self._store.events(self._info.uid, after, limit)

    def open_asks(self) -> list[Ask]:
        """Asks that wait for their results, oldest first."""
        return self._replica.read(lambda fold: fold.open)

    def belief(self, t: float | None = None) -> dict[str, Any]:
        """What is believed at a time, by default now, as JSON has it; also of the past."""
        when = None if t is None else _as_time(t)
        show = self._replica.read(
            lambda fold: views.belief(fold, self._time(fold) if when is None else when)
        )
        return show()  # while others may go on

    def summary(self) -> dict[str, Any]:
        """The setup, the counts, the best now, the drift in words, as JSON has it."""
        return self._replica.read(
            lambda fold: {
                "name": self.name,
                "uid": self.uid,
                **views.summary(fold, self._time(fold)),
            }
        )

    def track(self) -> dict[str, Any]:
        """Results over time with what was chosen, and how the best has moved."""
        return self._replica.read(views.track)()

    def export(self, kind: str = "csv") -> str:
        """All asks with their results, as CSV or JSON."""
        return views.export(self.setup, self.events(), kind)

    # ---- the rest

    def _readable(self) -> Study:
        """Itself, if it can be read."""
        self._replica.read(lambda fold: fold.seq)
        return self

    def _ask(self, fold: Fold, emit: Emit, t: float | None, key: str | None) -> Ask:
        known = None if key is None else fold.ask_of_key(key)
        if known is not None:
            return known
        if len(fold.optimizer.open) >= _MOST_OPEN:
            raise InputError(
                f"at most {_MOST_OPEN} open asks", "one more", "Tell or cancel some first."
            )
        emit(fold.asked(self._time_to_ask(fold, t), key))
        return fold.ask_of(fold.optimizer.open[-1])

    def _time_to_ask(self, fold: Fold, t: float | None) -> float | None:
        """The time that was given, or that of the clock; None lets the optimizer count."""
        latest, clock, now = fold.optimizer.latest, fold.setup.clock, self._now()
        if t is None:
            wall = clock.at(now, fold.created)
            return None if wall is None else max(wall, latest)  # it may run backwards
        when = _as_time(t)
        if when < latest:
            raise TimeError(f"a time of at least {latest:g}, the latest seen", f"{when:g}", "", "t")
        furthest = max(clock.furthest(now, fold.created), latest)
        if when > furthest:
            raise TimeError(
                f"a time of at most {furthest:g}, not far ahead of the wall clock",
                f"{when:g}",
                "Times of one's own go with a clock of steps.",
                "t",
            )
        return when

    def _time(self, fold: Fold) -> float:
        wall = fold.setup.clock.at(self._now(), fold.created)
        return fold.optimizer.latest if wall is None else max(wall, fold.optimizer.latest)


def _tell(fold: Fold, emit: Emit, id: str, value: float) -> None:
    told = fold.told(id, value)
    if told is None:
        return
    emit(told)
    learned = fold.learned()
    if learned is not None:
        emit(learned)


def _cancel(fold: Fold, emit: Emit, id: str) -> None:
    cancelled = fold.cancelled(id)
    if cancelled is not None:
        emit(cancelled)


def _as_time(t: object) -> float:
    with located("t"):
        return as_number(t, "t")


def _as_space(
    space: SearchSpace | Options | Mapping[str, Parameter] | Sequence[str],
) -> SearchSpace | Options:
    if isinstance(space, (SearchSpace, Options)):
        return space
    return SearchSpace(space) if isinstance(space, Mapping) else Options(space)


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
