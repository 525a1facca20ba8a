"""The genie of Theorem thm:conv, whose regret no policy can be expected to beat."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from heliotrope.lab.environments import FiniteEpisode, Step
from heliotrope.lab.theory.checks import expect
from heliotrope.validation import as_whole


def run_genie(episode: FiniteEpisode, seed: int = 0) -> Iterator[Step]:
    """Play an episode as one who sees all of f_{t-1}, without noise, before choosing x_t.

    This is no policy: it reads the world itself, never a measurement, so that it can only be run
    where the world was drawn. Given f_{t-1} the past says nothing more, and f_t(x) has the mean
    sqrt(1 - epsilon) f_{t-1}(x) under a constant prior mean; so the maximizer of f_{t-1} is the
    best choice there is, and its regret, of the order of epsilon a step, is the floor. At t = 1
    nothing is known and any point is as good: one is drawn by the seed.
    """
    rng = np.random.default_rng(as_whole(seed, "seed", least=0))
    index = int(rng.integers(len(expect(episode, FiniteEpisode).domain)))
    for t, values in zip(episode.times.tolist(), episode.values, strict=True):
        yield episode.step(t, index)
        index = int(values.argmax())
