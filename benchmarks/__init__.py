"""Figures that the README quotes, each a ratio to a named rival or limit, in one run."""
