"""Error answers: a status, and JSON with a code, a message and the parts of the message."""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from heliotrope import errors
from heliotrope.errors import HeliotropeError

log = logging.getLogger("heliotrope.service")


class RequestError(HeliotropeError):
    """A request that the service rejects before it reaches a study."""

    headers: Mapping[str, str] | None = None  # of the answer

    def __init__(
        self, status: int, code: str, expected: str, got: str, advice: str = "", field: str = ""
    ) -> None:
        super().__init__(expected, got, advice, field)
        self.status, self.code = status, code


_STATUS: Mapping[type[HeliotropeError], int] = {
    errors.UnknownStudyError: 404,
    errors.UnknownSuggestionError: 404,
    errors.StudyExistsError: 409,
    errors.ClosedSuggestionError: 409,
    errors.ConflictError: 409,
    errors.NoBeliefError: 409,
    errors.InputError: 422,
}
_ABOUT_NAME = (errors.UnknownStudyError, errors.StudyExistsError)
_SEE_LOG = "The service's log has the details."


def response_to(error: HeliotropeError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer to an error of the package."""
    status = _status(error)
    if status is None:  # the details are for the log only
        log.error("%s: %s", type(error).__name__, error)
        hidden = RequestError(503, error.code, "a working store", "a store that fails", _SEE_LOG)
        return response_to(hidden)
    if isinstance(error, _ABOUT_NAME):
        error.field = error.field or "name"
    if headers is None and isinstance(error, RequestError):
        headers = error.headers
    return JSONResponse({"error": error.to_json()}, status, headers)


def as_answer(error: Exception) -> dict[str, Any]:
    """The answer to an error of one command in a batch."""
    if not isinstance(error, HeliotropeError):
        log.error("a command of a batch failed", exc_info=error)
        error = RequestError(500, "internal", "an answer", "an internal error", _SEE_LOG)
    response = response_to(error)
    return {"status": response.status_code, **json.loads(bytes(response.body))}


def _status(error: HeliotropeError) -> int | None:
    if isinstance(error, RequestError):
        return error.status
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), None)


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


HANDLERS: Mapping[Any, Callable[..., Any]] = {
    HeliotropeError: _on_package_error,
    HTTPException: _on_http_error,
    Exception: _on_defect,
}
"""The exception handlers: they answer every error in the same form."""
