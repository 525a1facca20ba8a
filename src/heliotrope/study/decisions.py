"""Decide commands: the events that each one adds to a study, and its result.

A result that is told may also add a new model of the values.
"""

from collections.abc import Callable, Mapping
from dataclasses import astuple
from typing import Any, TypeVar

from heliotrope.errors import (
    ClosedSuggestionError,
    InputError,
    TimeError,
    UnknownStudyError,
    UnknownSuggestionError,
)
from heliotrope.storage import EventBody
from heliotrope.study.cache import Emit
from heliotrope.study.clocks import Now, seconds_of
from heliotrope.study.command_fields import Command, nested
from heliotrope.study.commands import (
    THE_VALUE,
    Add,
    Applied,
    Ask,
    Cancel,
    Evaluation,
    Heartbeat,
    Hold,
    Measurement,
    Retime,
    Tell,
    as_choice,
)
from heliotrope.study.config import StudyConfig
from heliotrope.study.learning import Learn
from heliotrope.study.metrics import named_results
from heliotrope.study.space_adapter import Context, LoggedPlace
from heliotrope.study.state import (
    VERSION,
    VERSION_WITH_AVOIDANCE,
    VERSION_WITH_MARKS,
    VERSION_WITH_METRICS,
    VERSION_WITH_NOISE,
    StudyState,
)
from heliotrope.validation import Json, short_repr

T = TypeVar("T")
_MOST_OPEN = 1000


def decide(command: Command[T], state: StudyState, emit: Emit, now: Now, learn: Learn) -> T:
    """Emit the events of a command, and return its result.

    ``learn`` is called after each result.
    """
    result: Any = None
    if not isinstance(command, Command):
        raise InputError("a command", short_repr(command))
    command.check()
    _expire_leases(state, emit, now, spared=getattr(command, "id", None))
    match command:
        case Ask():
            result = _checked_ask(state, command, now)(emit)
        case Tell():
            result = _tell(state, emit, command, now, learn)
        case Add():
            result = _add(state, emit, command, now, learn)
        case Applied():
            _apply(state, emit, command)
        case Cancel():
            _cancel(state, emit, command.id)
        case Heartbeat():
            result = _prolong(state, emit, command, now)
        case Retime():
            _retime(state, emit, command, now)
    return result  # type: ignore[no-any-return]


def _checked_ask(state: StudyState, command: Ask, now: Now) -> Callable[[Emit], Evaluation | Hold]:
    """Check an ask, and return the function that does it.

    With the key of an open evaluation, it returns that evaluation.
    """
    _check_uid(state, command.uid)
    id = state.keys.find(command.key)
    if id is not None:
        state.open_evaluation(id)  # raises an error if it is closed
        return lambda _: state.open_evaluation(id)
    adapter = state.config.adapter
    context = adapter.check_context(command.context)
    t = _time_to_ask(state, command.t, now)

    if command.cost is not None:
        _check_hold(state)

    def ask(emit: Emit) -> Evaluation | Hold:
        if len(state.core.open) >= _MOST_OPEN:
            raise InputError(
                f"at most {_MOST_OPEN} open asks", "one more", "Tell or cancel some first."
            )
        if command.cost is not None:
            point = adapter.context_point(context)
            until = state.tracker.hold(state.core.next_time(t), point, command.cost)
            if until is not None:
                return Hold(until)
        at, place, why = chosen(state, t, context)
        words = adapter.describe(place, context)
        lease = _leased(command.lease or state.config.lease, now)
        return _begin(state, emit, at, place, words, {**why, **lease, **_keyed(command.key)})

    return ask


def chosen(
    state: StudyState, t: float | None, context: Context | None
) -> tuple[float, LoggedPlace, Json]:
    """The time and place of the next ask, and its reason if the study has goals."""
    adapter = state.config.adapter
    suggestion = state.tracker.propose(t, adapter.context_point(context))
    why = {} if suggestion.reason is None else {"reason": suggestion.reason}
    return suggestion.t, adapter.place_of_suggestion(suggestion), why


def _check_hold(state: StudyState) -> None:
    """Raise an InputError if the study cannot weigh the cost of a measurement."""
    if state.config.goals is None:
        expected = "a study with metrics, limits, a baseline or moves"
        advice = 'Create it with metrics, such as {"value": "maximize"}.'
        raise InputError(expected, "one without", advice, "cost")


def _leased(lease: str | None, now: Now) -> Json:
    """The fields of an event that begins or prolongs a lease."""
    return {} if lease is None else {"lease": lease, "until": now() + seconds_of(lease)}


def _keyed(key: str | None) -> Json:
    return {} if key is None else {"key": key}


def _begin(
    state: StudyState, emit: Emit, t: float, place: LoggedPlace, words: Json, more: Json
) -> Evaluation:
    """Open an evaluation, which is read from its event."""
    asked = {"v": VERSION_WITH_MARKS, "kind": "asked", "id": state.ids.next(), "t": t}
    body = {**asked, "place": place, **words, **more}
    emit(body)
    return Evaluation.from_json(body)


def _tell(
    state: StudyState, emit: Emit, command: Tell, now: Now, learn: Learn
) -> Evaluation | Hold | None:
    if command.ask is None:
        _tell_result(state, emit, command.id, command, learn)
        return None
    with nested("ask"):  # an ask that is refused must leave the result untold
        ask = _checked_ask(state, command.ask, now)
    _tell_result(state, emit, command.id, command, learn)
    with nested("ask"):
        return ask(emit)


def _tell_result(state: StudyState, emit: Emit, id: str, command: Tell | Add, learn: Learn) -> None:
    if isinstance(command, Tell):
        _check_point(state, command)
    told = _told_event(state, id, command)
    if told is not None:
        emit(told)
        learn(state, emit)
        gained = state.gain_of(id)
        if gained is not None:
            emit({"v": VERSION, "kind": "gained", "id": id, "gain": list(astuple(gained))})


def _told_event(state: StudyState, id: str, command: Tell | Add) -> EventBody | None:
    """The event of a result; None if the same result was told before."""
    number, results = state.ids.number_of(id), named_results(state.config, command.measured)
    if state.core.is_open(number) or state.leases.expired(number) is not None:
        told = _result_event(state.config, id, command, results)
        errors = state.tracker.errors_of(number, results)
        return {**told, "error": errors} if errors else told
    before = state.result_of(number)
    if before is None:
        raise ClosedSuggestionError("an open ask", f"{id}, which was cancelled", "", "id")
    values, told = ({name: one[0] for name, one in some.items()} for some in (before, results))
    if values != told:
        known, got = (_words(state.config, some) for some in (values, told))
        what = f"the {known} that was told before"
        raise ClosedSuggestionError(what, got.removeprefix("value "), "", "value")
    if before != results:
        got = ", ".join(f"{name} {short_repr(one)}" for name, one in command.noise.items())
        raise ClosedSuggestionError("the noise that was told before", got or "none", "", "value")
    return None


def _words(config: StudyConfig, values: Mapping[str, float]) -> str:
    if config.goals is None:
        return f"value {values[THE_VALUE]!r}"
    return ", ".join(f"{name} {value!r}" for name, value in values.items())


def _result_event(
    config: StudyConfig, id: str, command: Tell | Add, results: Mapping[str, Measurement]
) -> EventBody:
    """The event of a result: a value, or values by metric if there are several."""
    values = {name: value for name, (value, _) in results.items()}
    told = {"kind": "told", "id": id}
    if len(config.metrics) > 1:
        return {"v": VERSION_WITH_METRICS, **told, "value": values, **command.noise}
    (name,), noise = values, command.noise
    if isinstance(command.std, Mapping):
        noise["std"] = command.std[name]
    version = VERSION_WITH_NOISE if noise else VERSION
    return {"v": version, **told, "value": values[name], **noise}


def _check_point(state: StudyState, command: Tell) -> None:
    """Compare the point that a result names with the log."""
    known = state.point_of(command.id)
    for name in ("params", "option"):
        given = getattr(command, name)
        if known is not None and given is not None and given != known.get(name):
            raise UnknownSuggestionError(
                f"the point of ask {command.id}, {short_repr(known)}",
                short_repr(given),
                "Was the study restored from a copy since?",
                name,
            )


def _add(state: StudyState, emit: Emit, command: Add, now: Now, learn: Learn) -> Evaluation:
    _check_uid(state, command.uid)
    adapter = state.config.adapter
    place = adapter.place_of(command.chosen, command.context)
    words = adapter.describe(place)
    known = _added_before(state, command, words)
    if known is not None:
        return known
    t = state.core.placed(place, _time_to_ask(state, command.t, now)).t
    opened = _begin(state, emit, t, place, words, _keyed(command.key))
    _tell_result(state, emit, opened.id, command, learn)
    return opened


def _added_before(state: StudyState, command: Add, words: Json) -> Evaluation | None:
    """The evaluation that holds the same result under the same key.

    ClosedSuggestionError if the key belongs to another result.
    """
    id = state.keys.find(command.key)
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
    _told_event(state, id, command)  # raises an error if the result differs
    return known


def _apply(state: StudyState, emit: Emit, command: Applied) -> None:
    _check_uid(state, command.uid)
    words = as_choice(state.config.adapter.canonical_choice(command.chosen))
    if words != state.applied:
        emit({"v": VERSION, "kind": "applied", **words})


def _cancel(state: StudyState, emit: Emit, id: str) -> None:
    number = state.ids.number_of(id)
    if state.core.is_open(number):
        emit({"v": VERSION_WITH_AVOIDANCE, "kind": "cancelled", "id": id})
    elif state.result_of(number) is not None:
        raise ClosedSuggestionError("an open ask", f"{id}, which has its result", "", "id")


def _expire_leases(state: StudyState, emit: Emit, now: Now, spared: str | None) -> None:
    """Close the evaluations whose lease has ended, but not the one that a command is about."""
    for id in [state.ids.of(number) for number in state.leases.due(now())]:
        if id != spared:
            emit({"v": VERSION, "kind": "expired", "id": id})


def _prolong(state: StudyState, emit: Emit, command: Heartbeat, now: Now) -> Evaluation:
    number = state.ids.number_of(command.id)
    if not state.core.is_open(number):
        state.leases.check_open(number, command.id)
        raise ClosedSuggestionError(
            "an open ask", f"{command.id}, which was told or cancelled", "", "id"
        )
    held = state.leases.of(number)
    lease = command.lease or (state.config.lease if held is None else held.length)
    if lease is None:
        advice = "Ask with a lease, or give one here."
        raise InputError("an ask with a lease", f"{command.id} without one", advice, "lease")
    emit({"v": VERSION, "kind": "prolonged", "id": command.id, **_leased(lease, now)})
    return state.open_evaluation(command.id)


def _retime(state: StudyState, emit: Emit, command: Retime, now: Now) -> None:
    wall = state.config.clock.at(now(), state.created)
    latest = wall if command.t is None else command.t
    if latest is None:
        raise InputError("a time, because the clock counts steps", "none", "", "t")
    if latest < state.core.latest:
        emit({"v": VERSION, "kind": "retimed", "latest": latest})


def _check_uid(state: StudyState, uid: str | None) -> None:
    if uid not in (None, state.uid):
        raise UnknownStudyError(
            "the study with this uid", "another study of the same name", "", "uid"
        )


def _time_to_ask(state: StudyState, t: float | None, now: Now) -> float | None:
    """The given time, else that of the clock; None leaves it to the optimizer's counter."""
    latest, clock, seconds = state.core.latest, state.config.clock, now()
    if t is None:
        wall = clock.at(seconds, state.created)
        if wall is None:
            return None
        clock.check(wall, latest)
        return max(wall, latest)  # a wall clock may run backwards a little
    if state.core.asked and t < latest:
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
