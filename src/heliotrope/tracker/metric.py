"""One metric of a tracker: its evaluations and results, and the agent that has seen them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import Choices, DomainAdapter, PlaceLike, Places, all_choices
from heliotrope.errors import InputError
from heliotrope.ledger import Ledger, Visible
from heliotrope.live.choosing import Avoidance, failure_before
from heliotrope.policies.protocol import Weighing
from heliotrope.policies.run import PolicyRun
from heliotrope.precision import USUAL, Precision
from heliotrope.serialization.codec import Arrays, JsonTree, part, under
from heliotrope.surroundings import RNGFactory, RNGStream
from heliotrope.validation import Array, as_number

if TYPE_CHECKING:
    from heliotrope.domains import Contextual, Domain
    from heliotrope.estimation import Model
    from heliotrope.ledger import History, Observation, Suggestion
    from heliotrope.policies import Belief, Best, Policy
    from heliotrope.policies.adaptive import AdaptiveAgent
    from heliotrope.policies.protocol import Agent
    from heliotrope.posterior import Accuracy, Learned

__all__ = ["REPLAYED", "Metric", "check_weighing"]

REPLAYED = 300  # latest results that a policy is shown after times were changed


def check_weighing(agent: Agent) -> None:
    """Refuse an agent without scores and covariances."""
    if not isinstance(agent, Weighing):
        raise InputError("a GP policy, such as auto", type(agent).__name__, "", "live")


class Metric:
    """All evaluations of a system, the results of one metric, and the policy that learns from them.

    The agent of the policy sees values times ``sign``, so that high ones are good.
    """

    def __init__(self, adapter: DomainAdapter, policy: Policy, seed: int, sign: float) -> None:
        self.adapter, self.sign, self.seed = adapter, sign, seed
        self._rng = RNGStream(seed)
        self.run = PolicyRun(policy, adapter, sign)
        self.ledger = Ledger(adapter.domain.dimension)

    # ---- parts

    @property
    def domain(self) -> Domain:
        return self.adapter.domain

    @property
    def contextual(self) -> Contextual | None:
        return self.adapter.contextual

    @property
    def policy(self) -> Policy:
        return self.run.policy

    @property
    def agent(self) -> Agent:
        return self.run.agent

    @property
    def learner(self) -> AdaptiveAgent | None:
        """The agent of a policy that learns its model."""
        return self.run.learner

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
        return self._rng.at(self.asked, purpose)

    # ---- deciding

    def next_time(self, t: float | None = None) -> float:
        """The time of the next suggestion: t if it can be one, by default one unit later."""
        return self.ledger.time(t)

    def propose(self, t: float | None, context: ArrayLike | None) -> Suggestion:
        """What this metric's policy would measure next, away from places that failed lately."""
        choices, at = self.adapter.choices(context), self.next_time(t)
        return self.suggestion_of(self._choice(choices, at), at)

    def _choice(self, choices: Choices | None, t: float) -> Places:
        make_rng, avoidance = self.rng(0), self.avoidance()
        place = self.run.choose(choices, t, make_rng)
        if not avoidance.avoids(self.adapter.canonical(place))[0]:
            return place
        among = all_choices(self.domain) if choices is None else choices
        return avoidance.elsewhere(self.agent, among, t, make_rng)

    def suggestion_of(self, place: Places, t: float) -> Suggestion:
        """The next suggestion, at a place."""
        return self.adapter.suggestion(self.asked, t, place)

    def placed(self, x: PlaceLike, t: float | None = None) -> Suggestion:
        """The next suggestion, at a place that was chosen elsewhere."""
        return self.adapter.suggestion_at(self.asked, self.next_time(t), x)

    def avoidance(self) -> Avoidance:
        """The places that suggestions avoid now, since evaluations there failed lately."""
        failures = self.ledger.recent_failures()
        told = self.ledger.latest_points() if failures else np.empty((0, 0))
        return Avoidance(self.domain, failures, told)

    # ---- applying

    def begin(self, suggestion: Suggestion) -> None:
        """Open an evaluation."""
        self.run.open(suggestion)
        self.ledger.begin(suggestion)

    def tell(
        self, number: int, y: float, precision: Precision = USUAL, *, contradicts: bool = False
    ) -> None:
        """Take a value; one that ``contradicts`` a learned model makes an estimate due."""
        suggestion = self.ledger.lookup(number)
        self.run.tell(number, y, precision, contradicts=contradicts)
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
        self.run.insert(late, asked.id)
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
        if observations and self.ledger.is_past(observations[0].t):
            run = PolicyRun(self.policy, self.adapter, self.sign)
            shown = self.ledger.visible.of(self.history)
            self.run = run.show([*shown, *observations, *self.open])
        elif observations:
            self.run = self.run.followed_by(observations)
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
        visible = Visible.last(self.history, last, since)
        run = PolicyRun(policy, self.adapter, self.sign)
        if weighing:
            check_weighing(run.agent)
        run.show([*visible.of(self.history), *self.open])
        self.run, self.ledger.visible = run, visible

    # ---- queries

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
        t = self.ledger.query_time(t)
        return self.run.belief(t, self.adapter.places(X, context), count_open, part)

    def best(self, t: float | None, context: ArrayLike | None) -> Best:
        """The choice of the highest mean; among equal ones that of the latest result."""
        choices, make_rng = self.adapter.choices(context), self.rng(1)
        now = self.ledger.query_time(t)
        return self.run.best(choices, now, make_rng, self._latest_choice(context))

    def _latest_choice(self, context: ArrayLike | None) -> Places | None:
        """The choice of the latest result, in a context if it is given; None without results."""
        latest, problem = self.history[-1:], self.contextual
        if not latest:
            return None
        x = latest[0].x if problem is None else latest[0].x[: problem.choices.dimension]
        return self.adapter.places(x[None], context)

    def sample(
        self, t: float | None, X: Any, *, context: ArrayLike | None, size: int, seed: int
    ) -> Array:
        """Joint posterior samples of f_t, (size, points)."""
        t, rng = self.ledger.query_time(t), np.random.default_rng(seed)
        return self.run.sample(t, self.adapter.places(X, context), rng, size)

    def shares(self, t: float | None = None) -> dict[str, float]:
        """The share of each part, and of the noise, in the variance of a result."""
        now = self.ledger.query_time(t)
        opened = [suggestion.t for suggestion in self.open]
        return self.run.shares(now, float(np.append(self.history.t, opened).min(initial=now)))

    def accuracy(self) -> Accuracy:
        return self.run.joint.accuracy()

    def learned(self) -> Learned:
        return self.run.learned()

    def model(self) -> Model:
        return self.run.model()

    # ---- files

    def parts(self) -> tuple[JsonTree, Arrays]:
        """The state as JSON and arrays, without domain and policy."""
        header, arrays = self.ledger.parts()
        return header, arrays | under("agent/", self.agent.state())

    def restore(self, header: JsonTree, arrays: Arrays) -> None:
        """Take over what :meth:`parts` returned."""
        self.ledger.restore(header, arrays, self.adapter.suggestion_at)
        self.agent.restore(part(arrays, "agent/"))
