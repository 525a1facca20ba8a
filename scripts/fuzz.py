"""Coverage-guided fuzzing of the readers of files: ``python scripts/fuzz.py archive [SECONDS]``.

The targets are ``archive`` (saved optimizers), ``codec`` (JSON trees and snapshots) and ``tables``.
A reader may refuse its input with an error of this package; any other exception, or more than
``MEGABYTES`` of memory, ends the run and prints the input. It needs the package atheris.
``tests/assets/corpus`` holds the inputs that once failed, and some that reach far.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["heliotrope"], enable_loader_override=False):
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import fuzzing

MEGABYTES = 1_500  # about 300 of these are the loaded packages


def main(target: str, seconds: str = "600") -> None:
    corpus = Path("out", "fuzz", target)
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(fuzzing.SEEDS[target]()):
        (corpus / f"seed-{number}").write_bytes(seed)
    limits = [f"-max_total_time={seconds}", f"-rss_limit_mb={MEGABYTES}", "-timeout=30"]
    atheris.Setup([sys.argv[0], str(corpus), "-max_len=20000", *limits], fuzzing.TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
