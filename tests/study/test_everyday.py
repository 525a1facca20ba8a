"""The everyday calls: continue, optimize, best, tables, typed answers."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

import heliotrope as ht
from heliotrope.errors import InputError, NoBeliefError, StudyExistsError
from heliotrope.spaces import Parameter
from heliotrope.study import Study
from heliotrope.study.optimizing import Outcome
from heliotrope.study.results import BestChoice, Summary

SPACE: dict[str, Parameter] = {
    "x": ht.Real(0, 1),
    "n": ht.Integer(1, 9),
    "mode": ht.Categorical(["1", "b"]),
}


def bowl(params: Mapping[str, Any]) -> float:
    return float((params["x"] - 0.3) ** 2)


@pytest.fixture
def study() -> Study:
    return ht.Study.create("bowl", SPACE, direction="minimize", store="memory:")


# ---- continuing


def test_an_existing_study_of_the_same_configuration_continues(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    for told in range(3):
        study = ht.Study.create("bowl", SPACE, seed=4, store=url, exist_ok=True)
        assert study.summary().told == told
        study.tell(study.ask(), 1.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"direction": "minimize"}, "direction 'minimize' instead of 'maximize'"),
        ({"space": {**SPACE, "x": ht.Real(0, 2)}}, "space.x.high 2.0 instead of 1.0"),
        ({"space": ["a", "b"]}, "options ['a', 'b'] instead of None"),
        ({"policy": {"epsilon": 0.1}}, "policy.epsilon 0.1 instead of None"),
        ({"clock": "10min", "seed": 1}, "clock.kind 'wall' instead of 'steps'"),
    ],
)
def test_another_configuration_is_refused_with_what_differs(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    given: dict[str, Any] = {"space": SPACE, "store": url}
    ht.Study.create("bowl", **given)
    with pytest.raises(StudyExistsError) as caught:
        ht.Study.create("bowl", **(given | change), exist_ok=True)
    assert words in str(caught.value)
    assert caught.value.__suppress_context__  # one traceback
    with pytest.raises(StudyExistsError):
        ht.Study.create("bowl", **given)
    assert ht.Study.open("bowl", url).summary().events == 1


def test_other_spellings_and_no_seed_continue(tmp_path: Path) -> None:
    given: dict[str, Any] = {"store": f"sqlite:///{tmp_path}/s.db", "exist_ok": True}
    ht.Study.create("bowl", SPACE, clock="10min", lease="1h", seed=4, **given)
    study = ht.Study.create("bowl", SPACE, clock="10m", lease="60min", **given)
    assert study.config.seed == 4
    for change, words in (({"seed": 0}, "seed 0 instead of 4"), ({"lease": "2h"}, "lease '2h'")):
        with pytest.raises(StudyExistsError, match=words):
            ht.Study.create("bowl", SPACE, **{"clock": "10m", "lease": "1h"} | change, **given)


# ---- the best, and typed answers


@pytest.mark.parametrize("value", [3.0, -1e9, 0.0])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_after_one_result_the_best_is_the_measured_one(
    value: float, direction: Literal["maximize", "minimize"]
) -> None:
    for space in (SPACE, {"x": ht.Real(0, 1), "y": ht.Real(0, 1)}, ["a", "b", "c"]):
        study = ht.Study.create("one", space, direction=direction, store="memory:")
        ask = study.ask()
        study.tell(ask, value)
        assert study.best.choice == (ask.option or ask.params)
        assert study.best_params == ask.params


def test_after_one_result_the_best_is_measured_in_each_context() -> None:
    for space in ({"x": ht.Real(0, 1)}, ["a", "b", "c"]):
        study = ht.Study.create("one", space, context={"n": ht.Integer(0, 5)}, store="memory:")
        ask = study.ask(context={"n": 2})
        study.tell(ask, 3.0)
        best = study.summary(context={"n": 4}).best
        assert best is not None
        assert best.choice == (ask.option or ask.params)
        assert best.context == {"n": 4}


def test_the_best_is_typed(study: Study) -> None:
    with pytest.raises(NoBeliefError, match="without results"):
        _ = study.best
    study.optimize(bowl, 20)
    best = study.best
    assert isinstance(best, BestChoice)
    assert best.params == best["params"] == study.best_params
    assert (best.option, best.context) == ("", None)
    assert bowl(study.best_params) < 0.05
    study.add(study.best_params, 0.0)
    with pytest.raises(AttributeError, match="no attribute 'median'"):
        best.median  # type: ignore[attr-defined]  # noqa: B018


def test_the_best_option_is_a_name() -> None:
    study = ht.Study.create("arms", ["a", "b"], store="memory:")
    study.optimize(lambda option: {"a": 1.0, "b": 2.0}[option], 12)
    assert study.best.option == study.best.choice == "b"
    assert study.best_params == study.best.params == {}
    assert study.belief().options == study.belief()["options"]


def test_answers_turn_to_json(study: Study) -> None:
    study.optimize(bowl, 3)
    waiting = study.ask()
    for found in (study.summary(), study.belief(), study.track()):
        assert json.loads(json.dumps(found)) == found.to_json() == found
    summary = study.summary()
    assert isinstance(summary, Summary)
    assert summary.open == [waiting]
    assert summary.drift.words == summary["drift"]["words"]
    assert summary.context is None
    assert study.track().best[-1].params.keys() == SPACE.keys()


def test_reprs_say_what_a_thing_is(study: Study) -> None:
    study.optimize(bowl, 2)
    assert repr(study) == "Study('bowl', minimize, 2 results)"
    one = ht.Optimizer(ht.Box(0, 1), ht.uniform())
    one.tell(one.ask(), 1.0)
    assert repr(one) == "Optimizer(Box of 1 coordinate, Uniform, maximize, 1 result, 0 open)"
    html = study._repr_html_()
    assert html.startswith("<table><caption>bowl</caption>")
    assert "2 of 2 asked" in html
    study.delete()
    assert repr(study) == "Study('bowl')"
    assert "<th>error</th>" in study._repr_html_()
    opt = ht.Optimizer(ht.grid(5), ht.auto(ht.grid(5)))
    assert repr(opt) == "Optimizer(Finite of 5 points, Adaptive, maximize, 0 results, 0 open)"
    opt.tell(opt.ask(), 1.0)
    assert "best now" in opt._repr_html_()
    assert repr(opt.belief(3.0)).startswith("Belief(t 3, points 5, mean ")
    assert opt.belief()._repr_html_().startswith("<table><caption>Belief</caption>")


def test_names_are_escaped_in_html() -> None:
    study = ht.Study.create("s", ["<script>"], store="memory:")
    study.optimize(lambda _: 1.0, 1)
    assert "&lt;script&gt;" in study._repr_html_()
    assert "<script>" not in study._repr_html_()


# ---- optimize


def test_failures_are_cancelled_and_said_in_one_line(
    study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    calls = iter(range(100))

    def fails_often(params: dict[str, Any]) -> float:
        call = next(calls)
        if call == 1:
            raise RuntimeError("the pump\nis off")
        return [bowl(params), float("nan"), None, "7"][call % 4]  # type: ignore[return-value]

    report = study.optimize(fails_often, 8)
    assert (report.told, report.cancelled, report.reason) == (2, 6, "n")
    assert study.summary().told == 2
    assert study.open_asks() == []
    lines = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(lines) == 6
    assert all("\n" not in line for line in lines)
    assert lines[0].endswith("the function failed (RuntimeError: the pump is off)")
    assert lines[2].startswith("bowl: cancelled x 0.")
    assert "got nan" in lines[3]
    assert "expected the function to return its result; got None" in lines[1]


def test_a_slow_function_ends_at_the_timeout(
    study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    def slow(params: dict[str, Any]) -> float:
        time.sleep(0.1)
        return bowl(params)

    report = study.optimize(slow, 100, timeout=0.25)
    assert report.reason == "timeout"
    assert 0 < report.told < 100
    assert report.told == study.summary().told
    assert study.open_asks() == []
    assert [str(report) in record.getMessage() for record in caplog.records] == [True]


def test_an_interrupt_keeps_what_was_told(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    def interrupted(params: dict[str, Any]) -> float:
        if study.summary().told == 3:
            raise KeyboardInterrupt
        return bowl(params)

    report = study.optimize(interrupted, 10)
    assert (report.told, report.cancelled, report.reason) == (3, 1, "interrupted")
    assert study.open_asks() == []
    assert "interrupted after" in caplog.text


@pytest.mark.parametrize("verb", ["ask", "tell"])
def test_an_interrupt_of_a_call_leaves_nothing_open(
    study: Study, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[object] = []
    real = getattr(study, verb)

    def interrupted(*given: Any, **named: Any) -> Any:
        calls.append(given)
        done = real(*given, **named)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(study, verb, interrupted)
    report = study.optimize(bowl, 9)
    assert report.reason == "interrupted"
    assert report.told == study.summary().told == (2 if verb == "ask" else 3)
    assert study.open_asks() == []


CTRL_C = """
import signal, sys, time
import heliotrope as ht

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
study = ht.Study.create("s", {"x": ht.Real(0, 1)}, store=sys.argv[1])

def slow(params):
    print("measuring", flush=True)
    time.sleep(0.2 if study.summary().told < 2 else 60)
    return 1.0

study.optimize(slow)
print("the end", flush=True)
"""


def test_ctrl_c_is_clean(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    run = subprocess.Popen(
        [sys.executable, "-c", CTRL_C, url], stdout=-1, stderr=-1, text=True, bufsize=1
    )
    assert run.stdout is not None
    for _ in range(3):
        assert run.stdout.readline() == "measuring\n"
    time.sleep(0.2)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=30)
    assert (out, run.returncode) == ("the end\n", 0)
    (line,) = err.splitlines()
    assert line.startswith("s: interrupted after ")
    assert line.endswith("2 told, 1 cancelled")
    study = ht.Study.open("s", url)
    assert (study.summary().told, study.open_asks()) == (2, [])


def test_another_end_cancels_the_open_evaluation(study: Study) -> None:
    def leaves(_: object) -> float:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        study.optimize(leaves, 2)
    assert study.open_asks() == []
    assert study.summary().asked == 1


def test_callbacks_see_each_outcome_and_can_stop(study: Study) -> None:
    seen: list[Outcome] = []

    def look(there: Any, outcome: Outcome) -> None:
        assert there is study
        seen.append(outcome)
        if len(seen) == 4:
            raise StopIteration

    report = study.optimize(bowl, 10, callbacks=look)
    assert (report.told, report.reason) == (4, "callback")
    assert [one.measured for one in seen] == study.to_frame()["value"].tolist()
    with pytest.raises(ZeroDivisionError):
        study.optimize(bowl, 3, callbacks=[lambda *_: 1 / 0])
    assert study.summary().told == 5


def test_a_result_may_have_its_noise(caplog: pytest.LogCaptureFixture) -> None:
    study = ht.Study.create("pages", ["a", "b"], store="memory:")
    study.optimize(lambda _: {"successes": 3, "trials": 10}, 2)
    assert study.to_frame()["trials"].tolist() == [10, 10]
    report = study.optimize(lambda _: {"succeses": 3}, 1)
    assert report.cancelled == 1
    assert "(expected keys among value, std, n, successes, " in caplog.text
    assert "; got 'succeses'.)" in caplog.text


def test_a_function_in_c_is_called() -> None:
    study = ht.Study.create("words", ["1", "2"], store="memory:")
    assert study.optimize(float, 2).told == 2  # its signature is unknown


def test_contexts_are_passed_on() -> None:
    study = ht.Study.create(
        "fan", {"x": ht.Real(0, 1)}, context={"out": ht.Real(0, 9)}, store="memory:"
    )
    outside = iter([1.0, 2.0])
    seen: list[Any] = []

    def measure(params: dict[str, Any], context: dict[str, Any]) -> float:
        seen.append(context)
        return bowl(params)

    study.optimize(measure, 2, context=lambda: {"out": next(outside)})
    assert seen == [{"out": 1.0}, {"out": 2.0}]
    with pytest.raises(InputError):
        study.optimize(measure, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": -1},
        {"n": 1.5},
        {"timeout": 0},
        {"function": 3},
        {"function": lambda: 1.0},
        {"function": lambda x, n, mode: x + n + mode},
        {"callbacks": 3},
        {"callbacks": [print, 3]},
    ],
)
def test_wrong_arguments_ask_nothing(study: Study, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        study.optimize(**{"function": bowl, "n": 1, **wrong})
    assert study.summary().asked == 0


def test_the_log_is_that_of_the_library(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="heliotrope"):
        study.optimize(bowl, 2)
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert all(record.name.startswith("heliotrope.") for record in caplog.records)


# ---- tables


def test_a_frame_has_the_columns_of_an_export(study: Study) -> None:
    study.optimize(bowl, 3)
    study.cancel(study.ask())
    frame = study.to_frame()
    assert list(frame) == study.export().splitlines()[0].split(",")
    assert frame["state"].tolist() == ["told"] * 3 + ["cancelled"]
    assert np.isnan(frame["value"].iloc[3])
    assert set(frame["params.mode"]) <= {"1", "b"}  # texts stay texts
    assert str(frame["asked_at"].dt.tz) == "UTC"
    assert pd.isna(frame["told_at"].iloc[3])


def test_a_frame_of_nothing_has_the_columns_too(study: Study) -> None:
    assert list(study.to_frame()) == study.export().splitlines()[0].split(",")
    assert len(study.to_frame()) == 0


@pytest.mark.parametrize("unit", [1e-140, 1e-150, 1e-160, 1e-300, 1e-320])
def test_values_of_any_small_unit_are_taken(unit: float) -> None:
    study = ht.Study.create("tiny", {"x": ht.Real(0, 1)}, store="memory:", seed=1)
    for _ in range(12):
        ask = study.ask()
        study.tell(ask, -unit * (ask.params["x"] - 0.3) ** 2)
    assert np.isfinite(study.best.mean)
    assert study.summary().warning is None


def test_the_best_says_which_metric_lacks_results() -> None:
    study = ht.Study.create(
        "web",
        {"x": ht.Real(0, 1)},
        metrics={"rate": "maximize", "p99": "watch"},
        limits={"p99": {"below": 1.0}},
        baseline={"x": 0.2},
        store="memory:",
    )
    study.tell(study.ask(), {"rate": 1.0})
    with pytest.raises(NoBeliefError, match="without results of p99"):
        _ = study.best
