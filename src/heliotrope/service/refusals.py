"""Errors as answers: a status, and JSON with a code, a sentence and the field at fault."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from heliotrope import errors
from heliotrope.errors import HeliotropeError, InputError
from heliotrope.validation import short_repr

log = logging.getLogger("heliotrope.service")


class Refusal(HTTPException):
    """A request that is not let through to the studies."""

    def __init__(self, status: int, code: str, message: str, field: str = "") -> None:
        super().__init__(status, message)
        self.code, self.field = code, field


class LimitError(InputError):
    """More of something than may be kept: there is no room before some of it is removed."""


class BusyError(HeliotropeError):
    """More of something at a time than the service bears: there will be room later."""


_STATUS: Mapping[type[HeliotropeError], int] = {
    errors.UnknownStudyError: 404,
    errors.UnknownSuggestionError: 404,
    errors.StudyExistsError: 409,
    errors.ClosedSuggestionError: 409,
    errors.ConflictError: 409,
    errors.NoBeliefError: 409,
    errors.InputError: 422,
    BusyError: 429,
}
_NAMED = (errors.UnknownStudyError, errors.StudyExistsError)  # by the name in the request
_BROKEN = 503  # the store's or our own fault: the log says more than the client is told
_CODES = {404: "not_found", 405: "method_not_allowed"}


def add_handlers(app: FastAPI) -> None:
    """Have every error answered in the same form."""
    app.add_exception_handler(HeliotropeError, _of_package)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _of_validation)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _of_http)  # type: ignore[arg-type]
    app.add_exception_handler(Exception, _of_us)


def answer(
    status: int,
    code: str,
    message: str,
    field: str = "",
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """An error as a response."""
    content = {"error": {"code": code, "message": message, "field": field}}
    return JSONResponse(content, status, headers)


def code_of(kind: type[HeliotropeError]) -> str:
    """The code of an error.

    Examples
    --------
    >>> code_of(errors.UnknownStudyError)
    'unknown_study'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__.removesuffix("Error")).lower()


def refusal_of(error: HeliotropeError) -> JSONResponse:
    """An error of the package as a response."""
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            if isinstance(error, _NAMED):
                error.field = error.field or "name"
            return answer(status, code_of(type(error)), str(error), error.field)
    log.error("%s: %s", type(error).__name__, error)
    return answer(_BROKEN, code_of(type(error)), "The store of the service cannot be used.")


async def _of_package(_: Request, error: HeliotropeError) -> JSONResponse:
    return refusal_of(error)


async def _of_validation(_: Request, error: RequestValidationError) -> JSONResponse:
    return refusal_of(as_input_error(error.errors()[0]))


async def _of_http(request: Request, error: HTTPException) -> JSONResponse:
    if isinstance(error, Refusal):
        return answer(error.status_code, error.code, error.detail, error.field)
    code = _CODES.get(error.status_code, "refused")
    headers = {"Allow": _methods(request)} if error.status_code == 405 else error.headers
    return answer(error.status_code, code, error.detail, headers=headers)


def _methods(request: Request) -> str:
    """What may be done with a path, whichever routes do it."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    fitting = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return ", ".join(sorted({method for route in fitting for method in route.methods or ()}))


async def _of_us(_: Request, __: Exception) -> JSONResponse:
    return answer(500, "internal", "The service failed; its log says why.")


def as_input_error(found: Mapping[str, Any]) -> InputError:
    """What Pydantic found, in the words of the package."""
    where, *path = found["loc"]
    field = ".".join(str(part) for part in path or [where])
    if found["type"] == "missing":
        return InputError("a value", "none", "", field)
    if found["type"] == "extra_forbidden":
        return InputError("no such key", short_repr(field), "", field)
    usual = found["msg"].removeprefix("Input should be ")
    expected = _EXPECTED.get(found["type"], "{usual}").format(usual=usual, **found.get("ctx", {}))
    given = found["input"]
    return InputError(expected, "null" if given is None else short_repr(given), "", field)


_EXPECTED = {
    "dict_type": "an object",
    "greater_than_equal": "a number of at least {ge}",
    "less_than_equal": "a number of at most {le}",
    "model_attributes_type": "an object",
    "string_too_long": "a text of at most {max_length} characters",
    "string_too_short": "a text of at least {min_length} character(s)",
    "string_type": "a text",
}
