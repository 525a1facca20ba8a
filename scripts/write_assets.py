"""Write the files that every later version must open, into tests/assets/VERSION.

Run it after each change of a format, until the release of the version: what it wrote never changes.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from sklearn.gaussian_process.kernels import RBF, Matern

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import heliotrope as ht  # noqa: E402
from heliotrope.errors import InputError  # noqa: E402
from heliotrope.storage import Store, open_store  # noqa: E402
from heliotrope.study import Evaluation, Study  # noqa: E402
from postgres import find_programs, server  # noqa: E402

PRIOR = ht.Prior(RBF(0.2), ht.Forgetting(0.03), noise=0.01)
BEFORE_DATA = re.compile(r"^(--|\\|SET |SELECT pg_catalog.set_config|CREATE SCHEMA|$)")
SPACE = {
    "x": ht.Real(0.1, 10.0, log=True),
    "n": ht.Integer(1, 9),
    "mode": ht.Categorical(["a", "b"]),
    "on": ht.Boolean(),
}
GIVEN = {"epsilon": 0.02, "mean": 20.0, "variance": 4.0, "noise": 0.1, "length_scale": 0.4}

OPTIMIZERS: dict[str, Callable[[], ht.Optimizer]] = {
    "tv": lambda: ht.Optimizer(ht.grid(6, 6), ht.tv_gp_ucb(PRIOR, learn=ht.Learn()), seed=1),
    "r": lambda: ht.Optimizer(ht.grid(6, 6), ht.r_gp_ucb(PRIOR, every=7), seed=2),
    "box": lambda: ht.Optimizer(
        ht.Box([0.0, -1.0], [1.0, 1.0]),
        ht.gp_ucb(ht.Prior(Matern(0.5, nu=2.5), noise=0.01)),
        seed=3,
    ),
    "rexp3": lambda: ht.Optimizer(ht.grid(4), ht.policies.rexp3(-1.0, 1.0, batch=9), seed=4),
}
STUDIES: dict[str, tuple[int, dict[str, Any]]] = {
    "sensors": (56, {"space": ["hall", "roof", "cellar"], "clock": "10min", "seed": 5}),
    "boiler": (20, {"space": SPACE, "policy": GIVEN, "direction": "minimize", "seed": 6}),
}


def value(number: int) -> float:
    """The n-th measured value."""
    return 20.0 + 2.0 * math.sin(number) + 0.1 * (number % 7)


def write_optimizers(folder: Path) -> dict[str, Any]:
    """Save one of each kind, with an open suggestion, and return what each asks next."""
    expected: dict[str, Any] = {}
    for name, make in OPTIMIZERS.items():
        optimizer = make()
        for number in range(20):
            optimizer.tell(optimizer.ask(), 0.1 * value(number) - 2.0)
        optimizer.ask()
        optimizer.save(folder / f"{name}.heliotrope")
        following = optimizer.ask()
        expected[name] = {"t": following.t, "x": following.x.tolist(), "index": following.index}
    return expected


def write_studies(store: Store) -> None:
    """Run the studies, each left with an open ask that has a key; one has a snapshot."""
    for name, (steps, options) in STUDIES.items():
        ticks = count(1_700_000_000, 60)
        study = Study.create(name, **options, store=store, now=lambda: float(next(ticks)))  # noqa: B023
        for number in range(steps):
            study.tell(study.ask().id, value(number))
        study.cancel(study.ask(key="given up").id)
        study.ask(key="waiting")


def next_asks(store: Store) -> dict[str, Any]:
    """The next ask of each study, and its best."""
    expected: dict[str, Any] = {}
    for name in STUDIES:
        study = Study.open(name, store, now=lambda: 1_700_015_000.0)
        best = study.summary()["best"]
        expected[name] = {"ask": shown(study.ask()), "best": best}
    return expected


def shown(ask: Evaluation) -> dict[str, Any]:
    """An ask without its id."""
    return {key: one for key, one in ask.to_json().items() if key != "id"}


@contextmanager
def dumped(path: Path) -> Iterator[str]:
    """The URL of a PostgreSQL database, whose tables are written as SQL at the end."""
    with server() as postgres:
        url = postgres.new_place()
        yield url
        place = url.rpartition("%3D")[2]
        command = [str(find_programs() / "pg_dump"), "--inserts", "--no-owner", f"--schema={place}"]
        text = subprocess.check_output([*command, postgres.url()], text=True)
    lines = [line for line in text.splitlines() if not BEFORE_DATA.match(line)]
    path.write_text("\n".join(lines).replace(f"{place}.", "") + "\n")


def main() -> None:
    """Write everything of this version."""
    folder = ROOT / "tests" / "assets" / ht.__version__
    if subprocess.check_output(["git", "tag", "--list", f"v{ht.__version__}"], cwd=ROOT):
        raise InputError("a version before its release", ht.__version__, "Its files never change.")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    expected: dict[str, Any] = {"optimizers": write_optimizers(folder)}
    with dumped(folder / "studies.sql") as url, closing(open_store(url)) as store:
        write_studies(store)
    with closing(open_store(f"sqlite:///{folder}/studies.sqlite")) as store:
        write_studies(store)
    with closing(open_store("memory:")) as store:
        write_studies(store)
        expected["studies"] = next_asks(store)
    for left in folder.glob("studies.sqlite-*"):
        left.unlink()
    (folder / "expected.json").write_text(json.dumps(expected, indent=2) + "\n")


if __name__ == "__main__":
    main()
