"""Checks of what a service is reached by; nothing that may be secret is shown."""

from __future__ import annotations

import httpx

from heliotrope.errors import InputError


def as_base(url: object) -> httpx.URL:
    """Return where the routes of a service begin, or say what its URL should look like."""
    try:
        parsed = httpx.URL(url) if isinstance(url, str) else httpx.URL()
        parsed.raw_host.decode().encode("idna")  # as the system will, which knows no InvalidURL
    except (httpx.InvalidURL, ValueError):
        raise _no_service("one that cannot be read") from None  # its text would show the URL
    if parsed.scheme not in ("http", "https") or not parsed.host or (parsed.port or 1) > 65535:
        raise _no_service("none")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise _no_service("one with a user, a query or a fragment")
    return parsed.copy_with(path=f"{parsed.path.rstrip('/')}/api/")


def as_token(token: object) -> str:
    """Return what a header can carry, or refuse it."""
    if isinstance(token, str) and token.isascii() and token.isprintable() and token.strip():
        return token.strip()
    raise InputError("a token of printable ASCII characters", "something else", field="token")


def _no_service(got: str) -> InputError:
    return InputError("the URL of a service, such as http://127.0.0.1:8765", got, field="url")
