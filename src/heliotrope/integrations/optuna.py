"""Optuna: a sampler for objectives that change while they are optimized."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import heliotrope as ht
from heliotrope.errors import InputError, located, requires_extra
from heliotrope.integrations.keyed import ForeignParameter, KeyedOptimizer, Listed
from heliotrope.study.clocks import Wall
from heliotrope.surroundings import REAL
from heliotrope.validation import as_whole, short_repr

with requires_extra("optuna"):
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState

__all__ = ["HeliotropeSampler"]

_Distributions = Mapping[str, BaseDistribution]

_log = logging.getLogger(__name__)
_CHANGES = 3  # changes of a range that are followed in any study
_TRIALS_OF_CHANGE = 20  # a longer study follows one change in this many trials


class HeliotropeSampler(BaseSampler):
    """Samples the parameters that are best now with ``heliotrope.auto``.

    Parameters
    ----------
    seed
        Random seed; by default another one each time.
    clock
        A unit of time such as "10min": the time of a trial is its start in this unit. By default
        it is the number of the trial.
    search_space
        Parameters to sample together. By default these are the parameters that all completed
        trials share, each with the range of the latest one, so the independent sampler chooses the
        first trial. A range that keeps changing is left to it, too, with a warning in the log.
    independent_sampler
        Sampler of all other parameters; by default a RandomSampler with the same seed.

    Notes
    -----
    The trials of the study's storage are the sampler's whole state. So it works with threads
    (``n_jobs``), with processes that share a storage, and after a restart. Constraints are those of
    ``trial.set_constraint``. Failed and pruned trials count as not evaluated. A trial whose
    parameters lie outside the search space, such as an enqueued one, is left out with a warning in
    the log.

    Examples
    --------
    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> study = optuna.create_study(sampler=HeliotropeSampler(seed=0))
    >>> study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=8)
    >>> len(study.trials)
    8
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        clock: str | None = None,
        search_space: _Distributions | None = None,
        independent_sampler: BaseSampler | None = None,
    ) -> None:
        self._seed = REAL.below(2**32) if seed is None else as_whole(seed, "seed", least=0)
        self._clock = None if clock is None else Wall(clock)
        self._search_space = None if search_space is None else _checked(search_space)
        if not isinstance(independent_sampler, BaseSampler | None):
            raise InputError("a sampler of Optuna", short_repr(independent_sampler))
        self._independent_sampler = independent_sampler or RandomSampler(seed=self._seed % 2**32)
        self._prepare()

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        space = self._search_space
        if space is None:
            trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
            space, unsettled = _shared_space(trials)
            reasons = dict.fromkeys(unsettled, "its range keeps changing")
            reasons |= {name: str(refused) for name, refused in _refused(space).items()}
            self._warn_once(study, reasons)
            space = {name: space[name] for name in space if name not in reasons}
        return {name: space[name] for name in space if not space[name].single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        _check_single_objective(study)
        if not search_space:
            return {}
        with self._lock:
            follower = self._followers.get(study)
            if follower is None or follower.space != search_space:
                follower = _Follower(study, search_space, self._seed, self._clock)
                self._followers[study] = follower
            follower.follow(study.get_trials(deepcopy=False))
            return follower.ask(trial)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        _check_single_objective(study)
        return self._independent_sampler.sample_independent(
            study, trial, param_name, param_distribution
        )

    def reseed_rng(self) -> None:
        self._independent_sampler.reseed_rng()

    def _warn_once(self, study: Study, reasons: Mapping[str, str]) -> None:
        """Log why parameters are left to the independent sampler."""
        with self._lock:
            warned = self._warned.setdefault(study, set())
            for name in sorted(set(reasons) - warned):
                _log.warning(
                    "nothing is learned about the parameter %r, and the independent sampler "
                    "chooses it: %s",
                    name,
                    reasons[name],
                )
            warned.update(reasons)

    def _prepare(self) -> None:
        self._lock = Lock()
        self._followers: WeakKeyDictionary[Study, _Follower] = WeakKeyDictionary()
        self._warned: WeakKeyDictionary[Study, set[str]] = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        of_process = ("_lock", "_followers", "_warned")
        return {k: v for k, v in vars(self).items() if k not in of_process}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._prepare()


class _Follower:
    """An optimizer that follows the trials of one study in one search space."""

    def __init__(
        self, study: Study, space: dict[str, BaseDistribution], seed: int, clock: Wall | None
    ) -> None:
        self.space = dict(space)
        parameters = {name: _as_parameter(distribution) for name, distribution in space.items()}
        minimizing = study.direction == StudyDirection.MINIMIZE
        self._keyed = KeyedOptimizer(parameters, "minimize" if minimizing else "maximize", seed)
        self._clock, self._created = clock, 0.0
        self._closed: set[int] = set()  # numbers of finished trials, from _first on
        self._first = 0  # all trials with smaller numbers are closed
        self._left_out: dict[int, InputError] = {}  # since the last report

    def follow(self, trials: Sequence[FrozenTrial]) -> None:
        """Take what happened to the trials since the last call.

        They are taken in the order in which a running sampler would have seen them, so a restarted
        one asks the same.
        """
        if not self._first and self._clock is not None:
            starts = (trial.datetime_start for trial in trials)
            self._created = min((start.timestamp() for start in starts if start), default=0.0)
        finished: list[FrozenTrial] = []
        for trial in trials[self._first :]:
            if trial.number not in self._closed and _has_begun(trial):
                finished = self._close(finished, before=trial.datetime_start)
                self._begin(trial)
                finished += [trial] if trial.state.is_finished() else []
        self._close(finished)
        self._report()
        while self._first in self._closed:
            self._closed.remove(self._first)
            self._first += 1

    def ask(self, trial: FrozenTrial) -> dict[str, Any]:
        """Return the parameters of a new trial."""
        return self._keyed.ask(trial.number, self._time(trial))

    def _begin(self, trial: FrozenTrial) -> None:
        if self._fits(trial):
            self._keyed.begin(trial.number, trial.params, self._time(trial))
        elif trial.state.is_finished():  # it was asked for, and evaluated elsewhere
            self._keyed.cancel(trial.number, avoid=False)

    def _close(
        self, finished: Sequence[FrozenTrial], before: datetime | None = None
    ) -> list[FrozenTrial]:
        """Take the results of trials that finished before a time; return the others."""
        later = []
        for trial in finished:
            if before and trial.datetime_complete and trial.datetime_complete > before:
                later.append(trial)
                continue
            is_told = trial.state == TrialState.COMPLETE and self._keyed.is_open(trial.number)
            if is_told and trial.value is not None:
                self._keyed.tell(trial.number, trial.value, trial.constraints)
            self._keyed.cancel(trial.number)
            self._closed.add(trial.number)
        return later

    def _fits(self, trial: FrozenTrial) -> bool:
        """Whether a trial has all parameters, and they are in the search space."""
        if not self.space.keys() <= trial.params.keys():
            return False
        try:
            self._keyed.check(trial.params)
        except InputError as error:
            if trial.state.is_finished():
                self._left_out[trial.number] = error
            return False
        return True

    def _report(self) -> None:
        """Name one of the trials that were left out, and their number."""
        if self._left_out:
            number, error = next(iter(self._left_out.items()))
            more = f" and {len(self._left_out) - 1} more" if len(self._left_out) > 1 else ""
            _log.warning("left out trial %d%s: %s", number, more, error)
            self._left_out.clear()

    def _time(self, trial: FrozenTrial) -> float:
        if self._clock is None or trial.datetime_start is None:
            return trial.number + 1.0
        return self._clock.at(trial.datetime_start.timestamp(), self._created)


def _shared_space(
    trials: Sequence[FrozenTrial],
) -> tuple[dict[str, BaseDistribution], list[str]]:
    """Return the latest distributions of the parameters that all trials share.

    Those that change too often are left out, and named: each change costs a new start from all
    results.
    """
    if not trials:
        return {}, []
    shared = set.intersection(*(set(trial.distributions) for trial in trials))
    changes = dict.fromkeys(sorted(shared), 0)
    for before, after in pairwise(trials):
        for name in shared:
            changes[name] += before.distributions[name] != after.distributions[name]
    most = max(_CHANGES, len(trials) // _TRIALS_OF_CHANGE)
    latest = trials[-1].distributions
    space = {name: latest[name] for name, count in changes.items() if count <= most}
    return space, [name for name in changes if name not in space]


def _has_begun(trial: FrozenTrial) -> bool:
    """Whether a trial has left the queue."""
    return trial.datetime_start is not None or trial.state.is_finished()


def _checked(space: object) -> dict[str, BaseDistribution]:
    """Return distributions by name, or raise an InputError."""
    if not isinstance(space, Mapping):
        raise InputError("distributions by name", short_repr(space), "", "search_space")
    with located("search_space"):
        for name, distribution in space.items():
            with located(str(name)):
                _as_parameter(distribution)
    return dict(space)


def _refused(space: Mapping[str, BaseDistribution]) -> dict[str, InputError]:
    """Why some parameters cannot be modelled, such as whole numbers beyond 1e12."""
    refused = {}
    for name, distribution in space.items():
        if not distribution.single():
            try:
                _as_parameter(distribution)
            except InputError as error:
                refused[name] = error
    return refused


def _as_parameter(distribution: BaseDistribution) -> ForeignParameter:
    if isinstance(distribution, CategoricalDistribution):
        return Listed(distribution.choices)
    if isinstance(distribution, IntDistribution):
        return ht.Integer(
            distribution.low, distribution.high, log=distribution.log, step=distribution.step
        )
    if isinstance(distribution, FloatDistribution):
        return ht.Real(
            distribution.low, distribution.high, log=distribution.log, step=distribution.step
        )
    raise InputError("a distribution of floats, integers or choices", short_repr(distribution))


def _check_single_objective(study: Study) -> None:
    if len(study.directions) > 1:
        raise InputError("a study with one objective", f"{len(study.directions)}")
