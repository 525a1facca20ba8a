"""Studies of running systems: several metrics, limits, a baseline, moves, hold."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import heliotrope as ht
from heliotrope.errors import (
    ClosedSuggestionError,
    FormatError,
    HeliotropeError,
    InputError,
    StudyExistsError,
)
from heliotrope.live.choosing import Reason
from heliotrope.spaces import SearchSpace
from heliotrope.storage import Append, MemoryStore, open_store
from heliotrope.study import Evaluation, Study, StudyConfig
from heliotrope.study.commands import Hold
from heliotrope.study.state import StudyState
from studies import shown, twin_of, what

SPACE = {"workers": ht.Integer(1, 16), "batch": ht.Integer(8, 64, step=8)}
BASELINE = {"workers": 8, "batch": 32}
GOALS: dict[str, Any] = {
    "metrics": {"throughput": "maximize", "p99": "watch", "errors": "watch"},
    "limits": {"p99": {"below": 200.0}},
    "baseline": BASELINE,
    "moves": {"largest": {"workers": 4}, "cost": {"workers": 0.1}},
}
LIMITED = {"p99": {"below": 200.0}}


def create(store: MemoryStore | None = None, **goals: Any) -> Study:
    return Study.create("web", SPACE, store=store or MemoryStore(), **{**GOALS, **goals})


def throughput(params: Mapping[str, Any]) -> float:
    return float(500.0 + 40.0 * params["workers"] - 0.5 * (params["workers"] - 8) ** 2)


def p99(params: Mapping[str, Any]) -> float:
    return float(60.0 + 8.0 * params["workers"] + 0.8 * params["batch"])


def measured(ask: Evaluation, rng: np.random.Generator) -> dict[str, float]:
    """All metrics at an ask, with noise; now and then one is missing."""
    values = {
        "throughput": throughput(ask.params) + 5.0 * float(rng.standard_normal()),
        "p99": p99(ask.params) + 3.0 * float(rng.standard_normal()),
    }
    if rng.random() < 0.3:
        values["errors"] = 0.01 * ask.params["workers"]
    return values


def run(study: Study, steps: int, seed: int = 0) -> list[Evaluation]:
    rng, asks = np.random.default_rng(seed), []
    for _ in range(steps):
        asks.append(study.ask())
        values, known = measured(asks[-1], rng), study.config.metrics
        study.tell(asks[-1], {name: one for name, one in values.items() if name in known})
    return asks


def assert_rare(crossed: Sequence[bool], risk: float = 0.05) -> None:
    """A limit is crossed no more often than its risk, within three standard errors."""
    assert np.mean(crossed) <= risk + 3.0 * np.sqrt(risk * (1.0 - risk) / len(crossed))


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture(scope="module")
def asks(store: MemoryStore) -> list[Evaluation]:
    """The asks of one run, which several tests look at."""
    return run(create(store), 30)


@pytest.fixture
def web(store: MemoryStore, asks: list[Evaluation]) -> Study:
    assert len(asks) == 30
    return Study(store, "web")


# The contract


def test_asks_have_reasons_and_keep_limits_and_moves(web: Study, asks: list[Evaluation]) -> None:
    assert asks[0].params == BASELINE
    assert asks[0].reason == "first"
    assert {"first", "best", "boundary"} <= {ask.reason for ask in asks} <= {*get_args(Reason)}
    assert_rare([p99(ask.params) >= 200.0 for ask in asks])
    moves = [abs(a.params["workers"] - b.params["workers"]) for a, b in pairwise(asks)]
    assert max(moves) <= 4
    best = web.best
    assert throughput(best.params) > throughput(BASELINE)
    assert p99(best.params) < 200.0
    assert best["metrics"].keys() == {"throughput", "p99", "errors"}


def test_summary_says_the_gain_over_the_baseline(web: Study) -> None:
    summary = web.summary()
    now, truth = summary["gain"]["now"], throughput(web.best.params) - throughput(BASELINE)
    assert now["low"] <= truth <= now["high"]
    assert now["low"] > 0.0
    assert summary["gain"]["total"]["steps"] == summary["told"] == 30
    assert "better, 95 % between" in summary.gain.words  # type: ignore[union-attr]
    assert summary["baseline"]["params"] == BASELINE
    assert [one["told"] for one in summary["metrics"].values()][:2] == [30, 30]


@pytest.mark.parametrize("goals", [{"direction": "minimize"}, {"metrics": {"lag": "minimize"}}])
def test_a_study_that_minimizes_shows_its_values_as_they_are_told(goals: dict[str, Any]) -> None:
    study = Study.create("web", SPACE, store="memory:", baseline=BASELINE, **goals)
    for _ in range(12):
        ask = study.ask()
        lag = 116.0 - ask.params["workers"]  # 108 at the baseline
        study.tell(ask, {"lag": lag} if "metrics" in goals else lag)
    summary, stop = study.summary(), study.track().best[-1]
    gain, best, baseline = summary.gain, summary.best, summary.baseline
    assert gain is not None
    assert best is not None
    assert baseline is not None
    assert gain.total is not None
    means = (gain.now["baseline"], baseline["mean"], stop["baseline"]["mean"])
    np.testing.assert_allclose(means, 108.0, atol=0.5)
    np.testing.assert_allclose(gain.total["baseline"], 12 * 108.0, rtol=0.02)
    np.testing.assert_allclose((best.mean, stop.mean), 116.0 - best.params["workers"], atol=0.5)
    np.testing.assert_allclose(gain.now["mean"], 108.0 - best.mean, atol=0.5)
    assert "% better" in gain.words


def test_belief_of_a_metric_shows_where_it_is_safe(web: Study) -> None:
    belief = web.belief(metric="p99")
    assert belief["limits"] == [{"side": "below", "bound": 200.0}]
    safe, mean = np.array(belief["safe"]), np.array(belief["mean"])
    assert safe.shape == mean.shape
    assert mean[safe].max() < 200.0
    assert 0 < safe.sum() < safe.size
    assert web.belief().get("metric") == "throughput"
    assert np.shape(web.belief(3.0)["safe"]) == safe.shape  # by the belief at that time
    with pytest.raises(InputError, match="a metric among throughput, p99, errors"):
        web.belief(metric="p98")


def test_track_has_every_metric_and_the_baseline(web: Study) -> None:
    track = web.track()
    assert track["limits"] == {"p99": [{"side": "below", "bound": 200.0}]}
    assert track["results"][0]["reason"] == "first"
    assert {"throughput", "p99"} <= track["results"][5]["metrics"].keys()
    assert track["best"][-1]["baseline"]["params"] == BASELINE


# The log


def test_a_limited_study_replays_to_the_same_belief(store: MemoryStore, web: Study) -> None:
    twin = twin_of(store, "web")
    assert shown(twin, 10.0) == shown(web, 10.0)
    assert twin.belief(metric="p99") == web.belief(metric="p99")
    assert twin._cache.read(lambda state: state.tracker.progress.trust) == web._cache.read(
        lambda state: state.tracker.progress.trust
    )
    assert what(twin.ask()) == what(web.ask())


def test_a_crossing_widens_the_margin_of_a_study() -> None:
    study = create()
    for value in (100.0, 900.0):
        study.tell(study.ask(), {"throughput": 800.0, "p99": value})
    strain = strain_of(study)
    assert strain == pytest.approx(0.5 * (1.0 - 0.05))
    fallback = study.ask()
    assert fallback.reason == "fallback"  # it was not believed safe, so it is no strain
    study.tell(fallback, {"throughput": 800.0, "p99": 900.0})
    assert strain_of(study) == pytest.approx(strain - 0.5 * 0.05)


def strain_of(study: Study) -> float:
    return study._cache.read(lambda state: state.tracker.progress.trust["p99"].strain)


@pytest.mark.parametrize(
    "space", [{"workers": ht.Integer(1, 16)}, {"workers": ht.Real(1, 16)}], ids=["listed", "box"]
)
def test_a_summary_says_that_nothing_is_known_to_be_safe(space: dict[str, Any]) -> None:
    goals = {**GOALS, "baseline": {"workers": 8}, "moves": None}
    study = Study.create("web", space, store=MemoryStore(), **goals)
    for step in range(8):
        study.tell(study.ask(), {"throughput": 800.0 + step, "p99": 500.0})
    assert study.ask().reason == "fallback"
    best = study.summary()["best"]
    assert not best["safe"]
    assert best["probability"] is best["margin"] is None


def test_snapshots_hold_all_metrics(web: Study) -> None:
    web.applied({"workers": 3, "batch": 8})
    full = web._cache.read(lambda state: state)
    restored = StudyState(full.uid, full.config, full.created)
    restored.loads(full.dumps())
    assert restored.dumps() == full.dumps()
    assert restored.applied == {"params": {"workers": 3, "batch": 8}}
    for name, metric in full.metrics.items():
        again = restored.metrics[name]
        mean, new = metric.belief().mean, again.belief().mean
        np.testing.assert_allclose(new, mean)


def test_events_have_one_version_and_name_their_metrics(web: Study) -> None:
    log = [event.body for event in web.events()]
    assert {body["v"] for body in log} == {1}
    assert {body["metric"] for body in log if body["kind"] == "learned"} <= {*GOALS["metrics"]}
    assert {name for body in log if body["kind"] == "told" for name in body["value"]} == {
        *GOALS["metrics"]
    }


def test_an_event_of_another_metric_is_refused() -> None:
    store = MemoryStore()
    study = create(store)
    told = {"v": 1, "kind": "told", "id": study.ask().id, "value": {"latency": 1.0}}
    store.append([Append(study.uid, 2, [told], 0.0)])
    with pytest.raises(FormatError):
        Study(store, "web").summary()


# Several metrics in one tell


def test_a_metric_may_be_missing_and_has_its_own_error() -> None:
    study = create()
    asks = [study.ask() for _ in range(3)]
    study.tell(asks[0], {"p99": 100.0}, std={"p99": 5.0})
    study.tell(asks[1], {"throughput": 800.0, "p99": 100.0}, std={"p99": 5.0}, n=4)
    study.tell(asks[2], {"throughput": 810.0})
    state = study._cache.read(lambda state: state)
    latency, rate = (state.metrics[name].history for name in ("p99", "throughput"))
    np.testing.assert_array_equal(latency.std, [5.0, 5.0])
    np.testing.assert_array_equal(rate.n, [4, 1])
    assert study.summary()["told"] == 3
    assert study.open_asks() == []
    study.tell(asks[1], {"throughput": 800.0, "p99": 100.0}, std={"p99": 5.0}, n=4)  # again
    with pytest.raises(ClosedSuggestionError, match=r"the throughput 800\.0, p99 100\.0 that"):
        study.tell(asks[1], {"throughput": 800.0})
    with pytest.raises(ClosedSuggestionError, match="the noise"):
        study.tell(asks[1], {"throughput": 800.0, "p99": 100.0}, n=4)


def test_a_study_with_one_value_can_have_rules() -> None:
    study = Study.create("one", SPACE, store="memory:", baseline=BASELINE, moves=GOALS["moves"])
    ask = study.ask()
    study.tell(ask, 3.0, std=0.1)
    study.tell(study.ask(), successes=3, trials=4)
    study.tell(ask, {"value": 3.0}, std={"value": 0.1})  # the same result
    assert study.to_frame()["value"].tolist() == [3.0, 0.75]
    speed = Study.create("speed", SPACE, store="memory:", metrics={"speed": "maximize"})
    speed.tell(speed.ask(), {"value": 3.0}, std={"value": 0.1})
    assert dict(speed.events()[2].body)["std"] == {"speed": 0.1}
    (row,) = json.loads(speed.export("json"))["results"]
    assert (row["metrics"], row["std"]) == ({"speed": 3.0}, {"speed": 0.1})
    assert study.summary()["best"]["metrics"].keys() == {"value"}


def test_a_weighted_sum_is_the_objective() -> None:
    study = create(objective={"throughput": 1.0, "errors": -50.0}, moves=None)
    run(study, 12)
    best, errors = study.best, study.summary()["best"]["metrics"]["errors"]["mean"]
    rate = best["metrics"]["throughput"]["mean"]
    assert best.mean == pytest.approx(rate - 50.0 * errors)
    shown = study.belief()
    assert "metric" not in shown
    assert shown["best"]["mean"] == pytest.approx(best.mean)


def test_several_objectives_have_a_front() -> None:
    metrics = {"throughput": "maximize", "p99": "minimize"}
    study = create(metrics=metrics, limits=None, moves=None, baseline=None)
    run(study, 25)
    front = study.front()
    assert front.objectives == ["throughput", "p99"]
    values = [[one["metrics"][name]["mean"] for name in metrics] for one in front.choices]
    assert len(values) > 1
    assert values == sorted(values)
    assert [row[1] for row in values] == sorted(row[1] for row in values)  # more costs more
    assert study.summary()["front"] == front
    assert len({str(ask) for ask in front.choices}) == len(front.choices)
    with pytest.raises(InputError, match="several objectives"):
        create().front()


# Tables


def test_export_and_import_have_a_column_for_each_metric(web: Study, tmp_path: Path) -> None:
    frame = web.to_frame()
    told = frame[frame["state"] == "told"]
    assert {"metrics.throughput", "metrics.p99", "metrics.errors", "reason"} <= {*frame.columns}
    assert told["metrics.throughput"].notna().all()
    assert told["metrics.errors"].isna().any()
    path = tmp_path / "told.csv"
    path.write_text(web.export())
    other = create()
    assert other.add_table(path) == len(told)
    assert other.add_table(path) == 0
    again = other.to_frame()
    np.testing.assert_array_equal(again["metrics.p99"], told["metrics.p99"])
    renamed = told.rename(columns={"metrics.throughput": "throughput"})
    assert create().add_table(renamed.drop(columns=["metrics.p99", "metrics.errors"])) == len(told)
    assert web.to_polars()["metrics.p99"].drop_nulls().len() == len(told)
    rows = json.loads(web.export("json"))["results"]
    assert rows[0]["metrics"].keys() >= {"throughput", "p99"}


def test_a_table_keeps_errors_by_metric(tmp_path: Path) -> None:
    study = create()
    study.tell(study.ask(), {"throughput": 800.0, "p99": 100.0}, std={"p99": 5.0})
    other = create()
    assert other.add_table(_file(tmp_path, study.export())) == 1
    event = other.events()[-2].body if other.events()[-1].body["kind"] == "gained" else None
    told = next(one.body for one in other.events() if one.body["kind"] == "told")
    assert told["std"] == {"p99": 5.0}
    assert event is None or event["kind"] == "learned"
    with pytest.raises(FormatError, match=r"metrics\.throughput"):
        other.add_table(_file(tmp_path, "params.workers,params.batch\n1,8\n"))


def _file(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text)
    return path


# Moves and holds


@settings(max_examples=12, deadline=None)
@given(
    steps=st.lists(st.sampled_from(["ask", "tell", "applied", "cancel"]), min_size=5, max_size=14),
    seed=st.integers(0, 99),
    largest=st.integers(0, 6),
)
def test_no_ask_is_further_than_the_largest_move(steps: list[str], seed: int, largest: int) -> None:
    moves = {"largest": {"workers": largest}}
    study = Study.create("web", SPACE, store="memory:", baseline=BASELINE, moves=moves, seed=seed)
    rng, opened, applied = np.random.default_rng(seed), list[Evaluation](), 8
    for step in steps:
        if step == "ask":
            ask = study.ask()
            near = [one.params["workers"] for one in opened]
            now = ask.params["workers"]
            assert abs(now - applied) <= largest
            if all(abs(one - applied) <= largest for one in near):
                assert all(abs(now - one) <= largest for one in near)
            opened.append(ask)
        elif step == "applied":
            applied = int(rng.integers(1, 17))
            study.applied({"workers": applied, "batch": 8})
        elif opened:
            done = opened.pop(int(rng.integers(len(opened))))
            if step == "cancel":
                study.cancel(done)
            else:
                study.tell(done, throughput(done.params))
                applied = done.params["workers"]


def test_parallel_asks_keep_the_limits() -> None:
    study, rng = create(moves=None), np.random.default_rng(1)
    crossed = []
    for _ in range(8):
        asks = [study.ask() for _ in range(4)]
        crossed += [p99(ask.params) >= 200.0 for ask in asks]
        for ask in asks:
            study.tell(ask, measured(ask, rng))
    assert_rare(crossed)


def test_an_ask_with_a_cost_may_say_to_wait(web: Study) -> None:
    before = web.events()
    held = web.ask(cost=1e6)
    assert isinstance(held, Hold)
    assert held.until > web.summary()["t"]
    assert held.reason == "hold"
    assert web.events() == before
    assert isinstance(web.ask(cost=1e-9), Evaluation)
    plain = Study.create("plain", SPACE, store="memory:")
    with pytest.raises(InputError, match="a study with metrics"):
        plain.ask(cost=1.0)


def test_limits_relative_to_the_baseline_hold_in_contexts() -> None:
    context = {"load": ht.Categorical(["low", "high"])}
    study = Study.create(
        "web",
        {"workers": ht.Real(1, 16)},
        context=context,
        store="memory:",
        metrics={"throughput": "maximize"},
        limits={"throughput": {"at_least": "80%"}},
        baseline={"workers": 8.0},
    )
    rng, rates = np.random.default_rng(2), []
    for i in range(16):
        load = {"load": ["low", "high"][i % 2]}
        ask = study.ask(context=load)
        rates.append(throughput({**ask.params, "batch": 8}) / throughput({"workers": 8.0}))
        study.tell(ask, throughput(ask.params) + float(rng.standard_normal()))
    assert_rare([rate < 0.8 for rate in rates])
    belief = study.belief(context={"load": "low"})
    assert belief["limits"][0]["bound"] == pytest.approx(0.8 * throughput({"workers": 8}), rel=0.05)


def test_options_have_limits_too() -> None:
    study = Study.create(
        "rooms", ["a", "b", "c"], store="memory:", metrics={"gain": "maximize", "heat": "watch"},
        limits={"heat": {"at_most": 30.0}}, safe=["b"],
    )  # fmt: skip
    for _ in range(8):
        ask = study.ask()
        study.tell(ask, {"gain": 1.0, "heat": 20.0})
    assert study.events()[1].body["option"] == "b"
    assert [one["safe"] for one in study.belief()["options"]][1] is True
    study.applied("c")
    with pytest.raises(InputError):
        study.applied("d")


# Bad input


@pytest.mark.parametrize(
    ("goals", "field", "words"),
    [
        ({"metrics": {}}, "metrics", "metrics such as"),
        ({"metrics": {"a": "most"}}, "metrics.a", "maximize, minimize or watch"),
        ({"metrics": {"a": "watch"}, "limits": None}, "metrics", "to maximize or minimize"),
        ({"metrics": {"a" * 61: "maximize"}, "limits": None}, "metrics", "at most 60 characters"),
        ({"objective": {"latency": 1.0}}, "objective", "a metric among"),
        ({"objective": {"throughput": -1.0}}, "objective.throughput", "a positive weight"),
        ({"objective": {"throughput": 0.0}}, "objective.throughput", "other than 0"),
        ({"objective": {}}, "objective", "weights such as"),
        ({"limits": {"latency": {"below": 1.0}}}, "limits", "a metric among"),
        ({"limits": {"p99": {"under": 1.0}}}, "limits.p99", "one of below"),
        ({"limits": {"p99": {"below": "soon"}}}, "limits.p99.below", "a number, or a share"),
        ({"limits": {"p99": {"below": "95%"}}, "baseline": None}, "baseline", "a baseline"),
        ({"baseline": None}, "safe", "a baseline or safe settings"),
        ({"baseline": {"workers": 8}}, "baseline.params.batch", "a value"),
        ({"baseline": {"workers": 99, "batch": 32}}, "baseline.params.workers", "16"),
        ({"safe": {"workers": 8, "batch": 8}}, "safe", "a list of settings"),
        ({"risk": 0.0}, "risk", "risk"),
        ({"risk": 5e-324}, "risk", "at least 1e-09"),
        ({"share": 2.0}, "share", "share"),
        ({"moves": {"largest": {"cpus": 1}}}, "moves", "workers"),
        ({"moves": {"largest": {"workers": -1}}}, "moves.largest.workers", "at least 0"),
        ({"moves": {"biggest": {}}}, "moves", "moves such as"),
        ({"direction": "minimize"}, "direction", "maximize as throughput"),
        ({"policy": {"kind": "uniform"}}, "policy.kind", "a policy with a model"),
    ],
)
def test_wrong_goals_are_refused(goals: dict[str, Any], field: str, words: str) -> None:
    store = MemoryStore()
    with pytest.raises(HeliotropeError, match=words) as caught:
        create(store, **goals)
    assert caught.value.field == field
    assert store.studies() == []


def test_the_least_risk_works_with_several_limits() -> None:
    limits = {name: {"above": -1e6, "below": 1e6} for name in ("throughput", "p99", "errors")}
    study = create(limits=limits, risk=1e-9)
    assert {ask.reason for ask in run(study, 12)} <= set(get_args(Reason))


VALUES = st.dictionaries(
    st.sampled_from(["throughput", "p99", "latency", ""]),
    st.one_of(st.floats(), st.text(max_size=2), st.none(), st.booleans()),
    max_size=3,
)


@settings(max_examples=60, deadline=None)
@given(value=st.one_of(st.floats(), VALUES), std=st.one_of(st.none(), st.floats(), VALUES))
def test_refused_input_changes_nothing(value: Any, std: Any) -> None:
    study = create()
    ask = study.ask()
    log = study.events()
    if is_told(study, ask, value, std):
        assert set(value) <= {"throughput", "p99"}
        assert set(std or {}) <= set(value)
    else:
        assert study.events() == log
        assert study.open_asks() == [ask]


def is_told(study: Study, ask: Evaluation, value: Any, std: Any) -> bool:
    try:
        study.tell(ask, value, std=std)
    except HeliotropeError:
        return False
    return True


def test_other_refusals_change_nothing(web: Study) -> None:
    before = web.events()
    wrong: list[Callable[[], object]] = [
        lambda: web.applied({"workers": 99, "batch": 8}),
        lambda: web.applied("a"),
        lambda: web.ask(cost=-1.0),
        lambda: web.ask(cost=float("nan")),
        lambda: web.front(),
        lambda: web.add(BASELINE, {"latency": 1.0}),
        lambda: web.add(BASELINE, 1.0),
    ]
    for call in wrong:
        with pytest.raises(HeliotropeError):
            call()
    assert web.events() == before
    with pytest.raises(TypeError, match="unexpected keyword argument 'limit'"):
        create(limit=3)


def test_goals_are_saved_and_compared(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    made = Study.create("web", SPACE, store=url, **GOALS)
    same = Study.create("web", SPACE, store=url, exist_ok=True, **GOALS, risk=0.05, share=0.1)
    assert same.config.to_json() == made.config.to_json()
    assert StudyConfig.from_json(made.config.to_json()).to_json() == made.config.to_json()
    changed = {**GOALS, "limits": {"p99": {"below": 300.0}}}
    with pytest.raises(StudyExistsError, match=r"limits\.p99\.below 300\.0 instead of 200\.0"):
        Study.create("web", SPACE, store=url, exist_ok=True, **changed)


def test_optimize_takes_values_by_metric() -> None:
    study = create()
    report = study.optimize(
        lambda params: {"throughput": throughput(params), "p99": p99(params)}, 5, progress=False
    )
    assert (report.told, report.cancelled) == (5, 0)
    assert isinstance(study.config.space, SearchSpace)
    assert io.StringIO(study.export()).readline().startswith("id,t,params.workers,params.batch")


def test_stores_on_disk_keep_what_runs(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    study = Study.create("web", SPACE, store=url, **GOALS)
    study.tell(study.ask(), {"throughput": 800.0, "p99": 100.0})
    study.applied({"workers": 2, "batch": 8})
    with closing(open_store(url)) as store:
        assert Study(store, "web").summary()["applied"] == {"params": {"workers": 2, "batch": 8}}
        asked = Study(store, "web").ask().params
    assert asked is not None
    assert asked["workers"] <= 6


def test_two_objectives_of_which_nothing_is_safe() -> None:
    """A load that makes every setting cross the limit: there is a best, and no trade-off."""
    space = {"workers": ht.Real(1, 16), "batch": ht.Real(8, 64)}
    study = Study.create(
        "web",
        space,
        metrics={"throughput": "maximize", "p99": "minimize"},
        limits={"p99": {"below": 200.0}},
        baseline={"workers": 8, "batch": 32},
        store=MemoryStore(),
    )
    for step in range(16):
        ask, load = study.ask(), 150.0 * (step >= 10)
        workers, batch = ask.params["workers"], ask.params["batch"]
        p99 = 60.0 + 8.0 * workers + 0.8 * batch + load
        study.tell(ask, {"throughput": 500.0 + 40.0 * workers, "p99": p99})
    assert not study.summary()["best"]["safe"]
    assert study.front()["choices"] == []


def test_the_belief_about_options_in_a_context_has_every_option() -> None:
    context = {"outside": ht.Real(0, 1)}
    study = Study.create("s", ["a", "b", "c"], context=context, baseline="b", store=MemoryStore())
    for step in range(6):
        study.tell(study.ask(context={"outside": 0.1 * step}), float(step % 3))
    shown = study.belief(context={"outside": 0.5})
    assert [row["option"] for row in shown["options"]] == ["a", "b", "c"]
