"""What a study answers to an ask: an evaluation to measure, or to hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from heliotrope.validation import Json

_EMPTY: tuple[object, ...] = (None, "", {})


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
