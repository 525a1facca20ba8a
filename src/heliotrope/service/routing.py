"""Operations of the service: each describes its parameters and its body once.

This description parses requests and becomes the OpenAPI document. JSON is parsed strictly: what two
parsers could read differently is refused.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, NoReturn

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from heliotrope import __version__
from heliotrope.errors import InputError
from heliotrope.service.errors import RequestError, response_to
from heliotrope.service.schemas import SCHEMAS, reference
from heliotrope.study.command_fields import Command, mismatch
from heliotrope.validation import Json, short_repr

_JSON, _TOKEN = "application/json", "token"
_NAME = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
_ALWAYS = (401, 403, 422)  # token, origin, values
_OF_STUDY = (404,)  # unknown name
_SURROGATE = rb"\ud"  # start of an escaped surrogate, which is not text without its other half
_OF_POST = (413, 415)  # size, content type


def parameter(
    name: str, description: str, schema: Json, default: Any = None, location: str = "query"
) -> Json:
    """A value in the query or in a header, as OpenAPI describes it."""
    return {
        "name": name,
        "in": location,
        "required": False,
        "description": description,
        "schema": schema if default is None else {**schema, "default": default},
    }


@dataclass(frozen=True)
class Operation:
    """A method of a path. The handler gets the parameters, and the body, as keyword arguments.

    ``answer`` names the schema of a successful answer, ``body`` is the schema of the request.
    ``errors`` lists the statuses that not all operations of this kind have. The docstring of the
    handler, or of ``subject``, describes the operation.
    """

    method: str
    path: str
    handler: Callable[..., Any]
    answer: str | None
    parameters: Sequence[Json] = ()
    errors: Sequence[int] = ()
    body: Json | None = None
    status: int = 200
    media_type: str = ""  # of an answer other than JSON
    subject: type[Command[Any]] | None = None

    async def __call__(self, request: Request) -> Response:
        values = {**request.path_params, **self._parameters(request)}
        if self.body is not None:
            values["body"] = _parsed_object(await request.body())
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
        in_query = [part["name"] for part in self.parameters if part["in"] == "query"]
        sent = {"query": _checked_query(request, in_query), "header": request.headers}
        return {
            part["name"].lower().replace("-", "_"): _value(part, sent[part["in"]].get(part["name"]))
            for part in self.parameters
        }

    def described(self) -> Json:
        """The operation in the OpenAPI document."""
        subject = self.subject or self.handler
        text = (inspect.getdoc(subject) or "").replace("``", "`")  # Markdown
        in_path = [_NAME] if "{name}" in self.path else []
        body = {"required": True, "content": {_JSON: {"schema": self.body}}}
        return {
            "summary": text.partition("\n")[0].rstrip("."),
            "description": text,
            "operationId": subject.__name__.lower(),
            "parameters": [*in_path, *(part for part in self.parameters if part["description"])],
            "responses": self._responses(),
            **({"requestBody": body} if self.body is not None else {}),
        }

    def _responses(self) -> Json:
        content = {self.media_type: {"schema": {"type": "string"}}} if self.media_type else {}
        if self.answer is not None:
            example = {} if self.subject is None else {"example": self.subject.example_answer}
            content[_JSON] = {"schema": reference(self.answer), **example}
        success = {"description": "Success", **({"content": content} if content else {})}
        error = {"description": "Error", "content": {_JSON: {"schema": reference("Error")}}}
        statuses = {*_ALWAYS, *self.errors}
        statuses.update(_OF_STUDY if "{name}" in self.path else ())
        statuses.update(_OF_POST if self.method == "POST" else ())
        return {str(self.status): success, **{str(status): error for status in sorted(statuses)}}


class Endpoint:
    """The operations of a path, as an ASGI application."""

    def __init__(self) -> None:
        self.operations: dict[str, Operation] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        operation = self.operations.get(scope["method"])
        if operation is None:
            allowed = ", ".join(sorted(self.operations))
            error = RequestError(405, "method_not_allowed", f"a method among {allowed}", "another")
            response: Response = response_to(error, {"Allow": allowed})
        else:
            response = await operation(Request(scope, receive))
        await response(scope, receive, send)


def routes_of(operations: Iterable[Operation]) -> list[Route]:
    """A route for each path."""
    endpoints: dict[str, Endpoint] = {}
    for operation in operations:
        endpoint = endpoints.setdefault(operation.path, Endpoint())
        endpoint.operations[operation.method] = operation
    return [Route(path, endpoint) for path, endpoint in endpoints.items()]


def openapi_document(operations: Iterable[Operation]) -> Json:
    """The OpenAPI description of all operations."""
    paths: dict[str, Json] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = operation.described()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Heliotrope",
            "summary": "Track the optimum of a noisy function that changes over time.",
            "version": __version__,
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
        },
        "servers": [{"url": "/"}],
        "security": [{_TOKEN: []}, {}],  # a service may run without tokens
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {_TOKEN: {"type": "http", "scheme": "bearer"}},
        },
    }


def _parsed_object(content: bytes) -> Json:
    if not content:
        raise InputError("an object", "nothing", field="body")
    data = loads(content)
    if not isinstance(data, dict):
        got = "null" if data is None else short_repr(data)
        raise InputError("an object", got, field="body")
    return data


def _value(parameter: Json, text: str | None) -> Any:
    """The value of a parameter; InputError names it."""
    schema, value = parameter["schema"], text
    if text is None:
        return schema.get("default")
    if schema["type"] != "string":
        with suppress(RequestError):
            value = loads(text.encode())
    expected = mismatch(value, schema)
    if expected is not None:
        raise InputError(expected, short_repr(text), field=parameter["name"])
    return value


def _checked_query(request: Request, names: Sequence[str]) -> dict[str, str]:
    """The query; unknown and repeated keys are errors."""
    values: dict[str, str] = {}
    for key, value in request.query_params.multi_items():
        if key not in names:
            expected = f"no query keys except {', '.join(names)}" if names else "no query"
            raise InputError(expected, short_repr(key), field=key)
        if key in values:
            raise InputError("unique keys in the query", "a duplicate key", field=key)
        values[key] = value
    return values


# JSON


def loads(body: bytes, field: str = "body") -> Any:
    """Parse JSON in UTF-8. Duplicate keys, NaN and numbers beyond the floats are errors.

    Examples
    --------
    >>> loads(b'{"value": 1.5}')
    {'value': 1.5}
    """
    try:
        parsed = _decoder.decode(body.decode())
        if _SURROGATE in body.lower():
            json.dumps(parsed, ensure_ascii=False).encode()
    except RequestError as error:
        error.field = field
        raise
    except UnicodeError:
        raise _error("text in UTF-8", "other bytes", field) from None
    except RecursionError:
        raise _error("JSON", "brackets nested too deeply", field) from None
    except json.JSONDecodeError as error:
        what = error.msg[0].lower() + error.msg[1:]
        raise _error("JSON", f"an error at character {error.pos} ({what})", field) from None
    except ValueError:  # Python limits the digits of an integer
        raise _error("numbers below 1e100", "a larger one", field) from None
    return parsed


def _error(expected: str, got: str, field: str = "") -> RequestError:
    return RequestError(422, "json", expected, got, field=field)


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    parsed = dict(pairs)
    if len(parsed) < len(pairs):
        raise _error("unique keys in an object", "a duplicate key")
    return parsed


def _constant(name: str) -> NoReturn:
    raise _error("finite numbers", name)


def _float(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise _error("finite numbers", text[:40])
    return number


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_float)
