"""Commands to a study as data: their fields, the checks of these, and their descriptions.

A study decides them, the service reads them from JSON and describes them in its OpenAPI document,
the client sends them. Constructing a command checks its numbers and its key; reading one from JSON
also refuses unknown keys and values of the wrong type.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

from heliotrope.errors import InputError, located
from heliotrope.precision import CHECKS, Noise, Precision, value_and_precision
from heliotrope.study.clocks import as_length
from heliotrope.study.command_fields import Command, metadata_of
from heliotrope.validation import Json, as_number, as_positive, short_repr

T = TypeVar("T")

THE_VALUE = "value"
"""The name of the only metric of a study without named metrics."""
_LARGEST = 1e45  # squares of values must be finite
_LONGEST_KEY = 200
_LONGEST_FIELD = 60  # of a name in an error


@dataclass(frozen=True)
class Evaluation:
    """An open evaluation: measure ``params`` (or the named ``option``) at ``t``, tell by ``id``.

    ``context`` is the context of the ask; None if the study has no contexts. ``until`` is the wall
    time at which its lease ends, if it has one. ``reason`` says why it was chosen, in a study with
    metrics, limits, a baseline or moves.
    """

    id: str
    t: float
    params: Mapping[str, Any] | None = None
    option: str | None = None
    context: Mapping[str, Any] | None = None
    until: float | None = None
    reason: str | None = None

    def to_json(self) -> Json:
        """The evaluation as JSON, without empty fields."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the JSON of an evaluation; other keys are ignored."""
        given = ("params", "option", "context", "until", "reason")
        chosen = {key: data[key] for key in given if key in data}
        return cls(data["id"], data["t"], **chosen)


@dataclass(frozen=True)
class Hold:
    """The answer that a measurement before the time ``until`` would not be worth its cost."""

    until: float
    reason: ClassVar[str] = "hold"

    def to_json(self) -> Json:
        return {"hold_until": self.until}


def asked_from_json(data: Mapping[str, Any]) -> Evaluation | Hold:
    """Read the answer to an ask."""
    return Hold(data["hold_until"]) if "hold_until" in data else Evaluation.from_json(data)


def id_of(evaluation: Evaluation | str) -> str:
    """The id of an evaluation; an id is returned unchanged."""
    return evaluation.id if isinstance(evaluation, Evaluation) else evaluation


def point_of(evaluation: Evaluation | str) -> Json:
    """The fields of a Tell that name the point of an evaluation; none if only its id is given."""
    if not isinstance(evaluation, Evaluation):
        return {}
    named = {"params": evaluation.params, "option": evaluation.option}
    return {name: value for name, value in named.items() if value is not None}


def as_value(value: object) -> float:
    """Return a result that can be told, or raise an InputError."""
    number = as_number(value, "the value", "Cancel the ask if its measurement failed.")
    if abs(number) > _LARGEST:
        raise InputError(f"a size of at most {_LARGEST:g}", f"{number:g}", "Use a larger unit.")
    return number


def as_values(value: object) -> float | dict[str, float]:
    """Return a result, or a result for each of some metrics, or raise an InputError."""
    if not isinstance(value, Mapping):
        return as_value(value)
    if not value:
        raise InputError("the value of at least one metric", "none", "Cancel the ask instead.")
    return _by_metric(value, as_value)


def as_errors(std: object) -> float | dict[str, float]:
    """Return a standard error, or one for each of some metrics, or raise an InputError."""
    return _by_metric(std, CHECKS["std"]) if isinstance(std, Mapping) else CHECKS["std"](std)


def _by_metric(numbers: Mapping[Any, Any], check: Callable[[object], float]) -> dict[str, float]:
    checked = {}
    for name, number in numbers.items():
        if not isinstance(name, str):
            raise InputError("names of metrics", short_repr(name))
        with located(name[:_LONGEST_FIELD]):
            checked[name] = check(number)
    return checked


def as_key(key: object) -> str:
    """Return the key of an ask, or raise an InputError."""
    if isinstance(key, str) and 0 < len(key) <= _LONGEST_KEY:
        return key
    raise InputError(f"a text of 1 to {_LONGEST_KEY} characters", repr(key)[:60])


def as_time(t: object) -> float:
    """Return a time, or raise an InputError."""
    return as_number(t, "t")


def as_choice(params: Mapping[str, Any] | str) -> Json:
    """The field of an Add that holds this choice: ``option`` for a text, else ``params``."""
    return {"option" if isinstance(params, str) else "params": params}


def _number_or_numbers(number: Json) -> Json:
    """The schema of a number, or of one for each of some metrics."""
    return {"anyOf": [number, {"type": "object", "additionalProperties": number}]}


_TIME = metadata_of("Time of the evaluation. Default: now.", {"type": "number"}, as_time)
_VALUE = metadata_of(
    "The measured value, or the values by metric. A metric may be missing.",
    _number_or_numbers({"type": "number"}),
    as_values,
)
_CONTEXT = metadata_of("Context values by name, if the study has contexts.", {"type": "object"})
_KEY = metadata_of(
    "A key that the client chooses. A request repeated with its key is carried out once.",
    {"type": "string", "minLength": 1, "maxLength": _LONGEST_KEY},
    as_key,
)
_LEASE = metadata_of(
    "Time until the ask expires without a result or a heartbeat, such as 10min.",
    {"type": "string", "minLength": 1, "maxLength": 40},
    as_length,
)
_COST = metadata_of(
    "The cost of a measurement, in the unit of the objective for one unit of time.",
    {"type": "number", "exclusiveMinimum": 0},
    partial(as_positive, name="cost"),
)
_SHORT = {"type": "string", "minLength": 1, "maxLength": 100}
_ID = metadata_of("The id of the evaluation.", _SHORT)
_UID = metadata_of("The study's uid. The command is refused if the study has another one.", _SHORT)
_PARAMS = metadata_of("A value for every parameter.", {"type": "object"})
_OPTION = metadata_of("The name of an option.", {"type": "string"})
_ASKED_PARAMS = metadata_of("The parameters of the ask, to compare.", {"type": "object"})
_ASKED_OPTION = metadata_of("The option of the ask, to compare.", {"type": "string"})


_NUMBER, _COUNT = {"type": "number", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 0}
_POSITIVE = {"type": "integer", "minimum": 1}


def _noise(name: str, description: str, schema: Mapping[str, Any]) -> Any:
    """An optional field about the noise of a result."""
    check = as_errors if name == "std" else CHECKS[name]
    return field(default=None, metadata=metadata_of(description, schema, check))


Values: TypeAlias = float | Mapping[str, float]
"""A value, or values by metric."""


class MetricNoise(Noise, total=False):
    """The keyword arguments of a study's ``tell``: ``std`` may also be given by metric."""

    std: float | Mapping[str, float] | None  # type: ignore[misc]


Measurement: TypeAlias = tuple[float, Precision]
"""A value and its precision."""


@dataclass(frozen=True, kw_only=True)
class _Measured(Command[T]):
    """A command with a result in one of the forms of :mod:`heliotrope.precision`.

    The subclass's field ``value`` is None if the result is a proportion or a rate.
    """

    std: float | Mapping[str, float] | None = _noise(
        "std", "The standard error of the value, or those by metric.", _number_or_numbers(_NUMBER)
    )
    n: int | None = _noise("n", "The number of repeats that the value averages.", _POSITIVE)
    successes: int | None = _noise(
        "successes", "The number of successes, instead of a value.", _COUNT
    )
    trials: int | None = _noise("trials", "The number of trials.", _POSITIVE)
    count: int | None = _noise("count", "The number of events, instead of a value.", _COUNT)
    exposure: float | None = _noise(
        "exposure", "The time or amount observed for the count.", _NUMBER
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            for value, _ in self.measured.values():
                as_value(value)
        except InputError as error:
            error.field = error.field or "value"
            raise

    @property
    def noise(self) -> Json:
        """The given fields about the noise of the result."""
        return {name: vars(self)[name] for name in CHECKS if vars(self)[name] is not None}

    @property
    def measured(self) -> dict[str, Measurement]:
        """The value of each metric and its precision; a value without a name is ``THE_VALUE``."""
        value, noise = vars(self)["value"], self.noise
        if not isinstance(value, Mapping):
            if isinstance(noise.get("std"), Mapping):
                raise InputError("values by metric beside such a std", short_repr(value))
            return {THE_VALUE: value_and_precision(value, **noise)}
        errors = noise.pop("std", {})
        if not isinstance(errors, Mapping) or not errors.keys() <= value.keys():
            got = short_repr(dict(errors) if isinstance(errors, Mapping) else errors)
            raise InputError("a std by metric, of metrics that have a value", got, field="std")
        return {
            name: value_and_precision(
                number, **({"std": errors[name]} if name in errors else noise)
            )
            for name, number in value.items()
        }


class _Suggesting(Command[Evaluation]):
    """A command whose result is an evaluation."""

    def answer(self, result: Evaluation) -> Json:
        return result.to_json()

    def result(self, answer: Mapping[str, Any]) -> Evaluation:
        return Evaluation.from_json(answer)


@dataclass(frozen=True)
class Ask(Command[Evaluation | Hold]):
    """Ask what to measure; with a ``cost``, the answer may be to measure nothing yet."""

    verb: ClassVar[str] = "ask"
    t: float | None = field(default=None, metadata=_TIME)
    context: Mapping[str, Any] | None = field(default=None, metadata=_CONTEXT)
    key: str | None = field(default=None, metadata=_KEY)
    uid: str | None = field(default=None, metadata=_UID)
    lease: str | None = field(default=None, metadata=_LEASE)
    cost: float | None = field(default=None, metadata=_COST)

    def answer(self, result: Evaluation | Hold) -> Json:
        return result.to_json()

    def result(self, answer: Mapping[str, Any]) -> Evaluation | Hold:
        return asked_from_json(answer)


_NEXT = metadata_of("The next ask. Both are done, or neither.", {"type": "object", "class": Ask})


@dataclass(frozen=True)
class Tell(_Measured[Evaluation | Hold | None]):
    """Tell the result of an evaluation; with ``ask``, also ask for the next one.

    If ``params`` or ``option`` is given, the evaluation must have this point.
    """

    verb: ClassVar[str] = "tell"
    id: str = field(metadata=_ID)
    value: float | Mapping[str, float] | None = field(default=None, metadata=_VALUE)
    ask: Ask | None = field(default=None, metadata=_NEXT)
    params: Mapping[str, Any] | None = field(default=None, metadata=_ASKED_PARAMS)
    option: str | None = field(default=None, metadata=_ASKED_OPTION)

    @classmethod
    def of_event(cls, body: Mapping[str, Any]) -> Self:
        """The command of an event, without an ask; the event also has the value of a rate."""
        noise = {name: body[name] for name in CHECKS if name in body}
        value = as_values(body["value"])
        return cls(body["id"], value if {"std", "n"} >= noise.keys() else None, **noise)

    def answer(self, result: Evaluation | Hold | None) -> Json:
        return {"told": self.id, **({} if result is None else {"ask": result.to_json()})}

    def result(self, answer: Mapping[str, Any]) -> Evaluation | Hold | None:
        return None if self.ask is None else asked_from_json(answer["ask"])


@dataclass(frozen=True)
class Add(_Suggesting, _Measured[Evaluation]):
    """Add a result that was measured elsewhere: of parameters, or of an option."""

    verb: ClassVar[str] = "add"
    value: float | Mapping[str, float] | None = field(default=None, metadata=_VALUE)
    params: Mapping[str, Any] | None = field(default=None, metadata=_PARAMS)
    option: str | None = field(default=None, metadata=_OPTION)
    t: float | None = field(default=None, metadata=_TIME)
    context: Mapping[str, Any] | None = field(default=None, metadata=_CONTEXT)
    key: str | None = field(default=None, metadata=_KEY)
    uid: str | None = field(default=None, metadata=_UID)

    @property
    def chosen(self) -> Mapping[str, Any] | str | None:
        """The parameters, or the option."""
        return self.params if self.option is None else self.option

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read a command that has either parameters or an option."""
        command = super().from_json(data)
        _check_choice(command.params, command.option)
        return command


@dataclass(frozen=True)
class Applied(Command[None]):
    """Say which parameters, or which option, the system runs with now."""

    verb: ClassVar[str] = "applied"
    params: Mapping[str, Any] | None = field(default=None, metadata=_PARAMS)
    option: str | None = field(default=None, metadata=_OPTION)
    uid: str | None = field(default=None, metadata=_UID)

    @property
    def chosen(self) -> Mapping[str, Any] | str | None:
        """The parameters, or the option."""
        return self.params if self.option is None else self.option

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read a command that has either parameters or an option."""
        command = super().from_json(data)
        _check_choice(command.params, command.option)
        return command

    def answer(self, result: None) -> Json:
        return {"applied": True}

    def result(self, answer: Mapping[str, Any]) -> None:
        return None


def _check_choice(params: object, option: object) -> None:
    if (params is None) == (option is None):
        raise InputError("either params or an option", "neither" if option is None else "both")


@dataclass(frozen=True)
class Cancel(Command[None]):
    """Cancel an evaluation whose measurement failed."""

    verb: ClassVar[str] = "cancel"
    id: str = field(metadata=_ID)

    def answer(self, result: None) -> Json:
        return {"cancelled": self.id}

    def result(self, answer: Mapping[str, Any]) -> None:
        return None


@dataclass(frozen=True)
class Heartbeat(_Suggesting):
    """Prolong the lease of an open evaluation: its worker is alive."""

    verb: ClassVar[str] = "heartbeat"
    id: str = field(metadata=_ID)
    lease: str | None = field(default=None, metadata=_LEASE)


@dataclass(frozen=True)
class Retime(Command[None]):
    """Move later times back to the present, after a clock was ahead."""

    verb: ClassVar[str] = "retime"
    t: float | None = field(default=None, metadata=_TIME)

    def answer(self, result: None) -> Json:
        return {"retimed": True}

    def result(self, answer: Mapping[str, Any]) -> None:
        return None


BY_VERB: Mapping[str, type[Command[Any]]] = {
    kind.verb: kind for kind in (Ask, Tell, Add, Applied, Cancel, Heartbeat, Retime)
}
"""All commands by their verbs."""
