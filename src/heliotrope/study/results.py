"""Answers of a study: dictionaries as in JSON, whose fields are typed attributes as well.

``json.dumps`` writes them as they are. A field that an answer lacks is None.
Functions below the classes put answers in words, for people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from heliotrope.notebook import facts_table
from heliotrope.study.commands import Evaluation
from heliotrope.validation import Json

_WORTH_SAYING = 0.05  # of a deviation


class Result(dict[str, Any]):
    """An answer as JSON; its annotated fields are attributes."""

    _readers: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}  # of fields that are not plain

    def to_json(self) -> Json:
        """The same as a plain dictionary."""
        return dict(self)

    if not TYPE_CHECKING:  # otherwise a misspelled name would pass a type check

        def __getattr__(self, name: str) -> Any:
            if name not in type(self).__annotations__:
                raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}")
            value = self.get(name)
            return value if value is None else self._readers.get(name, _same)(value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({super().__repr__()})"


class BestChoice(Result):
    """The best choice now, in the ``context`` if any.

    ``mean`` and ``std`` are its believed value and the standard deviation of that. With this
    ``probability`` nothing else is better by more than ``margin``; both are None while too few
    results are known.
    """

    t: float
    context: Mapping[str, Any] | None
    mean: float
    std: float
    probability: float | None
    margin: float | None

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters by name; empty among options."""
        params: Mapping[str, Any] = self.get("params", {})
        return params

    @property
    def option(self) -> str:
        """The name of the option; empty among parameters."""
        return str(self.get("option", ""))

    @property
    def choice(self) -> Mapping[str, Any] | str:
        """The parameters, or the name of the option."""
        return self.option or self.params


class Drift(Result):
    """The drift ``epsilon`` per unit of time, and its meaning in ``words``."""

    epsilon: float | None
    words: str


class Gain(Result):
    """How much better the best choice is than the baseline, with an interval of 95 %.

    ``now`` is the gain at present and ``total`` the sum of the gains of all results, in the unit
    of the objective. A gain is positive if the choice is better, also in a study that minimizes.
    ``baseline`` in both is the value of the baseline as it is told. ``words`` says all of it.
    """

    now: Json
    total: Json | None
    words: str


class Summary(Result):
    """The configuration and the state of a study.

    Attributes
    ----------
    name, uid, setup, created
        The name, the identifier, the configuration as JSON, and the wall time of the creation.
    t, context
        The present time and the context that the best refers to.
    events, asked, told
        Numbers of events, of evaluations, and of results.
    faults
        Ids of the results taken for faults.
    open
        Open evaluations, oldest first.
    model
        The model as it was last estimated.
    best, drift
        The best choice now, None without results; and how fast the function changes.
    accuracy
        The estimated error of the belief, of its deviation (``std``) and of its ``mean``, as shares
        of the deviation; None for a policy without a joint posterior.
    warning
        Why the latest results can hardly be followed, if so.
    lead, metrics, baseline, applied, gain, front
        Of a running system: the metric of the best, all metrics, the baseline, what runs now, the
        gain over the baseline, and the trade-offs between several objectives.
    """

    name: str
    uid: str
    setup: Json
    created: float
    t: float
    context: Mapping[str, Any] | None
    events: int
    asked: int
    told: int
    faults: list[str]
    open: list[Evaluation]
    model: Json
    best: BestChoice | None
    drift: Drift
    lead: str | None
    metrics: Json | None
    baseline: Json | None
    applied: Json | None
    gain: Gain | None
    front: list[Json] | None
    accuracy: Json | None
    warning: str | None
    _readers: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "open": lambda listed: [Evaluation.from_json(data) for data in listed],
        "best": BestChoice,
        "drift": Drift,
        "gain": Gain,
    }

    def _repr_html_(self) -> str:
        return facts_table(self.name, facts(self))


class BeliefReport(Result):
    """The belief at time ``t`` in a ``context``, with the ``best`` choice; ``view`` is its form.

    - "options": ``options``, each with its mean and std.
    - "band": ``mean`` and ``std`` along one ``parameter``.
    - "map": ``mean`` and ``std`` over two ``parameters``.
    - "slices": ``slices``, a band for each parameter through the best.
    - "none": no belief.

    The key "values" holds the values of the parameters, and with limits "safe" says which choices
    are known to keep them.
    """

    t: float
    view: str
    context: Mapping[str, Any] | None
    best: BestChoice | None
    options: list[Json] | None
    parameter: str | None
    parameters: list[str] | None
    mean: list[Any] | None
    std: list[Any] | None
    slices: list[Json] | None
    _readers: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"best": BestChoice}


class Front(Result):
    """The best trade-offs between several objectives now.

    Each choice has the ``mean`` and ``std`` of every objective by name; in no other choice that
    keeps the limits are all means better.
    """

    t: float
    context: Mapping[str, Any] | None
    objectives: list[str]
    choices: list[Json]


class Track(Result):
    """The latest ``results``, and the ``best`` as it was believed at some times.

    ``certificate`` is a bound of the regret so far, for policies that have one.
    """

    results: list[Json]
    best: list[BestChoice]
    certificate: Json | None
    _readers: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "best": lambda listed: [BestChoice(data) for data in listed]
    }


def _same(value: Any) -> Any:
    return value


def facts(summary: Mapping[str, Any]) -> dict[str, str]:
    """A summary as a few named facts; those that do not apply are empty."""
    best = summary["best"]
    value = "" if best is None else f"{best['mean']:.4g} ± {best['std']:.2g}"
    return {
        "created": when(summary["created"]),
        "time now": f"{summary['t']:.6g}",
        "direction": str(summary["setup"]["direction"]),
        "told": f"{summary['told']:,} of {summary['asked']:,} asked",
        "context": listing(summary.get("context") or {}),
        "best now": "unknown" if best is None else setting(best),
        "its value": value,
        "confidence": "" if best is None else confidence(best),
        "drift": summary["drift"]["words"],
        "accuracy": accuracy(summary.get("accuracy")),
        "warning": summary.get("warning") or "",
        "open": "\n".join(f"{ask['id']}: {setting(ask)}{_given(ask)}" for ask in summary["open"]),
    }


def accuracy(errors: Mapping[str, float] | None) -> str:
    """How far the belief is from the exact one, if the error is large enough to mention."""
    if errors is None or max(errors.values()) < _WORTH_SAYING:
        return ""
    return f"deviations to about {errors['std']:.0%}, means to {errors['mean']:.0%} of a deviation"


def confidence(best: Mapping[str, Any]) -> str:
    """How sure it is that nothing is better."""
    if best["probability"] is None:
        return "unknown: too few results"
    rival = f"better by {best['margin']:.2g}" if best["margin"] else "better"
    return f"{best['probability']:.0%} that nothing is {rival}"


def setting(chosen: Mapping[str, Any]) -> str:
    """An option, or parameters and their values."""
    return str(chosen["option"]) if "option" in chosen else listing(chosen["params"])


def listing(values: Mapping[str, Any]) -> str:
    """Names and values, with four digits."""
    return ", ".join(f"{name} {_number(value)}" for name, value in values.items())


def when(seconds: float) -> str:
    """A time since 1970 as local date and time."""
    return datetime.fromtimestamp(seconds).isoformat(" ", "seconds")


def _given(ask: Mapping[str, Any]) -> str:
    return f" (at {listing(ask['context'])})" if "context" in ask else ""


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
