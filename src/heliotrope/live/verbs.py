"""The part of an optimizer that is about a live system: what runs, what is safe, what is gained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import DomainAdapter, PlaceLike
from heliotrope.errors import InputError, located
from heliotrope.history import Suggestion
from heliotrope.ledger import Ledger
from heliotrope.live.avoiding import Avoidance
from heliotrope.live.deciding import Mask
from heliotrope.live.gains import Gain
from heliotrope.live.run import LiveRun, Told
from heliotrope.policies.run import PolicyRun
from heliotrope.precision import Noise, Precision, value_and_precision
from heliotrope.rng import RNGFactory, RNGStream
from heliotrope.threads import Exclusive, exclusive
from heliotrope.validation import Array, as_number, short_repr

_LARGEST = 1e45  # value that a policy accepts


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """One of the best trade-offs now: the believed mean of each objective at a setting."""

    x: Array
    means: dict[str, float]
    index: int | None = None
    params: dict[str, Any] | None = None
    option: str | None = None


class LiveVerbs:
    """Queries and events of an optimizer with ``live=Live(...)``."""

    _exclusive: Exclusive
    _adapter: DomainAdapter
    _ledger: Ledger
    _rng: RNGStream
    _run: PolicyRun
    _live: LiveRun | None

    @exclusive
    def applied(self, x: PlaceLike) -> None:
        """Say that another setting than the latest measured one runs now."""
        self._rules().apply(self._adapter.place(x))

    @exclusive
    def safe(
        self, t: float | None = None, X: ArrayLike | Sequence[PlaceLike] | None = None
    ) -> Mask:
        """Which settings are known to keep all limits at time t; by default all of the domain."""
        places = self._adapter.places(X, None)
        return self._rules().safe(self._run.agent, self._ledger.query_time(t), places)

    @exclusive
    def gain(self, t: float | None = None) -> Gain:
        """The gain of the best safe setting over the baseline, by default at the latest time."""
        now, rules = self._ledger.query_time(t), self._rules()
        found = rules.gain(self._run.agent, now, self._query_rng())
        return found.as_told(rules.live.objectives[rules.live.lead])

    @exclusive
    def total_gain(self) -> Gain:
        """The sum of the gains of all evaluations over the baseline."""
        rules = self._rules()
        if rules.standing.baseline is None:
            raise InputError("a baseline", "none", "Create the optimizer with one.", "baseline")
        return rules.total.gain.as_told(rules.live.objectives[rules.live.lead])

    @exclusive
    def front(
        self, t: float | None = None, X: ArrayLike | Sequence[PlaceLike] | None = None
    ) -> list[Tradeoff]:
        """The best trade-offs between the objectives among safe settings."""
        now, rules = self._ledger.query_time(t), self._rules()
        places, means = rules.front(self._run.agent, now, self._adapter.places(X, None))
        names = list(rules.live.objectives)
        return [
            Tradeoff(
                self._adapter.domain.at(place)[0],
                dict(zip(names, row.tolist(), strict=True)),
                self._adapter.index(place),
                **self._adapter.labels(place),
            )
            for place, row in zip(np.split(places, len(places)), means, strict=True)
        ]

    @exclusive
    def hold(self, cost: float, t: float | None = None) -> float | None:
        """Until when a measurement is not worth its cost; None if it is worth it now.

        The cost is in the unit of the objective, and a step is one unit of time.
        """
        rules, now, paid = self._rules(), self._ledger.time(t), as_number(cost, "cost")
        if paid < 0.0:
            raise InputError("a cost of at least 0", f"{paid:g}", "", "cost")
        if not len(self._ledger.history) or self._ledger.open:
            return None
        last, agent = float(self._ledger.history.t.max()), self._run.agent
        return rules.hold(agent, now, last, paid, self._query_rng())

    def _rules(self) -> LiveRun:
        if self._live is None:
            raise InputError("an optimizer with live=Live(...)", "one without", "", "live")
        return self._live

    def _query_rng(self) -> RNGFactory:
        return self._rng.at(self._ledger.asked, purpose=1)

    def _chosen(self, t: float, avoidance: Avoidance, make_rng: RNGFactory) -> tuple[Any, str]:
        open_now = list(self._ledger.open.values())
        return self._rules().choose(self._run.agent, t, open_now, avoidance, make_rng)

    def _told_by_name(self, values: Mapping[str, Any], noise: Noise) -> Told:
        """Values and precisions by metric, checked."""
        metrics = self._rules().live.metrics
        if not values:
            raise InputError("a value of some metric", "none", "Cancel what failed.", "y")
        told = {}
        for name, value in values.items():
            if name not in metrics:
                raise InputError(f"metrics among {', '.join(metrics)}", short_repr(name), "", "y")
            own: Noise = {key: _of_metric(given, name) for key, given in noise.items()}  # type: ignore[assignment]
            with located(name):
                told[name] = _checked(*value_and_precision(value, **own))
        return told

    def _observe_named(self, suggestion: Suggestion, told: Told) -> None:
        """Take results of some metrics; those without one are as if not asked for."""
        rules, lead, now = self._rules(), self._rules().live.lead, self._ledger.latest
        contradicted = rules.note_trust(self._run.agent, suggestion, told, now)
        if lead in told:
            self._run.tell(suggestion.id, *told[lead])
            self._ledger.tell(suggestion, *told[lead])
        else:
            self._run.agent.cancel(suggestion.id)
            self._ledger.cancel(suggestion)
        rules.tell(suggestion, told)
        for agent in contradicted:
            agent.distrust()
        rules.note_gain(self._run.agent, suggestion, now)


def _of_metric(given: Any, name: str) -> Any:
    """The noise of one metric; a number is that of all."""
    return given.get(name) if isinstance(given, Mapping) else given


def _checked(y: float, precision: Precision) -> tuple[float, Precision]:
    if abs(y) > _LARGEST:
        raise InputError(f"values below {_LARGEST:g} in size", f"{y:g}", "Use a larger unit.")
    return y, precision
