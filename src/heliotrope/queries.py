"""The queries of an optimizer, which change nothing."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from heliotrope.directions import Direction
from heliotrope.domains import Domain, Finite, PlaceLike
from heliotrope.errors import InputError, NoBeliefError
from heliotrope.estimation import Model
from heliotrope.live.beliefs import Gain
from heliotrope.live.choosing import Avoidance
from heliotrope.live.rules import Mask
from heliotrope.notebook import facts_table
from heliotrope.policies import Belief, Best, Certificate
from heliotrope.policies.certificate import certify
from heliotrope.policies.protocol import Agent
from heliotrope.posterior import Accuracy, Learned
from heliotrope.spaces import Options, SearchSpace
from heliotrope.spaces.space import NamedAdapter
from heliotrope.surroundings import Exclusive, exclusive
from heliotrope.tracker import Metric, Outlook, Setup, Tracker
from heliotrope.tracker.archives import OptimizerConfig
from heliotrope.validation import Array, as_number, as_whole, counted


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """One of the best trade-offs now: the believed mean of each objective at a setting."""

    x: Array
    means: dict[str, float]
    index: int | None = None
    params: dict[str, Any] = field(default_factory=dict)
    option: str = ""


class LiveQueries:
    """The queries that follow from live rules."""

    _exclusive: Exclusive
    _tracker: Tracker
    _lead: Metric  # the tracker's

    def avoidance(self) -> Avoidance:
        """The places that suggestions avoid now, since evaluations there failed lately."""
        return self._lead.avoidance()

    @exclusive
    def safe(
        self,
        t: float | None = None,
        X: ArrayLike | Sequence[PlaceLike] | None = None,
        *,
        context: ArrayLike | None = None,
    ) -> Mask:
        """Which points are known to keep all limits; points as in :meth:`belief`."""
        outlook = self._outlook(t, context)
        return outlook.safe(outlook.setup.adapter.places(X, context))

    @exclusive
    def gain(self, t: float | None = None, *, context: ArrayLike | None = None) -> Gain:
        """The gain of the best safe setting over the baseline, by default at the latest time."""
        outlook = self._outlook(t, context)
        self._check_baseline(outlook.setup)
        gain = outlook.gain(outlook.best()[0])
        if gain is None:
            expected = "a single objective, with results of it and of all limited metrics"
            raise NoBeliefError(expected, "several objectives, or no results yet")
        return gain.as_told(outlook.live.sign)

    @exclusive
    def total_gain(self) -> Gain:
        """The sum of the gains of all evaluations over the baseline."""
        setup = self._tracker.rules
        self._check_baseline(setup)
        return self._tracker.progress.total.gain.as_told(setup.live.sign)

    @exclusive
    def front(
        self,
        t: float | None = None,
        X: ArrayLike | Sequence[PlaceLike] | None = None,
        *,
        context: ArrayLike | None = None,
    ) -> list[Tradeoff]:
        """The best trade-offs between the objectives among safe settings.

        By default all settings of a list are compared; of a box, some everywhere and some near
        measured ones.
        """
        outlook, adapter = self._outlook(t, context), self._lead.adapter
        among = None if X is None else adapter.places(X, context)
        return [self._tradeoff(outlook, place[None]) for place in outlook.front(among)]

    def _tradeoff(self, outlook: Outlook, place: Array) -> Tradeoff:
        adapter = self._lead.adapter
        means = {
            name: float(outlook.metric(name).predict(outlook.t, place)[0][0])
            for name in outlook.live.objectives
        }
        x, labels = adapter.domain.at(place)[0], adapter.labels(place)
        return Tradeoff(x, means, adapter.index(place), **labels)

    @exclusive
    def hold(
        self, cost: float, t: float | None = None, *, context: ArrayLike | None = None
    ) -> float | None:
        """Until when a measurement is not worth its cost; None if it is worth it now.

        The cost is in the unit of the objective.
        """
        paid = as_number(cost, "cost")
        if paid < 0.0:
            raise InputError("a cost of at least 0", f"{paid:g}", "", "cost")
        point = self._lead.adapter.context(context)
        return self._tracker.hold(self._lead.next_time(t), point, paid)

    def _outlook(self, t: float | None, context: ArrayLike | None) -> Outlook:
        now, point = self._lead.ledger.query_time(t), self._lead.adapter.context(context)
        return self._tracker.outlook(now, point)

    @staticmethod
    def _check_baseline(setup: Setup) -> None:
        if setup.baseline is None:
            raise InputError("a baseline", "none", "Create the optimizer with one.", "baseline")


class Queries(LiveQueries):
    """The part of an optimizer that only reads its state."""

    _config: OptimizerConfig

    @property
    def space(self) -> SearchSpace | Options | None:
        """The named space that it was created with, if any."""
        adapter = self._lead.adapter
        return adapter.space if isinstance(adapter, NamedAdapter) else None

    @property
    def direction(self) -> Direction:
        """Whether high or low values are good."""
        return self._config.direction

    @property
    def agent(self) -> Agent:
        """The running policy, which has seen the observations; it must not be changed."""
        return self._lead.agent

    # ---- beliefs

    @exclusive
    def belief(
        self,
        t: float | None = None,
        X: ArrayLike | Sequence[PlaceLike] | None = None,
        *,
        context: ArrayLike | None = None,
        count_open: bool = True,
        part: str | None = None,
        metric: str | None = None,
    ) -> Belief:
        """Mean and deviation of f_t, over a Finite domain or at points X; changes nothing.

        In a named space X is a list of params or options. By default t is the latest time; a later
        time gives a forecast. With a ``context``, X are choices. The deviation treats open
        suggestions as measured, unless ``count_open`` is False. A ``part`` is the name of a term of
        the prior, such as "season", or "choice" for the terms that differ between places. Of all
        parts, only "choice" includes the prior mean. With several metrics it is the belief about
        one ``metric``, by default about the leading one.
        """
        believed = self._tracker.metric(metric)
        return believed.belief(t, X, context=context, count_open=count_open, part=part)

    @exclusive
    def shares(self, t: float | None = None) -> dict[str, float]:
        """Return the share of each part, and of the noise, in the variance of a result.

        The variances are averages over the domain at time t, by default the latest time. Of a
        policy that learns its model, they are those of the present model. The shares sum to 1.
        """
        return self._lead.shares(t)

    @exclusive
    def best(self, t: float | None = None, *, context: ArrayLike | None = None) -> Best:
        """Return the point of best posterior mean at time t, by default the latest time.

        With limits, it is the best of the points that are known to keep them; if there are none,
        the baseline or another point that was said to keep them. Among equal means the point of the
        latest result comes first.
        """
        if self._tracker.setup is None:
            return self._lead.best(t, context)
        outlook = self._outlook(t, context)
        place, _ = outlook.best()
        return self._lead.at(place, outlook.t)

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
        seed, count = as_whole(seed, "seed", least=0), as_whole(size, "size", least=1)
        return self._lead.sample(t, X, context=context, size=count, seed=seed)

    @exclusive
    def certificate(self) -> Certificate:
        """Bound the regret so far along the actual path, with what the bound assumes.

        Only a policy whose beta is a theorem's has one: TV-GP-UCB or GP-UCB with
        :class:`~heliotrope.acquisition.FiniteBeta` or :class:`~heliotrope.acquisition.TVBeta`. All
        results are replayed, so it costs as much as asking for all of them again.
        """
        if self._lead.contextual is not None:
            raise InputError("a problem without contexts", "one with contexts")
        events = [*self._lead.history, *self._lead.open]
        return certify(self._config.policy, self._lead.domain, events)

    @property
    @exclusive
    def log_likelihood(self) -> float:
        """Log marginal likelihood of the observations that the memory uses."""
        return self._lead.joint.log_likelihood

    @exclusive
    def accuracy(self) -> Accuracy:
        """Estimate how far the belief is from the exact posterior, as shares of its deviation.

        An engine of constant cost drops what has little effect; see
        :class:`~heliotrope.posterior.Accuracy`. Only a policy with a GP has an accuracy.
        """
        return self._lead.accuracy()

    @exclusive
    def learned(self) -> Learned:
        """Return what a policy with ``learn=...`` has learned about the drift."""
        return self._lead.learned()

    @exclusive
    def model(self) -> Model:
        """Return the current model of a policy that learns all its parameters, such as auto.

        Its length scale is that of the unit cube; ``epsilon`` is the drift per unit of time.
        """
        return self._lead.model()

    # ---- in words

    def __repr__(self) -> str:
        facts = self._facts()
        del facts["results"]
        counts = f"{counted(len(self._lead.history), 'result')}, {facts.pop('open')} open"
        return f"Optimizer({', '.join(facts.values())}, {counts})"

    def _repr_html_(self) -> str:
        facts = self._facts()
        if len(self._lead.history):
            with suppress(NoBeliefError):
                best = self.best()
                facts["best now"] = str(best.params or best.option or best.x)
                facts["its value"] = f"{best.mean:.4g} ± {best.std:.2g}"
        return facts_table("Optimizer", facts)

    def _facts(self) -> dict[str, str]:
        domain = self.space or self._lead.adapter.given
        return {
            "domain": f"{type(domain).__name__} of {_size(self._lead.domain)}",
            "policy": type(self._config.policy).__name__,
            "direction": self.direction,
            "results": f"{len(self._lead.history):,}",
            "open": f"{len(self._lead.open):,}",
        }


def _size(domain: Domain) -> str:
    if isinstance(domain, Finite):
        return counted(len(domain), "point")
    return counted(domain.dimension, "coordinate")
