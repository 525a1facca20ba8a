"""Code of another revision beside that of the working tree, each run in its own process."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
PARENT = "HEAD~1"


@contextmanager
def source_of(revision: str) -> Iterator[Path]:
    """The folder ``src`` of a revision, in a temporary folder."""
    git = ["git", "archive", revision, "src"]
    archived = subprocess.run(git, cwd=ROOT, capture_output=True, check=False)
    if archived.returncode:
        raise SystemExit(f"git has no code of the revision {revision}: {archived.stderr.decode()}")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder, "src")


def run(source: Path, *arguments: str) -> str:
    """Run Python with the package of a folder and the benchmarks of this one; what it prints."""
    process = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment(source),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return process.stdout


def environment(source: Path) -> Mapping[str, str]:
    """One BLAS thread; bytecode is kept, as in an installation."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    path = os.pathsep.join(map(str, (source, ROOT)))
    return {**os.environ, **threads, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}
