"""The web pages: HTML, styles and scripts, all from this host.

The content security policy allows no other script or style, so that a study's name or option that
looks like markup stays text.
"""

import gzip
import hashlib
from collections.abc import Callable
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

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
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
        "connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",  # browsers revalidate, so that an update shows at once
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
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


@cache
def _packed(name: str) -> tuple[bytes, str]:
    """A file, compressed, and its version; pages have the head that they share."""
    content = _files()[name].read_bytes()
    if name.endswith(".html"):
        content = content.replace(b"<!-- head.html -->", _files()["head.html"].read_bytes())
    return gzip.compress(content, mtime=0), f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def _response(name: str, request: Request) -> Response:
    """A file, or 304 if the browser has this version."""
    content, etag = _packed(name)
    headers = {**_HEADERS, "ETag": etag}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
    else:
        content = gzip.decompress(content)
    media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
    return Response(content, headers=headers, media_type=media_type)
