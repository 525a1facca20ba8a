"""Studies over HTTP: JSON in and out, locked by default.

``heliotrope serve`` runs it; :func:`create_app` is the application for your own server.
"""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from heliotrope.errors import InputError
from heliotrope.lazy import lazy_names
from heliotrope.storage.protocol import DEFAULT_STORE

if TYPE_CHECKING:
    from heliotrope.service.app import create_app as create_app
else:  # it imports the settings
    __getattr__ = lazy_names(__name__, {"app": ["create_app"]})

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
    hosts: tuple[str, ...] = ("127.0.0.1", "::1", "localhost")
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
