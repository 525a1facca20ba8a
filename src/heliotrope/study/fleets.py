"""A new study that starts from what similar studies of the same store have learned."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from typing import Any

import numpy as np

from heliotrope.domains import Box, Contextual, Finite, Places
from heliotrope.errors import InputError, located
from heliotrope.estimation import Model
from heliotrope.lazy import lazy_module
from heliotrope.policies.fleet import Fleet, pooled
from heliotrope.spaces import Options
from heliotrope.study.config import StudyConfig
from heliotrope.study.state import StudyState
from heliotrope.validation import Array
from heliotrope.warps import Warp

stats = lazy_module("scipy.stats")

_POINTS = 128  # of a fleet
MOST = 100  # similar studies
_SHARED = ("stays", "drifts", "level", "noise", "drift_rate", "level_rate", "mean_variance")


def joined(config: StudyConfig, state_of: Callable[[str], StudyState]) -> StudyConfig:
    """The configuration with a fleet of the studies it is like, of which those with results count.

    Their states are read one after the other, since they may be large.
    """
    config = replace(config, like=tuple(dict.fromkeys(config.like)))
    _check(config)
    places = _places(config)
    models, believed = list[Model](), list[tuple[Array, Array]]()
    for name in config.like:
        state = state_of(name)
        _check_other(config, name, state.config)
        if not state.lead.latest_model.world.is_one_term:
            models.append(state.lead.latest_model)
            believed.append(_believed(config, state, places))
    if not models:
        return config
    unknown = [model.variance for model in models]
    means, doubts = zip(*believed, strict=True)
    values, variances, level_variance = pooled(means, doubts, unknown)
    model = _typical(models, config.adapter.domain.dimension)
    text = json.dumps(model.to_json())
    return replace(config, fleet=Fleet(places, values, variances, level_variance, text))


def _check(config: StudyConfig) -> None:
    with located("like"):
        if len(config.like) > MOST:
            raise InputError(f"at most {MOST} similar studies", f"{len(config.like)}")
        if not config.policy.learns_sums:
            raise InputError(
                "a policy that learns its model, to be like others", config.policy.kind
            )
        if config.context is not None:
            raise InputError("studies without contexts", "one with contexts")


def _check_other(config: StudyConfig, name: str, other: StudyConfig) -> None:
    with located("like"):
        if other.context is not None:
            raise InputError("studies without contexts", f"{name} with contexts")
        if other.direction != config.direction:
            raise InputError(f"studies that {config.direction}", f"{name}, which does not")
        if not _are_alike(config, other):
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
        indices = np.linspace(0, len(domain) - 1, min(_POINTS, len(domain)))
        return np.unique(indices.astype(np.intp))
    assert isinstance(domain, Box)
    return domain.snap(domain.scaled(stats.qmc.Sobol(domain.dimension, rng=0).random(_POINTS)))


def _believed(config: StudyConfig, state: StudyState, places: Places) -> tuple[Array, Array]:
    """Means and variances of a study at places of another, NaN where it lacks an option."""
    core = state.lead
    if not isinstance(config.space, Options):
        belief = core.belief(X=core.domain.at(places), count_open=False)
        return belief.mean, np.square(belief.std)
    theirs = state.config.space
    assert isinstance(theirs, Options)
    every = core.belief(count_open=False)
    index = {name: i for i, name in enumerate(theirs.names)}
    at = [index.get(config.space.names[place], -1) for place in places.tolist()]
    has = np.array(at) >= 0
    mean = np.where(has, every.mean[at], np.nan)
    return mean, np.where(has, np.square(every.std[at]), np.nan)


def _typical(models: Sequence[Model], dimension: int) -> Model:
    """The geometric mean of the models' parameters, over the scale that most of them have."""
    worlds = [model.world for model in models]
    kinds = [world.warp.kind for world in worlds]
    kind = max(set(kinds), key=kinds.count)
    alike = [world for world in worlds if world.warp.kind == kind]
    typical: dict[str, Any] = {
        name: float(np.exp(np.mean(np.log([getattr(world, name) for world in alike]))))
        for name in _SHARED
    }
    logs = [np.log(world.lengths) for world in alike]
    if any(len(own) != dimension for own in logs):  # other numbers of options
        logs = [np.full(dimension, own.mean()) for own in logs]
    lengths = tuple(np.exp(np.mean(logs, axis=0)).tolist())
    mean = float(np.mean([world.mean for world in alike]))
    warp = _average([world.warp for world in alike])
    world = replace(alike[0], **typical, mean=mean, warp=warp, lengths=lengths, results=0)
    pace = float(np.median([model.pace for model in models]))
    return Model(world, pace)


def _average(warps: Sequence[Warp]) -> Warp:
    """The warp with the average parameters of warps of one kind."""
    parameters = np.array([astuple(warp) for warp in warps])
    return type(warps[0])(*parameters.mean(axis=0).tolist())
