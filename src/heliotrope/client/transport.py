"""HTTP requests to a service, with retries."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from time import monotonic, sleep
from typing import Any, Generic, TypeAlias, TypeVar

import httpx

from heliotrope.client.errors import error_from, valid_answer
from heliotrope.errors import HeliotropeError, InputError, ServiceError
from heliotrope.surroundings import REAL, Surroundings
from heliotrope.validation import as_positive, as_whole

T = TypeVar("T")
Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)

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

    def checked(self) -> bytes:
        """The content of the answer; an error answer raises its exception."""
        if not 200 <= self.status < 300:
            raise error_from(self.status, self.content)
        return self.content

    def text(self) -> str:
        """The answer as text; an error answer raises its exception."""
        try:
            return self.checked().decode()
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


Attempt: TypeAlias = Reply | httpx.TransportError
CallSteps: TypeAlias = Generator[httpx.Request | float, Attempt | None, T]
"""What a transport does next: send a request, whose outcome it returns, or wait some seconds."""


class Connections(Generic[Http]):
    """Connections to a service: the requests of calls, and the pauses before they are repeated.

    Broken connections, timeouts and the statuses 408, 429, 502, 503 and 504 are retried up to
    ``retries`` times, with pauses that double. Retry-After is honoured up to one minute.
    """

    def __init__(
        self, http: Http, timeout: float, retries: int, surroundings: Surroundings = REAL
    ) -> None:
        self._http: Http = http
        self._timeout, self._retries, self._surroundings = timeout, retries, surroundings

    def _steps(self, calls: Calls[T]) -> CallSteps[T]:
        try:
            call = next(calls)
            while True:
                call = calls.send((yield from self._attempts(call)))
        except StopIteration as done:
            result: T = done.value
            return result

    def _attempts(self, call: Call) -> CallSteps[Reply]:
        """Repeat a request until the service answers; ServiceError if it does not."""
        request, failures, doubtful = self._request(call), 0, False
        while True:
            outcome, is_last, pause = (yield request), failures == self._retries, 0.0
            if isinstance(outcome, Reply):
                pause = outcome.pause
                if is_last or outcome.status not in _RETRIED or pause > _LONGEST_RETRY_AFTER:
                    return replace(outcome, doubtful=doubtful)
                doubtful |= outcome.status not in _NOT_DONE
                _log.info("the service answered with status %d: trying again", outcome.status)
            else:
                if is_last:
                    raise self._no_answer(outcome) from outcome
                doubtful |= not isinstance(outcome, _NOT_SENT)
                _log.info("no answer from the service (%r): trying again", outcome)
            yield max(pause, self._own_pause(failures))
            failures += 1

    def _request(self, call: Call) -> httpx.Request:
        """The HTTP request of a call; ServiceError if the client is closed."""
        if self._http.is_closed:
            raise ServiceError("an open connection", "a closed one")
        content = None if call.body is None else as_json(call.body)
        headers = None if content is None else {"Content-Type": "application/json"}
        return self._http.build_request(
            call.method, call.path, content=content, params=call.params, headers=headers
        )

    def _own_pause(self, failures: int) -> float:
        """Seconds to wait, random so that clients that failed together do not return together."""
        longest = min(_PAUSE * 2.0 ** min(failures, 10), _LONGEST_PAUSE)
        return longest * (_STEPS + self._surroundings.below(_STEPS)) / (2 * _STEPS)

    def _no_answer(self, error: httpx.TransportError | None) -> HeliotropeError:
        if isinstance(error, httpx.TimeoutException):
            reason = f"none within {self._timeout:g} s"
        else:
            reason = f"{type(error).__name__} ({error})"
        attempts = f" in the last of {self._retries + 1} attempts" if self._retries else ""
        expected = f"an answer from {self._http.base_url}"
        return ServiceError(expected, reason + attempts, "Check that the service is running.")


class Transport(Connections[httpx.Client]):
    """Carries out calls; several threads may share it."""

    @classmethod
    def to(cls, url: str, token: str | None, timeout: float, retries: int) -> Transport:
        """A transport to the service at a URL."""
        return cls(httpx.Client(**connection(url, token, timeout, retries)), timeout, retries)

    def run(self, calls: Calls[T]) -> T:
        """Carry out calls, and return their result."""
        steps, outcome = self._steps(calls), None
        try:
            while True:
                step = steps.send(outcome)
                if isinstance(step, httpx.Request):
                    outcome = self._attempt(step)
                else:
                    sleep(step)
        except StopIteration as done:
            result: T = done.value
            return result

    def close(self) -> None:
        self._http.close()

    def _attempt(self, request: httpx.Request) -> Attempt:
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
