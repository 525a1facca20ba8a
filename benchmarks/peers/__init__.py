"""Optimizers from PyPI in a separate environment, controlled by lines of JSON."""
