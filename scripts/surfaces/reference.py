"""The page of the reference with the fields of every call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from inspect import getdoc
from textwrap import fill
from typing import Any

from heliotrope.study.command_fields import own_first
from heliotrope.study.commands import BY_VERB
from heliotrope.study.creation import NewStudy
from surfaces.arguments import Kind

_TYPES = {"number": "number", "string": "text", "integer": "integer", "object": "object"}
_BY_CLIENT = r"\*"


def reference() -> str:
    """The page with the fields of every command."""
    sections = "\n".join(_section(kind) for kind in BY_VERB.values())
    return f"""# Fields of the calls

What each call takes, over HTTP and in the other interfaces. In Python the fields are arguments of
methods; there `id` is `ask`, an evaluation or its id, and `params` may also name an option. On the
command line they are options. The clients fill in the fields marked with {_BY_CLIENT}.
[Studies](studies.md) says what each call guarantees.

## create

{_said(getdoc(NewStudy) or "")}

{_table(NewStudy)}
{sections}"""


def _section(kind: Kind) -> str:
    return f"""## {kind.verb}

{_said(getdoc(kind) or "")}

{_table(kind)}
`POST /api/studies/NAME/{kind.verb}` with the body, and its answer:

```json
{json.dumps(kind.example)}
{json.dumps(kind.example_answer)}
```
"""


def _said(about: str) -> str:
    return "\n\n".join(
        fill(" ".join(part.split()), 120, break_on_hyphens=False) for part in about.split("\n\n")
    ).replace("``", "`")


def _table(kind: type[Any]) -> str:
    rows = [
        f"| `{field.name}`{_BY_CLIENT if field.metadata['by_client'] else ''} "
        f"| {_type_of(field.metadata['schema'])} | {field.metadata['description']} |\n"
        for field in own_first(kind)
    ]
    return "".join(["| field | type | meaning |\n|---|---|---|\n", *rows])


def _type_of(schema: Mapping[str, Any]) -> str:
    """The type of a field's JSON, in words."""
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type_of(part) for part in schema["anyOf"])
    if schema["type"] == "array":
        return "list"
    return (
        f"[{schema['class'].verb}](#{schema['class'].verb})"
        if "class" in schema
        else _TYPES[schema["type"]]
    )
