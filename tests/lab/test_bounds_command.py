"""``heliotrope bounds``: output, measurements and errors."""

import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

import heliotrope as ht
from heliotrope.cli import app
from heliotrope.errors import InputError
from heliotrope.kernels import RBF, Matern
from heliotrope.lab.environments import GPDrift, play
from heliotrope.lab.theory import (
    Assumptions,
    KernelConstants,
    gain_curve,
    gains,
    kernel_constants,
    max_information_gain,
    r_bound,
    report,
    sweep,
    tv_block_bound,
)
from strategies import refusal

TINY = ("--side", "5", "--horizon", "12", "--trials", "2")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["bounds", *arguments], env={"COLUMNS": "140"})


def row(output: str, name: str) -> list[str]:
    line = next(line for line in output.splitlines() if name in line)
    return [cell.strip() for cell in re.split("[│┃]", line)[1:-1]]


def tiny_setting(trials: int = 3) -> report.Setting:
    kernel = RBF(0.3)
    assumptions = Assumptions(10, 0.05, 0.1, kernel_constants(kernel, 1), dimension=1)
    return report.Setting(kernel, assumptions, side=20, trials=trials, seed=4)


def test_it_prints_every_number() -> None:
    result = invoke(*TINY)
    assert result.exit_code == 0, result.output
    assert row(result.stdout, "grid points")[1] == "25"
    assert row(result.stdout, "N for R-GP-UCB")[1] == "12"
    assert row(result.stdout, "C_1")[1] == f"{8 / np.log(101):.3f}"
    assert "between" in row(result.stdout, "gamma~_T")[1]
    for name in ("sigma^2, delta", "a_2, b_2", "psi_T(N, epsilon), corrected", "c of gamma_N"):
        assert row(result.stdout, name)[1]
    assert row(result.stdout, "order of R_T, TV-GP-UCB, tight")[1] == "max(T^0.5, T epsilon^0.25)"
    assert 0.0 < float(row(result.stdout, "thm:conv)")[1]) < 0.01
    rough = invoke(*TINY, "--kernel", "matern", "--nu", "1.5")
    assert row(rough.stdout, "order of R_T, TV-GP-UCB (cor:specific)")[1] == "not covered"
    assert row(rough.stdout, "a_2, b_2")[1] == "not covered"
    for equation in ("eq:general_bound", "eq:weakened2", "eq:general_bound_R"):
        *_, printed, corrected, tight = row(result.stdout, f"│ {equation} ")
        assert min(float(corrected), float(printed)) > 2.0
        assert (tight != "") == (equation == "eq:weakened2")
        assert tight == "" or float(tight) <= float(corrected)
    regrets = result.stdout.partition("Measured R_T / T in 2 worlds")[2]
    for name in ("TV-GP-UCB", "R-GP-UCB", "GP-UCB", "genie", "a random point"):
        assert re.fullmatch(r"[\d.]+ ± [\d.e-]+", row(regrets, f"│ {name} ")[-1])
    assert "The tightest valid bound for TV-GP-UCB" in result.stdout
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
        ("--noise", "1e90"),
        ("--noise", "1e-9"),
        ("--length", "1e90"),
        ("--length", "1e-60", "--dimension", "1"),
        ("--kernel", "matern", "--nu", "1.1"),
        ("--kernel", "matern", "--nu", "0.5", "--a0", "2", "--b0", "2", "--a1", "2", "--b1", "9"),
        ("--kernel", "matern", "--nu", "0.5", "--a1", "2", "--b1", "9"),
        ("--seed", f"{2**63 - 2}"),
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
        (("--kernel", "matern", "--nu", "1.0001"), "nu = 1.0001"),
        (("--kernel", "matern", "--nu", "0.5", "--a0", "2", "--b0", "2", "--a1", "2"), "nu = 0.5"),
        (("--kernel", "matern", "--nu", "1e9"), "Matern"),
        (("--length", "1e-200"), "length scale 1e-200"),
        (("--length", "1e-200", "--kernel", "matern"), "length scale 1e-200"),
        (("--noise", "1e-200"), "noise"),
        (("--side", "300"), "300^2"),
        (("--seed", f"{2**63 - 1}"), "seed"),
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
    "options", [("--kernel", "cubic"), ("--dimension", "13"), ("--trials", "0")]
)
def test_bad_options_are_named(options: tuple[str, ...]) -> None:
    result = invoke(*options)
    assert result.exit_code == 2
    assert options[0] in result.stderr


def test_measured_is_what_the_environments_run() -> None:
    setting, ticks = tiny_setting(), []
    measured = {(m.strategy, m.beta): m for m in report.simulate(setting, lambda: ticks.append(0))}
    assert len(ticks) == 3 * len(measured) == 3 * len(report.strategies(setting))
    policy = ht.tv_gp_ucb(setting.prior, ht.LogBeta(0.8, 4.0))
    world = GPDrift(setting.domain, setting.prior)
    averages = [
        np.mean([s.regret for s in play(policy, world.episode(10, seed), seed)])
        for seed in (4, 5, 6)
    ]
    mine = measured[report.TV, report.PRACTICAL]
    assert mine.mean == pytest.approx(np.mean(averages))
    assert mine.error == pytest.approx(np.std(averages, ddof=1) / np.sqrt(3))


def test_one_world_has_no_error() -> None:
    assert all(np.isnan(m.error) for m in report.simulate(tiny_setting(trials=1), lambda: None))


def test_the_summary_follows_the_numbers() -> None:
    setting = tiny_setting()
    numbers, measured = report.theory(setting), report.simulate(setting, lambda: None)
    bound = min(b.valid for b in numbers.bounds[:2]) / 10
    assert f"{bound:.3g} per step" in report.summarize_bounds(setting, numbers, measured)
    assert "The bound is no better" in report.summarize_bounds(setting, numbers, measured)
    awful = [report.MeasuredRegret(m.strategy, m.beta, 1e6, m.error) for m in measured]
    assert "The bound is better" in report.summarize_bounds(setting, numbers, awful)


def test_narrow_terminals_lose_nothing() -> None:
    result = CliRunner().invoke(app, ["bounds", *TINY], env={"COLUMNS": "60"})
    assert "…" not in result.stdout
    names = ("TV-GP-UCB", "R-GP-UCB", "a random point", "theorem", "0.8 log(4 t)", "eq:weakened2")
    for name in names:  # none is broken
        assert f"│ {name} " in result.stdout
    assert "in 2 worlds" in result.stdout
    assert "in 1 world\n" in re.sub(" +\n", "\n", invoke(*TINY, "--trials", "1").stdout)


def test_each_gain_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    setting, runs, greedy = tiny_setting(), [], gains._greedy
    T = setting.assumptions.horizon

    def counted(prior: ht.Prior, domain: ht.Finite, steps: int) -> object:
        runs.append(prior.time)
        return greedy(prior, domain, steps)

    monkeypatch.setattr(gains, "_greedy", counted)
    numbers = report.theory(setting)
    assert runs == [ht.Static(), ht.Forgetting(0.05)]
    still = setting.prior.with_time(ht.Static())
    assert numbers.static_gain == max_information_gain(still, setting.domain, T)
    assert numbers.drifting_gain == max_information_gain(setting.prior, setting.domain, T)
    curve = gain_curve(setting.prior, setting.domain, T).upper
    assert numbers.bounds[1] == tv_block_bound(setting.assumptions, curve)
    assert numbers.bounds[2] == r_bound(
        setting.assumptions, setting.block, curve[setting.block - 1]
    )


def test_constants_are_those_of_the_cube() -> None:
    nothing = dict.fromkeys(("a0", "b0", "a1", "b1"))
    kernel = RBF(0.3)
    assert report.constants(kernel, 2, nothing) == kernel_constants(kernel, 2)
    assert report.constants(kernel, 2, nothing, r=5.0) == kernel_constants(kernel, 2, r=5.0)
    assert kernel_constants(kernel, 2, r=5.0).a0 > kernel_constants(kernel, 2).a0
    given = KernelConstants(1.0, 2.0, 3.0, 4.0)
    assert report.constants(Matern(0.3, nu=0.5), 2, asdict(given)) == given


@pytest.mark.parametrize(
    "change",
    [
        {"kernel": None},
        {"assumptions": None},
        {"side": 10_001},
        {"trials": 0},
        {"seed": -1},
        {"assumptions": replace(tiny_setting().assumptions, dimension=10**9), "side": 1},
    ],
)
def test_settings_are_checked(change: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        replace(tiny_setting(), **change)


def test_named_kernels() -> None:
    assert report.named_kernel("se", 0.3, 1.0) == RBF(0.3)
    assert report.named_kernel("matern", 0.3, 2.5) == Matern(0.3, nu=2.5)
    with refusal(InputError):
        report.named_kernel("cubic", 0.3, 2.5)


def test_the_picture_over_epsilon(tmp_path: Path) -> None:
    path = tmp_path / "bounds.png"
    result = invoke("--side", "4", "--horizon", "4", "--trials", "2", "--picture", str(path))
    assert result.exit_code == 0, result.output
    assert f"Wrote {path}" in result.stdout.replace("\n", "")
    with Image.open(path) as picture:
        assert min(picture.size) > 300


def test_the_sweep_has_the_bounds_of_each_epsilon() -> None:
    setting = tiny_setting(trials=1)
    rows = sweep.sweep(setting, lambda: None)
    assert [row.epsilon for row in rows] == list(sweep.EPSILONS)
    gains = gain_curve(setting.prior, setting.domain, 10).upper
    for row in rows:
        assumptions = replace(setting.assumptions, epsilon=row.epsilon)
        assert row.bound == tv_block_bound(assumptions, gains)
        assert [(one.strategy, one.beta) for one in row.measured] == list(sweep.COMPARED)
