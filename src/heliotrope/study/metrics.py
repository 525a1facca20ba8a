"""What a study knows of each metric: its results, the model learned from them, and the belief."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from heliotrope.domains import DomainAdapter, Finite
from heliotrope.errors import FormatError, InputError
from heliotrope.estimation import Model
from heliotrope.live.beliefs import cautious
from heliotrope.live.rules import Limit
from heliotrope.policies import Policy, Uniform
from heliotrope.policies.learner import Due, Update, due_from_json
from heliotrope.study.commands import THE_VALUE, Measurement
from heliotrope.tracker import REPLAYED, Metric
from heliotrope.validation import Json, as_whole, short_repr

if TYPE_CHECKING:
    from heliotrope.serialization.codec import Arrays
    from heliotrope.study.config import StudyConfig

_NUMBERS, _LABELS = "history/numbers", "history/labels"  # times, values and points; indices


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
    """What a study has learned about one metric; every metric has every evaluation, told or not."""

    def __init__(
        self, config: StudyConfig, adapter: DomainAdapter, limits: Sequence[Limit] = ()
    ) -> None:
        """Know nothing yet; ``limits`` are those of this metric."""
        self.config, self.model, self._limits = config, Model(), limits
        self.core = Metric(adapter, Uniform(), config.seed or 0, config.sign)
        self.since = -np.inf  # time of the last jump: earlier results do not count
        self.faults = frozenset[int]()  # numbers of the results that are taken for faults

    def renew(self) -> None:
        """Build the policy, which takes a while."""
        self.core.reconsider(self.policy(self.config), last=REPLAYED)

    def rest(self, *, resting: bool) -> None:
        """While ``resting``, leave the policy as it is, because another model follows."""
        if self.core.learner is not None:
            self.core.learner.rest(resting=resting)

    def learn(self, body: Mapping[str, Any], contradicted: Mapping[int, float] | None) -> None:
        """Take the model of an event, and the variances of results that others contradict."""
        if self.core.learner is None:
            raise FormatError("a policy that learns its model", "one with a given model")
        model, due = Model.from_json(body["model"]), due_from_json(body)
        own, trouble = model.signed(self.config.sign), str(body.get("trouble", ""))
        self.core.learner.update(Update(own, due, contradicted, trouble))
        self.model, self.since = model, self.core.learner.known.since

    def fallback(self) -> Update | None:
        """The model in use, if the one that was learned last did not work; otherwise None."""
        learner = self.core.learner
        if learner is None or not learner.known.trouble:
            return None
        if learner.model == self.model.signed(self.config.sign):
            return None
        due = Due(learner.known.told, learner.known.since)
        return Update(learner.model, due, trouble=learner.known.trouble)

    @property
    def trouble(self) -> str:
        """Why an older model is in use than the latest one; "" if it is not."""
        learner = self.core.learner
        return "" if learner is None else learner.known.trouble

    @property
    def known_model(self) -> Model:
        """The learned model with the parameters that were given."""
        if self.config.policy.learns_sums:
            return self.model
        return self.config.recipe.held(self.model, self.core.domain)

    def found_faults(self) -> frozenset[int]:
        """The results that are taken for faults by now."""
        learner = self.core.learner
        return self.faults if learner is None else learner.faults(self.faults)

    def result_of(self, number: int) -> Measurement | None:
        """The value and precision told for an evaluation, or None."""
        told = self.core.history.of(number)
        return None if told is None else (told.y, told.precision)

    def parts(self) -> tuple[Json, Arrays]:
        """The state as JSON and arrays."""
        header, arrays = self.core.parts()
        since = {} if np.isinf(self.since) else {"since": self.since}
        learned = {"faults": sorted(self.faults), "model": self.model.to_json(), **since}
        if isinstance(self.core.domain, Finite):  # the labels say where results lie
            arrays[_NUMBERS] = arrays[_NUMBERS][:, :2]
        return {**learned, "core": header}, arrays

    def restored(self, header: Json, arrays: Arrays) -> MetricState:
        """Another metric with the state that :meth:`parts` returned."""
        metric = MetricState(self.config, self.core.adapter, self._limits)
        domain = self.core.domain
        if isinstance(domain, Finite):
            points = domain.at(domain.check(arrays[_LABELS][:, 0]))
            arrays = {**arrays, _NUMBERS: np.hstack([arrays[_NUMBERS][:, :2], points])}
        metric.renew()
        metric.core.restore(header["core"], arrays)
        metric.model = Model.from_json(header["model"])
        metric.since = float(header.get("since", -np.inf))
        metric.faults = frozenset(
            as_whole(number, "a fault", least=0) for number in header["faults"]
        )
        return metric

    def policy(self, config: StudyConfig) -> Policy:
        """The policy, which is told its model; that of a limited metric is cautious while young."""
        return cautious(config.build(), self._limits)
