"""The tables that ``heliotrope bounds`` prints."""

from collections.abc import Callable
from math import isnan

from rich.table import Table

from heliotrope.errors import HeliotropeError
from heliotrope.kernels import SpaceKernel
from heliotrope.lab.theory.bounds import RegretBound
from heliotrope.lab.theory.gains import Gain
from heliotrope.lab.theory.rates import (
    Rate,
    complexity,
    corrected_tv_rate,
    r_rate,
    tight_tv_rate,
    tv_rate,
)
from heliotrope.lab.theory.report import TV, MeasuredRegret, R, Setting, Theory


def theory_table(setting: Setting, numbers: Theory) -> Table:
    """The quantities in the bounds."""
    assumptions, k = setting.assumptions, setting.assumptions.constants
    tv_block = numbers.bounds[1]
    table = Table(
        title=f"{setting.kernel}, epsilon {assumptions.epsilon:g}, T = {assumptions.horizon}"
    )
    table.add_column("quantity")
    table.add_column("value", justify="right")
    rows = {
        "grid points": f"{len(setting.domain)}",
        "noise variance sigma^2, delta": f"{assumptions.noise:g}, {assumptions.delta:g}",
        "a_0, b_0 (eq:k_deriv0)": f"{k.a0:.3g}, {k.b0:.3g}",
        "a_1, b_1 (eq:k_deriv1)": f"{k.a1:.3g}, {k.b1:.3g}",
        "a_2, b_2 (eq:k_deriv2)": "not covered" if k.a2 is None else f"{k.a2:.3g}, {k.b2:.3g}",
        "C_1": f"{assumptions.c1:.3f}",
        "beta_T of TV-GP-UCB (eq:beta_T)": f"{numbers.tv_beta:.1f}",
        "beta_T of R-GP-UCB (eq:beta_T_R)": f"{numbers.r_beta:.1f}",
        "gamma_T (eq:gamma_TI)": _between(numbers.static_gain),
        "gamma~_T (eq:gamma)": _between(numbers.drifting_gain),
        "N~ that minimizes eq:weakened2, printed": f"{tv_block.printed_block}",
        "N~ that minimizes eq:weakened2, corrected": f"{tv_block.corrected_block}",
        "N~ that minimizes eq:weakened2, tight": f"{tv_block.tight_block}",
        "N for R-GP-UCB (cor:specific)": f"{setting.block}",
        "drift term of N steps, printed": f"{numbers.drift.printed:.1f}",
        "drift term of N steps, corrected": f"{numbers.drift.corrected:.1f}",
        "drift term of N steps, tight": f"{numbers.drift.tight:.1f}",
        "psi_T(N, epsilon), printed": f"{numbers.psi.printed:.3g}",
        "psi_T(N, epsilon), corrected": f"{numbers.psi.corrected:.3g}",
        "c of gamma_N = O(N^c)": f"{complexity(setting.kernel, assumptions.dimension):.3g}",
        "order of R_T, R-GP-UCB (cor:specific)": _rate(r_rate, setting),
        "order of R_T, TV-GP-UCB (cor:specific)": _rate(tv_rate, setting),
        "order of R_T, TV-GP-UCB, corrected": _rate(corrected_tv_rate, setting),
        "order of R_T, TV-GP-UCB, tight": _rate(tight_tv_rate, setting),
        "lower bound of regret per step (thm:conv)": f"{numbers.lower:.2g}",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def bounds_table(setting: Setting, numbers: Theory) -> Table:
    """Each bound of the regret per step."""
    probability = f"{1.0 - setting.assumptions.delta:g}"
    table = Table(title=f"Bounds of R_T / T, each with probability {probability}")
    table.add_column("bound", overflow="fold")  # truncated equations could look the same
    table.add_column("policy")
    for heading in ("printed", "corrected", "tight"):
        table.add_column(heading, justify="right", no_wrap=True)
    for policy, bound in zip((TV, TV, R), numbers.bounds, strict=True):
        equation, *forms = _forms(bound, setting.assumptions.horizon)
        table.add_row(equation, policy, *forms)
    table.add_row("thm:conv, a lower bound", "any", "", f"{numbers.lower:.2g}", "")
    return table


def regret_table(setting: Setting, measured: list[MeasuredRegret]) -> Table:
    """The measured regret per step."""
    worlds = "1 world" if setting.trials == 1 else f"{setting.trials} worlds"
    table = Table(title=f"Measured R_T / T in {worlds}")
    table.add_column("policy", overflow="fold")
    table.add_column("beta", no_wrap=True)
    table.add_column("measured", justify="right", no_wrap=True)
    for one in measured:
        table.add_row(one.strategy, one.beta, _with_error(one))
    return table


def _forms(bound: RegretBound, horizon: int) -> list[str]:
    """The equation, and its three forms per step."""
    forms = (bound.printed, bound.corrected, bound.tight)
    return [bound.equation, *("" if f is None else f"{f / horizon:.4g}" for f in forms)]


def _rate(rate: Callable[[SpaceKernel, int], Rate], setting: Setting) -> str:
    """max(T^p, T epsilon^q), if the corollary covers the kernel."""
    try:
        found = rate(setting.kernel, setting.assumptions.dimension)
    except HeliotropeError:
        return "not covered"
    return f"max(T^{found.horizon_exponent:.3g}, T epsilon^{found.drift_exponent:.3g})"


def _between(gain: Gain) -> str:
    if gain.exact:
        return f"{gain.lower:.2f}"
    return f"between {gain.lower:.1f} and {gain.upper:.1f}"


def _with_error(one: MeasuredRegret) -> str:
    error = "" if isnan(one.error) else f" ± {one.error:.2g}"
    return f"{one.mean:.3g}{error}"
