"""What a study decides when it is asked or told, in the state that it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heliotrope.errors import InputError, TimeError, located
from heliotrope.study.clocks import Now
from heliotrope.study.events import Ask
from heliotrope.study.fold import Fold
from heliotrope.study.replica import Emit
from heliotrope.validation import as_number

_MOST_OPEN = 1000


@dataclass(frozen=True)
class Wish:
    """What an ask says: its time, its context, the key of whoever asks."""

    t: float | None
    context: Mapping[str, Any] | None
    key: str | None

    def known(self, fold: Fold) -> Ask | None:
        """The open ask that was made by its key; ClosedSuggestionError if it is closed."""
        return None if self.key is None else fold.ask_of_key(self.key)


def check(fold: Fold, wish: Wish, now: Now) -> None:
    """Refuse a wish that cannot be fulfilled."""
    if wish.known(fold) is None:
        fold.setup.terrain.given(wish.context)
        _time_to_ask(fold, wish.t, now)


def ask(fold: Fold, emit: Emit, wish: Wish, now: Now) -> Ask:
    """Say what to measure; a key that is known stands for the ask that was made by it."""
    known = wish.known(fold)
    if known is not None:
        return known
    context = fold.setup.terrain.given(wish.context)
    if len(fold.optimizer.open) >= _MOST_OPEN:
        raise InputError(
            f"at most {_MOST_OPEN} open asks", "one more", "Tell or cancel some first."
        )
    emit(fold.asked(_time_to_ask(fold, wish.t, now), wish.key, context))
    return fold.ask_of(fold.optimizer.open[-1])


def add(
    fold: Fold, emit: Emit, params: Mapping[str, Any] | str, value: float, wish: Wish, now: Now
) -> Ask:
    """Take a result that nobody was asked for; a key that is known stands for the same result."""
    place = fold.setup.terrain.placed(params, wish.context)
    if wish.key is not None:
        known = fold.ask_of_result(wish.key, place, wish.t, value)
        if known is not None:
            return known
    emit(fold.asked_at(place, _time_to_ask(fold, wish.t, now), wish.key))
    begun = fold.ask_of(fold.optimizer.open[-1])
    tell(fold, emit, begun.id, value)
    return begun


def tell(fold: Fold, emit: Emit, id: str, value: float) -> None:
    """Take a result, and learn from it if it is time to."""
    told = fold.told(id, value)
    if told is None:
        return
    emit(told)
    learned = fold.learned()
    if learned is not None:
        emit(learned)


def cancel(fold: Fold, emit: Emit, id: str) -> None:
    """Give up an ask."""
    cancelled = fold.cancelled(id)
    if cancelled is not None:
        emit(cancelled)


def present(fold: Fold, now: Now) -> float:
    """What time it is, or the latest that was seen."""
    wall = fold.setup.clock.at(now(), fold.created)
    return fold.optimizer.latest if wall is None else max(wall, fold.optimizer.latest)


def as_time(t: object) -> float:
    """Return a time, or say what came instead."""
    with located("t"):
        return as_number(t, "t")


def _time_to_ask(fold: Fold, t: float | None, now: Now) -> float | None:
    """The time that was given, or that of the clock; None lets the optimizer count."""
    latest, clock, seconds = fold.optimizer.latest, fold.setup.clock, now()
    if t is None:
        wall = clock.at(seconds, fold.created)
        return None if wall is None else max(wall, latest)  # it may run backwards
    when = as_time(t)
    if fold.optimizer.asked and when < latest:
        raise TimeError(f"a time of at least {latest:g}, the latest seen", f"{when:g}", "", "t")
    furthest = max(clock.furthest(seconds, fold.created), latest)
    if when > furthest:
        raise TimeError(
            f"a time of at most {furthest:g}, not far ahead of the wall clock",
            f"{when:g}",
            "Times of one's own go with a clock of steps.",
            "t",
        )
    return when
