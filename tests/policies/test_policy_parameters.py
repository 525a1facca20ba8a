"""Policies from a learned model: all work, at any distance between results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

import heliotrope as ht
from heliotrope.estimation import Model, World
from heliotrope.policies import Named, Recipe, Tracking, WindowUCB, parameters
from heliotrope.policies.registry import REGISTRY
from strategies import fixed

RECIPES: dict[str, Recipe] = {
    "tracking": Tracking(),
    **{name: Named(name) for name, entry in REGISTRY.items() if entry.has_prior or entry.has_range},
}


@pytest.mark.parametrize("name", RECIPES)
@given(digits=st.floats(-12.0, 12.0), rate=st.floats(1e-5, 0.9))
@example(digits=-12.0, rate=1e-5)
@example(digits=-12.0, rate=0.9)
@example(digits=12.0, rate=1e-5)
@example(digits=12.0, rate=0.9)
@fixed(10)
def test_a_recipe_makes_a_policy_at_any_pace(name: str, digits: float, rate: float) -> None:
    model = Model(World.of_one_term(0.0, 1.0, 0.1, rate, (0.3,)), pace=10.0**digits)
    domain = ht.grid(4)
    policy = RECIPES[name].policy(model, model.epsilon, domain)
    optimizer = ht.Optimizer(domain, policy, seed=0)
    for step in range(1, 4):
        optimizer.tell(optimizer.ask(t=step * model.pace), float(np.cos(step)))
    assert len(optimizer.history) == 3


def test_weights_are_those_of_a_unit_of_time_and_never_nothing() -> None:
    assert parameters._after_a_unit(0.5, Model(pace=0.5)) == 0.25
    assert parameters._after_a_unit(0.5, Model(pace=1e-9)) > 0.0


def test_values_are_expected_within_three_deviations() -> None:
    model = Model(World.of_one_term(5.0, 0.9, 0.1, 0.01, (0.3,)))
    policy = Named("sw_ucb").policy(model, 0.01, ht.grid(5))
    assert isinstance(policy, WindowUCB)
    assert (policy.low, policy.high) == (2.0, 8.0)


def test_there_are_always_two_candidates_for_the_drift() -> None:
    assert parameters.candidate_drifts(Model()) == Model().epsilons()
    assert len(set(parameters.candidate_drifts(Model(pace=1e-12)))) == 2
