"""Comparisons of agents: their predictions, choices and states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heliotrope.domains import Places
from heliotrope.errors import NoBeliefError
from heliotrope.policies import Agent
from heliotrope.rng import RNGStream
from heliotrope.serialization.state import State, copied
from heliotrope.testing.subject import Subject, difference
from heliotrope.validation import Array

_FIRST = 10_000  # first key of further results, far from the keys of open evaluations
_GROWTH = 1.05  # of the noise per step
_DRAWS = 4
_CANCELLED = 3  # in a row
_ROUNDING = 1e-6


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


def predicted(agent: Agent, subject: Subject, t: float) -> Array | None:
    """Mean and variance at some places; None if the agent has no posterior."""
    rng = np.random.default_rng(8)
    places = np.concatenate([subject.place(rng) for _ in range(8)])
    try:
        return np.array(agent.predict(t, places, count_open=True))
    except NoBeliefError:
        return None


def behaviour(agent: Agent, subject: Subject, t: float) -> Array:
    """Return an agent's predictions or, if it has none, its choices."""
    belief = predicted(agent, subject, t)
    return _chosen(agent, t) if belief is None else belief


def close(one: Array, other: Array) -> bool:
    """Whether two behaviours are equal up to rounding."""
    if one.shape != other.shape:
        return False
    scale = 1.0 + np.abs(other).max()
    return np.allclose(one, other, rtol=0.0, atol=_ROUNDING * scale)


def assert_same_behaviour(one: Agent, other: Agent, subject: Subject, t: float, who: str) -> None:
    """Two agents have the same predictions or, if they have none, the same choices."""
    same = close(behaviour(one, subject, t), behaviour(other, subject, t))
    assert same, f"{who} its predictions or choices differ"


def assert_independent(subject: Subject, steps: int) -> None:
    """Results told to one agent affect neither existing nor later agents."""
    agent, other = subject.agent(), subject.agent()
    life, state = _behaviours(agent, subject, steps), copied(agent.state())
    _behaviours(other, subject, steps, start=2.0 * steps)
    changed = difference(state, agent.state())
    assert not changed, f"results told to another agent changed its state: {changed}"
    same = close(behaviour(agent, subject, steps + 1.0), life[-1])
    assert same, "results told to another agent changed its predictions or choices"
    same = all(map(close, _behaviours(subject.agent(), subject, steps), life))
    assert same, "results told to another agent changed the predictions or choices of a new one"


def assert_same_state(first: Agent, second: Agent, who: str) -> None:
    """Two agents have the same state up to rounding."""
    one, other = first.state(), second.state()
    names = sorted(one.keys() | other.keys())
    differs = ", ".join(name for name in names if not _close(one.get(name), other.get(name)))
    assert not differs, f"{who} its state differs: {differs}"


def assert_cancelled_forever(subject: Subject, steps: int) -> None:
    """Earlier cancelled evaluations at the same place do not change the effect of results.

    States are compared right after a result, because an agent may discount old results early.
    """
    agent, twin, who = subject.agent(), subject.agent(), "some results after cancelled asks"
    for t, place in shown_results(subject, (agent, twin), steps):
        assert_same_behaviour(agent, twin, subject, t, who)
        if predicted(agent, subject, t) is None:
            assert_same_state(agent, twin, who)
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
    same = np.array_equal(_chosen(agent, t), _chosen(restored, t))
    assert same, f"{who} its choices differ"


def with_other_keys(state: State, names: Mapping[int, int]) -> State:
    """Return a copy of a state in which keys are replaced."""
    copies = copied(state)
    for array in copies.values():
        for key, name in names.items():
            array[array == key] = name
    return copies


def _close(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    if one is None or other is None or one.shape != other.shape:
        return False
    if one.dtype.kind == other.dtype.kind == "f":
        return np.allclose(one, other, rtol=_ROUNDING, atol=_ROUNDING, equal_nan=True)
    return np.array_equal(one, other)


def _behaviours(agent: Agent, subject: Subject, steps: int, start: float = 0.0) -> list[Array]:
    """Return the agent's behaviour after each of some results."""
    return [behaviour(agent, subject, t) for t, _ in shown_results(subject, (agent,), steps, start)]


def _chosen(agent: Agent, t: float) -> Array:
    stream = RNGStream(9)
    return np.array([agent.choose(t, stream.at(i)) for i in range(_DRAWS)], dtype=float)
