"""Check the prose of pages and docstrings: our own list, some checks of proselint, long sentences.

``python scripts/lint_prose.py [FILE ...]`` prints one line for each finding. The list follows the
house style in CONTRIBUTING.md.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from proselint.checks import hedging, malapropisms, mondegreens
from proselint.checks.redundancy import misc as redundancy
from proselint.registry.checks import Check

ROOT = Path(__file__).parents[1]
LONGEST = 40  # words of a sentence in a page
BORROWED = (hedging, malapropisms, mondegreens, redundancy)

HOUSE = {  # what we avoid, and what to write
    r"([a-z]{2,}) \1(?!\^)": "the word once",
    r"anew": "again, or: is re-estimated",
    r"as JSON has it": "as JSON",
    r"at this point in time": "now",
    r"due to the fact that": "because",
    r"ground truth": "the true value",
    r"in order to": "to",
    r"in terms of": "name the quantity",
    r"is able to": "can",
    r"it should be noted that": "leave it out",
    r"leverag(?:e|es|ing)": "use",
    r"of another level": "after a level shift",
    r"of course|obviously|simply|easily": "leave it out: it may not be so for the reader",
    r"prior to": "before",
    r"so many": "this many, or the number",
    r"such that": "so that",
    r"terrain|scener?y?s?(?=\s(?:of|where))": "a metaphor: name the thing",
    r"the fact that": "that",
    r"utili[sz]e[sd]?": "use",
    r"what came out": "results",
    r"whereby|thereof|therein|wherein": "say it in two sentences",
    r"wish(?:es|ed)?": "want, or: request",
}
_HOUSE = [(re.compile(rf"\b(?:{avoid})\b", re.IGNORECASE), write) for avoid, write in HOUSE.items()]
_CODE = re.compile(
    r"^```.*?^```|^    [^\n]*$|`[^`\n]*`|\]\([^)]*\)|<[a-z/][^>\n]*>", re.MULTILINE | re.DOTALL
)
_NOT_A_PARAGRAPH = ("|", "#", "!", ":::", "    ")


class Finding(NamedTuple):
    """Where, what, and what to write instead."""

    path: Path
    line: int
    found: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.found!r}: {self.advice}"


def findings(path: Path) -> Iterator[Finding]:
    """Check one file."""
    parts = _docstrings(path) if path.suffix == ".py" else [(1, _without_code(path.read_text()))]
    for first, text in parts:
        for start, found, advice in (*_listed(text), *_long(text, path.suffix)):
            yield Finding(path, first + text.count("\n", 0, start), found, advice)


def _listed(text: str) -> Iterator[tuple[int, str, str]]:
    for pattern, write in _HOUSE:
        for match in pattern.finditer(text):
            yield match.start(), match[0], f"write: {write}"
    for check in _borrowed():
        for result in check.check(f"\n{text}\n"):
            start, end = result.span
            yield start, text[max(start - 1, 0) : end].strip(), result.message


def _borrowed() -> Iterator[Check]:
    for module in BORROWED:
        yield from module.__register__


def _long(text: str, suffix: str) -> Iterator[tuple[int, str, str]]:
    if suffix == ".py":
        return
    for paragraph in re.finditer(r"(?:^[^\n]+\n)+", text, re.MULTILINE):
        if paragraph[0].lstrip("-* ").startswith(_NOT_A_PARAGRAPH):
            continue
        for sentence in re.finditer(
            r".+?(?:[.:;?!](?=\s)|\n(?=[-|*\d])|\Z)", paragraph[0], re.DOTALL
        ):
            words = len(re.findall(r"[A-Za-z]{2,}", sentence[0]))
            if words > LONGEST:
                start = paragraph.start() + sentence.start()
                yield start, sentence[0][:40], f"{words} words: make it two sentences"


def _without_code(text: str) -> str:
    """The text with spaces in the place of code and of addresses, so that places stay."""
    return _CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _docstrings(path: Path) -> Iterator[tuple[int, str]]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False):
            said = node.body[0]
            yield said.lineno, re.sub(r"``?[^`]*``?|>>>[^\n]*", " ", ast.unparse(said))


def all_files() -> list[Path]:
    """Every page and every module."""
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    pages += (ROOT / "docs").rglob("*.md")
    return [*pages, *(ROOT / "src").rglob("*.py")]


def main(names: list[str]) -> int:
    files = [Path(name).resolve() for name in names] or all_files()
    found = [one for path in files for one in findings(path)]
    for one in found:
        print(one)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
