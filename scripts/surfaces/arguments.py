"""The arguments of methods, and the text of their signatures and docstrings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass
from textwrap import fill, indent
from typing import Any

from heliotrope.study.command_fields import Command, own_first

_WIDTH = 100

Kind = type[Command[Any]]


@dataclass(frozen=True)
class Argument:
    """An argument of a method: ``passed`` is how the method gives it to the command."""

    name: str
    type: str
    about: str
    passed: str
    default: str = ""
    keyword: bool = False

    @property
    def declared(self) -> str:
        return f"{self.name}: {self.type}" + (f" = {self.default}" if self.default else "")


def arguments(kind: type[Any]) -> list[Argument]:
    """The arguments of a method from fields: first what it is about, last those by keyword."""
    by_name = {field.name: field for field in own_first(kind)}
    taken = [_argument(field, by_name) for field in by_name.values() if _is_taken(field)]
    return in_order(taken)


def in_order(taken: Sequence[Argument]) -> list[Argument]:
    """Arguments as Python needs them: required ones first, keywords last."""
    return sorted(taken, key=lambda argument: (argument.keyword, argument.default != ""))


def _is_taken(field: Field[Any]) -> bool:
    """Whether a field is an argument; one takes parameters as well as options."""
    return not field.metadata["by_client"] and field.name not in ("option", "options")


def _argument(field: Field[Any], by_name: dict[str, Field[Any]]) -> Argument:
    name, about = field.name, field.metadata["in_python"] or field.metadata["description"]
    if name == "space":
        return Argument(name, "SpaceLike", about, f"{name}={name}")
    if name == "id":
        point = ", **point_of(ask)" if "params" in by_name else ""
        evaluation = "The evaluation, or its id."
        return Argument("ask", "Evaluation | str", evaluation, f"id=id_of(ask){point}")
    if name == "params":
        option = by_name["option"].metadata["description"]
        about = f"{about.removesuffix('.')}, or {option[0].lower()}{option[1:]}"
        return Argument(name, "Mapping[str, Any] | str", about, "**as_choice(params)")
    default = "" if field.default is MISSING else repr(field.default)
    return Argument(name, str(field.type), about, f"{name}={name}", default, bool(field.kw_only))


def result_of(kind: Kind) -> str:
    """The type of a command's result."""
    return str(kind.result.__annotations__["return"])


def signature(
    name: str, taken: Sequence[Argument], result: str, is_async: bool, owner: str = "self"
) -> str:
    """The first lines of a method."""
    declared = [owner, *(argument.declared for argument in taken if not argument.keyword)]
    keywords = [argument.declared for argument in taken if argument.keyword]
    listed = ", ".join([*declared, *(["*", *keywords] if keywords else [])])
    return f"{'async ' if is_async else ''}def {name}({listed}) -> {result}:"


def overloads(
    name: str, taken: Sequence[Argument], result: str, decides: str, narrow: str, is_async: bool
) -> str:
    """The two forms of a method: without the argument that decides, and with it."""
    text = ""
    for chosen, returned in (("None", narrow), ("", result)):
        form = [
            argument
            if argument.name != decides
            else Argument(
                decides,
                chosen or argument.type.removesuffix(" | None"),
                argument.about,
                argument.passed,
                chosen,
                keyword=True,
            )
            for argument in taken
        ]
        text += f"@overload\n{signature(name, form, returned, is_async)} ...\n"
    return text


def passed(taken: Sequence[Argument]) -> str:
    """How a method gives its arguments to a command."""
    return ", ".join(argument.passed for argument in taken)


def docstring(about: str, taken: Sequence[Argument]) -> str:
    """What a method does, and what its arguments mean."""
    text = "\n\n".join(_filled(paragraph) for paragraph in about.strip().split("\n\n"))
    if taken:
        text += "\n\nParameters\n----------"
    for argument in taken:
        text += f"\n{argument.name}\n{indent(_filled(argument.about, 4), '    ')}"
    return f'"""{text}\n"""' if "\n" in text else f'"""{text}"""'


def _filled(text: str, indented: int = 0) -> str:
    """A paragraph of a method's docstring."""
    words = " ".join(text.split())
    return fill(words, _WIDTH - 8 - indented, break_on_hyphens=False, break_long_words=False)
