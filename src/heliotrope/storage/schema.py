"""The tables after the newest migration, and how a database gets there."""

from pathlib import Path
from threading import Lock

import sqlalchemy as sa

MIGRATIONS = ("0001",)  # in their order
HEAD = MIGRATIONS[-1]
VERSIONS = "heliotrope_version"  # table that holds the last migration
_FOLDER = Path(__file__).parent / "migrations"
_ONE_AT_A_TIME = Lock()  # Alembic keeps its context in a global variable

metadata = sa.MetaData()

_Number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # the type that numbers rows there
_Name = sa.String(100).with_variant(sa.String(100, collation="C"), "postgresql")  # sorted as ASCII
_Checksum = sa.String(32)

studies = sa.Table(
    "heliotrope_studies",
    metadata,
    sa.Column("id", _Number, primary_key=True),
    sa.Column("name", _Name, nullable=False, unique=True),
    sa.Column("uid", sa.String(32), nullable=False, unique=True),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("updated", sa.Double, nullable=False),
    sa.Column("last", sa.BigInteger, nullable=False),
    sa.Column("chain", _Checksum, nullable=False),  # of the last event
    sa.Column("seal", _Checksum, nullable=False),  # of this row
)

events = sa.Table(
    "heliotrope_events",
    metadata,
    sa.Column("study", _Number, sa.ForeignKey(studies.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("checksum", _Checksum, nullable=False),
    sqlite_with_rowid=False,  # keeps the events of a study together
)

snapshots = sa.Table(
    "heliotrope_snapshots",
    metadata,
    sa.Column("study", _Number, sa.ForeignKey(studies.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("checksum", _Checksum, nullable=False),
)


def version(connection: sa.Connection) -> str | None:
    """The last migration of a database; None if it holds no store."""
    if not sa.inspect(connection).has_table(VERSIONS):
        return None
    found = connection.scalar(sa.text(f"SELECT version_num FROM {VERSIONS}"))
    return None if found is None else str(found)


def migrate(connection: sa.Connection) -> None:
    """Create or update the tables in the open transaction."""
    from alembic import command  # slow to load, and rarely needed
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    with _ONE_AT_A_TIME:
        command.upgrade(config, "head")
