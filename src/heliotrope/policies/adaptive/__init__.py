"""Policies whose parameters are learned while they track: one model, re-estimated."""

from heliotrope.policies.adaptive.policy import Adaptive
from heliotrope.policies.adaptive.protocol import Recipe
from heliotrope.policies.adaptive.recipes import NAMES, Named, auto, lasting_beta, policy_named

__all__ = ["NAMES", "Adaptive", "Named", "Recipe", "auto", "lasting_beta", "policy_named"]
