"""Named policies as compositions, memories, the uniform policy, streams and the codec."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import pdist
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Exponentiation,
    Kernel,
    Matern,
    RationalQuadratic,
)

import heliotrope as ht
from heliotrope.errors import FormatError, InputError
from heliotrope.memory import KeepAll, Restart
from heliotrope.policies import GPPolicy
from heliotrope.rng import RNGStream
from heliotrope.serialization.codec import Arrays, decode, encode
from strategies import PRIOR, fixed, refusal, square


def test_named_policies_are_compositions() -> None:
    still = ht.gp_ucb(PRIOR, 2.0)
    assert (still.memory, still.acquisition) == (KeepAll(), ht.UCB(2.0))
    assert still.prior.time == ht.Static()
    restarting = ht.r_gp_ucb(PRIOR, 7, 2.0)
    assert (restarting.memory, restarting.acquisition) == (Restart(7), ht.UCB(2.0))
    assert restarting.prior.time == ht.Static()
    tracking = ht.tv_gp_ucb(PRIOR, 2.0)
    assert (tracking.memory, tracking.acquisition) == (KeepAll(), ht.UCB(2.0))
    assert tracking.prior is PRIOR


def test_static_policies_keep_the_rest_of_the_prior() -> None:
    for policy in (ht.gp_ucb(PRIOR), ht.r_gp_ucb(PRIOR, 7)):
        prior = policy.prior
        assert (prior.space, prior.noise, prior.mean) == (PRIOR.space, PRIOR.noise, PRIOR.mean)


def test_beta_is_the_papers_by_default() -> None:
    for policy in (ht.gp_ucb(PRIOR), ht.r_gp_ucb(PRIOR, 7), ht.tv_gp_ucb(PRIOR)):
        assert policy.acquisition == ht.UCB(ht.LogBeta(0.8, 4.0))


@given(every=st.integers(1, 50), t=st.integers(1, 5000))
@fixed(60)
def test_a_restart_comes_before_steps_1_and_n_plus_1(every: int, t: int) -> None:
    begins = Restart(every).epoch(t) != Restart(every).epoch(t - 1)
    assert begins == ((t - 1) % every == 0)


@given(every=st.floats(0.01, 50.0), t=st.floats(-100.0, 1e4), later=st.floats(0.0, 1e4))
@fixed(60)
def test_epochs_never_run_backwards(every: float, t: float, later: float) -> None:
    assert Restart(every).epoch(t) <= Restart(every).epoch(t + later)
    assert KeepAll().epoch(t) == KeepAll().epoch(t + later)


def test_the_uniform_policy_takes_all_points_alike() -> None:
    """Counts of 2500 draws among 25 points: a chi-square of 24, within 5 standard errors."""
    optimizer = ht.Optimizer(ht.grid(5, 5), ht.uniform(), seed=0)
    counts = np.bincount([int(optimizer.ask().index or 0) for _ in range(2500)], minlength=25)
    chi_square = np.sum((counts - 100.0) ** 2 / 100.0)
    assert abs(chi_square - 24.0) < 5.0 * np.sqrt(48.0)


def test_the_uniform_policy_fills_a_box() -> None:
    """Mean 1/2 and variance 1/12 of 2000 draws a coordinate, within 5 standard errors."""
    box = ht.Box([-1.0, 10.0], [1.0, 11.0])
    optimizer = ht.Optimizer(box, ht.uniform(), seed=0)
    unit = box.unit(np.array([optimizer.ask().x for _ in range(2000)]))
    assert np.all((unit >= 0.0) & (unit <= 1.0))
    assert np.all(np.abs(unit.mean(axis=0) - 0.5) < 5.0 * np.sqrt(1 / 12 / 2000))
    assert np.all(np.abs(unit.var(axis=0) - 1 / 12) < 5.0 * np.sqrt(1 / 180 / 2000))


# Streams


@given(seed=st.integers(0, 2**63 - 1), counter=st.integers(0, 10**9), drawn=st.integers(0, 5))
@fixed(40)
def test_a_stream_depends_on_seed_and_counter_alone(seed: int, counter: int, drawn: int) -> None:
    used = RNGStream(seed)
    used.at(counter + 1)().standard_normal(drawn)
    used.at(counter)().integers(7, size=drawn)
    expected = RNGStream(seed).at(counter)().random(4)
    np.testing.assert_array_equal(used.at(counter)().random(4), expected)
    for other in (
        RNGStream(seed).at(counter + 1)(),
        RNGStream(seed).at(counter, purpose=1)(),
        RNGStream((seed + 1) % 2**63).at(counter)(),
    ):
        assert not np.any(other.random(4) == expected)


def test_counters_of_one_seed_are_uncorrelated() -> None:
    """First draws of 2000 counters: mean and lag-one correlation within 5 standard errors."""
    stream = RNGStream(0)
    draws = np.array([stream.at(i)().standard_normal() for i in range(2000)])
    assert abs(draws.mean()) < 5 / np.sqrt(2000)
    assert abs(np.mean(draws[1:] * draws[:-1])) < 5 / np.sqrt(2000)


# Codec


def there_and_back(value: object) -> Any:
    arrays: Arrays = {}
    return decode(json.loads(json.dumps(encode(value, arrays), allow_nan=False)), arrays)


def with_tuples(value: object) -> object:
    return tuple(map(with_tuples, value)) if isinstance(value, (list, tuple)) else value


text = st.text(st.characters(max_codepoint=1000), max_size=5)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text,
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner),
    max_leaves=12,
)
scales = st.floats(1e-3, 1e3)
kernels = st.recursive(
    st.builds(RBF, scales)
    | st.builds(RBF, st.tuples(scales, scales), st.just("fixed"))
    | st.builds(Matern, scales, nu=st.sampled_from([0.5, 1.5, 2.5, 3.7, np.inf]))
    | st.builds(ConstantKernel, scales, st.tuples(scales, scales))
    | st.builds(RationalQuadratic, scales, scales),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(Exponentiation, inner, st.floats(1.0, 3.0)),
    ),
    max_leaves=5,
)


@given(value=plain)
@fixed(80)
def test_plain_values_survive_json(value: object) -> None:
    assert repr(there_and_back(value)) == repr(with_tuples(value))


@given(array=hnp.arrays(st.sampled_from([np.float64, np.int64, np.bool_]), hnp.array_shapes()))
@fixed(30)
def test_arrays_survive_as_they_are(array: np.ndarray[Any, Any]) -> None:
    first, (again, number) = there_and_back([array, [array, np.float64(2.5)]])
    assert (first is array, again is array, number) == (True, True, 2.5)


@given(kernel=kernels)
@fixed(40)
def test_kernels_survive_json(kernel: Kernel) -> None:
    assert there_and_back(kernel) == kernel


@given(
    space=kernels,
    time=st.one_of(
        st.just(ht.Static()), st.floats(0.0, 1.0).map(ht.Forgetting), st.builds(RBF, scales)
    ),
    noise=scales,
    every=scales,
    first=st.none() | st.just("random") | st.integers(0, 9),
    engine=st.sampled_from([None, "finite", "box", "dense", "reference"]),
)
@fixed(40)
def test_policies_survive_json(
    space: Kernel, time: Any, noise: float, every: float, first: Any, engine: Any
) -> None:
    prior = ht.Prior(space, time, noise, mean=np.arange(3.0))
    policy = GPPolicy(prior, ht.UCB(ht.acquisition.RBeta(0.2, 3)), Restart(every), first, engine)
    read = there_and_back(policy)
    assert isinstance(read, GPPolicy)
    assert (read.prior.space, read.prior.time, read.prior.noise) == (space, time, noise)
    assert np.asarray(read.prior.mean).tolist() == [0.0, 1.0, 2.0]
    assert (read.acquisition, read.memory) == (policy.acquisition, policy.memory)
    assert (read.first, read.engine) == (policy.first, policy.engine)


@pytest.mark.parametrize("domain", [ht.grid(3, 2), square()], ids=["grid", "box"])
def test_domains_survive_json(domain: ht.Finite | ht.Box) -> None:
    read = there_and_back(domain)
    assert type(read) is type(domain)
    for name in ("points",) if isinstance(domain, ht.Finite) else ("lower", "upper"):
        np.testing.assert_array_equal(getattr(read, name), getattr(domain, name))


@pytest.mark.parametrize(
    "value", [object(), {"a": 1}, 1j, b"x", {1, 2}, len], ids=lambda value: type(value).__name__
)
def test_a_value_that_no_file_can_hold(value: object) -> None:
    with refusal(InputError):
        encode([1, value], {})


@pytest.mark.parametrize("tree", [{"$type": "Nothing"}, {"$kernel": "Nothing"}, {}, {"a": 1}])
def test_a_tree_that_no_version_wrote(tree: object) -> None:
    with refusal(FormatError):
        decode([tree], {})


def test_only_kernels_are_taken_from_scikit_learn() -> None:
    for name in ("clone", "cdist", "np", "ABCMeta"):
        with refusal(FormatError):
            decode({"$kernel": name}, {})


def test_first_points_lie_apart_also_after_a_reload(tmp_path: Path) -> None:
    policy = GPPolicy(PRIOR, ht.UCB(2.0), first="apart")
    domains: list[ht.Finite | ht.Box] = [ht.grid(20, 20), ht.Box([-3.0, 0.0], [3.0, 100.0])]
    for domain in domains:
        width = np.ptp(domain.points, axis=0) if isinstance(domain, ht.Finite) else [6.0, 100.0]
        optimizer = ht.Optimizer(domain, policy, seed=0)
        points = []
        for number in range(5):
            suggestion = optimizer.ask()
            optimizer.tell(suggestion, 1.0 if number else 100.0)  # the first would draw the rest
            points.append(suggestion.x / width)
            optimizer.save(tmp_path / "saved")
            optimizer = ht.Optimizer.load(tmp_path / "saved")
        assert pdist(np.array(points)).min() > 0.3


def test_first_is_a_point_or_one_of_two_words() -> None:
    with refusal(InputError):
        GPPolicy(PRIOR, ht.UCB(2.0), first="nearby")
