"""The command line and its demo: output, pictures and errors."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence
from typer.testing import CliRunner, Result

import heliotrope as ht
from heliotrope.cli import app
from heliotrope.lab.demo import drift, season
from heliotrope.lab.environments import play
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.validation import Array

POLICIES = ["GP-UCB", "R-GP-UCB", "TV-GP-UCB"]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments], env={"COLUMNS": "100"})


def regrets(output: str) -> list[tuple[str, str]]:
    """The two averages of each row of the table; the pace differs from run to run."""
    return re.findall(r"GP-UCB +│ +([\d.]+) +│ +([\d.]+)", output)


@pytest.fixture(scope="module")
def short_race() -> drift.Race:
    return drift.race(12, 3, lambda: None)


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


def test_race_is_what_the_environments_run(short_race: drift.Race) -> None:
    prior = ht.Prior(time=ht.Forgetting(0.01), noise=0.01)
    for trajectory in short_race.trajectories:
        steps = list(play(drift.policies(prior)[trajectory.name], short_race.episode, seed=3))
        assert trajectory.chosen.tolist() == [step.index for step in steps]
        assert trajectory.regrets.tolist() == [step.regret for step in steps]


@pytest.mark.parametrize("window", [1, 5, 12, 20])
def test_averages_over_a_window(short_race: drift.Race, window: int) -> None:
    trajectory = short_race.trajectories[0]
    naive = [trajectory.regrets[max(t - window, 0) : t].mean() for t in range(1, 13)]
    np.testing.assert_allclose(trajectory.averages(window), naive, atol=1e-12)


def test_the_truth_has_no_regret(short_race: drift.Race) -> None:
    regret = [short_race.episode.regret(t + 1, i) for t, i in enumerate(short_race.truth.chosen)]
    assert regret == [0.0] * 12


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--steps", "0"], "--steps"),
        (["--steps", "many"], "--steps"),
        (["--seed", "-1"], "--seed"),
        (["--world", "flat"], "--world"),
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

    monkeypatch.setattr(drift, "race", fail)
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


# The season


def test_season_prints_a_table_and_draws(tmp_path: Path) -> None:
    result = invoke("demo", "--world", "season", "--steps", "120", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert all(f" {name} " in result.stdout for name in season.season_policies())
    assert "The forecast of the next day" in result.stdout
    assert f"Wrote {tmp_path / 'season.png'}" in result.stdout
    with Image.open(tmp_path / "season.png") as still:
        still.verify()
        assert still.size == (1480, 1320)
    assert [path.name for path in tmp_path.iterdir()] == ["season.png"]


def test_one_step_of_a_season_is_enough(tmp_path: Path) -> None:
    arguments = ("demo", "--world", "season", "--steps", "1", "--out", str(tmp_path))
    assert invoke(*arguments).exit_code == 0


@pytest.fixture(scope="module")
def six_days() -> season.SeasonRun:
    return season.run_season(6 * season.DAY, 0, lambda: None)


def test_the_season_is_worth_knowing(six_days: season.SeasonRun) -> None:
    means = {one.name: one.regrets.mean() for one in six_days.trajectories}
    assert means[season.SUM] < 0.6 * means[season.DRIFT] < 0.6 * means[season.STATIC]
    assert six_days.error(season.SUM) < six_days.error(season.DRIFT)


def test_the_parts_of_the_forecast_add_up(six_days: season.SeasonRun) -> None:
    whole = six_days.forecasts[season.SUM].mean
    np.testing.assert_allclose(sum(part.mean for part in six_days.parts.values()), whole)
    truth = sum(six_days.true_parts.values())
    np.testing.assert_allclose(truth, six_days.episode.values)
    assert len(six_days.episode.values) == six_days.horizon + season.DAY


def test_the_drift_alone_has_the_variance_and_one_step_of_the_sum() -> None:
    def moments(prior: ht.Prior) -> Array:
        model = SpaceTime(prior, ht.grid(3))
        return model.block(np.array([0.0, 1.0]), np.array([1, 1]), 0.0, np.array([1]))[:, 0]

    np.testing.assert_allclose(moments(season.drift_prior()), moments(season.whole_prior()))
