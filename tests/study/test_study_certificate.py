"""The certificate of a study: shown if everything that it assumes is given."""

from __future__ import annotations

from typing import Any

import pytest

import heliotrope as ht
from heliotrope.errors import InputError

GIVEN: dict[str, Any] = {
    "kind": "tv_gp_ucb",
    "epsilon": 0.05,
    "mean": 0.0,
    "variance": 1.0,
    "noise": 0.1,
    "beta": {"points": 3, "delta": 0.1},
}


def study_with(policy: dict[str, Any]) -> ht.Study:
    study = ht.Study.create("pages", ["a", "b", "c"], policy=policy, store="memory:")
    for value in (0.3, -0.2, 0.9, 0.4, 1.1):
        study.tell(study.ask().id, value)
    return study


def test_a_study_with_everything_given_has_a_certificate() -> None:
    found = study_with(GIVEN).track()["certificate"]
    assert (found["steps"], found["probability"]) == (5, 0.9)
    assert found["per_step"] == pytest.approx(found["bound"] / 5)
    assert 0.0 < found["per_step"] < 10.0
    assert "3 points" in found["assumptions"][-1]


def test_it_is_that_of_an_optimizer_with_the_same_results() -> None:
    study = study_with(GIVEN)
    rows = study.track()["results"]
    prior = ht.Prior(
        ht.Tabulated([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), ht.Forgetting(0.05), noise=0.1
    )
    beta = ht.acquisition.FiniteBeta(3, 0.1)
    opt = ht.Optimizer(ht.Finite([[0.0], [1.0], [2.0]]), ht.tv_gp_ucb(prior, beta))
    for row in rows:
        opt.tell(opt.begin("abc".index(row["option"]), row["t"]), row["value"])
    bound = study.track()["certificate"]["bound"]
    assert opt.certificate().bound == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize("missing", ["epsilon", "noise", "beta"])
def test_without_a_given_part_there_is_none(missing: str) -> None:
    policy = {name: value for name, value in GIVEN.items() if name != missing}
    assert study_with(policy).track()["certificate"] is None


def test_schedules_as_json() -> None:
    for beta in ({"c1": 0.8, "c2": 4.0}, {"a": 2.0, "b": 9.0, "delta": 0.2}, 3.0):
        study_with(GIVEN | {"beta": beta})
    for wrong in ({"delta": 0.1}, {"points": 3, "c1": 1.0}, {}, {"points": 0}):
        with pytest.raises(InputError):
            study_with(GIVEN | {"beta": wrong})
