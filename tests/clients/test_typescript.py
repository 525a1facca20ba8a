"""The TypeScript client: made from the description, checked by tsc, tested with Node."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from heliotrope.service.app import create_app
from node import FOLDER, ROOT, needs_node
from pages import blocks
from serving import serving

TOKEN = "a-token-of-enough-characters-0123456789"


def run(
    *command: str | Path, cwd: Path = FOLDER, variables: Mapping[str, str] | None = None
) -> str:
    """Run a command; its output if it succeeds."""
    environment = {**os.environ, **(variables or {})}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def npm(*words: str, **variables: str) -> str:
    """Run a script of the package; its output if it succeeds."""
    return run("npm", "run", "--silent", *words, variables=variables)


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
    assert "# pass 9" in said
    assert "# fail 0" in said


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's project in strict TypeScript, with the packed client installed."""
    run("npm", "pack", "--silent", "--pack-destination", tmp_path)
    (packed,) = tmp_path.glob("*.tgz")
    modules = tmp_path / "node_modules"
    with tarfile.open(packed) as archive:
        archive.extractall(modules, filter="data")
    (modules / "package").rename(modules / "heliotrope-client")
    (modules / "openapi-fetch").symlink_to(FOLDER / "node_modules" / "openapi-fetch")
    options = {"strict": True, "target": "ES2022", "module": "NodeNext"}
    (tmp_path / "package.json").write_text(json.dumps({"type": "module"}))
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options}))
    return tmp_path


@needs_node
def test_the_readme_passes_strict_tsc_and_runs_with_the_packed_client(project: Path) -> None:
    program = "\n".join(blocks(FOLDER / "README.md", "ts"))
    with serving(create_app("memory:", tokens=[TOKEN])) as http:
        there = program.replace("http://127.0.0.1:8765", str(http.base_url)).replace("...", TOKEN)
        (project / "program.ts").write_text(there)
        run(FOLDER / "node_modules" / ".bin" / "tsc", cwd=project)
        temperature, mean, std = map(float, run("node", "program.js", cwd=project).split())
    assert abs(temperature - 19.0) < 1.0
    assert abs(mean - 20.0) < 1.0
    assert 0.0 < std < 1.0
