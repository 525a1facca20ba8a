"""The league: paired matches, ranks, files and failures."""

from __future__ import annotations

import csv
import json
import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image
from typer.testing import CliRunner, Result

import heliotrope as ht
from heliotrope.cli import app
from heliotrope.domains import Domain
from heliotrope.errors import InputError
from heliotrope.estimation import Model, World
from heliotrope.lab.environments import Place
from heliotrope.lab.environments.suite import problem
from heliotrope.lab.league import COMPETITORS, Match, PolicyCompetitor, Standings, Tournament
from heliotrope.lab.league.competitors import finite
from heliotrope.lab.league.matches import play_match
from heliotrope.lab.league.picture import draw_standings
from heliotrope.lab.league.report import Report, report_as_markdown, summarize_standings
from heliotrope.lab.league.tournament import MatchTrial
from heliotrope.policies.registry import REGISTRY, Named

QUICK = ("--problems", "paper/se/0.01,sliced/eggholder", "--policies", "auto,sw_ucb")
SMALL = ("--trials", "2", "--horizon", "8", "--jobs", "1")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["league", *arguments], env={"COLUMNS": "200"})


def match(regret: float, failure: str = "", milliseconds: float = 1.0) -> Match:
    return Match(np.full(4, regret), np.full(4, 1e-3 * milliseconds), 4, 2_000.0, failure)


def unplayed() -> Match:
    return Match(np.empty(0), np.empty(0), 4, failure="after 0 steps: oh")


@dataclass(frozen=True)
class Odd:
    """A competitor that stays at the first point, does as told at step 3, and counts its time."""

    name: str
    raises: type[Exception] | None = None
    seconds: float = 0.0

    def settings(self) -> Mapping[str, object]:
        return {"odd": self.name}

    @contextmanager
    def player(self, domain: Domain, seed: int) -> Iterator[OddPlayer]:
        yield OddPlayer(self)


class OddPlayer:
    def __init__(self, odd: Odd) -> None:
        self._odd, self._asked = odd, 0

    def ask(self, t: float, seconds: float) -> Place:
        self._asked += 1
        if self._asked == 3 and self._odd.raises is not None:
            raise self._odd.raises("a loose screw\nand more")
        return 0

    def tell(self, t: float, place: Place, y: float, seconds: float) -> None:
        assert place == 0

    def spent(self) -> float:
        return self._asked * self._odd.seconds

    def memory(self) -> float:
        return 7.0


def test_the_command_writes_all_its_files(tmp_path: Path) -> None:
    result = invoke(*QUICK, *SMALL, "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "mean rank" in result.stdout
    with (tmp_path / "league.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["problem"], row["policy"]) for row in rows} == {
        (id, name)
        for id in ("paper/se/0.01", "sliced/eggholder")
        for name in ("auto", "sw_ucb", "uniform")
    }
    for row in rows:
        assert (row["trials"], row["finished"], row["failure"]) == ("2", "2", "")
        assert float(row["milliseconds"]) > 0.0
        assert float(row["kilobytes"]) > 0.0
    for id in ("paper/se/0.01", "sliced/eggholder"):
        assert sorted(float(row["rank"]) for row in rows if row["problem"] == id) == [1, 2, 3]
    record = json.loads((tmp_path / "league.json").read_text())
    assert record["settings"]["auto"]["horizon"] == 8
    tables = (tmp_path / "league.md").read_text()
    assert "\n| auto | " in tables
    assert "\n| regret / random's | paper | sliced |\n" in tables
    assert "\n| paper/se/0.01 | " in tables
    assert f"\n| paper/se/0.01 | {problem('paper/se/0.01').about} |\n" in tables
    with Image.open(tmp_path / "league.png") as picture:
        assert min(picture.size) > 300


def test_an_interrupted_league_continues(tmp_path: Path) -> None:
    ids = ("peaks/steady", "periodic/50")
    first = Tournament(ids, (COMPETITORS["uniform"],), trials=1, horizon=5)
    first.run(tmp_path, jobs=1)
    ticks: list[tuple[str, int]] = []
    competitors = (COMPETITORS["uniform"], Odd("odd"))
    more = Tournament(ids, competitors, trials=2, horizon=5)
    more.run(tmp_path, jobs=1, tick=lambda name, done: ticks.append((name, done)))
    # two of uniform's four were there; the other starts with none of its four
    uniform, odd = [("uniform", n) for n in (2, 3, 4)], [("odd", n) for n in (4, 5, 6, 7, 8)]
    assert ticks == uniform + odd


def test_everybody_faces_the_same_worlds() -> None:
    episode = problem("jumps/still").world().episode(10, seed=5)
    steps = [play_match(Odd(name), episode, 5, limit=1.0).regret for name in ("one", "two")]
    assert_array_equal(steps[0], steps[1])
    league = MatchTrial(Odd("odd"), ("periodic/50", "jumps/still"), 10, 0, 1.0, None)
    trials = [league(number)["regret"] for number in range(4)]
    assert len({trial.tobytes() for trial in trials}) == 4
    assert_array_equal(pickle.loads(pickle.dumps(league))(3)["regret"], trials[3])


@pytest.mark.parametrize("name", COMPETITORS)
@pytest.mark.parametrize("id", ["paper/se/0.01", "sliced/eggholder"])
def test_every_policy_plays_everywhere(name: str, id: str) -> None:
    episode = problem(id).world().episode(9, seed=0)
    played = play_match(PolicyCompetitor(name), episode, 0, limit=60.0)
    assert played.failure == ""
    assert played.regret.shape == played.seconds.shape == (9,)
    assert np.all(played.regret >= -1e-9)
    assert np.all(played.seconds > 0.0)
    assert played.memory > 1_000.0


def test_the_league_has_every_named_policy() -> None:
    assert set(COMPETITORS) == set(REGISTRY)
    assert {"auto", "rexp3", "exp3", "d_ucb", "sw_ucb", "uniform"} < set(COMPETITORS)


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (Odd("broken", ValueError), "after 2 steps: ValueError: a loose screw"),
        (Odd("slow", TimeoutError), "after 2 steps: exceeded the limit of 3 s"),
        (Odd("greedy", seconds=1.25), "after 2 steps: exceeded the limit of 3 s"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_each_failure_reports_its_reason(odd: Odd, reason: str) -> None:
    episode = problem("paper/se/0.01").world().episode(6, seed=0)
    played = play_match(odd, episode, 0, limit=3.0)
    assert played.failure == reason
    assert played.regret.shape == (2,)
    assert np.isnan(played.memory)
    restored = Match.of(played.arrays())
    assert restored.failure == reason
    assert_array_equal(restored.regret, played.regret)


def test_ranks_and_shares_follow_from_the_matches() -> None:
    played = {
        "good": [match(1.0), match(4.0), match(1.0), match(6.0)],
        "fair": [match(2.0), match(4.0), match(2.0), match(6.0)],
        "uniform": [match(4.0), match(20.0), match(4.0), match(20.0)],
        "failing": [match(0.1), match(0.1), match(0.1, "after 4 steps: oh"), match(0.1)],
    }
    standings = Standings.of(("a", "b"), played)
    ranks = {(s.problem, s.policy): s.rank for s in standings.scores}
    assert [ranks["a", name] for name in played] == [1.0, 2.0, 3.0, 4.0]
    assert [ranks["b", name] for name in played] == [2.5, 2.5, 4.0, 1.0]
    b = standings.score("b", "good")
    assert (b.regret, b.stderr, b.normalized) == (5.0, 1.0, 0.25)
    assert b.milliseconds == pytest.approx(1.0)
    assert b.kilobytes == 2.0
    failed = standings.score("a", "failing")
    assert (failed.finished, failed.failure) == (1, "after 4 steps: oh")
    assert [place.policy for place in standings.ranking] == ["good", "fair", "failing", "uniform"]
    good, _, failing, _ = standings.ranking
    assert (good.rank, good.won, good.finished) == (1.75, 1, 1.0)
    assert (failing.rank, failing.won, failing.finished) == (2.5, 1, 0.75)


def test_both_win_a_tie_unless_they_failed() -> None:
    played = {
        "one": [match(1.0), match(0.1, "oh")],
        "same": [match(1.0), match(0.1, "oh")],
        "uniform": [match(2.0), match(0.1, "oh")],
    }
    places = {place.policy: place for place in Standings.of(("a", "b"), played).ranking}
    assert {name: place.won for name, place in places.items()} == {
        "one": 1,
        "same": 1,
        "uniform": 0,
    }


def test_a_share_of_zero_regret_is_unknown() -> None:
    played = {"good": [match(0.0), match(1.0)], "uniform": [match(0.0), match(2.0)]}
    standings = Standings.of(("flat", "steep"), played)
    assert all(np.isnan(standings.score("flat", name).normalized) for name in played)
    assert [place.normalized for place in standings.ranking] == [0.5, 1.0]


def test_what_was_not_played_is_in_no_average() -> None:
    played = {
        "once": [unplayed(), unplayed(), match(1.0), unplayed(), match(3.0), unplayed()],
        "never": [unplayed()] * 6,
        "uniform": [match(r) for r in (100.0, 5.0, 4.0, 5.0, 4.0, 5.0)],
    }
    standings = Standings.of(("peaks/steady", "peaks/bursts"), played)
    once = standings.score("peaks/steady", "once")
    assert (once.regret, once.stderr, once.normalized) == (2.0, 1.0, 0.5)
    assert (once.trials, once.finished, once.rank) == (3, 2, 2.5)
    nothing = standings.score("peaks/bursts", "once")
    assert np.isnan([nothing.regret, nothing.stderr, nothing.normalized]).all()
    places = {place.policy: place for place in standings.ranking}
    assert places["once"].normalized == 0.5
    assert places["once"].milliseconds == pytest.approx(1.0)
    assert np.isnan([places["never"].normalized, places["never"].milliseconds]).all()
    league = Tournament(standings.problems, (COMPETITORS["uniform"],))
    assert "\n| once | 0.50 |\n" in report_as_markdown(Report(league, standings, 1.0, Path()))


def test_the_picture_shows_unplayed_matches() -> None:
    played = {"never": [unplayed()], "good": [match(0.1)], "uniform": [match(1.0)]}
    shares = draw_standings(Standings.of(("a",), played)).axes[0]
    colours = {text.get_text(): text.get_color() for text in shares.texts}
    assert colours == {"x": "black", r"$\mathbf{0.10}$": "white", "1.00": "black"}


def test_the_summary_says_where_the_leader_is_behind() -> None:
    played = {
        "leader": [match(r) for r in (1.0, 1.0, 4.0, 1.1, 1.0, 4.1, 0.9, 1.2, 4.0)],
        "rival": [match(r) for r in (2.0, 2.0, 3.0, 2.1, 2.0, 3.1, 1.9, 2.2, 2.9)],
        "uniform": [match(9.0)] * 9,
    }
    said = summarize_standings(Standings.of(("a", "b", "c"), played))
    assert said == [
        "leader leads with mean rank 1.33, ahead of rival with 1.67.",
        "On c rival is better than leader: 3 against 4.03 (+1.03, 31.0 s.e.).",
    ]


def test_a_failure_is_in_the_report(tmp_path: Path) -> None:
    result = invoke(
        "--problems", "periodic/50", "--policies", "uniform", *SMALL,
        "--peer", "nobody=/no/such/program", "--out", str(tmp_path),
    )  # fmt: skip
    assert result.exit_code == 1, result.output
    assert f"did not play a step: nobody. Correct the command, delete {tmp_path}" in (result.stderr)
    assert "Wrote" in result.stdout
    assert (
        "nobody on periodic/50: 2 of 2 unfinished, after 0 steps: FileNotFoundError"
        in (tmp_path / "league.md").read_text()
    )


def test_a_peer_that_fails_later_does_not_fail_the_command(tmp_path: Path) -> None:
    script = tmp_path / "peer.py"
    replies = ("{}", '{"x": [0.5, 0.5]}', "{}", '{"error": "out of ideas"}')
    script.write_text("\n".join(f"input(); print({reply!r}, flush=True)" for reply in replies))
    result = invoke(
        "--problems", "periodic/50", "--policies", "uniform", *SMALL,
        "--peer", f"tired={sys.executable} {script}", "--out", str(tmp_path),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert (
        "tired on periodic/50: 2 of 2 unfinished, after 1 steps: HeliotropeError: "
        in (tmp_path / "league.md").read_text()
    )


def test_policies_without_a_gp_get_a_range_and_the_points_of_a_box() -> None:
    box = finite(ht.Box([-5, 0], [5, 1]))
    assert box.points.shape == (128, 2)
    assert box.points.min(axis=0).tolist() == [-5.0, 0.0]
    model = Model(World.of_one_term(10.0, 3.0, 1.0, 0.01, (0.3,)), pace=2.0)
    names = [name for name, entry in REGISTRY.items() if entry.has_range]
    assert set(names) == {"rexp3", "exp3", "d_ucb", "sw_ucb"}
    for name in names:
        made = Named(name).policy(model, 0.01, box)
        assert (getattr(made, "low", None), getattr(made, "high", None)) == (4.0, 16.0)
    with pytest.raises(InputError, match="Finite"):
        Named("sw_ucb").policy(model, 0.01, ht.Box(0, 1))


@pytest.mark.parametrize("id", ["faults/outages", "decades/6", "sparse/10", "mixed/integers"])
def test_every_kind_of_problem_can_be_played(id: str) -> None:
    episode = problem(id).world().episode(6, seed=1)
    for name in ("auto", "sw_ucb", "uniform"):
        played = play_match(COMPETITORS[name], episode, 1, limit=60.0)
        assert played.failure == ""
        assert len(played.regret) == 6
        assert played.regret.min() >= -1e-6


def test_points_of_a_box_lie_on_its_lattices() -> None:
    box = ht.SearchSpace({"n": ht.Integer(0, 4), "x": ht.Real(0.0, 1.0)}).cube
    assert set(finite(box).points[:, 0].tolist()) == {0.0, 0.25, 0.5, 0.75, 1.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--policies", "gp_ucp"), "gp_ucb"),
        (("--problems", "paper/se/7"), "paper/se/0.01"),
        (("--problems", "table/intel", "--data", "/nowhere"), "intel_temperature"),
        (("--peer", "nameless"), "NAME=COMMAND"),
        (("--peer", "empty= "), "NAME=COMMAND"),
        (("--peer", "quoted='python"), "NAME=COMMAND"),
        (("--peer", "../up=python"), "letters"),
        (("--limit", "0"), "limit"),
    ],
)
def test_the_command_reports_errors(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    result = invoke(*arguments, *SMALL, "--out", str(tmp_path))
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_family_selects_its_problems(tmp_path: Path) -> None:
    result = invoke("--problems", "peaks", "--policies", "uniform", *SMALL, "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "The league: 2 problem(s)" in result.stdout


def test_a_league_needs_a_yardstick_and_different_names() -> None:
    with pytest.raises(InputError, match="uniform"):
        Tournament(("periodic/50",), (Odd("odd"),))
    with pytest.raises(InputError, match="different names"):
        Tournament(("periodic/50",), (COMPETITORS["uniform"], COMPETITORS["uniform"]))
    with pytest.raises(InputError, match="at least one"):
        Tournament((), (COMPETITORS["uniform"],))
