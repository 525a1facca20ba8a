"""Queries and the JSON of requests, read strictly.

What two readers could understand differently is refused, and so is what nobody reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Sequence
from math import isfinite
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from heliotrope.errors import InputError
from heliotrope.service.refusals import Refusal
from heliotrope.validation import short_repr

_SURROGATE = rb"\ud"  # begins half a character, which is no text without its other half


class StrictRoute(APIRoute):
    """A route whose query has known keys, and whose body is read by :func:`loads`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given such a request."""
        handler = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            _check_query(self, request)
            return await handler(_StrictRequest(request.scope, request.receive))

        return strictly


class QuickRoute(APIRoute):
    """A route whose endpoint takes a study's name and a body, and does not block.

    What FastAPI does for endpoints of any shape takes longer than asking a study.
    """

    def __init__(self, path: str, endpoint: Callable[..., Response], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self.app = self._answer

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = _StrictRequest(scope, receive)
        _check_query(self, request)
        if not await request.body():
            raise InputError("an object", "nothing", field="body")
        body = self._checked(await request.json())
        response = await self.endpoint(scope["path_params"]["name"], body)
        await response(scope, receive, send)

    def _checked(self, data: Any) -> Any:
        assert self.body_field is not None
        body, errors = self.body_field.validate(data, loc=("body",))
        if errors:
            raise RequestValidationError(errors)
        return body


def _check_query(route: APIRoute, request: Request) -> None:
    """Refuse a key that the route does not know, and one that comes twice."""
    known = [field.alias for field in route.dependant.query_params]
    seen: set[str] = set()
    for key, _ in request.query_params.multi_items():
        if key not in known:
            expected = f"no keys but {', '.join(known)} in the query" if known else "no query"
            raise InputError(expected, short_repr(key), field=key)
        if key in seen:
            raise InputError("keys that differ in the query", "one twice", field=key)
        seen.add(key)


class _StrictRequest(Request):
    async def json(self) -> Any:
        return loads(await self.body())


def loads(body: bytes) -> Any:
    """Read JSON in UTF-8: no key twice in an object, no NaN, no number beyond the floats.

    Examples
    --------
    >>> loads(b'{"value": 1.5}')
    {'value': 1.5}
    """
    try:
        read = _decoder.decode(body.decode())
        if _SURROGATE in body.lower():
            json.dumps(read, ensure_ascii=False).encode()
    except UnicodeError:
        raise _refusal("text in UTF-8", "something else") from None
    except RecursionError:
        raise _refusal("JSON", "brackets too deep in each other") from None
    except json.JSONDecodeError as error:
        what = error.msg[0].lower() + error.msg[1:]
        raise _refusal("JSON", f"something else at character {error.pos} ({what})") from None
    except ValueError:  # an integer of more digits than Python reads
        raise _refusal("numbers of a size below 1e100", "a longer one") from None
    return read


def _refusal(expected: str, got: str) -> Refusal:
    return Refusal(422, "json", f"expected {expected}; got {got}.", "body")


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise _refusal("keys that differ", "one twice in an object")
    return read


def _constant(name: str) -> NoReturn:
    raise _refusal("finite numbers", name)


def _float(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise _refusal("finite numbers", text[:40])
    return number


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_float)
