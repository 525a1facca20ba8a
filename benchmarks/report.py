"""What a benchmark returns: a claim, what was measured, and whether the claim holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One line of the table."""

    claim: str
    measured: str
    holds: bool
