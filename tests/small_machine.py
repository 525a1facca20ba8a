"""The function of a cloud, the store and the table of the page "Many small machines"."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from heliotrope.storage import Store
from pages import blocks

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "many-small-machines.md"


@cache
def names() -> dict[str, Any]:
    """What the code of the page defines."""
    namespace: dict[str, Any] = {}
    for block in blocks(PAGE, "python"):
        exec(compile(block, PAGE.name, "exec"), namespace)
    return namespace


def store_of(table: object) -> Store:
    """The store on a table."""
    store: Store = names()["TableStore"](table)
    return store


def invoke(table: object, path: str, seconds: float, body: object) -> tuple[int, Any]:
    """The status and the answer of one invocation, which finds nothing but the table."""
    names()["TABLE"] = table
    clock = {"timeEpoch": seconds * 1000.0}
    request = {"rawPath": path, "requestContext": clock, "body": json.dumps(body)}
    answer = names()["handler"](request)
    return answer["statusCode"], json.loads(answer["body"])
