"""The registry: complete, the only list of policy names, and the source of the docs' table."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

import heliotrope as ht
from heliotrope import policies
from heliotrope.errors import InputError
from heliotrope.estimation import Model, World
from heliotrope.policies import Adaptive
from heliotrope.policies.parameters import OF_MODEL, PARAMETERS, RULES
from heliotrope.policies.registry import AUTO, BASELINE, PARAMETRIC, REGISTRY, Named, as_markdown
from heliotrope.study import PolicyChoice

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "heliotrope"
SOURCES = {path.relative_to(PACKAGE): path.read_text() for path in PACKAGE.rglob("*.py")}


def test_every_factory_is_registered() -> None:
    factories = {
        name
        for name in dir(policies)
        if inspect.isfunction(made := getattr(policies, name))
        and get_type_hints(made)["return"] not in (int, float)
    }
    assert factories == set(REGISTRY)
    assert all(getattr(policies, name) is entry.factory for name, entry in REGISTRY.items())


def test_the_roles() -> None:
    assert (AUTO.name, PARAMETRIC.name, BASELINE.name) == ("auto", "tv_gp_ucb", "uniform")


@pytest.mark.parametrize("name", REGISTRY)
def test_parameters_are_the_factory_s_or_the_model_s(name: str) -> None:
    entry = REGISTRY[name]
    taken = set(inspect.signature(entry.factory).parameters)
    assert set(entry.parameters) <= {*PARAMETERS, *OF_MODEL}
    own = {*entry.parameters} - {"epsilon", *OF_MODEL}
    assert own <= taken
    assert set(entry.rules) <= taken
    needed = [
        one.name
        for one in inspect.signature(entry.factory).parameters.values()
        if one.default is inspect.Parameter.empty
    ]
    assert set(needed) <= set(RULES)


@pytest.mark.parametrize("name", REGISTRY)
def test_every_policy_learns_its_parameters(name: str) -> None:
    domain = ht.grid(4)
    optimizer = ht.Optimizer(domain, REGISTRY[name].adaptive(domain), seed=0)
    optimizer.tell(optimizer.ask(), 1.0)


@pytest.mark.parametrize("name", REGISTRY)
def test_studies_have_the_kinds_of_the_registry(name: str) -> None:
    entry = REGISTRY[name]
    given = {"low": 0.0, "high": 1.0, "batch": 5.0} if entry.has_range else {}
    if entry.in_studies:
        assert PolicyChoice(name, given).entry is entry
    else:
        with pytest.raises(InputError, match="a kind among"):
            PolicyChoice(name)


def test_what_has_no_recipe_is_refused() -> None:
    for name in (AUTO.name, "best"):
        with pytest.raises(InputError, match=f"got '{name}'"):
            Named(name)


def test_the_table_of_the_docs_is_the_registry_s() -> None:
    assert as_markdown() in (ROOT / "docs" / "explanation" / "algorithms.md").read_text()


@pytest.mark.parametrize("name", [name for name in REGISTRY if name != "auto"])
def test_a_name_is_spelled_where_it_is_defined_and_in_the_registry(name: str) -> None:
    defined = inspect.getsourcefile(REGISTRY[name].factory)
    assert defined is not None
    allowed = {Path(defined).relative_to(PACKAGE), Path("policies", "registry.py")}
    if hasattr(ht, name):
        allowed.add(Path("__init__.py"))
    said = re.compile(rf"(?<![\w.]){name}\b(?! before data)")
    others = {path for path, text in SOURCES.items() if said.search(text)} - allowed
    assert {path for path in others if path.parts[0] != "lab"} == set()
    for path in others:  # the lab calls the policies of the paper
        assert not re.search(rf"""["'`]{name}\b""", SOURCES[path]), path


@pytest.mark.parametrize(
    "wrong",
    ["{", "[1]", 5, {"eps": 1}, {"epsilon": -1.0}, {"length_scale": "long"}, {"beta": object()}],
)
def test_wrong_parameters_of_a_recipe_are_refused(wrong: Any) -> None:
    with pytest.raises(InputError):
        Named("tv_gp_ucb", wrong)


def test_equal_parameters_make_equal_recipes() -> None:
    texts = ['{"noise": 0.1, "mean": 1}', '{"mean":1,"noise":0.10}']
    recipes = [Named("tv_gp_ucb", text) for text in texts]
    assert recipes[0] == recipes[1] == Named("tv_gp_ucb", {"noise": 0.1, "mean": 1, "kernel": None})
    lengths = Named("tv_gp_ucb", {"length_scale": np.array([0.2, 0.3])})
    assert lengths == Named("tv_gp_ucb", '{"length_scale": [0.2, 0.3]}')
    with pytest.raises(InputError, match="one for each of the 1"):
        ht.Optimizer(ht.Box(0, 1), Adaptive(lengths))


@pytest.mark.parametrize("pace", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_given_parameters_are_those_of_a_policy_at_any_pace(pace: float) -> None:
    model = Model(World.of_one_term(0.0, 1.0, 0.1, 0.02, (0.3,)), pace)
    given = {"cp_gp_ucb": {"hazard": 0.1}, "wgp_ucb": {"weight": 0.9}, "r_gp_ucb": {"every": 5.0}}
    for name, parameters in given.items():
        Named(name, parameters).policy(model, model.epsilon, ht.grid(3))


def test_null_is_like_a_parameter_that_is_not_given() -> None:
    nulls = {"epsilon": None, "kernel": None, "beta": None, "noise": 0.1}
    assert PolicyChoice("tv_gp_ucb", nulls).recipe() == Named("tv_gp_ucb", {"noise": 0.1})
