"""Where the measured tables lie: HELIOTROPE_DATA, or shared/data beside the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("HELIOTROPE_DATA", Path(__file__).parents[2] / "shared" / "data"))

measured = pytest.mark.skipif(
    not DATA.exists(), reason="the measured tables are not beside the project"
)
