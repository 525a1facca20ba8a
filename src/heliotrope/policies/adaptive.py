"""A policy that estimates its model from the latest results, in any unit.

The model (mean, variance, noise, kernel, length scale and drift) is re-estimated as results come.
A recipe makes the inner policy from it. Both live in the unit cube and count time in results.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from operator import attrgetter

import numpy as np

from heliotrope.domains import (
    Choices,
    Domain,
    Places,
    UnitCube,
    all_choices,
    coordinate_groups,
    initial_count,
)
from heliotrope.errors import InputError, NoBeliefError, TimeError
from heliotrope.estimation import (
    Given,
    Model,
    Results,
    cautious,
    estimate_robustly,
    estimate_sum,
    is_estimate_due,
    level_shift_length,
    outlier_bounds,
    usual_noise,
)
from heliotrope.policies.protocol import TOLD_AT_ONCE, Agent, Recipe, Sampling, Selective
from heliotrope.precision import USUAL, Precision
from heliotrope.rng import RNGFactory
from heliotrope.serialization.codec import State, part, register, under
from heliotrope.validation import Array, short_repr

_LATEST, _APART = 250, 150  # results kept: the latest ones, and older ones that lie apart
_MOST = 600  # number of results that triggers the selection above
_LARGEST = 1e45  # value: variances, which may exceed its square by far, must not overflow


@register
@dataclass(frozen=True)
class Adaptive:
    """Estimate the model from the latest results, and choose as the recipe's policy does.

    The first points are spread out over the domain.

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

    def __post_init__(self) -> None:
        if isinstance(self.recipe, type) or not isinstance(self.recipe, Recipe):
            raise InputError("a recipe, such as Named(name)", repr(self.recipe))

    def start(self, domain: Domain) -> AdaptiveAgent:
        return AdaptiveAgent(self.recipe, domain)


@dataclass(frozen=True, eq=False)
class CubeEvaluation:
    """A place in the cube at a time, with its value (NaN while it is open) and precision."""

    t: float
    place: Places
    y: float = np.nan
    precision: Precision = USUAL


@dataclass(frozen=True)
class Timeline:
    """Time counted in results: ``told`` of them at time ``latest``, a ``pace`` apart."""

    latest: float = 0.0
    told: float = 0.0
    pace: float = 1.0

    def at(self, t: float) -> float:
        """The number of results expected by time t."""
        return self.told + (t - self.latest) / self.pace


class AdaptiveAgent:
    """An agent of the recipe's policy, and the latest results to re-estimate the model from."""

    def __init__(self, recipe: Recipe, domain: Domain) -> None:
        self._recipe, self._cube = recipe, UnitCube(domain)
        self._domain, self._choices = self._cube.domain, all_choices(domain)
        self._groups = coordinate_groups(domain)
        self.model, self._timeline = Model(), Timeline()
        self._inner = self._start(self.model)
        self._told = 0  # number of all results, dropped ones included
        self._since = -np.inf  # time of the latest level shift; earlier results do not count
        self._latest: list[CubeEvaluation] = []  # in the order of their times
        self._before: list[CubeEvaluation] = []  # those before the latest level shift
        self._open: dict[int, CubeEvaluation] = {}

    def choose(self, t: float, make_rng: RNGFactory) -> Places:
        if self._is_first():
            return self._apart(self._choices, make_rng)
        return self._cube.leave(self._inner.choose(self._timeline.at(t), make_rng), self._choices)

    def best(self, t: float, make_rng: RNGFactory) -> Places:
        with _times_in_user_units(t):
            return self._cube.leave(self._inner.best(self._timeline.at(t), make_rng), self._choices)

    def choose_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        if self._is_first():
            return self._apart(choices, make_rng)
        inside = self._cube.choices(choices)
        place = self._selective().choose_among(inside, self._timeline.at(t), make_rng)
        return self._cube.leave(place, choices)

    def best_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        inside = self._cube.choices(choices)
        with _times_in_user_units(t):
            place = self._selective().best_among(inside, self._timeline.at(t), make_rng)
        return self._cube.leave(place, choices)

    def open(self, key: int, t: float, place: Places) -> None:
        evaluation = CubeEvaluation(t, self._cube.enter(place))
        with _times_in_user_units(t):
            self._inner.open(key, self._timeline.at(t), evaluation.place)
        self._open[key] = evaluation

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        """Take a value; re-estimate the model at certain counts, outliers and level shifts."""
        asked, value = self._open[key], _as_value(y)
        if asked.t < self._since:
            self.cancel(key)
            return
        told_now = replace(asked, y=value, precision=precision)
        known = sorted([*self._latest, told_now], key=attrgetter("t"))
        still_open = {other: one for other, one in self._open.items() if other != key}
        values = cautious(np.array([one.y for one in known]), _noise(known))
        shifted = level_shift_length(
            values, lambda: self._results(known).x, self.model.length_scale
        )
        latest, told = known[-shifted:], shifted or self._told + 1
        returned = self._has_returned(value)
        if returned:
            latest, told = [*self._before, told_now], len(self._before) + 1
        if (
            returned
            or shifted
            or is_estimate_due(told)
            or not self.model.outlier_bounds().suit(values)
        ):
            self._learn(self._fewer(latest), still_open, told)
        else:
            self._inner.tell(key, self.model.outlier_bounds().clip_one(value), precision)
            self._latest = latest if len(latest) <= _MOST else self._fewer(latest)
        self._open, self._told = still_open, told
        if returned:
            self._before, self._since = [], -np.inf
        elif shifted:
            self._before, self._since = known[:-shifted], latest[0].t

    def _has_returned(self, value: float) -> bool:
        """Whether a value is among those before the latest level shift: this was an outage."""
        before, since = ([one.y for one in some] for some in (self._before, self._latest))
        if not before or min(since) <= value <= max(since):
            return False
        return min(before) <= value <= max(before)

    def cancel(self, key: int) -> None:
        self._inner.cancel(key)
        del self._open[key]

    def predict(self, t: float, places: Places, *, count_open: bool) -> tuple[Array, Array]:
        inside = self._cube.enter(places)
        with _times_in_user_units(t):
            return self._inner.predict(self._timeline.at(t), inside, count_open=count_open)

    def sample(self, t: float, places: Places, rng: np.random.Generator, size: int) -> Array:
        inside = self._cube.enter(places)
        with _times_in_user_units(t):
            return self._sampling().sample(self._timeline.at(t), inside, rng, size)

    @property
    def log_likelihood(self) -> float:
        return self._sampling().log_likelihood

    def state(self) -> State:
        return {
            "model": np.frombuffer(json.dumps(self.model.to_json()).encode(), dtype=np.uint8),
            "timeline": np.array(astuple(self._timeline)),
            "told": np.array(self._told),
            "since": np.array(self._since),
            **_columns("latest", self._latest),
            **_columns("before", self._before),
            "open/key": np.array(list(self._open), dtype=np.int64),
            **_columns("open", self._open.values()),
        } | under("inner/", self._inner.state())

    def restore(self, state: State) -> None:
        self.model = Model.from_json(json.loads(state["model"].tobytes()))
        self._timeline = Timeline(*state["timeline"].tolist())
        self._told, self._since = int(state["told"]), float(state["since"])
        self._latest = _evaluations("latest", state)
        self._before = _evaluations("before", state) if "before/t" in state else []
        keys = state["open/key"].tolist()
        self._open = dict(zip(keys, _evaluations("open", state), strict=True))
        self._inner = self._start(self.model)
        self._inner.restore(part(state, "inner/"))

    # ---- learning

    def _learn(
        self, latest: list[CubeEvaluation], waiting: Mapping[int, CubeEvaluation], told: int
    ) -> None:
        """Estimate the model from some results, and make an inner agent that has seen them."""
        model = self._estimate(self._results(latest))
        timeline = Timeline(latest[-1].t, told, model.pace)
        agent = self._start(model)
        events = [*((TOLD_AT_ONCE, one) for one in latest), *waiting.items()]
        for key, one in sorted(events, key=lambda event: event[1].t):
            agent.open(key, timeline.at(one.t), one.place)
            if not np.isnan(one.y):
                agent.tell(key, model.outlier_bounds().clip_one(one.y), one.precision)
        self._inner, self.model, self._timeline, self._latest = agent, model, timeline, latest

    def _estimate(self, results: Results) -> Model:
        bounds = outlier_bounds(results.cautious)
        if self._recipe.sums:
            return estimate_sum(results, bounds, self._groups, self.model.world)
        return estimate_robustly(results, bounds, Given())

    def _fewer(self, kept: list[CubeEvaluation]) -> list[CubeEvaluation]:
        return [kept[i] for i in self._results(kept).select(_LATEST, _APART)]

    def _results(self, kept: Sequence[CubeEvaluation]) -> Results:
        points = self._domain.at(np.concatenate([one.place for one in kept]))
        t, y = np.array([(one.t, one.y) for one in kept]).T
        return Results(t, points, y, _noise(kept))

    def _start(self, model: Model) -> Agent:
        per_result = replace(model, pace=1.0)
        policy = self._recipe.policy(per_result, per_result.epsilon, self._domain)
        return policy.start(self._domain)

    # ---- the inner agent and the first points

    def _selective(self) -> Selective:
        if not isinstance(self._inner, Selective):
            raise InputError("a recipe whose policy takes a context", short_repr(self._recipe))
        return self._inner

    def _sampling(self) -> Sampling:
        if not isinstance(self._inner, Sampling):
            raise NoBeliefError(
                "a recipe whose policy has a joint posterior", short_repr(self._recipe)
            )
        return self._inner

    def _is_first(self) -> bool:
        return self._told + len(self._open) < initial_count(self._domain)

    def _apart(self, choices: Choices, make_rng: RNGFactory) -> Places:
        taken = [one.place for one in (*self._latest, *self._open.values())]
        return self._cube.farthest_choice(choices, taken, make_rng)


@contextmanager
def _times_in_user_units(t: float) -> Iterator[None]:
    """Report a refused time on the user's clock."""
    try:
        yield
    except TimeError:
        raise TimeError(
            "a time not before the latest one",
            f"{t:g}",
            "A policy that learns its model has no posterior of the past.",
        ) from None


def _as_value(y: float) -> float:
    if abs(y) > _LARGEST:
        raise InputError(
            f"values below {_LARGEST:g} in size",
            f"a size of {abs(y):g}",  # the sign is turned where low values are good
            "Tell values in a larger unit; cancel the suggestion if its measurement failed.",
        )
    return y


def _columns(name: str, evaluations: Iterable[CubeEvaluation]) -> State:
    """Times, values, places and noise of evaluations as arrays."""
    listed = list(evaluations)
    return {
        f"{name}/t": np.array([one.t for one in listed]),
        f"{name}/y": np.array([one.y for one in listed]),
        f"{name}/place": np.array([one.place[0] for one in listed]),
        f"{name}/noise": _noise(listed),
    }


def _evaluations(name: str, state: State) -> list[CubeEvaluation]:
    """Read the evaluations that :func:`_columns` wrote; older files lack the noise."""
    t, y, places = (state[f"{name}/{column}"] for column in ("t", "y", "place"))
    noise = state.get(f"{name}/noise", usual_noise(len(t)))
    own = [Precision.from_row(row) for row in noise.tolist()]
    rows = zip(t.tolist(), places[:, None], y.tolist(), own, strict=True)
    return [CubeEvaluation(*row) for row in rows]


def _noise(evaluations: Sequence[CubeEvaluation]) -> Array:
    """The noise of each evaluation, (n, 2)."""
    if all(one.precision is USUAL for one in evaluations):  # called at every result
        return usual_noise(len(evaluations))
    return np.array([one.precision.row for one in evaluations])
