"""Commands to a study as data: their fields, the checks of these, and their descriptions.

A study decides them, the service reads them from JSON and describes them in its OpenAPI document,
the client sends them. A command is checked when it is carried out or sent, so a batch answers a
wrong one on its own. Reading one from JSON also refuses unknown keys and values of the wrong type.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self, Unpack

from heliotrope.errors import InputError
from heliotrope.precision import CHECKS, check_names
from heliotrope.study.clocks import as_length
from heliotrope.study.command_fields import Command, metadata_of
from heliotrope.study.evaluations import (
    Evaluation as Evaluation,
    Hold as Hold,
    asked_from_json,
    id_of as id_of,
    point_of as point_of,
)
from heliotrope.study.measured import (
    THE_VALUE as THE_VALUE,
    VALUE,
    MeasuredCommand,
    Measurement as Measurement,
    MetricNoise as MetricNoise,
    Values as Values,
    as_value as as_value,
    as_values,
)
from heliotrope.validation import Json, as_number, as_positive

_LONGEST_KEY = 200


def as_key(key: object) -> str:
    """Return the key of an ask, or raise an InputError."""
    if isinstance(key, str) and 0 < len(key) <= _LONGEST_KEY:
        return key
    raise InputError(f"a text of 1 to {_LONGEST_KEY} characters", repr(key)[:60])


def as_time(t: object) -> float:
    """Return a time, or raise an InputError."""
    return as_number(t, "t")


def as_choice(params: Mapping[str, Any] | str) -> Json:
    """The field of a command that holds this choice: ``option`` for a text, else ``params``."""
    return {"option" if isinstance(params, str) else "params": params}


_TIME = metadata_of("Time of the evaluation. Default: now.", {"type": "number"}, as_time)
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
class Tell(MeasuredCommand[Evaluation | Hold | None]):
    """Tell the result of an evaluation; with ``ask``, also ask for the next one.

    If ``params`` or ``option`` is given, the evaluation must have this point.
    """

    verb: ClassVar[str] = "tell"
    id: str = field(metadata=_ID)
    value: float | Mapping[str, float] | None = field(default=None, metadata=VALUE)
    ask: Ask | None = field(default=None, metadata=_NEXT)
    params: Mapping[str, Any] | None = field(default=None, metadata=_ASKED_PARAMS)
    option: str | None = field(default=None, metadata=_ASKED_OPTION)

    @classmethod
    def of(
        cls,
        asked: Evaluation | str,
        value: Values | None = None,
        ask: Ask | None = None,
        **noise: Unpack[MetricNoise],
    ) -> Self:
        """The result of an evaluation, given itself (its point is sent, too) or by its id."""
        check_names(noise)
        return cls(id_of(asked), value, ask, **point_of(asked), **noise)

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
class Add(_Suggesting, MeasuredCommand[Evaluation]):
    """Add a result that was measured elsewhere: of parameters, or of an option."""

    verb: ClassVar[str] = "add"
    value: float | Mapping[str, float] | None = field(default=None, metadata=VALUE)
    params: Mapping[str, Any] | None = field(default=None, metadata=_PARAMS)
    option: str | None = field(default=None, metadata=_OPTION)
    t: float | None = field(default=None, metadata=_TIME)
    context: Mapping[str, Any] | None = field(default=None, metadata=_CONTEXT)
    key: str | None = field(default=None, metadata=_KEY)
    uid: str | None = field(default=None, metadata=_UID)

    @classmethod
    def of(
        cls, chosen: Mapping[str, Any] | str, value: Values | None = None, **fields: Any
    ) -> Self:
        """A result of parameters, or of an option given as text."""
        return cls(value, **as_choice(chosen), **fields)

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

    @classmethod
    def of(cls, chosen: Mapping[str, Any] | str) -> Self:
        """These parameters, or an option given as text."""
        return cls(**as_choice(chosen))

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
