"""The packages of the TypeScript client, which some tests need."""

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "clients" / "typescript"

needs_node = pytest.mark.skipif(
    shutil.which("npm") is None or not (FOLDER / "node_modules").exists(),
    reason="needs Node, and its packages: cd clients/typescript && npm ci",
)
