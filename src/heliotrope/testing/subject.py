"""The policy under test: its optimizers and agents, simulated runs, and comparisons of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heliotrope.domains import Box, Choices, Domain, Finite, Lattice, Places, all_choices
from heliotrope.errors import NoBeliefError
from heliotrope.ledger import Suggestion
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Agent, Policy
from heliotrope.policies.model_free import random_choice
from heliotrope.precision import Noise
from heliotrope.serialization.codec import State, copied
from heliotrope.surroundings import RNGStream
from heliotrope.validation import Array

_FIRST = 10_000  # first key of shown results, far from the keys of open evaluations
_GROWTH = 1.05  # of the noise per step
_DRAWS = 4
_CANCELLED = 3  # in a row
_ROUNDING = 1e-6
_NOISES: tuple[Noise, ...] = ({}, {"std": 0.3}, {}, {"n": 4})  # of the results of a game, in turn


@dataclass(frozen=True)
class Subject:
    """A policy under test and its domain; ``log`` repeats its games on another optimizer."""

    policy: Policy
    domain: Domain
    log: list[Callable[[Optimizer], object]] = field(default_factory=list)

    @property
    def where(self) -> str:
        """The domain, described for a report."""
        size = f"{len(self.domain)} points" if isinstance(self.domain, Finite) else "a Box"
        return f"(over {size})"

    def optimizer(self) -> Optimizer:
        return Optimizer(self.domain, self.policy, seed=11)

    def agent(self) -> Agent:
        return self.policy.start(self.domain)

    def place(self, rng: np.random.Generator) -> Places:
        return random_choice(all_choices(self.domain), rng)

    def part(self) -> Choices:
        """Return a part of the domain: every other point, or a Box with one coordinate fixed."""
        if isinstance(self.domain, Finite):
            return self.domain.indices[::2]
        lower, upper = self.domain.lower, self.domain.upper
        middle = Lattice((0,), np.array([[0.5 * (lower[0] + upper[0])]]))
        lattices = [lattice for lattice in self.domain.lattices if 0 not in lattice.columns]
        return Box(lower, upper, [*lattices, middle])

    def ask(self, optimizer: Optimizer) -> Suggestion:
        """Ask, and check that the suggestion lies in the domain."""
        suggestion = optimizer.ask()
        x, index = suggestion.x, suggestion.index
        if isinstance(self.domain, Box):
            assert _inside(self.domain, x), f"{x} was suggested"
        else:
            assert index in range(len(self.domain)), f"index {index} was suggested"
        self.log.append(methodcaller("begin", x if index is None else index, suggestion.t))
        return suggestion

    def game(self, optimizer: Optimizer, steps: int, seed: int = 0) -> Optimizer:
        """Ask ``steps`` times; results arrive late, in any order, and some never.

        Some results have their own noise.
        """
        rng = np.random.default_rng(seed)
        for _ in range(steps):
            self.ask(optimizer)
            waiting = list(optimizer.open)
            while len(waiting) > 3 or (waiting and rng.random() < 0.5):
                done = waiting.pop(int(rng.integers(len(waiting))))
                if rng.random() < 0.15:
                    call = methodcaller("cancel", done.id)
                else:
                    y, noise = measured(done.x, done.t, rng), _NOISES[done.id % len(_NOISES)]
                    call = methodcaller("tell", done.id, y, **noise)
                call(optimizer)
                self.log.append(call)
        return optimizer


def measured(x: Array, t: float, rng: np.random.Generator) -> float:
    """Return a noisy measurement of a drifting function."""
    return float(np.sin(3.0 * x + 0.05 * t).sum() + 0.1 * rng.normal())


def feed(agent: Agent, subject: Subject, steps: int, seed: int = 0, start: float = 1.0) -> float:
    """Show an agent ``steps`` results at random places; return the latest time."""
    rng = np.random.default_rng(seed)
    for key in range(steps):
        place = subject.place(rng)
        agent.open(key, start + key, place)
        agent.tell(key, measured(subject.domain.at(place)[0], start + key, rng))
    return start + steps - 1.0


def feed_with_keys(keys: Sequence[int], agent: Agent, subject: Subject) -> None:
    """Show an agent results under these keys; in each pair, the second arrives first."""
    rng = np.random.default_rng(6)
    for first, second in zip(keys[::2], keys[1::2], strict=True):
        t = keys.index(second) + 0.0
        agent.open(first, t, subject.place(rng))
        agent.open(second, t + 1.0, subject.place(rng))
        agent.tell(second, float(rng.normal()))
        agent.tell(first, float(rng.normal()))


def shown_results(
    subject: Subject, agents: tuple[Agent, ...], steps: int, start: float = 0.0
) -> Iterator[tuple[float, Places]]:
    """Show agents the same results after a start time; yield the next time and each place.

    The results are pure noise of growing size. So the best place keeps changing, and depends on
    how often each place was measured before.
    """
    rng = np.random.default_rng(int(start))
    for step in range(1, steps + 1):
        key, t = _FIRST + step, start + step
        place, y = subject.place(rng), _GROWTH**t * float(rng.normal())
        for agent in agents:
            agent.open(key, t, place)
            agent.tell(key, y)
        yield t + 1.0, place


def suggested(suggestion: Suggestion) -> tuple[Any, ...]:
    """The fields of a suggestion, for comparison with ==."""
    return suggestion.id, suggestion.t, suggestion.index, *suggestion.x.tolist()


def believed(optimizer: Optimizer) -> Array | None:
    """Mean and deviation at some points; None if the policy has no posterior."""
    domain, rng = optimizer.domain, np.random.default_rng(5)
    X = domain.scaled(rng.random((8, domain.dimension))) if isinstance(domain, Box) else None
    try:
        belief = optimizer.belief(X=X)
        optimizer.best()
    except NoBeliefError:
        return None
    return np.array([belief.mean, belief.std])


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


def assert_same_state(first: State, twin: State, otherwise: str, *, rounded: bool = False) -> None:
    """Two states are equal in every bit, or up to rounding; ``otherwise`` says what went wrong."""
    names = sorted(first.keys() | twin.keys())
    differs = [name for name in names if not _same(first.get(name), twin.get(name), rounded)]
    assert not differs, f"{otherwise}: {', '.join(differs)}"


def assert_same_behaviour(first: Agent, twin: Agent, subject: Subject, t: float, who: str) -> None:
    """Two agents have the same predictions or, if they have none, the same choices."""
    same = _close(_behaviour(first, subject, t), _behaviour(twin, subject, t))
    assert same, f"{who} its predictions or choices differ"


def assert_independent(subject: Subject, steps: int) -> None:
    """Results told to one agent affect neither existing nor later agents."""
    agent, other, who = subject.agent(), subject.agent(), "results told to another agent changed"
    life, state = _behaviours(agent, subject, steps), copied(agent.state())
    _behaviours(other, subject, steps, start=2.0 * steps)
    assert_same_state(state, agent.state(), f"{who} its state")
    same = _close(_behaviour(agent, subject, steps + 1.0), life[-1])
    assert same, f"{who} its predictions or choices"
    same = all(map(_close, _behaviours(subject.agent(), subject, steps), life))
    assert same, f"{who} the predictions or choices of a new one"


def assert_cancelled_forever(subject: Subject, steps: int) -> None:
    """Earlier cancelled evaluations at the same place do not change the effect of results.

    States are compared right after a result, because an agent may discount old results early.
    """
    agent, twin, who = subject.agent(), subject.agent(), "some results after cancelled asks"
    for t, place in shown_results(subject, (agent, twin), steps):
        assert_same_behaviour(agent, twin, subject, t, who)
        if _predicted(agent, subject, t) is None:
            otherwise = f"{who} its state differs"
            assert_same_state(agent.state(), twin.state(), otherwise, rounded=True)
        for key in range(_CANCELLED):
            agent.open(key, t, place)
        for key in range(_CANCELLED):
            agent.cancel(key)


def assert_restored(subject: Subject, steps: int) -> None:
    """An agent that is restored from its state after every result continues unchanged."""
    before = 6 * steps
    agent, restored, who = subject.agent(), subject.agent(), f"restored after {before} results"
    *_, (latest, _) = shown_results(subject, (agent,), before)
    restored.restore(copied(agent.state()))
    for t, _ in shown_results(subject, (agent, restored), steps, latest):
        assert_same_behaviour(agent, restored, subject, t, who)
        restored.restore(copied(restored.state()))
    assert np.array_equal(_chosen(agent, t), _chosen(restored, t)), f"{who} its choices differ"


def _predicted(agent: Agent, subject: Subject, t: float) -> Array | None:
    """Mean and variance at some places; None if the agent has no posterior."""
    rng = np.random.default_rng(8)
    places = np.concatenate([subject.place(rng) for _ in range(8)])
    try:
        return np.array(agent.predict(t, places, count_open=True))
    except NoBeliefError:
        return None


def _chosen(agent: Agent, t: float) -> Array:
    stream = RNGStream(9)
    return np.array([agent.choose(t, stream.at(i)) for i in range(_DRAWS)], dtype=float)


def _behaviour(agent: Agent, subject: Subject, t: float) -> Array:
    """Return an agent's predictions or, if it has none, its choices."""
    belief = _predicted(agent, subject, t)
    return _chosen(agent, t) if belief is None else belief


def _close(first: Array, second: Array) -> bool:
    """Whether two behaviours are equal up to rounding."""
    if first.shape != second.shape:
        return False
    scale = 1.0 + np.abs(second).max()
    return np.allclose(first, second, rtol=0.0, atol=_ROUNDING * scale)


def _behaviours(agent: Agent, subject: Subject, steps: int, start: float = 0.0) -> list[Array]:
    results = shown_results(subject, (agent,), steps, start)
    return [_behaviour(agent, subject, t) for t, _ in results]


def _same(first: NDArray[Any] | None, second: NDArray[Any] | None, rounded: bool) -> bool:
    if first is None or second is None or first.shape != second.shape:
        return False
    if not rounded:
        return first.dtype == second.dtype and first.tobytes() == second.tobytes()
    if first.dtype.kind == second.dtype.kind == "f":
        return np.allclose(first, second, rtol=_ROUNDING, atol=_ROUNDING, equal_nan=True)
    return np.array_equal(first, second)


def _inside(box: Box, x: Array) -> bool:
    inside = x.shape == (box.dimension,) and np.all((x >= box.lower) & (x <= box.upper))
    return bool(inside and np.allclose(box.snap(x[None])[0], x))
