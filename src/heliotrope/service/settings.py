"""What a service is started with, and how its worker processes learn of it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from heliotrope.errors import InputError
from heliotrope.study.study import DEFAULT_STORE

ANY_HOST = "*"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_VARIABLE = "HELIOTROPE_SERVICE"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,500}")  # what a header can carry, and nobody guesses


@dataclass(frozen=True)
class Limits:
    """What is refused because it is too much."""

    body: int = 1_000_000  # bytes of a request
    patience: float = 10.0  # seconds within which a request must have come
    points: int = 5_000  # options, or configurations: all of a space that lists them
    coordinates: int = 100  # of a space that does not
    studies: int = 100_000
    memory: int = 400  # megabytes of studies held at a time, roughly
    streams: int = 200  # of events, at a time
    demos: int = 3  # at a time


@dataclass(frozen=True)
class Settings:
    """Everything about a service; ``hosts`` are the names by which it may be called."""

    store: str = DEFAULT_STORE
    tokens: tuple[str, ...] = field(default=(), repr=False)
    hosts: tuple[str, ...] = _LOOPBACK
    demo: bool = True
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for token in self.tokens:
            if not _TOKEN.fullmatch(token):
                raise InputError(
                    "tokens of 16 to 500 letters, digits and . _ ~ + / = -",
                    f"one of {len(token)} characters",
                    "Make one with: python -c 'import secrets; print(secrets.token_urlsafe())'",
                )


def checked_hosts(host: str, names: Iterable[str], tokens: Iterable[str]) -> tuple[str, ...]:
    """The names by which a service at an address may be called; InputError if it is unlocked.

    A browser that was led astray calls a loopback address by the name of another site (DNS
    rebinding), and is refused. Elsewhere the token is what it lacks, so any name will do.
    """
    names = tuple(names)
    if is_loopback(host):
        return (*_LOOPBACK, host, *names)
    if not any(tokens):
        raise InputError(
            "a token for an address that others can reach",
            f"none for {host}",
            "Give --token-file, or stay on 127.0.0.1.",
        )
    return names or (ANY_HOST,)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def read_tokens(path: Path) -> tuple[str, ...]:
    """The tokens of a file, one a line; empty lines and those that begin with # are none."""
    try:
        lines = [line.strip() for line in path.read_text().splitlines()]
    except UnicodeDecodeError as error:
        raise InputError("a file of tokens, one a line", f"something else in {path}") from error
    tokens = tuple(line for line in lines if line and not line.startswith("#"))
    if not tokens:
        raise InputError("at least one token", f"none in {path}")
    return tokens


def hand_on(settings: Settings, token_file: Path | None) -> None:
    """Leave the settings to the worker processes; of the tokens, where they are."""
    given: dict[str, Any] = asdict(settings)
    given["tokens"] = None if token_file is None else str(token_file.absolute())
    os.environ[_VARIABLE] = json.dumps(given)


def handed_on() -> Settings:
    """The settings that the parent process left."""
    given = json.loads(os.environ[_VARIABLE])
    path = given.pop("tokens")
    tokens = () if path is None else read_tokens(Path(path))
    limits = Limits(**given.pop("limits"))
    return Settings(**{**given, "hosts": tuple(given["hosts"])}, tokens=tokens, limits=limits)
