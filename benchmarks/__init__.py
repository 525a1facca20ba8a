"""Figures that the README quotes: each measured as a ratio to a named rival or limit, in one run."""
