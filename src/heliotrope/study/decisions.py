"""What a study decides: commands become chains of events, with a result; so does what it learns.

Each event is decided on the state after the one before. A command is checked before its first
event, so one that is refused has changed nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import astuple
from math import inf
from typing import Any, TypeAlias, TypeVar

from heliotrope.errors import (
    ClosedSuggestionError,
    InputError,
    TimeError,
    UnknownStudyError,
    UnknownSuggestionError,
)
from heliotrope.policies.learner import Update, due_as_json
from heliotrope.storage import EventBody
from heliotrope.study.cache import Chain
from heliotrope.study.clocks import seconds_of
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
from heliotrope.study.metrics import named_results
from heliotrope.study.space_adapter import Context, LoggedPlace
from heliotrope.study.state import VERSION, StudyState
from heliotrope.surroundings import Moment
from heliotrope.validation import Json, short_repr

T = TypeVar("T")
Learn: TypeAlias = Callable[[StudyState], Chain[None]]
"""Yields the events of what is learned after a result, or has that done elsewhere."""

_MOST_OPEN = 1000


def decide(command: Command[T], state: StudyState, moment: Moment, learn: Learn) -> Chain[T]:
    """Yield the events of a command at a moment, and return its result.

    ``learn`` follows each result.
    """
    result: Any = None
    if not isinstance(command, Command):
        raise InputError("a command", short_repr(command))
    command.check()
    match command:
        case Ask():
            result = yield from _checked_ask(state, command, moment)
        case Tell():
            result = yield from _tell(state, command, moment, learn)
        case Add():
            result = yield from _add(state, command, moment, learn)
        case Applied():
            yield from _apply(state, command)
        case Cancel():
            yield from _cancel(state, command.id)
        case Heartbeat():
            result = yield from _prolong(state, command, moment.now)
        case Retime():
            yield from _retime(state, command, moment.now)
    return result  # type: ignore[no-any-return]


def expire(state: StudyState, now: float, spared_by: Command[Any]) -> Chain[None]:
    """Close the evaluations whose lease has ended, but not the one that a command is about."""
    spared = getattr(spared_by, "id", None)
    for id in [state.ids.of(number) for number in state.leases.due(now)]:
        if id != spared:
            yield {"v": VERSION, "kind": "expired", "id": id}


def _checked_ask(
    state: StudyState, command: Ask, moment: Moment, told: str | None = None
) -> Chain[Evaluation | Hold]:
    """Check an ask, and return the chain that decides it, once the result of ``told`` is known.

    With the key of an open evaluation, the answer is that evaluation.
    """
    _check_uid(state, command.uid)
    id = state.keys.find(command.key)
    if id is not None:
        return _repeated(_open_with_key(state, id, told))
    context = state.config.adapter.check_context(command.context)
    t = _time_to_ask(state, command.t, moment.now)
    state.lead.next_time(t)  # raises an error if there is none
    if command.cost is not None:
        _check_hold(state)
    _check_room(state, told)
    return _ask(state, command, t, context, moment)


def _open_with_key(state: StudyState, id: str, told: str | None) -> Evaluation:
    """The open evaluation whose key was found again; ClosedSuggestionError."""
    if id == told:
        raise ClosedSuggestionError(
            "the key of a new or another open ask",
            f"that of the ask that is told ({id})",
            "Take a new key for each ask.",
            "key",
        )
    return state.open_evaluation(id)


def _repeated(evaluation: Evaluation) -> Chain[Evaluation]:
    """The answer of a command that was carried out before."""
    yield from ()
    return evaluation


def _check_room(state: StudyState, told: str | None) -> None:
    """Raise an InputError if too many evaluations stay open."""
    closed = told is not None and state.lead.is_open(state.ids.number_of(told))
    if len(state.lead.open) - closed >= _MOST_OPEN:
        raise InputError(
            f"at most {_MOST_OPEN} open asks", "one more", "Tell or cancel some first."
        )


def _ask(
    state: StudyState, command: Ask, t: float | None, context: Context | None, moment: Moment
) -> Chain[Evaluation | Hold]:
    if command.cost is not None:
        point = state.config.adapter.context_point(context)
        until = state.tracker.hold(state.lead.next_time(t), point, command.cost)
        if until is not None:
            return Hold(until)
    at, place, why = chosen(state, t, context)
    words = state.config.adapter.describe(place, context)
    lease = _leased(command.lease or state.config.lease, moment.now)
    more = {**why, **lease, **_keyed(command.key)}
    return (yield from _begin(state.ids.next(moment.mark), at, place, words | more))


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


def _leased(lease: str | None, now: float) -> Json:
    """The fields of an event that begins or prolongs a lease."""
    return {} if lease is None else {"lease": lease, "until": now + seconds_of(lease)}


def _keyed(key: str | None) -> Json:
    return {} if key is None else {"key": key}


def _begin(id: str, t: float, place: LoggedPlace, words: Json) -> Chain[Evaluation]:
    """Open an evaluation, which is read from its event."""
    body = {"v": VERSION, "kind": "asked", "id": id, "t": t, "place": place, **words}
    yield body
    return Evaluation.from_json(body)


def _tell(
    state: StudyState, command: Tell, moment: Moment, learn: Learn
) -> Chain[Evaluation | Hold | None]:
    _check_point(state, command)
    told = _told_event(state, command.id, command)
    ask: Chain[Evaluation | Hold] | None = None
    if command.ask is not None:
        with nested("ask"):  # an ask that is refused must leave the result untold
            ask = _checked_ask(state, command.ask, moment, None if told is None else command.id)
    if told is not None:
        yield from _take_result(state, told, learn)
    return None if ask is None else (yield from ask)


def _take_result(state: StudyState, told: EventBody, learn: Learn) -> Chain[None]:
    """Add the event of a result, and those of what follows from it."""
    yield told
    yield from learn(state)
    gained = state.gain_of(told["id"])
    if gained is not None:
        yield {"v": VERSION, "kind": "gained", "id": told["id"], "gain": list(astuple(gained))}


def _told_event(state: StudyState, id: str, command: Tell | Add) -> EventBody | None:
    """The event of a result; None if the same result was told before."""
    number, results = state.ids.number_of(id), named_results(state.config, command.measured)
    if state.lead.is_open(number) or state.leases.expired(number) is not None:
        return _result_event(state, id, command, results)
    before = state.result_of(number)
    if before is None:
        raise ClosedSuggestionError("an open ask", f"{id}, which was cancelled", "", "id")
    earlier, values = _values(before), _values(results)
    if values != earlier:
        expected = f"the {_words(state.config, earlier)} that was told before"
        got = _words(state.config, values).removeprefix("value ")
        raise ClosedSuggestionError(expected, got, "", "value")
    if before != results:
        got = ", ".join(f"{name} {short_repr(noise)}" for name, noise in command.noise.items())
        raise ClosedSuggestionError("the noise that was told before", got or "none", "", "value")
    return None


def _values(results: Mapping[str, Measurement]) -> dict[str, float]:
    """The values by metric, without their precisions."""
    return {name: value for name, (value, _) in results.items()}


def _words(config: StudyConfig, values: Mapping[str, float]) -> str:
    if config.goals is None:
        return f"value {values[THE_VALUE]!r}"
    return ", ".join(f"{name} {value!r}" for name, value in values.items())


def _result_event(
    state: StudyState, id: str, command: Tell | Add, results: Mapping[str, Measurement]
) -> EventBody:
    """The event of a result, with its distance from what was expected of limited metrics."""
    told = _measured_event(id, command, results)
    errors = state.tracker.errors_of(state.ids.number_of(id), results)
    return {**told, "error": errors} if errors else told


def _measured_event(id: str, command: Tell | Add, results: Mapping[str, Measurement]) -> EventBody:
    """The event of a result: its values and their standard errors are by metric."""
    noise = command.noise
    if "std" in noise and len(results) == 1:  # maybe told without a name
        std = noise["std"].values() if isinstance(noise["std"], Mapping) else [noise["std"]]
        noise["std"] = dict(zip(results, std, strict=False))
    return {"v": VERSION, "kind": "told", "id": id, "value": _values(results), **noise}


def _check_point(state: StudyState, command: Tell) -> None:
    """Compare the point that a result names with the log."""
    asked = state.point_of(command.id)
    for name in ("params", "option"):
        named = getattr(command, name)
        if asked is not None and named is not None and named != asked.get(name):
            raise UnknownSuggestionError(
                f"the point of ask {command.id}, {short_repr(asked)}",
                short_repr(named),
                "Was the study restored from a copy since?",
                name,
            )


def _add(state: StudyState, command: Add, moment: Moment, learn: Learn) -> Chain[Evaluation]:
    _check_uid(state, command.uid)
    adapter = state.config.adapter
    place = adapter.place_of(command.chosen, command.context)
    words = adapter.describe(place)
    before = _added_before(state, command, words)
    if before is not None:
        return before
    t = state.lead.placed(place, _time_to_ask(state, command.t, moment.now)).t
    results = named_results(state.config, command.measured)
    id = state.ids.next(moment.mark)
    opened = yield from _begin(id, t, place, words | _keyed(command.key))
    told = _result_event(state, opened.id, command, results)
    yield from _take_result(state, told, learn)
    return opened


def _added_before(state: StudyState, command: Add, words: Json) -> Evaluation | None:
    """The evaluation that holds the same result under the same key.

    ClosedSuggestionError if the key belongs to another result.
    """
    id = state.keys.find(command.key)
    if id is None:
        return None
    told, t = state.told_evaluation(id), command.t
    if told is None or told != Evaluation(id, told.t if t is None else t, **words):
        raise ClosedSuggestionError(
            "a new key, or the result that it was first used for",
            f"the key of another ask ({id})",
            "Take a new key for each result.",
            "key",
        )
    _told_event(state, id, command)  # raises an error if the result differs
    return told


def _apply(state: StudyState, command: Applied) -> Chain[None]:
    _check_uid(state, command.uid)
    words = as_choice(state.config.adapter.canonical_choice(command.chosen))
    if words != state.applied:
        yield {"v": VERSION, "kind": "applied", **words}


def _cancel(state: StudyState, id: str) -> Chain[None]:
    """Close an evaluation for good, even if its lease has expired."""
    number = state.ids.number_of(id)
    if state.lead.is_open(number) or state.leases.expired(number) is not None:
        yield {"v": VERSION, "kind": "cancelled", "id": id}
    elif state.result_of(number) is not None:
        raise ClosedSuggestionError("an open ask", f"{id}, which has its result", "", "id")


def _prolong(state: StudyState, command: Heartbeat, now: float) -> Chain[Evaluation]:
    number = state.ids.number_of(command.id)
    if not state.lead.is_open(number):
        state.leases.check_open(number, command.id)
        raise ClosedSuggestionError(
            "an open ask", f"{command.id}, which was told or cancelled", "", "id"
        )
    held = state.leases.of(number)
    lease = command.lease or (state.config.lease if held is None else held.length)
    if lease is None:
        advice = "Ask with a lease, or give one here."
        raise InputError("an ask with a lease", f"{command.id} without one", advice, "lease")
    yield {"v": VERSION, "kind": "prolonged", "id": command.id, **_leased(lease, now)}
    return state.open_evaluation(command.id)


def _retime(state: StudyState, command: Retime, now: float) -> Chain[None]:
    wall = state.config.clock.at(now, state.created)
    latest = wall if command.t is None else command.t
    if latest is None:
        raise InputError("a time, because the clock counts steps", "none", "", "t")
    if state.lead.asked and latest < state.lead.latest:
        yield {"v": VERSION, "kind": "retimed", "latest": latest}


def _check_uid(state: StudyState, uid: str | None) -> None:
    if uid not in (None, state.uid):
        raise UnknownStudyError(
            "the study with this uid", "another study of the same name", "", "uid"
        )


def _time_to_ask(state: StudyState, t: float | None, now: float) -> float | None:
    """The time in the command, or that of the clock; None lets the tracker count a step."""
    wall = state.config.clock.at(now, state.created)
    latest = state.lead.latest if state.lead.asked else -inf
    if wall is not None:
        state.config.clock.check(wall, latest, t)
    if t is None:
        return None if wall is None else max(wall, latest)  # the clock may be a little behind
    if t < latest:
        raise TimeError(f"a time of at least {latest:g}, the latest seen", f"{t:g}", "", "t")
    return t


def learn(state: StudyState) -> Chain[None]:
    """Estimate the models that are due."""
    for name, metric in state.metrics.items():
        learner = metric.learner
        estimation = None if learner is None else learner.estimation()
        if estimation is not None:
            yield _learned_event(estimation.run(), state, name)
    yield from judge(state)


def log_fallbacks(state: StudyState) -> Chain[None]:
    """Log which model is in use, where the latest one in the log did not work.

    A replay then builds the model in use, without those that failed.
    """
    for name, metric in state.metrics.items():
        update = metric.fallback()
        if update is not None:
            yield _learned_event(update, state, name)


def take(update: Update, state: StudyState, name: str) -> Chain[None]:
    """Take what was learned elsewhere about a metric, unless another process was first.

    If the update says which results are contradicted, the next operations do that stepwise.
    """
    learner = state.metrics[name].learner
    if learner is not None and learner.knowledge.due == update.due:
        yield _learned_event(update, state, name)
        yield from judge(state)


def judge(state: StudyState) -> Chain[None]:
    """Say which results are newly taken for faults, and which no longer."""
    yield from log_fallbacks(state)
    for name in state.metrics:
        judged = state.judge(name)
        if judged is not None:
            yield judged


def _learned_event(update: Update, state: StudyState, name: str) -> EventBody:
    """The event of a new model, which is that of the values as they are told."""
    model = update.model.signed(state.metrics[name].config.sign).to_json()
    body = {"v": VERSION, "kind": "learned", "model": model}
    variances = update.contradicted
    ids = {state.ids.of(key): variance for key, variance in sorted((variances or {}).items())}
    stepwise = {} if variances is None else {"contradicted": ids}
    trouble = {"trouble": update.trouble} if update.trouble else {}
    return {**body, **due_as_json(update.due), **stepwise, **trouble, **state.config.about(name)}
