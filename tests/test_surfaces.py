"""Every surface has every command: what is generated, and what is written by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from measure_code import is_generated  # noqa: E402
from write_surfaces import surfaces  # noqa: E402

WRITTEN = surfaces()


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_a_generated_file_is_what_the_commands_say(path: Path) -> None:
    assert path.read_text() == WRITTEN[path], "Run make surfaces."
    assert is_generated(WRITTEN[path])
