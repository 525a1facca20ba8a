"""The Alembic environment that creates and updates the tables."""
