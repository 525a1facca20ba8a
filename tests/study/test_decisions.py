"""Commands are chains of pure steps: what is refused has changed nothing, whatever is due."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, strategies as st

from heliotrope.errors import (
    ClosedSuggestionError,
    HeliotropeError,
    InputError,
    UnknownSuggestionError,
)
from heliotrope.storage import Event, MemoryStore
from heliotrope.study import Evaluation, Study, StudyConfig, Wall
from heliotrope.study.command_fields import Command
from heliotrope.study.commands import Add, Applied, Ask, Cancel, Heartbeat, Hold, Retime, Tell
from heliotrope.study.config import goals_from
from heliotrope.study.decisions import decide, expire, learn
from heliotrope.study.state import StudyState
from heliotrope.surroundings import Moment
from strategies import fixed
from studies import SPACES, Watch, shown, what

UID = "0123456789abcdef" * 2
LIVE: dict[str, Any] = {
    "metrics": {"rate": "maximize", "heat": "watch"},
    "limits": {"heat": {"below": 15.0}},
    "baseline": "hall",
}
CONFIGS: dict[str, Callable[[], StudyConfig]] = {
    "options": lambda: StudyConfig(SPACES["options"], lease="10min"),
    "box": lambda: StudyConfig(SPACES["box"], clock=Wall("10min")),
    "live": lambda: StudyConfig(SPACES["options"], goals=goals_from("maximize", LIVE)),
}
KEYS = st.sampled_from([None, None, None, "a", "b"])
VALUES = st.sampled_from([0.3, -1.2, 0.9, 1e3]) | st.floats(-3.0, 3.0)
PAUSES = st.sampled_from([0.0, 60.0, 700.0, 1e5])  # seconds
CHOICES: dict[str, Sequence[Any]] = {
    "options": ["hall", "roof", "nowhere"],
    "box": [{"x": 0.2, "y": 1.0}, {"x": 0.9, "y": 0.5}, {"x": 2.0, "y": 1.0}],
    "live": ["hall", "roof", "nowhere"],
}


@st.composite
def asks(draw: st.DrawFn) -> Ask:
    return Ask(
        draw(st.sampled_from([None, None, None, 0.5, 3.0, 1e4])),
        key=draw(KEYS),
        uid=draw(st.sampled_from([None, None, UID, "another"])),
        lease=draw(st.sampled_from([None, "1min", "1d"])),
        cost=draw(st.sampled_from([None, None, None, 5.0])),
    )


@st.composite
def commands(draw: st.DrawFn, name: str, ids: Sequence[str]) -> Command[Any]:
    """Any command, right or wrong, to a study that has asked for these ids."""
    id = draw(st.sampled_from([*ids[-4:], "nobody's"]))
    value: Any = draw(VALUES)
    if name == "live":
        value = draw(st.sampled_from([{"rate": value, "heat": 5.0 * value}, {"rate": value}, 1.0]))
    chosen, t = draw(st.sampled_from(CHOICES[name])), draw(st.sampled_from([None, None, 2.0]))
    following = draw(st.none() | asks())
    return draw(
        asks()
        | st.sampled_from(
            [
                Tell(id, value, following),
                Tell(id, value, following),
                Add.of(chosen, value, t=t, key=draw(KEYS)),
                Applied.of(chosen),
                Cancel(id),
                Heartbeat(id, draw(st.sampled_from([None, "1min"]))),
                Retime(t),
            ]
        )
    )


def run(state: StudyState, chain: Any) -> list[str]:
    """Apply the events of a chain and return their kinds.

    No step changes a byte of the state, and no step after the first one fails.
    """
    kinds = list[str]()
    while True:
        before = state.dumps()
        try:
            body = next(chain)
        except StopIteration:
            return kinds
        except HeliotropeError:
            assert not kinds
            return kinds
        finally:
            assert state.dumps() == before
        state.apply(body)
        kinds.append(body["kind"])


@pytest.mark.parametrize("name", CONFIGS)
@fixed(25)
@given(data=st.data())
def test_every_step_is_pure_and_only_the_first_one_refuses(name: str, data: st.DataObject) -> None:
    watch, config = Watch(), CONFIGS[name]()
    state = StudyState(UID, config, watch.seconds)
    state.extend([])
    for _ in range(data.draw(st.integers(3, 15))):
        watch.seconds += data.draw(PAUSES)
        ids = [state.ids.of(number) for number in range(state.lead.asked)]
        command = data.draw(commands(name, ids))
        expired = run(state, expire(state, watch.seconds, command))
        assert set(expired) <= {"expired"}
        run(state, decide(command, state, Moment(watch.seconds, mark=1), learn))


# Refusals


def begin(store: MemoryStore, watch: Watch, **others: Any) -> Study:
    return Study.create("pump", SPACES["options"], store=store, now=watch, **others)


def kinds(events: Sequence[Event]) -> list[str]:
    return [
        event.body["kind"] for event in events if event.body["kind"] not in ("learned", "judged")
    ]


def test_a_refused_command_keeps_the_state_in_memory() -> None:
    """Whatever is wrong: the log, the state and each of its bytes stay as they are."""
    watch = Watch()
    study = begin(MemoryStore(), watch, clock="10min")
    told, cancelled, open_ = study.ask(key="told"), study.ask(), study.ask(key="open")
    study.tell(told, 1.0)
    study.cancel(cancelled)
    state, log = study.state(), study.events()
    before = state.dumps()
    wrong: list[Command[Any]] = [
        Tell("nobody's", 1.0),
        Tell(told.id, 2.0),
        Tell(cancelled.id, 1.0),
        Tell(open_.id, {"rate": 1.0, "heat": 1.0}),
        Tell(open_.id, 1.0, Ask(t=-1.0)),
        Tell(open_.id, 1.0, Ask(key="told")),
        Tell(open_.id, 1.0, Ask(key="open")),  # it would be closed by then
        Tell(open_.id, 1.0, Ask(cost=1.0)),
        Tell(open_.id, 1.0, Ask(uid="another")),
        Tell(open_.id, 1.0, option="nowhere"),
        Add.of("hall", {"rate": 1.0, "heat": 1.0}),
        Add.of("nowhere", 1.0),
        Add.of("hall", 1.0, key="told"),
        Ask(t=1e9),
        Ask(key="told"),
        Cancel(told.id),
        Heartbeat(open_.id),
        Heartbeat(cancelled.id),
        Applied.of("nowhere"),
    ]
    for command in wrong:
        with pytest.raises(HeliotropeError):
            study.do(command)
    assert all(isinstance(outcome, HeliotropeError) for outcome in study.do_all(wrong))
    assert study.events() == log
    assert study.in_memory()[0] is state
    assert state.dumps() == before


def test_a_tell_has_room_for_the_ask_that_follows() -> None:
    study = begin(MemoryStore(), Watch(), policy={"kind": "uniform"})
    first, second, *_ = study.do_all([Ask() for _ in range(1000)])
    following = study.do(Tell(first.id, 1.0, Ask()))
    assert following is not None
    study.cancel(second)
    study.ask()
    state, log = study.state(), study.events()
    with pytest.raises(InputError, match="1000 open asks"):
        study.do(Tell(first.id, 1.0, Ask()))  # it was told before
    assert study.events() == log
    assert study.in_memory()[0] is state


def test_an_outcome_without_events_is_decided_once() -> None:
    study = begin(MemoryStore(), Watch(), metrics={"rate": "maximize"})
    for value in range(30):
        study.tell(study.ask(), {"rate": float(value % 3)})
    with mock.patch("heliotrope.tracker.Tracker.hold", return_value=7.0) as hold:
        assert study.ask(cost=1.0) == Hold(7.0)
    assert hold.call_count == 1


# Leases that are due


def test_a_lease_expires_though_the_command_is_refused() -> None:
    watch, store = Watch(), MemoryStore()
    study = begin(store, watch)
    study.tell(study.ask(), 1.0)
    study.ask(lease="1min")
    state = study.state()
    watch.seconds += 61.0
    for _ in range(3):
        with pytest.raises(UnknownSuggestionError):
            study.tell("nobody's", 1.0)
    assert kinds(study.events()) == ["created", "asked", "told", "asked", "expired"]
    assert study.open_asks() == []
    assert study.in_memory()[0] is state
    assert shown(Study.open("pump", store, now=watch)) == shown(study)


def test_a_batch_of_refusals_reads_the_log_of_a_study_no_more() -> None:
    watch, store = Watch(), MemoryStore()
    study = begin(store, watch)
    dead, waiting = study.ask(lease="1min"), study.ask()
    watch.seconds += 61.0
    batch: list[Command[Any]] = [
        Tell("nobody's", 1.0),
        Heartbeat(dead.id),
        Tell(waiting.id, 2.0),
        Tell("nobody's", 1.0),
    ]
    with mock.patch.object(store, "events", wraps=store.events) as read:
        outcomes = study.do_all(batch)
    assert read.call_count == 0
    assert [type(one) for one in outcomes] == [
        UnknownSuggestionError,
        ClosedSuggestionError,
        type(None),
        UnknownSuggestionError,
    ]
    assert kinds(study.events())[-2:] == ["expired", "told"]


def test_a_refusal_is_repeated_if_another_process_wrote_in_place_of_the_expiry() -> None:
    watch, store = Watch(), MemoryStore()
    here = begin(store, watch)
    here.ask(lease="1min")
    there = Study.open("pump", store, now=watch)
    new = there.ask()
    watch.seconds += 61.0
    here.tell(new, 1.0)  # unknown here, until the expiry is refused
    assert kinds(here.events()) == ["created", "asked", "asked", "expired", "told"]
    assert shown(there) == shown(here)


# A cancel and a lease


def cancelled(*, expires: bool, space: str) -> tuple[Study, Evaluation]:
    """A study whose cancelled ask had a lease, which ended before or after the cancel."""
    watch = Watch()
    study = Study.create("pump", SPACES[space], store="memory:", now=watch)
    for value in (0.1, 0.4, 0.2):
        study.tell(study.ask(), value)
    study.cancel(study.ask())
    ask = study.ask(lease="1min")
    watch.seconds += 61.0
    if expires:
        with pytest.raises(UnknownSuggestionError):
            study.tell("nobody's", 1.0)
    study.cancel(ask)
    assert ("expired" in kinds(study.events())) == expires
    return study, ask


@pytest.mark.parametrize("space", ["options", "box"])
def test_a_cancel_counts_whether_the_lease_has_expired_or_not(space: str) -> None:
    found = [cancelled(expires=expires, space=space) for expires in (False, True)]
    for study, ask in found:
        log = study.events()
        assert kinds(log)[-1] == "cancelled"
        study.cancel(ask)  # repeating is accepted
        with pytest.raises(ClosedSuggestionError, match="cancelled"):
            study.tell(ask, 1.0)
        with pytest.raises(ClosedSuggestionError, match="cancelled"):
            study.heartbeat(ask)
        assert study.events() == log
    early, late = (study for study, _ in found)
    assert early.belief() == late.belief()
    for _ in range(6):  # the same places are avoided
        assert what(early.ask())[1:] == what(late.ask())[1:]


def test_a_cancel_after_the_lease_survives_a_restart() -> None:
    watch, store = Watch(), MemoryStore()
    study = begin(store, watch)
    study.tell(study.ask(), 1.0)
    ask = study.ask(lease="1min")
    watch.seconds += 61.0
    study.ask()
    study.cancel(ask)
    again = Study.open("pump", store, now=watch)
    assert shown(again) == shown(study)
    assert again.state().dumps() == study.state().dumps()
    with pytest.raises(ClosedSuggestionError):
        again.tell(ask, 1.0)
