"""A policy for values with the opposite sign."""

from dataclasses import replace

from heliotrope.policies.elimination import PriorElimination
from heliotrope.policies.gp import GPPolicy
from heliotrope.policies.model_free import RangedPolicy
from heliotrope.policies.protocol import Policy
from heliotrope.priors import Prior


def minimizing(policy: Policy) -> Policy:
    """Return the policy to show -y to: its prior means and its ranges of values change sign.

    Other policies learn what they need from the values, and are returned unchanged.
    """
    match policy:
        case GPPolicy():
            low, high = -policy.high, -policy.low
            return replace(policy, prior=_negated(policy.prior), low=low, high=high)
        case PriorElimination():
            return replace(policy, priors=[_negated(prior) for prior in policy.priors])
        case RangedPolicy():
            return replace(policy, low=-policy.high, high=-policy.low)
    return policy


def _negated(prior: Prior) -> Prior:
    return Prior(terms=prior.terms, noise=prior.noise, mean=-prior.mean)
