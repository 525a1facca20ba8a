"""Run a figure of the paper and write its picture, rows, claims and metadata."""

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from heliotrope.lab import pictures
from heliotrope.lab.claims import Claim
from heliotrope.lab.reproduction.figure import Figure
from heliotrope.lab.reproduction.series import CurveRow, as_csv
from heliotrope.lab.trials import run_trials, trial_seed

_PACKAGES = ("heliotrope", "numpy", "scipy", "scikit-learn", "matplotlib", "joblib", "pandas")


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A finished figure: rows, claims, notes and files."""

    figure: str
    trials: int
    rows: Sequence[CurveRow]
    claims: Sequence[Claim]
    notes: Sequence[str]
    started: float
    seconds: float
    folder: Path

    def file(self, kind: str) -> Path:
        """Path of the picture (png, pdf), rows (csv), metadata (json) or claims (md)."""
        return self.folder / f"{self.figure}.{kind}"


def reproduce_figure(
    figure: Figure,
    out: str | os.PathLike[str],
    *,
    jobs: int = -1,
    cluster: str | None = None,
    tick: Callable[[int], object] | None = None,
) -> Reproduction:
    """Run the trials of a figure that are not yet saved in ``out``, and write its files there.

    The files are ``FIGURE.png`` and ``.pdf``, ``.csv`` (rows), ``.md`` (a table of the claims) and
    ``.json`` (settings, seeds, versions, times, claims). ``jobs``, ``cluster`` and ``tick`` are
    those of :func:`~heliotrope.lab.trials.run_trials`.
    """
    folder, started = Path(out), time.time()
    results = run_trials(
        figure.trial,
        figure.trials,
        folder=folder / "trials" / figure.name,
        settings=figure.settings(),
        jobs=jobs,
        cluster=cluster,
        tick=tick,
    )
    table, claims = figure.rows(results), figure.claims(results)
    made = Reproduction(
        figure.name,
        figure.trials,
        table,
        claims,
        figure.notes,
        started,
        time.time() - started,
        folder,
    )
    with pictures.paper():
        picture = figure.draw(results)
        picture.savefig(made.file("png"))
        picture.savefig(made.file("pdf"))
    made.file("csv").write_text(as_csv(table), encoding="utf-8")
    made.file("md").write_text(claims_as_markdown(made), encoding="utf-8")
    record = json.dumps(_record(figure, made), indent=2, ensure_ascii=False)
    made.file("json").write_text(record + "\n", encoding="utf-8")
    return made


def claims_as_markdown(made: Reproduction) -> str:
    """The claims as a table, followed by the notes."""
    lines = [f"# {made.figure}: claims and measurements, {made.trials} trial(s)", ""]
    lines += ["| claim | source | measured | holds |", "| --- | --- | --- | --- |"]
    for claim in made.claims:
        answer = claim.answer if claim.holds else f"**{claim.answer}**"
        lines.append(f"| {claim.sentence} | {claim.source} | {claim.measured} | {answer} |")
    for note in made.notes:
        lines += ["", note]
    return "\n".join(lines) + "\n"


def _record(figure: Figure, made: Reproduction) -> dict[str, object]:
    settings = dict(figure.settings())
    seeds = [trial_seed(figure.seed, number) for number in range(made.trials)]
    versions = {package: version(package) for package in _PACKAGES}
    return {
        "figure": made.figure,
        "settings": settings,
        "trials": made.trials,
        "trial_seeds": seeds,
        "claims": [asdict(claim) for claim in made.claims],
        "notes": list(made.notes),
        "versions": {"python": platform.python_version(), **versions},
        "machine": platform.platform(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(made.started)),
        "seconds": round(made.seconds, 1),
    }
