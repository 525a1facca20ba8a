"""The backend of the study commands: a store, or a service."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heliotrope.client import connect, read_tokens
from heliotrope.errors import InputError

if TYPE_CHECKING:
    from heliotrope.client.service import Service
    from heliotrope.storage import Store, StudyInfo
    from heliotrope.study import Study

_PAGE = 1_000  # studies in one read


class StoreBackend:
    """The studies of a store, with the interface of a service."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open(self, name: str) -> Study:
        """Open an existing study."""
        from heliotrope.study import Study

        return Study(self._store, name)

    def studies(self) -> list[StudyInfo]:
        """All studies, by name."""
        found = self._store.studies(limit=_PAGE)
        while page := self._store.studies(found[-1].name, _PAGE) if found else []:
            found += page
        return found


def is_service(url: str) -> bool:
    """Whether a URL is that of a service rather than a store."""
    return url.startswith(("http://", "https://"))


@contextmanager
def open_backend(url: str, token_file: Path | None) -> Iterator[StoreBackend | Service]:
    """Open an existing store, or a service."""
    if is_service(url):
        with _connect(url, token_file) as service:
            yield service
    else:
        with closing(_open_store(url, make=False)) as store:
            yield StoreBackend(store)


def create_study(
    url: str, token_file: Path | None, name: str, description: Mapping[str, Any]
) -> None:
    """Create a study from its description as JSON, and its SQLite file if it is missing."""
    if is_service(url):
        with _connect(url, token_file) as service:
            service.create_from(name, description)
        return
    from heliotrope.study import Study, StudyConfig

    config = StudyConfig.from_json(description)  # an error here creates no file
    with closing(_open_store(url, make=True)) as store:
        Study.create_from(name, config, store)


def _connect(url: str, token_file: Path | None) -> Service:
    from_environment = os.environ.get("HELIOTROPE_TOKEN")
    return connect(url, read_tokens(token_file)[0] if token_file else from_environment)


def _open_store(url: str, *, make: bool) -> Store:
    from heliotrope.storage import open_store  # SQLAlchemy is slow to load

    if url == "memory:":
        raise InputError(
            "a store that outlives the command", url, "Use sqlite:///file.db, or a service."
        )
    return open_store(url, make=make)
