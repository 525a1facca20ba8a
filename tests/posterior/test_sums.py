"""Sums of terms: every fast engine against the reference formulas, and those against others."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

import heliotrope as ht
from heliotrope import posterior as engines
from heliotrope.domains import Domain
from heliotrope.posterior import (
    BoxEngine,
    DenseEngine,
    Engine,
    FiniteEngine,
    ReferenceEngine,
    columns,
    finite,
)
from heliotrope.terms import Drifts, Level, Season, Smooth, Stays, Term, Trend, Walks
from scenario import play

GRID = ht.grid(6, 6)
BOX = ht.Box([0.0, -1.0], [1.0, 1.0])
AT = BOX.scaled(np.random.default_rng(9).random((20, 2)))
DOMAINS = pytest.mark.parametrize("domain", [GRID, BOX], ids=["finite", "box"])

STAYS = Stays(0.5 * Matern([0.3, 0.4], nu=2.5))
DRIFTS = Drifts(0.5 * Matern(0.2, nu=2.5), epsilon=0.02)
LEVEL = Level(0.7, epsilon=0.05)
SEASON = Season(0.3 * RBF(0.4), period=20.0, harmonics=2, epsilon=0.0005)
TREND = Trend(0.1 * RBF(0.5), origin=10.0, unit=50.0)
SMOOTH = Smooth(0.4 * RBF(0.4), length=15.0, nu=1.5)
SUMS: dict[str, list[Term]] = {
    "stays": [STAYS],
    "drifts at once": [Drifts(RBF(0.3), epsilon=1.0)],
    "level": [STAYS, Level(2.0)],
    "season": [SEASON],
    "trend": [TREND],
    "smooth": [SMOOTH],
    "smoother": [Smooth(Matern(0.4, nu=2.5), length=8.0, nu=2.5)],
    "walks": [Walks(RBF(0.4), growth=0.05), Level(0.5, epsilon=0.3)],
    "shared season": [Drifts(RBF(0.3), epsilon=0.3), Season(0.5, period=7.0)],
    "two": [STAYS, DRIFTS],
    "three": [STAYS, DRIFTS, LEVEL],
    "five": [STAYS, DRIFTS, LEVEL, SEASON, SMOOTH],
    "all": [STAYS, DRIFTS, LEVEL, SEASON, TREND, SMOOTH],
}


def summed(*terms: Term, noise: float = 0.05) -> ht.Prior:
    return ht.Prior(noise=noise, mean=0.3, terms=terms)


def fast_engines(prior: ht.Prior, domain: Domain) -> list[Engine]:
    quick = engines.build(prior, domain)
    assert isinstance(quick, FiniteEngine if domain is GRID else BoxEngine)
    return [quick, DenseEngine(prior, domain)]


@pytest.mark.parametrize("mixed", [False, True], ids=["usual", "mixed precision"])
@pytest.mark.parametrize("irregular", [False, True], ids=["regular", "irregular"])
@pytest.mark.parametrize("terms", SUMS.values(), ids=SUMS)
@DOMAINS
def test_exact_at_every_step(
    domain: Domain, terms: list[Term], irregular: bool, mixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finite, "_LEAST_ROOM", 16)
    prior = summed(*terms)
    reference, fast = ReferenceEngine(prior, domain), fast_engines(prior, domain)
    places = GRID.indices if domain is GRID else AT
    for t in play([reference, *fast], domain, prior, steps=60, irregular=irregular, mixed=mixed):
        for part in (None, ht.terms.CHOICE, terms[-1].name):
            expected = reference.predict(t + 0.25, places, part=part)
            for engine in fast:
                found = engine.predict(t + 0.25, places, part=part)
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    for engine in fast:
        np.testing.assert_allclose(
            engine.covariance(t + 9.0, places), reference.covariance(t + 9.0, places), atol=1e-6
        )
        assert engine.log_likelihood == pytest.approx(reference.log_likelihood, rel=1e-6)


@pytest.mark.parametrize("terms", SUMS.values(), ids=SUMS)
def test_features_are_exact(terms: list[Term], monkeypatch: pytest.MonkeyPatch) -> None:
    """Over many close points a smooth kernel has few features; a saved state keeps its own."""
    monkeypatch.setattr(finite, "_LEAST_ROOM", 16)
    monkeypatch.setattr(columns, "_FEW", 1)
    prior, line = summed(*terms, Level(0.1)), ht.grid(25, 4)
    reference, fast = ReferenceEngine(prior, line), FiniteEngine(prior, line)
    assert "pivots0" in fast.state() or isinstance(terms[0], Drifts)
    for t in play([reference, fast], line, prior, steps=60, irregular=True, mixed=True):
        expected = reference.predict(t + 0.25, line.indices)
        np.testing.assert_allclose(
            fast.predict(t + 0.25, line.indices), expected, rtol=0, atol=1e-6
        )
    again = FiniteEngine(prior, line)
    again.restore(fast.state())
    np.testing.assert_allclose(
        again.predict(t, line.points), reference.predict(t, line.indices), rtol=0, atol=1e-6
    )
