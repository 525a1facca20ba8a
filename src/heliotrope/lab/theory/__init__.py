"""The paper's theorems in numbers: information gains, regret bounds, rates, and the genie."""

from heliotrope.lab.theory.bounds import (
    Assumptions,
    RegretBound,
    finite_bound,
    psi,
    r_bound,
    tv_block_bound,
    tv_bound,
)
from heliotrope.lab.theory.constants import KernelConstants, kernel_constants
from heliotrope.lab.theory.gains import (
    Gain,
    GainCurve,
    gain_curve,
    greedy_gain,
    max_information_gain,
)
from heliotrope.lab.theory.genie import genie_bound, run_genie
from heliotrope.lab.theory.information import (
    Corrected,
    DriftInformation,
    drift_information,
    mutual_information,
    sequential_information,
)
from heliotrope.lab.theory.rates import (
    Rate,
    block_length,
    complexity,
    corrected_tv_rate,
    r_rate,
    tight_tv_rate,
    tv_rate,
)

__all__ = [
    "Assumptions",
    "Corrected",
    "DriftInformation",
    "Gain",
    "GainCurve",
    "KernelConstants",
    "Rate",
    "RegretBound",
    "block_length",
    "complexity",
    "corrected_tv_rate",
    "drift_information",
    "finite_bound",
    "gain_curve",
    "genie_bound",
    "greedy_gain",
    "kernel_constants",
    "max_information_gain",
    "mutual_information",
    "psi",
    "r_bound",
    "r_rate",
    "run_genie",
    "sequential_information",
    "tight_tv_rate",
    "tv_block_bound",
    "tv_bound",
    "tv_rate",
]
