"""Policies made from a learned model: every one works, however far apart the results are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

import heliotrope as ht
from heliotrope.estimation import Model
from heliotrope.policies import Named, Recipe, Tracking
from heliotrope.policies.registry import REGISTRY
from strategies import fixed

RECIPES: dict[str, Recipe] = {
    "tracking": Tracking(),
    **{name: Named(name) for name, entry in REGISTRY.items() if entry.basis.is_learned},
}


@pytest.mark.parametrize("name", RECIPES)
@given(digits=st.floats(-12.0, 12.0), rate=st.floats(1e-5, 0.9))
@example(digits=-12.0, rate=1e-5)
@example(digits=-12.0, rate=0.9)
@example(digits=12.0, rate=1e-5)
@example(digits=12.0, rate=0.9)
@fixed(10)
def test_a_recipe_makes_a_policy_at_any_pace(name: str, digits: float, rate: float) -> None:
    model = Model(pace=10.0**digits, rate=rate)
    domain = ht.grid(4)
    policy = RECIPES[name].policy(model, model.epsilon, domain)
    optimizer = ht.Optimizer(domain, policy, seed=0)
    for step in range(1, 4):
        optimizer.tell(optimizer.ask(t=step * model.pace), float(np.cos(step)))
    assert len(optimizer.history) == 3
