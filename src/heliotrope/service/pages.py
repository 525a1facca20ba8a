"""The pages to look at studies with: HTML, style and scripts, none from another host.

The browser is told to run no script and take no style but these files, so that a name or an
option that looks like markup stays text.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from fastapi import APIRouter, HTTPException, Request, Response

router = APIRouter(include_in_schema=False)

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
    "Cache-Control": "no-cache",  # kept, but asked for anew: an update shows at once
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Asset:
    """A file, compressed, with what tells it from its other versions."""

    packed: bytes
    media_type: str
    etag: str

    def response(self, request: Request) -> Response:
        """The file, or word that the browser has it already."""
        headers = {**_HEADERS, "ETag": self.etag}
        if request.headers.get("if-none-match") == self.etag:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return Response(self.packed, headers=headers, media_type=self.media_type)
        return Response(gzip.decompress(self.packed), headers=headers, media_type=self.media_type)


@router.get("/")
def studies(request: Request) -> Response:
    """The list of studies."""
    return _asset("index.html").response(request)


@router.get("/studies/{name}")
def study(request: Request) -> Response:
    """One study; the page itself finds out whether there is one."""
    return _asset("study.html").response(request)


@router.get("/static/{file}")
def static(request: Request, file: str) -> Response:
    """A style, a script or a picture of the pages."""
    if file not in _files():
        raise HTTPException(404, "There is no such file.")
    return _asset(file).response(request)


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
