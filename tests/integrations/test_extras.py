"""An adapter without its package names the extra to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

PACKAGES = {
    "optuna": ("optuna", "optuna"),
    "gest_api": ("gest_api", "gest-api"),
    "ax": ("ax", "ax"),
    "ray": ("ray", "ray"),
    "river": ("river", "river"),
    "gymnasium": ("gymnasium", "gymnasium"),
}


@pytest.mark.parametrize("module", PACKAGES)
def test_a_missing_package_is_named_with_its_extra(module: str) -> None:
    package, extra = PACKAGES[module]
    code = f"import sys; sys.modules[{package!r}] = None; import heliotrope.integrations.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"pip install 'heliotrope[{extra}]'" in done.stderr.splitlines()[-1]


def test_the_adapters_load_only_their_own_package() -> None:
    code = (
        "import sys, heliotrope.integrations.optuna\n"
        "assert 'heliotrope.lab' not in sys.modules\n"
        "assert not {'river', 'gymnasium', 'gest_api', 'polars'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
