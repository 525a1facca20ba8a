"""The state of a live system beside its objective: beliefs about the other metrics, what runs now.

Each metric has an agent that learns it. The agents of objectives see values whose sign makes high
ones good. A limited metric has an agent of its own that is cautious, even if it is an objective.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from heliotrope.domains import DomainAdapter, Places
from heliotrope.errors import InputError
from heliotrope.history import Suggestion
from heliotrope.live.avoiding import Avoidance
from heliotrope.live.beliefs import Belief, Trust, standardized_error
from heliotrope.live.choosing import Chooser, Standing, candidates
from heliotrope.live.deciding import Mask, Reason
from heliotrope.live.description import Live
from heliotrope.live.gains import Gain, TotalGain, gain
from heliotrope.live.holding import hold_until
from heliotrope.live.moving import Distances
from heliotrope.live.trading import front, random_sum
from heliotrope.live.watching import watching
from heliotrope.policies.adaptive import AdaptiveAgent
from heliotrope.policies.protocol import Agent, Policy, Weighing
from heliotrope.precision import Precision
from heliotrope.rng import RNGFactory
from heliotrope.serialization.codec import State, part, under
from heliotrope.spaces.adapter import NamedAdapter
from heliotrope.validation import Array

_VISITED = 8  # latest places that stay candidates

Told = Mapping[str, tuple[float, Precision]]
"""Values and precisions by metric."""


class LiveRun:
    """The agents of a live system's metrics, and where the system stands.

    The agent of the first objective belongs to the optimizer, and is passed in.
    """

    def __init__(self, live: Live, policy: Policy, adapter: DomainAdapter) -> None:
        if adapter.contextual is not None:
            raise InputError("a problem without contexts", "one with contexts", "", "live")
        self.live, self._adapter, self._policy = live, adapter, policy
        domain = adapter.domain
        space = adapter.space if isinstance(adapter, NamedAdapter) else None
        self._distances = Distances(live.rules.moves, domain, space)
        others = [name for name in live.objectives if name != live.lead]
        self._objectives = {name: policy.start(domain) for name in others}
        watched = [name for name in live.metrics if name not in live.objectives]
        learned = dict.fromkeys([*live.rules.limited, *watched])
        self._watched: dict[str, Agent] = {
            name: watching(live.limits_of(name)).start(domain) for name in learned
        }
        self._trust = {name: Trust() for name in [*live.metrics]}
        baseline = None if live.baseline is None else adapter.place(live.baseline)
        known = [adapter.canonical(adapter.place(one)) for one in live.safe]
        if baseline is not None:
            baseline = adapter.canonical(baseline)
            known.insert(0, baseline)
        self.standing = Standing(baseline, tuple(known), baseline)
        self.total = TotalGain()

    # ---- events

    def open(self, suggestion: Suggestion) -> None:
        place = _place(suggestion)
        for agent in self._agents():
            agent.open(suggestion.id, suggestion.t, place)
        at = self.standing.at_baseline + self._is_baseline(place)
        self.standing = replace(self.standing, asked=self.standing.asked + 1, at_baseline=at)

    def cancel(self, id: int) -> None:
        for agent in self._agents():
            agent.cancel(id)

    def note_trust(
        self, lead: Agent, suggestion: Suggestion, told: Told, now: float
    ) -> list[AdaptiveAgent]:
        """Compare results with what was believed; call it before they are told.

        Before the first result nothing is believed. The agents of limited metrics whose models are
        contradicted are returned.
        """
        contradicted = list[AdaptiveAgent]()
        if not self.standing.told:
            return contradicted
        rules, place = self.live.rules, _place(suggestion)
        for name, (y, precision) in told.items():
            agent, sign = self._judge(lead, name)
            error = standardized_error(agent, now, place, sign * y, precision)
            crossed = suggestion.reason != "fallback" and rules.crosses(name, y)
            self._trust[name] = self._trust[name].after(error, crossed=crossed, risk=rules.risk)
            if name in rules.limited and Trust.is_contradicted_by(error):
                assert isinstance(agent, AdaptiveAgent)
                contradicted.append(agent)
        return contradicted

    def tell(self, suggestion: Suggestion, told: Told) -> None:
        """Take results of all metrics but the first objective; cancel what is missing."""
        for agents, signs in ((self._objectives, self.live.objectives), (self._watched, {})):
            for name, agent in agents.items():
                if name in told:
                    y, precision = told[name]
                    agent.tell(suggestion.id, signs.get(name, 1.0) * y, precision)
                else:
                    agent.cancel(suggestion.id)
        place = _place(suggestion)
        visited = (place, *self.standing.visited)[:_VISITED]
        told_now = self.standing.told + 1
        self.standing = replace(self.standing, applied=place, visited=visited, told=told_now)

    def note_gain(self, lead: Agent, suggestion: Suggestion, now: float) -> None:
        """Add the gain of a told evaluation to the total."""
        if self.standing.baseline is not None:
            self.total = self.total.after(self._gain_of(lead, now, _place(suggestion)))

    def apply(self, place: Places) -> None:
        """Note that a setting runs now."""
        self.standing = replace(self.standing, applied=self._adapter.canonical(place))

    def set_back(self, latest: float, opened: Sequence[Suggestion]) -> None:
        """Move all later times back; an agent that does not learn its model restarts."""
        for agent in self._agents():
            if isinstance(agent, AdaptiveAgent):
                agent.set_back(latest)
        for name, agent in self._objectives.items():
            if not isinstance(agent, AdaptiveAgent):
                fresh = self._objectives[name] = self._policy.start(self._adapter.domain)
                for one in opened:
                    fresh.open(one.id, one.t, _place(one))

    # ---- queries

    def choose(
        self,
        lead: Agent,
        t: float,
        opened: Sequence[Suggestion],
        avoidance: Avoidance,
        make_rng: RNGFactory,
    ) -> tuple[Places, Reason]:
        """The place to measure next, and why."""
        standing = replace(self.standing, open=tuple(_place(one) for one in opened))
        chooser = replace(self._chooser(lead, make_rng), avoids=avoidance.avoids)
        return chooser.choose(standing, t, make_rng)

    def safe(self, lead: Agent, t: float, places: Places) -> Mask:
        """Which places are known to keep all limits."""
        chooser = self._chooser(lead, lambda: np.random.default_rng(0))
        return chooser.safe(places, t, self.standing.baseline)

    def best(self, lead: Agent, t: float, make_rng: RNGFactory) -> Places:
        """The place of the highest mean among those known to be safe; all, if none is."""
        places = candidates(self._adapter.domain, self.standing, make_rng)
        mean, _ = Belief.of(lead).predict(t, places)
        kept = self.safe(lead, t, places)
        chosen = np.where(kept, mean, -np.inf) if kept.any() else mean
        return places[[int(np.argmax(chosen))]]

    def gain(self, lead: Agent, t: float, make_rng: RNGFactory) -> Gain:
        """The gain of the best safe place over the baseline."""
        return self._gain_of(lead, t, self.best(lead, t, make_rng))

    def front(self, lead: Agent, t: float, places: Places) -> tuple[Places, Array]:
        """The best trade-offs among safe places, and their means (places, objectives)."""
        beliefs = [Belief.of(agent, sign) for sign, agent in self._signed(lead)]
        means = np.column_stack([belief.predict(t, places)[0] for belief in beliefs])
        signs = np.array(list(self.live.objectives.values()))
        kept = self.safe(lead, t, places)
        at = np.flatnonzero(kept) if kept.any() else np.arange(len(places))
        at = at[front(signs * means[at])]
        return places[at], means[at]

    def hold(
        self, lead: Agent, t: float, last: float, cost: float, make_rng: RNGFactory
    ) -> float | None:
        """The time until which a measurement is not worth its cost; None if it is now."""
        places = candidates(self._adapter.domain, self.standing, make_rng)
        return hold_until(Belief.of(lead), t, places, last, cost, pace=1.0)

    def agent(self, lead: Agent, metric: str) -> tuple[Agent, float]:
        """The agent that knows a metric best, and the sign of the values it sees."""
        if metric not in self.live.metrics:
            known = ", ".join(self.live.metrics)
            raise InputError(f"a metric among {known}", repr(metric)[:60], "", "metric")
        return self._judge(lead, metric)

    # ---- files

    def state(self) -> State:
        """The state as arrays; places are those of the domain."""
        one = self.standing
        own = {
            "counts": np.array([one.asked, one.at_baseline, one.told]),
            "applied": np.array([] if one.applied is None else one.applied),
            "visited": np.array([place[0] for place in one.visited]),
            "total": np.array(list(asdict(self.total).values())),
            "trust": np.array([list(asdict(self._trust[name]).values()) for name in self._trust]),
        }
        for i, agent in enumerate(self._agents()):
            own |= under(f"agent{i}/", agent.state())
        return own

    def restore(self, state: State) -> None:
        """Continue from what :meth:`state` returned."""
        asked, at_baseline, told = (int(number) for number in state["counts"])
        applied = state["applied"] if len(state["applied"]) else None
        visited = tuple(row[None] for row in state["visited"])
        self.standing = replace(
            self.standing,
            applied=applied,
            visited=visited,
            asked=asked,
            at_baseline=at_baseline,
            told=told,
        )
        steps, *sums = state["total"].tolist()
        self.total = TotalGain(int(steps), *sums)
        rows = state["trust"].tolist()
        self._trust = {name: Trust(*row) for name, row in zip(self._trust, rows, strict=True)}
        for i, agent in enumerate(self._agents()):
            agent.restore(part(state, f"agent{i}/"))

    # ---- parts

    def _agents(self) -> list[Agent]:
        return [*self._objectives.values(), *self._watched.values()]

    def _signed(self, lead: Agent) -> list[tuple[float, Agent]]:
        """The agents of all objectives, with the sign of the values they see."""
        agents = {self.live.lead: lead, **self._objectives}
        return [(sign, agents[name]) for name, sign in self.live.objectives.items()]

    def _judge(self, lead: Agent, name: str) -> tuple[Agent, float]:
        if name in self._watched:
            return self._watched[name], 1.0
        agent = lead if name == self.live.lead else self._objectives[name]
        return agent, self.live.objectives[name]

    def _objective(self, lead: Agent, make_rng: RNGFactory) -> Belief:
        """The belief to choose by; of several objectives, a sum with random weights."""
        agents = [(1.0, agent) for _, agent in self._signed(lead)]
        if len(agents) == 1:
            return Belief.of(lead)
        spreads = np.sqrt([_variance(agent) for _, agent in agents])
        return random_sum(agents, spreads, make_rng)

    def _chooser(self, lead: Agent, make_rng: RNGFactory) -> Chooser:
        limited = {name: Belief.of(self._watched[name]) for name in self.live.rules.limited}
        objective, domain = self._objective(lead, make_rng), self._adapter.domain
        return Chooser(
            self.live.rules, domain, self._distances, objective, limited, dict(self._trust)
        )

    def _gain_of(self, lead: Agent, t: float, place: Places) -> Gain:
        if self.standing.baseline is None:
            raise InputError("a baseline", "none", "Create the optimizer with one.", "baseline")
        factor = self._trust[self.live.lead].factor
        return gain(Belief.of(lead), t, place, self.standing.baseline, factor)

    def _is_baseline(self, place: Places) -> bool:
        base = self.standing.baseline
        return base is not None and bool(np.array_equal(place, base))


def check_weighing(agent: Agent) -> None:
    """Refuse an agent without scores and covariances."""
    if not isinstance(agent, Weighing):
        raise InputError("a GP policy, such as auto", type(agent).__name__, "", "live")


def _variance(agent: Agent) -> float:
    """The variance of the values that an agent saw, about."""
    model = getattr(agent, "model", None)
    return 1.0 if model is None else float(model.variance)


def _place(suggestion: Suggestion) -> Places:
    return suggestion.x[None] if suggestion.index is None else np.array([suggestion.index])
