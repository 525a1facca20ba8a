"""Alembic runs this file for each command, on the connection that it is given."""

from __future__ import annotations

from alembic import context

from heliotrope.storage.schema import VERSIONS, metadata


def run_due_migrations() -> None:
    """Run the due migrations in the open transaction."""
    connection = context.config.attributes["connection"]
    context.configure(connection, target_metadata=metadata, version_table=VERSIONS)
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":  # as Alembic calls this file
    run_due_migrations()
