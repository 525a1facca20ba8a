"""Results of a study with their own noise: events, replays, repeats, tables and views."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import heliotrope as ht
from heliotrope.errors import ClosedSuggestionError, FormatError, InputError
from heliotrope.precision import CHECKS, value_and_precision
from heliotrope.storage import MemoryStore, Store
from heliotrope.study import Study
from heliotrope.study.tables import add_results, new_results, read_results, setup_of
from studies import shown, twin_of

SPACE = {"x": ht.Real(0, 1)}
GIVEN = {"epsilon": 0.02, "mean": 0.0, "variance": 1.0, "noise": 0.1, "length_scale": 0.3}
FORMS: list[dict[str, Any]] = [
    {"value": 0.4},
    {"value": -0.3, "std": 0.7},
    {"value": 1.5, "n": 6},
    {"successes": 3, "trials": 11},
    {"count": 0, "exposure": 2.5},
    {"count": 7, "exposure": 4.0},
]


def begin(store: Store | None = None, **options: Any) -> Study:
    return Study.create("pump", SPACE, store=store or MemoryStore(), **options)


def told(study: Study) -> list[dict[str, Any]]:
    return [dict(event.body) for event in study.events() if event.body["kind"] == "told"]


def test_the_event_says_what_was_told() -> None:
    study = begin()
    for form in FORMS:
        study.tell(study.ask(), **form)
        study.add({"x": 0.5}, **form)
    for form, *events in zip(FORMS, told(study)[::2], told(study)[1::2], strict=True):
        for event in events:
            value, _ = value_and_precision(**form)
            wanted = {"value": value, **form}
            wanted |= {name: {"value": wanted[name]} for name in ("value", "std") if name in wanted}
            assert wanted == {
                name: number for name, number in event.items() if name not in ("v", "kind", "id")
            }
    assert {event.body["v"] for event in study.events()} == {1}


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("policy", [GIVEN, {}, {"kind": "sw_gp_ucb", "window": 4}])
def test_the_log_reproduces_the_study(direction: Any, policy: dict[str, Any]) -> None:
    store = MemoryStore()
    study = begin(store, policy=policy, direction=direction)
    for form in FORMS * 3:
        study.tell(study.ask(), **form)
    study.tell_and_ask(study.ask(), 0.5, std=2.0)
    twin = twin_of(store, "pump")
    assert shown(twin, 3.0) == shown(study, 3.0)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_belief_is_that_of_an_optimizer_told_the_same(direction: Any) -> None:
    study = begin(policy=GIVEN, direction=direction)
    sign = study.config.sign
    optimizer = ht.Optimizer(ht.Box(0, 1), study.config.build())
    for number, form in enumerate(FORMS):
        x = number / 5.0
        study.add({"x": x}, **form)
        value, precision = value_and_precision(**form)
        optimizer.observe(optimizer.begin([x]), sign * value, precision)
    shown = study.belief()
    band = optimizer.belief(X=np.array(shown["values"])[:, None])
    np.testing.assert_allclose(shown["mean"], sign * band.mean, atol=1e-9)
    np.testing.assert_allclose(shown["std"], band.std, atol=1e-9)


def test_a_snapshot_keeps_the_noise() -> None:
    store = MemoryStore()
    study = begin(store, policy=GIVEN)
    for i in range(60):  # more than a hundred events
        study.tell(study.ask(), np.sin(i), std=0.1 + i % 7)
    assert store.snapshot(study.uid) is not None
    assert shown(Study.open("pump", store)) == shown(study)
    assert shown(twin_of(store, "pump")) == shown(study)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_same_result_is_accepted_again_and_no_other(
    form: dict[str, Any], direction: Any
) -> None:
    study = begin(direction=direction)
    ask = study.ask()
    study.tell(ask, **form)
    added = study.add({"x": 0.5}, **form, key="mine")
    log = study.events()
    study.tell(ask, **form)
    assert study.add({"x": 0.5}, **form, key="mine") == added
    for other in [other for other in FORMS if other != form] + [
        {"value": value_and_precision(**form)[0], "std": 0.123},
        {"value": value_and_precision(**form)[0], "n": 2},
    ]:
        for again in (
            lambda other=other: study.tell(ask, **other),
            lambda other=other: study.add({"x": 0.5}, **other, key="mine"),
        ):
            with pytest.raises(ClosedSuggestionError, match="that was told before") as caught:
                again()
            assert caught.value.field == "value"
    assert study.events() == log


def test_another_noise_alone_is_named() -> None:
    study = begin()
    ask = study.ask()
    study.tell(ask, 1.0, std=0.5)
    for noise, got in (({}, "none"), ({"std": 0.25}, "std 0.25"), ({"n": 4}, "n 4")):
        with pytest.raises(ClosedSuggestionError) as caught:
            study.tell(ask, 1.0, **noise)
        assert (caught.value.expected, caught.value.got) == ("the noise that was told before", got)


def test_more_repeats_than_can_be_told_apart_are_refused() -> None:
    study = begin()
    ask = study.ask()
    with pytest.raises(InputError, match=r"^n: expected n of at most 9,007,199,254,740,992"):
        study.tell(ask, 1.0, n=2**53 + 1)
    for _ in range(2):
        study.tell(ask, 1.0, n=2**53)


NUMBERS = st.none() | st.integers(-2, 9) | st.floats() | st.booleans() | st.just("1")


@given(
    form=st.fixed_dictionaries({}, optional=dict.fromkeys(("value", *CHECKS), NUMBERS)),
)
def test_bad_results_are_refused_and_change_nothing(form: dict[str, Any]) -> None:
    study = begin(policy={"kind": "uniform"})
    ask = study.ask()
    log, fields = study.events(), list[str]()
    for record in (lambda: study.tell(ask, **form), lambda: study.add({"x": 0.5}, **form)):
        try:
            record()
        except InputError as error:
            fields.append(error.field)
            assert study.events() == log
        else:
            assert np.isfinite(told(study)[-1]["value"]["value"])
            log = study.events()
    assert {*fields} <= {"value", *CHECKS}


def test_the_track_and_the_export_show_the_noise() -> None:
    study = begin(policy=GIVEN)
    plain = study.export().splitlines()[0]
    for form in FORMS:
        study.tell(study.ask(), **form)
    results = study.track()["results"]
    for form, result in zip(FORMS, results, strict=True):
        value, precision = value_and_precision(**form)
        assert result["value"] == value
        assert result.get("n", 1) == precision.repeats
        assert result.get("std", np.nan) ** 2 == pytest.approx(
            precision.noise(np.nan) if precision.repeats == 1 else np.nan, nan_ok=True
        )
    text = study.export()
    columns = "std,n,successes,trials,count,exposure"
    assert text.splitlines()[0] == plain.replace("value,", f"value,{columns},")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["std"] for row in rows] == ["", "0.7", "", "", "", ""]
    assert [row["trials"] for row in rows] == ["", "", "", "11", "", ""]
    listed = json.loads(study.export("json"))["results"]
    for form, row in zip(FORMS, listed, strict=True):
        assert {name: row[name] for name in form} == form


def imported(folder: Path, text: str, study: Study) -> Study:
    file = folder / "results.csv"
    file.write_text(text)
    log = study.events()
    results = new_results(read_results(file, setup_of(log)), log)
    for _ in add_results(results, study, setup_of(log)):
        pass
    return study


def test_an_export_can_be_imported(tmp_path: Path) -> None:
    study = begin(policy=GIVEN)
    for form in FORMS:
        study.tell(study.ask(), **form)
    copy = imported(tmp_path, study.export(), begin(policy=GIVEN))
    assert copy.track() == study.track()
    assert imported(tmp_path, study.export(), copy).track() == study.track()  # nothing is new


def test_a_table_may_have_proportions_alone(tmp_path: Path) -> None:
    study = imported(tmp_path, "x,successes,trials\n0.5,3,10\n0.25,,\n1,0,4\n", begin())
    results = study.track()["results"]
    assert [(one["params"]["x"], one["value"]) for one in results] == [(0.5, 0.3), (1.0, 0.0)]
    assert all(one["std"] > 0.0 for one in results)


def test_a_parameter_may_have_the_name_of_a_noise(tmp_path: Path) -> None:
    space: dict[str, ht.Integer | ht.Real] = {"n": ht.Integer(1, 9), "count": ht.Real(0, 1)}
    bare = Study.create("bare", space, store=MemoryStore())
    imported(tmp_path, "n,count,exposure,value\n3,0.5,7,1.5\n", bare)
    (result,) = bare.track()["results"]
    assert result == {"t": 1.0, "value": 1.5, "params": {"n": 3, "count": 0.5}}
    full = Study.create("full", space, store=MemoryStore())
    imported(tmp_path, "params.n,params.count,n,value\n3,0.5,7,1.5\n", full)
    assert full.track()["results"] == [{**result, "n": 7}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x,value,std\n0.5,1,0\n", "line 2"),
        ("x,value,n\n0.5,1,2.5\n", "line 2"),
        ("x,value,std,n\n0.5,1,0.1,2\n", "line 2"),
        ("x,successes,trials\n0.5,1,2\n0.5,1,\n", "line 3"),
        ("x,successes,trials\n0.5,3,2\n", "line 2"),
        ("x,successes,trials,value\n0.5,1,3,0.33\n0.5,1,2,0.9\n", "value: .* got 0.9 on line 3"),
        ("x,std\n0.5,1\n", "'value'"),
    ],
)
def test_a_wrong_row_is_named(text: str, said: str, tmp_path: Path) -> None:
    study = begin()
    with pytest.raises(FormatError, match=said):
        imported(tmp_path, text, study)
    assert not told(study)


def test_a_study_learns_the_noise_of_usual_results_from_these_alone() -> None:
    """Results that are known to be imprecise do not make the others imprecise."""
    rng = np.random.default_rng(4)
    study = begin()
    for i in range(60):
        ask = study.ask()
        value = np.sin(6.0 * ask.params["x"])
        if i % 2:
            study.tell(ask, value + 10.0 * rng.normal(), std=10.0)
        else:
            study.tell(ask, value + 0.05 * rng.normal())
    model = study.summary()["model"]
    assert model["noise"] < 0.05
    assert 0.1 < model["variance"] < 5.0
