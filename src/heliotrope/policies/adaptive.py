"""A policy that estimates its model from the latest results, in any unit.

The model (mean, variance, noise, kernel, length scale and drift) is re-estimated as results come.
A recipe makes the inner policy from it. Both live in the unit cube.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np

from heliotrope.domains import (
    Box,
    Choices,
    Domain,
    Places,
    UnitCube,
    all_choices,
    initial_count,
)
from heliotrope.errors import InputError, NoBeliefError, TimeError
from heliotrope.estimation import Model
from heliotrope.linalg import NUMERICAL_FAILURES, first_that_works, trouble
from heliotrope.policies.fleet import Fleet
from heliotrope.policies.frame import Frame, InnerAgent, Succession, widened, widening
from heliotrope.policies.learner import (
    CubeEvaluation,
    Estimation,
    Knowledge,
    Learner,
    Update,
    columns,
    evaluations,
)
from heliotrope.policies.protocol import (
    TOLD_AT_ONCE,
    Agent,
    Recipe,
    Sampling,
    Selective,
    Signed,
    Weighing,
)
from heliotrope.posterior import Accuracy
from heliotrope.precision import USUAL, Precision, check_size
from heliotrope.serialization.codec import State, register
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array, short_repr

T = TypeVar("T")
Query: TypeAlias = Callable[[InnerAgent, float], T]
"""A question to an inner agent, about a time of its frame."""

# cancelled evaluations whose points stay in a box's dictionary; more, if more results count
_MOST_CANCELLED = 50


@register
@dataclass(frozen=True)
class Adaptive:
    """Estimate the model from the latest results, and choose as the recipe's policy does.

    The first points are spread out over the domain. With ``deferred`` the agent only says that an
    estimate is due, and is told what it found. It starts from what a ``fleet`` has learned.

    Examples
    --------
    >>> import heliotrope as ht
    >>> from heliotrope.policies.auto import Tracking
    >>> opt = ht.Optimizer(ht.Box(-5, 5), Adaptive(Tracking()), seed=0)
    >>> for _ in range(20):
    ...     s = opt.ask()
    ...     opt.tell(s, 1000.0 - float(s.x[0] - 2.0) ** 2)
    >>> abs(opt.best().x[0] - 2.0) < 0.2
    np.True_
    """

    recipe: Recipe
    deferred: bool = False
    fleet: Fleet | None = None

    def __post_init__(self) -> None:
        if isinstance(self.recipe, type) or not isinstance(self.recipe, Recipe):
            raise InputError("a recipe, such as Named(name)", repr(self.recipe))

    def start(self, domain: Domain) -> AdaptiveAgent:
        return AdaptiveAgent(self, domain)

    def negated(self) -> Adaptive:
        recipe: Recipe = self.recipe.negated() if isinstance(self.recipe, Signed) else self.recipe
        fleet = None if self.fleet is None else self.fleet.negated()
        return replace(self, recipe=recipe, fleet=fleet)


class AdaptiveAgent:
    """An agent of the recipe's policy, and what is known to re-estimate the model from.

    The inner agent follows from the knowledge at the latest update, and all events since. While a
    new one is still shown the latest results, the one before it chooses.
    """

    def __init__(self, policy: Adaptive, domain: Domain) -> None:
        self._recipe, self._defers = policy.recipe, policy.deferred
        self._unit = UnitCube(domain)
        self._frame = Frame(cube=self._unit, counts=self._recipe.counts)
        self._domain = self._unit.domain
        self._choices, fleet = all_choices(domain), policy.fleet
        if fleet is not None:
            fleet = replace(fleet, places=self._frame.places(fleet.places))
        self._learner = Learner(self._recipe, self._domain, fleet)
        self._starts_apart, self._resting = fleet is None, False
        self._contradicted: Mapping[int, float] | None = None  # as the latest update says
        self._cancelled = 0  # evaluations since the inner agent was built
        self.knowledge = Knowledge() if fleet is None else Knowledge(fleet.start)
        self._open = dict[int, CubeEvaluation]()
        first = self._new_agent(self.knowledge, {})
        first.see()
        self._inner = Succession(first)

    @property
    def model(self) -> Model:
        return self.knowledge.model

    @property
    def inner(self) -> Agent:
        """The agent of the recipe's policy."""
        return self._inner.current.agent

    def choose(self, t: float, make_rng: RNGFactory) -> Places:
        return self._choose(
            self._choices, t, make_rng, lambda inner, at: inner.agent.choose(at, make_rng)
        )

    def choose_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        inside = self._frame.choices(choices)
        return self._choose(
            choices,
            t,
            make_rng,
            lambda inner, at: self._selective(inner.agent).choose_among(inside, at, make_rng),
        )

    def _choose(
        self, choices: Choices, t: float, make_rng: RNGFactory, choose: Query[Places]
    ) -> Places:
        """One of the choices: at first one apart from the others, then the inner agent's."""
        if self._is_first():
            return self._apart(choices, make_rng)
        check = self._check(choices)
        if check is not None:
            return self._frame.place(check, choices)
        place = self._answer(t, choose, lambda: self._frame.places(self._apart(choices, make_rng)))
        return self._frame.place(place, choices)

    def _check(self, choices: Choices) -> Places | None:
        """The place whose value would show whether another regime began, unless it is open."""
        check = self.knowledge.check
        if check is None or any(np.array_equal(ask.place, check) for ask in self._open.values()):
            return None
        inside = self._frame.choices(choices)
        near = inside.snap(check) if isinstance(inside, Box) else inside[inside == check]
        return check if len(near) and np.allclose(near, check) else None

    def best(self, t: float, make_rng: RNGFactory) -> Places:
        place = self._answer(t, lambda inner, at: inner.agent.best(at, make_rng))
        return self._frame.place(place, self._choices)

    def best_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        inside = self._frame.choices(choices)
        place = self._answer(
            t, lambda inner, at: self._selective(inner.agent).best_among(inside, at, make_rng)
        )
        return self._frame.place(place, choices)

    def open(self, key: int, t: float, place: Places) -> None:
        evaluation = CubeEvaluation(t, self._frame.places(place), key=key)
        opened = {**self._open, key: evaluation}
        try:
            self._show(lambda: self._inner.open(evaluation), self.knowledge, opened)
        except TimeError:
            raise _too_early(t) from None

    def tell(
        self, key: int, y: float, precision: Precision = USUAL, *, contradicts: bool = False
    ) -> None:
        """Take a value; re-estimate the model if that is due and not deferred.

        It is due after some results, and after one that ``contradicts`` the model.
        """
        asked, value = self._open[key], check_size(y)
        if asked.t < self.knowledge.since:
            self.cancel(key)
            return
        result = replace(asked, y=value, precision=precision)
        knowledge = self._learner.after(self.knowledge, result)
        knowledge = self._learner.distrusted(knowledge) if contradicts else knowledge
        waiting = {other: ask for other, ask in self._open.items() if other != key}
        estimation = None if self._defers else self._learner.estimation(knowledge)
        if estimation is not None:
            self._become(self._learner.updated(knowledge, estimation.run()), waiting)
            return
        confirms_doubts = self._show(
            lambda: self._inner.tell(key, value, precision), knowledge, waiting
        )
        if confirms_doubts:
            self._become(knowledge, waiting)

    def cancel(self, key: int) -> None:
        waiting = {other: ask for other, ask in self._open.items() if other != key}
        self._show(lambda: self._inner.cancel(key), self.knowledge, waiting)
        self._cancelled += 1
        count = len(self.knowledge.latest) + len(self._open)
        if isinstance(self._domain, Box) and self._cancelled > max(count, _MOST_CANCELLED):
            self._become(self.knowledge, self._open)

    def predict(self, t: float, places: Places, *, count_open: bool) -> tuple[Array, Array]:
        return self._predict(t, places, 1.0, count_open=count_open)

    def predict_for_people(
        self, t: float, places: Places, *, count_open: bool
    ) -> tuple[Array, Array]:
        """Like :meth:`predict`, but the variances of a learned world allow for a wrong model."""
        return self._predict(t, places, self._widening, count_open=count_open)

    def _predict(
        self, t: float, places: Places, factor: float, *, count_open: bool
    ) -> tuple[Array, Array]:
        """Mean and variance of f_t, if the agent's variances are multiplied by a factor."""
        inside = self._frame.places(places)

        def predict(inner: InnerAgent, at: float) -> tuple[Array, Array]:
            mean, variance = inner.agent.predict(at, inside, count_open=count_open)
            return inner.frame.moments(mean, factor * variance)

        return self._answer(t, predict)

    def scores(self, t: float, places: Places, make_rng: RNGFactory) -> Array:
        inside = self._frame.places(places)

        def score(inner: InnerAgent, at: float) -> Array:
            return inner.frame.values(self._weighing(inner.agent).scores(at, inside, make_rng))

        return self._answer(t, score)

    def covariance(self, t: float, places: Places, others: Places | None = None) -> Array:
        inside = self._frame.places(places)
        there = None if others is None else self._frame.places(others)

        def vary(inner: InnerAgent, at: float) -> Array:
            joint = self._weighing(inner.agent).covariance(at, inside, there)
            if inner.frame.is_linear:
                return joint
            q, among = len(inside), inside if there is None else np.concatenate([inside, there])
            mean, variance = inner.agent.predict(at, among, count_open=False)
            others = None if there is None else (mean[q:], variance[q:])
            return inner.frame.covariance(joint, (mean[:q], variance[:q]), others)

        return self._answer(t, vary)

    @property
    def noise(self) -> float:
        inner = self._inner.current
        return inner.frame.noise(inner.center, self._weighing(inner.agent).noise)

    def sample(self, t: float, places: Places, rng: np.random.Generator, size: int) -> Array:
        """Joint draws for people: those of a learned world allow for a wrong model."""
        inside, factor = self._frame.places(places), self._widening

        def draw(inner: InnerAgent, at: float) -> Array:
            draws = self._sampling(inner.agent).sample(at, inside, rng, size)
            if factor > 1.0:
                mean, variance = inner.agent.predict(at, inside, count_open=False)
                draws = widened(draws, mean, variance, factor, rng)
            return inner.frame.values(draws)

        return self._answer(t, draw)

    @property
    def _widening(self) -> float:
        """The factor of the variances that people see."""
        return 1.0 if self.model.is_plain else widening(len(self.knowledge.latest))

    def _answer(self, t: float, query: Query[T], *last: Callable[[], T]) -> T:
        """The inner agent's answer about time t; if it fails, that of a plain model."""

        def asking(inner: InnerAgent) -> T:
            return query(inner, inner.frame.time(t))

        try:
            answer, _ = first_that_works(
                "The computation of an answer",
                lambda: asking(self._inner.current),
                lambda: asking(self._plain()),
                *last,
            )
        except TimeError:
            raise _too_early(t) from None
        return answer

    def _plain(self) -> InnerAgent:
        """An inner agent for a model that needs no estimate."""
        plain = self._new_agent(self._learner.plain(self.knowledge), self._open)
        plain.see()
        return plain

    @property
    def log_likelihood(self) -> float:
        return self._sampling(self.inner).log_likelihood

    def accuracy(self) -> Accuracy:
        return self._sampling(self.inner).accuracy()

    # ---- learning

    def estimation(self) -> Estimation | None:
        """The estimate that is due, or None."""
        return self._learner.estimation(self.knowledge)

    def update(self, update: Update) -> None:
        """Take a new model; the inner agent is rebuilt, unless this agent rests.

        If the update says which results are contradicted, that is done stepwise: the agent before
        chooses until the new one has seen the results, a few at each operation.
        """
        self._contradicted = update.contradicted
        self._become(self._learner.updated(self.knowledge, update), self._open)

    def rest(self, *, resting: bool = True) -> None:
        """Leave the inner agent as it is from now on; the next update after a rest rebuilds it."""
        self._resting = resting
        if resting:
            self._inner.rest()

    def insert(self, key: int, t: float, place: Places, y: float, precision: Precision) -> None:
        """Take the late value of an evaluation that was cancelled."""
        late = CubeEvaluation(t, self._frame.places(place), check_size(y), precision, key)
        if t >= self.knowledge.since:
            self._become(self._learner.after(self.knowledge, late), self._open)

    def set_back(self, latest: float) -> None:
        """Replace all later times by ``latest``."""
        waiting = {key: replace(ask, t=min(ask.t, latest)) for key, ask in self._open.items()}
        self._become(self.knowledge.set_back(latest), waiting)
        self._inner.finish()

    def faults(self, labelled: frozenset[int]) -> frozenset[int]:
        """The keys of results that are taken for faults, given those that were so far.

        They are doubted, or were told in an outage. A result that is no longer kept stays as it was
        labelled.
        """
        kept, inner = {result.key for result in self.knowledge.latest}, self._inner.current
        faulty = (inner.doubted | inner.contradicted) & kept
        labels = (labelled - kept) | faulty | set(self.knowledge.outage)
        return frozenset(labels - {TOLD_AT_ONCE})

    def _become(self, knowledge: Knowledge, waiting: Mapping[int, CubeEvaluation]) -> None:
        """Take over some knowledge, with an inner agent that has seen its results."""
        self._cancelled = 0
        if not self._resting:
            knowledge = self._begun(knowledge, waiting, stepwise=self._contradicted is not None)
        self.knowledge, self._open = knowledge, dict(waiting)

    def _begun(
        self, knowledge: Knowledge, waiting: Mapping[int, CubeEvaluation], *, stepwise: bool
    ) -> Knowledge:
        """Begin an inner agent with the first model that works, and return what is known then."""

        def begin(usable: Knowledge) -> Knowledge:
            self._inner.begin(self._new_agent(usable, waiting), stepwise=stepwise)
            return usable

        latest = replace(knowledge, model=self._inner.current.model)
        usable, trouble = first_that_works(
            "The model",
            lambda: begin(knowledge),
            lambda: begin(latest),
            lambda: begin(self._learner.plain(knowledge)),
        )
        return replace(usable, trouble=trouble) if trouble else usable

    def _show(
        self, step: Callable[[], T], knowledge: Knowledge, waiting: Mapping[int, CubeEvaluation]
    ) -> T | None:
        """Let the inner agent take an event, and return the result of that step.

        ``knowledge`` and ``waiting`` are those after the event. If the step fails, the inner agent
        is built again from them, and the result is None.
        """
        try:
            result = step()
        except NUMERICAL_FAILURES as error:
            words = trouble("The model", error)
            self._cancelled = 0
            knowledge = replace(self._begun(knowledge, waiting, stepwise=False), trouble=words)
            result = None
        self.knowledge, self._open = knowledge, dict(waiting)
        return result

    def _new_agent(self, knowledge: Knowledge, waiting: Mapping[int, CubeEvaluation]) -> InnerAgent:
        """An agent for what is known, which has seen nothing yet."""
        doubtful = self._doubtful(knowledge)
        latest = [
            replace(evaluation, precision=doubtful.get(i, evaluation.precision))
            for i, evaluation in enumerate(knowledge.latest)
        ]
        seen = [*self._learner.fleet_results(knowledge), *latest, *waiting.values()]
        contradicted = frozenset(knowledge.latest[i].key for i in doubtful)
        last = knowledge.latest[-1].t if knowledge.latest else 0.0
        frame = self._frame.learned(knowledge.model, last, knowledge.told)
        unseen = sorted(seen, key=lambda evaluation: evaluation.t)
        return InnerAgent(
            knowledge.model, self._start(knowledge.model), frame, unseen, contradicted
        )

    def _doubtful(self, knowledge: Knowledge) -> dict[int, Precision]:
        """The precision of results that later ones contradict, by their position."""
        contradicted = self._contradicted
        if contradicted is None:
            return self._learner.contradictions(knowledge)
        keys = enumerate(evaluation.key for evaluation in knowledge.latest)
        return {i: Precision(contradicted[key]) for i, key in keys if key in contradicted}

    def _start(self, model: Model) -> Agent:
        counted = replace(model, pace=1.0) if self._recipe.counts else model
        return self._recipe.policy(counted, counted.epsilon, self._domain).start(self._domain)

    # ---- the state as arrays

    def state(self) -> State:
        return {
            **self.knowledge.state(),
            **self._contradicted_state(),
            "cancelled": np.array(self._cancelled),
            "open/key": np.array(list(self._open), dtype=np.int64),
            **columns("open", self._open.values()),
        } | self._inner.state()

    def _contradicted_state(self) -> State:
        contradicted = self._contradicted
        if contradicted is None:
            return {}
        keys = np.array(list(contradicted), dtype=np.int64)
        variances = np.array(list(contradicted.values()))
        return {"given/key": keys, "given/variance": variances}

    def restore(self, state: State) -> None:
        self.knowledge, self._contradicted = Knowledge.restored(state), None
        if "given/key" in state:
            columns = (state[f"given/{name}"].tolist() for name in ("key", "variance"))
            self._contradicted = dict(zip(*columns, strict=True))
        self._cancelled = int(state["cancelled"])
        self._inner = Succession.restored(self.knowledge.model, self._start, self._frame, state)
        keys = state["open/key"].tolist()
        opened = [
            replace(evaluation, key=key)
            for key, evaluation in zip(keys, evaluations("open", state), strict=True)
        ]
        self._open = dict(zip(keys, opened, strict=True))

    # ---- the inner agent and the first points

    def _selective(self, agent: Agent) -> Selective:
        if not isinstance(agent, Selective):
            raise InputError("a recipe whose policy takes a context", short_repr(self._recipe))
        return agent

    def _sampling(self, agent: Agent) -> Sampling:
        if not isinstance(agent, Sampling):
            raise NoBeliefError(
                "a recipe whose policy has a joint posterior", short_repr(self._recipe)
            )
        return agent

    def _weighing(self, agent: Agent) -> Weighing:
        if not isinstance(agent, Weighing):
            expected = "a recipe whose policy has a joint posterior"
            raise NoBeliefError(expected, short_repr(self._recipe))
        return agent

    def _is_first(self) -> bool:
        if not self._starts_apart:
            return False
        return self.knowledge.told + len(self._open) < initial_count(self._domain)

    def _apart(self, choices: Choices, make_rng: RNGFactory) -> Places:
        taken = [evaluation.place for evaluation in (*self.knowledge.latest, *self._open.values())]
        return self._unit.farthest_choice(choices, taken, make_rng)


def _too_early(t: float) -> TimeError:
    """A refused time, on the user's clock."""
    return TimeError(
        "a time not before the latest one",
        f"{t:g}",
        "A policy that learns its model has no posterior of the past.",
    )
