"""Where an optimizer measures: a domain, or choices in contexts; points to places and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import Box, Choices, Domain, Finite, Places
from heliotrope.domains.contextual import Contextual
from heliotrope.errors import InputError
from heliotrope.history import Suggestion
from heliotrope.validation import as_points


class Ground:
    """A domain as it was given, and the domain of the points that are measured."""

    def __init__(self, given: Domain | Contextual) -> None:
        if not isinstance(given, (Finite, Box, Contextual)):
            raise InputError("a Finite domain, a Box or a Contextual one", repr(given))
        self.given = given
        self.contextual = given if isinstance(given, Contextual) else None
        self.domain = given.joined if isinstance(given, Contextual) else given

    def choices(self, context: ArrayLike | None) -> Choices | None:
        """What may be chosen in a context; None where there are no contexts."""
        if self.contextual is not None:
            if context is None:
                raise InputError("a context for a contextual problem", "none", "Say context=...")
            return self.contextual.given(context)
        if context is not None:
            raise InputError(
                "no context, the domain having none",
                repr(context)[:60],
                "Make the optimizer over Contextual(choices, context).",
            )
        return None

    def places(self, X: ArrayLike | None, context: ArrayLike | None) -> Places:
        """Places to believe something of: points X, or choices X in a context, or all there are."""
        if context is not None:
            X = self._in_context(X, context)
        if X is not None:
            points = as_points(X, "X", self.domain.dimension)
            known = self.domain.find(points) if isinstance(self.domain, Finite) else None
            return points if known is None else known
        if isinstance(self.domain, Finite):
            return self.domain.indices
        raise InputError("points X for a belief over a Box", "none", "Call belief(t, X).")

    def suggestion(self, key: int, t: float, place: Places) -> Suggestion:
        """Return the suggestion of a place, (1,) or (1, d)."""
        x = np.array(self.domain.at(place)[0])
        x.flags.writeable = False
        context = None if self.contextual is None else self.contextual.context_of(x)
        return Suggestion(key, t, x, self.index(place), context)

    def index(self, place: Places) -> int | None:
        """Return the index of a place in a Finite domain."""
        return int(place[0]) if isinstance(self.domain, Finite) else None

    def saved(self, place: Places) -> Places:
        """Return a place as it was saved, having checked it."""
        if isinstance(self.domain, Finite):
            return self.domain.check(place)
        return self.domain.places(place)

    def _in_context(self, X: ArrayLike | None, context: ArrayLike) -> ArrayLike | None:
        """Join choices X to a context, or all of a Finite domain's."""
        self.choices(context)  # refuses what does not fit
        assert self.contextual is not None
        if X is None and isinstance(self.contextual.choices, Finite):
            X = self.contextual.choices.points
        return None if X is None else self.contextual.points(X, context)
