"""What Alembic runs to make the tables or to bring them up to date."""
