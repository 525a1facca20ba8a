"""Commands to a study as data: their fields, the checks of these, and their descriptions.

A study decides them, the service reads them from JSON and describes them in its OpenAPI document,
the client sends them. A command is checked when it is carried out or sent, so a batch answers a
wrong one on its own. Reading one from JSON also refuses unknown keys and values of the wrong type.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar, Unpack

from heliotrope.errors import InputError
from heliotrope.precision import CHECKS, Noise, Precision, check_names, value_and_precision
from heliotrope.study.clocks import as_length
from heliotrope.study.command_fields import Command, metadata_of
from heliotrope.validation import Json, as_number

T = TypeVar("T")

_LARGEST = 1e45  # squares of values must be finite
_LONGEST_KEY = 200


@dataclass(frozen=True)
class Evaluation:
    """An open evaluation: measure ``params`` (or the named ``option``) at ``t``, tell by ``id``.

    ``context`` is the context of the ask; None if the study has no contexts. ``until`` is the wall
    time at which its lease ends, if it has one.
    """

    id: str
    t: float
    params: Mapping[str, Any] | None = None
    option: str | None = None
    context: Mapping[str, Any] | None = None
    until: float | None = None

    def to_json(self) -> Json:
        """The evaluation as JSON, without empty fields."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the JSON of an evaluation; other keys are ignored."""
        given = ("params", "option", "context", "until")
        chosen = {key: data[key] for key in given if key in data}
        return cls(data["id"], data["t"], **chosen)


def id_of(evaluation: Evaluation | str) -> str:
    """The id of an evaluation; an id is returned unchanged."""
    return evaluation.id if isinstance(evaluation, Evaluation) else evaluation


def _point_of(evaluation: Evaluation | str) -> Json:
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


def as_key(key: object) -> str:
    """Return the key of an ask, or raise an InputError."""
    if isinstance(key, str) and 0 < len(key) <= _LONGEST_KEY:
        return key
    raise InputError(f"a text of 1 to {_LONGEST_KEY} characters", repr(key)[:60])


def as_time(t: object) -> float:
    """Return a time, or raise an InputError."""
    return as_number(t, "t")


_TIME = metadata_of("Time of the evaluation. Default: now.", {"type": "number"}, as_time)
_VALUE = metadata_of("The measured value.", {"type": "number"}, as_value)
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
    metadata = metadata_of(description, schema, CHECKS[name])
    return field(default=None, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class _Measured(Command[T]):
    """A command with a result in one of the forms of :mod:`heliotrope.precision`.

    The subclass's field ``value`` is None if the result is a proportion or a rate.
    """

    std: float | None = _noise("std", "The standard error of the value.", _NUMBER)
    n: int | None = _noise("n", "The number of repeats that the value averages.", _POSITIVE)
    successes: int | None = _noise(
        "successes", "The number of successes, instead of a value.", _COUNT
    )
    trials: int | None = _noise("trials", "The number of trials.", _POSITIVE)
    count: int | None = _noise("count", "The number of events, instead of a value.", _COUNT)
    exposure: float | None = _noise(
        "exposure", "The time or amount observed for the count.", _NUMBER
    )

    def check(self) -> None:
        super().check()
        try:
            as_value(self.measured[0])
        except InputError as error:
            error.field = error.field or "value"
            raise

    @property
    def noise(self) -> Json:
        """The given fields about the noise of the result."""
        return {name: vars(self)[name] for name in CHECKS if vars(self)[name] is not None}

    @property
    def measured(self) -> tuple[float, Precision]:
        """The value of the result, and its precision."""
        return value_and_precision(vars(self)["value"], **self.noise)


class _Suggesting(Command[Evaluation]):
    """A command whose result is an evaluation."""

    def answer(self, result: Evaluation) -> Json:
        return result.to_json()

    def result(self, answer: Mapping[str, Any]) -> Evaluation:
        return Evaluation.from_json(answer)


@dataclass(frozen=True)
class Ask(_Suggesting):
    """Ask what to measure."""

    verb: ClassVar[str] = "ask"
    t: float | None = field(default=None, metadata=_TIME)
    context: Mapping[str, Any] | None = field(default=None, metadata=_CONTEXT)
    key: str | None = field(default=None, metadata=_KEY)
    uid: str | None = field(default=None, metadata=_UID)
    lease: str | None = field(default=None, metadata=_LEASE)


_NEXT = metadata_of("The next ask. Both are done, or neither.", {"type": "object", "class": Ask})


@dataclass(frozen=True)
class Tell(_Measured[Evaluation | None]):
    """Tell the result of an evaluation; with ``ask``, also ask for the next one.

    If ``params`` or ``option`` is given, the evaluation must have this point.
    """

    verb: ClassVar[str] = "tell"
    id: str = field(metadata=_ID)
    value: float | None = field(default=None, metadata=_VALUE)
    ask: Ask | None = field(default=None, metadata=_NEXT)
    params: Mapping[str, Any] | None = field(default=None, metadata=_ASKED_PARAMS)
    option: str | None = field(default=None, metadata=_ASKED_OPTION)

    @classmethod
    def of(
        cls,
        asked: Evaluation | str,
        value: float | None = None,
        ask: Ask | None = None,
        **noise: Unpack[Noise],
    ) -> Self:
        """The result of an evaluation, given itself (its point is sent, too) or by its id."""
        check_names(noise)
        return cls(id_of(asked), value, ask, **_point_of(asked), **noise)

    @classmethod
    def of_event(cls, body: Mapping[str, Any]) -> Self:
        """The command of an event, without an ask; the event also has the value of a rate."""
        noise = {name: body[name] for name in CHECKS if name in body}
        value = as_value(body["value"])
        return cls(body["id"], value if {"std", "n"} >= noise.keys() else None, **noise)

    def answer(self, result: Evaluation | None) -> Json:
        return {"told": self.id, **({} if result is None else {"ask": result.to_json()})}

    def result(self, answer: Mapping[str, Any]) -> Evaluation | None:
        return None if self.ask is None else Evaluation.from_json(answer["ask"])


@dataclass(frozen=True)
class Add(_Suggesting, _Measured[Evaluation]):
    """Add a result that was measured elsewhere: of parameters, or of an option."""

    verb: ClassVar[str] = "add"
    value: float | None = field(default=None, metadata=_VALUE)
    params: Mapping[str, Any] | None = field(default=None, metadata=_PARAMS)
    option: str | None = field(default=None, metadata=_OPTION)
    t: float | None = field(default=None, metadata=_TIME)
    context: Mapping[str, Any] | None = field(default=None, metadata=_CONTEXT)
    key: str | None = field(default=None, metadata=_KEY)
    uid: str | None = field(default=None, metadata=_UID)

    @classmethod
    def of(cls, chosen: Mapping[str, Any] | str, value: float | None = None, **fields: Any) -> Self:
        """A result of parameters, or of an option given as text."""
        named: Json = {"option" if isinstance(chosen, str) else "params": chosen}
        return cls(value, **named, **fields)

    @property
    def chosen(self) -> Mapping[str, Any] | str | None:
        """The parameters, or the option."""
        return self.params if self.option is None else self.option

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read a command that has either parameters or an option."""
        command = super().from_json(data)
        if (command.params is None) == (command.option is None):
            got = "neither" if command.option is None else "both"
            raise InputError("either params or an option", got)
        return command


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
    kind.verb: kind for kind in (Ask, Tell, Add, Cancel, Heartbeat, Retime)
}
"""All commands by their verbs."""
