"""How an optimizer sees its domain: one set of joint points, with or without contexts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains.box import Box
from heliotrope.domains.contextual import Contextual
from heliotrope.domains.finite import Finite
from heliotrope.domains.places import Choices, Domain, Places
from heliotrope.errors import InputError
from heliotrope.history import Observation, Suggestion
from heliotrope.validation import as_array, as_points


class DomainAdapter:
    """Translates between a user's domain and the places of the joint domain."""

    def __init__(self, given: Domain | Contextual) -> None:
        if not isinstance(given, (Finite, Box, Contextual)):
            raise InputError("a Finite, Box or Contextual domain", repr(given))
        self.given = given
        self.contextual = given if isinstance(given, Contextual) else None
        self.domain = given.joined if isinstance(given, Contextual) else given

    def choices(self, context: ArrayLike | None) -> Choices | None:
        """Return the choices in a context; None if the problem has no contexts."""
        if self.contextual is not None:
            if context is None:
                raise InputError("a context for a contextual problem", "none", "Pass context=...")
            return self.contextual.given(context)
        if context is not None:
            raise InputError(
                "no context, because the domain has none",
                repr(context)[:60],
                "Create the optimizer over Contextual(choices, context).",
            )
        return None

    def places(self, X: ArrayLike | None, context: ArrayLike | None) -> Places:
        """Return the places of points X, of choices X in a context, or of a Finite domain."""
        if context is not None:
            X = self._in_context(X, context)
        if X is not None:
            points = as_points(X, "X", self.domain.dimension)
            known = self.domain.find(points) if isinstance(self.domain, Finite) else None
            return points if known is None else known
        if isinstance(self.domain, Finite):
            return self.domain.indices
        raise InputError("points X for a belief over a Box", "none", "Call belief(t, X).")

    def observations(self, t: ArrayLike, x: ArrayLike, y: ArrayLike) -> list[Observation]:
        """Return observations at times t (n,), points x (n, d) or indices, sorted by time."""
        times, values = as_array(t, "t", ndim=1), as_array(y, "y", ndim=1)
        places = self.domain.places(x)
        if not len(times) == len(values) == len(places):
            raise InputError(
                "as many times as points and values",
                f"{len(times)} times, {len(places)} points, {len(values)} values",
            )
        points = self.domain.at(places)
        return [
            Observation(float(times[i]), points[i], float(values[i]), self.index(places[i : i + 1]))
            for i in np.argsort(times, kind="stable")
        ]

    def suggestion(self, key: int, t: float, place: Places) -> Suggestion:
        """Return a suggestion at a place, (1,) or (1, d)."""
        x = np.array(self.domain.at(place)[0])
        x.flags.writeable = False
        context = None if self.contextual is None else self.contextual.context_of(x)
        return Suggestion(key, t, x, self.index(place), context)

    def index(self, place: Places) -> int | None:
        """Return the index of a place in a Finite domain."""
        return int(place[0]) if isinstance(self.domain, Finite) else None

    def saved_suggestion(self, key: int, t: float, place: Places) -> Suggestion:
        """Return a suggestion that was read from a file, after a check of its place."""
        if isinstance(self.domain, Finite):
            return self.suggestion(key, t, self.domain.check(place))
        return self.suggestion(key, t, self.domain.places(place))

    def _in_context(self, X: ArrayLike | None, context: ArrayLike) -> ArrayLike | None:
        """Join choices X, or all choices of a Finite domain, to a context."""
        self.choices(context)  # checks it
        assert self.contextual is not None
        if X is None and isinstance(self.contextual.choices, Finite):
            X = self.contextual.choices.points
        return None if X is None else self.contextual.points(X, context)
