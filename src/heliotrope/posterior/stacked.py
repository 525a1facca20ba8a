"""The stacked state of a sum of Markov terms, each held at its own reference time.

Term c has p_c blocks u^c, functions of x, and f_t = sum_c h_c(t) . u^c_t. Engines store
what the observations explain of u^c at ref_c. For u^c_t it is multiplied by A_c(t - ref_c), so the
stored arrays do not change as time passes. Once A has become small, the term is moved to a new
reference time.

Symbols
-------
C, P  terms, blocks in all      a (P,)  A(t - ref)^T h, observation vector of f_t
b (P,)  A(t - ref)^{-1} S h, prior covariance of u_t and f_t, moved back to ref
s (C,)  h . S h, the prior variance of each term as a multiple of its kernel's
"""

from collections.abc import Callable
from itertools import pairwise
from math import inf
from typing import NamedTuple

import numpy as np

from heliotrope.errors import InputError, TimeError
from heliotrope.priors import Prior
from heliotrope.serialization.codec import State
from heliotrope.terms import MarkovTerm
from heliotrope.validation import Array, Indices

_STALE = 3.0  # rate times age at which a term is moved to a new reference time
_CACHED = 8  # views


class View(NamedTuple):
    """A part of f_t: its observation vector a (P,) and prior variance factors s (C,)."""

    a: Array
    s: Array


class StackedTerms:
    """The terms of a prior, their reference times, and the current time."""

    def __init__(self, prior: Prior) -> None:
        self._prior, self.terms = prior, markov_terms(prior)
        self.owner: Indices = np.repeat(np.arange(len(self.terms)), [t.order for t in self.terms])
        ends = np.cumsum([0, *(term.order for term in self.terms)]).tolist()
        self.slices = [slice(*pair) for pair in pairwise(ends)]
        self.now = self.start = -inf
        self._refs: list[float] = [-inf] * len(self.terms)
        self._parts: dict[str | None, tuple[bool, ...]] = {}
        self._views: dict[tuple[float, tuple[bool, ...]], View] = {}

    def view(self, t: float, part: str | None = None) -> View:
        """Return the view of a part of f_t; the latest views are cached."""
        self._check(t)
        chosen = self._selected(part)
        view = self._views.get((t, chosen))
        if view is None:
            if len(self._views) == _CACHED:
                self._views.clear()
            view = self._views[t, chosen] = self._view(t, chosen)
        return view

    def gain(self, t: float) -> Array:
        """The vector b (P,), at a time at which no term is stale."""
        start = self._begun(t)
        gains = [term.gain_before(t, self._age(c, t), start) for c, term in enumerate(self.terms)]
        return gains[0] if len(gains) == 1 else np.concatenate(gains)

    def advance(self, t: float, move: Callable[[slice, Array], None]) -> None:
        """Go to time t; ``move`` multiplies the blocks of each stale term by its transition."""
        first = self.now == -inf
        for c, term in enumerate(self.terms):
            if first:
                self._refs[c] = t
            elif term.rate * self._age(c, t) > _STALE:
                self._move(c, t, move)
        self.now, self.start = t, t if first else self.start

    def refresh(self, move: Callable[[slice, Array], None]) -> None:
        """Move every term to the present."""
        for c, term in enumerate(self.terms):
            if term.rate > 0.0 and self._refs[c] < self.now:
                self._move(c, self.now, move)

    def largest_share(self, since: float) -> float:
        """The largest share of a state at an earlier time that any term still has, at most 1."""
        if since == -inf:
            return 1.0
        norms = [np.linalg.norm(term.transition(self.now - since), 2) for term in self.terms]
        return min(1.0, float(max(norms)))

    def state(self) -> State:
        return {"start": np.array(self.start), "refs": np.array(self._refs)}

    def restore(self, state: State, now: float) -> None:
        """Restore a saved :meth:`state`."""
        self.now, self.start = now, float(state["start"])
        self._refs = state["refs"].tolist()
        self._views.clear()

    def _view(self, t: float, chosen: tuple[bool, ...]) -> View:
        if len(chosen) == 1:
            (term,) = self.terms
            s = np.array([term.scale(t, self._begun(t))])
            return View(term.seen_after(t, self._age(0, t)), s)
        a, s = np.zeros(len(self.owner)), np.zeros(len(self.terms))
        for c, term in enumerate(self.terms):
            if chosen[c]:
                a[self.slices[c]] = term.seen_after(t, self._age(c, t))
                s[c] = term.scale(t, self._begun(t))
        return View(a, s)

    def _selected(self, part: str | None) -> tuple[bool, ...]:
        if not isinstance(part, str | None) or part not in self._parts:
            self._parts[part] = tuple(self._prior.selects(part))
        return self._parts[part]

    def _move(self, c: int, t: float, move: Callable[[slice, Array], None]) -> None:
        move(self.slices[c], self.terms[c].transition(self._age(c, t)))
        self._refs[c] = t
        self._views.clear()

    def _age(self, c: int, t: float) -> float:
        return 0.0 if self.now == -inf else t - self._refs[c]

    def _begun(self, t: float) -> float:
        return t if self.start == -inf else self.start

    def _check(self, t: float) -> None:
        if t < self.now:
            raise TimeError(
                f"a time of at least {self.now:g}, the latest seen",
                f"{t:g}",
                "Queries about the past need engine='dense'.",
            )


def markov_terms(prior: Prior) -> list[MarkovTerm]:
    """Return the terms of a prior, or raise an error if one is not Markov."""
    terms = [term for term in prior.terms if isinstance(term, MarkovTerm)]
    if len(terms) < len(prior.terms):
        raise InputError(
            "a Static, Forgetting or Wiener time, or a sum of Markov terms, for this engine",
            "a scikit-learn kernel over time",
            "Use engine='dense'.",
        )
    return terms
