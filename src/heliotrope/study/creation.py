"""What a study is created with, as fields with their descriptions.

``scripts/write_surfaces.py`` writes ``create`` of studies and of both clients, the command line and
the reference from them; the schema of a new study in the OpenAPI document is made of them, too.
:class:`~heliotrope.study.StudyConfig` checks the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from heliotrope.live.rules import LEAST_RISK, Aim
from heliotrope.study.command_fields import metadata_of, schema_of
from heliotrope.validation import Json

if TYPE_CHECKING:
    from heliotrope.directions import Direction
    from heliotrope.spaces import Parameter, SearchSpace, SpaceLike
    from heliotrope.study.clocks import Clock

Choice: TypeAlias = Mapping[str, Any] | str
"""Parameters by name, or the name of an option."""

_FLAG, _NUMBER, _TEXT = {"type": "boolean"}, {"type": "number"}, {"type": "string"}
_CHOICE = {"anyOf": [{"type": "object"}, _TEXT]}
_BY_PARAMETER = {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}}
_SIDES = ("below", "at_most", "above", "at_least")
_PERCENT = {"type": "string", "pattern": "%$"}


def _object(description: str, required: Sequence[str], **properties: Json) -> Json:
    named = {"properties": properties, "required": list(required)}
    return {"type": "object", "description": description, **named}


def _by_name(schema: Json) -> Json:
    return {"type": "object", "additionalProperties": schema}


_PARAMETER = {
    "oneOf": [
        _object(
            "A number. `log` asks for a logarithmic scale; with a `step`, values are low, low + "
            "step, ...",
            ["low", "high", "type"],
            low=_NUMBER,
            high=_NUMBER,
            step=_NUMBER,
            log=_FLAG,
            type={"enum": ["real", "integer"]},
        ),
        _object(
            "A choice.",
            ["type", "choices"],
            type={"const": "categorical"},
            choices={"type": "array"},
        ),
        _object("True or false.", ["type"], type={"const": "boolean"}),
    ]
}
_BOUND = _object("Bounds.", (), **{side: {"anyOf": [_NUMBER, _PERCENT]} for side in _SIDES})


@dataclass(frozen=True, kw_only=True)
class GoalFields:
    """The goals of a running system."""

    metrics: Mapping[str, Aim] | None = field(
        default=None,
        metadata=metadata_of(
            "Metrics by name, each maximize, minimize or watch. A watched one is only recorded or "
            "limited.",
            _by_name({"enum": ["maximize", "minimize", "watch"]}),
        ),
    )
    objective: Mapping[str, float] | None = field(
        default=None,
        metadata=metadata_of("Weights by metric of a sum to maximize.", _by_name(_NUMBER)),
    )
    limits: Mapping[str, Mapping[str, float | str]] | None = field(
        default=None,
        metadata=metadata_of(
            "Bounds by metric: below, at_most, above or at_least. A percentage such as 95% is of "
            "the baseline.",
            _by_name({**_BOUND, "minProperties": 1}),
            form="limits",
        ),
    )
    risk: float | None = field(
        default=None,
        metadata=metadata_of(
            "Probability with which an ask may cross any limit. Default: 0.05.",
            {"type": "number", "minimum": LEAST_RISK, "exclusiveMaximum": 1},
        ),
    )
    baseline: Choice | None = field(
        default=None,
        metadata=metadata_of(
            "What runs today: parameters by name, or the name of an option.", _CHOICE, form="choice"
        ),
    )
    share: float | None = field(
        default=None,
        metadata=metadata_of(
            "About this share of the asks measures the baseline again: 1.25 times it while the "
            "gain is not clear, and then a quarter. Default: 0.1.",
            {"type": "number", "minimum": 0, "maximum": 1},
        ),
    )
    safe: Sequence[Choice] | None = field(
        default=None,
        metadata=metadata_of(
            "Other choices that keep all limits: parameters by name, or names of options.",
            {"type": "array", "items": _CHOICE},
            form="choices",
        ),
    )
    moves: Mapping[str, Mapping[str, float]] | None = field(
        default=None,
        metadata=metadata_of(
            "The largest step between two settings, and the cost of moving by one unit, each by "
            "parameter and in its own unit. The cost is in the unit of the objective.",
            _object(
                "Each change of the parameters.",
                (),
                largest={**_BY_PARAMETER, "description": "Largest step between two settings."},
                cost={**_BY_PARAMETER, "description": "Cost of moving by one unit."},
            ),
            form="moves",
        ),
    )


@dataclass(frozen=True)
class NewStudy(GoalFields):
    """Create a study of parameters (a ``space``) or of named ``options``.

    The arguments from ``metrics`` on are for a running system. The how-to page "Tuning a running
    system" describes them.
    """

    name: str = field(
        metadata=metadata_of(
            "Name of the study: letters, digits, spaces and . _ -",
            {
                "type": "string",
                "maxLength": 100,
                "pattern": "^[A-Za-z0-9_-]([A-Za-z0-9 ._-]*[A-Za-z0-9_-])?$",
            },
        )
    )
    space: SpaceLike | None = field(
        default=None,
        metadata=metadata_of(
            "Parameters by name.",
            _by_name(_PARAMETER),
            form="parameters",
            in_python="Parameters by name, or the names of options; or a SearchSpace or Options.",
        ),
    )
    options: SpaceLike | None = field(
        default=None,
        metadata=metadata_of(
            "Options to choose among: their names, or objects of a name and features.",
            {
                "type": "array",
                "items": {
                    "oneOf": [_TEXT, _object("An option.", ["name"], name=_TEXT, features={})]
                },
            },
            form="names",
        ),
    )
    _: KW_ONLY
    context: SearchSpace | Mapping[str, Parameter] | None = field(
        default=None,
        metadata=metadata_of(
            "Parameters by name that each ask gives instead of choosing them.",
            _by_name(_PARAMETER),
            form="parameters",
            in_python="Parameters by name that each ask gives instead of choosing them; or a "
            "SearchSpace.",
        ),
    )
    policy: Mapping[str, Any] | None = field(
        default=None,
        metadata=metadata_of(
            "Kind of the policy and its parameters, such as epsilon. Those that are not given are "
            "learned.",
            _object("", (), kind=_TEXT),
        ),
    )
    direction: Direction = field(
        default="maximize",
        metadata=metadata_of(
            "Whether high values are good (maximize, the default) or low ones (minimize).",
            {"enum": ["maximize", "minimize"]},
            form="direction",
        ),
    )
    clock: Clock | str | None = field(
        default=None,
        metadata=metadata_of(
            "Unit of wall time such as 10min, so that epsilon is the drift in ten minutes. "
            "Default: time counts the asks.",
            _object("", ["kind"], kind={"enum": ["steps", "wall"]}, unit=_TEXT),
            form="clock",
        ),
    )
    seed: int | None = field(
        default=None,
        metadata=metadata_of(
            "Random seed. Default: 0. Without one, an existing study of any seed is continued.",
            {"type": "integer", "minimum": 0},
        ),
    )
    lease: str | None = field(
        default=None,
        metadata=metadata_of(
            "Time such as 10min after which an ask without a result or a heartbeat expires. "
            "Default: asks stay open.",
            _TEXT,
        ),
    )
    like: Sequence[str] = field(
        default=(),
        metadata=metadata_of(
            "Names of similar studies. This one starts from what they have learned: the terms of "
            "the model, its scales, and the means, as uncertain as the studies differ.",
            {"type": "array", "items": _TEXT},
        ),
    )


GOAL_KEYS = tuple(goal.name for goal in fields(GoalFields))
"""The keys of a study's configuration that describe its goals."""

CONFIG_KEYS = tuple(field.name for field in fields(NewStudy) if field.name != "name")
"""The keys of a study's configuration that a user gives."""

NEW_STUDY = {
    **schema_of(NewStudy, nullable=False),
    "examples": [{"name": "boiler", "space": {"x": {"type": "real", "low": 0, "high": 1}}}],
}
"""The body that creates a study."""
