"""What a step costs beside the parent's code, or that of ``--against REV``, in one run.

Both codes take turns, each time in a new process, with one BLAS thread. Times are processor times,
of which the least of all turns counts. No figure may be more than 1.10 times the other code's.
Memory may grow by 15 MB more.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from benchmarks.against import PARENT, ROOT, SRC, environment, run, source_of
from benchmarks.report import Finding

MOST, MEGABYTES = 1.10, 15.0
TURNS = {"grid": 11, "box": 11, "study": 11, "live": 11, "import": 15}
ABOUT = {
    "grid": "tv_gp_ucb, 50 x 50 points, 300 results",
    "box": "auto, 2-D Box, 60 steps",
    "study": "a study's ask and tell, 40 steps",
    "live": "a live study with a limit and a baseline, 40 steps",
    "import": "`import heliotrope; heliotrope.Study`",
}
IMPORT = ["-c", "import heliotrope; heliotrope.Study"]

Figures = dict[str, float]


def findings(against: str = PARENT) -> Iterator[Finding]:
    """Compare the working tree with a revision."""
    with source_of(against) as source:
        for source_folder in (source, SRC):
            processor_time(source_folder)  # compiles
        for name in ABOUT:
            turns = [(measured(source, name), measured(SRC, name)) for _ in range(TURNS[name])]
            yield from compared(ABOUT[name], turns)
        yield grown(measured(source, "growth"), measured(SRC, "growth"))


def measured(source: Path, name: str) -> Figures:
    """The figures of a case in a new process."""
    if name == "import":
        return {"processor time": processor_time(source)}
    figures: Figures = json.loads(run(source, "-m", "benchmarks.step_cases", name))
    return figures


def processor_time(source: Path) -> float:
    """Seconds of a process that imports the first names."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *IMPORT], check=True, cwd=ROOT, env=environment(source))
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def compared(about: str, turns: Sequence[tuple[Figures, Figures]]) -> Iterator[Finding]:
    """The ratio of the least times, for each figure of a case."""
    for figure in turns[0][0]:
        old, new = (min(turn[side][figure] for turn in turns) for side in (0, 1))
        yield Finding(
            f"{about}, {figure}: at most {MOST:.2f} times",
            f"{1e3 * new:.3g} ms against {1e3 * old:.3g} ms: {new / old:.3f} times",
            new <= MOST * old,
        )


def grown(old: Figures, new: Figures) -> Finding:
    """The growth of the memory."""
    before, now = old["megabytes"], new["megabytes"]
    return Finding(
        f"tv_gp_ucb, 20 x 20 points, 10,000 steps: memory grows by at most {MEGABYTES:g} MB more",
        f"{now:.1f} MB against {before:.1f} MB",
        now <= before + MEGABYTES,
    )
