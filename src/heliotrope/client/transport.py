"""HTTP requests to a service, with retries."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count
from time import monotonic, sleep
from typing import Any

import httpx

from heliotrope.client.errors import error_from, valid_answer
from heliotrope.errors import HeliotropeError, InputError, ServiceError
from heliotrope.validation import as_positive, as_whole

_NOT_DONE = frozenset({408, 429})  # timeout, too many requests: the service did nothing
_RETRIED = _NOT_DONE | {502, 503, 504}
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_PAUSE, _LONGEST_PAUSE = 0.2, 10.0  # seconds; each pause is twice the one before
_LONGEST_RETRY_AFTER = 60.0  # seconds
_LARGEST = 256 * 2**20  # bytes of an answer


@dataclass(frozen=True)
class Reply:
    """An answer; if it is ``doubtful``, an earlier attempt may have been carried out."""

    status: int
    content: bytes
    pause: float = 0.0  # seconds to wait, from Retry-After
    doubtful: bool = False

    def text(self) -> str:
        """The answer as text; an error answer raises its exception."""
        if not 200 <= self.status < 300:
            raise error_from(self.status, self.content)
        try:
            return self.content.decode()
        except UnicodeDecodeError as error:
            raise ServiceError("text in UTF-8 from the service", "other bytes") from error

    def data(self) -> dict[str, Any]:
        """The answer as a JSON object; an error answer raises its exception."""
        text = self.text()
        with valid_answer():
            parsed = json.loads(text)
            if not isinstance(parsed, dict):
                raise TypeError("not an object")
        return parsed


class Transport:
    """Connections to a service; several threads may share it.

    It retries broken connections, timeouts and the statuses 408, 429, 502, 503 and 504 up to
    ``retries`` times, with pauses that double. It honours Retry-After up to one minute.
    """

    def __init__(self, http: httpx.Client, timeout: float, retries: int) -> None:
        self._http, self._timeout, self._retries = http, timeout, retries

    @classmethod
    def to(cls, url: str, token: str | None, timeout: float, retries: int) -> Transport:
        """A transport to the service at a URL."""
        seconds, count = as_positive(timeout, "timeout"), as_whole(retries, "retries", least=0)
        headers = {} if token is None else {"Authorization": f"Bearer {_as_token(token)}"}
        base = _api_url(url)
        verify = base.scheme == "https"  # plain HTTP needs no certificates, which are slow to load
        http = httpx.Client(base_url=base, headers=headers, timeout=seconds, verify=verify)
        return cls(http, seconds, count)

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, str | float] | None = None,
    ) -> Reply:
        """Send a request, and repeat it until the service answers."""
        if self._http.is_closed:
            raise ServiceError("an open connection", "a closed one")
        content = None if body is None else _as_json(body)
        headers = None if content is None else {"Content-Type": "application/json"}
        request = self._http.build_request(
            method, path, content=content, params=params, headers=headers
        )
        return self._send_with_retries(request)

    def close(self) -> None:
        self._http.close()

    def _send_with_retries(self, request: httpx.Request) -> Reply:
        doubtful = False
        for failures in count():
            is_last, pause = failures == self._retries, 0.0
            try:
                reply = self._send_once(request)
            except httpx.TransportError as error:
                if is_last:
                    raise self._no_answer(error) from error
                doubtful |= not isinstance(error, _NOT_SENT)
            else:
                pause = reply.pause
                if is_last or reply.status not in _RETRIED or pause > _LONGEST_RETRY_AFTER:
                    break
                doubtful |= reply.status not in _NOT_DONE
            sleep(max(pause, _own_pause(failures)))
        return replace(reply, doubtful=doubtful)

    def _send_once(self, request: httpx.Request) -> Reply:
        deadline = monotonic() + self._timeout
        try:
            with closing(self._http.send(request, stream=True)) as response:
                content = _read_bounded(response, deadline)
        except httpx.DecodingError as error:
            raise ServiceError("an answer that can be decompressed", str(error)) from error
        return Reply(response.status_code, content, _retry_after(response))

    def _no_answer(self, error: httpx.TransportError) -> HeliotropeError:
        if isinstance(error, httpx.TimeoutException):
            reason = f"none within {self._timeout:g} s"
        else:
            reason = f"{type(error).__name__} ({error})"
        attempts = f" in the last of {self._retries + 1} attempts" if self._retries else ""
        return ServiceError(
            f"an answer from {self._http.base_url}",
            reason + attempts,
            "Check that the service is running.",
        )


def _api_url(url: object) -> httpx.URL:
    """The base of the service's routes. Its errors never show the URL, which may hold a secret."""
    try:
        parsed = httpx.URL(url) if isinstance(url, str) else httpx.URL()
        parsed.raw_host.decode().encode("idna")  # the socket layer would raise a plain ValueError
    except (httpx.InvalidURL, ValueError):
        raise _bad_url("a URL that cannot be parsed") from None
    if parsed.scheme not in ("http", "https") or not parsed.host or (parsed.port or 1) > 65535:
        raise _bad_url("something else")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise _bad_url("a URL with a user, a query or a fragment")
    return parsed.copy_with(path=f"{parsed.path.rstrip('/')}/api/")


def _bad_url(got: str) -> InputError:
    return InputError("the URL of a service, such as http://127.0.0.1:8765", got, field="url")


def _as_token(token: object) -> str:
    if isinstance(token, str) and token.isascii() and token.isprintable() and token.strip():
        return token.strip()
    raise InputError("a token of printable ASCII characters", "something else", field="token")


def _own_pause(failures: int) -> float:
    """Seconds to wait, randomized so that clients that failed together do not return together."""
    return random.uniform(0.5, 1.0) * min(_PAUSE * 2.0 ** min(failures, 10), _LONGEST_PAUSE)


def _as_json(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError("values that JSON can express", f"an error ({error})") from error


def _read_bounded(response: httpx.Response, deadline: float) -> bytes:
    content = bytearray()
    for chunk in response.iter_bytes():
        content += chunk
        if len(content) > _LARGEST:
            raise ServiceError(f"an answer of at most {_LARGEST:,} bytes", "a longer one")
        if monotonic() > deadline:  # httpx's own timeout is per chunk
            raise httpx.ReadTimeout("too slow", request=response.request)
    return bytes(content)


def _retry_after(response: httpx.Response) -> float:
    """Seconds from the header Retry-After, or 0."""
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isascii() and value.isdigit() else 0.0
