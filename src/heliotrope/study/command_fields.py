"""The fields of commands: their checks, JSON and JSON schema.

A command is a dataclass whose fields carry their description, schema and check as metadata.
``scripts/write_surfaces.py`` writes the methods, the command line and the reference from them.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import MISSING, Field, dataclass, fields
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar

from heliotrope.errors import HeliotropeError, InputError, located
from heliotrope.validation import Json, as_python, short_repr

T = TypeVar("T")

_KINDS: Mapping[str, tuple[Any, str]] = {
    "object": (Mapping, "an object"),
    "string": (str, "a text"),
    "integer": (int, "an integer"),
    "number": ((int, float), "a number"),
}


def metadata_of(
    description: str,
    schema: Mapping[str, Any],
    check: Callable[[object], Any] | None = None,
    *,
    by_client: bool = False,
    without: str = "",
    form: str = "",
    in_python: str = "",
) -> Json:
    """A field's metadata; ``check`` returns the value to keep, or raises an InputError.

    The clients fill in a field that is ``by_client``: it is no argument of a method. ``without``
    is the type of a command's result if the field is None, where this one is narrower. ``form``
    names how a command line gives the value, if its schema does not say it. ``in_python`` is the
    description of the methods' argument where it takes more than JSON does.
    """
    used = {"schema": schema, "check": check, "by_client": by_client, "without": without}
    return {"description": description, "form": form, "in_python": in_python, **used}


@dataclass(frozen=True)
class Command(Generic[T]):
    """A request to change a study; T is its result.

    ``verb`` is its name in URLs, and ``answered`` that of the schema of its answer. ``example`` is
    a request, and ``example_answer`` the answer to it.
    """

    verb: ClassVar[str]
    answered: ClassVar[str]
    example: ClassVar[Json]
    example_answer: ClassVar[Json]

    def __post_init__(self) -> None:
        """Keep what the checks return; values that they refuse stay for :meth:`check`."""
        for name, read in self._checks():
            with suppress(InputError):
                object.__setattr__(self, name, read())

    def check(self) -> None:
        """Raise an InputError if a field is wrong: before the command is carried out or sent."""
        for name, read in self._checks():
            with located(name):
                read()
        for name, value in vars(self).items():
            if isinstance(value, Command):
                with nested(name):
                    value.check()

    def _checks(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """The checks of all fields that have one and a value, by name."""
        for field in fields(self):
            check, value = field.metadata["check"], getattr(self, field.name)
            if check is not None and (value is not None or field.default is MISSING):
                yield field.name, partial(check, value)

    def to_json(self) -> Json:
        """The command as JSON, without empty fields."""
        named = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: _plain(value) for name, value in named if value is not None}

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read a command; an InputError names the wrong field, or ``body`` if data is no object."""
        if not isinstance(data, Mapping):
            raise InputError("an object", short_repr(data), field="body")
        by_name, values = {field.name: field for field in fields(cls)}, dict[str, Any]()
        for key in data:
            if key not in by_name:
                raise InputError("no such key", short_repr(key), field=str(key)[:60])
        for name, field in by_name.items():
            if field.default is MISSING and name not in data:
                raise InputError("a value", "none", field=name)
            if field.default is MISSING or data.get(name) is not None:
                values[name] = _read(field, data[name])
        command = cls(**values)
        command.check()
        return command

    @abstractmethod
    def answer(self, result: T) -> Json:
        """The service's answer for a result."""

    @abstractmethod
    def result(self, answer: Mapping[str, Any]) -> T:
        """The result in an answer of the service."""


def json_schema(command: type[Command[Any]]) -> Json:
    """The JSON schema of a command, for the OpenAPI document."""
    return {**schema_of(command, nullable=True), "examples": [command.example]}


def schema_of(kind: type[Any], *, nullable: bool) -> Json:
    """The JSON schema of a dataclass whose fields have descriptions and schemas.

    If it is ``nullable``, null stands for a field that is not given.
    """
    return {
        "title": kind.__name__,
        "description": (kind.__doc__ or "").partition("\n")[0].replace("``", "`"),
        "type": "object",
        "properties": {field.name: _property(field, nullable) for field in own_first(kind)},
        "required": [field.name for field in fields(kind) if field.default is MISSING],
        "additionalProperties": False,
    }


def own_first(kind: type[Any]) -> list[Field[Any]]:
    """The fields of a dataclass, those of its own class before those that it inherits."""
    own = vars(kind)["__annotations__"]
    return sorted(fields(kind), key=lambda field: field.name not in own)


@contextmanager
def of_one_call(name: str) -> Iterator[None]:
    """Name a wrong field of the inner command ``name`` as an argument of the one call."""
    try:
        yield
    except HeliotropeError as error:
        error.field = error.field.removeprefix(f"{name}.")
        raise


@contextmanager
def nested(outer: str) -> Iterator[None]:
    """Prefix the field of an error that has one."""
    try:
        yield
    except HeliotropeError as error:
        error.field = f"{outer}.{error.field}" if error.field else ""
        raise


def _property(field: Field[Any], nullable: bool) -> Json:
    schema = dict(field.metadata["schema"])
    inner = json_schema(schema["class"]) if "class" in schema else schema
    if nullable and field.default is not MISSING:
        inner = {"anyOf": [inner, {"type": "null"}]}
    return {**inner, "description": field.metadata["description"]}


def _read(field: Field[Any], value: object) -> Any:
    """Read a value of the field's type; fields with a check are checked by the command."""
    schema = field.metadata["schema"]
    expected = None if field.metadata["check"] else mismatch(value, schema)
    if expected is not None:
        got = "null" if value is None else short_repr(value)
        raise InputError(expected, got, field=field.name)
    if "class" not in schema:
        return value
    with nested(field.name):
        return schema["class"].from_json(value)


def mismatch(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Describe what a schema expects, or return None if the value fits."""
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
