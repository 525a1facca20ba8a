"""Optimizers from PyPI beside ours: in an environment of their own, spoken to in lines of JSON."""
