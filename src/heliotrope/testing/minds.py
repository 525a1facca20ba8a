"""What agents believe and would choose, compared with what others do."""

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

_FIRST = 10_000  # of the keys of further results, far from those of open evaluations
_GROWTH = 1.05  # of the noise in a step
_DRAWS = 4
_CANCELLED = 3  # in a row
_ROUNDING = 1e-6


def shown(
    subject: Subject, agents: tuple[Agent, ...], steps: int, start: float = 0.0
) -> Iterator[tuple[float, Places]]:
    """Show agents the same results after a time; yield the time after each, and its place.

    The results are noise alone, and of growing size: who is best changes from one to the next, and
    depends on how much each place was measured before.
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
    """Mean and variance at some places; None where the agent predicts nothing."""
    rng = np.random.default_rng(8)
    places = np.concatenate([subject.place(rng) for _ in range(8)])
    try:
        return np.array(agent.predict(t, places, count_open=True))
    except NoBeliefError:
        return None


def mind(agent: Agent, subject: Subject, t: float) -> Array:
    """What an agent predicts; where it predicts nothing, what it chooses."""
    belief = predicted(agent, subject, t)
    return _chosen(agent, t) if belief is None else belief


def alike(one: Array, other: Array) -> bool:
    """Whether two minds are the same but for rounding."""
    if one.shape != other.shape:
        return False
    scale = 1.0 + np.abs(other).max()
    return np.allclose(one, other, rtol=0.0, atol=_ROUNDING * scale)


def assert_same_mind(one: Agent, other: Agent, subject: Subject, t: float, who: str) -> None:
    """Two agents predict alike; where they predict nothing, they choose alike."""
    same = alike(mind(one, subject, t), mind(other, subject, t))
    assert same, f"{who} it believes or chooses otherwise"


def assert_apart(subject: Subject, steps: int) -> None:
    """What one agent is told changes neither those that there are nor those to come."""
    agent, other = subject.agent(), subject.agent()
    life, state = _life(agent, subject, steps), copied(agent.state())
    _life(other, subject, steps, start=2.0 * steps)
    changed = difference(state, agent.state())
    assert not changed, f"results told to another agent changed its state: {changed}"
    same = alike(mind(agent, subject, steps + 1.0), life[-1])
    assert same, "results told to another agent changed what it believes or chooses"
    same = all(map(alike, _life(subject.agent(), subject, steps), life))
    assert same, "after results told to another agent a fresh one believes or chooses otherwise"


def assert_same_state(first: Agent, second: Agent, who: str) -> None:
    """Two agents have the same state but for rounding."""
    one, other = first.state(), second.state()
    names = sorted(one.keys() | other.keys())
    differs = ", ".join(name for name in names if not _close(one.get(name), other.get(name)))
    assert not differs, f"{who} its state is another: {differs}"


def assert_cancelled_for_ever(subject: Subject, steps: int) -> None:
    """Results are worth the same whether others were cancelled before, where one has measured.

    States are compared right after a result: until then, what fades with time may do so early.
    """
    agent, twin, who = subject.agent(), subject.agent(), "some results after cancelled asks"
    for t, place in shown(subject, (agent, twin), steps):
        assert_same_mind(agent, twin, subject, t, who)
        if predicted(agent, subject, t) is None:
            assert_same_state(agent, twin, who)
        for key in range(_CANCELLED):
            agent.open(key, t, place)
        for key in range(_CANCELLED):
            agent.cancel(key)


def assert_restored(subject: Subject, steps: int) -> None:
    """An agent that is made anew from its state after every result goes on as one that is not."""
    before = 6 * steps
    agent, restored, who = subject.agent(), subject.agent(), f"restored after {before} results"
    *_, (latest, _) = shown(subject, (agent,), before)
    restored.restore(copied(agent.state()))
    for t, _ in shown(subject, (agent, restored), steps, latest):
        assert_same_mind(agent, restored, subject, t, who)
        restored.restore(copied(restored.state()))
    same = np.array_equal(_chosen(agent, t), _chosen(restored, t))
    assert same, f"{who} it chooses otherwise"


def renamed(state: State, names: Mapping[int, int]) -> State:
    """A copy of a state with other keys in place of those in it."""
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


def _life(agent: Agent, subject: Subject, steps: int, start: float = 0.0) -> list[Array]:
    """The agent's mind after each of some results."""
    return [mind(agent, subject, t) for t, _ in shown(subject, (agent,), steps, start)]


def _chosen(agent: Agent, t: float) -> Array:
    stream = RNGStream(9)
    return np.array([agent.choose(t, stream.at(i)) for i in range(_DRAWS)], dtype=float)
