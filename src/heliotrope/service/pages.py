"""The web pages: HTML, styles and scripts, all from this host.

The content security policy allows no other script or style, so that a study's name or option that
looks like markup stays text.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Asset:
    """A compressed file with its media type and version."""

    packed: bytes
    media_type: str
    etag: str

    def response(self, request: Request) -> Response:
        """The file, or 304 if the browser has this version."""
        headers = {**_HEADERS, "ETag": self.etag}
        if request.headers.get("if-none-match") == self.etag:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return Response(self.packed, headers=headers, media_type=self.media_type)
        return Response(gzip.decompress(self.packed), headers=headers, media_type=self.media_type)


def _page(file: str) -> Callable[[Request], Response]:
    return lambda request: _asset(file).response(request)


def _static_file(request: Request) -> Response:
    """A style, a script or an image of the pages."""
    file = request.path_params["file"]
    if file not in _files():
        raise HTTPException(404)
    return _asset(file).response(request)


ROUTES = (
    Route("/", _page("index.html")),
    Route("/studies/{name}", _page("study.html")),  # its script finds out whether the study exists
    Route("/static/{file}", _static_file),
)


@cache
def _files() -> dict[str, Traversable]:
    own = resources.files("heliotrope.service").joinpath("static").iterdir()
    plotting = resources.files("plotly").joinpath("package_data", PLOTLY)
    return {PLOTLY: plotting, **{file.name: file for file in own}}


@cache
def _asset(name: str) -> Asset:
    content = _files()[name].read_bytes()
    media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return Asset(gzip.compress(content, mtime=0), media_type, etag)
