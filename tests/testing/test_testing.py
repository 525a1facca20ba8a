"""The laws of policies: every policy of the package keeps them; faulty ones are detected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import pytest

import heliotrope as ht
from heliotrope.domains import Choices, Domain, Places
from heliotrope.errors import InputError
from heliotrope.policies import NoPosterior, Policy
from heliotrope.policies.registry import REGISTRY
from heliotrope.posterior import BoxOptions, DenseOptions
from heliotrope.precision import USUAL, Precision
from heliotrope.serialization.codec import State, register
from heliotrope.surroundings import RNGFactory
from heliotrope.testing import LAWS, BrokenLaw, check_policy
from heliotrope.validation import Array
from strategies import PRIOR, refusal, smooth_time, square

GRID, SQUARE = ht.grid(4, 4), square()
SMALL = BoxOptions(budget=20)
CASES: dict[str, tuple[Policy, Domain]] = {
    "auto": (ht.auto(GRID), GRID),
    "uniform": (ht.uniform(), GRID),
    "uniform, box": (ht.uniform(), SQUARE),
    "gp_ucb": (ht.gp_ucb(PRIOR), GRID),
    "r_gp_ucb": (ht.r_gp_ucb(PRIOR, 5), GRID),
    "tv_gp_ucb": (ht.tv_gp_ucb(PRIOR, first="random"), GRID),
    "tv_gp_ucb, box": (ht.tv_gp_ucb(PRIOR, engine=SMALL), SQUARE),
    "tv_gp_ucb, smooth time": (ht.tv_gp_ucb(smooth_time()), GRID),
    "tv_gp_ucb, dense": (ht.tv_gp_ucb(PRIOR, engine=DenseOptions(window=9)), GRID),
    "tv_gp_ucb, reference": (ht.tv_gp_ucb(PRIOR, engine="reference"), GRID),
    "tv_gp_ucb, learning": (ht.tv_gp_ucb(PRIOR, learn=ht.Learn([0.01, 0.1])), GRID),
    "tv_safe_opt": (ht.policies.tv_safe_opt(PRIOR, -1.0, first=0), GRID),
    "tv_ts": (ht.policies.tv_ts(PRIOR), GRID),
    "tv_ts, learning": (ht.policies.tv_ts(PRIOR, ht.Learn([0.01, 0.1])), GRID),
    "tv_ts, box": (ht.policies.tv_ts(PRIOR, engine=SMALL), SQUARE),
    "ui_gp_ucb": (ht.policies.ui_gp_ucb(PRIOR, 0.05), GRID),
    "ui_gp_ucb, box": (ht.policies.ui_gp_ucb(PRIOR, 0.05, engine=SMALL), SQUARE),
    "pe_gp_ucb": (ht.policies.pe_gp_ucb(PRIOR, [0.01, 0.3]), GRID),
    "sw_gp_ucb": (ht.policies.sw_gp_ucb(PRIOR, 20), GRID),
    "wgp_ucb": (ht.policies.wgp_ucb(PRIOR, 0.9), GRID),
    "et_gp_ucb": (ht.policies.et_gp_ucb(PRIOR), GRID),
    "cp_gp_ucb": (ht.policies.cp_gp_ucb(PRIOR), GRID),
    "wdbo": (ht.policies.wdbo(PRIOR), GRID),
    "r_perp": (ht.policies.r_perp(PRIOR, 12), GRID),
    "exp3": (ht.policies.exp3(-2.0, 2.0, horizon=100), GRID),
    "rexp3": (ht.policies.rexp3(-2.0, 2.0, batch=10), GRID),
    "d_ucb": (ht.policies.d_ucb(-2.0, 2.0, discount=0.9), GRID),
    "sw_ucb": (ht.policies.sw_ucb(-2.0, 2.0, window=20), GRID),
}


@pytest.mark.parametrize("name", CASES)
def test_the_policies_of_the_package_keep_the_laws(name: str) -> None:
    check_policy(*CASES[name])


def test_every_policy_of_the_package_is_listed() -> None:
    assert set(REGISTRY) == {name.split(",")[0] for name in CASES}


# Policies with one fault each


@register
@dataclass(frozen=True)
class Faulty:
    """Choose the highest mean so far; ``fault`` says what is wrong with the agent."""

    fault: str = ""
    believes: bool = False

    def start(self, domain: Domain) -> FaultyAgent:
        if not isinstance(domain, ht.Finite):
            raise InputError("a Finite domain", "a Box")
        if self.fault == "shares what the latest agent began":
            SHARED[:] = NOTHING
        return (BelievingAgent if self.believes else FaultyAgent)(self.fault, len(domain))


@register
@dataclass(frozen=True)
class Fading(Faulty):
    """D-UCB, whose sums fade when an evaluation begins."""

    def start(self, domain: Domain) -> FaultyAgent:
        assert isinstance(domain, ht.Finite)
        return FadingAgent(self.fault, len(domain))


class Unwritten(Faulty):
    """A class of its own, which no file knows."""


NOISE = count()
LATE = 700  # results
NOTHING = np.repeat([[1.0], [0.0]], 16, axis=1)  # counts and sums before all results
SHARED = NOTHING.copy()


class FaultyAgent(NoPosterior):
    policy = "a policy with a fault"

    def __init__(self, fault: str, points: int) -> None:
        self._fault = fault
        self._counts, self._sums = np.ones(points), np.zeros(points)
        if fault.startswith("shares what"):
            self._counts, self._sums = SHARED
        if fault == "begins where others ended":
            self._counts, self._sums = SHARED.copy()
        self._open: dict[int, tuple[float, int]] = {}
        self._asked, self._log, self._seen = 0, list[float](), set[Any]()
        self._hint: int | None = None
        self._calls = 0

    def choose(self, t: float, make_rng: RNGFactory) -> Places:
        if self._fault == "leaves the domain":
            return np.array([-1])
        if self._fault == "changes when asked":
            self._asked += 1
        means = self._means()
        place = int(make_rng().choice(np.flatnonzero(means == means.max())))
        if self._fault == "remembers what it chose":
            self._hint = place
        self._calls += 1
        if self._fault == "errs at every 40th call" and self._calls % 40 == 0:
            place = (place + 1) % len(means)
        return np.array([place])

    def choose_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        if self._fault == "chooses where it may not":
            return np.array([1])
        assert not isinstance(choices, ht.Box)
        return choices[:1]

    def open(self, key: int, t: float, place: Places) -> None:
        if self._fault == "knows one open evaluation":
            self._open.clear()
        if self._fault == "wants new keys":
            assert key not in self._seen
            self._seen.add(key)
        if self._fault == "wants new points" and (t, int(place[0])) in self._seen:
            raise ValueError("this was measured already")
        if self._fault == "wants new points":
            self._seen.add((t, int(place[0])))
        self._open[key] = t, int(place[0])

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        _, place = self._open.pop(key)
        if self._fault == "knows only the usual noise" and precision != USUAL:
            raise ValueError("this noise is not the usual one")
        if self._fault == "remembers what it chose":
            place = self._hint if self._hint is not None else 0
        if self._fault == "is random":
            y += 1e-3 * next(NOISE)
        if self._fault == "scales by the range":
            self._seen.add(y)
            y /= min(max(self._seen) - min(self._seen), 1.0) if len(self._seen) > 1 or y else 1.0
        if self._fault == "overflows":
            y = y**4 / (1.0 + y**4)
        if self._fault == "scales by the key":
            y *= 1.0 + key % 2
        if self._fault == "overflows quietly":
            with np.errstate(over="ignore", invalid="ignore"):
                y = float(np.float64(y) ** 6 / (1.0 + np.float64(y) ** 6))
        if self._fault == "keeps everything":
            self._log.append(y)
        if self._fault == "keeps everything in the end" and self._counts.sum() > LATE:
            self._log.append(y)
        self._counts[place] += 1.0
        self._sums[place] += y
        if self._fault == "begins where others ended":
            SHARED[:] = self._counts, self._sums

    def cancel(self, key: int) -> None:
        _, place = self._open.pop(key)
        if self._fault == "trusts what was cancelled":
            self._sums[place] += 1e6
        if self._fault == "weighs what was cancelled":  # the mean stays, till the next result
            self._sums[place] += self._means()[place]
            self._counts[place] += 1.0

    def state(self) -> State:
        state = {
            "counts": self._counts,
            "sums": self._sums,
            "asked": np.array(self._asked),
            "log": np.array(self._log),
            "keys": np.array(list(self._open), dtype=np.int64),
            "open": np.array(list(self._open.values())).reshape(-1, 2),
        }
        if self._fault == "saves half of its state":
            state["sums"] = np.zeros_like(self._sums)
        if self._fault == "saves equal counts":
            state["counts"] = np.full_like(self._counts, self._counts.mean())
        if self._fault == "saves no large counts":
            state["counts"] = np.minimum(self._counts, 5.0)
        return state

    def restore(self, state: State) -> None:
        shares = self._fault == "shares its state"
        self._counts = state["counts"] if shares else state["counts"].copy()
        self._sums, self._log = state["sums"].copy(), state["log"].tolist()
        rows = zip(state["keys"].tolist(), state["open"].tolist(), strict=True)
        self._open = {key: (t, int(place)) for key, (t, place) in rows}

    def _means(self) -> Array:
        return self._sums / self._counts


class BelievingAgent(FaultyAgent):
    def predict(  # type: ignore[override]
        self, t: float, places: Places, *, count_open: bool
    ) -> tuple[Array, Array]:
        return self._means()[places], 1.0 / self._counts[places]

    def best(self, t: float, make_rng: RNGFactory) -> Places:  # type: ignore[override]
        return np.array([self._means().argmax()])


class FadingAgent(FaultyAgent):
    def __init__(self, fault: str, points: int) -> None:
        super().__init__(fault, points)
        self._latest = 0.0

    def choose(self, t: float, make_rng: RNGFactory) -> Places:
        counts = self._counts * self._fade(t) + 1e-9
        return np.array([np.argmax(self._means() + np.sqrt(np.log1p(counts.sum()) / counts))])

    def open(self, key: int, t: float, place: Places) -> None:
        self._counts *= self._fade(t)
        self._sums *= self._fade(t)
        self._latest = t
        super().open(key, t, place)

    def state(self) -> State:
        return super().state() | {"latest": np.array(self._latest)}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._latest = float(state["latest"])

    def _means(self) -> Array:
        return self._sums / (self._counts + 1e-9)

    def _fade(self, t: float) -> float:
        return float(0.98 ** (t - self._latest))


BROKEN = {
    "leaves the domain": "stays in the domain",
    "chooses where it may not": "stays in a part of it",
    "changes when asked": "asking is pure",
    "is random": "follows the seed",
    "saves half of its state": "save and load",
    "shares its state": "agents are apart",
    "shares what the latest agent began": "agents are apart",
    "begins where others ended": "agents are apart",
    "remembers what it chose": "replay",
    "knows one open evaluation": "late results",
    "wants new keys": "duplicate results",
    "trusts what was cancelled": "cancelled asks",
    "scales by the range": "constant values",
    "wants new points": "repeated points",
    "overflows": "extreme values",
    "knows only the usual noise": "noise of results",
    "keeps everything": "bounded memory",
}
HIDDEN = {  # faults of which nothing is seen at once
    "scales by the key": "keys are names",
    "weighs what was cancelled": "cancelled asks",
    "saves equal counts": "save and load",
    "saves no large counts": "save and load",
    "overflows quietly": "extreme values",
    "errs at every 40th call": "asking is pure",
    "shares what all agents know": "agents are apart",
    "keeps everything in the end": "bounded memory",
}


@pytest.fixture(autouse=True)
def _nothing_is_shared() -> None:
    SHARED[:] = NOTHING


@pytest.mark.parametrize("believes", [False, True])
def test_the_policy_without_a_fault_keeps_the_laws(believes: bool) -> None:
    check_policy(Faulty(believes=believes))


@pytest.mark.parametrize("fault", BROKEN)
def test_a_fault_is_found_by_its_law(fault: str) -> None:
    with pytest.raises(BrokenLaw) as caught:
        check_policy(Faulty(fault), laws=[BROKEN[fault]])
    assert caught.value.law == BROKEN[fault]
    assert caught.value.how
    assert str(caught.value) == f"{caught.value.law}: {caught.value.how}"


@pytest.mark.parametrize("believes", [False, True])
@pytest.mark.parametrize("fault", HIDDEN)
def test_a_hidden_fault_is_found_by_one_law_alone(fault: str, believes: bool) -> None:
    with pytest.raises(BrokenLaw) as caught:
        check_policy(Faulty(fault, believes), laws=[HIDDEN[fault]])
    assert caught.value.law == HIDDEN[fault]
    check_policy(Faulty(fault, believes), laws=[law for law in LAWS if law != HIDDEN[fault]])


def test_sums_may_fade_when_an_evaluation_begins() -> None:
    check_policy(Fading(), GRID)
    with pytest.raises(BrokenLaw, match=r"cancelled asks: some results after"):
        check_policy(Fading("weighs what was cancelled"), GRID)


def test_every_law_can_be_broken() -> None:
    assert {"can be written", *BROKEN.values(), *HIDDEN.values()} == set(LAWS)


def test_a_policy_that_cannot_be_written() -> None:
    with pytest.raises(BrokenLaw, match=r"can be written: .*cannot be written to a file"):
        check_policy(Unwritten())


def test_a_policy_may_declare_that_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Faulty, "grows", True, raising=False)
    check_policy(Faulty("keeps everything"), laws=["bounded memory"])


def test_a_report_describes_the_failure_and_the_domain() -> None:
    with pytest.raises(AssertionError, match=r"index -1 was suggested \(over 16 points\)$"):
        check_policy(Faulty("leaves the domain"))


def test_a_domain_is_refused_with_an_error_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Faulty, "start", lambda _, domain: FaultyAgent("", len(domain)))
    with pytest.raises(BrokenLaw, match=r"TypeError: object of type 'Box' .*\(over a Box\)"):
        check_policy(Faulty())


# What is no policy, no law, no domain


@pytest.mark.parametrize(
    "call",
    [
        lambda: check_policy(Faulty),  # type: ignore[arg-type]
        lambda: check_policy(None),  # type: ignore[arg-type]
        lambda: check_policy(Faulty(), laws=["gravity"]),
        lambda: check_policy(Faulty(), laws=[]),
        lambda: check_policy(Faulty(), SQUARE),
        lambda: check_policy(ht.tv_gp_ucb(ht.Prior(mean=np.zeros(3)))),
    ],
    ids=["class", "none", "law", "no law", "domain", "mean"],
)
def test_bad_calls_are_refused(call: Callable[[], None]) -> None:
    with refusal(InputError):
        call()
