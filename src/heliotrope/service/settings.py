"""The settings of a service, and their checks."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address

from heliotrope.errors import InputError
from heliotrope.storage.protocol import DEFAULT_STORE

ANY_HOST = "*"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
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
