"""Create or migrate the tables with Alembic, which is imported only if there is work for it."""

from __future__ import annotations

from pathlib import Path
from threading import Lock

from sqlalchemy import Connection, inspect, text

from heliotrope.errors import StoreError
from heliotrope.storage.schema import HEAD, VERSIONS

_FOLDER = Path(__file__).parent / "migrations"
_ONE_AT_A_TIME = Lock()  # Alembic keeps its context in a global variable


def version(connection: Connection) -> str | None:
    """The last migration of a database; None if it holds no store."""
    if not inspect(connection).has_table(VERSIONS):
        return None
    found = connection.scalar(text(f"SELECT version_num FROM {VERSIONS}"))
    return None if found is None else str(found)


def is_current(connection: Connection, place: str) -> bool:
    """Whether the tables are up to date; StoreError if they are of a later version."""
    found = version(connection)
    if found is not None and found > HEAD:
        raise StoreError(
            f"a store of version {HEAD} or older",
            f"version {found[:20]!r} in {place}",
            "Update heliotrope.",
        )
    return found == HEAD


def bring_up_to_date(connection: Connection, place: str) -> None:
    """Migrate, unless another process has done so; the open transaction excludes others."""
    if not is_current(connection, place):
        migrate(connection)


def migrate(connection: Connection) -> None:
    """Create or update the tables in the open transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    with _ONE_AT_A_TIME:
        command.upgrade(config, "head")
