"""Values of command-line options: JSON, JSON files, pairs, and lists of names."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from heliotrope.errors import InputError
from heliotrope.validation import short_repr

# forms that JSON lacks: .1, 1. and +1; a text such as 007 stays one
_NUMBER = re.compile(r"[+-]?(\.\d+|(0|[1-9]\d*)(\.\d*)?)([eE][+-]?\d+)?")


def read_values(text: str | None, option: str) -> Any:
    """The JSON in an option, pairs such as pool=9,mode=eco, or the JSON file that it names."""
    if text is None:
        return None
    if not text.lstrip().startswith(("{", "[")) and "=" in text and not Path(text).exists():
        return dict(_pair(part, option) for part in text.split(","))
    is_file = text.strip() and not text.lstrip().startswith(("{", "["))
    try:
        return json.loads(Path(text).read_text() if is_file else text)
    except OSError as error:
        expected = f"NAME=VALUE,..., JSON or a JSON file for {option}"
        raise InputError(expected, f"{short_repr(text)} ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"JSON or a JSON file for {option}", f"an error ({error})") from error


def _pair(text: str, option: str) -> tuple[str, Any]:
    """A name and its value, which is a text if it is not JSON."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals and value):
        advice = "Use JSON for values with commas."
        raise InputError(f"NAME=VALUE,NAME=VALUE for {option}", repr(text)[:60], advice)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, float(value) if _NUMBER.fullmatch(value) else value


def read_names(text: str | None) -> Any:
    """Names separated by commas, or a JSON list of options."""
    if text is None:
        return None
    if text.lstrip().startswith("["):
        return read_values(text, "--options")
    return [name.strip() for name in text.split(",")]


def read_clock(unit: str | None) -> Any:
    """The description of a clock in a unit of wall time."""
    return None if unit is None else {"kind": "wall", "unit": unit}


def read_moves(largest: str | None, move_cost: str | None) -> Any:
    """The largest steps and the costs of moves, each by parameter."""
    read = {
        "largest": read_values(largest, "--largest"),
        "cost": read_values(move_cost, "--move-cost"),
    }
    return {name: values for name, values in read.items() if values is not None} or None


def check_numbers(text: Any) -> Any:
    """Return what :func:`read_numbers` can read; BadParameter. Typer would change its result."""
    read_numbers(text)
    return text


def read_numbers(text: Sequence[str] | str | None) -> Any:
    """A number, or numbers by metric such as throughput=812 p99=143; BadParameter."""
    if not text:
        return None
    texts = text.split(",") if isinstance(text, str) else text
    if len(texts) == 1 and "=" not in texts[0]:
        return _parsed_number(texts[0])
    pairs = [text.partition("=") for part in texts for text in part.split(",")]
    numbers = {name.strip(): _parsed_number(value or name) for name, _, value in pairs}
    if len(numbers) < len(pairs) or not all(equals for _, equals, _ in pairs):
        expected = "one number, or METRIC=NUMBER once for each metric"
        raise typer.BadParameter(f"expected {expected}; got {' '.join(texts)[:60]!r}")
    return numbers


def _parsed_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        if text.startswith("-"):
            raise typer.BadParameter(f"Got unexpected extra argument ({text})") from None
        expected = "METRIC=NUMBER, or for a study without metrics a number"
        raise typer.BadParameter(f"expected {expected}; got {text[:60]!r}") from None


_SIDES = {"<=": "at_most", ">=": "at_least", "<": "below", ">": "above"}
_LIMIT = re.compile(r"(.+?)\s*(<=|>=|<|>)\s*(.+)")


def read_limits(text: str | None) -> Any:
    """Limits such as p99<200,throughput>=95%, or as JSON."""
    if text is None:
        return None
    if text.lstrip().startswith("{"):
        return read_values(text, "--limits")
    limits: dict[str, dict[str, Any]] = {}
    for part in text.split(","):
        match = _LIMIT.fullmatch(part.strip())
        if match is None:
            raise InputError("limits such as p99<200", repr(part)[:60], "", "limits")
        name, sign, bound = match.groups()
        is_share = bound.endswith("%")
        limits.setdefault(name, {})[_SIDES[sign]] = bound if is_share else _bound(bound)
    return limits


def _bound(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError("a number or a share such as 95%", repr(text)[:60], "", "limits") from None


def read_choice(text: str | None, option: str) -> Any:
    """Parameters by name, or the name of an option."""
    if text is None:
        return None
    is_name = "=" not in text and not text.lstrip().startswith("{") and not Path(text).exists()
    return text if is_name else read_values(text, option)


def read_choices(texts: Sequence[str] | None, option: str) -> Any:
    """Several choices."""
    return [read_choice(text, option) for text in texts] if texts else None
