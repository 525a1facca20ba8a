"""An optimizer with limits, a baseline and moves, whose parameters are given or learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.errors import ClosedSuggestionError, HeliotropeError, InputError
from heliotrope.live import Live
from heliotrope.validation import Array

SPACE = ht.SearchSpace({"workers": ht.Integer(1, 24), "mode": ht.Categorical(["a", "b"])})
START, BUSY = {"workers": 4, "mode": "a"}, {"workers": 10, "mode": "a"}
PRIOR = ht.Prior(RBF(0.3), ht.Forgetting(0.01), noise=0.01)


def server(workers: int, mode: str) -> dict[str, float]:
    slower = 1.2 if mode == "b" else 1.0
    return {"rate": 10.0 * workers / slower, "p99": 12.0 * workers * slower}


def tuned(live: Live, steps: int, seed: int = 0) -> ht.Optimizer:
    opt = ht.Optimizer(SPACE, ht.auto(SPACE), seed=seed, live=live)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        ask = opt.ask()
        told = {name: value + rng.normal() for name, value in server(**ask.params).items()}
        opt.tell(ask, told)
    return opt


LIVE = Live(
    {"rate": "maximize", "p99": "watch"},
    limits={"p99": {"below": 150.0}},
    baseline=START,
    moves={"largest": {"workers": 3}, "cost": {"workers": 0.1}},
)


@pytest.fixture(scope="module")
def opt() -> ht.Optimizer:
    return tuned(LIVE, 40)


def test_it_finds_the_best_setting_that_keeps_the_limit(opt: ht.Optimizer) -> None:
    places = [SPACE.params(int(i)) for i in opt.history.index]
    assert places[0] == START
    crossed = [server(**place)["p99"] > 150.0 for place in places]  # type: ignore[arg-type]
    assert np.mean(crossed) <= 0.05
    assert max(opt.history.x[-10:, 0]) in (10 / 23, 11 / 23)
    safe = opt.safe()
    assert safe[SPACE.index(START)]
    assert not safe[SPACE.index({"workers": 24, "mode": "b"})]


def test_the_gain_holds_the_truth(opt: ht.Optimizer) -> None:
    gain, total = opt.gain(), opt.total_gain()
    best = opt.best().params
    assert best is not None
    assert gain.low <= server(**best)["rate"] - 40.0 <= gain.high
    assert gain.low > 0.0
    assert total.low <= float(np.sum(opt.history.y - 40.0)) <= total.high
    assert "% better" in str(gain)


def test_the_gain_refers_to_a_baseline_as_it_is_told() -> None:
    opt = tuned(Live({"p99": "minimize", "rate": "watch"}, baseline=BUSY), 12)
    gain, total = opt.gain(), opt.total_gain()
    np.testing.assert_allclose(gain.baseline, 120.0, atol=5.0)
    assert total.baseline > 0.0
    assert gain.mean > 0.0
    assert "% better" in str(gain)


def test_a_limit_relative_to_the_baseline() -> None:
    live = Live({"rate": "minimize"}, limits={"rate": {"at_least": "80%"}}, baseline=BUSY)
    opt = ht.Optimizer(SPACE, ht.auto(SPACE), live=live)
    for step in range(20):
        ask = opt.ask()
        opt.tell(ask, {"rate": server(**ask.params)["rate"] * (1.0 + step / 50)})
    asked = [SPACE.params(int(i)) for i in opt.history.index]
    kept = [server(**one)["rate"] >= 80.0 for one in asked]  # type: ignore[arg-type]
    assert np.mean(kept) >= 0.95
    assert opt.history.x[:, 0].min() < 9 / 23


def test_a_saved_optimizer_continues_alike(opt: ht.Optimizer, tmp_path: Path) -> None:
    opt.save(tmp_path / "live.zip")
    again = ht.Optimizer.load(tmp_path / "live.zip")
    ours, theirs = opt.propose(), again.propose()
    assert ours.params == theirs.params
    assert ours.reason == theirs.reason
    assert again.gain() == opt.gain()
    assert again.total_gain() == opt.total_gain()
    assert np.array_equal(again.safe(), opt.safe())


def test_a_fallback_that_crosses_is_no_strain() -> None:
    opt = ht.Optimizer(SPACE, ht.auto(SPACE), live=LIVE)

    def told(opt: ht.Optimizer, id: int, p99: float) -> float:
        opt.tell(id, {"rate": 40.0, "p99": p99})
        return float(opt.parts()[0]["snapshot"]["tracker"]["progress"]["trust"]["p99"][2])

    assert told(opt, opt.ask().id, 48.0) == 0.0
    strain = told(opt, opt.ask().id, 900.0)
    assert strain == pytest.approx(0.5 * (1.0 - 0.05))
    ask = opt.ask()
    assert ask.reason == "fallback"
    again = ht.Optimizer.from_parts(*opt.parts())
    assert [one.reason for one in again.open] == ["fallback"]
    for one in (opt, again):
        assert told(one, ask.id, 900.0) == pytest.approx(strain - 0.5 * 0.05)


def test_what_runs_now_can_be_said(opt: ht.Optimizer) -> None:
    copy = ht.Optimizer.from_parts(*opt.parts())
    copy.applied({"workers": 1, "mode": "a"})
    asked = copy.propose().params
    assert asked is not None
    assert asked["workers"] <= 4


@pytest.mark.parametrize(
    ("y", "noise"),
    [
        ({}, {}),
        ({"rat": 1.0}, {}),
        ({"rate": "fast"}, {}),
        ({"rate": 1.0, "p99": float("nan")}, {}),
        ({"rate": 1.0, "p99": 1e60}, {}),
        ({"rate": 1.0}, {"std": {"rate": -1.0}}),
        ({"rate": None}, {}),
    ],
)
def test_a_refused_result_changes_nothing(opt: ht.Optimizer, y: object, noise: object) -> None:
    copy = ht.Optimizer.from_parts(*opt.parts())
    ask = copy.ask()
    before, arrays = copy.parts()
    with pytest.raises(InputError):
        copy.tell(ask, y, **noise)  # type: ignore[arg-type]
    after, others = copy.parts()
    assert before == after
    assert arrays.keys() == others.keys()
    assert all(np.array_equal(arrays[name], others[name], equal_nan=True) for name in arrays)


def test_missing_metrics_and_cancelled_asks_are_as_if_not_asked(opt: ht.Optimizer) -> None:
    copy = ht.Optimizer.from_parts(*opt.parts())
    told = len(copy.history)
    copy.tell(ask := copy.ask(), {"p99": 90.0})
    copy.cancel(copy.ask())
    assert len(copy.history) == told
    assert not copy.open
    with pytest.raises(ClosedSuggestionError):
        copy.tell(ask, {"rate": 1.0})


def test_an_optimizer_without_rules_has_none_of_this() -> None:
    opt = ht.Optimizer(SPACE, ht.auto(SPACE))
    assert opt.ask().reason is None
    for call in (opt.safe, opt.gain, opt.total_gain, opt.front, lambda: opt.hold(1.0)):
        with pytest.raises(InputError):
            call()
    with pytest.raises(InputError):
        opt.tell(0, {"rate": 1.0})


def test_wrong_places_and_policies_are_refused() -> None:
    for live in (
        Live(baseline={"workers": 99, "mode": "a"}),
        Live(moves={"largest": {"worker": 1.0}}),
    ):
        with pytest.raises(InputError):
            ht.Optimizer(SPACE, ht.auto(SPACE), live=live)
    with pytest.raises(InputError):
        ht.Optimizer(SPACE, ht.uniform(), live=Live())
    with pytest.raises(InputError):
        ht.Optimizer(SPACE, ht.auto(SPACE), direction="minimize", live=Live())


STEPS = st.lists(st.sampled_from(["ask", "tell", "cancel", "apply"]), min_size=4, max_size=14)


@settings(max_examples=25, deadline=None)
@given(steps=STEPS, largest=st.floats(0.0, 0.6), seed=st.integers(0, 1000), box=st.booleans())
def test_no_ask_is_further_than_the_largest_move(
    steps: list[str], largest: float, seed: int, box: bool
) -> None:
    """Nor from any open ask, unless another setting was applied meanwhile."""
    domain = ht.Box([0.0, 0.0], [1.0, 2.0]) if box else ht.grid(5, 5)
    live = Live(moves={"largest": {"0": largest, "1": 2.0 * largest}, "cost": {"0": 0.01}})
    opt = ht.Optimizer(domain, ht.tv_gp_ucb(PRIOR), seed=seed, live=live)
    rng, applied, since = np.random.default_rng(seed), None, list[ht.Suggestion]()
    for step in steps:
        if step == "ask":
            ask = opt.ask()
            nearby: list[Array] = [] if applied is None else [applied, *(one.x for one in since)]
            for other in nearby:
                far = np.abs(ask.x - other) / [1.0, 2.0]
                assert (far <= largest * (1.0 + 1e-6) + 1e-12).all()
            since.append(ask)
        elif step == "apply":
            applied = np.array([rng.integers(5) / 4.0, rng.integers(5) / 4.0])
            opt.applied(applied)
            since = []
        elif since:
            done = since.pop(int(rng.integers(len(since))))
            if step == "cancel":
                opt.cancel(done)
            else:
                opt.tell(done, float(rng.normal()))
                applied = done.x


def test_trade_offs_between_two_objectives() -> None:
    live = Live({"speed": "maximize", "cost": "minimize"})
    domain = ht.grid(11)
    opt = ht.Optimizer(domain, ht.tv_gp_ucb(PRIOR), seed=1, live=live)
    for _ in range(25):
        ask = opt.ask()
        x = float(ask.x[0])
        opt.tell(ask, {"speed": x, "cost": max(x, 0.4) ** 2})
    found = opt.front()
    assert {one.index for one in found} >= {5, 7, 10}
    asked = opt.history.x[5:, 0]
    assert asked.max() == 1.0
    assert asked.min() < 0.7
    speed, cost = opt.belief(metric="speed"), opt.belief(metric="cost")
    assert np.array_equal(opt.belief().mean, speed.mean)
    assert {one.index: one.means["cost"] for one in found}.items() <= dict(
        enumerate(cost.mean.tolist())
    ).items()
    with pytest.raises(InputError, match="a metric among speed, cost; got 'heat'") as error:
        opt.belief(metric="heat")
    assert error.value.field == "metric"
    front = [found[0].means, found[-1].means]
    assert set(front[0]) == {"speed", "cost"}


def test_holding_grows_with_the_cost_and_ends() -> None:
    domain = ht.grid(9)
    opt = ht.Optimizer(domain, ht.tv_gp_ucb(PRIOR), seed=0, live=Live())
    assert opt.hold(10.0) is None
    for _ in range(30):
        opt.tell(ask := opt.ask(), float(np.sin(3.0 * ask.x[0])))
    assert opt.hold(0.0) is None
    cheap, dear = opt.hold(0.05), opt.hold(0.5)
    assert dear is not None
    assert dear > opt.latest + 1.0
    assert cheap is None or cheap <= dear
    with pytest.raises(HeliotropeError):
        opt.hold(-1.0)


def test_a_value_alone_among_several_metrics_is_refused() -> None:
    opt = ht.Optimizer(SPACE, ht.auto(SPACE), live=LIVE)
    ask = opt.ask()
    with pytest.raises(InputError, match="metrics among rate, p99"):
        opt.tell(ask, 5.0)
    with pytest.raises(InputError, match="metrics among rate, p99"):
        opt.tell_many([5.0], [START], [1.0])
    assert opt.is_open(ask.id)
    with pytest.raises(InputError, match="live"):
        ht.Optimizer(SPACE, ht.auto(SPACE), live=5)  # type: ignore[arg-type]


def test_until_a_limited_metric_is_told_only_settings_known_to_keep_it_are_asked_for() -> None:
    opt = ht.Optimizer(SPACE, ht.auto(SPACE), live=LIVE)
    for _ in range(3):
        ask = opt.ask()
        assert (ask.params, ask.reason) == (START, "first")
        opt.tell(ask, {"rate": 40.0})
    opt.tell(opt.ask(), {"rate": 40.0, "p99": 48.0})
    assert opt.ask().reason != "first"


def test_the_noise_of_a_metric_without_a_value_is_refused() -> None:
    live = Live({"v": "maximize", "w": "watch"})
    opt = ht.Optimizer(ht.Box(0, 1), ht.auto(ht.Box(0, 1)), live=live)
    asked = opt.ask()
    for name in ("w", "z"):
        with pytest.raises(InputError) as caught:
            opt.tell(asked, {"v": 1.0}, std={name: 1.0})  # type: ignore[arg-type]
        assert caught.value.field == "std"
    assert opt.is_open(asked.id)
