"""The queries of an optimizer, which change nothing."""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.directions import Direction
from heliotrope.domains import Domain, DomainAdapter, Finite, PlaceLike, Places
from heliotrope.errors import InputError, NoBeliefError
from heliotrope.estimation import Model
from heliotrope.ledger import Ledger
from heliotrope.live.avoiding import Avoidance
from heliotrope.live.run import LiveRun
from heliotrope.notebook import facts_table
from heliotrope.policies import Belief, Best, Certificate
from heliotrope.policies.certificate import certify
from heliotrope.policies.protocol import Agent
from heliotrope.policies.run import PolicyRun
from heliotrope.posterior import Accuracy, Learned
from heliotrope.rng import RNGStream
from heliotrope.spaces import Options, SearchSpace
from heliotrope.spaces.adapter import NamedAdapter
from heliotrope.threads import Exclusive, exclusive
from heliotrope.validation import Array, as_whole, counted


class Queries:
    """The part of an optimizer that only reads its state."""

    _exclusive: Exclusive
    _adapter: DomainAdapter
    _ledger: Ledger
    _rng: RNGStream
    _run: PolicyRun
    _direction: Direction
    _live: LiveRun | None

    @property
    def space(self) -> SearchSpace | Options | None:
        """The named space that it was created with, if any."""
        return self._adapter.space if isinstance(self._adapter, NamedAdapter) else None

    @property
    def direction(self) -> Direction:
        """Whether high or low values are good."""
        return self._direction

    @property
    def agent(self) -> Agent:
        """The running policy, which has seen the observations; it must not be changed."""
        return self._run.agent

    def avoidance(self) -> Avoidance:
        """The places that suggestions avoid now, since evaluations there failed lately."""
        failures = self._ledger.recent_failures()
        told = self._ledger.latest_points() if failures else np.empty((0, 0))
        return Avoidance(self._adapter.domain, failures, told)

    @exclusive
    def belief(
        self,
        t: float | None = None,
        X: ArrayLike | Sequence[PlaceLike] | None = None,
        *,
        context: ArrayLike | None = None,
        count_open: bool = True,
        part: str | None = None,
    ) -> Belief:
        """Mean and deviation of f_t, over a Finite domain or at points X; changes nothing.

        In a named space X is a list of params or options. By default t is the latest time; a later
        time gives a forecast. With a ``context``, X are choices. The deviation treats open
        suggestions as measured, unless ``count_open`` is False. A ``part`` is the name of a term of
        the prior, such as "season", or "choice" for the terms that differ between places. Of all
        parts, only "choice" includes the prior mean.
        """
        t = self._ledger.query_time(t)
        return self._run.belief(t, self._adapter.places(X, context), count_open, part)

    @exclusive
    def shares(self, t: float | None = None) -> dict[str, float]:
        """Return the share of each part, and of the noise, in the variance of a result.

        The variances are averages over the domain at time t, by default the latest time. Of a
        policy that learns its model, they are those of the present model. The shares sum to 1.
        """
        now, ledger = self._ledger.query_time(t), self._ledger
        opened = [suggestion.t for suggestion in ledger.open.values()]
        return self._run.shares(now, float(np.append(ledger.history.t, opened).min(initial=now)))

    @exclusive
    def best(self, t: float | None = None, *, context: ArrayLike | None = None) -> Best:
        """Return the point of best posterior mean at time t, by default the latest time.

        With limits, it is the best of the points that are known to keep them, if there are any.
        Among equal means the point of the latest result comes first.
        """
        choices, make_rng = (
            self._adapter.choices(context),
            self._rng.at(self._ledger.asked, purpose=1),
        )
        now = self._ledger.query_time(t)
        if self._live is None:
            return self._run.best(choices, now, make_rng, self._latest_choice(context))
        return self._run.at(self._live.best(self._run.agent, now, make_rng), now)

    def _latest_choice(self, context: ArrayLike | None) -> Places | None:
        """The choice of the latest result, in a context if it is given; None without results."""
        latest, problem = self._ledger.history[-1:], self._adapter.contextual
        if not latest:
            return None
        x = latest[0].x if problem is None else latest[0].x[: problem.choices.dimension]
        return self._adapter.places(x[None], context)

    @exclusive
    def sample(
        self,
        t: float | None = None,
        X: ArrayLike | Sequence[PlaceLike] | None = None,
        *,
        context: ArrayLike | None = None,
        size: int = 1,
        seed: int = 0,
    ) -> Array:
        """Sample f_t jointly, (size, points), from the posterior; points as in :meth:`belief`."""
        t, rng = self._ledger.query_time(t), np.random.default_rng(as_whole(seed, "seed", least=0))
        places, count = self._adapter.places(X, context), as_whole(size, "size", least=1)
        return self._run.sample(t, places, rng, count)

    @exclusive
    def certificate(self) -> Certificate:
        """Bound the regret so far along the actual path, with what the bound assumes.

        Only a policy whose beta is a theorem's has one: TV-GP-UCB or GP-UCB with
        :class:`~heliotrope.acquisition.FiniteBeta` or :class:`~heliotrope.acquisition.TVBeta`. All
        results are replayed, so it costs as much as asking for all of them again.
        """
        if self._adapter.contextual is not None:
            raise InputError("a problem without contexts", "one with contexts")
        events = [*self._ledger.history, *self._ledger.open.values()]
        return certify(self._run.policy, self._adapter.domain, events)

    @property
    @exclusive
    def log_likelihood(self) -> float:
        """Log marginal likelihood of the observations that the memory uses."""
        return self._run.joint.log_likelihood

    @exclusive
    def accuracy(self) -> Accuracy:
        """Estimate how far the belief is from the exact posterior, as shares of its deviation.

        A constant cost has a price: see :class:`~heliotrope.posterior.Accuracy`. Only a policy
        with a GP has one.
        """
        return self._run.joint.accuracy()

    @exclusive
    def learned(self) -> Learned:
        """Return what a policy with ``learn=...`` has learned about the drift."""
        return self._run.learned()

    @exclusive
    def model(self) -> Model:
        """Return the current model of a policy that learns all its parameters, such as auto.

        Its length scale is that of the unit cube; ``epsilon`` is the drift per unit of time.
        """
        return self._run.model()

    def __repr__(self) -> str:
        facts = self._facts()
        del facts["results"]
        counts = f"{counted(len(self._ledger.history), 'result')}, {facts.pop('open')} open"
        return f"Optimizer({', '.join(facts.values())}, {counts})"

    def _repr_html_(self) -> str:
        facts = self._facts()
        if len(self._ledger.history):
            with suppress(NoBeliefError):
                best = self.best()
                facts["best now"] = str(best.params or best.option or best.x)
                facts["its value"] = f"{best.mean:.4g} ± {best.std:.2g}"
        return facts_table("Optimizer", facts)

    def _facts(self) -> dict[str, str]:
        domain = self.space or self._adapter.given
        return {
            "domain": f"{type(domain).__name__} of {_size(self._adapter.domain)}",
            "policy": type(self._run.policy).__name__,
            "direction": self.direction,
            "results": f"{len(self._ledger.history):,}",
            "open": f"{len(self._ledger.open):,}",
        }


def _size(domain: Domain) -> str:
    if isinstance(domain, Finite):
        return counted(len(domain), "point")
    return counted(domain.dimension, "coordinate")
