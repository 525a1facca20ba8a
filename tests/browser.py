"""A real Chromium without a window, for the tests of the pages; skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--no-sandbox",  # of Chromium's own, which root has not
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",  # nothing but the pages is asked for
    "--disable-component-update",
    "--disable-sync",
)


def find_chromium() -> str | None:
    """The system's browser, if it has one."""
    return next((path for path in map(shutil.which, _NAMES) if path), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser with a fresh profile; the test is skipped if there is none."""
    path = find_chromium()
    if path is None:
        pytest.skip(f"none of {', '.join(_NAMES)} is installed: scripts/install-chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield browser
        browser.close()
