"""A study to look at, as JSON has it: its belief, its track, its summary, its results."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from heliotrope.arrays import Array
from heliotrope.engines import Learned
from heliotrope.errors import InputError
from heliotrope.history import Observation
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Best
from heliotrope.spaces import Categorical, Options, Real, SearchSpace
from heliotrope.storage import Event
from heliotrope.study.clocks import Wall, duration, short
from heliotrope.study.fold import Fold
from heliotrope.study.setups import Setup
from heliotrope.study.sureness import sureness

_RECENT = 300  # results before a past time that its belief is made of
_SHOWN = 500  # results of the track
_STOPS = 40  # times at which the track looks for the best
_LINE, _SIDE, _SLICE = 101, 41, 41  # points of a band, of a map's side, of a slice

Json = dict[str, Any]
Show: TypeAlias = Callable[[], Json]
"""What is left to do once the state was looked at: it may take a while, and needs no lock."""


def belief(fold: Fold, t: float) -> Show:
    """What is believed at time t by what was told up to then.

    ``view`` is "options" (every option), "band" (one varying number), "map" (two), "slices" (each
    parameter varied alone around the best), or "none" for a policy without a belief.
    """
    setup, history = fold.setup, fold.optimizer.history
    if not setup.policy.has_model:
        return lambda: {"t": t, "view": "none"}
    if t >= fold.optimizer.latest:
        shown = _belief(setup, fold.optimizer, t)
        return lambda: shown
    blank = _blank(fold)
    past = [history[i] for i in np.flatnonzero(history.t <= t)[-_RECENT:].tolist()]
    return lambda: _belief(setup, _fed(blank, past), t)


def summary(fold: Fold, t: float) -> Json:
    """The setup, the counts, the best now and the drift."""
    optimizer, setup = fold.optimizer, fold.setup
    told = len(optimizer.history)
    return {
        "setup": setup.to_json(),
        "created": fold.created,
        "t": t,
        "events": fold.seq,
        "asked": optimizer.asked,
        "told": told,
        "open": [ask.to_json() for ask in fold.open],
        "model": setup.given.over(fold.model).to_json(),
        "best": _best_and_how_sure(fold, t) if setup.policy.has_model and told else None,
        "drift": drift(fold),
    }


def drift(fold: Fold) -> Json:
    """The drift rate with its interval, and what it means in words."""
    policy = fold.setup.policy
    if not policy.has_drift:
        return {"epsilon": None, "words": "This policy has no drift rate."}
    if policy.epsilon is None and not len(fold.optimizer.history):
        return {"epsilon": None, "words": "Nothing was told yet: the drift is unknown."}
    if not policy.learns_drift:
        known = policy.epsilon
        epsilon = fold.model.a_unit(fold.model.rate) if known is None else known
        words = _in_words(fold.setup, [epsilon])
        return {"epsilon": epsilon, "interval": None, "words": words}
    learned = fold.optimizer.learned()
    words = _of_learned(fold.setup, learned)
    return {"epsilon": learned.epsilon, "interval": list(learned.interval), "words": words}


def track(fold: Fold) -> Show:
    """The latest results with what was chosen, and where the best was believed to be."""
    setup, shown = fold.setup, fold.optimizer.history[-_SHOWN:]
    blank = _blank(fold) if setup.policy.has_model else None

    def show() -> Json:
        best = [] if blank is None else list(_stops(setup, blank, shown))
        return {"results": [_result(setup, one) for one in shown], "best": best}

    return show


def export(setup: Setup, events: Sequence[Event], kind: str) -> str:
    """All asks with their results, in the order of asking, as CSV or JSON."""
    rows = _rows(events)
    if kind == "json":
        return json.dumps({"setup": setup.to_json(), "results": rows}, indent=2)
    if kind != "csv":
        raise InputError("csv or json", repr(kind)[:60], "", "kind")
    text = io.StringIO()
    names = ["id", "t", *_columns(setup), "value", "state", "asked_at", "told_at"]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_flat(row) for row in rows)
    return text.getvalue()


def _rows(events: Sequence[Event]) -> list[Json]:
    rows: dict[str, Json] = {}
    for event in events:
        body = event.body
        if body["kind"] == "asked":
            rows[body["id"]] = {name: body[name] for name in _ASKED if name in body}
            rows[body["id"]] |= {"value": None, "state": "open"}
            rows[body["id"]] |= {"asked_at": event.at, "told_at": None}
        elif body["kind"] == "told":
            rows[body["id"]] |= {"value": body["value"], "state": "told", "told_at": event.at}
        elif body["kind"] == "cancelled":
            rows[body["id"]] |= {"state": "cancelled"}
    return list(rows.values())


_ASKED = ("id", "t", "option", "params")


def _flat(row: Json) -> Json:
    """A row with a column for each parameter, whose name may be that of another column."""
    params = {f"params.{name}": value for name, value in row.get("params", {}).items()}
    return {name: value for name, value in row.items() if name != "params"} | params


def _columns(setup: Setup) -> list[str]:
    if isinstance(setup.space, Options):
        return ["option"]
    return [f"params.{name}" for name in setup.space.parameters]


def _blank(fold: Fold) -> Optimizer:
    """An optimizer that was told nothing, of the drift and the model that are known now."""
    setup = fold.setup
    epsilon = drift(fold)["epsilon"] if setup.policy.learns_drift else None
    known = setup if epsilon is None else setup.with_drift(epsilon)
    return Optimizer(setup.domain, known.build(fold.model))


def _fed(optimizer: Optimizer, results: Sequence[Observation]) -> Optimizer:
    for one in sorted(results, key=lambda one: one.t):
        begun = optimizer.begin(one.x if one.index is None else one.index, one.t)
        optimizer.tell(begun, one.y)
    return optimizer


def _stops(setup: Setup, blank: Optimizer, results: Sequence[Observation]) -> Iterator[Json]:
    """The best at some times, by what was told up to each."""
    in_time = sorted(results, key=lambda one: one.t)
    for part in np.array_split(np.arange(len(in_time)), min(_STOPS, len(in_time)) or 1):
        if len(part):
            optimizer = _fed(blank, [in_time[i] for i in part])
            yield _best(setup, optimizer, optimizer.latest)


def _result(setup: Setup, one: Observation) -> Json:
    return {"t": one.t, "value": setup.sign * one.y, **_label(setup, one.index, one.x)}


def _best(setup: Setup, optimizer: Optimizer, t: float) -> Json:
    return _shown(setup, optimizer.best(t))


def _best_and_how_sure(fold: Fold, t: float) -> Json:
    setup, best = fold.setup, fold.optimizer.best(t)
    variance = setup.given.over(fold.model).variance
    return {**_shown(setup, best), **sureness(setup, fold.optimizer, best, variance)}


def _shown(setup: Setup, best: Best) -> Json:
    label = _label(setup, best.index, best.x)
    return {"t": best.t, **label, "mean": setup.sign * best.mean, "std": best.std}


def _label(setup: Setup, index: int | None, x: Array) -> Json:
    if isinstance(setup.space, Options):
        assert index is not None
        return {"option": setup.space.name(index)}
    return {"params": setup.space.params(x if index is None else index)}


def _belief(setup: Setup, optimizer: Optimizer, t: float) -> Json:
    best = _best(setup, optimizer, t)
    if isinstance(setup.space, Options):
        view = _options(setup.space, *_at(setup, optimizer, t))
    else:
        view = _configurations(setup, optimizer, t, best["params"])
    return {"t": t, "best": best, **view}


def _options(options: Options, mean: Array, std: Array) -> Json:
    rows = zip(options.names, mean.tolist(), std.tolist(), strict=True)
    shown = [{"option": name, "mean": m, "std": s} for name, m, s in rows]
    return {"view": "options", "options": shown}


def _configurations(setup: Setup, optimizer: Optimizer, t: float, best: Json) -> Json:
    space = setup.space
    assert isinstance(space, SearchSpace)
    varying = [name for name, one in space.parameters.items() if one.count != 1]
    numeric = all(not isinstance(space.parameters[name], Categorical) for name in varying)
    if len(varying) == 1 and numeric:
        return {"view": "band", **_band(setup, optimizer, t, best, varying[0], _LINE)}
    if len(varying) == 2 and numeric:
        return {"view": "map", **_map(setup, optimizer, t, best, varying)}
    slices = [_band(setup, optimizer, t, best, name, _SLICE) for name in varying]
    return {"view": "slices", "slices": slices}


def _band(setup: Setup, optimizer: Optimizer, t: float, best: Json, name: str, count: int) -> Json:
    """One parameter varied, the others where the best is."""
    values = _values(setup, name, count)
    mean, std = _at(setup, optimizer, t, [{**best, name: value} for value in values])
    return {"parameter": name, "values": values, "mean": mean.tolist(), "std": std.tolist()}


def _map(setup: Setup, optimizer: Optimizer, t: float, best: Json, names: Sequence[str]) -> Json:
    across, up = (_values(setup, name, _SIDE) for name in names)
    cells = [{**best, names[0]: x, names[1]: y} for y in up for x in across]
    mean, std = (part.reshape(len(up), -1).tolist() for part in _at(setup, optimizer, t, cells))
    return {"parameters": list(names), "values": [across, up], "mean": mean, "std": std}


def _at(
    setup: Setup,
    optimizer: Optimizer,
    t: float,
    configurations: Sequence[Mapping[str, Any]] | None = None,
) -> tuple[Array, Array]:
    """Mean and deviation of all options, or of some configurations."""
    points = None
    if configurations is not None:
        assert isinstance(setup.space, SearchSpace)
        points = np.array([setup.space.point(one) for one in configurations])
    found = optimizer.belief(t, points)
    return setup.sign * found.mean, found.std


def _values(setup: Setup, name: str, count: int) -> list[Any]:
    """Values of a parameter over its range, evenly on its scale."""
    assert isinstance(setup.space, SearchSpace)
    parameter = setup.space.parameters[name]
    if not isinstance(parameter, Real) and parameter.count <= count:
        return [parameter.value(i) for i in range(parameter.count)]
    return [parameter.decode(np.array([u])) for u in np.linspace(0.0, 1.0, count)]


def _of_learned(setup: Setup, learned: Learned) -> str:
    """The interval in words; one that begins at the lowest candidate has no lower end."""
    low, high = learned.interval
    if low == learned.epsilons.min() and high < learned.epsilons.max():
        least = _half_life(setup, high)
        return (
            "No drift seen: if there is any, half of what is learned stays good "
            f"for at least {least}."
        )
    return _in_words(setup, [low, high])


def _in_words(setup: Setup, epsilons: Sequence[float]) -> str:
    """How soon things get stale, by one drift rate or by the ends of its interval."""
    if max(epsilons) <= 0.0:
        return "Nothing gets stale: the function stands still."
    if min(epsilons) >= 1.0:
        return "Nothing that is learned stays good."
    shortest, longest = (_half_life(setup, end(epsilons)) for end in (max, min))
    if shortest == longest:
        return f"Half of what is learned is stale after {longest}."
    number, unit = shortest.split(" ")
    least = number if longest.endswith(f" {unit}") else shortest
    return f"Half of what is learned is stale after {least} to {longest}."


def _half_life(setup: Setup, epsilon: float) -> str:
    units = float(np.log(0.5) / np.log1p(-np.clip(epsilon, 1e-300, 1.0 - 1e-12)))
    clock = setup.clock
    return duration(units * clock.seconds) if isinstance(clock, Wall) else f"{short(units)} steps"
