"""The top of the package: its names, and what importing it loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

import heliotrope as ht

NAMES = {
    "Optimizer", "Study", "connect", "auto", "tv_gp_ucb", "r_gp_ucb", "gp_ucb", "uniform",
    "Prior", "Forgetting", "Static", "Tabulated", "Finite", "grid", "Box", "Contextual",
    "SearchSpace", "Real", "Integer", "Categorical", "Boolean", "Options", "LogBeta", "UCB",
    "Learn", "Belief", "Suggestion", "HeliotropeError",
}  # fmt: skip
SUBMODULES = {
    "acquisition", "domains", "errors", "estimation", "lab", "memory", "policies", "posterior",
    "priors", "testing",
}  # fmt: skip


def loaded(code: str) -> set[str]:
    """The packages that a fresh interpreter has loaded after running the code."""
    script = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    return set(run.stdout.splitlines()[-1].split())


def test_the_top_has_these_names() -> None:
    assert set(ht.__all__) - {"__version__"} == NAMES
    assert set(dir(ht)) == NAMES | SUBMODULES | {"__version__"}


@pytest.mark.parametrize("name", sorted(NAMES | SUBMODULES))
def test_each_name_loads(name: str) -> None:
    assert getattr(ht, name) is not None


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="'heliotrope' has no attribute 'gpucb'"):
        ht.gpucb  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("module", ["heliotrope", "heliotrope.cli"])
def test_imports_are_lazy(module: str) -> None:
    unwanted = {"numpy", "scipy", "sklearn", "pandas", "matplotlib"}
    assert not loaded(f"import {module}") & unwanted
    assert "typer" not in loaded("import heliotrope")
