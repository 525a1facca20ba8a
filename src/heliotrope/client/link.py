"""Requests to a service, sent again until one is answered."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import monotonic, sleep
from typing import Any

import httpx

from heliotrope.client.refusals import refusal
from heliotrope.errors import HeliotropeError, InputError, ServiceError

_UNDONE = frozenset({408, 429})  # too slow, too many: nothing was done
_AGAIN = _UNDONE | {502, 503, 504}
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_PAUSE, _LONGEST_PAUSE = 0.2, 10.0  # seconds, doubled from try to try
_PATIENCE = 60.0  # seconds that a service may ask for with Retry-After
_LARGEST = 256 * 2**20  # bytes of an answer


@dataclass(frozen=True)
class Reply:
    """What the service answered; an earlier try of a ``doubtful`` one may have been carried out."""

    status: int
    content: bytes
    pause: float = 0.0  # seconds that it asks to wait
    doubtful: bool = False

    def text(self) -> str:
        """The answer, or the error that it tells of."""
        if not 200 <= self.status < 300:
            raise refusal(self.status, self.content)
        try:
            return self.content.decode()
        except UnicodeDecodeError as error:
            raise ServiceError("text in UTF-8 from the service", "something else") from error

    def data(self) -> Any:
        """The answer as JSON has it, or the error that it tells of."""
        text = self.text()
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ServiceError(
                "JSON from the service", "something else", "Is the URL right?"
            ) from error


class Link:
    """The way to a service; several threads may share it.

    Connections that break, time-outs and the statuses 408, 429, 502, 503 and 504 are tried again,
    up to ``retries`` times, after pauses that double; Retry-After is heeded up to a minute.
    """

    def __init__(self, http: httpx.Client, timeout: float, retries: int) -> None:
        self._http, self._timeout, self._retries = http, timeout, retries

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, str | float] | None = None,
    ) -> Reply:
        """Send a request until it is answered."""
        if self._http.is_closed:
            raise ServiceError("an open connection", "one that was closed")
        content = None if body is None else _as_json(body)
        headers = None if content is None else {"Content-Type": "application/json"}
        request = self._http.build_request(
            method, path, content=content, params=params, headers=headers
        )
        return self._tried(request)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _tried(self, request: httpx.Request) -> Reply:
        failures, doubtful = 0, False
        while True:
            outcome = self._once(request)
            if failures == self._retries or not _is_passing(outcome):
                break
            doubtful = doubtful or _may_have_acted(outcome)
            sleep(_pause(failures, outcome))
            failures += 1
        if isinstance(outcome, httpx.TransportError):
            raise self._silence(outcome) from outcome
        return replace(outcome, doubtful=doubtful)

    def _once(self, request: httpx.Request) -> Reply | httpx.TransportError:
        deadline = monotonic() + self._timeout
        try:
            response = self._http.send(request, stream=True)
            try:
                content = _bounded(response, deadline)
            finally:
                response.close()
        except httpx.TransportError as error:
            return error
        except httpx.DecodingError as error:
            raise ServiceError("an answer that can be unpacked", str(error)) from error
        return Reply(response.status_code, content, _seconds(response))

    def _silence(self, error: httpx.TransportError) -> HeliotropeError:
        if isinstance(error, httpx.TimeoutException):
            reason = f"none within {self._timeout:g} s"
        else:
            reason = f"{type(error).__name__} ({error})"
        tries = f" in the last of {self._retries + 1} tries" if self._retries else ""
        return ServiceError(
            f"an answer from {self._http.base_url}", reason + tries, "Is the service running?"
        )


def _is_passing(outcome: Reply | httpx.TransportError) -> bool:
    """Whether another try may fare better."""
    if isinstance(outcome, httpx.TransportError):
        return True
    return outcome.status in _AGAIN and outcome.pause <= _PATIENCE


def _may_have_acted(outcome: Reply | httpx.TransportError) -> bool:
    """Whether the service may have done what it was asked although it failed."""
    if isinstance(outcome, httpx.TransportError):
        return not isinstance(outcome, _UNSENT)
    return outcome.status not in _UNDONE


def _pause(failures: int, outcome: Reply | httpx.TransportError) -> float:
    """Seconds to wait; clients that failed together come apart."""
    longest = min(_PAUSE * 2.0 ** min(failures, 10), _LONGEST_PAUSE)
    own = random.uniform(0.5, 1.0) * longest
    return own if isinstance(outcome, httpx.TransportError) else max(own, outcome.pause)


def _as_json(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError("what JSON can say", str(error)) from error


def _bounded(response: httpx.Response, deadline: float) -> bytes:
    content = bytearray()
    for chunk in response.iter_bytes():
        content += chunk
        if len(content) > _LARGEST:
            raise ServiceError(f"an answer of at most {_LARGEST:,} bytes", "more")
        if monotonic() > deadline:  # a time-out of httpx is one of each chunk
            raise httpx.ReadTimeout("too slow", request=response.request)
    return bytes(content)


def _seconds(response: httpx.Response) -> float:
    """What Retry-After says, if it says seconds."""
    said = response.headers.get("Retry-After", "")
    return float(said) if said.isascii() and said.isdigit() else 0.0
