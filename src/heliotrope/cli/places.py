"""Where the studies of a command are: in a store, or at a service."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from heliotrope.errors import InputError

if TYPE_CHECKING:
    from heliotrope.client.service import Service
    from heliotrope.storage import Store, StudyInfo
    from heliotrope.study import Setup, Study

DEFAULT = "sqlite:///heliotrope.db"
_PAGE = 1_000  # studies listed at a time


class StoredStudies:
    """The studies of a store, with the methods of a service."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create_from(self, name: str, setup: Setup) -> Study:
        """Begin a study of a setup."""
        from heliotrope.study import Study

        return Study.create_from(name, setup, self._store)

    def open(self, name: str) -> Study:
        """Go on with a study that exists."""
        from heliotrope.study import Study

        return Study(self._store, name)

    def studies(self) -> list[StudyInfo]:
        """All studies, in the order of their names."""
        found = self._store.studies(limit=_PAGE)
        while page := self._store.studies(found[-1].name, _PAGE) if found else []:
            found += page
        return found


def is_service(url: str) -> bool:
    """Whether a URL is a service's, and not a store's."""
    return url.startswith(("http://", "https://"))


@contextmanager
def studies_at(
    url: str, token_file: Path | None, *, make: bool = False
) -> Iterator[StoredStudies | Service]:
    """Open what a URL stands for; a SQLite file is only made if it is to be."""
    if is_service(url):
        from heliotrope.client import connect

        with connect(url, _token(token_file)) as service:
            yield service
        return
    from heliotrope.storage import open_store  # here, because SQLAlchemy is slow to load

    if url == "memory:":
        raise InputError(
            "a store that outlives the command", url, "Take sqlite:///file.db, or a service."
        )
    with closing(open_store(url, make=make)) as store:
        yield StoredStudies(store)


def _token(file: Path | None) -> str | None:
    """The first token of a file such as the service reads, or that of the environment."""
    if file is None:
        return os.environ.get("HELIOTROPE_TOKEN")
    try:
        lines = [line.strip() for line in file.read_text().splitlines()]
    except UnicodeDecodeError as error:
        raise InputError("a file of tokens, one a line", f"something else in {file}") from error
    return next((line for line in lines if line and not line.startswith("#")), "")
