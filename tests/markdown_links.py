"""Links, pictures and anchors of Markdown, as GitHub and the package index read it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token


def read_markdown(path: Path) -> str:
    """The text of a page, or of the Markdown cells of a notebook."""
    if path.suffix != ".ipynb":
        return path.read_text()
    cells = json.loads(path.read_text())["cells"]
    return "\n\n".join("".join(one["source"]) for one in cells if one["cell_type"] == "markdown")


def links(text: str) -> list[str]:
    """The addresses of all links."""
    return _addresses(text, "href")


def pictures(text: str) -> list[str]:
    """The addresses of all pictures."""
    return _addresses(text, "src")


def anchors(text: str) -> set[str]:
    """What the part of a link after ``#`` may be: a name for each heading."""
    names, seen = set[str](), Counter[str]()
    tokens = _parse(text)
    for opening, heading in pairwise(tokens):
        if opening.type == "heading_open":
            words = "".join(one.content for one in heading.children or ())
            name = re.sub(r"[^\w -]", "", words.lower()).replace(" ", "-")
            names.add(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
    return names


def _addresses(text: str, attribute: str) -> list[str]:
    found = list[str]()
    for token in _flat(_parse(text)):
        if token.type.startswith("html"):
            found += re.findall(rf'\b{attribute}="([^"]*)"', token.content)
        elif attribute in token.attrs:
            found.append(str(token.attrs[attribute]))
    return found


def _parse(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)


def _flat(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _flat(token.children or [])
