"""A new study that starts from what similar studies of the same store have learned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any

import numpy as np
from scipy.stats.qmc import Sobol

from heliotrope.domains import Box, Contextual, Finite, Places
from heliotrope.errors import InputError, located
from heliotrope.estimation import Model
from heliotrope.policies.fleet import Fleet, pooled
from heliotrope.spaces import Options
from heliotrope.study.config import StudyConfig
from heliotrope.study.state import StudyState
from heliotrope.validation import Array
from heliotrope.warps import Warp

_POINTS = 128  # of a fleet
_MOST = 100  # similar studies
_SHARED = ("stays", "drifts", "level", "noise", "drift_rate", "level_rate", "mean_variance")


def joined(config: StudyConfig, similar: Mapping[str, StudyState]) -> StudyConfig:
    """The configuration with a fleet of similar studies, of which those with results count."""
    with located("like"):
        _check(config, similar)
    known = [state for state in similar.values() if state.model.world is not None]
    if not known:
        return replace(config, like=tuple(similar))
    places = _places(config)
    believed = [_believed(config, state, places) for state in known]
    unknown = [state.model.variance for state in known]
    means, doubts = zip(*believed, strict=True)
    values, variances, level_variance = pooled(means, doubts, unknown)
    model = _typical([state.model for state in known], config.adapter.domain.dimension)
    text = json.dumps(model.to_json())
    fleet = Fleet(places, values, variances, level_variance, text)
    return replace(config, fleet=fleet, like=tuple(similar))


def _check(config: StudyConfig, similar: Mapping[str, StudyState]) -> None:
    if len(similar) > _MOST:
        raise InputError(f"at most {_MOST} similar studies", f"{len(similar)}")
    if not config.policy.learns_sums:
        raise InputError("a policy that learns its model, to be like others", config.policy.kind)
    for name, state in ((None, None), *similar.items()):
        if (config if state is None else state.config).context is not None:
            raise InputError("studies without contexts", f"{name or 'one'} with contexts")
    for name, state in similar.items():
        if state.config.direction != config.direction:
            raise InputError(f"studies that {config.direction}", f"{name}, which does not")
        if not _are_alike(config, state.config):
            raise InputError("studies of the same space, or options of the same names", name)


def _are_alike(config: StudyConfig, other: StudyConfig) -> bool:
    if isinstance(config.space, Options) and isinstance(other.space, Options):
        return not set(config.space.names).isdisjoint(other.space.names)
    return config.space == other.space


def _places(config: StudyConfig) -> Places:
    """Some places of the domain: all options, or points all over a space."""
    domain = config.adapter.problem
    assert not isinstance(domain, Contextual)
    if isinstance(domain, Finite):
        some = np.linspace(0, len(domain) - 1, min(_POINTS, len(domain)))
        return np.unique(some.astype(np.intp))
    assert isinstance(domain, Box)
    return domain.snap(domain.scaled(Sobol(domain.dimension, rng=0).random(_POINTS)))


def _believed(config: StudyConfig, state: StudyState, places: Places) -> tuple[Array, Array]:
    """Means and variances of a study at places of another, NaN where it lacks an option."""
    optimizer, sign = state.optimizer, config.sign
    if not isinstance(config.space, Options):
        domain = optimizer.domain
        found = optimizer.belief(X=domain.at(places), count_open=False)
        return sign * found.mean, np.square(found.std)
    theirs = state.config.space
    assert isinstance(theirs, Options)
    every = optimizer.belief(count_open=False)
    index = {name: i for i, name in enumerate(theirs.names)}
    at = [index.get(config.space.names[place], -1) for place in places.tolist()]
    has = np.array(at) >= 0
    mean = np.where(has, sign * every.mean[at], np.nan)
    return mean, np.where(has, np.square(every.std[at]), np.nan)


def _typical(models: Sequence[Model], dimension: int) -> Model:
    """The geometric mean of the models' parameters, over the scale that most of them have."""
    worlds = [model.world for model in models if model.world is not None]
    kinds = [world.warp.kind for world in worlds]
    kind = max(set(kinds), key=kinds.count)
    some = [world for world in worlds if world.warp.kind == kind]
    typical: dict[str, Any] = {
        name: float(np.exp(np.mean(np.log([getattr(world, name) for world in some]))))
        for name in _SHARED
    }
    logs = [np.log(world.lengths) for world in some]
    if any(len(one) != dimension for one in logs):  # other numbers of options
        logs = [np.array([one.mean()]) for one in logs]
    lengths = tuple(np.exp(np.mean(logs, axis=0)).tolist())
    mean = float(np.mean([world.mean for world in some]))
    warp = _average([world.warp for world in some])
    world = replace(some[0], **typical, mean=mean, warp=warp, lengths=lengths, results=0)
    pace = float(np.median([model.pace for model in models]))
    return Model.of_world(world, pace).of_dimension(dimension)


def _average(warps: Sequence[Warp]) -> Warp:
    """The warp with the average parameters of warps of one kind."""
    parameters = np.array([astuple(warp) for warp in warps])
    return type(warps[0])(*parameters.mean(axis=0).tolist())
