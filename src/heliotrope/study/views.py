"""Views of a study as JSON: its belief, its summary, its track; and the export of its results."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import TypeAlias

import numpy as np

from heliotrope.errors import InputError
from heliotrope.estimation import World
from heliotrope.history import Observation
from heliotrope.optimizer import Optimizer
from heliotrope.policies.certificate import certify
from heliotrope.policies.learner import Update
from heliotrope.posterior import Learned
from heliotrope.precision import CHECKS, Precision
from heliotrope.spaces import Options
from heliotrope.storage import Event
from heliotrope.study.belief_view import BeliefView
from heliotrope.study.clocks import Wall, duration, short
from heliotrope.study.config import StudyConfig
from heliotrope.study.state import StudyState
from heliotrope.tables import escaped
from heliotrope.validation import Array, Json

_RECENT = 300  # latest results before a past time that its belief rests on
_SHOWN = 500  # results in the track
_SHOWN_SHARE = 0.01  # of the variance, that is worth a mention
_STOPS = 40  # times of the track with a best
_CERTIFIED = 2000  # most asks of a certificate, which replays all of them
_ASKED = ("id", "t", "option", "params", "context")
_NESTED = ("params", "context")

Show: TypeAlias = Callable[[], Json]
"""The rest of a view, which may take a while and does not read the state."""


def belief(state: StudyState, t: float, context: object) -> Show:
    """The belief at time t in a context, from the results up to then.

    ``view`` is "options" (every option), "band" (one varying number), "map" (two), "slices" (each
    parameter varied alone around the best), or "none" for a policy without a belief.
    """
    config, history = state.config, state.optimizer.history
    there, point = _context(state, context)
    head = {"t": t, **there}
    if not config.policy.has_model:
        return lambda: {**head, "view": "none"}
    if t >= state.optimizer.latest:
        shown = BeliefView(config, state.optimizer, t, point).belief()
        return lambda: {**head, **shown}
    since = state.since if t >= state.since else -np.inf
    by_then = np.flatnonzero((history.t <= t) & (history.t >= since))[-_RECENT:]
    past = [history[i] for i in by_then.tolist()]
    blank = _blank(state, past)
    return lambda: {**head, **BeliefView(config, _fed(blank, past), t, point).belief()}


def summary(state: StudyState, t: float, context: object) -> Json:
    """The configuration, the counts, the present best in a context, and the drift."""
    optimizer, config = state.optimizer, state.config
    there, point = _context(state, context)
    told, model = len(optimizer.history), config.given.override(state.model)
    view = BeliefView(config, optimizer, t, point)
    is_known = config.policy.has_model and told > 0
    return {
        "setup": config.to_json(),
        "created": state.created,
        "t": t,
        **there,
        "events": state.seq,
        "asked": optimizer.asked,
        "told": told,
        "faults": [state.ids.of(number) for number in sorted(state.faults)],
        "open": [ask.to_json() for ask in state.open],
        "model": model.to_json(),
        "best": view.best_with_confidence(model.variance) if is_known else None,
        "drift": describe_drift(state),
    }


def describe_drift(state: StudyState) -> Json:
    """The drift rate, its interval, and its meaning in words."""
    policy = state.config.policy
    if not (policy.entry.has_drift or policy.learns_sums):
        return {"epsilon": None, "words": "This policy has no drift rate."}
    if policy.epsilon is None and not len(state.optimizer.history):
        return {"epsilon": None, "words": "There are no results yet: the drift is unknown."}
    if state.model.world is not None:
        words = _world_in_words(state, state.model.world)
        return {"epsilon": state.model.epsilon, "interval": None, "words": words}
    if not policy.learns_drift:
        epsilon = state.model.epsilon if policy.epsilon is None else policy.epsilon
        return {"epsilon": epsilon, "interval": None, "words": _in_words(state, [epsilon])}
    learned = state.optimizer.learned()
    words = _of_learned(state, learned)
    return {"epsilon": learned.epsilon, "interval": list(learned.interval), "words": words}


def track(state: StudyState) -> Show:
    """The latest results with their choices, the estimated best at some times, the certificate."""
    config, shown = state.config, state.optimizer.history[-_SHOWN:]
    levels = [[one for one in shown if (one.t >= state.since) == new] for new in (False, True)]
    certificate, faults = _certificate(state), state.faults
    tracked = [(_blank(state, some), some) for some in levels if some and config.policy.has_model]

    def show() -> Json:
        best = [stop for blank, some in tracked for stop in _stops(config, blank, some)]
        results = [_result(config, one, one.id in faults) for one in shown]
        return {"results": results, "best": best, "certificate": certificate()}

    return show


def _certificate(state: StudyState) -> Callable[[], Json | None]:
    """The certificate of a study whose model and drift are given and whose beta is a theorem's."""
    config, optimizer = state.config, state.optimizer
    known = config.given.complete and config.policy.epsilon is not None
    if not known or config.context is not None or optimizer.asked > _CERTIFIED:
        return lambda: None
    policy, domain = optimizer.policy, optimizer.domain
    events = [*optimizer.history, *optimizer.open]

    def show() -> Json | None:
        try:
            found = certify(policy, domain, events)
        except InputError:
            return None
        return {
            "steps": found.steps,
            "bound": found.bound,
            "per_step": found.per_step,
            "probability": found.probability,
            "assumptions": list(found.assumptions),
        }

    return show


def export(config: StudyConfig, events: Sequence[Event], kind: str) -> str:
    """All evaluations with their results, in the order of asking, as CSV or JSON."""
    rows = _rows(events)
    if kind == "json":
        return json.dumps({"setup": config.to_json(), "results": rows}, indent=2)
    if kind != "csv":
        raise InputError("csv or json", repr(kind)[:60], "", "kind")
    text = io.StringIO()
    names, flat = table(config, rows)
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: escaped(value) for name, value in row.items()} for row in flat)
    return text.getvalue()


def table(config: StudyConfig, rows: Sequence[Json]) -> tuple[list[str], list[Json]]:
    """The names of the columns, and the rows, of all evaluations as a table."""
    noise = [name for name in CHECKS if any(name in row for row in rows)]
    taken = ["fault"] if any("fault" in row for row in rows) else []
    names = ["id", "t", *_columns(config), "value", *noise, "state", *taken, "asked_at", "told_at"]
    return names, [_flat(row) for row in rows]


def _blank(state: StudyState, results: Sequence[Observation]) -> Optimizer:
    """An optimizer without results, with the present model and drift.

    If the results that it will get precede a level shift, it has their mean.
    """
    config, model = state.config, state.model
    if results and results[-1].t < state.since:
        mean = config.sign * float(np.mean([one.y for one in results]))
        model = model.with_mean(mean)
    epsilon = describe_drift(state)["epsilon"] if config.policy.learns_drift else None
    known = config if epsilon is None else config.with_drift(epsilon)
    optimizer = Optimizer(config.adapter.problem, known.build())
    if optimizer.learner is not None:
        optimizer.learner.update(Update(model.signed(config.sign)))
    return optimizer


def _fed(optimizer: Optimizer, results: Sequence[Observation]) -> Optimizer:
    for one in sorted(results, key=lambda one: one.t):
        opened = optimizer.begin(one.x if one.index is None else one.index, one.t)
        optimizer.observe(opened, one.y, one.precision)
    return optimizer


def _stops(config: StudyConfig, blank: Optimizer, results: Sequence[Observation]) -> Iterator[Json]:
    """The best at some times, from the results up to each, in the context of the latest one."""
    in_time = sorted(results, key=lambda one: one.t)
    for part in np.array_split(np.arange(len(in_time)), min(_STOPS, len(in_time))):
        optimizer = _fed(blank, [in_time[i] for i in part])
        context = config.adapter.context_of(in_time[part[-1]].x)
        yield BeliefView(config, optimizer, optimizer.latest, context).best()


def _result(config: StudyConfig, one: Observation, is_fault: bool) -> Json:
    label = config.adapter.describe(one.x if one.index is None else one.index)
    told = {"t": one.t, "value": config.sign * one.y, **_noise(one.precision), **label}
    return {**told, "fault": True} if is_fault else told


def _noise(precision: Precision) -> Json:
    """The standard error or the number of repeats of a result, if told."""
    known = {} if precision.variance is None else {"std": sqrt(precision.variance)}
    return known if precision.repeats == 1 else {"n": precision.repeats}


def _context(state: StudyState, context: object) -> tuple[Json, Array | None]:
    """The given context, or that of the latest ask: as part of an answer, and as coordinates."""
    adapter = state.config.adapter
    there = adapter.check_context(state.context if context is None else context)
    return {} if there is None else {"context": there}, adapter.context_point(there)


def _of_learned(state: StudyState, learned: Learned) -> str:
    """The interval in words; at the lowest candidate it has no lower end."""
    low, high = learned.interval
    if low == learned.epsilons.min() and high < learned.epsilons.max():
        valid = f"half of what is learned stays valid for at least {_half_life(state, high)}."
        return f"No drift detected: {valid}"
    return _in_words(state, [low, high])


def _in_words(state: StudyState, epsilons: Sequence[float]) -> str:
    """How fast results become stale, for one drift rate or for the ends of its interval."""
    if max(epsilons) <= 0.0:
        return "Nothing becomes stale: the function does not change."
    if min(epsilons) >= 1.0:
        return "All that is learned is stale at the next step."
    shortest, longest = (_half_life(state, end(epsilons)) for end in (max, min))
    if shortest == longest:
        return f"Half of what is learned is stale after {longest}."
    number, _, unit = shortest.partition(" ")
    least = number if longest.endswith(f" {unit}") else shortest
    return f"Half of what is learned is stale after {least} to {longest}."


def _world_in_words(state: StudyState, world: World) -> str:
    """What the world is made of: shares of the variance, half-lives and noise."""
    model = state.model
    lives = {
        name: _half_life(state, model.per_unit(rate))
        for name, rate in (("drifts", world.drift_rate), ("level", world.level_rate))
    }
    said = {
        "stays": "stays",
        "drifts": f"drifts with a half-life of {lives['drifts']}",
        "level": f"is common to all places, with a half-life of {lives['level']}",
        "noise": "is noise",
        "season": f"returns every {_time(state, world.period * model.pace)}",
    }
    shares = sorted(world.shares().items(), key=lambda item: -item[1])
    words = ", ".join(
        f"{share:.0%} {said[name]}" for name, share in shares if share >= _SHOWN_SHARE
    )
    faults = len(state.faults)
    taken = f"; {faults:,} result{'s' * (faults != 1)} taken for faults" if faults else ""
    return f"{words}{'; as logarithms' if world.scale == 'log' else ''}{taken}."


def _half_life(state: StudyState, epsilon: float) -> str:
    return _time(state, float(np.log(0.5) / np.log1p(-np.clip(epsilon, 1e-300, 1.0 - 1e-12))))


def _time(state: StudyState, units: float) -> str:
    """A length of time in words."""
    clock = state.config.clock
    if isinstance(clock, Wall):
        return duration(units * clock.seconds)
    is_counted = state.optimizer.latest == state.optimizer.asked
    return f"{short(units)} {'steps' if is_counted else 'units of t'}"


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
            rows[body["id"]] |= {name: body[name] for name in CHECKS if name in body}
        elif body["kind"] in ("cancelled", "expired"):
            rows[body["id"]] |= {"state": body["kind"]}
        elif body["kind"] == "judged":
            for name, is_fault in (("faults", True), ("plausible", False)):
                for id in body[name]:
                    rows[id]["fault"] = is_fault
    return list(rows.values())


def _flat(row: Json) -> Json:
    """A row with a column for each parameter, prefixed because other columns may have its name."""
    flat = {name: value for name, value in row.items() if name not in _NESTED}
    for outer in _NESTED:
        flat |= {f"{outer}.{name}": value for name, value in row.get(outer, {}).items()}
    return flat


def _columns(config: StudyConfig) -> list[str]:
    given = {} if config.context is None else config.context.parameters
    columns = [f"context.{name}" for name in given]
    if isinstance(config.space, Options):
        return ["option", *columns]
    return [*(f"params.{name}" for name in config.space.parameters), *columns]
