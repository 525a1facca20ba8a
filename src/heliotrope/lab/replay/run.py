"""Train on the first part of a log, and replay every policy on the rest."""

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cached_property
from tempfile import TemporaryDirectory

import numpy as np
from threadpoolctl import threadpool_limits

from heliotrope.errors import InputError
from heliotrope.kernels import Tabulated
from heliotrope.lab.environments import Table
from heliotrope.lab.logs import Log
from heliotrope.lab.replay.candidates import CANDIDATES, STOCHASTIC
from heliotrope.lab.replay.result import ReplayResult
from heliotrope.lab.replay.training import TrainedSetup, trained_setup
from heliotrope.lab.trials import run_trials, trial_seed
from heliotrope.policies import rexp3
from heliotrope.policies.registry import AUTO
from heliotrope.validation import Array, Indices, as_number, as_whole

_FEWEST = 10  # rows of either part
_LARGEST = 1e45  # its square is far from overflow


def replay_log(
    log: Log,
    *,
    train: float = 0.6,
    minimize: bool = False,
    policies: Sequence[str] = tuple(CANDIDATES),
    seeds: int = 10,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    jobs: int = -1,
    tick: Callable[[int, int], object] | None = None,
) -> ReplayResult:
    """Train on the first ``train`` share of the rows, and replay every policy on the rest.

    Gaps of the test part are interpolated in time.

    Parameters
    ----------
    log
        A log from :func:`~heliotrope.lab.logs.read_log` or :func:`~heliotrope.lab.logs.log_of`.
    minimize
        Whether values are costs.
    policies
        Some of ``CANDIDATES``.
    seeds
        Number of runs of each stochastic policy.
    out
        Folder of the finished replays, from which an interrupted run continues.
    jobs
        Number of processes; 1 is the current process, -1 one per core.
    tick
        Called with the number of finished replays and of all replays.

    Examples
    --------
    >>> import pandas as pd
    >>> from heliotrope.lab.logs import log_of
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal([3.0, 0.0], size=(30, 2)), columns=["a", "b"])
    >>> done = replay_log(log_of(table), policies=["fixed", "random"], seeds=2, jobs=1)
    >>> done.best, len(list(done.rows()))
    ('fixed', 36)
    """
    if not isinstance(log, Log):
        raise InputError("a log", type(log).__name__, "Make one with read_log or log_of.")
    names, cut = _names(policies), _cut(log, as_number(train, "train"))
    count, seed = as_whole(seeds, "seeds", least=1), as_whole(seed, "seed", least=0)
    rewards = -log.values if minimize else log.values
    _check_training(log, rewards[:cut])
    with threadpool_limits(1):  # rounding, and so the key of saved trials, depends on the threads
        setup = trained_setup(log.times[:cut], rewards[:cut], log.points, names)
    filled = Table(rewards, log.times).values[cut:]
    work = _Work(Table(filled, log.times[cut:] - log.times[cut] + 1.0), setup, names, count, seed)
    choices = work.choices(out, jobs, tick)
    share = float(np.isnan(rewards[cut:]).mean())
    return ReplayResult(log, minimize, cut, setup, filled, share, choices)


@dataclass(frozen=True, eq=False)
class _Work:
    """The replays as trials."""

    table: Table
    setup: TrainedSetup
    policies: tuple[str, ...]
    seeds: int
    seed: int

    @cached_property
    def trials(self) -> list[tuple[str, int]]:
        """Policy and run of each trial: first runs come first, so that more runs can follow."""
        first = [(policy, 0) for policy in self.policies]
        several = [policy for policy in self.policies if policy in STOCHASTIC]
        return first + [(policy, run) for run in range(1, self.seeds) for policy in several]

    def choices(
        self,
        out: str | os.PathLike[str] | None,
        jobs: int,
        tick: Callable[[int, int], object] | None,
    ) -> dict[str, Indices]:
        """Places (seeds, T) chosen by each policy."""
        count = len(self.trials)
        with TemporaryDirectory() if out is None else nullcontext(out) as folder:
            results = run_trials(
                self.trial,
                count,
                folder=folder,
                settings=self.settings(),
                jobs=jobs,
                tick=None if tick is None else lambda done: tick(done, count),
            )
        found: dict[str, list[Indices]] = {policy: [] for policy in self.policies}
        for (policy, _), result in zip(self.trials, results, strict=True):
            found[policy].append(result["places"])
        return {policy: np.array(places) for policy, places in found.items()}

    def trial(self, number: int) -> dict[str, Indices]:
        """Places chosen by one policy."""
        policy, run = self.trials[number]
        played = self.setup.play(policy, self.table.episode(), trial_seed(self.seed, run))
        return {"places": np.array([step.index for step in played])}

    def settings(self) -> dict[str, object]:
        """Everything that a trial depends on except its number."""
        prior, points = self.setup.prior, self.setup.points
        assert isinstance(prior.space, Tabulated)
        located = {} if points is None else {"points": _digest(points)}  # only auto uses them
        return {
            "policies": list(self.policies),
            "seed": self.seed,
            "test": _digest(self.table.times, self.table.values),
            "prior": _digest(prior.space.K, np.asarray(prior.mean), np.array(prior.noise)),
            "epsilon": self.setup.drift.epsilon,
            "tuned": {name: asdict(tuning) for name, tuning in self.setup.tuned.items()},
            rexp3.__name__: [self.setup.low, self.setup.high, self.setup.variation],
            **(located if AUTO.name in self.policies else {}),
        }


def _digest(*arrays: Array) -> str:
    """A short hash of the shapes and contents of arrays."""
    content = hashlib.sha256()
    for array in arrays:
        content.update(f"{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return content.hexdigest()[:16]


def _names(policies: Sequence[str]) -> tuple[str, ...]:
    """The requested policies, each once, in the order of ``CANDIDATES``."""
    asked = [policies] if isinstance(policies, str) else list(policies)
    unknown = [f"{name!r}" for name in asked if name not in CANDIDATES]
    if unknown or not asked:
        raise InputError(f"policies among {', '.join(CANDIDATES)}", ", ".join(unknown) or "none")
    return tuple(name for name in CANDIDATES if name in asked)


def _cut(log: Log, train: float) -> int:
    rows = len(log.times)
    if not 0.0 < train < 1.0:
        raise InputError("train to be a share between 0 and 1", f"{train:g}")
    cut = round(train * rows)
    if cut < _FEWEST or rows - cut < _FEWEST:
        raise InputError(
            f"at least {_FEWEST} rows for training and {_FEWEST} for testing",
            f"{cut} and {rows - cut} of the log's {rows}",
        )
    return cut


def _check_training(log: Log, training: Array) -> None:
    """Reject rows from which no prior can be learned."""
    unseen = np.flatnonzero(np.isnan(training).all(axis=0))
    if len(unseen):
        names = ", ".join(repr(log.names[i]) for i in unseen[:5])
        raise InputError(
            "a value of every place in the training rows",
            f"none of {names}{', ...' if len(unseen) > 5 else ''}",
            "Remove the place, or train on more rows.",
        )
    low, high = float(np.nanmin(training)), float(np.nanmax(training))
    if low < high and not 1.0 / _LARGEST < high - low < _LARGEST:
        expected = f"values that differ by more than {1.0 / _LARGEST:g} and less than {_LARGEST:g}"
        raise InputError(expected, f"{low:g} to {high:g}", "Use another unit.")
