"""Learning a model from results, in three steps without side effects.

:meth:`Learner.after` takes a result and notes whether an estimate is due.
:meth:`Learner.estimation` collects all that the estimate needs, so that another process can run it.
:meth:`Learner.updated` takes the new model. An optimizer does these one after the other; a study
writes the new model to its log in between.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from operator import attrgetter
from typing import Any

import numpy as np

from heliotrope.domains import Domain, Places, coordinate_groups
from heliotrope.estimation import (
    CONSIDERED,
    FEWEST_WITH_FAULTS,
    Change,
    Model,
    Regime,
    Results,
    contradicted,
    follows,
    is_estimate_due,
    is_placeholder,
    latest_change,
    usual_noise,
)
from heliotrope.linalg import first_that_works, one_thread
from heliotrope.policies.fleet import Fleet
from heliotrope.policies.protocol import TOLD_AT_ONCE, Recipe
from heliotrope.precision import USUAL, Precision
from heliotrope.serialization.codec import State
from heliotrope.validation import Array

_LATEST, _APART = 250, 150  # results kept: the latest ones, and older ones that lie apart
_MOST = 600  # number of results that triggers the selection above
_FEWEST_SINCE_A_JUMP = 2
_LABELLED = 1000  # keys of results that were told in an outage
_REMEMBERED = 6  # regimes beside the current one


@dataclass(frozen=True, eq=False)
class CubeEvaluation:
    """A place in the cube at a time, with its value (NaN while it is open) and precision."""

    t: float
    place: Places
    y: float = np.nan
    precision: Precision = USUAL
    key: int = TOLD_AT_ONCE


@dataclass(frozen=True)
class Due:
    """A request for an estimate, made after ``told`` results, from those at ``since`` or later.

    With ``back``, the number of an earlier regime, this one is back: its results count again.
    """

    told: int = 0
    since: float = -inf
    back: int = 0


@dataclass(frozen=True)
class Update:
    """A new model, and the due estimate that it answers.

    ``contradicted`` are the variances, by key, of results that later ones contradict, or None if
    the learner is to find them. ``trouble`` says why the model is not a new one; "" if it is.
    """

    model: Model
    due: Due = Due()
    contradicted: Mapping[int, float] | None = None
    trouble: str = ""


@dataclass(frozen=True, eq=False)
class Estimation:
    """The results, and all else, that an estimate of the model needs."""

    recipe: Recipe
    results: Results
    groups: Sequence[Sequence[int]]
    model: Model
    due: Due
    keys: Sequence[int] = ()  # of the results

    def run(self) -> Update:
        """Estimate the model, which takes a while; if that fails, keep the one before."""
        model, trouble = first_that_works("The estimate of the model", self._estimate, self._keep)
        return Update(model, self.due, trouble=trouble)

    def _estimate(self) -> Model:
        with one_thread():
            model = self.recipe.estimate(self.results, self.groups, self.model)
        if not model.is_finite:
            raise FloatingPointError("a parameter of the model is not finite")
        return model

    def _keep(self) -> Model:
        """The model before; one without an estimate if there is none."""
        return Model.plain(self.results) if self.model.is_plain else self.model

    def run_in_background(self) -> Update:
        """Estimate the model, and find the contradicted results, while a study goes on."""
        update, keys = self.run(), np.array(self.keys, dtype=np.int64)
        named = np.flatnonzero(keys != TOLD_AT_ONCE)  # those of similar studies have no key
        results = self.results.at(named)
        with one_thread():
            doubtful = _contradictions(self.recipe, results, update.model)
        variances = {int(keys[named[i]]): noise.row[0] for i, noise in doubtful.items()}
        return replace(update, contradicted=variances)


@dataclass(frozen=True, eq=False)
class Remembered:
    """An earlier regime: its number, model, beginning, and the number and some of its results."""

    number: int
    model: Model
    since: float
    told: int
    results: Sequence[CubeEvaluation]

    @classmethod
    def of(cls, knowledge: Knowledge) -> Remembered:
        """The regime that is known."""
        known = knowledge
        return cls(known.number, known.model, known.since, known.told, known.latest)

    def set_back(self, latest: float) -> Remembered:
        """The same with all later times replaced by ``latest``."""
        results = _set_back(self.results, latest)
        return replace(self, since=min(self.since, latest), results=results)

    def until(self, t: float) -> list[CubeEvaluation]:
        """Its results on a clock of its own, which stood still since the last of them until t."""
        if self.model.world.period:
            return list(self.results)
        later = t - self.model.pace - self.results[-1].t
        return [replace(result, t=result.t + later) for result in self.results]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The model, and the results that it is estimated from.

    ``told`` counts the results since the latest jump or outage, dropped ones included; those that
    count there at first are the ones that were kept. ``since`` is the time of the latest jump.
    ``number`` is that of the regime since then, the latest of ``begun`` ones, or one that is back;
    ``remembered`` are the others. A result at the place ``check`` would show whether another
    regime began. ``outage`` are the keys of results of outages. ``trouble`` says
    why an older model than the latest one is in use; "" if it is not.
    """

    model: Model = field(default_factory=Model)
    told: int = 0
    since: float = -inf
    latest: Sequence[CubeEvaluation] = ()  # in the order of their times
    due: Due | None = None
    outage: tuple[int, ...] = ()
    trouble: str = ""
    number: int = 1
    begun: int = 1
    remembered: tuple[Remembered, ...] = ()
    check: Places | None = None

    def set_back(self, latest: float) -> Knowledge:
        """The same with all later times replaced by ``latest``."""
        due = None if self.due is None else replace(self.due, since=min(self.due.since, latest))
        remembered = tuple(regime.set_back(latest) for regime in self.remembered)
        new = replace(self, due=due, since=min(self.since, latest), remembered=remembered)
        return replace(new, latest=_set_back(self.latest, latest))

    def state(self) -> State:
        return {
            "model": _text(self.model.to_json()),
            "told": np.array(self.told),
            "since": np.array(self.since),
            "due": _text(None if self.due is None else due_as_json(self.due)),
            "outage": np.array(self.outage, dtype=np.int64),
            "trouble": _text(self.trouble),
            "number": np.array([self.number, self.begun]),
            "check": np.array([]) if self.check is None else self.check,
            **columns("latest", self.latest),
            **self._remembered_state(),
        }

    def _remembered_state(self) -> State:
        regimes = self.remembered
        numbers = [(regime.number, regime.since, regime.told) for regime in regimes]
        state: State = {"remembered": np.array(numbers).reshape(-1, 3)}
        for i, regime in enumerate(regimes):
            state[f"remembered/{i}/model"] = _text(regime.model.to_json())
            state |= columns(f"remembered/{i}", regime.results)
        return state

    @classmethod
    def restored(cls, state: State) -> Knowledge:
        """Read :meth:`state`."""
        due, trouble = (json.loads(state[name].tobytes()) for name in ("due", "trouble"))
        number, begun = state["number"].tolist()
        remembered = (
            Remembered(
                int(number),
                Model.from_json(json.loads(state[f"remembered/{i}/model"].tobytes())),
                since,
                int(told),
                evaluations(f"remembered/{i}", state),
            )
            for i, (number, since, told) in enumerate(state["remembered"].tolist())
        )
        return cls(
            Model.from_json(json.loads(state["model"].tobytes())),
            int(state["told"]),
            float(state["since"]),
            evaluations("latest", state),
            None if due is None else due_from_json(due),
            tuple(state["outage"].tolist()),
            trouble,
            number,
            begun,
            tuple(remembered),
            state["check"] if len(state["check"]) else None,
        )


class Learner:
    """The steps of learning for a recipe, over a domain in the unit cube."""

    def __init__(self, recipe: Recipe, domain: Domain, fleet: Fleet | None = None) -> None:
        self._recipe, self._domain, self._fleet = recipe, domain, fleet
        self._groups = coordinate_groups(domain)

    def after(self, knowledge: Knowledge, result: CubeEvaluation) -> Knowledge:
        """What is known after a result, and whether an estimate is due."""
        latest, told = sorted([*knowledge.latest, result], key=attrgetter("t")), knowledge.told + 1
        change, _ = first_that_works(
            "The search for a change", lambda: self._change(knowledge, latest), lambda: None
        )
        new = replace(knowledge, told=told, latest=self._few(latest), check=None)
        if change is not None and change.check is not None:
            return replace(new, check=latest[change.check].place, due=_due_by_count(new))
        due = None if change is None else _due_after(change, new, latest)
        return replace(new, due=due or _due_by_count(new))

    def distrusted(self, knowledge: Knowledge) -> Knowledge:
        """What is known once a result contradicts the model: an estimate is due."""
        return replace(knowledge, due=knowledge.due or Due(knowledge.told, knowledge.since))

    def estimation(self, knowledge: Knowledge) -> Estimation | None:
        """The estimate that is due, or None."""
        if knowledge.due is None:
            return None
        entered = self._entered(knowledge, knowledge.due)
        kept = self._fewer(entered.latest)
        kept = [*self.fleet_results(replace(knowledge, latest=kept)), *kept]
        keys, results = [result.key for result in kept], self._results(kept)
        return Estimation(self._recipe, results, self._groups, entered.model, knowledge.due, keys)

    def updated(self, knowledge: Knowledge, update: Update) -> Knowledge:
        """What is known with a new model."""
        left = None if knowledge.due == update.due else knowledge.due
        new = self._entered(knowledge, update.due)
        new = replace(new, latest=self._fewer(new.latest), model=update.model, due=left)
        return replace(new, trouble=update.trouble)

    def _entered(self, knowledge: Knowledge, due: Due) -> Knowledge:
        """What is known in the regime that an estimate is for, with the model to start from."""
        aside = [result for result in knowledge.latest if result.t < due.since]
        later = [result for result in knowledge.latest if result.t >= due.since]
        if due.since <= knowledge.since or not aside or not later:
            return knowledge
        regime = _remembered(knowledge, due.back)
        if regime is not None:
            return self._returned(knowledge, regime, aside, later)
        left = Remembered.of(replace(knowledge, latest=_surely_before(aside)))
        number = knowledge.begun + 1
        new = replace(knowledge, latest=later, told=len(later), since=due.since)
        new = replace(new, number=number, begun=number, model=Model())
        return replace(new, remembered=(*knowledge.remembered, left)[-_REMEMBERED:])

    def _returned(
        self,
        knowledge: Knowledge,
        regime: Remembered,
        aside: Sequence[CubeEvaluation],
        later: Sequence[CubeEvaluation],
    ) -> Knowledge:
        """What is known in an earlier regime that is back.

        If what was between follows from it, it never ended. If that does not depend on the places,
        it was an outage. Otherwise the clock of the regime stood still.
        """
        others = tuple(other for other in knowledge.remembered if other is not regime)
        new = replace(
            knowledge,
            latest=[*regime.results, *later],
            told=regime.told + knowledge.told - len(aside),
            since=regime.since,
            number=regime.number,
            model=regime.model,
            remembered=others,
        )
        between = self._regime(aside, regime.model)
        if follows(self._regime(regime.results, regime.model), between):
            told = regime.told + knowledge.told
            return replace(new, latest=[*regime.results, *knowledge.latest], told=told)
        if is_placeholder(between):
            keys = (*knowledge.outage, *(result.key for result in aside))
            return replace(new, outage=keys[-_LABELLED:])
        left = Remembered.of(replace(knowledge, latest=aside))
        new = replace(new, latest=[*regime.until(later[0].t), *later], since=later[0].t)
        return replace(new, remembered=(*others, left)[-_REMEMBERED:])

    def contradictions(self, knowledge: Knowledge) -> dict[int, Precision]:
        """The precision of results that later ones contradict, by their position."""
        if not knowledge.latest:
            return {}
        return _contradictions(self._recipe, self._results(knowledge.latest), knowledge.model)

    def plain(self, knowledge: Knowledge) -> Knowledge:
        """The same knowledge with a model that needs no estimate."""
        if not knowledge.latest:
            return replace(knowledge, model=Model())
        return replace(knowledge, model=Model.plain(self._results(knowledge.latest)))

    def fleet_results(self, knowledge: Knowledge) -> list[CubeEvaluation]:
        """Results that similar studies suggest, at the time of this study's first result."""
        fleet, latest = self._fleet, knowledge.latest
        if fleet is None or not fleet.counts(knowledge.told) or knowledge.since > -inf:
            return []
        points = self._domain.at(fleet.places)
        x, y = np.empty((0, points.shape[1])), np.empty(0)
        if latest:
            results = self._results(latest)
            first = np.sort(np.unique(results.x, axis=0, return_index=True)[1])
            x, y = results.x[first], results.y[first]
        values, variances = fleet.adjusted(points, x, y, knowledge.model)
        rows = zip(fleet.places, values.tolist(), variances.tolist(), strict=True)
        t = latest[0].t if latest else 0.0
        return [CubeEvaluation(t, place[None], y, Precision(v)) for place, y, v in rows]

    def _change(self, knowledge: Knowledge, latest: Sequence[CubeEvaluation]) -> Change | None:
        """The change of regime that the latest results show, or None."""
        if knowledge.model == Model():  # nothing was estimated yet
            return None
        current = self._regime(latest, knowledge.model)
        remembered = (
            self._regime(one.results[-CONSIDERED:], one.model) for one in knowledge.remembered
        )
        return latest_change(current, list(remembered))

    def _regime(self, evaluations: Sequence[CubeEvaluation], model: Model) -> Regime:
        return Regime(self._results(evaluations), model.world, model.pace)

    def _few(self, latest: Sequence[CubeEvaluation]) -> Sequence[CubeEvaluation]:
        return latest if len(latest) <= _MOST else self._fewer(latest)

    def _fewer(self, kept: Sequence[CubeEvaluation]) -> list[CubeEvaluation]:
        if len(kept) <= _LATEST + _APART:
            return list(kept)
        return [kept[i] for i in self._results(kept).select(_LATEST, _APART)]

    def _results(self, kept: Sequence[CubeEvaluation]) -> Results:
        points = self._domain.at(np.concatenate([evaluation.place for evaluation in kept]))
        t, y = np.array([(evaluation.t, evaluation.y) for evaluation in kept]).T
        return Results(t, points, y, noise_of(kept))


def _due_by_count(knowledge: Knowledge) -> Due | None:
    if knowledge.due is None and is_estimate_due(knowledge.told):
        return Due(knowledge.told, knowledge.since)
    return knowledge.due


def _due_after(
    change: Change, knowledge: Knowledge, latest: Sequence[CubeEvaluation]
) -> Due | None:
    """The estimate that a change requests, or None.

    A change is stored as a time, so results at the time of the last one before it stay with
    the earlier regime.
    """
    if change.back is not None:
        number = knowledge.remembered[change.back].number
        return Due(knowledge.told, latest[-change.results].t, number)
    earlier = latest[-change.results - 1].t
    later = [result.t for result in latest[-change.results :] if result.t > earlier]
    return Due(knowledge.told, later[0]) if len(later) >= _FEWEST_SINCE_A_JUMP else None


def _contradictions(recipe: Recipe, results: Results, model: Model) -> dict[int, Precision]:
    """The precision of results that later ones contradict, by their position."""
    if model.is_plain or len(results.y) < FEWEST_WITH_FAULTS or not recipe.doubts:
        return {}
    regime = Regime(results, model.world, model.pace)
    variances, _ = first_that_works(
        "The search for contradictions",
        lambda: contradicted(regime),
        lambda: np.full(len(results.y), np.nan),
    )
    return {int(i): Precision(float(variances[i])) for i in np.flatnonzero(~np.isnan(variances))}


def _set_back(results: Sequence[CubeEvaluation], latest: float) -> list[CubeEvaluation]:
    """Results with all later times replaced by ``latest``."""
    return [replace(result, t=min(result.t, latest)) for result in results]


def _remembered(knowledge: Knowledge, number: int) -> Remembered | None:
    """The remembered regime of a number, or None."""
    return next((one for one in knowledge.remembered if one.number == number), None)


def _surely_before(aside: Sequence[CubeEvaluation]) -> Sequence[CubeEvaluation]:
    """Results before a jump, without those of the last time if several: some may be after it."""
    earlier = [result for result in aside if result.t < aside[-1].t]
    return aside if len(aside) - len(earlier) == 1 else earlier


def due_as_json(due: Due) -> dict[str, Any]:
    """A due estimate as JSON; without ``since``, all results count."""
    since = {} if np.isinf(due.since) else {"since": due.since}
    return {"told": due.told, **since, **({"back": due.back} if due.back else {})}


def due_from_json(data: Mapping[str, Any]) -> Due:
    """Read the output of :func:`due_as_json`."""
    return Due(int(data["told"]), float(data.get("since", -inf)), int(data.get("back", 0)))


def columns(name: str, evaluations: Iterable[CubeEvaluation]) -> State:
    """Times, values, places, noise and keys of evaluations as arrays."""
    listed = list(evaluations)
    return {
        f"{name}/t": np.array([evaluation.t for evaluation in listed]),
        f"{name}/y": np.array([evaluation.y for evaluation in listed]),
        f"{name}/place": np.array([evaluation.place[0] for evaluation in listed]),
        f"{name}/noise": noise_of(listed),
        f"{name}/key": np.array([evaluation.key for evaluation in listed], dtype=np.int64),
    }


def evaluations(name: str, state: State) -> list[CubeEvaluation]:
    """Read the evaluations that :func:`columns` wrote."""
    t, y, places, noise, keys = (
        state[f"{name}/{column}"] for column in ("t", "y", "place", "noise", "key")
    )
    own = [Precision.from_row(row) for row in noise.tolist()]
    rows = zip(t.tolist(), places[:, None], y.tolist(), own, keys.tolist(), strict=True)
    return [CubeEvaluation(*row) for row in rows]


def noise_of(evaluations: Sequence[CubeEvaluation]) -> Array:
    """The noise of each evaluation, (n, 2)."""
    if all(evaluation.precision is USUAL for evaluation in evaluations):  # called at every result
        return usual_noise(len(evaluations))
    return np.array([evaluation.precision.row for evaluation in evaluations])


def _text(data: object) -> Array:
    return np.frombuffer(json.dumps(data).encode(), dtype=np.uint8)
