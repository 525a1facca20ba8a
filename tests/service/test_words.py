"""Numbers as the page writes them."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib import resources

import pytest

NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="needs Node")
def test_large_numbers_have_an_exponent() -> None:
    words = resources.files("heliotrope.service").joinpath("static", "words.js")
    code = f"""
        import {{ number, within }} from {json.dumps(str(words))};
        const found = [number(1e15), number(-3.21e17), number(123456), number(0)];
        console.log(JSON.stringify([...found, within(1000004.5, 0.3), within(1.2e18, 1e16)]));
    """
    assert NODE is not None
    ran = subprocess.run(
        [NODE, "--input-type=module", "--eval", code], capture_output=True, check=True, text=True
    )
    assert json.loads(ran.stdout) == ["1e+15", "-3.21e+17", "123500", "0", "1000004.5", "1.2e+18"]
