"""HTTP requests to a service, with retries."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from time import monotonic, sleep
from typing import Any, TypeAlias, TypeVar

import httpx

from heliotrope.client.errors import error_from, valid_answer
from heliotrope.errors import HeliotropeError, InputError, ServiceError
from heliotrope.surroundings import REAL, Surroundings
from heliotrope.validation import as_positive, as_whole

T = TypeVar("T")

_log = logging.getLogger(__name__)
_NOT_DONE = frozenset({408, 429})  # timeout, too many requests: the service did nothing
_RETRIED = _NOT_DONE | {502, 503, 504}
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_PAUSE, _LONGEST_PAUSE = 0.2, 10.0  # seconds; each pause is twice the one before
_STEPS = 1_000  # of the random half of a pause
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


@dataclass(frozen=True)
class Call:
    """A request to the service."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    params: Mapping[str, str | float] | None = None


Calls: TypeAlias = Generator[Call, Reply, T]
"""Calls one after another: each gets its reply, and the last one returns the result."""


class Attempts:
    """The attempts of one call: whether to try again, and after which pause."""

    def __init__(
        self, url: httpx.URL, timeout: float, retries: int, surroundings: Surroundings = REAL
    ) -> None:
        self._url, self._timeout, self._retries = url, timeout, retries
        self._surroundings = surroundings
        self._failures, self._doubtful = 0, False

    def pause_after(self, outcome: Reply | httpx.TransportError) -> float | None:
        """Seconds to wait before the next attempt; None if the reply is the last one.

        ServiceError if there is no reply after the last attempt.
        """
        is_last, pause = self._failures == self._retries, 0.0
        if isinstance(outcome, Reply):
            pause = outcome.pause
            if is_last or outcome.status not in _RETRIED or pause > _LONGEST_RETRY_AFTER:
                return None
            self._doubtful |= outcome.status not in _NOT_DONE
            _log.info("the service answered with status %d: trying again", outcome.status)
        else:
            if is_last:
                raise self._no_answer(outcome) from outcome
            self._doubtful |= not isinstance(outcome, _NOT_SENT)
            _log.info("no answer from the service (%r): trying again", outcome)
        return max(pause, self._own_pause())

    def _own_pause(self) -> float:
        """Seconds to wait, random so that clients that failed together do not return together."""
        longest = min(_PAUSE * 2.0 ** min(self._failures, 10), _LONGEST_PAUSE)
        self._failures += 1
        return longest * (_STEPS + self._surroundings.below(_STEPS)) / (2 * _STEPS)

    def final(self, reply: Reply) -> Reply:
        """The last reply, which is doubtful if an earlier attempt may have been carried out."""
        return replace(reply, doubtful=self._doubtful)

    def _no_answer(self, error: httpx.TransportError) -> HeliotropeError:
        if isinstance(error, httpx.TimeoutException):
            reason = f"none within {self._timeout:g} s"
        else:
            reason = f"{type(error).__name__} ({error})"
        attempts = f" in the last of {self._retries + 1} attempts" if self._retries else ""
        return ServiceError(
            f"an answer from {self._url}", reason + attempts, "Check that the service is running."
        )


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
        given = connection(url, token, timeout, retries)
        return cls(httpx.Client(**given), timeout, retries)

    def run(self, calls: Calls[T]) -> T:
        """Carry out calls, and return their result."""
        try:
            call = next(calls)
            while True:
                call = calls.send(self.send(call))
        except StopIteration as done:
            result: T = done.value
            return result

    def send(self, call: Call) -> Reply:
        """Send a request, and repeat it until the service answers."""
        request = request_of(self._http, call)
        attempts = Attempts(self._http.base_url, self._timeout, self._retries)
        while True:
            outcome = self._attempt(request)
            pause = attempts.pause_after(outcome)
            if pause is None and isinstance(outcome, Reply):
                return attempts.final(outcome)
            sleep(pause or 0.0)

    def close(self) -> None:
        self._http.close()

    def _attempt(self, request: httpx.Request) -> Reply | httpx.TransportError:
        body = Body(request, self._timeout)
        try:
            with decodable(), closing(self._http.send(request, stream=True)) as response:
                for chunk in response.iter_bytes():
                    body.add(chunk)
        except httpx.TransportError as error:
            return error
        return body.reply(response)


def connection(url: str, token: str | None, timeout: float, retries: int) -> dict[str, Any]:
    """The arguments of an httpx client of the service at a URL, after a check of them."""
    as_whole(retries, "retries", least=0)
    base = _api_url(url)
    return {
        "base_url": base,
        "headers": {} if token is None else {"Authorization": f"Bearer {_as_token(token)}"},
        "timeout": as_positive(timeout, "timeout"),
        "verify": base.scheme == "https",  # plain HTTP needs no certificates: slow to load
    }


def request_of(http: httpx.Client | httpx.AsyncClient, call: Call) -> httpx.Request:
    """The HTTP request of a call; ServiceError if the client is closed."""
    if http.is_closed:
        raise ServiceError("an open connection", "a closed one")
    content = None if call.body is None else as_json(call.body)
    headers = None if content is None else {"Content-Type": "application/json"}
    return http.build_request(
        call.method, call.path, content=content, params=call.params, headers=headers
    )


class Body:
    """The content of an answer as it arrives, within bounds of size and time."""

    def __init__(self, request: httpx.Request, timeout: float) -> None:
        self._request, self._deadline = request, monotonic() + timeout
        self._content = bytearray()

    def add(self, chunk: bytes) -> None:
        self._content += chunk
        if len(self._content) > _LARGEST:
            raise ServiceError(f"an answer of at most {_LARGEST:,} bytes", "a longer one")
        if monotonic() > self._deadline:  # httpx's own timeout is per chunk
            raise httpx.ReadTimeout("too slow", request=self._request)

    def reply(self, response: httpx.Response) -> Reply:
        return Reply(response.status_code, bytes(self._content), _retry_after(response))


@contextmanager
def decodable() -> Iterator[None]:
    """Raise a ServiceError if an answer cannot be decompressed."""
    try:
        yield
    except httpx.DecodingError as error:
        raise ServiceError("an answer that can be decompressed", str(error)) from error


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


def as_json(body: Mapping[str, Any]) -> bytes:
    """The body of a request; InputError for values that JSON lacks."""
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError("values that JSON can express", f"an error ({error})") from error


def _retry_after(response: httpx.Response) -> float:
    """Seconds from the header Retry-After, or 0."""
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isascii() and value.isdigit() else 0.0
