"""Client of a service: remote studies with the interface of local ones.

Every request is safe to repeat: an ask carries a key that is unique to the call, and repeating a
tell, a cancellation or a deletion changes nothing. So the client retries each call while the
network or the service fails, without losing or duplicating anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from heliotrope.errors import InputError, requires_extra

if TYPE_CHECKING:
    from heliotrope.client.asynchronous import AsyncService
    from heliotrope.client.service import Service

__all__ = ["connect", "connect_async", "read_tokens"]


def connect(
    url: str, token: str | None = None, *, timeout: float = 30.0, retries: int = 5
) -> Service:
    """Use the studies of a service like local ones. This sends no request yet.

    Parameters
    ----------
    url
        Address of the service, such as ``http://127.0.0.1:8765``. The certificate of an https
        service is verified.
    token
        Bearer token, if the service requires one.
    timeout
        Time limit of one attempt, in seconds.
    retries
        Number of further attempts while the network or the service fails. Five retries take about
        five seconds.
    """
    with requires_extra("client"):
        from heliotrope.client.service import Service
        from heliotrope.client.transport import Transport
    return Service(Transport.to(url, token, timeout, retries))


def connect_async(
    url: str, token: str | None = None, *, timeout: float = 30.0, retries: int = 5
) -> AsyncService:
    """Use the studies of a service from asyncio; the arguments are those of :func:`connect`."""
    with requires_extra("client"):
        from heliotrope.client.asynchronous import AsyncService, AsyncTransport
    return AsyncService(AsyncTransport.to(url, token, timeout, retries))


def read_tokens(path: Path) -> tuple[str, ...]:
    """Read a file of one token per line; empty lines and comments (#) are skipped."""
    try:
        lines = [line.strip() for line in path.read_text().splitlines()]
    except UnicodeDecodeError as error:
        raise InputError("a file of one token per line", f"binary data in {path}") from error
    tokens = tuple(line for line in lines if line and not line.startswith("#"))
    if not tokens:
        raise InputError("at least one token", f"none in {path}")
    return tokens
