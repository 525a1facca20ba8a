"""Estimation of priors and models: from logged data, or from results while tracking.

Logged data give a prior by maximum likelihood (:func:`fit`, :func:`empirical_prior`). While
tracking, policies estimate a :class:`Model` from their results again and again
(:func:`estimate_model`). What logged data need is imported on first use.
"""

from typing import TYPE_CHECKING

from heliotrope.estimation.changes import (
    CONSIDERED as CONSIDERED,
    Change as Change,
    Regime as Regime,
    contradicted as contradicted,
    follows as follows,
    is_placeholder as is_placeholder,
    latest_change as latest_change,
    surprising as surprising,
)
from heliotrope.estimation.model import Model as Model, is_estimate_due as is_estimate_due
from heliotrope.estimation.results import (
    FEWEST_WITH_FAULTS as FEWEST_WITH_FAULTS,
    IMPLAUSIBLE as IMPLAUSIBLE,
    Results as Results,
    usual_noise as usual_noise,
)
from heliotrope.estimation.world import (
    INDEPENDENT as INDEPENDENT,
    KernelName as KernelName,
    OneTerm as OneTerm,
    World as World,
    per_result as per_result,
)
from heliotrope.estimation.worlds import (
    estimate_model as estimate_model,
    estimate_world as estimate_world,
)
from heliotrope.lazy import lazy_names

if TYPE_CHECKING:
    from heliotrope.estimation.data import (
        Data as Data,
        Observations as Observations,
        Panel as Panel,
    )
    from heliotrope.estimation.empirical import (
        Empirical as Empirical,
        empirical_prior as empirical_prior,
    )
    from heliotrope.estimation.fitting import Fit as Fit, fit as fit
    from heliotrope.estimation.intervals import Estimate as Estimate
    from heliotrope.estimation.likelihood import (
        gradient as gradient,
        log_likelihood as log_likelihood,
    )
else:  # otherwise a misspelled name would pass a type check
    __getattr__ = lazy_names(
        __name__,
        {
            "data": ("Data", "Observations", "Panel"),
            "empirical": ("Empirical", "empirical_prior"),
            "fitting": ("Fit", "fit"),
            "intervals": ("Estimate",),
            "likelihood": ("gradient", "log_likelihood"),
        },
    )
