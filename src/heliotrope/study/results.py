"""Answers of a study: dictionaries as in JSON, whose fields are typed attributes as well.

``json.dumps`` writes them as they are. A field that an answer lacks is None.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from heliotrope.notebook import facts_table
from heliotrope.study.commands import Evaluation
from heliotrope.study.words import facts
from heliotrope.validation import Json


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
    """The best choice now, with its mean and standard deviation.

    Nothing else is better by more than ``margin`` with this ``probability``; both are None while
    too few results are known.
    """

    t: float
    params: Mapping[str, Any] | None
    option: str | None
    context: Mapping[str, Any] | None
    mean: float
    std: float
    probability: float | None
    margin: float | None

    @property
    def choice(self) -> Any:
        """The parameters, or the name of the option."""
        return self.params if self.option is None else self.option


class Drift(Result):
    """The drift per unit of time, its interval, and its meaning in words."""

    epsilon: float | None
    interval: list[float] | None
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
    """The configuration and the state; ``faults`` are the ids of results taken for faults."""

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
    warning: str | None
    _readers: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "open": lambda found: [Evaluation.from_json(one) for one in found],
        "best": BestChoice,
        "drift": Drift,
        "gain": Gain,
    }

    def _repr_html_(self) -> str:
        return facts_table(self.name, facts(self))


class BeliefReport(Result):
    """The belief at a time; ``view`` says which other fields there are."""

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
    """The latest results, and the best as it was believed at some times."""

    results: list[Json]
    best: list[BestChoice]
    certificate: Json | None
    _readers: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "best": lambda found: [BestChoice(one) for one in found]
    }


def _same(value: Any) -> Any:
    return value
