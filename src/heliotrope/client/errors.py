"""Turn the error answers of a service into the exceptions that a local study raises."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from heliotrope import errors
from heliotrope.errors import HeliotropeError, ServiceError

_PACKAGE = [kind for kind in vars(errors).values() if isinstance(kind, type)]
_KINDS: dict[str, type[HeliotropeError]] = {
    **{kind.code: kind for kind in _PACKAGE if issubclass(kind, HeliotropeError)},
    "json": errors.InputError,
    "limit": errors.InputError,
}
_UNAUTHORIZED = 401
_NO_ROUTE = "not_found"
_FIELDS = ("expected", "got", "advice", "field")  # the arguments of every exception
_LONGEST = 2_000  # characters of a field


def error_from(status: int, content: bytes) -> HeliotropeError:
    """The exception that an error answer describes."""
    if status == _UNAUTHORIZED:
        return ServiceError(
            "a token that the service accepts",
            "no token, or a wrong one",
            "Pass it to connect(url, token=...), or to a command with --token-file.",
        )
    try:
        body = json.loads(content)["error"]
        code, fields = body["code"], [str(body[name])[:_LONGEST] for name in _FIELDS]
    except (ValueError, KeyError, TypeError, RecursionError):
        code, fields = _NO_ROUTE, []
    if code == _NO_ROUTE:
        return ServiceError(
            "an answer of a Heliotrope service",
            f"status {status}",
            "Check the URL: it ends before /api, as in http://127.0.0.1:8765.",
        )
    return _KINDS.get(code, ServiceError)(*fields)


@contextmanager
def valid_answer() -> Iterator[None]:
    """Raise a ServiceError if an answer lacks what the block reads from it."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ServiceError(
            "an answer of a Heliotrope service",
            f"an unreadable one ({type(error).__name__}: {error})"[:200],
            "Check the URL, and that client and service have the same version.",
        ) from error
