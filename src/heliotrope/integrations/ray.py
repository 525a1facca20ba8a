"""Ray Tune: a search algorithm for metrics that drift."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import heliotrope as ht
from heliotrope.errors import InputError, requires_extra
from heliotrope.integrations.keyed import ForeignParameter, KeyedOptimizer, Listed

with requires_extra("ray"):
    from ray.tune.search import Searcher
    from ray.tune.search.sample import (
        Categorical,
        Domain,
        Float,
        Function,
        Integer,
        LogUniform,
        Normal,
        Quantized,
    )
    from ray.tune.search.variant_generator import parse_spec_vars
    from ray.tune.utils.util import flatten_dict, unflatten_dict

__all__ = ["HeliotropeSearch"]

_Path: TypeAlias = tuple[str | int, ...]
_KINDS = (
    *("tune.uniform", "tune.quniform", "tune.loguniform"),
    *("tune.randint", "tune.qrandint", "tune.lograndint", "tune.choice"),
)


class HeliotropeSearch(Searcher):  # type: ignore[misc]  # only there with Ray
    """Suggests the configurations that are best now with ``heliotrope.auto``.

    Time counts the trials. The last reported value of the metric is the result of a trial; a trial
    that fails, or reports no such value, counts as not evaluated.

    Parameters
    ----------
    space
        Domains such as ``{"lr": tune.loguniform(1e-4, 1.0)}``; by default the ``param_space`` of
        the Tuner.
    metric, mode
        The metric, and "min" or "max"; by default those of the TuneConfig.
    seed
        Random seed.

    Examples
    --------
    Pass it to Ray as ``tune.TuneConfig(search_alg=HeliotropeSearch(), metric="loss", mode="min")``.
    """

    def __init__(
        self,
        space: Mapping[str, Any] | None = None,
        metric: str | None = None,
        mode: str | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(metric=metric, mode=mode)
        self._metric, self._mode, self._seed = metric, mode, seed
        self._space = None if space is None else dict(space)
        self._keyed: KeyedOptimizer | None = None
        if space is not None and metric and mode:
            self._start()

    def set_search_properties(
        self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any
    ) -> bool:
        """Take metric, mode and space from the Tuner, once."""
        if self._keyed is not None or (self._space and config):
            return False
        self._metric, self._mode = metric or self._metric, mode or self._mode
        self._space = self._space or config
        if not self._metric or not self._mode:
            return False
        self._start()
        return True

    def suggest(self, trial_id: str) -> dict[str, Any]:
        """Return the configuration of a new trial."""
        return unflatten_dict(self._started().ask(trial_id))  # type: ignore[no-any-return]

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Take the last result of a trial."""
        value = None if error or not result else result.get(self.metric)
        if value is None:
            self._started().cancel(trial_id)
        elif self._started().is_open(trial_id):
            self._started().tell(trial_id, float(value))

    def add_evaluated_point(
        self,
        parameters: dict[str, Any],
        value: float,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        """Take a result from elsewhere."""
        if not error and not pruned:
            key = object()
            self._started().begin(key, flatten_dict(parameters))
            self._started().tell(key, value)

    def save(self, checkpoint_path: str) -> None:
        """Write the state as Ray's own searchers do, by pickle."""
        Path(checkpoint_path).write_bytes(pickle.dumps(vars(self)))

    def restore(self, checkpoint_path: str) -> None:
        """Read the state that :meth:`save` wrote."""
        self.__dict__.update(pickle.loads(Path(checkpoint_path).read_bytes()))

    def _start(self) -> None:
        parameters = _read_space(self._space or {})
        self._keyed = KeyedOptimizer(
            parameters, "minimize" if self._mode == "min" else "maximize", self._seed
        )

    def _started(self) -> KeyedOptimizer:
        if self._keyed is None:
            advice = "Give them to HeliotropeSearch or to the Tuner."
            raise InputError("a space, a metric and a mode", "not all of them", advice)
        return self._keyed


def _read_space(space: Mapping[str, Any]) -> dict[str, ForeignParameter]:
    """Return the domains of a nested space by path, such as "net/rate"; others are refused."""
    _, domains, grids = parse_spec_vars(dict(space))
    if grids:
        advice = "Use tune.choice, from which the searcher chooses."
        raise _refused("a space without grids", "tune.grid_search", grids, advice)
    if not domains:
        raise InputError("domains such as tune.uniform(0, 1)", "none", field="space")
    return {_spelled(path): _as_parameter(path, domain) for path, domain in domains}


def _as_parameter(path: _Path, domain: Domain) -> ForeignParameter:
    kind = _kind(domain)
    if kind not in _KINDS:
        raise _refused(f"one of {', '.join(_KINDS)}", kind, [(path, domain)])
    if not all(isinstance(name, str) and "/" not in name for name in path):
        raise _refused('domains outside of lists, under names without "/"', kind, [(path, domain)])
    if isinstance(domain, Categorical):
        return Listed(domain.categories)
    sampler, log = domain.get_sampler(), "log" in kind
    step = sampler.q if isinstance(sampler, Quantized) else None
    if isinstance(domain, Float):
        return ht.Real(domain.lower, domain.upper, log=log, step=step)
    assert isinstance(domain, Integer)
    if step is None:  # the upper end is excluded
        return ht.Integer(domain.lower, domain.upper - 1, log=log)
    return ht.Integer(domain.lower, domain.upper, step=step)


def _kind(domain: Domain) -> str:
    """The name of the function of ``ray.tune`` that makes a domain."""
    if isinstance(domain, (Categorical, Function)):
        return "tune.choice" if isinstance(domain, Categorical) else "tune.sample_from"
    sampler = domain.get_sampler()
    quantized = "q" if isinstance(sampler, Quantized) else ""
    sampler = sampler.sampler if quantized else sampler
    if isinstance(sampler, Normal):
        return f"tune.{quantized}randn"
    log = "log" if isinstance(sampler, LogUniform) else ""
    plain = "tune.uniform" if isinstance(domain, Float) else "tune.randint"
    return plain.replace(".", f".{quantized}{log}")


def _refused(
    expected: str, kind: str, domains: Sequence[tuple[_Path, Domain]], advice: str = ""
) -> InputError:
    paths = ", ".join(f'"{_spelled(path)}"' for path, _ in domains)
    return InputError(expected, f"{kind} at {paths}", advice, "space")


def _spelled(path: _Path) -> str:
    return "/".join(map(str, path))
