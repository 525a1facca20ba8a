"""The examples of the large adapters run, where their packages are installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "integrations"
EXAMPLES = {  # package, size of the run, least and greatest result
    "track_with_ax": ("ax", 24, 0.0, 0.06),  # a fixed point has about 0.05 at best, 0.2 on average
    "track_with_libensemble": ("libensemble", 20, -0.02, 0.0),
    "track_with_ray": ("ray", 2, 0.0, 0.5),
    "track_with_xopt": ("xopt", 80, -0.05, 0.0),
}


def test_every_example_is_listed() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, size, least, greatest = EXAMPLES[name]
    pytest.importorskip(package, reason="in the adapters' own environment: make adapters")
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert least <= module.main(size) <= greatest
