"""The report of a tournament: sentences, tables and files."""

import csv
import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from importlib.metadata import version
from math import isnan
from pathlib import Path

from heliotrope.lab import pictures
from heliotrope.lab.claims import compare
from heliotrope.lab.environments.suite import problem
from heliotrope.lab.league.picture import draw_standings
from heliotrope.lab.league.standings import ProblemScore, Standing, Standings, mean_of
from heliotrope.lab.league.tournament import Tournament

_PACKAGES = ("heliotrope", "numpy", "scipy", "scikit-learn")
HEADINGS = (
    "policy",
    "mean rank",
    "regret / random's",
    "best at",
    "finished",
    "ms per step",
    "kB",
)


@dataclass(frozen=True, eq=False)
class Report:
    """A played tournament, its running time, and the folder of its files."""

    tournament: Tournament
    standings: Standings
    seconds: float
    folder: Path

    def file(self, kind: str) -> Path:
        """Path of the picture (png, pdf), scores (csv), tables (md) or metadata (json)."""
        return self.folder / f"league.{kind}"


def write_report(report: Report) -> list[Path]:
    """Write the files of a tournament."""
    report.folder.mkdir(parents=True, exist_ok=True)
    with report.file("csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(ProblemScore)])
        writer.writerows(map(astuple, report.standings.scores))
    report.file("md").write_text(report_as_markdown(report), encoding="utf-8")
    text = json.dumps(_record(report), indent=2, ensure_ascii=False)
    report.file("json").write_text(text + "\n", encoding="utf-8")
    with pictures.paper():
        picture = draw_standings(report.standings)
        for kind in ("png", "pdf"):
            picture.savefig(report.file(kind))
    return [report.file(kind) for kind in ("png", "pdf", "csv", "md", "json")]


def cells(standing: Standing) -> tuple[str, ...]:
    """The cells of one row of the ranking."""
    return (
        standing.policy,
        f"{standing.rank:.2f}",
        f"{standing.normalized:.3f}",
        str(standing.won),
        f"{standing.finished:.0%}",
        f"{standing.milliseconds:.3g}",
        "-" if isnan(standing.kilobytes) else f"{standing.kilobytes:.0f}",
    )


def summarize_standings(standings: Standings) -> list[str]:
    """Say which policy leads, and where another is significantly better."""
    first, *others = standings.ranking
    said = [f"{first.policy} leads with mean rank {first.rank:.2f}"]
    if others:
        said[0] += f", ahead of {others[0].policy} with {others[0].rank:.2f}"
    behind = [one for id in standings.problems if (one := _behind(standings, first.policy, id))]
    return [f"{said[0]}.", *behind]


def _behind(standings: Standings, policy: str, id: str) -> str:
    """A sentence, if the best policy of a problem has significantly less regret."""
    best = min((s for s in standings.scores if s.problem == id), key=_by_rank)
    found = compare(standings.regrets[id, policy], standings.regrets[id, best.policy])
    if not found.clearly_positive:
        return ""
    mine = standings.score(id, policy)
    return (
        f"On {id} {best.policy} is better than {policy}: {best.regret:.3g} against "
        f"{mine.regret:.3g} ({found})."
    )


def _by_rank(score: ProblemScore) -> float:
    return score.rank


def failures(standings: Standings) -> list[str]:
    """Unfinished matches, with the reasons."""
    return [
        f"{score.policy} on {score.problem}: {score.trials - score.finished} of {score.trials} "
        f"unfinished, {score.failure}"
        for score in standings.scores
        if score.failure
    ]


def report_as_markdown(report: Report) -> str:
    """The ranking, regret by family and by problem, the problems, and the failures."""
    tournament, standings = report.tournament, report.standings
    lines = [
        f"{len(tournament.problems)} problem(s), {tournament.trials} paired trial(s) of "
        f"{tournament.horizon} steps, at most {tournament.limit:g} s of processor time each.",
        "",
        *_table(HEADINGS, [cells(standing) for standing in standings.ranking]),
        "",
        *summarize_standings(standings),
        "",
        *_table(("regret / random's", *families(standings)), _by_family(standings)),
        "",
        *_table(("average regret", *_names(standings)), _by_problem(standings)),
        "",
        *_table(("problem", "description"), [(id, problem(id).about) for id in standings.problems]),
    ]
    unfinished = failures(standings)
    if unfinished:
        lines += ["", "Unfinished:", "", *(f"- {one}" for one in unfinished)]
    return "\n".join(lines) + "\n"


def families(standings: Standings) -> list[str]:
    """The families of the played problems."""
    return list(dict.fromkeys(problem(id).family for id in standings.problems))


def _by_family(standings: Standings) -> list[tuple[str, ...]]:
    """One row per policy, best first: its mean share of random's regret in each family."""
    shares: dict[tuple[str, str], list[float]] = {}
    for score in standings.scores:
        family = problem(score.problem).family
        shares.setdefault((score.policy, family), []).append(score.normalized)
    return [
        (name, *(f"{mean_of(shares[name, family]):.2f}" for family in families(standings)))
        for name in _names(standings)
    ]


def _by_problem(standings: Standings) -> list[tuple[str, ...]]:
    """One row per problem."""
    return [
        (id, *(_regret(standings.score(id, name)) for name in _names(standings)))
        for id in standings.problems
    ]


def _names(standings: Standings) -> list[str]:
    return [standing.policy for standing in standings.ranking]


def _regret(score: ProblemScore) -> str:
    error = "" if isnan(score.stderr) else f" ± {score.stderr:.1g}"
    text = f"{score.regret:.3g}{error}"
    return text if score.finished == score.trials else f"({text})"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---"] * len(headings)
    return [f"| {' | '.join(row)} |" for row in (headings, rule, *rows)]


def _record(report: Report) -> dict[str, object]:
    tournament = report.tournament
    versions = {package: version(package) for package in _PACKAGES}
    return {
        "settings": {one.name: dict(tournament.settings(one)) for one in tournament.competitors},
        "trials": tournament.trials,
        "versions": {"python": platform.python_version(), **versions},
        "machine": f"{platform.platform()}, {os.cpu_count()} cores",
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": round(report.seconds, 1),
    }
