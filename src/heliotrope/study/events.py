"""The events of a study's log, as versioned JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from heliotrope.errors import FormatError, HeliotropeError, InputError
from heliotrope.storage import EventBody
from heliotrope.study.config import StudyConfig

VERSION = 1


@contextmanager
def fitting(body: Mapping[str, Any]) -> Iterator[None]:
    """Raise a FormatError for an event that cannot be applied."""
    try:
        yield
    except FormatError:
        raise
    except (HeliotropeError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise FormatError("an event that fits those before", json.dumps(body)[:80]) from error


def created(config: StudyConfig) -> EventBody:
    """The first event of a study."""
    return {"v": VERSION, "kind": "created", "setup": config.to_json()}


def config_of(body: Mapping[str, Any]) -> StudyConfig:
    """The configuration in the first event."""
    if body.get("kind") != "created" or body.get("v") != VERSION:
        raise FormatError("a created event first", json.dumps(body)[:80], "Update heliotrope.")
    try:
        return StudyConfig.from_json(body["setup"])
    except InputError as error:
        raise FormatError("the configuration of a study", str(error)) from error
