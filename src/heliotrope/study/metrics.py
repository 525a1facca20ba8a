"""What a study knows of each metric: its results, the model learned from them, and the belief."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from heliotrope.errors import InputError
from heliotrope.estimation import Model
from heliotrope.live import watching_policy
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Policy, Uniform
from heliotrope.study.commands import THE_VALUE, Measurement
from heliotrope.validation import Json, as_number, short_repr

if TYPE_CHECKING:
    from heliotrope.serialization.codec import Arrays
    from heliotrope.study.config import StudyConfig

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

    def __init__(self, config: StudyConfig, bounds: Sequence[float] | None = None) -> None:
        """Know nothing yet; ``bounds`` are the absolute limits of a limited metric."""
        self.config, self.model, self._bounds = config, Model(), bounds
        self.optimizer = Optimizer(config.adapter.problem, Uniform(), config.seed)
        self.since = -np.inf  # time of the last level shift: earlier results do not count

    def renew(self) -> None:
        """Build the policy of the present model, which takes a while."""
        policy = self.policy(self.config, self.model)
        self.optimizer.reconsider(policy, last=REPLAYED, since=self.since)

    def clear(self) -> None:
        """Drop the policy, since a new one follows."""
        self.optimizer.reconsider(Uniform(), last=0)

    def learn(self, body: Mapping[str, Any], *, renewing: bool) -> None:
        """Take the model of an event."""
        self.model = Model.from_json(body["model"])
        self.since = as_number(body["since"], "since") if "since" in body else -np.inf
        if renewing:
            self.renew()

    def tell(self, number: int, result: Measurement, expired: tuple[float, Any] | None) -> None:
        """Take a result; ``expired`` is the time and place of an evaluation without a lease."""
        (value, precision), sign = result, self.config.sign
        if expired is None:
            self.optimizer.observe(number, sign * value, precision)
        else:
            t, place = expired
            self.optimizer.observe_cancelled(number, place, t, sign * value, precision)
        if expired is not None or self.optimizer.history[-1].t < self.since:
            self.renew()  # with the former, without the latter

    def cancel(self, number: int) -> None:
        """Close an open evaluation without a result of this metric."""
        self.optimizer.cancel(number)

    def retime(self, latest: float) -> None:
        self.optimizer.set_back(latest)
        self.since = min(self.since, latest)
        self.renew()

    def result_of(self, number: int) -> Measurement | None:
        """The value and precision told for an evaluation, or None."""
        told = self.optimizer.history.of(number)
        return None if told is None else (self.config.sign * told.y, told.precision)

    def parts(self) -> tuple[Json, Arrays]:
        """The state as JSON and arrays."""
        optimizer, arrays = self.optimizer.parts()
        since = {} if np.isinf(self.since) else {"since": self.since}
        return {"model": self.model.to_json(), **since, "optimizer": optimizer}, arrays

    def restored(self, header: Json, arrays: Arrays) -> MetricState:
        """The metric of :meth:`parts`."""
        found = MetricState(self.config, self._bounds)
        found.optimizer = Optimizer.from_parts(header["optimizer"], arrays, "a snapshot")
        found.model = Model.from_json(header["model"])
        found.since = float(header.get("since", -np.inf))
        return found

    def policy(self, config: StudyConfig, model: Model) -> Policy:
        """The policy of a model; that of a limited metric is cautious while it is young."""
        world, sign = model.world, config.sign
        if self._bounds is None or world is None or not config.policy.learns_sums:
            return config.build(model)
        seen = world if sign > 0.0 else world.negated()
        low, high = model.outlier_bounds(sign).limits
        return watching_policy(seen, model.pace, low, high, [sign * one for one in self._bounds])
