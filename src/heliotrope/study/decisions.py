"""What a study decides when it is asked or told, in the state that it is in."""

from __future__ import annotations

from typing import Any, TypeVar

from heliotrope.errors import InputError, TimeError, UnknownStudyError
from heliotrope.study.cache import Emit
from heliotrope.study.clocks import Now
from heliotrope.study.commands import Add, Ask, Cancel, Command, Evaluation, Tell, nested
from heliotrope.study.state import StudyState
from heliotrope.validation import short_repr

T = TypeVar("T")
_MOST_OPEN = 1000


def decide(command: Command[T], state: StudyState, emit: Emit, now: Now) -> T:
    """Decide a command in the present state, and return its result."""
    result: Any = None
    match command:
        case Ask():
            _check_uid(state, command.uid)
            result = _ask(state, emit, command, now)
        case Tell():
            result = _tell_and_ask(state, emit, command, now)
        case Add():
            _check_uid(state, command.uid)
            result = _add(state, emit, command, now)
        case Cancel():
            _cancel(state, emit, command.id)
        case _:
            raise InputError("a command", short_repr(command))
    return result  # type: ignore[no-any-return]


def _check_uid(state: StudyState, uid: str | None) -> None:
    if uid not in (None, state.uid):
        raise UnknownStudyError("the study of that uid", "another one of its name", "", "uid")


def _ask(state: StudyState, emit: Emit, command: Ask, now: Now) -> Evaluation:
    """Say what to measure; a known key stands for the evaluation that was asked for by it."""
    known = _known(state, command)
    if known is not None:
        return known
    context = state.config.adapter.given(command.context)
    if len(state.optimizer.open) >= _MOST_OPEN:
        raise InputError(
            f"at most {_MOST_OPEN} open asks", "one more", "Tell or cancel some first."
        )
    emit(state.asked(_time_to_ask(state, command.t, now), command.key, context))
    return state.ask_of(state.optimizer.open[-1])


def _known(state: StudyState, command: Ask) -> Evaluation | None:
    return None if command.key is None else state.ask_of_key(command.key)


def _tell_and_ask(state: StudyState, emit: Emit, command: Tell, now: Now) -> Evaluation | None:
    if command.ask is None:
        _tell(state, emit, command.id, command.value)
        return None
    with nested("ask"):  # refuse it before anything is told
        _check_uid(state, command.ask.uid)
        if _known(state, command.ask) is None:
            state.config.adapter.given(command.ask.context)
            _time_to_ask(state, command.ask.t, now)
    _tell(state, emit, command.id, command.value)
    with nested("ask"):
        return _ask(state, emit, command.ask, now)


def _add(state: StudyState, emit: Emit, command: Add, now: Now) -> Evaluation:
    """Take a result that nobody asked for; a known key stands for the same result."""
    place = state.config.adapter.placed(command.chosen, command.context)
    if command.key is not None:
        known = state.ask_of_result(command.key, place, command.t, command.value)
        if known is not None:
            return known
    emit(state.asked_at(place, _time_to_ask(state, command.t, now), command.key))
    begun = state.ask_of(state.optimizer.open[-1])
    _tell(state, emit, begun.id, command.value)
    return begun


def _tell(state: StudyState, emit: Emit, id: str, value: float) -> None:
    """Take a result, and estimate the model if it is time to."""
    told = state.told(id, value)
    if told is None:
        return
    emit(told)
    learned = state.learned()
    if learned is not None:
        emit(learned)


def _cancel(state: StudyState, emit: Emit, id: str) -> None:
    cancelled = state.cancelled(id)
    if cancelled is not None:
        emit(cancelled)


def present(state: StudyState, now: Now) -> float:
    """What time it is, or the latest that was seen."""
    wall = state.config.clock.at(now(), state.created)
    return state.optimizer.latest if wall is None else max(wall, state.optimizer.latest)


def _time_to_ask(state: StudyState, t: float | None, now: Now) -> float | None:
    """The time that was given, or that of the clock; None lets the optimizer count."""
    latest, clock, seconds = state.optimizer.latest, state.config.clock, now()
    if t is None:
        wall = clock.at(seconds, state.created)
        return None if wall is None else max(wall, latest)  # it may run backwards
    if state.optimizer.asked and t < latest:
        raise TimeError(f"a time of at least {latest:g}, the latest seen", f"{t:g}", "", "t")
    furthest = max(clock.furthest(seconds, state.created), latest)
    if t > furthest:
        raise TimeError(
            f"a time of at most {furthest:g}, not far ahead of the wall clock",
            f"{t:g}",
            "Times of one's own go with a clock of steps.",
            "t",
        )
    return t
