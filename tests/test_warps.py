"""Warps: inverses, slopes, moments and covariances, against draws and numerical derivatives."""

from __future__ import annotations

import json
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from heliotrope.errors import InputError
from heliotrope.warps import IDENTITY, Logarithm, SinhArcsinh, Warp, warp_from_json

WARPS = {
    "identity": IDENTITY,
    "log": Logarithm(1.0, 1e-3),
    "negative log": Logarithm(-1.0, 1e-3),
    "long lower tail": SinhArcsinh(1.2, 3.0, 0.7),
    "long upper tail": SinhArcsinh(-0.6, 3.0, 0.7),
}
each_warp = pytest.mark.parametrize("warp", WARPS.values(), ids=WARPS)


def some_values(warp: Warp) -> np.ndarray:
    sign = -1.0 if warp == WARPS["negative log"] else 1.0
    return sign * np.array([0.02, 0.5, 1.0, 3.0, 20.0])


@each_warp
def test_a_warp_has_an_inverse_and_a_slope(warp: Warp) -> None:
    y = some_values(warp)
    assert_allclose(warp.outside(warp.inside(y)), y, rtol=1e-9)
    step = 1e-6 * np.abs(y)
    numeric = (warp.inside(y + step) - warp.inside(y - step)) / (2.0 * step)
    assert_allclose(warp.slope(y), numeric, rtol=1e-5)


@each_warp
def test_a_negated_warp_is_that_of_negated_values(warp: Warp) -> None:
    y = some_values(warp)
    assert_allclose(warp.negated().inside(-y), -warp.inside(y))
    assert warp.negated().negated() == warp


@each_warp
def test_the_moments_are_integrals(warp: Warp) -> None:
    mean, std = 0.4, 0.6

    def integral(power: int, center: float) -> float:
        def weighted(z: float) -> float:
            return float((warp.outside(z) - center) ** power * norm.pdf(z, mean, std))

        return float(quad(weighted, mean - 12.0 * std, mean + 12.0 * std, epsabs=1e-10)[0])

    found = warp.moments(np.array([mean]), np.array([std**2]))
    center = integral(1, 0.0)
    assert_allclose(found[0], center, rtol=1e-4)
    assert_allclose(found[1], integral(2, center), rtol=1e-3)


@each_warp
def test_the_covariance_is_that_of_draws(warp: Warp) -> None:
    rng, n = np.random.default_rng(0), 200_000
    mean, joint = (
        np.array([0.2, 0.5, 0.0]),
        np.array([[0.5, 0.3, -0.2], [0.3, 0.4, 0], [-0.2, 0, 0.3]]),
    )
    draws = warp.outside(rng.multivariate_normal(mean, joint, size=n))
    centered = draws - draws.mean(axis=0)
    products = centered[:, :, None] * centered[:, None, :]
    error = products.std(axis=0) / np.sqrt(n)
    found = warp.covariance(mean, joint)
    assert np.all(np.abs(found - products.mean(axis=0)) < 5.0 * error)
    assert_allclose(found.diagonal(), warp.moments(mean, joint.diagonal())[1])
    of_last = warp.cross_covariance(
        (mean[:2], joint.diagonal()[:2]), (mean[2:], joint.diagonal()[2:]), joint[:2, 2:]
    )
    assert_allclose(of_last, found[:2, 2:])


@given(st.floats(-2.0, 2.0), st.floats(-1e40, 1e40), st.floats(1e-3, 1e3))
def test_no_value_is_too_large_for_a_skewed_warp(skew: float, y: float, unit: float) -> None:
    warp = SinhArcsinh(skew, 1.0, unit)
    z = warp.inside(y)
    assert np.isfinite(z)
    assert warp.slope(y) > 0.0
    assert warp.outside(z) == pytest.approx(y, rel=1e-6, abs=1e-6 * unit)


@each_warp
def test_a_warp_is_kept_as_json(warp: Warp) -> None:
    again = warp_from_json(json.loads(json.dumps(warp.to_json())))
    assert again == warp
    assert astuple(again) == astuple(warp)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "root"},
        {"kind": "log", "sign": "up", "floor": 1.0},
        {"kind": "sinh-arcsinh", "skew": 1.0, "center": 0.0, "unit": 0.0},
    ],
    ids=["kind", "sign", "unit"],
)
def test_a_wrong_warp_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        warp_from_json(wrong)
