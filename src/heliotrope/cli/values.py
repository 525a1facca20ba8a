"""Values of command-line options: JSON, JSON files, pairs, and lists of names."""

import json
import re
from pathlib import Path
from typing import Any

from heliotrope.errors import InputError
from heliotrope.validation import short_repr

# forms that JSON lacks: .1, 1. and +1; a text such as 007 stays one
_NUMBER = re.compile(r"[+-]?(\.\d+|(0|[1-9]\d*)(\.\d*)?)([eE][+-]?\d+)?")


def read_values(text: str, option: str) -> Any:
    """The JSON in an option, pairs such as pool=9,mode=eco, or the JSON file that it names."""
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


def read_names(text: str) -> Any:
    """Names separated by commas, or a JSON list of options."""
    if text.lstrip().startswith("["):
        return read_values(text, "--options")
    return [name.strip() for name in text.split(",")]
