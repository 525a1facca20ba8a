"""Error answers: a status, and JSON with a code, a message and the parts of the message."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from heliotrope import errors
from heliotrope.errors import HeliotropeError, InputError

log = logging.getLogger("heliotrope.service")


class RequestError(HeliotropeError):
    """A request that the service rejects before it reaches a study."""

    def __init__(
        self, status: int, code: str, expected: str, got: str, advice: str = "", field: str = ""
    ) -> None:
        super().__init__(expected, got, advice, field)
        self.status, self.code = status, code


class LimitError(InputError):
    """A limit on what the service stores: delete something first."""


class BusyError(HeliotropeError):
    """A limit on what the service does at a time: try again later."""


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
_ABOUT_NAME = (errors.UnknownStudyError, errors.StudyExistsError)
_SEE_LOG = "The service's log has the details."


def add_handlers(app: Starlette) -> None:
    """Answer every error in the same form."""
    app.add_exception_handler(HeliotropeError, _on_package_error)  # type: ignore[arg-type]
    app.add_exception_handler(HTTPException, _on_http_error)  # type: ignore[arg-type]
    app.add_exception_handler(Exception, _on_defect)


def _response(
    error: HeliotropeError, status: int, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    body = {
        "code": error.code,
        "message": str(error),
        "field": error.field,
        "expected": error.expected,
        "got": error.got,
        "advice": error.advice,
    }
    return JSONResponse({"error": body}, status, headers)


def response_to(error: HeliotropeError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer to an error of the package."""
    if isinstance(error, RequestError):
        return _response(error, error.status, headers)
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            if isinstance(error, _ABOUT_NAME):
                error.field = error.field or "name"
            return _response(error, status, headers)
    log.error("%s: %s", type(error).__name__, error)
    hidden = RequestError(503, error.code, "a working store", "a store that fails", _SEE_LOG)
    return _response(hidden, hidden.status)  # the details are for the log only


async def _on_package_error(_: Request, error: HeliotropeError) -> JSONResponse:
    return response_to(error)


async def _on_http_error(_: Request, error: HTTPException) -> JSONResponse:
    """Answer an error of the routing: an unknown path, or a wrong method of a page."""
    if error.status_code == 405:
        wrong = RequestError(405, "method_not_allowed", "a method of this path", "another")
        return response_to(wrong, error.headers)
    return response_to(RequestError(404, "not_found", "a path of this service", "an unknown path"))


async def _on_defect(_: Request, __: Exception) -> JSONResponse:
    return response_to(RequestError(500, "internal", "an answer", "an internal error", _SEE_LOG))
