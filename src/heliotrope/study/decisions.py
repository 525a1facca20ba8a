"""What a study decides when it is asked or told, in the state that it is in."""

from __future__ import annotations

from typing import Any, TypeVar

from heliotrope.errors import InputError, TimeError, UnknownStudyError
from heliotrope.study.clocks import Now
from heliotrope.study.commands import Add, Ask, Cancel, Command, Evaluation, Tell, nested
from heliotrope.study.fold import Fold
from heliotrope.study.replica import Emit
from heliotrope.validation import short_repr

T = TypeVar("T")
_MOST_OPEN = 1000


def decide(command: Command[T], fold: Fold, emit: Emit, now: Now) -> T:
    """Decide a command in the present state, and return its result."""
    result: Any = None
    match command:
        case Ask():
            _check_uid(fold, command.uid)
            result = _ask(fold, emit, command, now)
        case Tell():
            result = _tell_and_ask(fold, emit, command, now)
        case Add():
            _check_uid(fold, command.uid)
            result = _add(fold, emit, command, now)
        case Cancel():
            _cancel(fold, emit, command.id)
        case _:
            raise InputError("a command", short_repr(command))
    return result  # type: ignore[no-any-return]


def _check_uid(fold: Fold, uid: str | None) -> None:
    if uid not in (None, fold.uid):
        raise UnknownStudyError("the study of that uid", "another one of its name", "", "uid")


def _ask(fold: Fold, emit: Emit, command: Ask, now: Now) -> Evaluation:
    """Say what to measure; a known key stands for the evaluation that was asked for by it."""
    known = _known(fold, command)
    if known is not None:
        return known
    context = fold.setup.terrain.given(command.context)
    if len(fold.optimizer.open) >= _MOST_OPEN:
        raise InputError(
            f"at most {_MOST_OPEN} open asks", "one more", "Tell or cancel some first."
        )
    emit(fold.asked(_time_to_ask(fold, command.t, now), command.key, context))
    return fold.ask_of(fold.optimizer.open[-1])


def _known(fold: Fold, command: Ask) -> Evaluation | None:
    return None if command.key is None else fold.ask_of_key(command.key)


def _tell_and_ask(fold: Fold, emit: Emit, command: Tell, now: Now) -> Evaluation | None:
    if command.ask is None:
        _tell(fold, emit, command.id, command.value)
        return None
    with nested("ask"):  # refuse it before anything is told
        _check_uid(fold, command.ask.uid)
        if _known(fold, command.ask) is None:
            fold.setup.terrain.given(command.ask.context)
            _time_to_ask(fold, command.ask.t, now)
    _tell(fold, emit, command.id, command.value)
    with nested("ask"):
        return _ask(fold, emit, command.ask, now)


def _add(fold: Fold, emit: Emit, command: Add, now: Now) -> Evaluation:
    """Take a result that nobody asked for; a known key stands for the same result."""
    place = fold.setup.terrain.placed(command.chosen, command.context)
    if command.key is not None:
        known = fold.ask_of_result(command.key, place, command.t, command.value)
        if known is not None:
            return known
    emit(fold.asked_at(place, _time_to_ask(fold, command.t, now), command.key))
    begun = fold.ask_of(fold.optimizer.open[-1])
    _tell(fold, emit, begun.id, command.value)
    return begun


def _tell(fold: Fold, emit: Emit, id: str, value: float) -> None:
    """Take a result, and estimate the model if it is time to."""
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


def present(fold: Fold, now: Now) -> float:
    """What time it is, or the latest that was seen."""
    wall = fold.setup.clock.at(now(), fold.created)
    return fold.optimizer.latest if wall is None else max(wall, fold.optimizer.latest)


def _time_to_ask(fold: Fold, t: float | None, now: Now) -> float | None:
    """The time that was given, or that of the clock; None lets the optimizer count."""
    latest, clock, seconds = fold.optimizer.latest, fold.setup.clock, now()
    if t is None:
        wall = clock.at(seconds, fold.created)
        return None if wall is None else max(wall, latest)  # it may run backwards
    if fold.optimizer.asked and t < latest:
        raise TimeError(f"a time of at least {latest:g}, the latest seen", f"{t:g}", "", "t")
    furthest = max(clock.furthest(seconds, fold.created), latest)
    if t > furthest:
        raise TimeError(
            f"a time of at most {furthest:g}, not far ahead of the wall clock",
            f"{t:g}",
            "Times of one's own go with a clock of steps.",
            "t",
        )
    return t
