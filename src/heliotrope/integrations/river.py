"""river: a bandit policy for rewards that drift, with arms that can be alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import heliotrope as ht
from heliotrope.errors import InputError, requires_extra
from heliotrope.validation import Array

with requires_extra("river"):
    from river.bandit.base import ArmID, Policy, RewardObj
    from river.compose import TargetTransformRegressor

__all__ = ["HeliotropePolicy"]

_WIDTH = 2.0  # standard deviations above the mean, where not all arms can be pulled


class HeliotropePolicy(Policy):
    """Pulls the arm that is best now with ``heliotrope.auto``; time counts the rewards.

    Parameters
    ----------
    features
        Numbers that describe each arm, so that similar arms learn from each other. By default all
        arms are equally different.
    seed
        Random seed.
    reward_obj, reward_scaler, burn_in
        As in river's other policies. The choice and the ranking rest on the belief instead.

    Examples
    --------
    >>> policy = HeliotropePolicy(seed=1)
    >>> for _ in range(12):
    ...     arm = policy.pull(["red", "blue"])
    ...     policy.update(arm, 1.0 if arm == "blue" else 0.0)
    >>> policy.ranking
    ['blue', 'red']
    """

    def __init__(
        self,
        features: Mapping[ArmID, Sequence[float]] | None = None,
        seed: int = 0,
        reward_obj: RewardObj | None = None,
        reward_scaler: TargetTransformRegressor | None = None,
        burn_in: int = 0,
    ) -> None:
        super().__init__(reward_obj=reward_obj, reward_scaler=reward_scaler, burn_in=burn_in)
        self.features, self.seed = features, seed
        self._arms: dict[ArmID, int] = {}
        self._optimizer: ht.Optimizer | None = None

    def update(self, arm_id: ArmID, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Take the reward of an arm, which need not have been pulled."""
        optimizer = self._knowing([arm_id])
        (reward,) = [*reward_args, *reward_kwargs.values()]
        optimizer.tell(optimizer.begin(self._arms[arm_id]), reward)
        super().update(arm_id, *reward_args, **reward_kwargs)  # type: ignore[no-untyped-call]

    @property
    def ranking(self) -> list[ArmID]:
        """The arms with rewards, the one believed best now first."""
        arms = list(self._rewards)
        if self._optimizer is None:
            return arms
        mean = self._optimizer.belief().mean
        return sorted(arms, key=lambda arm: -mean[self._arms[arm]])

    def _pull(self, arm_ids: list[ArmID]) -> ArmID:
        arms = list(arm_ids)
        if not arms:
            raise InputError("at least one arm", "none")
        optimizer = self._knowing(arms)
        indices = [self._arms[arm] for arm in arms]
        proposed = optimizer.propose()
        if proposed.index in indices:
            return arms[indices.index(proposed.index)]
        belief = optimizer.belief(proposed.t)
        bound = (belief.mean + _WIDTH * belief.std)[indices]
        return arms[int(bound.argmax())]

    def _knowing(self, arms: Sequence[ArmID]) -> ht.Optimizer:
        """The optimizer, which starts again with all rewards when an arm is new."""
        new = [arm for arm in arms if arm not in self._arms]
        if new or self._optimizer is None:
            told = None if self._optimizer is None else self._optimizer.history
            self._arms |= {arm: len(self._arms) + i for i, arm in enumerate(dict.fromkeys(new))}
            domain = ht.Finite(self._points())
            self._optimizer = ht.Optimizer(domain, ht.auto(domain), self.seed)
            if told is not None and len(told):
                self._optimizer.tell_many(
                    told.t, np.array([result.index for result in told]), told.y
                )
        return self._optimizer

    def _points(self) -> Array:
        if self.features is None:
            return np.eye(len(self._arms))
        missing = [arm for arm in self._arms if arm not in self.features]
        if missing:
            raise InputError("features of every arm", f"none of {missing[0]!r}")
        return np.array([self.features[arm] for arm in self._arms], dtype=float)
