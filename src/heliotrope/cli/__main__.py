"""``python -m heliotrope.cli``."""

from heliotrope.cli import app

app()
