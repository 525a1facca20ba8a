"""Endpoints: each path has one operation per method, with described parameters and body.

The same description serves to parse a request and to write the OpenAPI document.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from heliotrope.errors import InputError
from heliotrope.service.errors import RequestError, response_to
from heliotrope.service.parsing import loads
from heliotrope.validation import Json, short_repr


@dataclass(frozen=True)
class RequestParameter:
    """A value in the query or in a header, with its JSON schema."""

    name: str
    schema: Mapping[str, Any]
    description: str
    default: Any = None
    location: str = "query"

    def parse(self, text: str) -> Any:
        """The value of a text; InputError names the parameter."""
        if self.schema["type"] == "string":
            return self._checked(text)
        try:
            number = loads(text.encode())
        except RequestError:
            number = None
        kinds = (int,) if self.schema["type"] == "integer" else (int, float)
        if type(number) not in kinds:
            article = "an" if self.schema["type"] == "integer" else "a"
            raise self._error(f"{article} {self.schema['type']}", text)
        least, most = self.schema.get("minimum", number), self.schema.get("maximum", number)
        if not least <= number <= most:
            raise self._error(f"a number from {least} to {most}", text)
        return number

    def _checked(self, text: str) -> str:
        choices = self.schema.get("enum", [text])
        if text not in choices:
            raise self._error(" or ".join(choices), text)
        least, most = self.schema.get("minLength", 0), self.schema.get("maxLength", len(text))
        if not least <= len(text) <= most:
            raise self._error(f"a text of {least} to {most} characters", text)
        return text

    def _error(self, expected: str, text: str) -> InputError:
        return InputError(expected, short_repr(text), field=self.name)


@dataclass(frozen=True)
class RequestBody:
    """A JSON object in a request: its schema, and the function that reads it."""

    schema: Json
    read: Callable[[Json], Any]

    def parse(self, content: bytes) -> Any:
        """The body of a request; InputError names the field at fault."""
        if not content:
            raise InputError("an object", "nothing", field="body")
        data = loads(content)
        if not isinstance(data, dict):
            got = "null" if data is None else short_repr(data)
            raise InputError("an object", got, field="body")
        return self.read(data)


@dataclass(frozen=True)
class Operation:
    """A method of a path. The handler gets the parameters, and the body, as keyword arguments.

    ``answer`` names the schema of a successful answer, ``errors`` lists the statuses of others.
    The docstring of the handler, or of ``subject``, describes the operation.
    """

    method: str
    handler: Callable[..., Any]
    answer: str | None
    errors: Sequence[int] = ()
    parameters: Sequence[RequestParameter] = ()
    body: RequestBody | None = None
    status: int = 200
    media_type: str = ""  # of an answer other than JSON
    subject: type | None = None

    async def __call__(self, request: Request) -> Response:
        """Answer a request."""
        values = {**request.path_params, **self._parameters(request)}
        if self.body is not None:
            values["body"] = self.body.parse(await request.body())
        if self._is_async:
            response: Response = await self.handler(**values)
            return response
        return await run_in_threadpool(self.handler, **values)

    @cached_property
    def _is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.handler)

    def _parameters(self, request: Request) -> dict[str, Any]:
        if not self.parameters and not request.scope["query_string"]:
            return {}
        given = _checked_query(request, [p.name for p in self.parameters if p.location == "query"])
        values = {}
        for parameter in self.parameters:
            source = given if parameter.location == "query" else request.headers
            text = source.get(parameter.name)
            name = parameter.name.lower().replace("-", "_")
            values[name] = parameter.default if text is None else parameter.parse(text)
        return values


class Endpoint:
    """The operations of a path, as an ASGI application."""

    def __init__(self, path: str, *operations: Operation) -> None:
        self.path, self.operations = path, {one.method: one for one in operations}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with the operation of its method."""
        operation = self.operations.get(scope["method"])
        if operation is None:
            allowed = ", ".join(sorted(self.operations))
            error = RequestError(405, "method_not_allowed", f"a method among {allowed}", "another")
            response: Response = response_to(error, {"Allow": allowed})
        else:
            response = await operation(Request(scope, receive))
        await response(scope, receive, send)


class LabelledRoute(Route):
    """A route that shows itself in the scope, as a label for metrics."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether a request is for this path."""
        match, found = super().matches(scope)
        return match, {**found, "route": self}


def _checked_query(request: Request, known: Sequence[str]) -> dict[str, str]:
    """The query; unknown and repeated keys are errors."""
    values: dict[str, str] = {}
    for key, value in request.query_params.multi_items():
        if key not in known:
            expected = f"no query keys except {', '.join(known)}" if known else "no query"
            raise InputError(expected, short_repr(key), field=key)
        if key in values:
            raise InputError("unique keys in the query", "a duplicate key", field=key)
        values[key] = value
    return values
