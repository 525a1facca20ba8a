"""Client of a service: remote studies with the interface of local ones.

Every request is safe to repeat: an ask carries a key that is unique to the call, and repeating a
tell, a cancellation or a deletion changes nothing. So the client retries each call while the
network or the service fails, without losing or duplicating anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heliotrope.errors import requires_extra

if TYPE_CHECKING:
    from heliotrope.client.service import Service

__all__ = ["connect"]


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
