"""``python -m heliotrope``."""

from heliotrope.cli import app

app()
