"""The JSON of studies: any input raises a readable error, or is read and written unchanged."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, strategies as st

from heliotrope.errors import FormatError, HeliotropeError, InputError
from heliotrope.estimation import Model
from heliotrope.storage import Append, MemoryStore
from heliotrope.study import PolicyChoice, Study, StudyConfig
from heliotrope.study.clocks import clock_from_json
from strategies import fixed

numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**20), 10**20)
)
atoms = st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=4))
junk = st.recursive(
    atoms, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner)
)


def forms(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Objects with some of the fields, most of them right and some junk."""
    return st.fixed_dictionaries({}, optional={name: one | junk for name, one in fields.items()})


positive = st.floats(1e-6, 1e6)
kinds = st.sampled_from(["tv_gp_ucb", "gp_ucb", "r_gp_ucb", "rexp3", "uniform"])
policies = forms(
    {
        "kind": kinds,
        "epsilon": st.floats(0.0, 1.0),
        "beta": positive | st.fixed_dictionaries({"c1": positive, "c2": positive}),
        "mean": numbers,
        "variance": positive,
        "noise": positive,
        "kernel": st.sampled_from(["matern", "se"]),
        "length_scale": positive,
        "every": positive,
        "low": st.just(-1.0),
        "high": st.just(1.0),
        "batch": st.integers(1, 9),
        "gamma": st.floats(0.0, 1.0),
    }
)
units = st.sampled_from(["s", "10min", "1.5h", "ages", "", "-1s", "0s"])
clocks = forms({"kind": st.sampled_from(["wall", "steps"]), "unit": units})
spaces = st.dictionaries(
    st.sampled_from(["x", "y"]),
    forms(
        {
            "type": st.sampled_from(["real", "integer", "categorical", "boolean"]),
            "low": st.just(0),
            "high": st.just(5),
            "choices": st.just(["a", "b"]),
        }
    ),
)
setups = forms(
    {
        "space": spaces,
        "options": st.just(["a", "b", "c"]),
        "policy": policies,
        "direction": st.sampled_from(["maximize", "minimize"]),
        "clock": clocks,
        "seed": st.integers(0, 9),
    }
)


def written(data: object) -> Any:
    return json.loads(json.dumps(data, allow_nan=False))


@fixed(150)
@given(data=setups | junk)
def test_a_setup_is_refused_or_read(data: Any) -> None:
    try:
        setup = StudyConfig.from_json(data)
    except InputError:
        return
    form = written(setup.to_json())
    assert written(StudyConfig.from_json(form).to_json()) == form


@fixed(100)
@given(data=policies | junk)
def test_a_policy_is_refused_or_read(data: Any) -> None:
    try:
        policy = PolicyChoice.from_json(data)
    except InputError:
        return
    form = written(policy.to_json())
    assert written(PolicyChoice.from_json(form).to_json()) == form


@fixed(60)
@given(data=clocks | junk)
def test_a_clock_is_refused_or_read(data: Any) -> None:
    try:
        clock = clock_from_json(data)
    except InputError:
        return
    assert clock_from_json(written(clock.to_json())) == clock


GIVEN = {"epsilon": 0.1, "mean": 0.0, "variance": 1.0, "noise": 0.1}  # nothing to learn: quick
MODEL = Model().to_json()
models = st.fixed_dictionaries({name: st.just(one) | junk for name, one in MODEL.items()})
events = forms(
    {
        "v": st.just(1),
        "kind": st.sampled_from(["asked", "told", "cancelled", "learned", "created", "forgotten"]),
        "id": st.sampled_from([*(f"UID-00000000-{number}" for number in range(4)), "other-0"]),
        "t": st.just(5.0) | numbers,
        "place": st.integers(-1, 3),
        "option": st.just("a"),
        "key": st.text(max_size=3),
        "value": st.fixed_dictionaries({"value": numbers}) | numbers,
        "model": models,
    }
)


@fixed(120)
@given(body=events | st.dictionaries(st.text(max_size=4), junk, max_size=4))
def test_an_event_is_refused_or_applied(body: dict[str, Any]) -> None:
    store = MemoryStore()
    study = Study.create("a", ["p", "q", "r"], policy=GIVEN, store=store)
    study.tell(study.ask().id, 1.0)
    study.ask()
    if isinstance(body.get("id"), str):
        body = {**body, "id": body["id"].replace("UID", study.uid[:12])}
    last = store.last(study.uid)
    store.append([Append(study.uid, last, [body])])
    try:
        opened = Study.open("a", store)
    except FormatError:
        assert store.last(study.uid) == last + 1
        return
    assert opened.summary()["events"] == last + 1
    assert opened.ask().option in ("p", "q", "r")


@fixed(60)
@given(data=models | junk)
def test_a_model_is_refused_or_read(data: Any) -> None:
    try:
        model = Model.from_json(data)
    except (HeliotropeError, LookupError, TypeError, AttributeError):
        return  # which the log's reader takes for an event that does not fit
    assert Model.from_json(written(model.to_json())) == model
