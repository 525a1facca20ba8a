"""A space as an optimizer sees it: a domain, whose points have names for the user."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import DomainAdapter, Finite, Places
from heliotrope.errors import located
from heliotrope.spaces.options import Options
from heliotrope.spaces.space import SearchSpace
from heliotrope.validation import Json


class NamedAdapter(DomainAdapter):
    """Translates configurations, or the names of options, to places of the space's domain.

    Points and indices of that domain are accepted as well.
    """

    def __init__(self, space: SearchSpace | Options) -> None:
        super().__init__(space.domain)
        self.space = space

    def canonical(self, place: Places) -> Places:
        """Return the place of the configuration that a place decodes to."""
        if isinstance(self.domain, Finite) or not isinstance(self.space, SearchSpace):
            return place
        return self.space.snapped(place)

    def labels(self, place: Places) -> Json:
        where = int(place[0]) if isinstance(self.domain, Finite) else place[0]
        if isinstance(self.space, Options):
            return {"option": self.space.name(int(where))}
        return {"params": self.space.params(where)}

    def place(self, x: Any) -> Places:
        return self._place(x) if _is_named(x) else super().place(x)

    def told_places(self, x: Any) -> Places:
        return self._listed(x) if _are_named(x) else super().told_places(x)

    def places(self, X: Any, context: ArrayLike | None) -> Places:
        if X is None or not _are_named(X):
            return super().places(X, context)
        self.choices(context)  # refuses a context
        return self._listed(X)

    def _listed(self, names: Iterable[Any]) -> Places:
        places = list[Places]()
        for i, name in enumerate(names):
            with located(str(i)):
                places.append(self._place(name))
        return np.concatenate(places)

    def _place(self, name: Any) -> Places:
        if isinstance(self.space, Options) or isinstance(self.domain, Finite):
            return np.array([self.space.index(name)])
        return self.space.point(name)[None]


def _is_named(x: object) -> bool:
    return isinstance(x, (Mapping, str))


def _are_named(x: object) -> bool:
    """Whether this is a list of configurations or of names; the space refuses mixtures."""
    return isinstance(x, (list, tuple)) and bool(x) and any(map(_is_named, x))
