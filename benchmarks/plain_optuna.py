"""The adapter for Optuna as a surface that plays plain worlds."""

from __future__ import annotations

import pickle
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState, create_trial

from heliotrope.integrations.optuna import HeliotropeSampler
from heliotrope.lab.plain import Asked, PlainWorld, Surface, Truth
from heliotrope.lab.plain.results import Told
from heliotrope.spaces import Categorical, Integer, Options, Parameter, Real

_OPTION = "option"

optuna.logging.set_verbosity(optuna.logging.ERROR)


def allows(world: PlainWorld) -> bool:
    """Whether an Optuna study can describe the world; it takes equal choices for the same one."""
    has_features = isinstance(world.space, Options) and world.space.features is not None
    if isinstance(world.space, Options):
        has_equals = False
    else:
        listed = [one for one in world.space.parameters.values() if isinstance(one, Categorical)]
        has_equals = any(len(set(one.choices)) < len(one.choices) for one in listed)  # 1 == True
    return not (world.limited or has_features or has_equals or world.context or world.clock)


class OptunaSurface(Surface):
    """A study of Optuna with the sampler, pickled and read again."""

    def __init__(self, truth: Truth) -> None:
        world = truth.world
        if isinstance(world.space, Options):
            names: dict[str, Parameter] = {_OPTION: Categorical(world.space.names)}
        else:
            names = world.space.parameters
        self._has_options = isinstance(world.space, Options)
        self._space = {name: _distribution(parameter) for name, parameter in names.items()}
        sampler = HeliotropeSampler(seed=world.seed, search_space=self._space)
        self._study = optuna.create_study(direction=world.direction, sampler=sampler)

    def ask(self, seconds: float, context: Any) -> Asked:
        trial = self._study.ask(self._space)
        return Asked(trial.number, trial.params[_OPTION] if self._has_options else trial.params)

    def tell(self, asked: Asked, told: Told) -> None:
        self._study.tell(asked.handle, _value(told))

    def cancel(self, asked: Asked) -> None:
        self._study.tell(asked.handle, state=TrialState.FAIL)

    def add(self, choice: Any, told: Told, seconds: float, context: Any) -> None:
        params = {_OPTION: choice} if self._has_options else dict(choice)
        trial = create_trial(params=params, distributions=self._space, value=_value(told))
        self._study.add_trial(trial)

    def numbers(self) -> list[float]:
        told = self._study.get_trials(states=[TrialState.COMPLETE])
        return [float(self._study.best_value)] if told else []

    def twin(self) -> OptunaSurface:
        twin: OptunaSurface = pickle.loads(pickle.dumps(self))
        return twin


def _distribution(parameter: Parameter) -> BaseDistribution:
    if isinstance(parameter, Real):
        return FloatDistribution(
            parameter.low, parameter.high, log=parameter.log, step=parameter.step
        )
    if isinstance(parameter, Integer):
        return IntDistribution(parameter.low, parameter.high, log=parameter.log)
    if isinstance(parameter, Categorical):
        return CategoricalDistribution(list(parameter.choices))
    return CategoricalDistribution([False, True])


def _value(told: Told) -> float:
    """Optuna takes a value alone."""
    if "successes" in told:
        return float(told["successes"] / told["trials"])
    if "count" in told:
        return float(told["count"] / told["exposure"])
    return float(told["value"])
