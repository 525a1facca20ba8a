"""Commands to a study as data: their fields, the checks of these, and their descriptions.

A study decides them, the service reads them from JSON and describes them in its OpenAPI document,
the client sends them. Constructing a command checks its numbers and its key; reading one from JSON
also refuses unknown keys and values of the wrong type.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, Generic, Self, TypeVar

from heliotrope.errors import HeliotropeError, InputError, located
from heliotrope.validation import Json, as_number, as_python, short_repr

T = TypeVar("T")

_LARGEST = 1e45  # squares of values must be finite
_LONGEST_KEY = 200
_KINDS: Mapping[str, tuple[Any, str]] = {
    "object": (Mapping, "an object"),
    "string": (str, "a text"),
    "integer": (int, "an integer"),
    "number": ((int, float), "a number"),
}


@dataclass(frozen=True)
class Evaluation:
    """An open evaluation: measure ``params`` (or the named ``option``) at ``t``, tell by ``id``.

    ``context`` is the context of the ask; None if the study has no contexts.
    """

    id: str
    t: float
    params: Mapping[str, Any] | None = None
    option: str | None = None
    context: Mapping[str, Any] | None = None

    def to_json(self) -> Json:
        """The evaluation as JSON, without empty fields."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the JSON of an evaluation; other keys are ignored."""
        chosen = {key: data[key] for key in ("params", "option", "context") if key in data}
        return cls(data["id"], data["t"], **chosen)


def id_of(evaluation: Evaluation | str) -> str:
    """The id of an evaluation; an id is returned unchanged."""
    return evaluation.id if isinstance(evaluation, Evaluation) else evaluation


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


def as_choice(params: Mapping[str, Any] | str) -> Json:
    """The field of an Add that holds this choice: ``option`` for a text, else ``params``."""
    return {"option" if isinstance(params, str) else "params": params}


def _words(
    description: str, schema: Mapping[str, Any], check: Callable[[object], Any] | None = None
) -> Json:
    """A field's metadata; ``check`` returns the value to keep, or raises an InputError."""
    return {"description": description, "schema": schema, "check": check}


_TIME = _words("Time of the evaluation. Default: now.", {"type": "number"}, as_time)
_VALUE = _words("The measured value.", {"type": "number"}, as_value)
_CONTEXT = _words("Context values by name, if the study has contexts.", {"type": "object"})
_KEY = _words(
    "A key that the client chooses. A request repeated with its key is carried out once.",
    {"type": "string", "minLength": 1, "maxLength": _LONGEST_KEY},
    as_key,
)
_SHORT = {"type": "string", "minLength": 1, "maxLength": 100}
_ID = _words("The id of the evaluation.", _SHORT)
_UID = _words("The study's uid. The command is refused if the study has another one.", _SHORT)
_PARAMS = _words("A value for every parameter.", {"type": "object"})
_OPTION = _words("The name of an option.", {"type": "string"})


@dataclass(frozen=True)
class Command(Generic[T]):
    """A request to change a study; T is its result, and ``verb`` its name in URLs."""

    verb: ClassVar[str]

    def __post_init__(self) -> None:
        for one in fields(self):
            check, value = one.metadata["check"], getattr(self, one.name)
            if check is not None and (value is not None or one.default is MISSING):
                with located(one.name):
                    object.__setattr__(self, one.name, check(value))

    def to_json(self) -> Json:
        """The command as JSON, without empty fields."""
        named = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {name: _plain(value) for name, value in named if value is not None}

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read a command; InputError names the field at fault, ``body`` if it is the whole."""
        if not isinstance(data, Mapping):
            raise InputError("an object", short_repr(data), field="body")
        known, given = {one.name: one for one in fields(cls)}, dict[str, Any]()
        for key in data:
            if key not in known:
                raise InputError("no such key", short_repr(key), field=str(key)[:60])
        for name, one in known.items():
            if one.default is MISSING and name not in data:
                raise InputError("a value", "none", field=name)
            if one.default is MISSING or data.get(name) is not None:
                given[name] = _read(one, data[name])
        return cls(**given)

    @abstractmethod
    def answer(self, result: T) -> Json:
        """The result as the service answers it."""

    @abstractmethod
    def result(self, answer: Mapping[str, Any]) -> T:
        """The result that an answer of the service holds."""


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


_NEXT = _words("The next ask. Both are done, or neither.", {"type": "object", "class": Ask})


@dataclass(frozen=True)
class Tell(Command[Evaluation | None]):
    """Tell the result of an evaluation; with ``ask``, also ask for the next one."""

    verb: ClassVar[str] = "tell"
    id: str = field(metadata=_ID)
    value: float = field(metadata=_VALUE)
    ask: Ask | None = field(default=None, metadata=_NEXT)

    def answer(self, result: Evaluation | None) -> Json:
        return {"told": self.id, **({} if result is None else {"ask": result.to_json()})}

    def result(self, answer: Mapping[str, Any]) -> Evaluation | None:
        return None if self.ask is None else Evaluation.from_json(answer["ask"])


@dataclass(frozen=True)
class Add(_Suggesting):
    """Add a result that was measured elsewhere: of parameters, or of an option."""

    verb: ClassVar[str] = "add"
    value: float = field(metadata=_VALUE)
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


def json_schema(command: type[Command[Any]]) -> Json:
    """The JSON schema of a command, for the OpenAPI document."""
    return {
        "title": command.__name__,
        "description": (command.__doc__ or "").partition("\n")[0],
        "type": "object",
        "properties": {one.name: _property(one) for one in fields(command)},
        "required": [one.name for one in fields(command) if one.default is MISSING],
        "additionalProperties": False,
    }


@contextmanager
def nested(outer: str) -> Iterator[None]:
    """Prefix the field of an error that has one."""
    try:
        yield
    except HeliotropeError as error:
        error.field = f"{outer}.{error.field}" if error.field else ""
        raise


def _property(one: Field[Any]) -> Json:
    schema = dict(one.metadata["schema"])
    inner = json_schema(schema["class"]) if "class" in schema else schema
    if one.default is not MISSING:
        inner = {"anyOf": [inner, {"type": "null"}]}
    return {**inner, "description": one.metadata["description"]}


def _read(one: Field[Any], value: object) -> Any:
    """A value that is of the type of its field; numbers and keys are checked by the command."""
    schema = one.metadata["schema"]
    expected = None if one.metadata["check"] else mismatch(value, schema)
    if expected is not None:
        got = "null" if value is None else short_repr(value)
        raise InputError(expected, got, field=one.name)
    if "class" not in schema:
        return value
    with nested(one.name):
        return schema["class"].from_json(value)


def mismatch(value: Any, schema: Mapping[str, Any]) -> str | None:
    """What a schema expects, in words; None if the value fits."""
    kind, words = _KINDS[schema["type"]]
    if not isinstance(value, kind) or isinstance(value, bool):
        return words
    if "enum" in schema and value not in schema["enum"]:
        return " or ".join(schema["enum"])
    if "maxLength" in schema and not schema["minLength"] <= len(value) <= schema["maxLength"]:
        return f"a text of {schema['minLength']} to {schema['maxLength']} characters"
    if "maximum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        return f"a number from {schema['minimum']} to {schema['maximum']}"
    return None


def _plain(value: Any) -> Any:
    """A field's value as JSON."""
    if isinstance(value, Command):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: as_python(item) for name, item in value.items()}
    return value
