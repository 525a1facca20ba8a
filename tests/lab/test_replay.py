"""Replays of logs: training, policies, reports and errors."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.gaussian_process.kernels import RBF
from typer.testing import CliRunner, Result

import heliotrope as ht
from data import DATA, measured
from heliotrope.cli import app
from heliotrope.errors import InputError
from heliotrope.lab import pictures, replay as replays
from heliotrope.lab.claims import compare
from heliotrope.lab.environments import GPDrift
from heliotrope.lab.logs import Log, log_of, read_log
from heliotrope.lab.replay import Drift, ReplayResult, drift_rate, picture, report
from heliotrope.lab.replay.drift import _RATIOS, _Profile, half_life
from heliotrope.validation import Array, Indices

EPSILON = 0.05
FEW = ("tv_gp_ucb", "rexp3", "fixed", "random")


def drawn(
    rows: int = 200, side: int = 3, epsilon: float = EPSILON, noise: float = 0.02, seed: int = 0
) -> Array:
    """Values (T, side^2) of the paper's world, each measured with its own noise."""
    world = GPDrift(ht.grid(side, side), ht.Prior(RBF(0.3), ht.Forgetting(epsilon)))
    values = world.episode(rows, seed).values
    return values + np.random.default_rng(seed).normal(scale=np.sqrt(noise), size=values.shape)


def with_gaps(values: Array, share: float, seed: int = 0) -> Array:
    gone = np.random.default_rng(seed).random(values.shape) < share
    return np.where(gone, np.nan, values)


def frame(values: Array, times: Array | None = None) -> pd.DataFrame:
    index = pd.Index(np.arange(1.0, len(values) + 1.0) if times is None else times, name="time")
    return pd.DataFrame(values, index=index, columns=[f"s{i}" for i in range(values.shape[1])])


def places(x: Array) -> pd.DataFrame:
    return pd.DataFrame({"place": [f"s{i}" for i in range(len(x))], "x": x})


def play(values: Array, times: Array | None = None, **options: Any) -> ReplayResult:
    given: dict[str, Any] = {"policies": FEW, "seeds": 2, "jobs": 1, **options}
    return replays.replay_log(log_of(frame(values, times)), **given)


@pytest.fixture(scope="module")
def done() -> ReplayResult:
    """All policies on a drawn table."""
    return play(drawn(400), policies=tuple(replays.CANDIDATES), seeds=4)


# What is learned


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.9])
def test_the_likelihood_is_the_dense_one(rate: float) -> None:
    """Restricted: of the contrasts of the values, with the variance at its best."""
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.uniform(0.3, 4.0, size=12))
    Y = with_gaps(rng.normal(size=(12, 4)), 0.3)
    found = _Profile(times, Y)._by_ratio(float(logit(rate)))
    for place, y in enumerate(Y.T):
        t, y = times[~np.isnan(y)], y[~np.isnan(y)]
        n, ones = len(y) - 1, np.ones(len(y))
        for ratio, value in zip(_RATIOS, found[:, place], strict=True):
            V = (1.0 - rate) ** (np.abs(t[:, None] - t) / 2.0) + ratio * np.eye(len(y))
            inverse = np.linalg.inv(V)
            P = inverse - np.outer(inverse @ ones, inverse @ ones) / (ones @ inverse @ ones)
            terms = n * np.log(y @ P @ y / n), np.linalg.slogdet(V)[1], np.log(inverse.sum())
            assert value == pytest.approx(-0.5 * sum(terms), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "noise", "gaps"), [(0.05, 0.0, 0.0), (0.1, 0.3, 0.3)])
def test_the_interval_holds_the_epsilon_that_was_drawn(
    epsilon: float, noise: float, gaps: float
) -> None:
    """95 of 100 times; that four of ten miss has the probability 0.001."""
    found = []
    for seed in range(10):
        values = with_gaps(drawn(150, epsilon=epsilon, noise=noise, seed=seed), gaps)
        found.append(drift_rate(np.arange(1.0, 151.0), values))
    assert sum(one.interval[0] <= epsilon <= one.interval[1] for one in found) >= 7
    assert epsilon / 2 < np.median([one.epsilon for one in found]) < 2 * epsilon
    assert np.median([one.interval[1] for one in found]) < 6 * epsilon


def test_copies_of_a_place_add_no_confidence() -> None:
    values = drawn(150)
    times = np.arange(1.0, 151.0)
    once, copied = drift_rate(times, values), drift_rate(times, np.tile(values, 3))
    assert copied.epsilon == pytest.approx(once.epsilon, rel=0.01)
    assert copied.interval == pytest.approx(once.interval, rel=0.05)


def test_the_unit_of_time_does_not_matter() -> None:
    """Up to the wiggles between candidate noises, which are small beside the interval."""
    values, times = drawn(150), np.arange(1.0, 151.0)
    once, twice = drift_rate(times, values), drift_rate(2.0 * times, values)
    assert twice.half_life == pytest.approx(2.0 * once.half_life, rel=0.1)
    for end, other in zip(once.interval, twice.interval, strict=True):
        assert half_life(other) == pytest.approx(2.0 * half_life(end), rel=0.1)


def test_what_is_learned_of_neighbours() -> None:
    """Places at one point move together with each other, and less with those far away."""
    x = np.array([0.0, 0.0, 0.1, 0.9, 1.0, 1.0])
    world = GPDrift(ht.Finite(x), ht.Prior(RBF(0.2), ht.Forgetting(EPSILON)))
    own = np.random.default_rng(0).normal(scale=0.3, size=(300, 6))
    values = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 10.0]) * (world.episode(300, 1).values + own)
    setup = replays.trained_setup(np.arange(1.0, 301.0), values, x[:, None], ())
    assert setup.neighbours is not None
    assert setup.neighbours.share > 0.5
    table = setup.prior.over(ht.Finite(np.arange(6.0))).kernel
    assert isinstance(table, ht.Tabulated)
    K = table.K
    correlation = K / np.sqrt(np.outer(np.diag(K), np.diag(K)))
    assert 0.7 < correlation[0, 1] < 1.0
    assert correlation[0, 1] > correlation[0, 2] > 0.5 > correlation[0, 3]
    assert K[5, 5] > 20.0 * K[4, 4]
    low, high = setup.drift.interval
    assert low < EPSILON < high


# Who is played, and how they do


def test_it_beats_chance(done: ReplayResult) -> None:
    assert done.setup.drift.interval[0] < EPSILON < done.setup.drift.interval[1]
    stretches = {policy: np.array_split(done.regrets(policy), 10) for policy in done.choices}
    means = {policy: np.array([s.mean() for s in parts]) for policy, parts in stretches.items()}
    for policy in ("tv_gp_ucb", "learning", "r_gp_ucb", "auto"):
        assert compare(means["random"], means[policy]).errors > 3.0
    assert "random" not in done.rivals
    scores = {score.policy: score for score in done.scores}
    for policy, score in scores.items():
        assert score.regret == pytest.approx(means[policy].mean())
        assert score.stderr == pytest.approx(means[policy].std(ddof=1) / np.sqrt(10))
    assert [score.regret for score in done.scores] == sorted(s.regret for s in done.scores)


def test_one_world_for_all(done: ReplayResult) -> None:
    """Every row is from the log: times and best values do not depend on the policy."""
    table, row_of = done.log.values, {t: i for i, t in enumerate(done.log.times.tolist())}
    seeds: dict[str, set[int]] = {}
    for row in done.rows():
        values = table[row_of[row.t]]
        assert row.value == values[done.log.names.index(row.place)]
        assert row.best == values.max()
        assert row.regret == row.best - row.value
        seeds.setdefault(row.policy, set()).add(row.seed)
    once, several = {0}, {0, 1, 2, 3}
    assert seeds == {
        policy: several if policy in ("random", "rexp3", "auto") else once
        for policy in replays.CANDIDATES
    }
    assert len(list(done.rows())) == (5 + 3 * 4) * 160
    chosen = done.choices["random"]
    assert len({tuple(places.tolist()) for places in chosen}) == 4


def test_costs_are_rewards_with_another_sign() -> None:
    values = drawn() - drawn().min() + 1.0
    rewards, costs = play(-values), play(values, minimize=True)
    for policy in FEW:
        np.testing.assert_array_equal(rewards.choices[policy], costs.choices[policy])
    for reward, cost in zip(rewards.rows(), costs.rows(), strict=True):
        assert cost == replace(reward, value=-reward.value, best=-reward.best)
        assert cost.best <= cost.value
    for reward_score, cost_score in zip(rewards.scores, costs.scores, strict=True):
        assert reward_score.share is None
        assert cost_score == replace(reward_score, share=cost_score.share)
    paid = np.mean([row.value for row in costs.rows() if row.policy == "fixed"])
    least = np.mean([row.best for row in costs.rows() if row.policy == "fixed"])
    share = next(score.share for score in costs.scores if score.policy == "fixed")
    assert share == pytest.approx(least / paid)


def test_the_share_of_rewards() -> None:
    done = play(np.maximum(drawn(), 0.0))
    for score in done.scores:
        taken = np.mean([row.value for row in done.rows() if row.policy == score.policy])
        assert score.share == pytest.approx(taken / done.best_possible.mean())
        mean = done.rewards.mean()
        assert score.gain == pytest.approx((taken - mean) / (done.best_possible.mean() - mean))


def test_where_nothing_drifts_one_stays() -> None:
    means = np.array([1.0, 3.0, 2.0, 0.0])
    values = np.random.default_rng(0).normal(means, 0.5, size=(200, 4))
    done = play(values, policies=tuple(replays.CANDIDATES))
    assert done.best == "fixed"
    assert report.recommendation(done).startswith("Stay at 's1':")


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_units_do_not_matter(factor: float) -> None:
    values = drawn(120)
    done, other = play(values), play(factor * (values + 7.0))
    for policy in FEW:
        np.testing.assert_array_equal(done.choices[policy], other.choices[policy])
    assert other.scores[0].regret == pytest.approx(factor * done.scores[0].regret)


def test_gaps_are_filled_between_neighbours_in_time() -> None:
    values = drawn(100)
    values[60:, 0] = np.nan  # never measured again
    values[58:62, 1] = np.nan  # across the cut
    values[80, 2] = np.nan
    done = play(values, policies=["fixed", "random"])
    assert done.trained == 60
    assert np.all(done.rewards[:, 0] == values[59, 0])
    np.testing.assert_allclose(
        done.rewards[:2, 1], np.interp([61, 62], [58, 63], values[[57, 62], 1])
    )
    assert done.rewards[20, 2] == pytest.approx((values[79, 2] + values[81, 2]) / 2.0)
    assert done.filled == pytest.approx(43 / (40 * 9))
    assert "11.9% of the test values were gaps" in report.sentences(done)[1]


def test_the_future_is_not_seen() -> None:
    """The setup depends only on the training part, and choices only on measured values."""
    values = with_gaps(drawn(100), 0.1)
    other = values.copy()
    other[80:] = np.random.default_rng(5).normal(size=(20, 9))
    done, changed = play(values), play(other)
    assert done.setup.drift == changed.setup.drift
    assert done.setup.tuned == changed.setup.tuned
    np.testing.assert_array_equal(done.setup.prior.mean, changed.setup.prior.mean)
    for policy in ("tv_gp_ucb", "fixed", "random"):
        np.testing.assert_array_equal(done.choices[policy][:, :15], changed.choices[policy][:, :15])


RNG = np.random.default_rng(2)
ODD: dict[str, Array] = {
    "few rows": drawn(25),
    "two places": drawn(60)[:, :2],
    "many places": drawn(30, side=12),
    "whole numbers": np.round(3.0 * drawn(60)),
    "zeros and ones": (drawn(60) > 0.0).astype(float),
    "equal columns": np.tile(drawn(60)[:, :3], 2),
    "a place constant in training": np.where(np.arange(60)[:, None] < 36, [5.0, 0.0, 0.0], 0.0)
    + np.pad(drawn(60)[:, :2], ((0, 0), (1, 0))),
    "places alike in the test": np.where(np.arange(60)[:, None] < 36, drawn(60), 1.0),
    "hardly any change": 1e6 + 1e-6 * drawn(60),
    "idle at first": np.where(np.arange(60)[:, None] < 30, 1.0, drawn(60)),
    "a trend": np.arange(60.0)[:, None] * np.linspace(0.5, 1.0, 4) - 20.0,
    "spikes": np.where(RNG.random((60, 4)) < 0.05, 100.0, 0.0) + 1e-3 * RNG.random((60, 4)),
    "mostly gaps": with_gaps(drawn(100), 0.85),
    "one place a time": np.where(
        np.arange(9) == RNG.integers(9, size=(100, 1)), drawn(100), np.nan
    ),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("located", [False, True])
def test_odd_tables(name: str, located: bool) -> None:
    table = ODD[name]
    x = np.append(np.arange(table.shape[1] - 1.0) // 2.0, 9.0)  # pairs at one point
    where = places(x) if located else None
    done = replays.replay_log(log_of(frame(table), where), policies=(*FEW, "auto"), seeds=2, jobs=1)
    assert all(np.isfinite([score.regret, score.stderr]).all() for score in done.scores)
    assert {row.policy for row in done.rows()} == {*FEW, "auto"}
    assert 0.0 < done.setup.drift.interval[0] <= done.setup.drift.interval[1] < 1.0
    assert all(text.endswith(".") for text in report.sentences(done))


@pytest.mark.parametrize("train", [0.05, 0.95])
def test_other_shares_to_learn_from(train: float) -> None:
    done = play(drawn(), train=train)
    assert done.trained == 200 * train
    assert len(done.rewards) == 200 - done.trained


# The same again


def assert_same(one: ReplayResult, other: ReplayResult) -> None:
    assert list(one.rows()) == list(other.rows())
    assert one.scores == other.scores
    assert one.setup.drift == other.setup.drift


def test_wide_and_long_tables(tmp_path: Path) -> None:
    wide = frame(with_gaps(drawn(60), 0.05))
    wide.to_csv(tmp_path / "wide.csv")
    tall = wide.stack().reset_index()
    tall.columns = pd.Index(["time", "place", "value"])
    text = tall.sample(frac=1.0, random_state=0).to_csv(index=False)
    (tmp_path / "long.csv.gz").write_bytes(gzip.compress(text.encode()))
    one, other = (
        replays.replay_log(read_log(tmp_path / name), policies=FEW, seeds=2, jobs=1)
        for name in ("wide.csv", "long.csv.gz")
    )
    assert_same(one, other)


def test_one_process_and_two() -> None:
    assert_same(play(drawn(80)), play(drawn(80), jobs=2))


def test_the_order_of_policies_does_not_matter(tmp_path: Path) -> None:
    one = play(drawn(80), out=tmp_path)
    assert_same(one, play(drawn(80), policies=[*reversed(FEW), "random"], out=tmp_path))
    assert len(list(tmp_path.iterdir())) == 1


def ticks(values: Array, out: Path, **options: Any) -> list[tuple[int, int]]:
    seen: list[tuple[int, int]] = []
    play(values, out=out, tick=lambda *count: seen.append(count), **options)
    return seen


def test_finished_replays_are_not_played_again(tmp_path: Path) -> None:
    values = drawn(80)

    def stop(done: int, _: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(values, out=tmp_path, tick=stop)
    assert ticks(values, tmp_path) == [(3, 6), (4, 6), (5, 6), (6, 6)]
    assert ticks(values, tmp_path) == [(6, 6)]
    assert ticks(values, tmp_path, seeds=3) == [(6, 8), (7, 8), (8, 8)]


@pytest.mark.parametrize(
    "change",
    [
        lambda values, times: (
            np.where(np.arange(80)[:, None] == 79, values + 1e-9, values),
            times,
        ),
        lambda values, times: (np.where(np.arange(80)[:, None] == 9, values + 1e-9, values), times),
        lambda values, times: (values, np.where(times == 80.0, 81.0, times)),
        lambda values, times: (values, np.where(times == 1.0, 0.5, times)),
    ],
    ids=["a value tested on", "a value learned from", "a time tested", "a time learned from"],
)
def test_other_settings_are_played_again(
    change: Callable[[Array, Array], tuple[Array, Array]], tmp_path: Path
) -> None:
    values, times = drawn(80), np.arange(1.0, 81.0)
    ticks(values, tmp_path, times=times)
    others, moments = change(values, times)
    assert ticks(others, tmp_path, times=moments)[0] == (0, 6)
    assert ticks(values, tmp_path, times=times, seed=1)[0] == (0, 6)
    assert ticks(values, tmp_path, times=times, train=0.5)[0] == (0, 6)
    assert ticks(values, tmp_path, times=times)[0] == (6, 6)


# What is said


@pytest.mark.parametrize(
    ("epsilon", "step", "said"),
    [
        (0.03, "1", "Half of the information is stale after 23 steps: epsilon 0.03 per step"),
        (0.03, "10 minutes", "Half of the information is stale after 23 steps of 10 minutes: "),
        (0.4, "1", "Half of the information is stale after 1 step: "),
        (0.9, "1", "Information is stale at the next step: "),
        (1e-4, "1", "Information hardly becomes stale within this log: "),
    ],
)
def test_the_drift_in_words(done: ReplayResult, epsilon: float, step: str, said: str) -> None:
    drift = Drift(epsilon, (0.9 * epsilon, 1.1 * epsilon))
    told = replace(done, setup=replace(done.setup, drift=drift), log=replace(done.log, step=step))
    assert report.drift_in_words(told).startswith(said)
    unsure = replace(told, setup=replace(done.setup, drift=Drift(epsilon, (1e-6, 0.9))))
    assert "does not show how fast" in report.drift_in_words(unsure)


def chosen(done: ReplayResult, **places: Indices) -> ReplayResult:
    """The replay with other choices (T,)."""
    return replace(done, choices={policy: at[None, :] for policy, at in places.items()})


def test_what_is_recommended(done: ReplayResult) -> None:
    best, worst = done.rewards.argmax(axis=1), done.rewards.argmin(axis=1)
    lucky = np.where(np.arange(160) < 16, worst, best)
    said = report.recommendation(chosen(done, r_gp_ucb=best, gp_ucb=lucky, random=worst))
    every, c1 = done.setup.tuned["r_gp_ucb"].every, done.setup.tuned["r_gp_ucb"].c1
    assert said == (
        f"Use R-GP-UCB (a restart every {every} steps, beta = {c1:g} log(0.4 t)). "
        "It is not significantly better than GP-UCB."
    )
    name = done.log.names[done.setup.fixed]
    tied = report.recommendation(chosen(done, learning=best, tv_gp_ucb=best, fixed=lucky))
    assert tied.startswith("Use TV-GP-UCB that learns the drift (beta")
    assert tied.endswith(
        f"TV-GP-UCB. Staying at '{name}', the best place of the past, may be as good."
    )
    equal = report.recommendation(chosen(done, tv_gp_ucb=lucky, fixed=lucky, random=worst))
    assert equal.startswith(f"Stay at '{name}': ")
    random = report.recommendation(chosen(done, tv_gp_ucb=lucky, random=best))
    assert random.startswith("No policy was better than random choice")
    assert "is the only policy" in report.recommendation(chosen(done, rexp3=best))


def test_auto_is_recommended_where_it_is_best(done: ReplayResult) -> None:
    best, worst = done.rewards.argmax(axis=1), done.rewards.argmin(axis=1)
    said = report.recommendation(chosen(done, auto=best, tv_gp_ucb=worst, random=worst))
    assert said == "Use auto."
    lucky = np.where(np.arange(160) < 16, worst, best)
    rival = report.recommendation(chosen(done, tv_gp_ucb=best, auto=lucky, random=worst))
    assert rival.endswith("It is not significantly better than auto.")


def test_auto_uses_the_locations_but_not_the_training_part() -> None:
    values, x = drawn(60), np.arange(9.0)
    one, other, shuffled = (
        replays.replay_log(log_of(frame(table), where), policies=("auto",), seeds=2, jobs=1)
        for table, where in (
            (values, None),
            (np.where(np.arange(60)[:, None] < 36, -values, values), None),
            (values, places(np.random.default_rng(1).permutation(x))),
        )
    )
    np.testing.assert_array_equal(one.choices["auto"], other.choices["auto"])
    assert np.any(one.choices["auto"] != shuffled.choices["auto"])


def test_the_picture_counts_steps(done: ReplayResult) -> None:
    times = np.arange(1.0, 401.0) + 200.0 * (np.arange(400) // 50)
    paused = replace(done, log=replace(done.log, times=times, step="5 minutes"))
    with pictures.paper():
        drawing = picture.draw_replay(paused)
        plain = picture.draw_replay(done)
    for axes in drawing.axes:
        assert axes.get_xlabel() == "steps of 5 minutes, pauses dotted"
        curves = [x for line in axes.lines if len(x := np.asarray(line.get_xdata())) > 2]
        assert all(1.0 <= x.min() <= x.max() <= 161.0 for x in curves)
        assert len(axes.lines) - len(curves) == 3  # pauses after 250, 300 and 350 rows
    assert [axes.get_xlabel() for axes in plain.axes] == ["steps", "steps"]
    (legend,) = drawing.legends
    shown = {text.get_text() for text in legend.get_texts()}
    assert shown == {*replays.CANDIDATES.values(), "best possible", "mean of all places"}
    regret = np.asarray(drawing.axes[0].lines[0].get_ydata())
    assert regret[-1] == pytest.approx(done.scores[0].regret)


def test_values_of_costs_are_drawn_as_they_are() -> None:
    values = drawn() - drawn().min() + 1.0
    costs = play(values, minimize=True)
    best = np.asarray(picture.draw_replay(costs).axes[1].lines[0].get_ydata())
    assert best.mean() == pytest.approx(values[120:].min(axis=1).mean())  # of pairs of steps


# The command


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["replay", *map(str, arguments)], env={"COLUMNS": "100"})


def test_the_command(tmp_path: Path) -> None:
    frame(with_gaps(drawn(60), 0.02)).to_csv(tmp_path / "log.csv")
    places(np.arange(9.0)).to_csv(tmp_path / "where.csv", index=False)
    command: tuple[object, ...] = (
        *(tmp_path / "log.csv", "--locations", tmp_path / "where.csv", "--minimize"),
        *("--policies", "tv_gp_ucb, fixed ,random", "--seeds", 2, "--jobs", 1),
        *("--out", tmp_path / "made" / "here", "--train", 0.5),
    )
    result = invoke(*command)
    assert result.exit_code == 0, result.output
    out = tmp_path / "made" / "here"
    for words in ("30 steps, 9 places", "TV-GP-UCB", "best of the past", "average regret"):
        assert words in result.stdout
    assert "of the test values were gaps" in result.stdout
    assert f"Wrote {out / 'replay.png'}" in result.stdout.replace("\n", "")
    record = json.loads((out / "replay.json").read_text())
    assert record["direction"] == "minimize"
    assert record["rows"] == {"trained": 30, "tested": 30}
    assert record["epsilon_interval"][0] <= record["epsilon"] <= record["epsilon_interval"][1]
    assert "Matern" in record["kernel"]
    assert record["drift"] in result.stdout.replace("\n", " ").replace("  ", " ")
    assert [score["policy"] for score in record["scores"]]
    table = pd.read_csv(out / "replay.csv")
    assert list(table.columns) == ["policy", "seed", "t", "place", "value", "best", "regret"]
    assert len(table) == (2 + 2) * 30
    assert table.groupby("policy")["regret"].mean().to_dict() == pytest.approx(
        {score["policy"]: score["regret"] for score in record["scores"]}
    )
    assert (out / "replay.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "replay.pdf").read_bytes().startswith(b"%PDF")
    assert invoke(*command).stdout == result.stdout


ROWS = [f"{t},{t % 3},{t % 5}" for t in range(1, 41)]
LOG = "\n".join(["time,a,b", *ROWS]) + "\n"


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("", (), "a table with a header; got nothing in {file}."),
        ("time,a,b\n", (), "rows of values below the header; got none in {file}."),
        (LOG.replace("7,1,2", "7,1"), (), "3 fields, as in the header; got 2 on line 8 of {file}."),
        (LOG.replace("7,1,2", "7,x,2"), (), "in column 'a'; got 'x' on line 8 of {file}."),
        ("time,a,b\n" + "".join(f"{t},4,4\n" for t in range(40)), (), "got 4 everywhere in {file}"),
        ("time,a,b\n" + "\n".join(ROWS[:9]), (), "at least 10 times; got 9 in {file}."),
        ("\n".join(["time,a,b", *ROWS[:18]]), (), "got 11 and 7 of the log's 18."),
        ("time,a\n" + "".join(f"{t},{t % 3}\n" for t in range(40)), (), "at least 2 places"),
        (LOG, ("--train", "1.5"), "train to be a share between 0 and 1; got 1.5."),
        (LOG, ("--policies", "tv_gp_ucb,best"), "policies among tv_gp_ucb, learning"),
        (LOG, ("--policies", ""), "got ''."),
        (LOG, ("--jobs", "0"), "jobs to be a number of processes"),
        (LOG, ("--locations", "nowhere.csv"), "a file to read; got nowhere.csv"),
        (
            "\n".join(["time,a,b", *(f"{t},5,6" for t in range(30)), *ROWS[30:]]),
            (),
            "not all equal",
        ),
    ],
)
def test_errors_are_one_line(
    text: str, options: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "log.csv"
    file.write_text(text)
    result = invoke(file, "--out", tmp_path / "out", *options)
    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("heliotrope: ")]
    assert line.startswith("heliotrope: expected ")
    assert said.format(file=file) in line
    assert not (tmp_path / "out").exists()


def test_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.csv").write_text(LOG)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(replays, "replay_log", interrupted)
    result = invoke(tmp_path / "log.csv", "--out", tmp_path / "out")
    assert result.exit_code == 130
    assert "Stopped. Finished replays are kept" in result.stderr


@pytest.mark.parametrize(
    ("log", "options", "said"),
    [
        (drawn(60), {}, "a log; got ndarray. Make one with read_log or log_of."),
        (None, {"train": 0.0}, "train to be a share"),
        (None, {"train": "half"}, "train to be a real number"),
        (None, {"policies": []}, "policies among .*; got none"),
        (None, {"policies": "ucb"}, "policies among .*; got 'ucb'"),
        (None, {"seeds": 0}, "seeds"),
        (None, {"seed": -1}, "seed"),
        (np.where(np.arange(60)[:, None] < 50, [np.nan, 1, 1], 1) * drawn(60)[:, :3], {}, "'s0'"),
        (1e60 * drawn(60), {}, "values that differ by more than 1e-45 and less than 1e[+]45"),
    ],
    ids=str,
)
def test_wrong_input(log: Array | None, options: dict[str, Any], said: str) -> None:
    given: Any = log_of(frame(drawn(60) if log is None else log))
    with pytest.raises(InputError, match=said):
        replays.replay_log(log if "ndarray" in said else given, **options)  # type: ignore[arg-type]


# Measured tables

TABLES = {
    "intel_temperature": "intel_locations",
    "traffic_speed": "traffic_locations",
    "traffic_i5_3days": "traffic_i5_locations",
    "traffic_metrla_week": "traffic_metrla_locations",
    "traffic_pemsbay16": "traffic_pemsbay16_locations",
}


def measured_log(name: str, located: bool) -> Log:
    return read_log(DATA / f"{name}.csv.gz", DATA / f"{TABLES[name]}.csv" if located else None)


@measured
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("located", [False, True])
def test_measured_tables(name: str, located: bool) -> None:
    done = replays.replay_log(
        measured_log(name, located), policies=("tv_gp_ucb", "fixed", "random"), seeds=1, jobs=1
    )
    assert done.best != "random"
    assert "random" not in done.rivals
    parts = [np.array_split(done.regrets(policy), 10) for policy in ("random", "tv_gp_ucb")]
    random, tracking = (np.array([part.mean() for part in stretches]) for stretches in parts)
    assert compare(random, tracking).errors > 2.0
    assert all(score.share is not None and 0.5 < score.share <= 1.0 for score in done.scores)
    assert (done.setup.neighbours is None) == (not located)
    assert done.filled == 0.0
    low, high = done.setup.drift.interval
    assert 1e-3 < low < done.setup.drift.epsilon < high < 0.3
    assert done.log.step in report.drift_in_words(done)
