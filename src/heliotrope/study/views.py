"""A study to look at, as JSON has it: its belief, its track, its summary, its results."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from heliotrope.arrays import Array
from heliotrope.errors import InputError
from heliotrope.history import Observation
from heliotrope.optimizer import Optimizer
from heliotrope.policies import gp_ucb, tv_gp_ucb
from heliotrope.spaces import Categorical, Options, Real, SearchSpace
from heliotrope.storage import Event
from heliotrope.study.fold import Fold
from heliotrope.study.setups import Setup

_MODELLED = ("tv_gp_ucb", "gp_ucb", "r_gp_ucb")
_RECENT = 300  # results before a past time that its belief is made of
_SHOWN = 500  # results of the track
_STOPS = 40  # times at which the track looks for the best
_LINE, _SIDE, _SLICE = 101, 41, 41  # points of a band, of a map's side, of a slice

Json = dict[str, Any]


def belief(fold: Fold, t: float) -> Json:
    """What is believed at time t by what was told up to then.

    ``view`` is "options" (every option), "band" (one varying number), "map" (two), "slices" (each
    parameter varied alone around the best), or "none" for a policy without a belief.
    """
    if not has_belief(fold):
        return {"t": t, "view": "none"}
    optimizer = fold.optimizer if t >= fold.optimizer.latest else as_of(fold, t)
    shown = _options if isinstance(fold.setup.space, Options) else _configurations
    return {"t": t, "best": _best(fold, optimizer, t), **shown(fold, optimizer, t)}


def has_belief(fold: Fold) -> bool:
    """Whether the policy has a model of the values."""
    return fold.setup.policy.kind in _MODELLED


def as_of(fold: Fold, t: float) -> Optimizer:
    """What was known at a past time, seen with the drift and the model that are known now."""
    optimizer = _blank(fold)
    past = [one for one in fold.optimizer.history if one.t <= t][-_RECENT:]
    _feed(optimizer, past)
    return optimizer


def summary(fold: Fold, t: float) -> Json:
    """The setup, the counts, the best now and the drift."""
    optimizer = fold.optimizer
    best = _best(fold, optimizer, t) if has_belief(fold) and len(optimizer.history) else None
    return {
        "setup": fold.setup.to_json(),
        "created": fold.created,
        "t": t,
        "events": fold.seq,
        "asked": optimizer.asked,
        "told": len(optimizer.history),
        "open": [ask.to_json() for ask in fold.open],
        "model": fold.model.to_json(),
        "best": best,
        "drift": drift(fold),
    }


def drift(fold: Fold) -> Json:
    """The drift rate with its interval, and what it means in words."""
    policy = fold.setup.policy
    if policy.kind != "tv_gp_ucb":
        return {"epsilon": None, "words": "This policy has no drift rate."}
    if "epsilon" in policy.parameters:
        epsilon, interval = float(policy.parameters["epsilon"]), None
    else:
        learned = fold.optimizer.learned()
        epsilon, interval = learned.epsilon, list(learned.interval)
        if not len(learned.t):
            return {"epsilon": None, "words": "Nothing was told yet: the drift is unknown."}
    return {"epsilon": epsilon, "interval": interval, "words": _in_words(fold.setup, epsilon)}


def track(fold: Fold) -> Json:
    """The latest results with what was chosen, and where the best was believed to be."""
    sign = fold.setup.sign
    shown = fold.optimizer.history[-_SHOWN:]
    results = [
        {"t": one.t, "value": sign * one.y, **_label(fold.setup, one.index, one.x)} for one in shown
    ]
    return {"results": results, "best": list(_stops(fold, shown)) if has_belief(fold) else []}


def export(setup: Setup, events: Sequence[Event], kind: str) -> str:
    """All asks with their results, in the order of asking, as CSV or JSON."""
    rows = _rows(events)
    if kind == "json":
        return json.dumps({"setup": setup.to_json(), "results": rows}, indent=2)
    if kind != "csv":
        raise InputError("csv or json", repr(kind))
    text = io.StringIO()
    names = ["id", "t", *_columns(setup), "value", "state", "asked_at", "told_at"]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _rows(events: Sequence[Event]) -> list[Json]:
    rows: dict[str, Json] = {}
    for event in events:
        body = event.body
        if body["kind"] == "asked":
            chosen = body["params"] if "params" in body else {"option": body["option"]}
            blank = {"value": None, "state": "open", "asked_at": event.at, "told_at": None}
            rows[body["id"]] = {"id": body["id"], "t": body["t"], **chosen, **blank}
        elif body["kind"] == "told":
            rows[body["id"]] |= {"value": body["value"], "state": "told", "told_at": event.at}
        elif body["kind"] == "cancelled":
            rows[body["id"]] |= {"state": "cancelled"}
    return list(rows.values())


def _columns(setup: Setup) -> list[str]:
    return ["option"] if isinstance(setup.space, Options) else list(setup.space.parameters)


def _blank(fold: Fold) -> Optimizer:
    """An optimizer that was told nothing, of the drift that is believed in."""
    epsilon = drift(fold)["epsilon"] if fold.setup.policy.kind == "tv_gp_ucb" else None
    prior = fold.setup.given.over(fold.model).prior(epsilon or 0.01, fold.setup.sign)
    policy = gp_ucb(prior) if epsilon is None else tv_gp_ucb(prior)
    return Optimizer(fold.setup.domain, policy)


def _feed(optimizer: Optimizer, results: Sequence[Observation]) -> None:
    for one in sorted(results, key=lambda one: one.t):
        begun = optimizer.begin(one.x if one.index is None else one.index, one.t)
        optimizer.tell(begun, one.y)


def _stops(fold: Fold, results: Sequence[Observation]) -> Iterator[Json]:
    """The best at some times, by what was told up to each."""
    optimizer = _blank(fold)
    in_time = sorted(results, key=lambda one: one.t)
    for part in np.array_split(np.arange(len(in_time)), min(_STOPS, len(in_time)) or 1):
        if len(part):
            _feed(optimizer, [in_time[i] for i in part])
            yield _best(fold, optimizer, optimizer.latest)


def _best(fold: Fold, optimizer: Optimizer, t: float) -> Json:
    best = optimizer.best(t)
    label = _label(fold.setup, best.index, best.x)
    return {"t": t, **label, "mean": fold.setup.sign * best.mean, "std": best.std}


def _label(setup: Setup, index: int | None, x: Array) -> Json:
    if isinstance(setup.space, Options):
        assert index is not None
        return {"option": setup.space.name(index)}
    return {"params": setup.space.params(x if index is None else index)}


def _options(fold: Fold, optimizer: Optimizer, t: float) -> Json:
    assert isinstance(fold.setup.space, Options)
    found = optimizer.belief(t, count_open=False)
    mean = fold.setup.sign * found.mean
    rows = zip(fold.setup.space.names, mean.tolist(), found.std.tolist(), strict=True)
    return {
        "view": "options",
        "options": [{"option": name, "mean": m, "std": s} for name, m, s in rows],
    }


def _configurations(fold: Fold, optimizer: Optimizer, t: float) -> Json:
    space = fold.setup.space
    assert isinstance(space, SearchSpace)
    varying = [name for name, one in space.parameters.items() if one.count != 1]
    numeric = all(not isinstance(space.parameters[name], Categorical) for name in varying)
    if len(varying) == 1 and numeric:
        return {"view": "band", **_band(fold, optimizer, t, varying[0], _LINE)}
    if len(varying) == 2 and numeric:
        return {"view": "map", **_map(fold, optimizer, t, varying)}
    slices = [_band(fold, optimizer, t, name, _SLICE) for name in varying]
    return {"view": "slices", "slices": slices}


def _band(fold: Fold, optimizer: Optimizer, t: float, name: str, count: int) -> Json:
    """One parameter varied, the others where the best is."""
    space = fold.setup.space
    assert isinstance(space, SearchSpace)
    best = _best(fold, optimizer, t)["params"]
    values = _values(space, name, count)
    mean, std = _at(fold, optimizer, t, [{**best, name: value} for value in values])
    return {"parameter": name, "values": values, "mean": mean.tolist(), "std": std.tolist()}


def _map(fold: Fold, optimizer: Optimizer, t: float, names: Sequence[str]) -> Json:
    space = fold.setup.space
    assert isinstance(space, SearchSpace)
    best = _best(fold, optimizer, t)["params"]
    across, up = (_values(space, name, _SIDE) for name in names)
    cells = [{**best, names[0]: x, names[1]: y} for y in up for x in across]
    mean, std = (part.reshape(len(up), len(across)) for part in _at(fold, optimizer, t, cells))
    return {
        "parameters": list(names),
        "values": [across, up],
        "mean": mean.tolist(),
        "std": std.tolist(),
    }


def _at(
    fold: Fold, optimizer: Optimizer, t: float, configurations: Sequence[Mapping[str, Any]]
) -> tuple[Array, Array]:
    space = fold.setup.space
    assert isinstance(space, SearchSpace)
    points = np.array([space.point(one) for one in configurations])
    found = optimizer.belief(t, points, count_open=False)
    return fold.setup.sign * found.mean, found.std


def _values(space: SearchSpace, name: str, count: int) -> list[Any]:
    """Values of a parameter over its range, evenly on its scale."""
    parameter = space.parameters[name]
    if not isinstance(parameter, Real) and parameter.count <= count:
        return [parameter.value(i) for i in range(parameter.count)]
    return [parameter.decode(np.array([u])) for u in np.linspace(0.0, 1.0, count)]


def _in_words(setup: Setup, epsilon: float) -> str:
    if epsilon <= 0.0:
        return "Nothing gets stale: the function stands still."
    steps = float(np.log(0.5) / np.log1p(-min(epsilon, 1.0 - 1e-12)))
    unit = setup.clock.to_json().get("unit")
    count = f"{steps:.2g}" if steps < 10.0 else f"{steps:,.0f}"
    length = f"{count} steps" if unit is None else f"{count} times {unit}"
    return f"Half of what is learned is stale after {length}."
