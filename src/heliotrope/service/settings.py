"""The settings of a service, and how its worker processes receive them."""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from heliotrope.client import read_tokens
from heliotrope.errors import InputError
from heliotrope.storage.protocol import DEFAULT_STORE

ANY_HOST = "*"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_VARIABLE = "HELIOTROPE_SERVICE"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,500}")  # valid in a header, and too long to guess


@dataclass(frozen=True)
class Limits:
    """Limits of the service."""

    body: int = 1_000_000  # bytes of a request
    patience: float = 10.0  # seconds to receive a request
    points: int = 5_000  # of a finite domain
    coordinates: int = 100  # of any other domain
    studies: int = 100_000
    memory: int = 400  # megabytes of studies in memory and of the requests that use them
    streams: int = 200  # at a time
    demos: int = 3  # at a time


@dataclass(frozen=True)
class Settings:
    """The settings of a service; ``hosts`` are its host names."""

    store: str = DEFAULT_STORE
    tokens: tuple[str, ...] = field(default=(), repr=False)
    hosts: tuple[str, ...] = _LOOPBACK
    demo: bool = True
    estimators: int | None = None  # processes beside the service; None: requests estimate
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for token in self.tokens:
            if not _TOKEN.fullmatch(token):
                raise InputError(
                    "tokens of 16 to 500 letters, digits and . _ ~ + / = -",
                    f"one of {len(token)} characters",
                    "Generate one: python -c 'import secrets; print(secrets.token_urlsafe())'",
                )


def checked_hosts(host: str, names: Iterable[str], tokens: Iterable[str]) -> tuple[str, ...]:
    """The host names of a service at an address; InputError if others reach it without a token.

    A DNS rebinding attack calls a loopback address by the name of another site, so only the known
    names are valid there. At other addresses the token protects, and any name is valid.
    """
    names = tuple(names)
    if is_loopback(host):
        return (*_LOOPBACK, host, *names)
    if not any(tokens):
        raise InputError(
            "a token for an address that others can reach",
            f"none for {host}",
            "Pass --token-file, or use 127.0.0.1.",
        )
    return names or (ANY_HOST,)


def is_loopback(host: str) -> bool:
    """Whether an address is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def pass_on(settings: Settings, token_file: Path | None, supervisor: int | None) -> None:
    """Pass the settings to the worker processes; the tokens as the path of their file.

    ``supervisor`` is the process without which they must end.
    """
    given: dict[str, Any] = asdict(settings)
    given["tokens"] = None if token_file is None else str(token_file.absolute())
    os.environ[_VARIABLE] = json.dumps({**given, "supervisor": supervisor})


def inherited_settings() -> tuple[Settings, int | None]:
    """The settings that the parent process passed on, and the supervisor."""
    given = json.loads(os.environ[_VARIABLE])
    path, supervisor = given.pop("tokens"), given.pop("supervisor")
    tokens = () if path is None else read_tokens(Path(path))
    limits = Limits(**given.pop("limits"))
    hosts = tuple(given.pop("hosts"))
    return Settings(**given, hosts=hosts, tokens=tokens, limits=limits), supervisor
