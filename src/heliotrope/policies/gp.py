"""GP policies: a prior, a memory and an acquisition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.acquisition import UCB, Acquisition, Scoring
from heliotrope.domains import (
    Box,
    Choices,
    Domain,
    Places,
    all_choices,
    is_choice,
    one_place,
)
from heliotrope.errors import InputError, KernelError, NoBeliefError, TimeError
from heliotrope.estimation import IMPLAUSIBLE
from heliotrope.memory import KeepAll, Memory
from heliotrope.policies.model_free import random_choice
from heliotrope.posterior import (
    Accuracy,
    BankEngine,
    BoxOptions,
    DenseOptions,
    Engine,
    EngineOptions,
    HasSurface,
    Learn,
    Learned,
    ReferenceOptions,
    engine_options,
    sample,
)
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import Prior
from heliotrope.serialization.codec import State, part, register, under
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array

First: TypeAlias = Literal["random"] | int | ArrayLike | None
"""The first point: "random", an index, a point, or None for the acquisition's choice."""

_MOST_LOW, _MOST_HIGH = 2, 1  # values in a row that are doubted

EngineLike: TypeAlias = str | EngineOptions | None
"""An engine's name or options; None for the one of :func:`heliotrope.posterior.build`."""


@register
@dataclass(frozen=True, eq=False)
class GPPolicy:
    """A policy that maximizes an acquisition of a GP posterior.

    ``memory`` says which observations count. ``first`` is the first point, if nothing was told
    before. ``engine`` overrides the choice of the engine ("finite", "box", "box-exact", "dense",
    "reference", or options). With ``learn`` the drift rate is unknown and learned from the
    observations; it is kept when the memory restarts.

    With ``doubts``, an implausible value counts little: the first in a row if it is high, the first
    two if they are low. After a high one the policy looks again at its place. A low value that were
    believed would keep the policy away from its place, and a fault would never be detected.
    """

    prior: Prior
    acquisition: Acquisition
    memory: Memory = KeepAll()
    first: First = None
    engine: EngineLike = None
    learn: Learn | None = None
    doubts: bool = False

    def __post_init__(self) -> None:
        for name, kind in (("prior", Prior), ("acquisition", Acquisition), ("memory", Memory)):
            value = getattr(self, name)
            if isinstance(value, type) or not isinstance(value, kind):
                raise InputError(f"a {name}", repr(value))
        if self.learn is not None:
            if not isinstance(self.learn, Learn):
                raise InputError("learn to be Learn(...) or None", repr(self.learn))
            self.learn.check(self.prior)
        object.__setattr__(self, "engine", engine_options(self.engine))
        if isinstance(self.first, str) and self.first != "random":
            raise InputError("first to be 'random', an index or a point", repr(self.first))

    @property
    def grows(self) -> bool:
        """Whether the state grows with every observation."""
        keeps_all = isinstance(self.engine, (DenseOptions, ReferenceOptions))
        keeps_all = keeps_all or self.engine == BoxOptions(budget=None)
        return self.learn is not None or keeps_all or getattr(self.memory, "grows", False)

    def start(self, domain: Domain) -> GPAgent:
        return GPAgent(self, domain)

    def negated(self) -> GPPolicy:
        return replace(self, prior=self.prior.negated())


class _Doubts:
    """Which values are taken for faults: implausible ones, until later ones confirm them."""

    def __init__(self) -> None:
        self.keys = set[int]()  # of values that are taken for faults
        self.again: Places | None = None  # where the latest value was implausibly high
        self._in_a_row = 0  # latest values that were implausibly high, or low with a minus sign
        self._run = list[int]()  # keys of those that are doubted

    def weigh(
        self, key: int, place: Places, error: float, variance: float, noise: float
    ) -> float | None:
        """Decide whether to doubt a value; return the variance with which it counts, if so.

        Its prediction was wrong by ``error``, and had a variance. A doubted value has its distance
        from the prediction as standard error.
        """
        is_implausible = abs(error) > IMPLAUSIBLE * sqrt(variance + noise)
        side = int(np.sign(error)) if is_implausible else 0
        if side * self._in_a_row <= 0:
            self._in_a_row, self._run = 0, []
        self._in_a_row += side
        self.again = place if self._in_a_row == 1 else None
        if -_MOST_LOW <= self._in_a_row <= _MOST_HIGH and side:
            self._run.append(key)
            self.keys.add(key)
            return error**2 + noise
        self.keys.difference_update(self._run)  # confirmed
        self._run = []
        return None

    def state(self) -> State:
        return {
            "doubted": np.array(self._in_a_row),
            "doubted/run": np.array(self._run, dtype=np.int64),
            "doubted/keys": np.array(sorted(self.keys), dtype=np.int64),
            "again": np.empty(0) if self.again is None else self.again,
        }

    def restore(self, state: State) -> None:
        self._in_a_row = int(state["doubted"])
        self._run = state["doubted/run"].tolist()
        self.keys = set(state["doubted/keys"].tolist())
        self.again = state["again"] if len(state["again"]) else None


class GPAgent:
    """The state of a GP policy: one engine per epoch of the memory."""

    def __init__(self, policy: GPPolicy, domain: Domain) -> None:
        self._policy, self._domain = policy, domain
        self._engine = _first_engine(policy, domain)
        self._epoch: float | None = None
        self._keys: dict[int, Places] = {}  # places of the evaluations of the current epoch
        self._doubts = _Doubts()
        self._told, self._now = False, -inf
        first = policy.first
        self._first = None if first is None or isinstance(first, str) else one_place(domain, first)
        if isinstance(domain, Box) and not isinstance(self._engine, HasSurface):
            raise KernelError("an engine for a Box", type(self._engine).__name__)

    def choose(self, t: float, make_rng: RNGFactory) -> Places:
        return self.choose_among(all_choices(self._domain), t, make_rng)

    def choose_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        if self._policy.first is not None and not (self._told or self._keys):
            if self._first is None:
                return random_choice(choices, make_rng())
            if is_choice(choices, self._first):
                return self._first
        again = self._doubts.again
        if again is not None and is_choice(choices, again):
            return again
        return self._policy.acquisition.choose(self._engine_at(t), choices, t, make_rng)

    def best(self, t: float, make_rng: RNGFactory) -> Places:
        return self.best_among(all_choices(self._domain), t, make_rng)

    def best_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        return UCB(0.0).choose(self._engine_at(t), choices, t, make_rng)

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation; the first of a new epoch gets a new engine."""
        epoch = self._policy.memory.epoch(t)
        engine = self._engine if self._epoch in (None, epoch) else self._next_engine()
        engine.open(key, t, place)
        if engine is not self._engine:
            self._engine, self._keys = engine, {}
        self._epoch = epoch
        self._keys[key], self._now = place, max(self._now, t)
        self._doubts.again = None

    @property
    def doubted(self) -> set[int]:
        """The keys of the evaluations whose values are taken for faults."""
        return self._doubts.keys

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        """Take a value; ignore it if its epoch is over."""
        if key in self._keys:
            if self._policy.doubts:
                precision = self._weigh(key, y, precision)
            self._engine.tell(key, y, precision)
            del self._keys[key]
        self._told = True

    def _weigh(self, key: int, value: float, precision: Precision) -> Precision:
        """Decide whether to doubt a value; return the precision with which it counts."""
        place = self._keys[key]
        mean, variance = self._engine.predict(self._now, place, count_open=False)
        error, noise = value - float(mean[0]), precision.noise(self._policy.prior.noise)
        doubted = self._doubts.weigh(key, place, error, float(variance[0]), noise)
        return precision if doubted is None else Precision(doubted)

    def cancel(self, key: int) -> None:
        if key in self._keys:
            self._engine.cancel(key)
            del self._keys[key]

    def predict(
        self, t: float, places: Places, *, count_open: bool, part: str | None = None
    ) -> tuple[Array, Array]:
        return self._engine_at(t).predict(t, places, count_open=count_open, part=part)

    def scores(self, t: float, places: Places, make_rng: RNGFactory) -> Array:
        if not isinstance(self._policy.acquisition, Scoring):
            raise InputError("an acquisition with scores", repr(self._policy.acquisition)[:60])
        return self._policy.acquisition.scores(self._engine_at(t), places, t, make_rng)

    def covariance(self, t: float, places: Places, others: Places | None = None) -> Array:
        return self._engine_at(t).covariance(t, places, others)

    @property
    def noise(self) -> float:
        return self._policy.prior.noise

    def shares(self, t: float, start: float) -> dict[str, float]:
        """The share of each part, and of the noise, in the variance of a result at time t."""
        return self._policy.prior.shares(self._domain, t, start)

    def sample(self, t: float, places: Places, rng: np.random.Generator, size: int) -> Array:
        return sample(self._engine_at(t), t, places, rng, size)

    @property
    def log_likelihood(self) -> float:
        return self._engine.log_likelihood

    def accuracy(self) -> Accuracy:
        return self._engine.accuracy()

    def learned(self) -> Learned:
        """The learned drift rate."""
        if not isinstance(self._engine, BankEngine):
            raise NoBeliefError(
                "a policy that learns the drift",
                "one whose drift is given",
                "Make the policy with learn=Learn().",
            )
        return self._engine.learned()

    def state(self) -> State:
        return {
            "epoch": np.array([] if self._epoch is None else [self._epoch]),
            "keys": np.array(list(self._keys), dtype=np.int64),
            "places": np.array([place[0] for place in self._keys.values()]),
            "now": np.array(self._now),
            "told": np.array(self._told),
            **self._doubts.state(),
        } | under("engine/", self._engine.state())

    def restore(self, state: State) -> None:
        self._epoch = next(iter(state["epoch"].tolist()), None)
        self._keys = dict(zip(state["keys"].tolist(), list(state["places"][:, None]), strict=True))
        self._doubts.restore(state)
        self._now = float(state["now"])
        self._told = bool(state["told"])
        self._engine.restore(part(state, "engine/"))

    def _next_engine(self) -> Engine:
        """A new engine without data; a bank passes its learned drift on."""
        engine = self._engine
        if isinstance(engine, BankEngine):
            return engine.successor()
        return _first_engine(self._policy, self._domain)

    def _engine_at(self, t: float) -> Engine:
        """The engine at time t: the current one, or in a later epoch a new one."""
        epoch = self._policy.memory.epoch(t)
        if self._epoch is None or epoch == self._epoch:
            return self._engine
        if epoch < self._epoch:
            raise TimeError("a time since the latest restart", f"{t:g}")
        return self._next_engine()


def _first_engine(policy: GPPolicy, domain: Domain) -> Engine:
    """The engine of a policy's first epoch; a bank if the drift is to be learned."""
    options = policy.engine
    assert not isinstance(options, str)

    def engine_of(prior: Prior) -> Engine:
        return policy.memory.engine(prior, domain, options)

    if policy.learn is None:
        return engine_of(policy.prior)
    return BankEngine(policy.learn, policy.prior, engine_of)
