"""What a study knows of each metric: its results, the model learned from them, and the belief."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from heliotrope.domains import DomainAdapter, Finite
from heliotrope.errors import FormatError, InputError
from heliotrope.estimation import Model
from heliotrope.ledger import Observation
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

_RECENT = 300  # latest results before a past time that its belief rests on
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


class StudyMetric(Metric):
    """A metric of a study: its models and the labels of its results come from events.

    Every metric has every evaluation, told or not.
    """

    def __init__(
        self, config: StudyConfig, adapter: DomainAdapter, limits: Sequence[Limit] = ()
    ) -> None:
        """Know nothing yet; ``limits`` are those of this metric."""
        super().__init__(adapter, Uniform(), config.seed or 0, config.sign)
        self.config, self.latest_model, self._limits = config, Model(), limits
        self.faults = frozenset[int]()  # numbers of the results that are taken for faults

    def renew(self) -> None:
        """Build the policy, which takes a while."""
        self.reconsider(self.configured_policy(), last=REPLAYED)

    def rest(self, *, resting: bool) -> None:
        """While ``resting``, leave the policy as it is, because another model follows."""
        if self.learner is not None:
            self.learner.rest(resting=resting)

    def learn(self, body: Mapping[str, Any], contradicted: Mapping[int, float] | None) -> None:
        """Take the model of an event, and the variances of results that others contradict."""
        if self.learner is None:
            raise FormatError("a policy that learns its model", "one with a given model")
        self.latest_model, due = Model.from_json(body["model"]), due_from_json(body)
        own, trouble = self.latest_model.signed(self.sign), str(body.get("trouble", ""))
        self.learner.update(Update(own, due, contradicted, trouble))

    @property
    def since(self) -> float:
        """The time of the last jump: earlier results do not count."""
        return -np.inf if self.learner is None else self.learner.knowledge.since

    def take_over(self) -> None:
        """Note what the learner of an optimizer's file knows."""
        if self.learner is not None:
            self.latest_model, self.faults = self.model(), self.found_faults()

    def fallback(self) -> Update | None:
        """The model in use, if the one that was learned last did not work; otherwise None."""
        learner = self.learner
        if learner is None or not learner.knowledge.trouble or self.model() == self.latest_model:
            return None
        due = Due(learner.knowledge.told, learner.knowledge.since)
        return Update(learner.model, due, trouble=learner.knowledge.trouble)

    @property
    def trouble(self) -> str:
        """Why an older model is in use than the latest one; "" if it is not."""
        return "" if self.learner is None else self.learner.knowledge.trouble

    @property
    def known_model(self) -> Model:
        """The learned model with the parameters that were given."""
        if self.config.policy.learns_sums:
            return self.latest_model
        return self.config.recipe.held(self.latest_model, self.domain)

    def found_faults(self) -> frozenset[int]:
        """The results that are taken for faults by now."""
        return self.faults if self.learner is None else self.learner.faults(self.faults)

    def result_of(self, number: int) -> Measurement | None:
        """The value and precision told for an evaluation, or None."""
        told = self.history.of(number)
        return None if told is None else (told.y, told.precision)

    def saved(self) -> tuple[Json, Arrays]:
        """The state and what is known beside it, as JSON and arrays."""
        header, arrays = self.parts()
        learned = {"faults": sorted(self.faults), "model": self.latest_model.to_json()}
        if isinstance(self.domain, Finite):  # the labels say where results lie
            arrays[_NUMBERS] = arrays[_NUMBERS][:, :2]
        return {**learned, "core": header}, arrays

    def restored(self, header: Json, arrays: Arrays) -> StudyMetric:
        """Another metric with the state that :meth:`saved` returned."""
        metric, domain = StudyMetric(self.config, self.adapter, self._limits), self.domain
        if isinstance(domain, Finite):
            points = domain.at(domain.check(arrays[_LABELS][:, 0]))
            arrays = {**arrays, _NUMBERS: np.hstack([arrays[_NUMBERS][:, :2], points])}
        metric.renew()
        metric.restore(header["core"], arrays)
        metric.latest_model = Model.from_json(header["model"])
        metric.faults = frozenset(
            as_whole(number, "a fault", least=0) for number in header["faults"]
        )
        return metric

    def configured_policy(self) -> Policy:
        """The policy, which is told its model; that of a limited metric is cautious while young."""
        return cautious(self.config.build(), self._limits)


def past_belief(metric: StudyMetric, t: float) -> Callable[[], Metric]:
    """The belief about a metric at a past time; building it takes a while, and reads no state."""
    history, since = metric.history, metric.since if t >= metric.since else -np.inf
    by_then = np.flatnonzero((history.t <= t) & (history.t >= since))[-_RECENT:]
    past = [history[i] for i in by_then.tolist()]
    empty = blank(metric, past)
    return lambda: fed(empty, past)


def blank(metric: StudyMetric, results: Sequence[Observation]) -> Metric:
    """A metric without results, with the present model.

    If the results that it will get precede a jump, it has their mean.
    """
    model = metric.latest_model
    if results and results[-1].t < metric.since:
        model = model.with_mean(float(np.mean([result.y for result in results])))
    empty = Metric(metric.adapter, metric.policy, 0, metric.sign)
    if empty.learner is not None:
        empty.learner.update(Update(model.signed(metric.sign)))
    return empty


def fed(metric: Metric, results: Sequence[Observation]) -> Metric:
    """Tell a metric some results in the order of their times, and return it."""
    for result in sorted(results, key=lambda result: result.t):
        opened = metric.placed(result.x if result.index is None else result.index, result.t)
        metric.begin(opened)
        metric.tell(opened.id, result.y, result.precision)
    return metric
