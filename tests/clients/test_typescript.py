"""The TypeScript client: made from the description, checked by tsc, tested with Node."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from heliotrope.service.app import create_app
from serving import serving

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "clients" / "typescript"
TOKEN = "a-token-of-enough-characters-0123456789"

needs_node = pytest.mark.skipif(
    shutil.which("npm") is None or not (FOLDER / "node_modules").exists(),
    reason="needs Node, and its packages: cd clients/typescript && npm ci",
)


def npm(*words: str, **variables: str) -> str:
    """Run a script of the package; its output if it succeeds."""
    done = subprocess.run(
        ["npm", "run", "--silent", *words],
        cwd=FOLDER,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_stored_description_is_that_of_the_service() -> None:
    spec = importlib.util.spec_from_file_location(
        "describe_api", ROOT / "scripts" / "describe_api.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    advice = "Run python scripts/describe_api.py, then npm run generate in clients/typescript."
    assert module.FILE.read_text() == module.description(), advice


@needs_node
def test_the_description_passes_the_linter() -> None:
    assert "Your API description is valid" in npm("lint")


@needs_node
def test_the_types_are_made_from_the_description() -> None:
    npm("generate", "--", "--check")  # fails if the file differs


@needs_node
def test_the_client_passes_tsc_and_its_tests_against_a_service() -> None:
    service = create_app("memory:", tokens=[TOKEN])
    with serving(service) as http:
        said = npm("test", HELIOTROPE_URL=str(http.base_url), HELIOTROPE_TOKEN=TOKEN)
    assert "# pass 6" in said
    assert "# fail 0" in said
