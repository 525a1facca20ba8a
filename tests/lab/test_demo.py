"""The command line and its demo: output, pictures and errors."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence
from typer.testing import CliRunner, Result

import heliotrope as ht
from heliotrope.cli import app
from heliotrope.lab import demo
from heliotrope.lab.environments import play

POLICIES = ["GP-UCB", "R-GP-UCB", "TV-GP-UCB"]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments], env={"COLUMNS": "100"})


def regrets(output: str) -> list[tuple[str, str]]:
    """The two averages of each row of the table; the pace differs from run to run."""
    return re.findall(r"GP-UCB +│ +([\d.]+) +│ +([\d.]+)", output)


@pytest.fixture(scope="module")
def short_race() -> demo.Race:
    return demo.race(12, 3, lambda: None)


def test_demo_prints_a_table_and_draws(tmp_path: Path) -> None:
    out = tmp_path / "new" / "[folder]"
    result = invoke("demo", "--steps", "12", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert all(f" {name} " in result.stdout for name in POLICIES)
    assert "stayed closest to the moving maximum" in result.stdout
    assert all(f"Wrote {out / name}" in result.stdout for name in ("demo.png", "demo.gif"))
    with Image.open(out / "demo.png") as still:
        still.verify()
        assert still.size == (1800, 1300)
    with Image.open(out / "demo.gif") as film:
        assert film.size == (720, 423)
        assert len(list(ImageSequence.Iterator(film))) == 12
    assert 50_000 < (out / "demo.png").stat().st_size < 1_000_000
    assert 50_000 < (out / "demo.gif").stat().st_size < 1_000_000


def test_same_seed_same_regret(tmp_path: Path) -> None:
    def printed(seed: str) -> list[tuple[str, str]]:
        options = ("--steps", "5", "--seed", seed, "--out", str(tmp_path), "--no-animation")
        return regrets(invoke("demo", *options).stdout)

    first = printed("1")
    assert len(first) == len(POLICIES)
    assert printed("1") == first
    assert printed("2") != first
    assert not (tmp_path / "demo.gif").exists()


def test_one_step_is_enough(tmp_path: Path) -> None:
    assert invoke("demo", "--steps", "1", "--out", str(tmp_path)).exit_code == 0


def test_race_is_what_the_environments_run(short_race: demo.Race) -> None:
    prior = ht.Prior(time=ht.Forgetting(0.01), noise=0.01)
    for trajectory in short_race.trajectories:
        steps = list(play(demo.policies(prior)[trajectory.name], short_race.episode, seed=3))
        assert trajectory.chosen.tolist() == [step.index for step in steps]
        assert trajectory.regrets.tolist() == [step.regret for step in steps]


@pytest.mark.parametrize("window", [1, 5, 12, 20])
def test_averages_over_a_window(short_race: demo.Race, window: int) -> None:
    trajectory = short_race.trajectories[0]
    naive = [trajectory.regrets[max(t - window, 0) : t].mean() for t in range(1, 13)]
    np.testing.assert_allclose(trajectory.averages(window), naive, atol=1e-12)


def test_the_truth_has_no_regret(short_race: demo.Race) -> None:
    regret = [short_race.episode.regret(t + 1, i) for t, i in enumerate(short_race.truth.chosen)]
    assert regret == [0.0] * 12


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--steps", "0"], "--steps"),
        (["--steps", "many"], "--steps"),
        (["--seed", "-1"], "--seed"),
        (["--colour"], "--colour"),
    ],
)
def test_bad_options_are_named(arguments: list[str], said: str) -> None:
    assert_refused(invoke("demo", *arguments), said)


def test_out_may_not_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "taken"
    file.write_text("mine")
    assert_refused(invoke("demo", "--out", str(file)), "is a file")
    result = invoke("demo", "--out", str(file / "below"))
    assert_refused(result, str(file / "below"))
    assert result.stderr.count("\n") == 1
    assert file.read_text() == "mine"


def test_an_error_of_the_package_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ht.HeliotropeError("luck", "none", "Try again.")

    monkeypatch.setattr(demo, "race", fail)
    result = invoke("demo", "--out", str(tmp_path))
    assert_refused(result, "heliotrope: expected luck; got none. Try again.\n")


def assert_refused(result: Result, said: str) -> None:
    assert result.exit_code in (1, 2)
    assert said in result.stderr
    assert "Traceback" not in result.output
    assert isinstance(result.exception, SystemExit)


def test_version_and_help() -> None:
    assert invoke("--version").stdout == f"heliotrope {ht.__version__}\n"
    assert "demo" in invoke("--help").stdout
    assert "demo" in invoke().output
