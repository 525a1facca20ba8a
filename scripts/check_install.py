"""Install a wheel or an sdist in clean environments, and test it there; uv makes them.

``python scripts/check_install.py 3.12 lowest-direct dist/heliotrope-0.1.0-py3-none-any.whl``

The second argument is uv's resolution: ``lowest-direct``, which takes the lower bounds of
``pyproject.toml`` themselves, or ``highest``. Names of environments may follow; by default all are
checked:

base    no extra: the quick tests of the models
alone   each small extra without the others: its modules are imported
extras  all small extras: the demo, the service, and the tests that need them
ax      this extra: the tests of its adapter and its example; the same for ray
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
DESCRIPTION = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = DESCRIPTION["project"]
LARGE = ("ax", "ray")
MODULES = {  # of each small extra
    "lab": "heliotrope.lab.demo, heliotrope.lab.league, heliotrope.lab.replay",
    "cluster": "heliotrope.lab.trials.cluster, distributed",
    "client": "heliotrope.client.service",
    "store": "heliotrope.storage.sql, psycopg",
    "service": "heliotrope.service.app, heliotrope.plot, prometheus_client, uvicorn",
    "optuna": "heliotrope.integrations.optuna",
    "gest-api": "heliotrope.integrations.gest_api",
    "river": "heliotrope.integrations.river",
    "gymnasium": "heliotrope.integrations.gymnasium",
    "polars": "heliotrope.study, polars",
}
BASE = (  # they need no fixture of conftest.py
    "--noconftest",
    "tests/test_surroundings.py",
    "tests/test_priors.py",
    "tests/test_linalg.py",
    "tests/domains/test_domains.py",
    "tests/study/test_study_noise.py",
)
EXTRAS = (
    *("-n", "2"),
    "tests/study",
    "tests/integrations",
    "tests/cli",
    "tests/lab/test_trials.py::test_results_of_a_cluster",
    "tests/lab/test_trials.py::test_results_of_one_process_and_of_two",
    "tests/plot",
    "tests/serialization/test_persistence.py",
    "tests/service/test_live_service.py",
    "tests/test_data_frames.py",
    "--ignore=tests/integrations/test_optunahub.py",  # its package is of no extra
    "--deselect=tests/study/test_study_crashes.py",  # about kills, not about versions: two minutes
    "-k=not survives_a_kill and not wrong_usage",  # whose words are those of typer, which vary
)
TOOLS = [
    one.partition(" ")[0]
    for one in DESCRIPTION["dependency-groups"]["dev"]
    if one.startswith(("pytest==", "pytest-xdist==", "hypothesis=="))
]
SERVED = """
import sys, heliotrope as ht
with ht.connect(sys.argv[1], timeout=120) as service:
    study = service.create("trial", {"x": ht.Real(0, 1)})
    study.tell(study.ask(), 1.0)
    assert study.summary().told == 1
"""


@dataclass(frozen=True)
class Environment:
    """A fresh environment in a folder, with the package, some of its extras and pytest."""

    folder: Path
    python: str
    resolution: str
    file: Path

    def install(self, *extras: str) -> None:
        """Make it with these extras, and check that each lower bound is what was tested."""
        self.uv("venv", "--quiet", "--clear", "--python", self.python, str(self.folder / "venv"))
        chosen = [word for extra in extras for word in ("--extra", extra)]
        project = ("--requirements", str(ROOT / "pyproject.toml"), *chosen)
        self.pip("install", "--resolution", self.resolution, *project, *TOOLS)
        self.pip("install", "--no-deps", str(self.file))
        self.pip("check")
        if self.resolution == "lowest-direct":
            self.check_bounds(extras)

    def check_bounds(self, extras: tuple[str, ...]) -> None:
        """Exit if a package is newer than its lower bound: then nothing shows that this works."""
        lines = self.pip("freeze", "--exclude-editable").splitlines()
        versions = dict(line.split("==", 1) for line in lines if "==" in line)
        untested = [
            f"{name} has the lower bound {bound}, but {versions[name]} was installed"
            for name, bound in bounds(extras).items()
            if not _same(bound, versions[name])
        ]
        if untested:
            sys.exit("\n".join(untested))

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of the environment in its folder."""
        path = self.folder / "venv" / "bin" / program
        subprocess.run([path, *arguments], cwd=self.folder, env=_variables(), check=True)

    def test(self, *arguments: str) -> None:
        """Run tests; warnings of packages that are older or newer than ours do not count."""
        for name in ("tests", "examples", "scripts"):
            if not (self.folder / name).exists():
                shutil.copytree(ROOT / name, self.folder / name)
        shutil.copy(ROOT / "pyproject.toml", self.folder)
        options = ("--quiet", "-p", "no:cacheprovider", "-W", "ignore")
        modes = ("-o", "addopts=--import-mode=importlib")
        self.run("python", "-m", "pytest", *options, *modes, *arguments)

    def pip(self, command: str, *arguments: str) -> str:
        python = str(self.folder / "venv" / "bin" / "python")
        return self.uv("pip", command, "--quiet", "--python", python, *arguments)

    def uv(self, *arguments: str) -> str:
        done = subprocess.run(["uv", *arguments], stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout


def bounds(extras: tuple[str, ...]) -> dict[str, str]:
    """The lower bounds by package, of the package itself and of some extras."""
    required, waiting = list(PROJECT["dependencies"]), list(extras)
    while waiting:
        for one in PROJECT["optional-dependencies"][waiting.pop()]:
            own = re.fullmatch(r"heliotrope\[(.+)\]", one)
            waiting += own[1].split(",") if own else []
            required += [] if own else [one]
    found = (re.fullmatch(r"([\w-]+)(?:\[.+\])?>=([\d.]+)", one) for one in required)
    return {one[1]: one[2] for one in found if one is not None}


def _same(bound: str, version: str) -> bool:
    """Whether two versions are equal; 1.3 is 1.3.0."""
    return re.sub(r"(\.0)+$", "", bound) == re.sub(r"(\.0)+$", "", version)


def _variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def check_base(environment: Environment) -> None:
    """Check the package without any extra."""
    environment.install()
    environment.test(*BASE)


def check_alone(environment: Environment) -> None:
    """Check that each small extra needs no other one."""
    for extra, modules in MODULES.items():
        environment.install(extra)
        environment.run("python", "-c", f"import {modules}")


def check_extras(environment: Environment) -> None:
    """Check all small extras together."""
    environment.install(*MODULES)
    environment.run("heliotrope", "demo", "--steps", "30", "--no-animation", "--out", "demo")
    assert (environment.folder / "demo" / "demo.png").stat().st_size
    check_service(environment)
    environment.test(*EXTRAS)


def check_service(environment: Environment) -> None:
    """Serve a study on any free port."""
    program = str(environment.folder / "venv" / "bin" / "heliotrope")
    store = f"sqlite:///{environment.folder}/studies.db"
    command = [program, "serve", "--port", "0", "--store", store]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=_variables()) as service:
        try:
            assert service.stderr is not None
            found = (re.search(r"http://[\d.:]+", line) for line in service.stderr)
            url = next(one[0] for one in found if one)
            environment.run("python", "-c", SERVED, url)
        finally:
            service.terminate()


def check_large(environment: Environment, extra: str) -> None:
    """Check an extra that needs an environment of its own."""
    environment.install(extra)
    tests = (f"tests/integrations/test_{extra}.py", "tests/integrations/test_examples.py")
    environment.test("--noconftest", *tests)


CHECKS: dict[str, Callable[[Environment], None]] = {
    "base": check_base,
    "alone": check_alone,
    "extras": check_extras,
    **{extra: partial(check_large, extra=extra) for extra in LARGE},
}


def main(python: str, resolution: str, file: str, *names: str) -> None:
    """Check the environments of these names, or all."""
    for name in names or CHECKS:
        with tempfile.TemporaryDirectory(prefix="check-install-") as folder:
            CHECKS[name](Environment(Path(folder), python, resolution, Path(file).resolve()))
        print(f"Python {python}, {resolution}, {Path(file).name}, {name}: passed", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
