"""Leases: the asks of workers that died expire; late results, heartbeats, wrong clocks, copies."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heliotrope.errors import (
    ClosedSuggestionError,
    InputError,
    TimeError,
    UnknownSuggestionError,
)
from heliotrope.storage import MemoryStore, Store, open_store
from heliotrope.study import Study
from heliotrope.study.clocks import seconds_of
from heliotrope.study.command_fields import Command
from heliotrope.study.commands import Add, Ask, Tell
from studies import SPACES, Watch, shown


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def store() -> Store:
    return MemoryStore()


LEARNING = ("learned", "judged")


def begin(store: Store, watch: Watch, space: str = "options", **others: Any) -> Study:
    return Study.create("pump", SPACES[space], store=store, now=watch, **others)


def kinds(study: Study) -> list[str]:
    return [event.body["kind"] for event in study.events() if event.body["kind"] not in LEARNING]


def again(study: Study, store: Store, watch: Watch) -> Study:
    """The same study, opened from its log and snapshots."""
    return Study.open(study.name, store, now=watch)


# Leases


def test_an_ask_without_a_result_expires(store: Store, watch: Watch) -> None:
    study = begin(store, watch)
    dead, alive = study.ask(lease="10min"), study.ask()
    assert (dead.until, alive.until) == (watch.seconds + 600.0, None)
    watch.seconds += 599.0
    study.ask()
    assert len(study.open_asks()) == 3
    watch.seconds += 2.0
    study.ask()
    assert kinds(study) == ["created", "asked", "asked", "asked", "expired", "asked"]
    for opened in (study, again(study, store, watch)):
        assert dead not in opened.open_asks()
        assert alive in opened.open_asks()


def test_the_study_has_a_default_lease(store: Store, watch: Watch) -> None:
    study = begin(store, watch, lease="1h")
    assert study.config.to_json()["lease"] == "1h"
    assert study.ask().until == watch.seconds + 3600.0
    assert study.ask(lease="30s").until == watch.seconds + 30.0
    following = study.tell_and_ask(study.open_asks()[0], 1.0, lease="1min")
    assert following.until == watch.seconds + 60.0


def test_a_heartbeat_prolongs_the_lease(store: Store, watch: Watch) -> None:
    study = begin(store, watch)
    ask = study.ask(lease="10min")
    watch.seconds += 500.0
    assert study.heartbeat(ask).until == watch.seconds + 600.0
    watch.seconds += 599.0
    assert study.heartbeat(ask.id, "1d").until == watch.seconds + 86400.0
    watch.seconds += 86399.0
    study.ask()
    assert "expired" not in kinds(study)
    assert again(study, store, watch).open_asks()[0].until == watch.seconds + 1.0


def test_a_late_heartbeat_of_a_lease_that_nobody_ended_is_in_time(
    store: Store, watch: Watch
) -> None:
    study = begin(store, watch)
    ask = study.ask(lease="1s")
    watch.seconds += 100.0
    study.heartbeat(ask)
    assert kinds(study) == ["created", "asked", "prolonged"]


def test_heartbeats_are_refused_without_a_lease_or_an_open_ask(store: Store, watch: Watch) -> None:
    study = begin(store, watch)
    bare, told, dead = study.ask(), study.ask(), study.ask(lease="1s")
    study.tell(told, 1.0)
    watch.seconds += 100.0
    study.tell(study.ask(), 1.0)
    before = shown(study)
    for ask, error in (
        (bare, InputError),
        (told, ClosedSuggestionError),
        (dead, ClosedSuggestionError),
    ):
        with pytest.raises(error):
            study.heartbeat(ask)
    assert shown(study) == before


@pytest.mark.parametrize("lease", ["", "soon", "0s", "-1min", "1e9d", "1" * 50 + "s", 5, ["1s"]])
def test_wrong_leases_are_refused(store: Store, watch: Watch, lease: Any) -> None:
    study = begin(store, watch)
    with pytest.raises(InputError) as refused:
        study.ask(lease=lease)
    assert refused.value.field == "lease"
    with pytest.raises(InputError) as refused:
        Study.create("other", ["a", "b"], store=store, lease=lease)
    assert refused.value.field == "lease"
    assert kinds(study) == ["created"]


@pytest.mark.parametrize("space", ["options", "box", "grid"])
def test_a_result_after_the_lease_is_still_taken(store: Store, watch: Watch, space: str) -> None:
    study = begin(store, watch, space)
    late = study.ask(lease="10min")
    for value in (0.3, 0.5):
        study.tell(study.ask(), value)
    watch.seconds += 1000.0
    study.tell(study.ask(), 0.4)
    assert late.id not in [ask.id for ask in study.open_asks()]
    study.tell(late, 0.9)
    study.tell(late, 0.9)  # repeating is accepted
    with pytest.raises(ClosedSuggestionError):
        study.tell(late, 0.8)
    assert kinds(study)[-1] == "told"
    exported = study.export("json")
    assert '"value": 0.9' in exported
    assert study.summary()["told"] == 4
    reopened = again(study, store, watch)
    assert shown(reopened) == shown(study)


def test_a_cancelled_ask_does_not_expire(store: Store, watch: Watch) -> None:
    study = begin(store, watch, lease="1s")
    study.cancel(study.ask())
    study.tell(study.ask(), 1.0)
    watch.seconds += 100.0
    study.ask()
    assert "expired" not in kinds(study)


@pytest.mark.parametrize("space", ["options", "box"])
def test_after_their_leases_dead_workers_leave_no_trace(watch: Watch, space: str) -> None:
    """The belief is that of a twin that never had their asks."""
    study, twin = (begin(MemoryStore(), watch, space) for _ in range(2))
    rng = np.random.default_rng(5)
    for step in range(30):
        for _ in range(4):
            study.ask(t=float(step), lease="10min")
        ask = study.ask(t=float(step))
        value = float(rng.normal())
        study.tell(ask, value)
        twin.add(ask.option or ask.params, value, t=float(step))
    watch.seconds += 1000.0
    study.cancel(study.ask(t=30.0))
    assert kinds(study).count("expired") == 120
    assert not study.open_asks()
    belief, expected = (one.belief(30.0) for one in (study, twin))
    _assert_close(belief, expected)


def _assert_close(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            _assert_close(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            _assert_close(left, right)
    elif isinstance(one, float):
        assert one == pytest.approx(
            other, rel=1e-5, abs=1e-6
        )  # the tolerance of the engine of boxes
    else:
        assert one == other


def test_snapshots_hold_leases_and_late_results(watch: Watch) -> None:
    store = MemoryStore()
    study = begin(store, watch)
    dead, open_ = study.ask(lease="1min"), study.ask(lease="1d")
    watch.seconds += 100.0
    for value in range(130):  # a snapshot is kept meanwhile
        study.tell(study.ask(), float(value))
    assert store.snapshot(study.uid) is not None
    reopened = again(study, store, watch)
    assert [ask.until for ask in reopened.open_asks()] == [open_.until]
    reopened.tell(dead, 0.5)
    study.heartbeat(open_)
    assert shown(again(study, store, watch)) == shown(study)


# Copies


def test_a_restored_copy_takes_no_result_of_another_point(tmp_path: Path, watch: Watch) -> None:
    url, copy = f"sqlite:///{tmp_path}/store.db", tmp_path / "copy.db"
    with closing(open_store(url)) as store:
        study = begin(store, watch)
        study.tell(study.ask(), 1.0)
        with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
            connection.execute(f"VACUUM INTO '{copy}'")
        old = [study.ask() for _ in range(3)]
        study.tell(old[2], 3.0)
    shutil.copyfile(copy, tmp_path / "store.db")
    with closing(open_store(url)) as store:
        study = Study.open("pump", store, now=watch)
        new = [study.ask() for _ in range(3)]
        assert not {ask.id for ask in new} & {ask.id for ask in old}
        before = shown(study)
        for ask in old:
            with pytest.raises(UnknownSuggestionError, match="restored from a copy"):
                study.tell(ask.id, 2.0)
            with pytest.raises(UnknownSuggestionError):
                study.cancel(ask.id)
        assert shown(study) == before
        study.tell(new[0], 2.0)


def test_a_result_that_names_its_point_is_compared_with_the_log(store: Store, watch: Watch) -> None:
    study = begin(store, watch, "grid")
    ask = study.ask()
    other = {**ask.params, "eco": not ask.params["eco"]}
    with pytest.raises(UnknownSuggestionError) as refused:
        study.do(Tell(ask.id, 1.0, params=other))
    assert refused.value.field == "params"
    assert study.open_asks() == [ask]
    study.do(Tell(ask.id, 1.0, params=dict(ask.params)))
    with pytest.raises(UnknownSuggestionError):  # also of a result that is repeated
        study.do(Tell(ask.id, 1.0, params=other))


# Clocks


@pytest.fixture
def by_wall(store: Store, watch: Watch) -> Study:
    study = begin(store, watch, clock="10min")
    study.tell(study.ask(), 1.0)
    return study


def test_a_clock_that_is_years_ahead_is_refused(by_wall: Study, watch: Watch) -> None:
    before = shown(by_wall)
    watch.seconds += 10 * 365 * 86400.0
    with pytest.raises(TimeError, match=r"3,650 d ahead.*Check the clock") as refused:
        by_wall.ask()
    assert refused.value.field == "t"
    watch.seconds -= 10 * 365 * 86400.0
    assert shown(by_wall) == before
    assert by_wall.ask().t < 1.0


def test_a_study_that_rested_for_months_goes_on(by_wall: Study, watch: Watch) -> None:
    watch.seconds += 300 * 86400.0
    assert by_wall.ask().t == pytest.approx(300 * 144)


def test_a_long_rest_can_be_confirmed(by_wall: Study, watch: Watch) -> None:
    watch.seconds += 3 * 365 * 86400.0
    assert by_wall.ask(t=3 * 365 * 144.0).t == 3 * 365 * 144.0


def test_an_operator_repairs_a_time_that_was_ahead(
    by_wall: Study, store: Store, watch: Watch
) -> None:
    watch.seconds += 360 * 86400.0  # plausible, but wrong
    wrong, dead = by_wall.ask(), by_wall.ask(lease="1s")
    by_wall.tell(wrong, 2.0)
    watch.seconds += 100.0
    open_ = by_wall.ask()
    watch.seconds -= 359 * 86400.0
    with pytest.raises(TimeError, match=r"359 d behind.*retime"):
        by_wall.ask()
    by_wall.retime()
    for study in (by_wall, again(by_wall, store, watch)):
        assert study.summary()["t"] == pytest.approx(144.0, abs=1.0)
        assert [ask.id for ask in study.open_asks()] == [open_.id]
        assert study.open_asks()[0].t == pytest.approx(144.0, abs=1.0)
    by_wall.tell(dead, 3.0)
    by_wall.tell(open_, 4.0)
    watch.seconds += 600.0
    assert by_wall.ask().t == pytest.approx(145.0, abs=1.0)
    log = len(by_wall.events())
    by_wall.retime()  # nothing is ahead any more
    assert len(by_wall.events()) == log
    assert shown(again(by_wall, store, watch)) == shown(by_wall)


def test_a_counter_needs_a_time_to_go_back_to(store: Store, watch: Watch) -> None:
    study = begin(store, watch)
    study.tell(study.ask(t=1e17), 1.0)
    with pytest.raises(TimeError, match="a step of 1 changes nothing"):
        study.ask()
    with pytest.raises(InputError, match="counts steps"):
        study.retime()
    study.retime(5.0)
    assert study.ask().t == 6.0


def test_the_clock_of_the_store_corrects_that_of_a_process(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore()
    study = begin(store, watch, clock="1h")
    monkeypatch.setattr(MemoryStore, "clock_offset", lambda _: 5 * 86400.0)
    watch.seconds += 5 * 86400.0 + 7200.0
    assert study.ask().t == 2.0


def test_old_results_are_no_reason_to_doubt_the_clock(store: Store, watch: Watch) -> None:
    study = begin(store, watch, clock="1h")
    study.add("hall", 1.0, t=-3 * 365 * 24.0)  # three years before the study was created
    assert study.ask().t == 0.0


@pytest.mark.parametrize(("unit", "seconds"), [("7d", 14 * 86400.0), ("10min", 86400.0)])
def test_a_clock_that_is_set_back_stands_still_for_a_while(
    store: Store, watch: Watch, unit: str, seconds: float
) -> None:
    study = begin(store, watch, clock=unit)
    watch.seconds += 200 * 86400.0  # a wrong clock
    latest = study.ask().t
    watch.seconds -= 0.99 * seconds
    assert study.ask().t == study.add("hall", 1.0).t == latest
    watch.seconds -= 0.02 * seconds
    now = (watch.seconds - 1_700_000_000.0) / seconds_of(unit)
    commands: list[Command[Any]] = [Ask(), Ask(t=now), Add.of("hall", 1.0, t=now)]
    for command in commands:
        with pytest.raises(TimeError, match=r"behind\..*retime the study"):
            study.do(command)
    study.retime()
    assert study.ask().t == pytest.approx(now)


def test_a_study_that_a_wrong_clock_created_can_be_used(store: Store, watch: Watch) -> None:
    """Without an ask, there is no time that the right clock could be behind, or be set back to."""
    study = begin(store, watch, clock="1h")
    watch.seconds -= 10 * 86400.0
    study.retime()
    assert len(study.events()) == 1
    assert study.ask().t == study.add("hall", 1.0).t == -240.0


def test_the_time_of_one_client_does_not_stop_the_clock(store: Store, watch: Watch) -> None:
    study = begin(store, watch, clock="7d")
    with pytest.raises(TimeError, match="at most 1, 7 d after now; got 999"):
        study.ask(t=999.0)
    assert study.ask(t=1.0).t == 1.0  # a week ahead
    watch.seconds += 8 * 86400.0
    assert study.ask().t == pytest.approx(8 / 7)
