"""Decide commands: the events that each one adds to a study, and its result."""

from __future__ import annotations

from typing import Any, TypeVar

from heliotrope.errors import ClosedSuggestionError, InputError, TimeError, UnknownStudyError
from heliotrope.storage import EventBody
from heliotrope.study.cache import Emit
from heliotrope.study.clocks import Now
from heliotrope.study.commands import Add, Ask, Cancel, Command, Evaluation, Tell, nested
from heliotrope.study.events import VERSION
from heliotrope.study.model_updates import learned_event
from heliotrope.study.space_adapter import Context, LoggedPlace
from heliotrope.study.state import StudyState
from heliotrope.validation import short_repr

T = TypeVar("T")
_MOST_OPEN = 1000


def decide(command: Command[T], state: StudyState, emit: Emit, now: Now) -> T:
    """Emit the events of a command, and return its result."""
    result: Any = None
    match command:
        case Ask():
            result = _ask(state, emit, command, _time_and_context(state, command, now))
        case Tell(ask=None):
            _tell(state, emit, command.id, command.value)
        case Tell():
            result = _tell_and_ask(state, emit, command, now)
        case Add():
            result = _add(state, emit, command, now)
        case Cancel():
            _cancel(state, emit, command.id)
        case _:
            raise InputError("a command", short_repr(command))
    return result  # type: ignore[no-any-return]


def present(state: StudyState, now: Now) -> float:
    """The present time, or the latest time seen if that is later."""
    wall = state.config.clock.at(now(), state.created)
    return state.optimizer.latest if wall is None else max(wall, state.optimizer.latest)


def _time_and_context(
    state: StudyState, command: Ask, now: Now
) -> tuple[float | None, Context | None] | None:
    """The checked time and context of an ask; None if its key stands for an open evaluation."""
    _check_uid(state, command.uid)
    if command.key is not None and state.open_by_key(command.key) is not None:
        return None
    context = state.config.adapter.check_context(command.context)
    return _time_to_ask(state, command.t, now), context


def _ask(
    state: StudyState,
    emit: Emit,
    command: Ask,
    checked: tuple[float | None, Context | None] | None,
) -> Evaluation:
    if checked is None:
        assert command.key is not None
        known = state.open_by_key(command.key)
        assert known is not None
        return known
    if len(state.optimizer.open) >= _MOST_OPEN:
        raise InputError(
            f"at most {_MOST_OPEN} open asks", "one more", "Tell or cancel some first."
        )
    adapter, (t, context) = state.config.adapter, checked
    suggestion = state.optimizer.propose(t, context=adapter.context_point(context))
    place = adapter.place_of_suggestion(suggestion)
    words = adapter.describe(place, context)
    return _begin(state, emit, suggestion.t, place, words, command.key)


def _begin(
    state: StudyState,
    emit: Emit,
    t: float,
    place: LoggedPlace,
    words: dict[str, Any],
    key: str | None,
) -> Evaluation:
    """Open an evaluation, which is read from its event."""
    body = {"v": VERSION, "kind": "asked", "id": state.next_id, "t": t, "place": place, **words}
    emit(body if key is None else {**body, "key": key})
    return Evaluation.from_json(body)


def _tell_and_ask(state: StudyState, emit: Emit, command: Tell, now: Now) -> Evaluation:
    assert command.ask is not None
    with nested("ask"):  # an ask that is refused must leave the result untold
        checked = _time_and_context(state, command.ask, now)
    _tell(state, emit, command.id, command.value)
    with nested("ask"):
        return _ask(state, emit, command.ask, checked)


def _tell(state: StudyState, emit: Emit, id: str, value: float) -> None:
    told = _told_event(state, id, value)
    if told is None:
        return
    emit(told)
    learned = learned_event(state)
    if learned is not None:
        emit(learned)


def _told_event(state: StudyState, id: str, value: float) -> EventBody | None:
    """The event of a result; None if the same result was told before."""
    number = state.number_of(id)
    if state.optimizer.is_open(number):
        return {"v": VERSION, "kind": "told", "id": id, "value": value}
    before = state.value_of(number)
    if before is None:
        raise ClosedSuggestionError("an open ask", f"{id}, which was cancelled", "", "id")
    if before != value:
        raise ClosedSuggestionError(
            f"the value {before!r} that was told before", repr(value), "", "value"
        )
    return None


def _add(state: StudyState, emit: Emit, command: Add, now: Now) -> Evaluation:
    _check_uid(state, command.uid)
    adapter = state.config.adapter
    place = adapter.place_of(command.chosen, command.context)
    words = adapter.describe(place)
    known = _added_before(state, command, words)
    if known is not None:
        return known
    t = state.optimizer.placed(place, _time_to_ask(state, command.t, now)).t
    begun = _begin(state, emit, t, place, words, command.key)
    _tell(state, emit, begun.id, command.value)
    return begun


def _added_before(state: StudyState, command: Add, words: dict[str, Any]) -> Evaluation | None:
    """The evaluation that holds the same result under the same key.

    ClosedSuggestionError if the key belongs to another result.
    """
    id = None if command.key is None else state.keys.find(command.key)
    if id is None:
        return None
    known = state.told_evaluation(id)
    t = command.t
    if known is None or known != Evaluation(id, known.t if t is None else t, **words):
        raise ClosedSuggestionError(
            "a new key, or the result that it was first used for",
            f"the key of another ask ({id})",
            "Take a new key for each result.",
            "key",
        )
    _told_event(state, id, command.value)  # raises an error if the value differs
    return known


def _cancel(state: StudyState, emit: Emit, id: str) -> None:
    number = state.number_of(id)
    if state.optimizer.is_open(number):
        emit({"v": VERSION, "kind": "cancelled", "id": id})
    elif state.value_of(number) is not None:
        raise ClosedSuggestionError("an open ask", f"{id}, which has its result", "", "id")


def _check_uid(state: StudyState, uid: str | None) -> None:
    if uid not in (None, state.uid):
        raise UnknownStudyError(
            "the study with this uid", "another study of the same name", "", "uid"
        )


def _time_to_ask(state: StudyState, t: float | None, now: Now) -> float | None:
    """The given time, else that of the clock; None leaves it to the optimizer's counter."""
    latest, clock, seconds = state.optimizer.latest, state.config.clock, now()
    if t is None:
        wall = clock.at(seconds, state.created)
        return None if wall is None else max(wall, latest)  # a wall clock may run backwards
    if state.optimizer.asked and t < latest:
        raise TimeError(f"a time of at least {latest:g}, the latest seen", f"{t:g}", "", "t")
    furthest = max(clock.furthest(seconds, state.created), latest)
    if t > furthest:
        raise TimeError(
            f"a time of at most {furthest:g}, not far ahead of the wall clock",
            f"{t:g}",
            "Use a clock of steps for times of your own.",
            "t",
        )
    return t
