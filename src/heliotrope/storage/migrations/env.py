"""Alembic runs this file for each command, on the connection that it is given."""

from alembic import context

from heliotrope.storage.schema import VERSIONS, metadata

if __name__ == "env_py":  # as Alembic calls this file
    connection = context.config.attributes["connection"]
    context.configure(connection, target_metadata=metadata, version_table=VERSIONS)
    with context.begin_transaction():
        context.run_migrations()
