"""The lab as a package: its modules load on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

from heliotrope import lab

LIGHT = """
import sys
import heliotrope.lab
heavy = {"pandas", "matplotlib", "joblib", "scipy", "sklearn"} & set(sys.modules)
assert not heavy, heavy
assert heliotrope.lab.environments.GPDrift
"""


def test_the_lab_loads_its_modules_when_they_are_used() -> None:
    subprocess.run([sys.executable, "-c", LIGHT], check=True)


@pytest.mark.parametrize("name", lab.__all__)
def test_every_module_of_the_lab_is_exported(name: str) -> None:
    assert getattr(lab, name).__name__ == f"heliotrope.lab.{name}"


def test_an_unknown_module_is_an_attribute_error() -> None:
    assert not hasattr(lab, "nothing")
