"""Studies, their events and their snapshots."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    name = sa.String(100).with_variant(sa.String(100, collation="C"), "postgresql")
    op.create_table(
        "heliotrope_studies",
        sa.Column("id", number, primary_key=True),
        sa.Column("name", name, nullable=False, unique=True),
        sa.Column("uid", sa.String(32), nullable=False, unique=True),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("updated", sa.Double, nullable=False),
        sa.Column("last", sa.BigInteger, nullable=False),
        sa.Column("chain", sa.String(32), nullable=False),
        sa.Column("seal", sa.String(32), nullable=False),
    )
    op.create_table(
        "heliotrope_events",
        sa.Column("study", number, _study(), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("checksum", sa.String(32), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "heliotrope_snapshots",
        sa.Column("study", number, _study(), primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("checksum", sa.String(32), nullable=False),
    )


def _study() -> sa.ForeignKey:
    return sa.ForeignKey("heliotrope_studies.id", ondelete="CASCADE")
