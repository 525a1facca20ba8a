"""The methods that change a study, here and at a service."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, fields
from inspect import getdoc
from textwrap import indent
from typing import Any

from heliotrope.study.commands import BY_VERB
from surfaces.arguments import (
    Kind,
    arguments,
    docstring,
    in_order,
    overloads,
    passed,
    result_of,
    signature,
)


def verbs() -> str:
    """The module with the methods of studies, here and at a service."""
    names = sorted(["Evaluation", "Hold", "Values", *(kind.__name__ for kind in BY_VERB.values())])
    imported = ", ".join([*names, "as_choice", "id_of", "point_of"])
    return f'''"""The methods that change a study, here or at a service: each builds a command."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar, overload

from heliotrope.study.command_fields import Command, of_one_call
from heliotrope.study.commands import {imported}

T = TypeVar("T")


class StudyVerbs(ABC):
    """The changes of a study, by way of :meth:`do`."""

    @abstractmethod
    def do(self, command: Command[T]) -> T:
        """Carry out a command, and return its result when it is on disk."""

{indent("".join(methods(is_async=False)), "    ")}

class AsyncStudyVerbs(ABC):
    """The same for asyncio."""

    @abstractmethod
    async def do(self, command: Command[T]) -> T:
        """Carry out a command, and return its result when it is on disk."""

{indent("".join(methods(is_async=True)), "    ")}'''


def methods(*, is_async: bool) -> Iterator[str]:
    """The methods of all commands."""
    for kind in BY_VERB.values():
        yield method(kind, is_async)
        for field in fields(kind):
            if "class" in field.metadata["schema"]:
                yield method_of_both(kind, field, is_async)


def method(kind: Kind, is_async: bool) -> str:
    """The method of a command; with overloads if its result depends on an argument."""
    taken, result, narrow = arguments(kind), result_of(kind), None
    for field in fields(kind):
        if field.metadata["without"] and field.metadata["by_client"]:
            result = field.metadata["without"]
        elif field.metadata["without"]:
            narrow = field.name, field.metadata["without"]
    call = f"{'await ' if is_async else ''}self.do({kind.__name__}({passed(taken)}))"
    body = call if result == "None" else f"return {call}"
    text = overloads(kind.verb, taken, result, *narrow, is_async) if narrow else ""
    return f"{text}{signature(kind.verb, taken, result, is_async)}\n" + indent(
        f"{docstring(getdoc(kind) or '', taken)}\n{body}\n\n", "    "
    )


def method_of_both(kind: Kind, inner: Field[Any], is_async: bool) -> str:
    """The method that also carries out the command in a field, whose result it returns."""
    inner_kind: Kind = inner.metadata["schema"]["class"]
    result, taken, follows = result_of(inner_kind), arguments(kind), arguments(inner_kind)
    for field in fields(inner_kind):
        if field.metadata["without"]:
            result = field.metadata["without"]
            follows = [argument for argument in follows if argument.name != field.name]
    name, both = f"{kind.verb}_and_{inner_kind.verb}", in_order([*taken, *follows])
    first, _, more = (getdoc(kind) or "").partition("\n")
    about = f"{first.removesuffix('.')}, and ask for the next: both are done, or neither.\n{more}"
    body = f"""with of_one_call("{inner.name}"):
    following = {inner_kind.__name__}({passed(follows)})
    told = {kind.__name__}({passed(taken)}, {inner.name}=following)
    result = {"await " if is_async else ""}self.do(told)
assert isinstance(result, {result})
return result"""
    return f"{signature(name, both, result, is_async)}\n" + indent(
        f"{docstring(about, both)}\n{body}\n\n", "    "
    )
