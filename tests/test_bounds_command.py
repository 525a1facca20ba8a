"""``heliotrope bounds``: what it prints, what it measures, and how it refuses."""

import re

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern
from typer.testing import CliRunner, Result

import heliotrope as ht
from heliotrope.cli import app
from heliotrope.environments import GPDrift, run
from heliotrope.errors import InputError
from heliotrope.theory import Problem, kernel_constants, report
from strategies import refusal

TINY = ("--side", "5", "--horizon", "12", "--trials", "2")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["bounds", *arguments], env={"COLUMNS": "140"})


def row(output: str, name: str) -> list[str]:
    line = next(line for line in output.splitlines() if name in line)
    return [cell.strip() for cell in re.split("[│┃]", line)[1:-1]]


def tiny_setting(trials: int = 3) -> report.Setting:
    kernel = RBF(0.3)
    problem = Problem(10, 0.05, 0.1, kernel_constants(kernel, 1), dimension=1)
    return report.Setting(kernel, problem, side=20, trials=trials, seed=4)


def test_it_prints_every_number() -> None:
    result = invoke(*TINY)
    assert result.exit_code == 0, result.output
    assert row(result.stdout, "points of the grid")[1] == "25"
    assert row(result.stdout, "N suggested")[1] == "12"
    assert row(result.stdout, "C_1")[1] == f"{8 / np.log(101):.3f}"
    assert "between" in row(result.stdout, "gamma~_T")[1]
    for equation in ("eq:general_bound", "eq:weakened2", "eq:general_bound_R"):
        *_, printed, corrected, measured = row(result.stdout, f"│ {equation} ")
        assert float(corrected) >= float(printed) > 2.0
        assert re.fullmatch(r"[\d.]+ ± [\d.]+", measured)
    for name in ("TV-GP-UCB", "R-GP-UCB", "GP-UCB", "genie", "random"):
        assert name in result.stdout
    assert "The tightest bound that holds for TV-GP-UCB" in result.stdout
    assert "playing" in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--kernel", "matern", "--nu", "1.5", "--dimension", "1"),
        ("--epsilon", "0"),
        ("--epsilon", "1"),
        ("--noise", "3"),
        ("--horizon", "1", "--trials", "1"),
        ("--side", "1"),
    ],
)
def test_settings_at_the_edge(options: tuple[str, ...]) -> None:
    result = invoke(*TINY, *options)
    assert result.exit_code == 0, result.output
    assert "nan" not in result.stdout


def test_same_seed_same_table() -> None:
    first = invoke(*TINY, "--seed", "1").stdout
    assert invoke(*TINY, "--seed", "1").stdout == first
    assert invoke(*TINY, "--seed", "2").stdout != first


def test_constants_may_be_given() -> None:
    result = invoke(*TINY, "--a1", "3", "--b1", "2.5", "--b0", "7")
    assert row(result.stdout, "a_1, b_1")[1] == "3, 2.5"
    a0 = kernel_constants(RBF(0.2), 2).a0
    assert row(result.stdout, "a_0, b_0")[1] == f"{a0:.3g}, 7"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--epsilon", "2"), "epsilon"),
        (("--noise", "0"), "noise"),
        (("--noise", "nan"), "noise"),
        (("--delta", "1"), "delta"),
        (("--length", "-1"), "length"),
        (("--kernel", "matern", "--nu", "1"), "nu = 1"),
        (("--a0", "-3"), "a0"),
    ],
)
def test_refusals_are_one_line(options: tuple[str, ...], said: str) -> None:
    result = invoke(*TINY, *options)
    assert result.exit_code == 1
    assert said in result.stderr
    assert result.stderr.startswith("heliotrope: expected ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.parametrize(
    "options", [("--kernel", "cubic"), ("--dimension", "3"), ("--trials", "0")]
)
def test_bad_options_are_named(options: tuple[str, ...]) -> None:
    result = invoke(*options)
    assert result.exit_code == 2
    assert options[0] in result.stderr


def test_measured_is_what_the_environments_run() -> None:
    setting, ticks = tiny_setting(), []
    measured = {(m.player, m.beta): m for m in report.simulate(setting, lambda: ticks.append(0))}
    assert len(ticks) == 3 * len(measured) == 3 * len(report.players(setting))
    policy = ht.tv_gp_ucb(setting.prior, ht.LogBeta(0.8, 4.0))
    world = GPDrift(setting.domain, setting.prior)
    averages = [
        np.mean([s.regret for s in run(policy, world.episode(10, seed), seed)])
        for seed in (4, 5, 6)
    ]
    mine = measured[report.TV, report.PRACTICAL]
    assert mine.mean == pytest.approx(np.mean(averages))
    assert mine.error == pytest.approx(np.std(averages, ddof=1) / np.sqrt(3))


def test_one_world_has_no_error() -> None:
    assert all(np.isnan(m.error) for m in report.simulate(tiny_setting(trials=1), lambda: None))


def test_the_verdict_follows_the_numbers() -> None:
    setting = tiny_setting()
    numbers, measured = report.theory(setting), report.simulate(setting, lambda: None)
    bound = min(b.corrected for b in numbers.bounds[:2]) / 10
    assert f"{bound:.3g} a step" in report.verdict(setting, numbers, measured)
    assert "promises no more" in report.verdict(setting, numbers, measured)
    awful = [report.Measured(m.player, m.beta, 1e6, m.error) for m in measured]
    assert "promises more" in report.verdict(setting, numbers, awful)


def test_named_kernels() -> None:
    assert report.named_kernel("se", 0.3, 1.0) == RBF(0.3)
    assert report.named_kernel("matern", 0.3, 2.5) == Matern(0.3, nu=2.5)
    with refusal(InputError):
        report.named_kernel("cubic", 0.3, 2.5)
