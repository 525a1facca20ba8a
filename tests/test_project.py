"""Files of the project that other programs read: container, manifests, workflows, metadata."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from check_jsonschema import main as check_jsonschema

import heliotrope as ht
from served import Served

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import check_install  # noqa: E402
from check_image import PORT, read_image  # noqa: E402
from lint_prose import findings  # noqa: E402

MANIFESTS = sorted((ROOT / "deploy" / "kubernetes").glob("[!k]*.yaml"))


def documents(path: Path) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(path.read_text()) if one]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_manifests_follow_the_schemas_of_kubernetes(path: Path) -> None:
    for document in documents(path):
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


def test_a_wrong_manifest_is_noticed() -> None:
    (deployment, *_) = documents(ROOT / "deploy" / "kubernetes" / "service.yaml")
    deployment["spec"]["replica"] = deployment["spec"].pop("replicas")
    with pytest.raises(kubernetes_validate.ValidationError, match="replica"):
        kubernetes_validate.validate(deployment, kubernetes_validate.latest_version(), strict=True)


def test_kustomize_lists_the_manifests() -> None:
    (listed,) = documents(ROOT / "deploy" / "kubernetes" / "kustomization.yaml")
    assert {path.name for path in MANIFESTS} == set(listed["resources"])


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("vendor.compose-spec", ["compose.yaml"]),
        ("vendor.github-workflows", sorted((ROOT / ".github" / "workflows").glob("*.yml"))),
    ],
)
def test_files_follow_their_schemas(schema: str, paths: list[str]) -> None:
    files = [str(ROOT / path) for path in paths]
    check_jsonschema(["--builtin-schema", schema, *files], standalone_mode=False)


def test_every_manifest_starts_the_service_as_the_image_does() -> None:
    image = read_image()
    token_file = image.command()[-1]
    (deployment, *_) = documents(ROOT / "deploy" / "kubernetes" / "service.yaml")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["heliotrope"]
    assert token_file in [mount["mountPath"] for mount in container["volumeMounts"]]
    assert token_file == f"/run/secrets/{compose['secrets'][0]}"
    assert str(container["ports"][0]["containerPort"]) == PORT
    assert compose["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    user = deployment["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
    assert image.all("USER") == [str(user)] == ["10001"]


def test_the_image_installs_what_the_checkout_has() -> None:
    image = read_image()
    assert all((ROOT / name).exists() for name in image.copied())
    allowed = (ROOT / ".dockerignore").read_text()
    assert all(f"!{name.removeprefix('./')}\n" in allowed for name in image.copied())
    assert any(".[service]" in step for step in image.all("RUN"))


def test_the_command_and_the_health_check_of_the_image_work() -> None:
    image = read_image()
    options = [word for word in image.command() if word.startswith("--")]
    said = subprocess.run(
        [sys.executable, "-m", "heliotrope", "serve", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "200"},
    ).stdout
    assert image.command()[:2] == ["heliotrope", "serve"]
    assert all(option in said for option in options)
    with Served("memory:", "correct-horse-battery") as service:
        _, *check = (word.replace(PORT, str(service.port)) for word in image.health_check())
        assert subprocess.run([sys.executable, *check], check=False).returncode == 0
    assert subprocess.run([sys.executable, *check], capture_output=True, check=False).returncode


def test_the_check_of_installations_covers_every_extra() -> None:
    extras = set(check_install.PROJECT["optional-dependencies"])
    assert extras == {*check_install.MODULES, *check_install.LARGE}
    assert {name.partition("==")[0] for name in check_install.TOOLS} == {
        *("pytest", "pytest-xdist", "hypothesis"),
    }
    for extra in extras:
        assert check_install.bounds((extra,)).keys() >= {"numpy", "scipy", "scikit-learn"}
    assert {"distributed", "pandas"} <= check_install.bounds(("cluster",)).keys()


def test_an_installation_that_is_newer_than_the_lower_bound_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lowest = {**check_install.bounds(("river",)), "other": "1.0"}
    for river, complaint in ((lowest["river"], None), ("99.0", "river has the lower bound")):
        lines = "\n".join(f"{name}=={bound}" for name, bound in {**lowest, "river": river}.items())
        monkeypatch.setattr(check_install.Environment, "pip", lambda *_, text=lines: text)
        environment = check_install.Environment(tmp_path, "3.12", "lowest-direct", tmp_path)
        with nullcontext() if complaint is None else pytest.raises(SystemExit, match=complaint):
            environment.check_bounds(("river",))


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_every_push_tests_the_lowest_and_the_newest_versions(python: str) -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())
    job = workflow["jobs"]["versions"]
    assert python in job["strategy"]["matrix"]["python"]
    assert set(job["strategy"]["matrix"]["resolution"]) == {"lowest-direct", "highest"}
    assert any("scripts/check_install.py" in step.get("run", "") for step in job["steps"])


def test_the_citation_names_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == ht.__version__
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()


def test_change_files_become_a_changelog() -> None:
    draft = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "9.9.9" in draft
    for path in (ROOT / "changes").glob("*.*.md"):
        assert path.read_text().split()[0] in draft


def test_the_prose_linter_finds_what_we_avoid(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    long = "alpha beta " * 21
    page.write_text(f"# Title\n\nWe utilize it in order to see.\n\n`utilize` is code.\n\n{long}.\n")
    found = list(findings(page))
    assert [(one.line, one.found) for one in found][:2] == [
        (3, "in order to"),
        (3, "utilize"),
    ]
    assert found[-1].line == 7
    assert len(found) == 3
