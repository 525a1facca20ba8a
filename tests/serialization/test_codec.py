"""The codec: values survive JSON, and everything else raises an error."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
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
from heliotrope.memory import Restart
from heliotrope.policies import GPPolicy
from heliotrope.serialization.codec import Arrays, decode, encode
from strategies import fixed, refusal, square


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
