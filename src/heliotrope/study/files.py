"""The file of a study, and a study from the file of a study or of an optimizer."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import Any

from heliotrope.errors import FormatError, HeliotropeError, InputError
from heliotrope.ledger import Observation, Suggestion
from heliotrope.live.rules import Live
from heliotrope.policies import Adaptive, Policy, Tracking
from heliotrope.policies.registry import AUTO, BASELINE, Named
from heliotrope.serialization.archive import pack, pack_flat, readable, unpack
from heliotrope.serialization.codec import Arrays, encode
from heliotrope.spaces import Options, SearchSpace
from heliotrope.storage import Append, Event, EventBody, Store
from heliotrope.study.asks import Ids
from heliotrope.study.config import Goals, PolicyChoice, StudyConfig
from heliotrope.study.space_adapter import SpaceAdapter
from heliotrope.study.state import VERSION, StudyState, created_event
from heliotrope.surroundings import Surroundings
from heliotrope.tracker import Tracker
from heliotrope.tracker.archives import (
    FORMAT,
    VERSION as ARCHIVE,
    OptimizerConfig,
    archived,
    of_snapshot,
    unarchived,
)
from heliotrope.validation import Array, Json, as_number

_IDS, _BY_ID = ("faults", "plausible"), "contradicted"  # fields of events beside id


def dumps(state: StudyState, events: Sequence[Event]) -> bytes:
    """The bytes of a study's file, from its state and all its events."""
    config, lead = state.config, state.config.lead
    named = config.adapter.problem is config.space.domain
    policies = {name: _undeferred(metric.policy) for name, metric in state.metrics.items()}
    told = OptimizerConfig(
        config.space if named else config.adapter.problem,
        _undeferred(config.metrics[lead].build()),
        config.direction,
        config.seed or 0,
        _live(state.tracker, named=named),
        None if named else config.space,
    )
    logged = [[event.at, event.body] for event in events]
    return pack(*archived(told, state.tracker, policies, logged))


def _undeferred(policy: Policy) -> Policy:
    """The policy of an optimizer, which estimates a model at once."""
    return replace(policy, deferred=False) if isinstance(policy, Adaptive) else policy


def _live(tracker: Tracker, *, named: bool) -> Live | None:
    """The rules; without names, points stand for their settings."""
    setup = tracker.setup
    if setup is None or named:
        return None if setup is None else setup.live
    assert isinstance(setup.live, Goals)
    safe = setup.called_safe[0 if setup.baseline is None else 1 :]
    return setup.live.with_choices(setup.baseline, safe)  # type: ignore[arg-type]


def load(data: bytes, source: str, name: str, store: Store, surroundings: Surroundings) -> None:
    """Create a study from the bytes of a file."""
    header, arrays = unpack(data, FORMAT, ARCHIVE, source)
    with readable("a saved study or optimizer", source):
        events = [(as_number(at, "at"), dict(body)) for at, body in header["events"]]
        saved = None if events else unarchived(header, arrays)
    if saved is None:
        uid = store.create(name, events[0][1], events[0][0])
        bodies = [(at, _with_uid(body, uid)) for at, body in events[1:]]
    else:
        config, now = config_of(*saved), surroundings.now()
        uid = store.create(name, created_event(config), now)
        bodies = [(now, _continued(header, arrays, config, saved[1], uid, surroundings))]
    try:
        _append(store, uid, bodies)
    except BaseException:
        store.delete(uid)
        raise


def _append(store: Store, uid: str, bodies: Sequence[tuple[float, EventBody]]) -> None:
    batch, last = list[Append](), 1
    for at, group in groupby(bodies, key=lambda timed: timed[0]):
        together = [body for _, body in group]
        batch.append(Append(uid, last, together, at))
        last += len(together)
    for outcome in store.append(batch) if batch else []:
        if isinstance(outcome, HeliotropeError):
            raise outcome


def _with_uid(body: Mapping[str, Any], uid: str) -> EventBody:
    """An event whose ids are those of the study with this uid."""

    def renamed(id: object) -> str:
        if not isinstance(id, str):
            raise FormatError("the id of an ask", repr(id)[:60])
        return Ids(uid).renamed(id)

    renewed = dict(body)
    if "id" in body:
        renewed["id"] = renamed(body["id"])
    renewed |= {name: [renamed(id) for id in body[name]] for name in _IDS if name in body}
    if _BY_ID in body:
        renewed[_BY_ID] = {renamed(id): variance for id, variance in body[_BY_ID].items()}
    if "evaluations" in body:
        renewed["evaluations"] = [_with_uid(evaluation, uid) for evaluation in body["evaluations"]]
    return renewed


# ---- from an optimizer


def config_of(told: OptimizerConfig, tracker: Tracker) -> StudyConfig:
    """The configuration of the study that continues an optimizer; InputError if there is none."""
    if not isinstance(told.problem, (SearchSpace, Options)):
        got, advice = type(told.problem).__name__, "Open the file by Optimizer.load."
        raise InputError("an optimizer of named parameters or options", got, advice, "space")
    wanted = {name: _as_text(metric.policy) for name, metric in tracker.metrics.items()}
    goals = _goals(told, tracker)
    for kind, parameters in _descriptions(told.policy):
        with suppress(InputError):  # such as a length scale of options without features
            choice = PolicyChoice(kind, parameters)
            config = StudyConfig(told.problem, choice, told.direction, seed=told.seed, goals=goals)
            if _policies(config) == wanted:
                return config
    got, advice = f"a {type(told.policy).__name__}", "Open the file by Optimizer.load."
    raise InputError("a policy that a study can have, such as auto", got, advice, "policy")


def _policies(config: StudyConfig) -> dict[str, str]:
    """The policy of each metric of a study."""
    state = StudyState("", config, 0.0)
    state.extend([])
    policies = {name: metric.policy for name, metric in state.metrics.items()}
    return {name: _as_text(_undeferred(policy)) for name, policy in policies.items()}


def _descriptions(policy: Policy) -> Iterator[tuple[str, Json]]:
    """Kinds and parameters of study policies that may equal this policy."""
    if not isinstance(policy, Adaptive):
        yield BASELINE.name, {}
    elif isinstance(policy.recipe, Named):
        parameters = json.loads(str(policy.recipe.given))
        yield policy.recipe.name, parameters
        yield policy.recipe.name, {n: v for n, v in parameters.items() if n != "length_scale"}
    elif isinstance(policy.recipe, Tracking):
        season = policy.recipe.season
        yield AUTO.name, {"season": season} if season else {}


def _as_text(policy: Policy) -> str:
    """All that a policy consists of."""
    arrays: Arrays = {}
    tree = encode(policy, arrays)
    return json.dumps([tree, {name: array.tolist() for name, array in arrays.items()}])


def _goals(told: OptimizerConfig, tracker: Tracker) -> Goals | None:
    """The rules with the choices as a study names them."""
    live, setup = told.live, tracker.setup
    if live is None or setup is None:
        return None
    if live.rules.remeasure.stale is not None:
        got, advice = f"stale={live.rules.remeasure.stale:g}", "Open the file by Optimizer.load."
        raise InputError("rules that a study can have", got, advice, "live")
    goals = Goals(
        metrics=live.metrics,
        objective=live.objective,
        limits=live.rules.limits,
        risk=live.rules.risk,
        share=live.rules.remeasure.share,
        moves=live.rules.moves,
        baseline=live.baseline,
        safe=live.safe,
    )
    places = live.safe if live.baseline is None else (live.baseline, *live.safe)
    choices = [
        place if isinstance(place, (Mapping, str)) else _named(told, point)
        for place, point in zip(places, setup.called_safe, strict=True)
    ]
    baseline = None if live.baseline is None else choices.pop(0)
    return goals.with_choices(baseline, choices)


def _named(told: OptimizerConfig, point: Array) -> Any:
    """The parameters or the option at the coordinates of a choice."""
    assert isinstance(told.problem, (SearchSpace, Options))
    words = SpaceAdapter(told.problem).describe_choice(point)
    return words.get("params", words.get("option"))


def _continued(
    header: Json,
    arrays: Arrays,
    config: StudyConfig,
    tracker: Tracker,
    uid: str,
    surroundings: Surroundings,
) -> EventBody:
    """The event with the snapshot of an optimizer, and with its evaluations in words."""
    mark, ids = surroundings.moment().mark, Ids(uid)
    ids.begin(tracker.lead.asked, mark)
    flat = pack_flat({**header, "setup": None}, of_snapshot(arrays))
    return {
        "v": VERSION,
        "kind": "continued",
        "mark": mark,
        "snapshot": b64encode(flat).decode(),
        "evaluations": list(_evaluations(config, tracker, ids)),
    }


def _evaluations(config: StudyConfig, tracker: Tracker, ids: Ids) -> Iterator[EventBody]:
    """The events of the evaluations that an optimizer knows, as in a log."""
    told: dict[str, dict[str, Observation]] = {}
    for name, metric in tracker.metrics.items():
        for i, result in enumerate(metric.history):
            id = ids.renamed(f"-past-{i}") if result.id is None else ids.of(result.id)
            told.setdefault(id, {})[name] = result
    for id, results in told.items():
        yield _asked(config, id, next(iter(results.values())))
        values = {name: result.y for name, result in results.items()}
        stds = {
            name: result.precision.variance**0.5
            for name, result in results.items()
            if result.precision.variance is not None
        }
        repeats = max(result.precision.repeats for result in results.values())
        noise = {**({"std": stds} if stds else {}), **({"n": repeats} if repeats > 1 else {})}
        yield {"kind": "told", "id": id, "value": values, **noise}
    for suggestion in tracker.lead.open:
        yield _asked(config, ids.of(suggestion.id), suggestion)


def _asked(config: StudyConfig, id: str, record: Observation | Suggestion) -> EventBody:
    words = config.adapter.describe(record.x if record.index is None else record.index)
    reason = getattr(record, "reason", None)
    return {
        "kind": "asked",
        "id": id,
        "t": record.t,
        **words,
        **({} if reason is None else {"reason": reason}),
    }
