"""The methods of the TypeScript client that change a study."""

from __future__ import annotations

import re
from dataclasses import MISSING, Field, fields
from inspect import getdoc
from textwrap import fill, indent
from typing import Any

from heliotrope.study.command_fields import own_first
from heliotrope.study.commands import BY_VERB, Tell
from heliotrope.study.evaluations import MeasuredCommand
from surfaces.arguments import Kind, result_of

_ID, _PLACE = ("id",), ("params", "option")
_RESULT = tuple(field.name for field in fields(Tell))  # those of a result
_USED = ("asResult", "chosen", "idOf", "keyed", "placeOf", "unwrap")
_TYPES = ("type AnyValues", "type Body", "type Evaluation", "type Hold", "type Result")


def typescript() -> str:
    """The module with the methods of all commands."""
    methods = "\n".join(text for kind in BY_VERB.values() for text in _methods(kind))
    imported = ",\n  ".join([*_USED, *_TYPES])
    return f"""
import type {{ Client }} from "openapi-fetch";

import {{
  {imported},
}} from "./answers.js";
import type {{ paths }} from "./schema.js";

{"".join(_type_of_options(kind) for kind in BY_VERB.values())}
/** The changes of a study, of which each is on disk when its method returns. */
export class StudyVerbs<Params extends AnyValues = AnyValues> {{
  protected readonly at: {{ params: {{ path: {{ name: string }} }} }};

  constructor(
    protected readonly client: Client<paths>,
    readonly name: string,
  ) {{
    this.at = {{ params: {{ path: {{ name }} }} }};
  }}

{indent(methods, "  ")}}}
"""


def _methods(kind: Kind) -> list[str]:
    inner = [field for field in fields(kind) if "class" in field.metadata["schema"]]
    return [_method(kind), *(_method_of_both(kind, field) for field in inner)]


def _options(kind: Kind) -> list[Field[Any]]:
    """The fields that a method takes in its last argument."""
    others = (*_ID, *_PLACE, *(_RESULT if issubclass(kind, MeasuredCommand) else ()))
    return [
        field
        for field in own_first(kind)
        if field.name not in others and not field.metadata["by_client"]
    ]


def _type_of_options(kind: Kind) -> str:
    """The type of the last argument of a method, without what the method or the client gives."""
    if not _options(kind):
        return ""
    subjects = [field.name for field in own_first(kind) if field.name in (*_ID, *_PLACE)]
    by_client = [field.name for field in own_first(kind) if field.metadata["by_client"]]
    left_out = [*subjects, *by_client]
    named = " | ".join(f'"{name}"' for name in left_out)
    body = f'Body<"{kind.verb}">'
    kept = f"Omit<{body}, {named}>" if left_out else body
    return f"export type {_name_of_options(kind)} = {kept};\n"


def _name_of_options(kind: Kind) -> str:
    return f"{kind.__name__}Options"


def _taken(kind: Kind, *, narrow: bool = False) -> tuple[list[str], list[str]]:
    """The arguments of a method, and the parts of its body."""
    names = {field.name for field in fields(kind) if not field.metadata["by_client"]}
    declared, parts = [], []
    if names & {*_ID}:
        declared.append("evaluation: Evaluation<Params> | string")
        parts.append("id: idOf(evaluation)")
    if names & {*_PLACE}:
        declared.append("place: Params | string")
        parts.append("...placeOf(place)")
    if issubclass(kind, MeasuredCommand):
        declared.append("result: number | Result")
        parts.append("...asResult(result)")
    options = _options(kind)
    if options:
        narrowing = [field.name for field in options if field.metadata["without"]]
        limited = "".join(f" & {{ {name}?: null }}" for name in narrowing if narrow)
        default = "" if any(field.default is MISSING for field in options) else " = {}"
        declared.append(f"options: {_name_of_options(kind)}{limited}{default}")
        parts.append("...keyed(options)" if "key" in names else "...options")
    return declared, parts


def _method(kind: Kind) -> str:
    """The method of a command; with overloads if its result depends on an option."""
    name, (declared, parts) = _in_camel_case(kind.verb), _taken(kind)
    result, narrow = result_of(kind), ""
    for field in fields(kind):
        if field.metadata["without"] and field.metadata["by_client"]:
            result = field.metadata["without"]
        elif field.metadata["without"]:
            narrow = field.metadata["without"]
    about = _comment(getdoc(kind) or "")
    if not narrow:
        return f"{about}{_function(name, declared, result, kind, parts)}"
    always = ", ".join(_taken(kind, narrow=True)[0]).replace("options:", "options?:")
    forms = (
        f"async {name}({always.replace(' = {}', '')}): Promise<{_type_of(narrow)}>;\n"
        f"async {name}({', '.join(declared).replace(' = {}', '')}): Promise<{_type_of(result)}>;\n"
    )
    return f"{about}{forms}{_function(name, declared, result, kind, parts)}"


def _function(name: str, declared: list[str], result: str, kind: Kind, parts: list[str]) -> str:
    post = "this.client.POST(path, { ...this.at, body })"
    lines = [f'const path = "/api/studies/{{name}}/{kind.verb}";']
    lines += [f"const body = {{ {', '.join(parts)} }};"]
    if result == "None":
        lines.append(f"unwrap(await {post});")
    elif "Hold" in result:
        lines += [f"const answer = unwrap(await {post});"]
        lines += ['return "id" in answer ? chosen(answer) : answer;']
    else:
        lines += [f"const answer = unwrap(await {post});", "return chosen(answer);"]
    return _braced(f"async {name}({', '.join(declared)}): Promise<{_type_of(result)}>", lines)


def _method_of_both(kind: Kind, inner: Field[Any]) -> str:
    """The method that also carries out the command in a field, whose result it returns."""
    follows: Kind = inner.metadata["schema"]["class"]
    declared, parts = _taken(kind)
    options, _ = _taken(follows, narrow=True)
    first = (getdoc(kind) or "").partition("\n")[0].removesuffix(".")
    about = _comment(f"{first}, and ask for the next: both are done, or neither.")
    lines = [
        f"const body = {{ {', '.join([*parts, f'{inner.name}: keyed(options)'])} }};",
        f'const path = "/api/studies/{{name}}/{kind.verb}";',
        "const answer = unwrap(await this.client.POST(path, { ...this.at, body }));",
        f'if (answer.{inner.name} === undefined || !("id" in answer.{inner.name})) {{',
        '  throw new TypeError("The service answered without an evaluation.");',
        "}",
        f"return chosen(answer.{inner.name});",
    ]
    name = _in_camel_case(f"{kind.verb}_and_{follows.verb}")
    listed = ", ".join([*declared, *options])
    return f"{about}{_braced(f'async {name}({listed}): Promise<Evaluation<Params>>', lines)}"


def _braced(head: str, lines: list[str]) -> str:
    """A method, its arguments on lines of their own if they are many."""
    if len(head) > 94:
        before, _, rest = head.partition("(")
        listed, _, after = rest.rpartition("): ")
        arguments = "".join(f"  {argument},\n" for argument in listed.split(", "))
        head = f"{before}(\n{arguments}): {after}"
    body = "".join(f"  {line}\n" for line in lines)
    return f"{head} {{\n{body}}}\n"


def _type_of(result: str) -> str:
    types = {"None": "void", "Evaluation": "Evaluation<Params>"}
    return " | ".join(types.get(part, part) for part in result.split(" | "))


def _comment(about: str) -> str:
    paragraphs = [" ".join(part.split()) for part in about.replace("``", "`").split("\n\n")]
    if len(paragraphs) == 1 and len(paragraphs[0]) < 90:
        return f"/** {paragraphs[0]} */\n"
    text = "\n\n".join(fill(paragraph, 92, break_on_hyphens=False) for paragraph in paragraphs)
    lines = "".join(f" * {line}".rstrip() + "\n" for line in text.split("\n"))
    return f"/**\n{lines} */\n"


def _in_camel_case(verb: str) -> str:
    return re.sub(r"_(\w)", lambda letter: letter[1].upper(), verb)
