"""Commands to a study as data: their fields, the checks of these, and their descriptions.

A study decides them, the service reads them from JSON and describes them in its OpenAPI document,
the client sends them. A command is checked when it is carried out or sent, so a batch answers a
wrong one on its own. Reading one from JSON also refuses unknown keys and values of the wrong type.

After a change, ``python scripts/write_surfaces.py`` writes the methods of studies, the command line
and the reference again. A keyword-only field is a keyword-only argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self, TypeVar, Unpack

from heliotrope.errors import InputError, located, relocated
from heliotrope.precision import CHECKS, check_names
from heliotrope.study.clocks import as_length
from heliotrope.study.command_fields import Command, metadata_of
from heliotrope.study.evaluations import (
    THE_VALUE as THE_VALUE,
    VALUE,
    Evaluation as Evaluation,
    Hold as Hold,
    MeasuredCommand,
    Measurement as Measurement,
    MetricNoise as MetricNoise,
    Values as Values,
    as_value as as_value,
    as_values,
    asked_from_json,
    id_of as id_of,
    point_of as point_of,
)
from heliotrope.validation import Json, as_number, as_positive, short_repr

T = TypeVar("T")
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


_NUMBER, _OBJECT, _TEXT = {"type": "number"}, {"type": "object"}, {"type": "string"}
_SHORT = {"type": "string", "minLength": 1, "maxLength": 100}
_KEY = {"type": "string", "minLength": 1, "maxLength": _LONGEST_KEY}
_LEASE = {"type": "string", "minLength": 1, "maxLength": 40}

_TIME = metadata_of("Time of the evaluation. Default: now, by the study's clock.", _NUMBER, as_time)
_CONTEXT = metadata_of("Context values by name, if the study has contexts.", _OBJECT)
_ID = metadata_of("The id of the evaluation.", _SHORT)
_UID = metadata_of(
    "The study's uid. The command is refused if the study has another one.", _SHORT, by_client=True
)
_PARAMS = metadata_of("A value for every parameter.", _OBJECT)
_OPTION = metadata_of("The name of an option.", _TEXT)


_EXAMPLE: Json = {"id": "5f0c2a91d3e4-81c05b7e-0", "t": 1.0, "params": {"x": 0.5}}


class _Suggesting(Command[Evaluation]):
    """A command whose result is an evaluation."""

    def answer(self, result: Evaluation) -> Json:
        return result.to_json()

    def result(self, answer: Mapping[str, Any]) -> Evaluation:
        return Evaluation.from_json(answer)


class _Acknowledged(Command[None]):
    """A command without a result."""

    def result(self, answer: Mapping[str, Any]) -> None:
        return None


class _OfChoice(Command[T]):
    """A command about either parameters or an option."""

    params: Mapping[str, Any] | None
    option: str | None

    @property
    def chosen(self) -> Mapping[str, Any] | str | None:
        """The parameters, or the option."""
        return self.params if self.option is None else self.option

    @classmethod
    def from_json(cls, data: object) -> Self:
        command = super().from_json(data)
        if (command.params is None) == (command.option is None):
            got = "neither" if command.option is None else "both"
            raise InputError("either params or an option", got)
        return command


@dataclass(frozen=True)
class Ask(Command[Evaluation | Hold]):
    """Ask what to measure now; with a ``cost``, the answer may be to measure nothing yet."""

    verb: ClassVar[str] = "ask"
    answered: ClassVar[str] = "Asked"
    example: ClassVar[Json] = {"context": {"outside": 21.5}, "key": "job 17", "lease": "10min"}
    example_answer: ClassVar[Json] = {
        **_EXAMPLE,
        "context": {"outside": 21.5},
        "until": 1_700_000_600.0,
    }
    t: float | None = field(default=None, metadata=_TIME)
    context: Mapping[str, Any] | None = field(default=None, kw_only=True, metadata=_CONTEXT)
    key: str | None = field(
        default=None,
        kw_only=True,
        metadata=metadata_of(
            "A key of your own, which makes the call safe to repeat. While the evaluation is open, "
            "the same key returns it again, in its first context. Later the key is refused "
            "(ClosedSuggestionError).",
            _KEY,
            as_key,
        ),
    )
    uid: str | None = field(default=None, kw_only=True, metadata=_UID)
    lease: str | None = field(
        default=None,
        kw_only=True,
        metadata=metadata_of(
            "Time such as 10min after which the evaluation expires without a result or a "
            "heartbeat, as if it was cancelled. A later result is still taken.",
            _LEASE,
            as_length,
        ),
    )
    cost: float | None = field(
        default=None,
        kw_only=True,
        metadata=metadata_of(
            "The cost of a measurement, in the unit of the objective for one unit of time. With it "
            "the answer may be a Hold (hold_until): no measurement before that time is worth it.",
            {"type": "number", "exclusiveMinimum": 0},
            partial(as_positive, name="cost"),
            without="Evaluation",
        ),
    )

    def answer(self, result: Evaluation | Hold) -> Json:
        return result.to_json()

    def result(self, answer: Mapping[str, Any]) -> Evaluation | Hold:
        return asked_from_json(answer)


@dataclass(frozen=True)
class Tell(MeasuredCommand[Evaluation | Hold | None]):
    """Tell the result of an evaluation.

    Instead of a value, tell a proportion as ``successes`` and ``trials``, or a rate as ``count``
    and ``exposure``. The same result can be told again; a different one is refused.
    """

    verb: ClassVar[str] = "tell"
    answered: ClassVar[str] = "Told"
    example: ClassVar[Json] = {"id": _EXAMPLE["id"], "value": 21.5, "std": 0.4}
    example_answer: ClassVar[Json] = {"told": _EXAMPLE["id"]}
    id: str = field(metadata=_ID)
    value: Values | None = field(default=None, metadata=VALUE)
    ask: Ask | None = field(
        default=None,
        metadata=metadata_of(
            "The next ask. Both are done, or neither.",
            {"type": "object", "class": Ask},
            by_client=True,
            without="None",
        ),
    )
    params: Mapping[str, Any] | None = field(
        default=None,
        metadata=metadata_of(
            "The parameters of the ask: the evaluation must have them.", _OBJECT, by_client=True
        ),
    )
    option: str | None = field(
        default=None,
        metadata=metadata_of(
            "The option of the ask: the evaluation must have it.", _TEXT, by_client=True
        ),
    )

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
class Add(_OfChoice[Evaluation], _Suggesting, MeasuredCommand[Evaluation]):
    """Add a result that was measured elsewhere, as if it had been asked for and told.

    The result has the forms of ``tell``.
    """

    verb: ClassVar[str] = "add"
    answered: ClassVar[str] = "Evaluation"
    example: ClassVar[Json] = {"params": {"x": 0.5}, "value": 21.5, "key": "log 1"}
    example_answer: ClassVar[Json] = _EXAMPLE
    value: Values | None = field(default=None, metadata=VALUE)
    params: Mapping[str, Any] | None = field(default=None, metadata=_PARAMS)
    option: str | None = field(default=None, metadata=_OPTION)
    t: float | None = field(default=None, metadata=_TIME)
    context: Mapping[str, Any] | None = field(default=None, kw_only=True, metadata=_CONTEXT)
    key: str | None = field(
        default=None,
        kw_only=True,
        metadata=metadata_of(
            "A key of your own, which makes the call safe to repeat: the same result is added "
            "once. Another result under the same key is refused (ClosedSuggestionError).",
            _KEY,
            as_key,
        ),
    )
    uid: str | None = field(default=None, kw_only=True, metadata=_UID)

    @classmethod
    def of(
        cls, chosen: Mapping[str, Any] | str, value: Values | None = None, **fields: Any
    ) -> Self:
        """A result of parameters, or of an option given as text."""
        return cls(value, **as_choice(chosen), **fields)


@dataclass(frozen=True)
class Applied(_OfChoice[None], _Acknowledged):
    """Say which parameters, or which option, the system runs with now.

    Moves are measured from there, until the next result or the next call.
    """

    verb: ClassVar[str] = "applied"
    answered: ClassVar[str] = "Applied"
    example: ClassVar[Json] = {"params": {"x": 0.5}}
    example_answer: ClassVar[Json] = {"applied": True}
    params: Mapping[str, Any] | None = field(default=None, metadata=_PARAMS)
    option: str | None = field(default=None, metadata=_OPTION)
    uid: str | None = field(default=None, metadata=_UID)

    @classmethod
    def of(cls, chosen: Mapping[str, Any] | str) -> Self:
        """These parameters, or an option given as text."""
        return cls(**as_choice(chosen))

    def answer(self, result: None) -> Json:
        return {"applied": True}


@dataclass(frozen=True)
class Cancel(_Acknowledged):
    """Cancel an evaluation whose measurement failed; repeating is accepted.

    The next asks avoid its setting, for longer the more often evaluations fail there.
    """

    verb: ClassVar[str] = "cancel"
    answered: ClassVar[str] = "Cancelled"
    example: ClassVar[Json] = {"id": _EXAMPLE["id"]}
    example_answer: ClassVar[Json] = {"cancelled": _EXAMPLE["id"]}
    id: str = field(metadata=_ID)

    def answer(self, result: None) -> Json:
        return {"cancelled": self.id}


@dataclass(frozen=True)
class Heartbeat(_Suggesting):
    """Prolong the lease of an open evaluation from now on: its worker is alive."""

    verb: ClassVar[str] = "heartbeat"
    answered: ClassVar[str] = "Evaluation"
    example: ClassVar[Json] = {"id": _EXAMPLE["id"], "lease": "1h"}
    example_answer: ClassVar[Json] = {**_EXAMPLE, "until": 1_700_003_600.0}
    id: str = field(metadata=_ID)
    lease: str | None = field(
        default=None,
        metadata=metadata_of(
            "New length of the lease, such as 10min. Default: its length so far.",
            _LEASE,
            as_length,
        ),
    )


@dataclass(frozen=True)
class Retime(_Acknowledged):
    """Move later times back to the present, after a clock was ahead."""

    verb: ClassVar[str] = "retime"
    answered: ClassVar[str] = "Retimed"
    example: ClassVar[Json] = {}
    example_answer: ClassVar[Json] = {"retimed": True}
    t: float | None = field(
        default=None,
        metadata=metadata_of("The latest time that stays. Default: now.", _NUMBER, as_time),
    )

    def answer(self, result: None) -> Json:
        return {"retimed": True}


BY_VERB: Mapping[str, type[Command[Any]]] = {
    kind.verb: kind for kind in (Ask, Tell, Add, Applied, Cancel, Heartbeat, Retime)
}
"""All commands by their verbs."""


def command_from_json(verb: object, body: object) -> Command[Any]:
    """Read a command; the field of an InputError is ``verb``, ``body`` or such as ``body.id``."""
    if not isinstance(verb, str) or verb not in BY_VERB:
        raise InputError(f"a verb among {sorted(BY_VERB)}", short_repr(verb), "", "verb")
    with relocated("body.body", "body"), located("body"):
        return BY_VERB[verb].from_json(body)
