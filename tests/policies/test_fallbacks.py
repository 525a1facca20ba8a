"""If the numerics of a model fail, the last one that works stays in use, and this is said."""

from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

import heliotrope as ht
from heliotrope.errors import InputError, KernelError
from heliotrope.estimation import Model
from heliotrope.policies.auto import Tracking
from heliotrope.policies.gp import GPAgent
from heliotrope.storage import MemoryStore
from studies import twin_of

FAILURES = [np.linalg.LinAlgError("singular"), FloatingPointError("nan"), KernelError("a", "b")]


def value_at(x: float) -> float:
    return -((x - 0.3) ** 2)


def told(study: ht.Study, count: int) -> list[float]:
    """The places of some more results."""
    asked = list[float]()
    for _ in range(count):
        ask = study.ask()
        asked.append(ask.params["x"])
        study.tell(ask, value_at(asked[-1]))
    return asked


def new_study(store: MemoryStore | str = "memory:") -> ht.Study:
    return ht.Study.create("s", {"x": ht.Real(0, 1)}, store=store, seed=0)


def failing(error: Exception, works: Callable[[], bool] = lambda: False) -> Callable[..., Any]:
    """An estimate that fails unless ``works()``."""
    estimate = Tracking.estimate

    def try_to(self: Tracking, *arguments: Any) -> Model:
        if works():
            return estimate(self, *arguments)
        raise error

    return try_to


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_a_study_whose_every_estimate_fails_still_asks_and_says_so(
    monkeypatch: pytest.MonkeyPatch, fallbacks: Counter[str], error: Exception
) -> None:
    monkeypatch.setattr(Tracking, "estimate", failing(error))
    study = new_study()
    asked = told(study, 40)
    assert len(set(asked)) > 20
    assert abs(study.best_params["x"] - 0.3) < 0.1
    warning = study.summary().warning
    assert warning is not None
    assert type(error).__name__ in warning
    assert fallbacks["The estimate of the model"] == 8  # after 1, 2, 3, 5, 8, 12, 18, 27 results


@pytest.mark.usefixtures("fallbacks")
def test_the_next_estimate_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    works = {"now": False}
    monkeypatch.setattr(Tracking, "estimate", failing(FAILURES[0], lambda: works["now"]))
    study = new_study()
    told(study, 4)
    assert study.summary().warning is not None
    works["now"] = True
    told(study, 10)
    assert study.summary().warning is None
    assert study.summary().model["world"]["results"] > 4


@pytest.mark.parametrize("fails", ["tell", "open"])
def test_an_engine_that_fails_is_built_again(
    monkeypatch: pytest.MonkeyPatch, fallbacks: Counter[str], fails: str
) -> None:
    """No result is lost: the belief afterwards is about all of them."""
    step, calls = getattr(GPAgent, fails), count()

    def fail_once(self: GPAgent, *arguments: Any) -> None:
        if next(calls) == 30:
            raise np.linalg.LinAlgError("singular")
        step(self, *arguments)

    monkeypatch.setattr(GPAgent, fails, fail_once)
    study = new_study()
    told(study, 25)
    assert sum(fallbacks.values()) == 1
    assert study.summary().told == 25
    assert abs(study.best_params["x"] - 0.3) < 0.01


@pytest.mark.usefixtures("fallbacks")
@pytest.mark.parametrize("last", [8, 12], ids=["two models fail", "one model fails"])
def test_a_model_that_cannot_be_built_is_not_used(
    monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    """The study goes on with the model before it, and a replay of its log as well."""
    policy = Tracking.policy

    def refuse_later_models(self: Tracking, model: Model, *arguments: Any) -> Any:
        if model.world is not None and model.world.results > last:
            raise KernelError("a kernel", "another")
        return policy(self, model, *arguments)

    monkeypatch.setattr(Tracking, "policy", refuse_later_models)
    store = MemoryStore()
    study = new_study(store)
    told(study, 20)
    assert study.summary().model["world"]["results"] == last
    warning = study.summary().warning
    assert warning is not None
    assert "KernelError" in warning
    twin = twin_of(store, "s")
    assert twin.summary().warning == warning
    assert twin.ask().params == study.ask().params


def test_an_answer_that_fails_is_that_of_a_plain_model(
    monkeypatch: pytest.MonkeyPatch, fallbacks: Counter[str]
) -> None:
    study = new_study()
    told(study, 20)
    predict = GPAgent.predict

    def fail_for_worlds(self: GPAgent, *arguments: Any, **more: Any) -> Any:
        if len(self._policy.prior.terms) > 1:
            raise ZeroDivisionError("a variance of 0")
        return predict(self, *arguments, **more)

    monkeypatch.setattr(GPAgent, "predict", fail_for_worlds)
    belief = study.belief()
    assert fallbacks["The computation of an answer"] > 0
    assert np.isfinite(belief["mean"]).all()


def test_other_errors_pass_through(
    monkeypatch: pytest.MonkeyPatch, fallbacks: Counter[str]
) -> None:
    monkeypatch.setattr(Tracking, "estimate", failing(TypeError("a bug")))
    study = new_study()
    with pytest.raises(TypeError, match="a bug"):
        told(study, 2)
    assert not fallbacks


def test_a_prior_of_the_user_is_checked_when_it_is_given() -> None:
    prior = ht.Prior(noise=1e-7)
    with pytest.raises(InputError, match="noise variance of at least"):
        ht.Optimizer(ht.Box(0, 1), ht.tv_gp_ucb(prior))
