"""The frame in which an agent works, an agent for one model, and its replacement by a newer one.

A frame is the sign, scale and unit of values, places and times. A new agent must first be shown the
results that are kept. That takes long, so a study shows it a few at each operation; meanwhile the
agent before it chooses.

Symbols
-------
y, x, t   a value, a point and a time as the user gives them
z, u, n   the same in the frame: z = w(s y), u in the unit cube, n = told + (t - latest) / pace
s, w      sign and warp of the values

What people see of a learned belief is wider than the model's own (:func:`widened`). A learned world
leaves out much: other kernels, other rates, changes that it has not met. Its variances are
multiplied by 1.7 + 5 / n after n results. In joint samples, 30 % of what is added is independent at
each place. Otherwise the believed best would be too sure to be the best. Choices use the model's
own variances, without the factor.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heliotrope.domains import Choices, Places, UnitCube
from heliotrope.estimation import Model
from heliotrope.linalg import first_that_works
from heliotrope.policies.learner import CubeEvaluation, columns, evaluations
from heliotrope.policies.protocol import Agent, Doubting, Policy, Signed
from heliotrope.precision import Precision
from heliotrope.serialization.codec import State, part, under
from heliotrope.validation import Array
from heliotrope.warps import IDENTITY, Moments, Warp

# 95 % intervals then hold 95 % of the values, measured with seeds that benchmarks do not use
_LASTING, _EARLY = 1.7, 5.0
_INDEPENDENT = 0.3  # share of what is added that each place has for itself, in samples
_AT_ONCE = 12  # results that one operation shows to an agent with a new model


@dataclass(frozen=True)
class Frame:
    """Turns values, places and times into those of an agent, and its answers back.

    Without a ``cube``, places are the user's own. Time is in units of the ``pace``. With
    ``counts`` it is the number of results: ``told`` of them at the time ``latest``.

    Examples
    --------
    >>> frame = Frame(sign=-1.0, latest=10.0, told=4.0, pace=2.0)
    >>> frame.time(14.0), frame.value(3.0)
    (6.0, -3.0)
    >>> frame.moments(np.array([-3.0]), np.array([0.5]))
    (array([3.]), array([0.5]))
    """

    sign: float = 1.0
    cube: UnitCube | None = None
    counts: bool = False
    latest: float = 0.0
    told: float = 0.0
    pace: float = 1.0
    warp: Warp = IDENTITY

    def learned(self, model: Model, latest: float, told: float) -> Frame:
        """The frame for a model, after ``told`` results of which the latest was at ``latest``."""
        own = replace(self, warp=model.world.warp, pace=model.pace)
        return replace(own, latest=latest, told=told) if self.counts else own

    @property
    def is_linear(self) -> bool:
        """Whether a value is Gaussian if z is."""
        return self.warp == IDENTITY

    # ---- into the frame

    def policy(self, policy: Policy) -> Policy:
        """The policy for signed values; its parameters keep their meaning for the user's values."""
        if self.sign < 0.0 and isinstance(policy, Signed):
            negated: Policy = policy.negated()
            return negated
        return policy

    def time(self, t: float) -> float:
        """The time in the frame."""
        return self.told + (t - self.latest) / self.pace

    def places(self, places: Places) -> Places:
        return places if self.cube is None else self.cube.enter(places)

    def choices(self, choices: Choices) -> Choices:
        return choices if self.cube is None else self.cube.choices(choices)

    def value(self, y: float) -> float:
        return float(self.warp.inside(self.sign * y))

    def precision(self, y: float, precision: Precision) -> Precision:
        """The precision of a result y; its own variance follows the slope of the warp."""
        if precision.variance is None or self.is_linear:
            return precision
        slope = float(self.warp.slope(self.sign * y))
        return Precision(precision.variance * slope**2, precision.repeats)

    # ---- and back

    def place(self, place: Places, choices: Choices) -> Places:
        """The place among choices of the user's domain, given one of the frame."""
        return place if self.cube is None else self.cube.leave(place, choices)

    def values(self, z: Array) -> Array:
        """Values, such as draws; scores of the frame become values in the order of the frame."""
        return self.sign * self.warp.outside(z)

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of values, if z is Gaussian with this mean and variance."""
        center, spread = self.warp.moments(mean, variance)
        return self.sign * center, spread

    def covariance(self, joint: Array, here: Moments, there: Moments | None = None) -> Array:
        """Covariance of values at places with others, if that of z is ``joint``.

        ``here`` and ``there`` are means and variances of z; by default both are the same.
        """
        if there is None:
            return self.warp.covariance(here[0], joint)
        return self.warp.cross_covariance(here, there, joint)

    def noise(self, mean: float, noise: float) -> float:
        """The noise variance of values, at a mean of z and with a noise variance of z."""
        return float(self.warp.moments(np.array([mean]), np.array([noise]))[1][0])


def widening(results: int) -> float:
    """The factor of the variances after some results."""
    return _LASTING + _EARLY / max(results, 1)


def widened(
    draws: Array, mean: Array, variance: Array, factor: float, rng: np.random.Generator
) -> Array:
    """Draws (s, q) whose variances are those of a belief (q,) times a factor."""
    independent = _INDEPENDENT * (factor - 1.0)
    together = mean + np.sqrt(factor - independent) * (draws - mean)
    errors = np.sqrt(independent * variance) * rng.standard_normal(draws.shape)
    return np.asarray(together + errors)


@dataclass(eq=False)
class InnerAgent:
    """An agent for a model, and the evaluations that it is still to be shown, oldest first.

    It works in a ``frame``. ``contradicted`` are the keys of results that later ones contradict.
    """

    model: Model
    agent: Agent
    frame: Frame
    unseen: Sequence[CubeEvaluation]
    contradicted: frozenset[int] = frozenset()

    @property
    def center(self) -> float:
        """The mean of the values in the frame."""
        return self.model.world.mean

    @property
    def doubted(self) -> set[int]:
        """The keys of the evaluations whose values it takes for faults."""
        return set(self.agent.doubted) if isinstance(self.agent, Doubting) else set()

    def open(self, evaluation: CubeEvaluation) -> None:
        """Begin an evaluation, the latest one."""
        if self.unseen:
            self.unseen = [*self.unseen, evaluation]
        else:
            self._open(evaluation)

    def tell(self, key: int, y: float, precision: Precision) -> None:
        """Take the value of an open evaluation."""
        i = self._queued(key)
        if i is None:
            self._tell(key, y, precision)
        else:
            told = replace(self.unseen[i], y=y, precision=precision)
            self.unseen = [*self.unseen[:i], told, *self.unseen[i + 1 :]]

    def cancel(self, key: int) -> None:
        """Forget an open evaluation."""
        i = self._queued(key)
        if i is None:
            self.agent.cancel(key)
        else:
            self.unseen = [*self.unseen[:i], *self.unseen[i + 1 :]]

    def see(self, count: int | None = None) -> None:
        """Show the agent the next evaluations, by default all."""
        now, self.unseen = self.unseen[:count], [] if count is None else self.unseen[count:]
        for evaluation in now:
            self._open(evaluation)
            if not np.isnan(evaluation.y):
                self._tell(evaluation.key, evaluation.y, evaluation.precision)

    def _open(self, evaluation: CubeEvaluation) -> None:
        self.agent.open(evaluation.key, self.frame.time(evaluation.t), evaluation.place)

    def _tell(self, key: int, y: float, precision: Precision) -> None:
        self.agent.tell(key, self.frame.value(y), self.frame.precision(y, precision))

    def _queued(self, key: int) -> int | None:
        """The position of an open evaluation that the agent was not shown yet, or None."""
        asks = enumerate(self.unseen)
        return next((i for i, ask in asks if ask.key == key and np.isnan(ask.y)), None)

    def state(self) -> State:
        """Its state as arrays, without the model."""
        return {
            "timeline": np.array([self.frame.latest, self.frame.told]),
            "contradicted": np.array(sorted(self.contradicted), dtype=np.int64),
            **columns("unseen", self.unseen),
        } | under("inner/", self.agent.state())

    @classmethod
    def restored(cls, model: Model, agent: Agent, frame: Frame, state: State) -> InnerAgent:
        """Read :meth:`state` into a new agent for the model."""
        agent.restore(part(state, "inner/"))
        own = frame.learned(model, *state["timeline"].tolist())
        contradicted = frozenset(state["contradicted"].tolist())
        return cls(model, agent, own, evaluations("unseen", state), contradicted)


class Succession:
    """The inner agent that chooses, and one for a newer model that is to take over from it."""

    def __init__(self, first: InnerAgent, following: InnerAgent | None = None) -> None:
        self.current, self.next = first, following
        self._rests = False  # the current one is not shown what happens

    def open(self, evaluation: CubeEvaluation) -> None:
        for agent in self._shown():
            agent.open(evaluation)
        self._go_on()

    def tell(self, key: int, y: float, precision: Precision) -> bool:
        """Take a value; return whether earlier values are no longer doubted."""
        before = self.current.doubted
        for agent in self._shown():
            agent.tell(key, y, precision)
        confirmed = self.next is None and not before <= self.current.doubted
        self._go_on()
        return confirmed

    def cancel(self, key: int) -> None:
        for agent in self._shown():
            agent.cancel(key)
        self._go_on()

    def begin(self, new: InnerAgent, *, stepwise: bool) -> None:
        """Let an agent take over: at once, or after some more operations."""
        if stepwise:  # otherwise a newer model would replace this one before it is used
            first_that_works("The model", self.finish, lambda: None)
        new.see(_AT_ONCE if stepwise else None)
        self.next = new
        self._switch()

    def finish(self) -> None:
        """Let the next agent see all results, and take over."""
        if self.next is not None:
            following, self.next = self.next, None  # dropped if it fails
            following.see()
            self.current, self._rests = following, False

    def rest(self) -> None:
        """Leave the current agent as it is, until another one takes over."""
        self._rests, self.next = True, None

    def _shown(self) -> list[InnerAgent]:
        current = [] if self._rests else [self.current]
        return current if self.next is None else [*current, self.next]

    def _go_on(self) -> None:
        if self.next is not None:
            self.next.see(_AT_ONCE)
            self._switch()

    def _switch(self) -> None:
        if self.next is not None and not self.next.unseen:
            self.current, self.next, self._rests = self.next, None, False

    def state(self) -> State:
        """The state of both as arrays; the newest model is known elsewhere."""
        if self.next is None:
            return self.current.state()
        model = json.dumps(self.current.model.to_json()).encode()
        own = {"inner_model": np.frombuffer(model, dtype=np.uint8)} | self.current.state()
        return own | under("next/", self.next.state())

    @classmethod
    def restored(
        cls, newest: Model, start: Callable[[Model], Agent], frame: Frame, state: State
    ) -> Succession:
        """Read :meth:`state`, given the newest model and what starts the agent of a model.

        The agents' frames are the ``frame`` for their models.
        """
        if "inner_model" not in state:
            return cls(InnerAgent.restored(newest, start(newest), frame, state))
        model = Model.from_json(json.loads(state["inner_model"].tobytes()))
        following = InnerAgent.restored(newest, start(newest), frame, part(state, "next/"))
        return cls(InnerAgent.restored(model, start(model), frame, state), following)
