"""Evaluations and their results: what an ask is answered with, and what is told.

A result is a value, or values by metric, with what is known of their noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

from heliotrope.errors import InputError, located
from heliotrope.precision import CHECKS, Noise, Precision, check_size, value_and_precision
from heliotrope.study.command_fields import Command, metadata_of
from heliotrope.validation import Json, as_number, short_repr

T = TypeVar("T")

_EMPTY: tuple[object, ...] = (None, "", {})
THE_VALUE = "value"
"""The name of the only metric of a study without named metrics."""
_LONGEST_FIELD = 60  # of a name in an error
_NUMBER, _COUNT = {"type": "number", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 0}
_POSITIVE = {"type": "integer", "minimum": 1}


@dataclass(frozen=True)
class Evaluation:
    """An open evaluation: measure ``params`` (or the named ``option``) at ``t``, tell by ``id``.

    ``params`` is empty in a study of options, and ``option`` in a study of parameters. ``context``
    is the context of the ask; None if the study has no contexts. ``until`` is the wall time at
    which its lease ends, if it has one. ``reason`` says why it was chosen, in a study with metrics,
    limits, a baseline or moves.
    """

    id: str
    t: float
    params: Mapping[str, Any] = field(default_factory=dict)
    option: str = ""
    context: Mapping[str, Any] | None = None
    until: float | None = None
    reason: str | None = None

    def to_json(self) -> Json:
        """The evaluation as JSON, without empty fields."""
        return {name: value for name, value in vars(self).items() if value not in _EMPTY}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the JSON of an evaluation; other keys are ignored."""
        optional = ("params", "option", "context", "until", "reason")
        chosen = {key: data[key] for key in optional if key in data}
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
    return {name: value for name, value in named.items() if value}


def as_value(value: object) -> float:
    """Return a result that can be told, or raise an InputError."""
    number = as_number(value, "the value", "Cancel the ask if its measurement failed.")
    return check_size(number)


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


def _number_or_numbers(number: Json) -> Json:
    """The schema of a number, or of one for each of some metrics."""
    return {"anyOf": [number, {"type": "object", "additionalProperties": number}]}


VALUE = metadata_of(
    "The measured value, or the values by metric. A metric may be missing.",
    _number_or_numbers({"type": "number"}),
    as_values,
    form="result",
)
"""The field ``value`` of a command."""


def _noise(name: str, description: str, schema: Mapping[str, Any]) -> Json:
    """The metadata of a field about the noise of a result."""
    return metadata_of(description, schema, as_errors if name == "std" else CHECKS[name])


Values: TypeAlias = float | Mapping[str, float]
"""A value, or values by metric."""


class MetricNoise(Noise, total=False):
    """The keyword arguments of a study's ``tell``: ``std`` may also be given by metric."""

    std: Values | None  # type: ignore[misc]


Measurement: TypeAlias = tuple[float, Precision]
"""A value and its precision."""


@dataclass(frozen=True, kw_only=True)
class MeasuredCommand(Command[T]):
    """A command with a result in one of the forms of :mod:`heliotrope.precision`.

    The subclass's field ``value`` is None if the result is a proportion or a rate.
    """

    std: Values | None = field(
        default=None,
        metadata=_noise(
            "std",
            "The standard error of the value, or those by metric.",
            _number_or_numbers(_NUMBER),
        ),
    )
    n: int | None = field(
        default=None,
        metadata=_noise("n", "The number of repeats that the value averages.", _POSITIVE),
    )
    successes: int | None = field(
        default=None,
        metadata=_noise("successes", "The number of successes, instead of a value.", _COUNT),
    )
    trials: int | None = field(
        default=None, metadata=_noise("trials", "The number of trials.", _POSITIVE)
    )
    count: int | None = field(
        default=None, metadata=_noise("count", "The number of events, instead of a value.", _COUNT)
    )
    exposure: float | None = field(
        default=None,
        metadata=_noise("exposure", "The time or amount observed for the count.", _NUMBER),
    )

    def check(self) -> None:
        super().check()
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
