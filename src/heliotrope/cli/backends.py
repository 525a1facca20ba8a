"""The backend of the study commands: a store, or a service."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heliotrope.client import connect, read_tokens
from heliotrope.errors import InputError
from heliotrope.storage.protocol import DEFAULT_STORE

if TYPE_CHECKING:
    from heliotrope.client.service import Service
    from heliotrope.storage import Store, StudyInfo
    from heliotrope.study import Study


class StoreBackend:
    """The studies of a store, with the interface of a service; the store is opened on first use."""

    def __init__(self, url: str) -> None:
        if url == "memory:":
            advice = "Use sqlite:///file.db, or a service."
            raise InputError("a store that outlives the command", url, advice)
        self._url, self._opened = url, ExitStack()

    def create_from(
        self, name: str, description: Mapping[str, Any], *, exist_ok: bool = False
    ) -> None:
        """Create a study from its description as JSON, and its SQLite file if it is missing."""
        from heliotrope.study import Study, StudyConfig

        config = StudyConfig.from_description(description)  # an error here creates no file
        Study.create_from(name, config, self._store(make=True), exist_ok=exist_ok)

    def load(self, path: Path, name: str) -> None:
        """Create a study from a file, and the SQLite file of the store if it is missing."""
        from heliotrope.study import Study

        Study.load(path, name, self._store(make=True))

    def open(self, name: str) -> Study:
        """Open an existing study."""
        from heliotrope.study import Study

        return Study(self._store(), name)

    def studies(self) -> list[StudyInfo]:
        """All studies, by name."""
        return self._store().studies(limit=sys.maxsize)

    def _store(self, *, make: bool = False) -> Store:
        from heliotrope.storage import open_store  # SQLAlchemy is slow to load

        return self._opened.enter_context(closing(open_store(self._url, make=make)))

    def __enter__(self) -> StoreBackend:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


def is_service(url: str) -> bool:
    """Whether a URL is that of a service rather than a store."""
    return url.startswith(("http://", "https://"))


def default_backend() -> str:
    """The URL of the environment, or of the default store."""
    return os.environ.get("HELIOTROPE_STORE", DEFAULT_STORE)


def open_backend(url: str, token_file: Path | None) -> StoreBackend | Service:
    """The studies of a store, or of a service."""
    if not is_service(url):
        return StoreBackend(url)
    from_environment = os.environ.get("HELIOTROPE_TOKEN")
    return connect(url, read_tokens(token_file)[0] if token_file else from_environment)
