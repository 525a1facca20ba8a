"""From a URL to a service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heliotrope.errors import requires_extra
from heliotrope.validation import as_positive, as_whole

if TYPE_CHECKING:
    from heliotrope.client.service import Service


def connect(
    url: str, token: str | None = None, *, timeout: float = 30.0, retries: int = 5
) -> Service:
    """Use the studies of a service as if they were here; nothing is sent yet.

    Parameters
    ----------
    url
        Where the service is, such as ``http://127.0.0.1:8765``. The certificate of an https one
        is verified.
    token
        What the service wants to see, if it wants any.
    timeout
        Seconds that one try may take.
    retries
        How often a call is tried again while the network or the service fails; five times take
        about five seconds.
    """
    seconds, tries = as_positive(timeout, "timeout"), as_whole(retries, "retries", least=0)
    with requires_extra("client"):
        import httpx

        from heliotrope.client.addresses import as_base, as_token
        from heliotrope.client.link import Link
        from heliotrope.client.service import Service
    headers = {} if token is None else {"Authorization": f"Bearer {as_token(token)}"}
    http = httpx.Client(base_url=as_base(url), headers=headers, timeout=seconds)
    return Service(Link(http, seconds, tries))
