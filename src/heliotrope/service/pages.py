"""The web pages: HTML, styles and scripts, all from this host.

The content security policy allows no other script or style, so that a study's name or option that
looks like markup stays text.
"""

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from threading import Lock

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

PLOTLY = "plotly.min.js"
_MEDIA_TYPES = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}
_LOADING = Lock()
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
        "connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",  # browsers revalidate, so that an update shows at once
    "Vary": "Accept-Encoding",
}


def _page(name: str) -> Callable[[Request], Response]:
    return lambda request: _response(name, request)


def _static_file(request: Request) -> Response:
    """A style, a script or an image of the pages."""
    name = request.path_params["file"]
    if name not in _files():
        raise HTTPException(404)
    return _response(name, request)


ROUTES = (
    Route("/", _page("index.html")),
    Route("/docs", _page("docs.html")),
    Route("/studies/{name}", _page("study.html")),  # its script finds out whether the study exists
    Route("/static/{file}", _static_file),
)


@cache
def _files() -> dict[str, Traversable]:
    own = resources.files("heliotrope.service").joinpath("static").iterdir()
    plotting = resources.files("plotly").joinpath("package_data", PLOTLY)
    return {PLOTLY: plotting, **{file.name: file for file in own}}


@dataclass(frozen=True)
class _Held:
    """A file in memory, plain and compressed, and its version: all requests share its bytes."""

    plain: bytes
    packed: bytes
    etag: str


@cache
def _held(name: str) -> _Held:
    """A file; pages have the head that they share."""
    plain = _files()[name].read_bytes()
    if name.endswith(".html"):
        plain = plain.replace(b"<!-- head.html -->", _files()["head.html"].read_bytes())
    etag = f'"{hashlib.sha256(plain).hexdigest()[:32]}"'
    return _Held(plain, gzip.compress(plain, mtime=0), etag)


def _response(name: str, request: Request) -> Response:
    """A file, or 304 if the browser has this version."""
    with _LOADING:  # simultaneous first requests compress it once
        held = _held(name)
    headers = {**_HEADERS, "ETag": held.etag}
    if request.headers.get("if-none-match") == held.etag:
        return Response(status_code=304, headers=headers)
    content = held.plain
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"], content = "gzip", held.packed
    media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
    return Response(content, headers=headers, media_type=media_type)
