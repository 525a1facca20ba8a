"""The top of the package: its names, and its imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import heliotrope as ht

NAMES = {
    "Optimizer", "Study", "connect", "auto", "tv_gp_ucb", "r_gp_ucb", "gp_ucb", "uniform",
    "Prior", "Forgetting", "Static", "Tabulated", "Finite", "grid", "Box", "Contextual",
    "SearchSpace", "Real", "Integer", "Categorical", "Boolean", "Options", "LogBeta", "UCB",
    "Learn", "Belief", "Suggestion", "HeliotropeError",
}  # fmt: skip
SUBMODULES = {
    "live",
    "acquisition", "client", "domains", "errors", "estimation", "kernels", "lab", "memory", "plot",
    "policies", "posterior", "priors", "terms", "testing",
}  # fmt: skip


def loaded(code: str, whole: bool = False) -> set[str]:
    """The packages that a fresh interpreter has loaded after running the code, or all modules."""
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    names = run.stdout.splitlines()[-1].split()
    return set(names) if whole else {name.partition(".")[0] for name in names}


def run_without(packages: list[str], code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter where these packages cannot be imported."""
    blocked = f"import sys\nsys.modules.update(dict.fromkeys({packages}))\n"
    return subprocess.run(
        [sys.executable, "-c", blocked + code], capture_output=True, check=False, text=True
    )


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


ASK_TELL = """
import sys
import heliotrope as ht

box = ht.Box([0.0], [1.0])
for policy in (ht.tv_gp_ucb(ht.Prior()), ht.auto(box)):
    optimizer = ht.Optimizer(box, policy, seed=0)
    for _ in range(3):
        optimizer.tell(optimizer.ask(), 1.0)
study = ht.Study.create("fan", {"speed": ht.Real(0, 1)}, store="memory:")
study.tell(study.ask(), 1.0)
assert not [name for name in sys.modules if name.startswith("heliotrope.lab")]
"""


HEAVY = {"sklearn", "pandas", "pyarrow", "matplotlib", "optuna", "joblib"}


def test_the_first_names_load_no_statistics() -> None:
    found = loaded("import heliotrope as ht\nht.Study\nht.auto", whole=True)
    assert not found & (HEAVY | {"scipy.stats", "scipy.optimize", "scipy.special", "scipy.spatial"})


def test_ask_and_tell_load_neither_scikit_learn_nor_statistics() -> None:
    assert not loaded(ASK_TELL, whole=True) & (HEAVY | {"scipy.stats"})


WITH_SCIKIT_LEARN = """
import sys
import heliotrope as ht
from heliotrope.kernels import RBF

ht.Optimizer(ht.grid(5), ht.tv_gp_ucb(ht.Prior(RBF(0.3)))).save(path := PATH)
ht.Optimizer.load(path)
assert "sklearn" not in sys.modules
from sklearn.gaussian_process import kernels
ht.Optimizer(ht.grid(5), ht.tv_gp_ucb(ht.Prior(kernels.RBF(0.3)))).save(path)
"""


def test_a_file_with_a_kernel_of_scikit_learn_loads_it(tmp_path: Path) -> None:
    path = str(tmp_path / "saved")
    loaded(WITH_SCIKIT_LEARN.replace("PATH", repr(path)))
    assert "sklearn" in loaded(f"import heliotrope as ht\nht.Optimizer.load({path!r})")


def test_ask_and_tell_need_no_package_of_the_lab() -> None:
    done = run_without(["pandas", "matplotlib", "plotly"], ASK_TELL)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["demo", "reproduce all", "league", "replay x.csv", "bounds"])
@pytest.mark.parametrize("package", ["matplotlib", "pandas"])
def test_a_command_names_the_extra_it_misses(command: str, package: str) -> None:
    call = f"from heliotrope.cli import app\napp({command.split()})"
    done = run_without([package], call)
    assert done.returncode == 1
    (said,) = done.stderr.splitlines()
    assert f"no package {package}" in said
    assert "pip install 'heliotrope[lab]'" in said
