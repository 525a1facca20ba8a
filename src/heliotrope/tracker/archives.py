"""The archive of an optimizer or a study: the setup, the events of a study, and a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from heliotrope.directions import Direction, sign_of
from heliotrope.domains import Contextual, Domain, DomainAdapter
from heliotrope.errors import InputError
from heliotrope.live.beliefs import policy_of
from heliotrope.live.rules import OBJECTIVE, Live, decode_live, encode_live
from heliotrope.policies import Policy
from heliotrope.serialization.codec import Arrays, JsonTree, decode, encode, part, under
from heliotrope.spaces import Options, SearchSpace
from heliotrope.spaces.space import NamedAdapter
from heliotrope.tracker.metric import Metric
from heliotrope.tracker.outlook import Setup
from heliotrope.tracker.tracker import Tracker
from heliotrope.validation import as_whole

FORMAT, VERSION = "heliotrope", 1

Problem: TypeAlias = Domain | Contextual | SearchSpace | Options
"""What an optimizer chooses among."""


@dataclass(frozen=True, eq=False)
class OptimizerConfig:
    """What an optimizer is made with.

    ``names`` is the space whose parameters the rules name, if the problem has coordinates only.
    """

    problem: Problem
    policy: Policy
    direction: Direction
    seed: int
    live: Live | None = None
    names: SearchSpace | Options | None = None

    @cached_property
    def adapter(self) -> DomainAdapter:
        if isinstance(self.problem, (SearchSpace, Options)):
            return NamedAdapter(self.problem)
        return DomainAdapter(self.problem)  # refuses what is no domain

    def tracker(self, policies: Mapping[str, Policy] | None = None) -> Tracker:
        """A new tracker; the ``policies`` of its metrics follow from the policy by default."""
        live, own = self.live, policies or {}
        if live is None:
            metric = Metric(self.adapter, self.policy, self.seed, sign_of(self.direction))
            return Tracker(OBJECTIVE, {OBJECTIVE: metric}, None)
        metrics = {
            name: Metric(
                self.adapter,
                own[name] if own else policy_of(live, name, self.policy),
                self.seed,
                live.sign_of(name),
            )
            for name in live.metrics
        }
        adapter = self.adapter
        space = adapter.space if isinstance(adapter, NamedAdapter) else self.names
        return Tracker(live.lead, metrics, Setup(adapter, live, adapter.choice, space))

    def encoded(self, policies: Mapping[str, Policy], arrays: Arrays) -> JsonTree:
        """The setup as JSON, with its arrays in ``arrays``; the policies are those of metrics."""
        live = None if self.live is None else encode_live(self.live, arrays)
        return {
            **_described(self.problem, arrays),
            "direction": self.direction,
            "policy": encode(self.policy, arrays),
            "seed": self.seed,
            "live": live,
            "names": None if self.names is None else _described(self.names, arrays),
            "policies": {} if live is None else {n: encode(p, arrays) for n, p in policies.items()},
        }


def archived(
    config: OptimizerConfig,
    tracker: Tracker,
    policies: Mapping[str, Policy],
    events: Sequence[Any] = (),
) -> tuple[JsonTree, Arrays]:
    """The header and the arrays of an archive.

    The ``policies`` are those of the metrics. ``events`` are those of a study, each with its time.
    """
    snapshot, arrays = tracker.lead.parts()
    tree, own = _parts(tracker)
    arrays |= under("tracker/", own)
    _check_numbers(arrays)
    setup = config.encoded(policies, arrays)
    kind = {"format": FORMAT, "version": VERSION}
    contents = {"setup": setup, "events": list(events), "snapshot": {**snapshot, "tracker": tree}}
    return {**kind, **contents}, arrays


def unarchived(header: JsonTree, arrays: Arrays) -> tuple[OptimizerConfig, Tracker]:
    """The setup and the tracker of an archive."""
    setup = header["setup"]
    live, names = setup["live"], setup["names"]
    config = OptimizerConfig(
        _problem(setup, arrays),
        decode(setup["policy"], arrays),
        setup["direction"],
        setup["seed"],
        None if live is None else decode_live(live, arrays),
        None if names is None else _space(names),
    )
    own = {name: decode(tree, arrays) for name, tree in setup["policies"].items()}
    tracker = config.tracker(own)
    restore(tracker, header["snapshot"], arrays)
    return config, tracker


def restore(tracker: Tracker, snapshot: JsonTree, arrays: Arrays) -> None:
    """Let a new tracker continue from the snapshot of an archive."""
    _check_numbers(of_snapshot(arrays))
    tracker.lead.restore(snapshot, arrays)
    tree, own = snapshot["tracker"], part(arrays, "tracker/")
    tracker.told = as_whole(tree["told"], "told", least=0)
    tracker.progress.restore(tree["progress"])
    for i, name in enumerate(_following(tracker)):
        tracker.metrics[name].restore(tree["metrics"][name], part(own, f"metric/{i}/"))


def _parts(tracker: Tracker) -> tuple[JsonTree, Arrays]:
    """The state of all metrics but the leading one, and the progress, as JSON and arrays."""
    headers, arrays = dict[str, JsonTree](), dict[str, Any]()
    for i, name in enumerate(_following(tracker)):
        headers[name], own = tracker.metrics[name].parts()
        arrays |= under(f"metric/{i}/", own)
    progress = tracker.progress.to_json()
    return {"told": tracker.told, "progress": progress, "metrics": headers}, arrays


def _following(tracker: Tracker) -> list[str]:
    """The metrics that do not lead."""
    return [name for name in tracker.metrics if name != tracker.leading]


def of_snapshot(arrays: Arrays) -> Arrays:
    """The arrays of an archive without those of the setup, which :func:`encode` has named."""
    return {name: array for name, array in arrays.items() if not name.startswith("array")}


def _check_numbers(arrays: Arrays) -> None:
    """Refuse arrays of text, which would fail only when they are used."""
    for name, array in arrays.items():
        if array.dtype.kind in "SU":
            raise InputError("a state of numbers", f"an array of text, {name}", "Use indices.")


def _described(problem: Problem, arrays: Arrays) -> JsonTree:
    if isinstance(problem, SearchSpace):
        return {"space": problem.to_json()}
    if isinstance(problem, Options):
        return {"options": problem.to_json()}
    return {"domain": encode(problem, arrays)}


def _problem(setup: JsonTree, arrays: Arrays) -> Problem:
    """Read what :func:`_described` wrote."""
    if "domain" not in setup:
        return _space(setup)
    domain: Domain | Contextual = decode(setup["domain"], arrays)
    return domain


def _space(described: JsonTree) -> SearchSpace | Options:
    if "space" in described:
        return SearchSpace.from_json(described["space"])
    return Options.from_json(described["options"])
