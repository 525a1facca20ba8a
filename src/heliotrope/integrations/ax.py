"""Ax: a generation node for outcomes that drift."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import heliotrope as ht
from heliotrope.directions import Direction
from heliotrope.errors import InputError, requires_extra
from heliotrope.integrations.keyed import ForeignParameter, KeyedOptimizer, Listed

with requires_extra("ax"):
    from ax.core.data import Data
    from ax.core.experiment import Experiment
    from ax.core.optimization_config import OptimizationConfig
    from ax.core.outcome_constraint import ComparisonOp, OutcomeConstraint
    from ax.core.parameter import (
        ChoiceParameter,
        FixedParameter,
        Parameter,
        ParameterType,
        RangeParameter,
    )
    from ax.generation_strategy.external_generation_node import ExternalGenerationNode

__all__ = ["HeliotropeNode"]

_Outcomes = Mapping[str, tuple[float, float | None]]  # mean and standard error by metric


class HeliotropeNode(ExternalGenerationNode):  # type: ignore[misc]  # only there with Ax
    """Generates the arms that are best now with ``heliotrope.auto``.

    Time is the index of the trial. Standard errors, outcome constraints and pending trials count.
    A good point is measured again while the world drifts, so duplicates are allowed.

    Examples
    --------
    Pass it to Ax as ``client.set_generation_strategy(GenerationStrategy([HeliotropeNode()]))``.
    """

    def __init__(self, *, seed: int = 0, name: str = "heliotrope") -> None:
        super().__init__(name=name, should_deduplicate=False)
        self._seed = seed
        self._keyed: KeyedOptimizer | None = None
        self._fixed: dict[str, Any] = {}
        self._closed: set[tuple[int, str]] = set()  # arms with a result or a failure
        self._generated = 0  # since the last update: Ax may or may not run them

    def update_generator_state(self, experiment: Experiment, data: Data) -> None:
        """Take the results, and the trials that are pending."""
        config = _checked_config(experiment)
        if self._keyed is None:
            parameters = experiment.search_space.parameters
            self._fixed = {n: p.value for n, p in parameters.items() if _is_fixed(p)}
            free = {n: _as_parameter(p) for n, p in parameters.items() if not _is_fixed(p)}
            direction: Direction = "minimize" if config.objective.minimize else "maximize"
            self._keyed = KeyedOptimizer(free, direction, self._seed)
        for number in range(self._generated):
            self._keyed.cancel(number)
        self._generated = 0
        outcomes = _outcomes(data)
        for index, trial in sorted(experiment.trials.items()):
            for arm in trial.arms:
                if (index, arm.name) not in self._closed:
                    told = outcomes.get((index, arm.name), {})
                    self._see((index, arm.name), trial.status, arm.parameters, told, config)

    def get_next_candidate(self, pending_parameters: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the next arm; pending ones are already open."""
        assert self._keyed is not None
        params = self._keyed.ask(self._generated)
        self._generated += 1
        return {**params, **self._fixed}

    def _see(
        self,
        key: tuple[int, str],
        status: Any,
        params: Mapping[str, Any],
        told: _Outcomes,
        config: OptimizationConfig,
    ) -> None:
        assert self._keyed is not None
        if status.expecting_data or status.is_candidate:
            self._keyed.begin(key, params, key[0] + 1.0)
        (objective,) = config.objective.metric_names
        if status.is_completed and objective in told:
            mean, sem = told[objective]
            self._keyed.begin(key, params, key[0] + 1.0)
            self._keyed.tell(key, mean, _violations(config, told), std=sem)
        if status.is_terminal:
            self._keyed.cancel(key)
            self._closed.add(key)


def _checked_config(experiment: Experiment) -> OptimizationConfig:
    config = experiment.optimization_config
    if config is None or not config.objective.is_single_objective:
        raise InputError("one objective", repr(config))
    for constraint in config.outcome_constraints:
        if constraint.relative or len(constraint.metric_names) != 1:
            raise InputError("constraints with a bound of a single metric", repr(constraint))
    if experiment.search_space.parameter_constraints:
        raise InputError("no parameter constraints", repr(experiment.search_space))
    return config


def _is_fixed(parameter: Parameter) -> bool:
    return isinstance(parameter, FixedParameter)


def _as_parameter(parameter: Parameter) -> ForeignParameter:
    if isinstance(parameter, ChoiceParameter):
        return Listed(parameter.values, bool(parameter.is_ordered))
    if not isinstance(parameter, RangeParameter):
        raise InputError("range, choice and fixed parameters", repr(parameter))
    lower, upper, log = parameter.lower, parameter.upper, parameter.log_scale
    if parameter.parameter_type == ParameterType.INT:
        return ht.Integer(int(lower), int(upper), log=log)
    return ht.Real(lower, upper, log=log)


def _outcomes(data: Data) -> dict[tuple[int, str], dict[str, tuple[float, float | None]]]:
    """Mean and standard error of each metric, by trial index and name of the arm."""
    outcomes: dict[tuple[int, str], dict[str, tuple[float, float | None]]] = {}
    for row in data.df.to_dict("records"):
        sem = float(row["sem"]) if row["sem"] is not None else 0.0
        std = sem if isfinite(sem) and sem > 0.0 else None  # 0 and NaN: nothing is known
        key = int(row["trial_index"]), str(row["arm_name"])
        outcomes.setdefault(key, {})[row["metric_name"]] = float(row["mean"]), std
    return outcomes


def _violations(config: OptimizationConfig, told: _Outcomes) -> dict[str, float]:
    return {
        str(constraint): _violation(constraint, told[constraint.metric_names[0]][0])
        for constraint in config.outcome_constraints
        if constraint.metric_names[0] in told
    }


def _violation(constraint: OutcomeConstraint, value: float) -> float:
    """The value of a constraint that is satisfied by at most 0."""
    above = value - float(constraint.bound)
    return above if constraint.op == ComparisonOp.LEQ else -above
