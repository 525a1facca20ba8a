"""What a study knows of each metric: its results, the model learned from them, and the belief."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from heliotrope.domains import Finite
from heliotrope.errors import FormatError, InputError
from heliotrope.estimation import Model
from heliotrope.live.rules import Limit
from heliotrope.live.watching import Watching
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Adaptive, Policy, Uniform
from heliotrope.policies.learner import Due, Update, due_from_json
from heliotrope.study.commands import THE_VALUE, Measurement
from heliotrope.validation import Json, as_whole, short_repr

if TYPE_CHECKING:
    from heliotrope.serialization.codec import Arrays
    from heliotrope.study.config import StudyConfig

_NUMBERS, _LABELS = "history/numbers", "history/labels"  # times, values and points; indices
REPLAYED = 300  # latest results that a new policy is given


def named_results(
    config: StudyConfig, results: Mapping[str, Measurement]
) -> Mapping[str, Measurement]:
    """Results by the names of the study's metrics; a value without a name is the only one's."""
    names = list(config.metrics)
    if list(results) == [THE_VALUE] and len(names) == 1:
        return {names[0]: results[THE_VALUE]}
    for name in results:
        if name not in names:
            expected = f"metrics among {', '.join(names)}"
            advice = f'Tell values by name, such as {{"{names[0]}": 1.5}}.'
            raise InputError(expected, short_repr(name), advice, "value")
    return results


class MetricState:
    """The belief about one metric; every metric has every evaluation, told or not."""

    def __init__(self, config: StudyConfig, limits: Sequence[Limit] = ()) -> None:
        """Know nothing yet; ``limits`` are those of this metric."""
        self.config, self.model, self._limits = config, Model(), limits
        self.optimizer = Optimizer(config.adapter.problem, Uniform(), config.seed or 0)
        self.since = -np.inf  # time of the last jump: earlier results do not count
        self.faults = frozenset[int]()  # numbers of the results that are taken for faults

    def renew(self) -> None:
        """Build the policy, which takes a while."""
        self.optimizer.reconsider(self.policy(self.config), last=REPLAYED)

    def rest(self, *, resting: bool) -> None:
        """Leave the policy as it is, since another model follows; or no longer."""
        if self.optimizer.learner is not None:
            self.optimizer.learner.rest(resting=resting)

    def learn(self, body: Mapping[str, Any], contradicted: Mapping[int, float] | None) -> None:
        """Take the model of an event, and the variances of results that others contradict."""
        if self.optimizer.learner is None:
            raise FormatError("a policy that learns its model", "one with a given model")
        model, due = Model.from_json(body["model"]), due_from_json(body)
        model = model.of_dimension(self.optimizer.domain.dimension)
        own, trouble = model.signed(self.config.sign), str(body.get("trouble", ""))
        self.optimizer.learner.update(Update(own, due, contradicted, trouble))
        self.model, self.since = model, self.optimizer.learner.known.since

    def fallback(self) -> Update | None:
        """The model in use, if it is not the one that was learned last; otherwise None."""
        learner = self.optimizer.learner
        if learner is None or not learner.known.trouble:
            return None
        if learner.model == self.model.signed(self.config.sign):
            return None
        due = Due(learner.known.told, learner.known.since)
        return Update(learner.model, due, trouble=learner.known.trouble)

    @property
    def trouble(self) -> str:
        """Why an older model is in use than the latest one; "" if it is not."""
        learner = self.optimizer.learner
        return "" if learner is None else learner.known.trouble

    def tell(self, number: int, result: Measurement, expired: tuple[float, Any] | None) -> None:
        """Take a result; ``expired`` is the time and place of an evaluation without a lease."""
        (value, precision), sign = result, self.config.sign
        if expired is None:
            self.optimizer.observe(number, sign * value, precision)
            return
        t, place = expired
        self.optimizer.observe_cancelled(number, place, t, sign * value, precision)
        if self.optimizer.learner is None:
            self.renew()

    def distrust(self) -> None:
        """Note that a result contradicts the model, so that it is estimated again."""
        if self.optimizer.learner is not None:
            self.optimizer.learner.distrust()

    def cancel(self, number: int, *, avoid: bool) -> None:
        """Close an open evaluation without a result of this metric; a failed one is avoided."""
        self.optimizer.cancel(number, avoid=avoid)

    def retime(self, latest: float) -> None:
        self.optimizer.set_back(latest)
        self.since = min(self.since, latest)
        if self.optimizer.learner is None:
            self.renew()

    def found_faults(self) -> frozenset[int]:
        """The results that are taken for faults by now."""
        learner = self.optimizer.learner
        return self.faults if learner is None else learner.faults(self.faults)

    def result_of(self, number: int) -> Measurement | None:
        """The value and precision told for an evaluation, or None."""
        told = self.optimizer.history.of(number)
        return None if told is None else (self.config.sign * told.y, told.precision)

    def parts(self) -> tuple[Json, Arrays]:
        """The state as JSON and arrays."""
        optimizer, arrays = self.optimizer.parts()
        since = {} if np.isinf(self.since) else {"since": self.since}
        known = {"faults": sorted(self.faults), "model": self.model.to_json(), **since}
        if isinstance(self.optimizer.domain, Finite):  # the labels say where results lie
            arrays[_NUMBERS] = arrays[_NUMBERS][:, :2]
        return {**known, "optimizer": optimizer}, arrays

    def restored(self, header: Json, arrays: Arrays) -> MetricState:
        """The metric of :meth:`parts`."""
        found, domain = MetricState(self.config, self._limits), self.optimizer.domain
        if isinstance(domain, Finite):
            points = domain.at(domain.check(arrays[_LABELS][:, 0]))
            arrays = {**arrays, _NUMBERS: np.hstack([arrays[_NUMBERS][:, :2], points])}
        found.optimizer = Optimizer.from_parts(header["optimizer"], arrays, "a snapshot")
        found.model = Model.from_json(header["model"])
        found.since = float(header.get("since", -np.inf))
        found.faults = frozenset(as_whole(one, "a fault", least=0) for one in header["faults"])
        return found

    def policy(self, config: StudyConfig) -> Policy:
        """The policy, which is told its model; that of a limited metric is cautious while young."""
        if not self._limits or not config.policy.learns_sums:
            return config.build()
        seasons, sign = config.tracking(), config.sign
        bounds = tuple(sign * limit.bound for limit in self._limits if not limit.relative)
        shares = tuple(limit.bound for limit in self._limits if limit.relative)
        recipe = Watching(seasons.season, seasons.candidates, bounds, shares)
        return Adaptive(recipe, deferred=True)
