"""One metric of a tracker: its evaluations and results, and the agent that has seen them.

The agent maximizes, in a frame whose values have a sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import (
    Choices,
    Contextual,
    Domain,
    DomainAdapter,
    PlaceLike,
    Places,
    all_choices,
)
from heliotrope.errors import InputError, NoBeliefError
from heliotrope.estimation import Model
from heliotrope.ledger import History, Ledger, Observation, Suggestion, Visible
from heliotrope.live.choosing import Avoidance, failure_before
from heliotrope.policies.adaptive import AdaptiveAgent
from heliotrope.policies.frame import Frame
from heliotrope.policies.gp import GPAgent
from heliotrope.policies.protocol import (
    TOLD_AT_ONCE,
    Agent,
    Belief,
    Best,
    Policy,
    Sampling,
    Selective,
    Weighing,
)
from heliotrope.posterior import Accuracy, Learned
from heliotrope.precision import USUAL, Precision
from heliotrope.serialization.codec import Arrays, JsonTree, part, under
from heliotrope.surroundings import RNGFactory, RNGStream
from heliotrope.validation import Array, as_number, short_repr

__all__ = ["REPLAYED", "Metric", "check_weighing"]

REPLAYED = 300  # latest results that a policy is shown after times were changed
_ROUNDING = 1e-9  # of a standard deviation: means that differ by less are equal


class BelievedMetric:
    """What is known of a metric: all evaluations, its results, and the beliefs of its agent."""

    adapter: DomainAdapter
    sign: float
    seed: int
    policy: Policy
    agent: Agent
    ledger: Ledger
    _frame: Frame
    _rng: RNGStream

    @property
    def domain(self) -> Domain:
        return self.adapter.domain

    @property
    def contextual(self) -> Contextual | None:
        return self.adapter.contextual

    @property
    def learner(self) -> AdaptiveAgent | None:
        """The agent, if it learns its model."""
        return self.agent if isinstance(self.agent, AdaptiveAgent) else None

    @property
    def history(self) -> History:
        return self.ledger.history

    @property
    def open(self) -> tuple[Suggestion, ...]:
        """Evaluations without a result, oldest first."""
        return tuple(self.ledger.open.values())

    @property
    def asked(self) -> int:
        return self.ledger.asked

    @property
    def latest(self) -> float:
        return self.ledger.latest

    @property
    def pace(self) -> float:
        """The learned time between two results; 1 if the policy does not learn its model."""
        return 1.0 if self.learner is None else self.learner.model.pace

    def is_open(self, number: int) -> bool:
        return number in self.ledger.open

    def suggestion(self, number: int) -> Suggestion:
        """The open evaluation of a number."""
        return self.ledger.lookup(number)

    def rng(self, purpose: int) -> RNGFactory:
        """The random numbers of the next ask for a purpose."""
        return self._rng.at(self.ledger.asked, purpose)

    # ---- beliefs

    def belief(
        self,
        t: float | None = None,
        X: Any = None,
        *,
        context: ArrayLike | None = None,
        count_open: bool = True,
        part: str | None = None,
    ) -> Belief:
        """Mean and deviation of f_t over a Finite domain, at points X, or at choices X."""
        now, places = self.ledger.query_time(t), self.adapter.places(X, context)
        if part is None:
            moments = self._predict(now, places, count_open=count_open)
        else:
            moments = _as_gp(self.agent, self.policy).predict(
                now, places, count_open=count_open, part=part
            )
        mean, variance = self._frame.moments(*moments)
        points = self.domain.at(places) if places.ndim == 1 else places
        return Belief(now, points, mean, np.sqrt(variance))

    def best(self, t: float | None, context: ArrayLike | None) -> Best:
        """The choice of the highest mean; among equal ones that of the latest result.

        After one result all means are equal.
        """
        choices, make_rng = self.adapter.choices(context), self.rng(1)
        now = self.ledger.query_time(t)
        if choices is None:
            best = self.at(self.agent.best(now, make_rng), now)
        else:
            best = self.at(_as_selective(self.agent).best_among(choices, now, make_rng), now)
        if not len(self.history):
            return best
        x = self.history[-1].x[: self.adapter.choice_domain.dimension]
        latest = self.at(self.adapter.places(x[None], context), now)
        lead = self.sign * (best.mean - latest.mean)
        return best if lead > _ROUNDING * best.std else latest

    def at(self, place: Places, t: float) -> Best:
        """A place with its posterior mean and deviation."""
        place = self.adapter.canonical(place)
        mean, variance = self._frame.moments(*self._predict(t, place, count_open=False))
        x, index = self.domain.at(place)[0], self.adapter.index(place)
        level, std = float(mean[0]), float(np.sqrt(variance[0]))
        return Best(t, x, index, level, std, **self.adapter.labels(place))

    def _predict(self, t: float, places: Places, *, count_open: bool) -> tuple[Array, Array]:
        learner = self.learner
        predict = self.agent.predict if learner is None else learner.predict_for_people
        return predict(t, places, count_open=count_open)

    def sample(
        self, t: float | None, X: Any, *, context: ArrayLike | None, size: int, seed: int
    ) -> Array:
        """Joint posterior samples of f_t, (size, points)."""
        now, places = self.ledger.query_time(t), self.adapter.places(X, context)
        draws = self.joint.sample(now, places, np.random.default_rng(seed), size)
        return self._frame.values(draws)

    def shares(self, t: float | None = None) -> dict[str, float]:
        """The share of each part, and of the noise, in the variance of a result."""
        now = self.ledger.query_time(t)
        if self.learner is not None:
            return self.learner.model.shares()
        times = np.append(self.history.t, [suggestion.t for suggestion in self.open])
        return _as_gp(self.agent, self.policy).shares(now, float(times.min(initial=now)))

    @property
    def joint(self) -> Sampling:
        """The agent, if it has a joint posterior of f at several places."""
        if not isinstance(self.agent, Sampling):
            raise NoBeliefError("a policy with a joint posterior", type(self.policy).__name__)
        return self.agent

    def accuracy(self) -> Accuracy:
        return self.joint.accuracy()

    def learned(self) -> Learned:
        if not isinstance(self.agent, GPAgent):
            advice = "" if self.learner is None else "Call model()."
            raise NoBeliefError("a GP policy with learn=...", repr(self.policy)[:60], advice)
        return self.agent.learned()

    def model(self) -> Model:
        """The learned model of the values as they are told."""
        if self.learner is None:
            got = repr(self.policy)[:60]
            raise NoBeliefError("a policy that learns its model, such as auto", got)
        return self.learner.model.signed(self.sign)


def _as_selective(agent: Agent) -> Selective:
    assert isinstance(agent, Selective)  # checked when it was started
    return agent


def _as_gp(agent: Agent, policy: Policy) -> GPAgent:
    """The agent, if its belief has parts."""
    if not isinstance(agent, GPAgent):
        raise NoBeliefError("a GP policy, whose belief has parts", short_repr(policy))
    return agent


class Metric(BelievedMetric):
    """All evaluations of a system, the results of one metric, and the policy that learns from them.

    The agent of the policy sees values times ``sign``, so that high ones are good.
    """

    def __init__(self, adapter: DomainAdapter, policy: Policy, seed: int, sign: float) -> None:
        self.adapter, self.sign, self.seed, self.policy = adapter, sign, seed, policy
        self._rng, self._frame = RNGStream(seed), Frame(sign)
        self.agent = self._started(policy)
        self.ledger = Ledger(adapter.domain.dimension)

    def _started(self, policy: Policy) -> Agent:
        """A new agent of a policy."""
        if isinstance(policy, type) or not isinstance(policy, Policy):
            raise InputError("a policy, such as auto(domain)", repr(policy))
        agent = self._frame.policy(policy).start(self.domain)
        if self.contextual is not None and not isinstance(agent, Selective):
            raise InputError("a policy that takes a context", repr(policy), "Use a GP policy.")
        return agent

    # ---- deciding

    def next_time(self, t: float | None = None) -> float:
        """The time of the next suggestion: t if it can be one, by default one unit later."""
        return self.ledger.time(t)

    def propose(self, t: float | None, context: ArrayLike | None) -> Suggestion:
        """What this metric's policy would measure next, away from places that failed lately."""
        choices, at = self.adapter.choices(context), self.ledger.time(t)
        return self.suggestion_of(self._choice(choices, at), at)

    def _choice(self, choices: Choices | None, t: float) -> Places:
        make_rng = self.rng(0)
        if choices is None:
            place = self.agent.choose(t, make_rng)
        else:
            place = _as_selective(self.agent).choose_among(choices, t, make_rng)
        avoidance = self.avoidance() if self.ledger.recent_failures() else None
        if avoidance is None or not avoidance.avoids(self.adapter.canonical(place))[0]:
            return place
        among = all_choices(self.domain) if choices is None else choices
        return avoidance.elsewhere(self.agent, among, t, make_rng)

    def suggestion_of(self, place: Places, t: float) -> Suggestion:
        """The next suggestion, at a place."""
        return self.adapter.suggestion(self.ledger.asked, t, place)

    def placed(self, x: PlaceLike, t: float | None = None) -> Suggestion:
        """The next suggestion, at a place that was chosen elsewhere."""
        return self.adapter.suggestion_at(self.ledger.asked, self.ledger.time(t), x)

    def avoidance(self) -> Avoidance:
        """The places that suggestions avoid now, since evaluations there failed lately."""
        ledger = self.ledger
        return Avoidance(self.adapter.domain, ledger.recent_failures(), ledger.latest_points())

    # ---- applying

    def begin(self, suggestion: Suggestion) -> None:
        """Open an evaluation."""
        self.agent.open(suggestion.id, suggestion.t, suggestion.place)
        self.ledger.begin(suggestion)

    def tell(
        self, number: int, y: float, precision: Precision = USUAL, *, contradicts: bool = False
    ) -> None:
        """Take a value; one that ``contradicts`` a learned model makes an estimate due."""
        suggestion, value = self.ledger.lookup(number), self._frame.value(y)
        if self.learner is None:
            self.agent.tell(number, value, precision)
        else:
            self.learner.tell(number, value, precision, contradicts=contradicts)
        self.ledger.tell(suggestion, y, precision)

    def cancel(self, number: int, *, avoid: bool) -> None:
        """Drop an evaluation; the posterior is as if it had not been asked for."""
        suggestion = self.ledger.lookup(number)
        self.agent.cancel(number)
        self.ledger.cancel(suggestion)
        if avoid:
            self.avoid(suggestion)

    def avoid(self, failed: Suggestion) -> None:
        """Let suggestions avoid the place of a failed evaluation for a while."""
        before = failure_before(self.domain, self.ledger, failed.x)
        self.ledger.fail(failed, before)

    def tell_late(self, asked: Suggestion, y: float, precision: Precision) -> None:
        """Take a value of an evaluation that was cancelled."""
        late = asked.told(y, precision)
        if self.learner is not None:
            self.learner.insert(asked.id, late.t, late.place, self._frame.value(y), precision)
        self.ledger.add([late])
        self._renew()

    def set_back(self, latest: float) -> None:
        """Move all later times back to ``latest``."""
        self.ledger.set_back(as_number(latest, "latest"))
        if self.learner is not None:
            self.learner.set_back(latest)
        self._renew()

    def _renew(self) -> None:
        """Build the agent again, if it takes results only in the order of their times."""
        if self.learner is None:
            self.reconsider(self.policy, last=REPLAYED)

    def add(self, observations: Sequence[Observation]) -> None:
        """Take results from elsewhere, sorted by time; earlier ones are inserted by a replay."""
        if observations:
            agent = self._started(self.policy)
            if self.ledger.is_past(observations[0].t):
                seen = self.ledger.visible.of(self.history)
                _show(agent, [*seen, *observations, *self.open], self._frame)
            else:
                agent.restore(self.agent.state())
                _show(agent, observations, self._frame)
            self.agent = agent
        self.ledger.add(observations)

    def reconsider(
        self,
        policy: Policy,
        last: int | None = None,
        since: float = -np.inf,
        *,
        weighing: bool = False,
    ) -> None:
        """Continue with another policy, which sees the last results and those since a time.

        With ``weighing``, an agent without scores and covariances is refused.
        """
        visible, agent = Visible.last(self.history, last, since), self._started(policy)
        if weighing:
            check_weighing(agent)
        _show(agent, [*visible.of(self.history), *self.open], self._frame)
        self.policy, self.agent, self.ledger.visible = policy, agent, visible

    # ---- files

    def parts(self) -> tuple[JsonTree, Arrays]:
        """The state as JSON and arrays, without domain and policy."""
        header, arrays = self.ledger.parts()
        return header, arrays | under("agent/", self.agent.state())

    def restore(self, header: JsonTree, arrays: Arrays) -> None:
        """Take over what :meth:`parts` returned."""
        self.ledger.restore(header, arrays, self.adapter.suggestion_at)
        self.agent.restore(part(arrays, "agent/"))


def _show(agent: Agent, events: Iterable[Observation | Suggestion], frame: Frame) -> None:
    """Show an agent observations and open suggestions, in the order of their times."""
    for event in sorted(events, key=lambda event: event.t):
        if isinstance(event, Suggestion):
            agent.open(event.id, event.t, event.place)
        else:
            agent.open(TOLD_AT_ONCE, event.t, event.place)
            agent.tell(TOLD_AT_ONCE, frame.value(event.y), event.precision)


def check_weighing(agent: Agent) -> None:
    """Refuse an agent without scores and covariances."""
    if not isinstance(agent, Weighing):
        raise InputError("a GP policy, such as auto", type(agent).__name__, "", "live")
