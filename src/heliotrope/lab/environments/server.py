"""Servers under closed loads: workers that answer batches of requests from a bounded queue.

Each of n clients asks, waits for the answer, and pauses. A worker takes up to a batch of requests,
waits a little for the batch to fill, and holds one of a few connections while it works. A cache
saves part of the work, and takes memory from the workers. A request that finds the queue full is
refused, and its client tries again after a pause.

Symbols
-------
M  settings      n  clients      X (M,)  answers per second      R (M,)  seconds until an answer
k (M,)  requests in a batch      S (M,)  seconds that a batch takes
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from heliotrope.spaces import Integer, SearchSpace
from heliotrope.validation import Array

_PURPOSE = 23  # of random numbers
_ROUNDS = 200  # of the fixed point
_STEP = 0.15  # of each round
_SHARP = 6.0  # how sharply the rate saturates
_USUAL = {"queue": 32, "cache": 0, "pool": 6}  # where a server has no such parameter


@dataclass(frozen=True)
class Load:
    """Clients, their pause in seconds, the share of time that they ask, and what they ask for.

    ``hot`` is the memory that holds what most requests need.
    """

    clients: int
    pause: float
    busy: float
    hot: float


@dataclass(frozen=True)
class Performance:
    """Answers per second, and the time within which 99 of 100 answers come, of each setting."""

    rate: Array
    p99: Array


@dataclass(frozen=True, eq=False)
class Server:
    """A server's constants, its parameters, and the loads that it meets.

    Times are in seconds. ``overhead`` and ``each`` are what a batch and a request in it take,
    ``contention`` what each further worker adds, as a share, ``patience`` the wait for a batch,
    ``memory`` what workers and cache may take before it gets slow.
    """

    space: SearchSpace
    loads: tuple[Load, ...]
    overhead: float
    each: float
    contention: float
    patience: float
    saved: float
    memory: float
    tail: float

    @classmethod
    def drawn(cls, seed: int, loads: int = 3) -> Server:
        """A server with constants, parameters and loads that a seed draws.

        Examples
        --------
        >>> server = Server.drawn(seed=0)
        >>> all(server.best(load, limit=True) > server.baseline_rate(load) for load in range(3))
        True
        """
        rng = np.random.default_rng([seed, _PURPOSE])
        names = sorted(rng.choice(list(_USUAL), size=int(rng.integers(1, 3)), replace=False))
        ranges = {
            "workers": Integer(1, int(rng.integers(8, 17))),
            "batch": Integer(1, int(rng.integers(6, 13))),
            "queue": Integer(4, 64, step=4),
            "cache": Integer(0, 14, step=2),
            "pool": Integer(1, 12),
        }
        space = SearchSpace({name: ranges[name] for name in ["workers", "batch", *names]})
        drawn = (_load(rng, kind) for kind in _kinds(rng, loads))
        return cls(
            space,
            tuple(drawn),
            overhead=float(rng.uniform(0.01, 0.05)),
            each=float(rng.uniform(0.002, 0.012)),
            contention=float(rng.uniform(0.01, 0.12)),
            patience=float(rng.uniform(0.03, 0.15)),
            saved=float(rng.uniform(0.4, 0.85)),
            memory=float(rng.uniform(10.0, 20.0)),
            tail=float(rng.uniform(1.3, 2.2)),
        )

    @property
    def choices(self) -> dict[str, range]:
        """The values of each parameter."""
        return {
            name: range(one.low, one.high + 1, one.step or 1)
            for name, one in self.space.parameters.items()
            if isinstance(one, Integer)
        }

    @cached_property
    def settings(self) -> list[dict[str, int]]:
        """All settings."""
        choices = self.choices
        return [dict(zip(choices, row, strict=True)) for row in product(*choices.values())]

    @cached_property
    def _index(self) -> Mapping[tuple[int, ...], int]:
        return {tuple(setting.values()): i for i, setting in enumerate(self.settings)}

    def index(self, params: Mapping[str, int]) -> int:
        """The position of a setting in :attr:`settings`."""
        return self._index[tuple(int(params[name]) for name in self.space.parameters)]

    @cached_property
    def performances(self) -> list[Performance]:
        """What each setting gives under each load."""
        return [self._performance(load) for load in self.loads]

    def _column(self, name: str) -> Array:
        if name not in self.space.parameters:
            return np.full(len(self.settings), float(_USUAL[name]))
        return np.array([float(setting[name]) for setting in self.settings])

    def _performance(self, load: Load) -> Performance:
        workers, most, queue, cache, pool = map(
            self._column, ("workers", "batch", "queue", "cache", "pool")
        )
        hits = self.saved * (1.0 - np.exp(-cache / load.hot))
        over = np.maximum(workers + cache - self.memory, 0.0) / self.memory
        slow = (1.0 + self.contention * (workers - 1.0)) * (1.0 + 3.0 * over**1.5)
        at_once = np.minimum(workers, pool)
        rate = np.full(len(workers), 1.0)
        for _ in range(_ROUNDS):
            inside = np.clip(load.clients - rate * load.pause, 1.0, queue + workers * most)
            batch = np.clip(inside / workers, 1.0, most)
            filling = np.where(most > batch, self.patience * (1.0 - batch / most), 0.0)
            serving = slow * (self.overhead + self.each * batch * (1.0 - hits))
            capacity = batch / (serving / at_once + filling / workers)
            offered = load.clients / (load.pause + serving + filling)
            wanted = (capacity**-_SHARP + offered**-_SHARP) ** (-1.0 / _SHARP)
            rate = rate ** (1.0 - _STEP) * wanted**_STEP
        refused = np.maximum(load.clients - rate * load.pause - inside, 0.0) / load.clients
        waiting = inside / rate
        if load.busy < 1.0:  # between bursts the workers empty the queue
            drained = np.minimum(inside, rate * (1.0 - load.busy))
            rate = load.busy * rate + 0.5 * drained
        return Performance(rate * (1.0 - 0.5 * refused), self.tail * waiting)

    @cached_property
    def limit(self) -> float:
        """A limit on p99 that 6 in 10 settings keep under the load that is hardest to keep it."""
        return float(max(np.quantile(one.p99, 0.6) for one in self.performances))

    @cached_property
    def baseline(self) -> dict[str, int]:
        """A setting that keeps the limit under all loads, and is mediocre."""
        kept = np.logical_and.reduce([one.p99 < 0.9 * self.limit for one in self.performances])
        shares = [one.rate / one.rate[one.p99 <= self.limit].max() for one in self.performances]
        mean = np.where(kept, np.mean(shares, axis=0), np.inf)
        usual = np.quantile(mean[kept], 0.5)
        return self.settings[int(np.abs(mean - usual).argmin())]

    def baseline_rate(self, load: int) -> float:
        """Answers per second of the baseline."""
        return float(self.performances[load].rate[self.index(self.baseline)])

    def best(self, load: int, *, limit: bool) -> float:
        """Answers per second of the best setting for a load, of those that keep the limit."""
        one = self.performances[load]
        return float((one.rate[one.p99 <= self.limit] if limit else one.rate).max())

    def best_fixed(self, *, limit: bool) -> int:
        """The position of the setting with the best mean share over all loads."""
        kept = [
            one.p99 <= self.limit if limit else np.full(len(one.p99), True)
            for one in self.performances
        ]
        shares = [
            one.rate / one.rate[ok].max() for one, ok in zip(self.performances, kept, strict=True)
        ]
        return int(np.where(np.all(kept, axis=0), np.mean(shares, axis=0), -np.inf).argmax())


def _kinds(rng: np.random.Generator, count: int) -> list[str]:
    kinds = ["light", "heavy", "bursts"]
    return [kinds[i] for i in rng.permutation(np.arange(count) % len(kinds))]


def _load(rng: np.random.Generator, kind: str) -> Load:
    hot = float(rng.uniform(1.0, 10.0))
    if kind == "light":
        return Load(int(rng.integers(2, 7)), float(rng.uniform(0.02, 0.06)), 1.0, hot)
    busy = 1.0 if kind == "heavy" else float(rng.uniform(0.3, 0.6))
    return Load(int(rng.integers(18, 49)), float(rng.uniform(0.001, 0.01)), busy, hot)
