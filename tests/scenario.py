"""Evaluations whose results are late or out of order, or that stay open or are cancelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from heliotrope.domains import Domain, Finite, Places
from heliotrope.posterior import Engine
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import Prior
from heliotrope.validation import Array


def drifting_value(x: Array, t: float, speed: float) -> float:
    phase = 2.0 * np.pi * speed * t
    return float(np.sum(np.sin(5.0 * x + phase) + 0.3 * np.cos(11.0 * x - 2.0 * phase)))


def play(
    engines: Sequence[Engine],
    domain: Domain,
    prior: Prior,
    *,
    steps: int,
    irregular: bool,
    seed: int = 0,
    mixed: bool = False,
) -> Iterator[float]:
    """Open, tell and cancel the same evaluations in every engine; yield the time of each step.

    With ``mixed`` precision, standard errors differ by factors of up to 100.
    """
    rng = np.random.default_rng(seed)
    rates = [getattr(term, "epsilon", 0.0) for term in prior.terms]
    speed, usual = max(rates), np.sqrt(prior.noise)
    precision = USUAL
    waiting: list[tuple[int, float]] = []
    t = 0.0
    for key in range(steps):
        t += float(rng.exponential()) if irregular else 1.0
        place = _random_place(domain, rng)
        value = drifting_value(domain.at(place)[0], t, speed)
        for engine in engines:
            engine.open(key, t, place)
        waiting.append((key, value + float(rng.normal(scale=usual))))
        while waiting and rng.random() < 0.8:
            done, y = waiting.pop(int(rng.integers(len(waiting))))
            cancelled = rng.random() < 0.1
            if mixed:
                precision = Precision((usual * 10.0 ** rng.uniform(-1.0, 1.0)) ** 2)
            for engine in engines:
                if cancelled:
                    engine.cancel(done)
                else:
                    engine.tell(done, y, precision)
        yield t


def _random_place(domain: Domain, rng: np.random.Generator) -> Places:
    if isinstance(domain, Finite):
        return np.array([rng.integers(len(domain))])
    return domain.scaled(rng.random((1, domain.dimension)))
