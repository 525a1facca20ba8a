"""A policy under test over a domain: optimizers of it, games to play with them, comparisons."""

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

_FEW = 5  # results between looks at the state

Event = Callable[[Optimizer], None]
"""One thing that happened to an optimizer, to be repeated on another."""


@dataclass(frozen=True)
class Subject:
    """A policy over a domain; every suggestion that it makes in a game must lie there."""

    policy: Policy
    domain: Domain
    log: list[Event] = field(default_factory=list)

    @property
    def where(self) -> str:
        """The domain, in the words of a report."""
        size = f"{len(self.domain)} points" if isinstance(self.domain, Finite) else "a Box"
        return f"(over {size})"

    def optimizer(self) -> Optimizer:
        """Return a fresh optimizer."""
        return Optimizer(self.domain, self.policy, seed=11)

    def agent(self) -> Agent:
        """Return a fresh agent."""
        return self.policy.start(self.domain)

    def place(self, rng: np.random.Generator) -> Places:
        """Draw a place of the domain."""
        return random_place(self.domain, rng)

    def some(self) -> Choices:
        """A part of the domain: every other point, or a Box at the middle of a coordinate."""
        if isinstance(self.domain, Finite):
            return self.domain.indices[::2]
        lower, upper = self.domain.lower, self.domain.upper
        middle = Lattice((0,), np.array([[0.5 * (lower[0] + upper[0])]]))
        others = [lattice for lattice in self.domain.lattices if 0 not in lattice.columns]
        return Box(lower, upper, [*others, middle])

    def ask(self, optimizer: Optimizer, t: float | None = None) -> Suggestion:
        """Ask, and see that what comes lies in the domain."""
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
        """Ask ``steps`` times; results come late, in any order, and some never."""
        rng = np.random.default_rng(seed)
        for _ in range(steps):
            self.ask(optimizer)
            waiting = list(optimizer.open)
            while len(waiting) > 3 or (waiting and rng.random() < 0.5):
                done = waiting.pop(int(rng.integers(len(waiting))))
                if rng.random() < 0.15:
                    self.cancel(optimizer, done.id)
                else:
                    self.tell(optimizer, done.id, value(done.x, done.t, rng))
        return optimizer


@dataclass(frozen=True)
class Span:
    """Some results, and the state's mean size among them and how far sizes lie apart, in bytes."""

    results: int
    mean: float
    swing: int


def value(x: Array, t: float, rng: np.random.Generator) -> float:
    """Return a noisy measurement of something that drifts."""
    return float(np.sin(3.0 * x + 0.05 * t).sum() + 0.1 * rng.normal())


def feed(agent: Agent, subject: Subject, steps: int, seed: int = 0, start: float = 1.0) -> float:
    """Let an agent see ``steps`` results at random places; return the latest time."""
    rng = np.random.default_rng(seed)
    t = start
    for key in range(steps):
        place = subject.place(rng)
        agent.open(key, t, place)
        agent.tell(key, value(subject.domain.at(place)[0], t, rng))
        t += 1.0
    return t - 1.0


def feed_under(keys: Sequence[int], agent: Agent, subject: Subject) -> None:
    """Let an agent see results under these keys; of every two, the second comes first."""
    rng = np.random.default_rng(6)
    for first, second in zip(keys[::2], keys[1::2], strict=True):
        t = keys.index(second) + 0.0
        agent.open(first, t, subject.place(rng))
        agent.open(second, t + 1.0, subject.place(rng))
        agent.tell(second, float(rng.normal()))
        agent.tell(first, float(rng.normal()))


def size(agent: Agent) -> int:
    """Bytes of an agent's state."""
    return sum(np.asarray(array).nbytes for array in agent.state().values())


def agent_state(optimizer: Optimizer) -> State:
    """A copy of the state of an optimizer's agent."""
    _, arrays = optimizer.parts()
    return copied({name: array for name, array in arrays.items() if name.startswith("agent/")})


def infinite(optimizer: Optimizer) -> set[str]:
    """Names of the state's arrays that hold NaN or infinity."""
    numbers = {name: a for name, a in agent_state(optimizer).items() if a.dtype.kind == "f"}
    return {name for name, array in numbers.items() if not np.all(np.isfinite(array))}


def difference(one: State, other: State) -> str:
    """Name the arrays in which two states differ, be it in a bit; empty if in none."""
    names = sorted(one.keys() | other.keys())
    return ", ".join(name for name in names if _bits(one.get(name)) != _bits(other.get(name)))


def belief(optimizer: Optimizer, t: float | None = None) -> Array | None:
    """Mean and deviation at some points; None where the policy has no belief."""
    domain = optimizer.domain
    rng = np.random.default_rng(5)
    X = domain.scaled(rng.random((8, domain.dimension))) if isinstance(domain, Box) else None
    try:
        found = optimizer.belief(t, X)
        optimizer.best(t)
    except NoBeliefError:
        return None
    return np.array([found.mean, found.std])


def asked(suggestion: Suggestion) -> tuple[Any, ...]:
    """What makes a suggestion, to be compared with ==."""
    return suggestion.id, suggestion.t, suggestion.index, *suggestion.x.tolist()


def sizes(subject: Subject, counts: Sequence[int]) -> Iterator[Span]:
    """Yield how large the state is between each two of these numbers of results."""
    agent, t, before = subject.agent(), 0.0, 0
    for count in counts:
        seen = list[int]()
        for told in range(before, count, _FEW):
            t = feed(agent, subject, _FEW, seed=told, start=t + 1.0)
            seen.append(size(agent))
        yield Span(count - before, sum(seen) / len(seen), max(seen) - min(seen))
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
