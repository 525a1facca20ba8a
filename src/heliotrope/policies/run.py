"""A running policy: one agent over an optimizer's domain, and the queries that it answers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from heliotrope.domains import Choices, DomainAdapter, Places
from heliotrope.errors import InputError, NoBeliefError
from heliotrope.estimation import Model
from heliotrope.ledger import Observation, Suggestion
from heliotrope.policies.adaptive import AdaptiveAgent
from heliotrope.policies.frame import Frame
from heliotrope.policies.gp import GPAgent
from heliotrope.policies.protocol import TOLD_AT_ONCE, Belief, Best, Policy, Sampling, Selective
from heliotrope.posterior import Learned
from heliotrope.precision import Precision
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array, short_repr

_ROUNDING = 1e-9  # of a standard deviation: means that differ by less are equal


class PolicyRun:
    """A policy and its agent, which has seen some observations and open suggestions.

    The agent maximizes, in a frame whose values have a sign.
    """

    def __init__(self, policy: Policy, adapter: DomainAdapter, sign: float = 1.0) -> None:
        if isinstance(policy, type) or not isinstance(policy, Policy):
            raise InputError("a policy, such as auto(domain)", repr(policy))
        self.policy, self._adapter, self._frame = policy, adapter, Frame(sign)
        self.agent = self._frame.policy(policy).start(adapter.domain)
        if adapter.contextual is not None and not isinstance(self.agent, Selective):
            raise InputError("a policy that takes a context", repr(policy), "Use a GP policy.")

    def open(self, suggestion: Suggestion) -> None:
        self.agent.open(suggestion.id, suggestion.t, suggestion.place)

    def tell(self, id: int, y: float, precision: Precision, *, contradicts: bool = False) -> None:
        """Show the agent a value, and its learner whether the value contradicts its model."""
        if self.learner is None:
            self.agent.tell(id, self._frame.value(y), precision)
        else:
            self.learner.tell(id, self._frame.value(y), precision, contradicts=contradicts)

    def insert(self, late: Observation, id: int) -> None:
        """Show the agent the late value of an evaluation that was cancelled, if it can take it."""
        if self.learner is not None:
            y = self._frame.value(late.y)
            self.learner.insert(id, late.t, late.place, y, late.precision)

    def show(self, events: Iterable[Observation | Suggestion]) -> PolicyRun:
        """Show the agent observations and open suggestions, sorted by time; return the run."""
        for event in sorted(events, key=lambda event: event.t):
            if isinstance(event, Suggestion):
                self.open(event)
            else:
                self.agent.open(TOLD_AT_ONCE, event.t, event.place)
                self.tell(TOLD_AT_ONCE, event.y, event.precision)
        return self

    def followed_by(self, observations: Iterable[Observation]) -> PolicyRun:
        """Return a copy of this run that has also seen later observations."""
        run = PolicyRun(self.policy, self._adapter, self._frame.sign)
        run.agent.restore(self.agent.state())
        return run.show(observations)

    def choose(self, choices: Choices | None, t: float, make_rng: RNGFactory) -> Places:
        """Return the place to evaluate at time t, among choices if they are given."""
        if choices is None:
            return self.agent.choose(t, make_rng)
        return self._selective().choose_among(choices, t, make_rng)

    def best(
        self, choices: Choices | None, t: float, make_rng: RNGFactory, measured: Places | None
    ) -> Best:
        """Return the point of best posterior mean, among choices if they are given.

        If a ``measured`` place is no worse, it is that one: after one result all means are equal.
        """
        if choices is None:
            place = self.agent.best(t, make_rng)
        else:
            place = self._selective().best_among(choices, t, make_rng)
        found = self.at(place, t)
        if measured is None:
            return found
        known = self.at(measured, t)
        lead = self._frame.sign * (found.mean - known.mean)
        return found if lead > _ROUNDING * found.std else known

    def at(self, place: Places, t: float) -> Best:
        """A place with its posterior mean and deviation."""
        place = self._adapter.canonical(place)
        mean, variance = self._frame.moments(*self._predict(t, place, count_open=False))
        x, index = self._adapter.domain.at(place)[0], self._adapter.index(place)
        level, std = float(mean[0]), float(np.sqrt(variance[0]))
        return Best(t, x, index, level, std, **self._adapter.labels(place))

    def belief(self, t: float, places: Places, count_open: bool, part: str | None) -> Belief:
        """Posterior mean and standard deviation of f_t, or of a part of it, at places."""
        if part is None:
            moments = self._predict(t, places, count_open=count_open)
        else:
            moments = self._gp_agent().predict(t, places, count_open=count_open, part=part)
        mean, variance = self._frame.moments(*moments)
        points = self._adapter.domain.at(places) if places.ndim == 1 else places
        return Belief(t, points, mean, np.sqrt(variance))

    def _predict(self, t: float, places: Places, *, count_open: bool) -> tuple[Array, Array]:
        learner = self.learner
        predict = self.agent.predict if learner is None else learner.predict_for_people
        return predict(t, places, count_open=count_open)

    def sample(self, t: float, places: Places, rng: np.random.Generator, size: int) -> Array:
        """Joint posterior draws of f_t, (size, places)."""
        return self._frame.values(self.joint.sample(t, places, rng, size))

    def shares(self, t: float, start: float) -> dict[str, float]:
        if isinstance(self.agent, AdaptiveAgent):
            return self.agent.model.shares()
        return self._gp_agent().shares(t, start)

    @property
    def joint(self) -> Sampling:
        """The agent, if it has a joint posterior of f at several places."""
        if not isinstance(self.agent, Sampling):
            raise NoBeliefError("a policy with a joint posterior", type(self.policy).__name__)
        return self.agent

    def learned(self) -> Learned:
        if not isinstance(self.agent, GPAgent):
            advice = "" if self.learner is None else "Call model()."
            raise NoBeliefError("a GP policy with learn=...", repr(self.policy)[:60], advice)
        return self.agent.learned()

    def model(self) -> Model:
        if self.learner is None:
            got = repr(self.policy)[:60]
            raise NoBeliefError("a policy that learns its model, such as auto", got)
        return self.learner.model.signed(self._frame.sign)

    @property
    def learner(self) -> AdaptiveAgent | None:
        """The agent, if it learns its model."""
        return self.agent if isinstance(self.agent, AdaptiveAgent) else None

    def _gp_agent(self) -> GPAgent:
        if not isinstance(self.agent, GPAgent):
            raise NoBeliefError("a GP policy, whose belief has parts", short_repr(self.policy))
        return self.agent

    def _selective(self) -> Selective:
        assert isinstance(self.agent, Selective)
        return self.agent
