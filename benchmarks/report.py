"""The result of a benchmark: a claim, the measurement, and whether the claim holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One row of the table."""

    claim: str
    measured: str
    holds: bool
    ratio: float | None = None  # recorded in history.csv; one of two times of the same run
