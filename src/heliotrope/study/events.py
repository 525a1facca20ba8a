"""What a study's log is made of: events, each a versioned JSON object, and the values in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from heliotrope.errors import FormatError, HeliotropeError, InputError, located
from heliotrope.study.setups import Setup
from heliotrope.validation import as_number

VERSION = 1
_LARGEST = 1e45  # squares of values, and the noise of these, must be numbers
_LONGEST_KEY = 200
Body: TypeAlias = dict[str, Any]
"""An event, as versioned JSON."""


@dataclass(frozen=True)
class Ask:
    """An open evaluation: measure ``params`` (or the named ``option``) at ``t``, tell by ``id``.

    ``context`` is what was given; None if the study has no contexts.
    """

    id: str
    t: float
    params: Mapping[str, Any] | None = None
    option: str | None = None
    context: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """The ask as JSON, without what it does not have."""
        chosen = {"option": self.option} if self.params is None else {"params": dict(self.params)}
        given = {} if self.context is None else {"context": dict(self.context)}
        return {"id": self.id, "t": self.t, **chosen, **given}


def id_of(ask: Ask | str) -> str:
    """The id of an ask, or that which was given instead of it."""
    return ask.id if isinstance(ask, Ask) else ask


@contextmanager
def fitting(body: Mapping[str, Any]) -> Iterator[None]:
    """Say of an event that cannot be applied that it is none of this study's."""
    try:
        yield
    except FormatError:
        raise
    except (HeliotropeError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise FormatError("an event that fits those before", json.dumps(body)[:80]) from error


def as_value(value: object) -> float:
    """Return a result that can be told, or say what came instead."""
    with located("value"):
        number = as_number(value, "the value", "Cancel the ask if its measurement failed.")
        if abs(number) > _LARGEST:
            raise InputError(f"a size of at most {_LARGEST:g}", f"{number:g}", "Use a larger unit.")
    return number


def as_key(key: object) -> str:
    """Return a client's key for an ask, or say what came instead."""
    if isinstance(key, str) and 0 < len(key) <= _LONGEST_KEY:
        return key
    raise InputError(f"a text of 1 to {_LONGEST_KEY} characters", repr(key)[:60], "", "key")


def created(setup: Setup) -> Body:
    """The first event of a study."""
    return {"v": VERSION, "kind": "created", "setup": setup.to_json()}


def setup_of(body: Mapping[str, Any]) -> Setup:
    """The setup that the first event holds."""
    if body.get("kind") != "created" or body.get("v") != VERSION:
        raise FormatError("a created event first", json.dumps(body)[:80], "Update heliotrope.")
    try:
        return Setup.from_json(body["setup"])
    except InputError as error:
        raise FormatError("the setup of a study", str(error)) from error
