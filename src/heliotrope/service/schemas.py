"""What requests and answers look like.

Requests are checked by these, and what describes a study by the package itself; answers are only
described.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

Key = Annotated[str, Field(min_length=1, max_length=200)]
Uid = Annotated[str, Field(min_length=1, max_length=100)]
AskId = Annotated[str, Field(min_length=1, max_length=100)]

_NUMBER = {"type": "number"}
_PARAMETER = {
    "oneOf": [
        {
            "type": "object",
            "required": ["type", "low", "high"],
            "properties": {
                "type": {"enum": ["real", "integer"]},
                "low": _NUMBER,
                "high": _NUMBER,
                "scale": {"enum": ["linear", "log"]},
                "step": {"type": "integer", "description": "Of an integer."},
            },
        },
        {
            "type": "object",
            "required": ["type", "choices"],
            "properties": {"type": {"const": "categorical"}, "choices": {"type": "array"}},
        },
        {
            "type": "object",
            "required": ["type"],
            "properties": {"type": {"const": "boolean"}},
        },
    ]
}
_PARAMETERS = {"type": "object", "additionalProperties": _PARAMETER}
_OPTION = {
    "oneOf": [
        {"type": "string"},
        {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "features": {}},
        },
    ]
}
_POLICY = {"type": "object", "properties": {"kind": {"type": "string"}}}
_CLOCK = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"enum": ["steps", "wall"]}, "unit": {"type": "string"}},
}


def _described(description: str, schema: dict[str, Any]) -> Any:
    """A field that the package checks itself."""
    return Field(None, description=description, json_schema_extra=schema)


class _Request(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class NewStudy(_Request):
    """A study to begin: its name, and either a space or options; the rest has defaults."""

    name: str = Field(
        max_length=100,
        description="Letters, digits, spaces and . _ -",
        json_schema_extra={"pattern": "^[A-Za-z0-9_-]([A-Za-z0-9 ._-]*[A-Za-z0-9_-])?$"},
    )
    space: Any = _described("Parameters by name.", _PARAMETERS)
    options: Any = _described("Options to choose from.", {"type": "array", "items": _OPTION})
    context: Any = _described("Parameters by name that are given at every ask.", _PARAMETERS)
    policy: Any = _described("Such as tv_gp_ucb, with what is known.", _POLICY)
    direction: Any = _described("What is good.", {"enum": ["maximize", "minimize"]})
    clock: Any = _described("A counter of asks, or the wall clock in a unit.", _CLOCK)
    seed: Any = _described("Where its lots come from.", {"type": "integer", "minimum": 0})

    def setup(self) -> dict[str, Any]:
        """What was said about the study, without its name."""
        return self.model_dump(exclude_unset=True, exclude={"name"})


class Next(_Request):
    """An ask that goes with a result: for a time, by default now; a key makes it repeatable."""

    t: FiniteFloat | None = None
    context: Any = _described("Values by name, where the study has contexts.", {"type": "object"})
    key: Key | None = None


class AskFor(Next):
    """An ask; with a uid of the study of that uid alone, not of another one of its name."""

    uid: Uid | None = None


class Tell(_Request):
    """The result of an ask; and, if wished, the next ask."""

    id: AskId
    value: FiniteFloat
    ask: Next | None = None


class Add(AskFor):
    """A result that was measured elsewhere: of parameters or an option; a key takes it once."""

    params: dict[str, Any] | None = Field(None, description="A value for every parameter.")
    option: str | None = None
    value: FiniteFloat


class Cancel(_Request):
    """An ask whose measurement failed."""

    id: AskId


class Fault(BaseModel):
    """What was wrong."""

    code: str
    message: str = Field(description="One sentence.")
    field: str = Field(description="What of the request is at fault, or nothing.")


class Problem(BaseModel):
    """Any answer that is not a success."""

    error: Fault


class Ask(BaseModel):
    """What to measure: parameters, or an option; with the context, if the study has contexts."""

    id: str
    t: float
    params: dict[str, Any] = Field(default_factory=dict)
    option: str = ""
    context: dict[str, Any] = Field(default_factory=dict)


class Told(BaseModel):
    """A result was taken."""

    told: str
    ask: Ask | None = None


class Cancelled(BaseModel):
    """An ask was given up."""

    cancelled: str


class Entry(BaseModel):
    """A study in the list."""

    name: str
    uid: str
    created: float
    updated: float
    events: int


class Listing(BaseModel):
    """Some studies, and the name after which the next ones come."""

    studies: list[Entry]
    next: str | None


class Summary(BaseModel):
    """A study at a glance; with the context that the best is of, if it has contexts."""

    name: str
    uid: str
    setup: dict[str, Any]
    created: float
    t: float
    context: dict[str, Any] = Field(default_factory=dict)
    events: int
    asked: int
    told: int
    open: list[Ask]
    model: dict[str, Any]
    best: dict[str, Any] | None
    drift: dict[str, Any]


class Belief(BaseModel):
    """What is believed at a time, in a context if there are any; the view says what else is."""

    model_config = ConfigDict(extra="allow")
    t: float
    context: dict[str, Any] = Field(default_factory=dict)
    view: str


class Track(BaseModel):
    """Results over time, and where the best was."""

    results: list[dict[str, Any]]
    best: list[dict[str, Any]]


class LoggedEvent(BaseModel):
    """An event of the log."""

    model_config = ConfigDict(extra="allow")
    seq: int
    at: float
    kind: str


class Events(BaseModel):
    """Some events, and the number of the last one that there is."""

    events: list[LoggedEvent]
    last: int


class Health(BaseModel):
    """The service is well."""

    status: str
    version: str


class Started(BaseModel):
    """A demo began."""

    name: str
