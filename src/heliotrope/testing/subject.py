"""The policy under test: its optimizers and agents, and simulated runs of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heliotrope.domains import Box, Choices, Domain, Finite, Lattice, Places
from heliotrope.errors import NoBeliefError
from heliotrope.history import Suggestion
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Agent, Policy
from heliotrope.policies.random import random_place
from heliotrope.serialization.state import State, copied
from heliotrope.validation import Array

_FEW = 5  # results between measurements of the state's size

LoggedCall = Callable[[Optimizer], None]
"""One operation on an optimizer, to be repeated on another."""


@dataclass(frozen=True)
class Subject:
    """A policy under test and its domain; every suggestion must lie in the domain."""

    policy: Policy
    domain: Domain
    log: list[LoggedCall] = field(default_factory=list)

    @property
    def where(self) -> str:
        """The domain, described for a report."""
        size = f"{len(self.domain)} points" if isinstance(self.domain, Finite) else "a Box"
        return f"(over {size})"

    def optimizer(self) -> Optimizer:
        """Return a new optimizer."""
        return Optimizer(self.domain, self.policy, seed=11)

    def agent(self) -> Agent:
        """Return a new agent."""
        return self.policy.start(self.domain)

    def place(self, rng: np.random.Generator) -> Places:
        """Return a random place of the domain."""
        return random_place(self.domain, rng)

    def part(self) -> Choices:
        """Return a part of the domain: every other point, or a Box with one coordinate fixed."""
        if isinstance(self.domain, Finite):
            return self.domain.indices[::2]
        lower, upper = self.domain.lower, self.domain.upper
        middle = Lattice((0,), np.array([[0.5 * (lower[0] + upper[0])]]))
        others = [lattice for lattice in self.domain.lattices if 0 not in lattice.columns]
        return Box(lower, upper, [*others, middle])

    def ask(self, optimizer: Optimizer, t: float | None = None) -> Suggestion:
        """Ask, and check that the suggestion lies in the domain."""
        suggestion = optimizer.ask(t)
        where, when = suggestion.x, suggestion.t
        if isinstance(self.domain, Finite):
            index = suggestion.index
            assert index is not None, f"a suggestion without an index, {where}"
            assert 0 <= index < len(self.domain), f"index {index} was suggested"
            self.log.append(lambda other: _begin(other, index, when))
        else:
            assert _inside(self.domain, where), f"{where} was suggested"
            self.log.append(lambda other: _begin(other, where, when))
        return suggestion

    def tell(self, optimizer: Optimizer, id: int, y: float) -> None:
        """Tell a value."""
        optimizer.tell(id, y)
        self.log.append(lambda other: other.tell(id, y))

    def cancel(self, optimizer: Optimizer, id: int) -> None:
        """Cancel a suggestion."""
        optimizer.cancel(id)
        self.log.append(lambda other: other.cancel(id))

    def game(self, optimizer: Optimizer, steps: int, seed: int = 0) -> Optimizer:
        """Ask ``steps`` times; results arrive late, in any order, and some never."""
        rng = np.random.default_rng(seed)
        for _ in range(steps):
            self.ask(optimizer)
            waiting = list(optimizer.open)
            while len(waiting) > 3 or (waiting and rng.random() < 0.5):
                done = waiting.pop(int(rng.integers(len(waiting))))
                if rng.random() < 0.15:
                    self.cancel(optimizer, done.id)
                else:
                    self.tell(optimizer, done.id, measured(done.x, done.t, rng))
        return optimizer


@dataclass(frozen=True)
class SizeSpan:
    """A number of results, and the mean and range of the state's size during them, in bytes."""

    results: int
    mean: float
    swing: int


def measured(x: Array, t: float, rng: np.random.Generator) -> float:
    """Return a noisy measurement of a drifting function."""
    return float(np.sin(3.0 * x + 0.05 * t).sum() + 0.1 * rng.normal())


def feed(agent: Agent, subject: Subject, steps: int, seed: int = 0, start: float = 1.0) -> float:
    """Show an agent ``steps`` results at random places; return the latest time."""
    rng = np.random.default_rng(seed)
    t = start
    for key in range(steps):
        place = subject.place(rng)
        agent.open(key, t, place)
        agent.tell(key, measured(subject.domain.at(place)[0], t, rng))
        t += 1.0
    return t - 1.0


def feed_with_keys(keys: Sequence[int], agent: Agent, subject: Subject) -> None:
    """Show an agent results under these keys; in each pair, the second arrives first."""
    rng = np.random.default_rng(6)
    for first, second in zip(keys[::2], keys[1::2], strict=True):
        t = keys.index(second) + 0.0
        agent.open(first, t, subject.place(rng))
        agent.open(second, t + 1.0, subject.place(rng))
        agent.tell(second, float(rng.normal()))
        agent.tell(first, float(rng.normal()))


def state_size(agent: Agent) -> int:
    """Size of an agent's state in bytes."""
    return sum(np.asarray(array).nbytes for array in agent.state().values())


def agent_state(optimizer: Optimizer) -> State:
    """Return a copy of the state of an optimizer's agent."""
    _, arrays = optimizer.parts()
    return copied({name: array for name, array in arrays.items() if name.startswith("agent/")})


def non_finite(optimizer: Optimizer) -> set[str]:
    """Names of the state's arrays that contain NaN or infinity."""
    numbers = {name: a for name, a in agent_state(optimizer).items() if a.dtype.kind == "f"}
    return {name for name, array in numbers.items() if not np.all(np.isfinite(array))}


def difference(one: State, other: State) -> str:
    """Names of the arrays in which two states differ in any bit; empty if there are none."""
    names = sorted(one.keys() | other.keys())
    return ", ".join(name for name in names if _bits(one.get(name)) != _bits(other.get(name)))


def believed(optimizer: Optimizer, t: float | None = None) -> Array | None:
    """Mean and deviation at some points; None if the policy has no posterior."""
    domain = optimizer.domain
    rng = np.random.default_rng(5)
    X = domain.scaled(rng.random((8, domain.dimension))) if isinstance(domain, Box) else None
    try:
        found = optimizer.belief(t, X)
        optimizer.best(t)
    except NoBeliefError:
        return None
    return np.array([found.mean, found.std])


def suggested(suggestion: Suggestion) -> tuple[Any, ...]:
    """The fields of a suggestion, for comparison with ==."""
    return suggestion.id, suggestion.t, suggestion.index, *suggestion.x.tolist()


def size_spans(subject: Subject, counts: Sequence[int]) -> Iterator[SizeSpan]:
    """Yield the state's size between each two of these numbers of results."""
    agent, t, before = subject.agent(), 0.0, 0
    for count in counts:
        seen = list[int]()
        for told in range(before, count, _FEW):
            t = feed(agent, subject, _FEW, seed=told, start=t + 1.0)
            seen.append(state_size(agent))
        yield SizeSpan(count - before, sum(seen) / len(seen), max(seen) - min(seen))
        before = count


def _bits(array: NDArray[Any] | None) -> tuple[Any, ...]:
    return () if array is None else (array.shape, str(array.dtype), array.tobytes())


def _begin(optimizer: Optimizer, x: Array | int, t: float) -> None:
    optimizer.begin(x, t)


def _inside(box: Box, x: Array) -> bool:
    if x.shape != (box.dimension,) or not np.all(np.isfinite(x)):
        return False
    return bool(
        np.all((x >= box.lower) & (x <= box.upper)) and np.allclose(box.snap(x[None])[0], x)
    )
