"""The latest results, the model that suits them best, and an agent of the policy made by it.

Model and inner policy live in the unit cube, and count time in results. Results come in any unit:
mean, variance, noise, kernel, length scale and drift are those that the latest make likeliest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter

import numpy as np

from heliotrope.domains import Choices, Domain, Places, UnitCube, choices_of, farthest, first_points
from heliotrope.errors import InputError, NoBeliefError, TimeError
from heliotrope.estimation import (
    Given,
    Model,
    Results,
    estimate_robustly,
    is_estimate_due,
    level_shift_length,
    outlier_bounds,
)
from heliotrope.policies.adaptive.evaluations import (
    Evaluation,
    Timeline,
    columns_of,
    evaluations_of,
)
from heliotrope.policies.adaptive.protocol import Recipe
from heliotrope.policies.protocol import TOLD_AT_ONCE, Agent, Drawing, Policy, Selective
from heliotrope.rng import Draw
from heliotrope.serialization.state import State, part, under
from heliotrope.validation import Array

_LATEST, _APART = 250, 150  # results kept: so many, and so many older ones that lie apart
_MOST = 600  # results, beyond which those are picked
_LARGEST = 1e45  # value: variances, which may exceed its square by far, must not overflow


class AdaptiveAgent:
    """An agent of the recipe's policy, and the latest results, of which the next is made."""

    def __init__(self, recipe: Recipe, domain: Domain) -> None:
        self._recipe, self._cube = recipe, UnitCube(domain)
        self._domain, self._choices = self._cube.domain, choices_of(domain)
        self._model, self._timeline = Model(), Timeline()
        self._inner = self._made(self._model, self._timeline, [], {})
        self._told = 0  # of all results, also those forgotten
        self._since = -np.inf  # results of earlier times were of another level, and do not count
        self._latest: list[Evaluation] = []  # in the order of their times
        self._open: dict[int, Evaluation] = {}

    @property
    def model(self) -> Model:
        """What is believed of the values at present."""
        return self._model

    def choose(self, t: float, draw: Draw) -> Places:
        """Return a place apart from the others at first, then what the inner agent chooses."""
        if self._is_first():
            return self._apart(self._choices, draw)
        return self._cube.leave(self._inner.choose(self._timeline.at(t), draw), self._choices)

    def best(self, t: float, draw: Draw) -> Places:
        """Return the place that the inner agent believes best."""
        with _of_the_present(t):
            return self._cube.leave(self._inner.best(self._timeline.at(t), draw), self._choices)

    def choose_among(self, choices: Choices, t: float, draw: Draw) -> Places:
        """Return the same as :meth:`choose`, where not all of the domain may be chosen."""
        if self._is_first():
            return self._apart(choices, draw)
        inside = self._cube.choices(choices)
        place = self._selective().choose_among(inside, self._timeline.at(t), draw)
        return self._cube.leave(place, choices)

    def best_among(self, choices: Choices, t: float, draw: Draw) -> Places:
        """Return the choice that the inner agent believes best."""
        inside = self._cube.choices(choices)
        with _of_the_present(t):
            place = self._selective().best_among(inside, self._timeline.at(t), draw)
        return self._cube.leave(place, choices)

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation."""
        evaluation = Evaluation(t, self._cube.enter(place))
        with _of_the_present(t):
            self._inner.open(key, self._timeline.at(t), evaluation.place)
        self._open[key] = evaluation

    def tell(self, key: int, y: float) -> None:
        """Take a value; at certain counts, for outliers or of a new level learn the model anew."""
        asked, value = self._open[key], _as_value(y)
        if asked.t < self._since:
            self.cancel(key)
            return
        known = self._with(Evaluation(asked.t, asked.place, value))
        still_open = {other: one for other, one in self._open.items() if other != key}
        values = np.array([one.y for one in known])
        anew = level_shift_length(values, lambda: self._results(known).x, self._model.length_scale)
        latest, told = known[-anew:], anew or self._told + 1
        if anew or is_estimate_due(told) or not self._model.outlier_bounds().suit(values):
            self._learn(self._fewer(latest), still_open, told)
        else:
            self._inner.tell(key, self._model.outlier_bounds().clip_one(value))
            self._latest = latest if len(latest) <= _MOST else self._fewer(latest)
        self._open, self._told = still_open, told
        if anew:
            self._since = latest[0].t

    def cancel(self, key: int) -> None:
        """Forget an open evaluation."""
        self._inner.cancel(key)
        del self._open[key]

    def predict(self, t: float, places: Places, *, count_open: bool) -> tuple[Array, Array]:
        """Mean and variance of f_t by the inner agent."""
        inside = self._cube.enter(places)
        with _of_the_present(t):
            return self._inner.predict(self._timeline.at(t), inside, count_open=count_open)

    def sample(self, t: float, places: Places, rng: np.random.Generator, size: int) -> Array:
        """Joint draws of f_t by the inner agent."""
        inside = self._cube.enter(places)
        with _of_the_present(t):
            return self._drawing().sample(self._timeline.at(t), inside, rng, size)

    @property
    def log_likelihood(self) -> float:
        """Log density of the results that are kept, by the present model."""
        return self._drawing().log_likelihood

    def state(self) -> State:
        """Everything the agent knows, as arrays."""
        line = self._timeline
        return {
            "model": np.frombuffer(json.dumps(self._model.to_json()).encode(), dtype=np.uint8),
            "timeline": np.array([line.latest, line.told, line.pace]),
            "told": np.array(self._told),
            "since": np.array(self._since),
            **columns_of("latest", self._latest),
            "open/key": np.array(list(self._open), dtype=np.int64),
            **columns_of("open", self._open.values()),
        } | under("inner/", self._inner.state())

    def restore(self, state: State) -> None:
        """Become the agent whose :meth:`state` this was."""
        self._model = Model.from_json(json.loads(state["model"].tobytes()))
        self._timeline = Timeline(*state["timeline"].tolist())
        self._told, self._since = int(state["told"]), float(state["since"])
        self._latest = evaluations_of("latest", state)
        keys = state["open/key"].tolist()
        self._open = dict(zip(keys, evaluations_of("open", state), strict=True))
        self._inner = self._policy(self._model).start(self._domain)
        self._inner.restore(part(state, "inner/"))

    # ---- learning

    def _with(self, new: Evaluation) -> list[Evaluation]:
        return sorted([*self._latest, new], key=attrgetter("t"))

    def _learn(
        self, latest: list[Evaluation], waiting: Mapping[int, Evaluation], told: int
    ) -> None:
        """Take the model that suits some results best, and an inner agent that was shown them."""
        results = self._results(latest)
        model = estimate_robustly(results, outlier_bounds(results.y), Given())
        timeline = Timeline(latest[-1].t, told, model.pace)
        self._inner = self._made(model, timeline, latest, waiting)
        self._model, self._timeline, self._latest = model, timeline, latest

    def _fewer(self, kept: list[Evaluation]) -> list[Evaluation]:
        results = self._results(kept)
        return [kept[i] for i in results.select(_LATEST, _APART)]

    def _results(self, kept: Sequence[Evaluation]) -> Results:
        points = self._domain.at(np.concatenate([one.place for one in kept]))
        t, y = np.array([(one.t, one.y) for one in kept]).T
        return Results(t, points, y)

    def _policy(self, model: Model) -> Policy:
        a_result_apart = replace(model, pace=1.0)
        return self._recipe.policy(a_result_apart, a_result_apart.epsilon, self._domain)

    def _made(
        self,
        model: Model,
        timeline: Timeline,
        latest: Iterable[Evaluation],
        waiting: Mapping[int, Evaluation],
    ) -> Agent:
        """A new inner agent that has seen some results and open evaluations, in time's order."""
        agent = self._policy(model).start(self._domain)
        events = [*((TOLD_AT_ONCE, one) for one in latest), *waiting.items()]
        for key, one in sorted(events, key=lambda event: event[1].t):
            agent.open(key, timeline.at(one.t), one.place)
            if not np.isnan(one.y):
                agent.tell(key, model.outlier_bounds().clip_one(one.y))
        return agent

    # ---- the inner agent, and first points

    def _selective(self) -> Selective:
        if not isinstance(self._inner, Selective):
            raise InputError("a recipe whose policy takes a context", repr(self._recipe)[:60])
        return self._inner

    def _drawing(self) -> Drawing:
        if not isinstance(self._inner, Drawing):
            raise NoBeliefError("a recipe whose policy has a joint belief", repr(self._recipe)[:60])
        return self._inner

    def _is_first(self) -> bool:
        return self._told + len(self._open) < first_points(self._domain)

    def _apart(self, choices: Choices, draw: Draw) -> Places:
        inside = self._cube.choices(choices)
        place = farthest(self._domain, inside, self._points(), draw)
        return self._cube.leave(place, choices)

    def _points(self) -> Array:
        """All points asked for that are still known, (n, d)."""
        places = [one.place for one in (*self._latest, *self._open.values())]
        if not places:
            return np.empty((0, self._domain.dimension))
        return self._domain.at(np.concatenate(places))


@contextmanager
def _of_the_present(t: float) -> Iterator[None]:
    """Say of a time that is refused what it is by the user's clock."""
    try:
        yield
    except TimeError:
        raise TimeError(
            "a time that is not before the latest seen",
            f"{t:g}",
            "A policy that learns its model has no belief about the past.",
        ) from None


def _as_value(y: float) -> float:
    if abs(y) > _LARGEST:
        raise InputError(
            f"values of a size below {_LARGEST:g}, to learn their variance",
            f"{y:g}",
            "Tell values in a larger unit; cancel the suggestion if its measurement failed.",
        )
    return y
