"""A bound of the regret along the actual path of an optimizer (the proof of thm:general).

If f_t lies within sqrt(beta_t) std of its mean at all points, then for any choice x_t

    r_t <= max_x u_t(x) - l_t(x_t),   u_t, l_t = mean +- sqrt(beta_t) std given the earlier results,

which is 2 sqrt(beta_t) std(x_t) if x_t maximizes u_t (eq:gb5_3). With a theorem's beta this holds
at all steps with probability 1 - delta. In the theorem for convex domains each step adds 1 / t^2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf, pi, sqrt

import numpy as np

from heliotrope.acquisition import UCB, FiniteBeta, TVBeta
from heliotrope.domains import Domain, Finite, Places
from heliotrope.errors import InputError
from heliotrope.ledger import Observation, Suggestion
from heliotrope.memory import KeepAll
from heliotrope.policies.gp import GPAgent, GPPolicy
from heliotrope.policies.protocol import TOLD_AT_ONCE, Policy
from heliotrope.terms import CHOICE
from heliotrope.validation import Array, short_repr

__all__ = ["Certificate", "certify"]

_ADVICE = (
    "Use TV-GP-UCB or GP-UCB with beta = FiniteBeta(points, delta) over a Finite domain, or "
    "TVBeta(delta, dimension, r, a, b), both in heliotrope.acquisition."
)


@dataclass(frozen=True, eq=False)
class Certificate:
    """An upper bound of the regret so far, the sum of ``by_step``, one value per suggestion.

    It holds with at least this ``probability`` if the ``assumptions`` do.
    """

    probability: float
    by_step: Array
    assumptions: tuple[str, ...]

    @property
    def steps(self) -> int:
        """The number of suggestions."""
        return len(self.by_step)

    @property
    def bound(self) -> float:
        """The bound of the regret so far."""
        return float(self.by_step.sum())

    @property
    def per_step(self) -> float:
        """The bound of the average regret; 0 without suggestions."""
        return self.bound / max(self.steps, 1)

    def __str__(self) -> str:
        return (
            f"With probability {self.probability:.3g} the regret of {self.steps} step(s) is at "
            f"most {self.bound:.4g}, {self.per_step:.4g} per step, if: {' '.join(self.assumptions)}"
        )


def certify(
    policy: Policy, domain: Domain, events: Iterable[Observation | Suggestion]
) -> Certificate:
    """Bound the regret of the suggestions among events; other observations are only data.

    Each is judged by all results of earlier times, whenever they were told.
    """
    covered, beta = _certifiable(policy, domain)
    ordered = sorted(events, key=lambda event: (event.t, inf if event.id is None else event.id))
    times = np.array([event.t for event in ordered if event.id is not None])
    probability = _probability(beta.delta, times)
    agent = replace(covered, first=None).start(domain)
    by_step = np.array(list(_gaps(agent, beta, domain, ordered)), dtype=float)
    return Certificate(probability, by_step, _assumptions(beta, domain))


def _certifiable(policy: Policy, domain: Domain) -> tuple[GPPolicy, FiniteBeta | TVBeta]:
    """The policy and its beta, if the theorem covers them."""
    if not isinstance(policy, GPPolicy):
        raise InputError("a GP policy with a given prior", short_repr(policy), _ADVICE)
    if policy.learn is not None:
        raise InputError("a policy with a given drift", "one that learns its drift", _ADVICE)
    if not isinstance(policy.memory, KeepAll):
        raise InputError("a policy that keeps all results", short_repr(policy.memory), _ADVICE)
    acquisition = policy.acquisition
    beta = acquisition.beta if isinstance(acquisition, UCB) else None
    if not isinstance(beta, (FiniteBeta, TVBeta)):
        raise InputError("a UCB policy whose beta is a theorem's", short_repr(acquisition), _ADVICE)
    if isinstance(beta, FiniteBeta) and not _fits(beta, domain):
        got = f"{len(domain)} points" if isinstance(domain, Finite) else "a Box"
        raise InputError(f"a Finite domain of at most {beta.points} points", got, _ADVICE)
    return policy, beta


def _fits(beta: FiniteBeta, domain: Domain) -> bool:
    return isinstance(domain, Finite) and len(domain) <= beta.points


def _probability(delta: float, times: Array) -> float:
    """1 - delta sum_t 1 / pi_t over the actual times, at most 1 - delta."""
    if times.min(initial=inf) <= 0.0:
        raise InputError("times above 0", f"{times.min():g}", "Count time from 1.", "t")
    failure = delta * max(1.0, float((6.0 / (pi * times) ** 2).sum()))
    if failure >= 1.0:
        raise InputError(
            "times like 1, 2, 3, ..., for which the theorem's probabilities sum up",
            f"{len(times)} times from {times.min():g} on",
            "Count time in units of a step.",
            "t",
        )
    return 1.0 - failure


def _gaps(
    agent: GPAgent,
    beta: FiniteBeta | TVBeta,
    domain: Domain,
    events: Iterable[Observation | Suggestion],
) -> Iterator[float]:
    """The bound of the regret of each suggestion, given the events before it."""
    for event in events:
        place = event.x[None] if event.index is None else np.array([event.index])
        if event.id is not None:
            discretized = 1.0 / event.t**2 if isinstance(beta, TVBeta) else 0.0
            yield _gap(agent, domain, event.t, place, sqrt(beta(event.t))) + discretized
        if isinstance(event, Observation):
            agent.open(TOLD_AT_ONCE, event.t, place)
            agent.tell(TOLD_AT_ONCE, event.y, event.precision)


def _gap(agent: GPAgent, domain: Domain, t: float, place: Places, width: float) -> float:
    """max_x u_t(x) - l_t(x_t); in a Box x_t is taken as the maximizer."""
    mean, variance = agent.predict(t, place, count_open=False, part=CHOICE)
    reach = 2.0 * width * sqrt(variance[0])
    if not isinstance(domain, Finite):
        return reach
    upper = mean[0] + width * sqrt(variance[0])
    means, variances = agent.predict(t, domain.indices, count_open=False, part=CHOICE)
    return reach + max(float((means + width * np.sqrt(variances)).max()) - float(upper), 0.0)


def _assumptions(beta: FiniteBeta | TVBeta, domain: Domain) -> tuple[str, ...]:
    """What the bound assumes, in sentences."""
    model = (
        "f is drawn from the policy's prior, whose kernel, drift, mean and noise were not learned "
        "from these results.",
        "The noise is normal and independent.",
    )
    if isinstance(beta, FiniteBeta):
        return (*model, f"The regret is that to the best of {beta.points} points.")
    cube = (
        f"The domain lies in [0, {beta.r:g}]^{beta.dimension}, and a = {beta.a:.3g}, b = "
        f"{beta.b:.3g} are the kernel's constants (eq:k_deriv1)."
    )
    if isinstance(domain, Finite):
        return (*model, cube)
    return (
        *model,
        cube,
        "Every suggestion maximizes the upper confidence bound: each was told before the next ask.",
    )
