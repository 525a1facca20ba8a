"""Where a study measures: as its optimizer has it, and in the words of its space.

Options without features share nothing. Without contexts they are whole numbers under a tiny length
scale. Beside a context, over which a length scale is learned, they lie as many of any such apart:
what is learned of an option in one context is of use in similar ones, and says nothing of others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log10
from typing import Any, TypeAlias

import numpy as np

from heliotrope.domains import Contextual, Domain, Finite
from heliotrope.errors import InputError, located, relocated
from heliotrope.history import Suggestion
from heliotrope.spaces import Boolean, Categorical, Options, Parameter, Real, SearchSpace, Value
from heliotrope.validation import Array, short_repr

INDEPENDENT = 1e-3  # length scale under which whole numbers share nothing
_PAIRS = 5_000  # of a choice and a context, that a Finite domain lists
_PAIRS_APART = 1_000  # of options that share nothing, of which whole matrices are kept
_DIGITS = 12  # of a context's number; the others are what scaling does to it

Context = dict[str, Value]
LoggedPlace: TypeAlias = int | list[float]
"""Where was measured, as the log has it: an index, or a canonical point."""


@dataclass(frozen=True, eq=False)
class SpaceAdapter:
    """What is chosen and, if there is any, the context that is given."""

    space: SearchSpace | Options
    context: SearchSpace | None = None

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> SpaceAdapter:
        """Read the space or options, and the context, of a study's configuration."""
        if ("space" in config) == ("options" in config):
            both = "both" if "space" in config else "neither"
            raise InputError("either a space or options", both)
        if "space" in config:
            return cls(SearchSpace.from_json(config["space"]), _context_from_json(config))
        return cls(Options.from_json(config["options"]), _context_from_json(config))

    @property
    def is_independent(self) -> bool:
        """Whether options share nothing: they are named, and without features."""
        return isinstance(self.space, Options) and self.space.features is None

    @cached_property
    def problem(self) -> Domain | Contextual:
        """What an optimizer is made over."""
        if self.context is None:
            return self._choices
        if self._is_listed(self._choices, self.context.domain):
            return Contextual(self._choices, self.context.domain)
        choices = self.space.cube if isinstance(self.space, SearchSpace) else self._choices
        return Contextual(choices, self.context.cube)

    @property
    def domain(self) -> Domain:
        """Where one may measure: of contexts, all pairs of a choice and a context."""
        return self.problem.joined if isinstance(self.problem, Contextual) else self.problem

    # ---- contexts

    def check_context(self, context: Any) -> Context | None:
        """A context as it is kept, or say what is wrong with it; None where there are none."""
        if self.context is None:
            if context is not None:
                raise InputError(
                    "no context, the study having none", short_repr(context), "", "context"
                )
            return None
        if context is None:
            names = short_repr(list(self.context.parameters))
            raise InputError(f"a context of {names}", "none", "Say context=...", "context")
        with relocated("params", "context"):
            return self._describe_context(self.context.point(context))

    def context_point(self, context: Context | None) -> Array | None:
        """The coordinates of a context that was given."""
        if self.context is None or context is None:
            return None
        return self.context.point(context)

    def context_of(self, x: Array) -> Array | None:
        """The coordinates of the context that a measured point has."""
        return self.problem.context_of(x) if isinstance(self.problem, Contextual) else None

    def default_context(self) -> Context | None:
        """The context to look at before there is one: in the middle, or of the first choice."""
        if self.context is None:
            return None
        return {name: _middle(parameter) for name, parameter in self.context.parameters.items()}

    # ---- places

    def place_of(self, chosen: Any, context: Any = None) -> LoggedPlace:
        """The place of parameters or an option, in a context; or say what is wrong with them."""
        given = self.check_context(context)
        if isinstance(self.domain, Finite):
            index = self._index(chosen)
            if self.context is None or given is None:
                return index
            return index * len(self._listed_context) + self.context.index(given)
        point = self.context_point(given)
        return [*self._point(chosen).tolist(), *([] if point is None else point.tolist())]

    def place_of_suggestion(self, suggestion: Suggestion) -> LoggedPlace:
        """Where a suggestion is measured."""
        if suggestion.index is not None:
            return suggestion.index
        choice = suggestion.choice
        if isinstance(self.space, SearchSpace):
            choice = self.space.snap(choice)
        given: list[float] = [] if suggestion.context is None else suggestion.context.tolist()
        return [*choice.tolist(), *given]

    def describe(
        self, place: LoggedPlace | Array, context: Context | None = None
    ) -> dict[str, Any]:
        """The ``params`` or ``option`` of a place, and its ``context``, decoded unless given."""
        where = place if isinstance(place, int) else np.asarray(place)
        if not isinstance(self.problem, Contextual):
            return self._describe_choice(where)
        choice, given = self._parted(where)
        words = self._describe_context(given) if context is None else context
        return {**self._describe_choice(choice), "context": words}

    # ---- the rest

    @cached_property
    def _choices(self) -> Domain:
        if not self.is_independent:
            return self.space.domain
        assert isinstance(self.space, Options)
        numbers = np.arange(float(len(self.space.names)))
        return Finite(numbers if self.context is None else numbers / INDEPENDENT)

    def _is_listed(self, choices: Domain, context: Domain) -> bool:
        if not (isinstance(choices, Finite) and isinstance(context, Finite)):
            return False
        return len(choices) * len(context) <= (_PAIRS_APART if self.is_independent else _PAIRS)

    @property
    def _listed_context(self) -> Finite:
        """The contexts, where all pairs are listed."""
        assert isinstance(self.problem, Contextual)
        assert isinstance(self.problem.context, Finite)
        return self.problem.context

    def _parted(self, place: int | Array) -> tuple[int, int] | tuple[Array, Array]:
        """The choice and the context of a place."""
        assert isinstance(self.problem, Contextual)
        if isinstance(place, int):
            return divmod(place, len(self._listed_context))
        width = self.problem.choices.dimension
        return place[:width], place[width:]

    def _index(self, chosen: Any) -> int:
        """Which of the listed choices this is."""
        if isinstance(self.space, SearchSpace):
            return self.space.index(chosen)
        with located("option"):
            return self.space.index(chosen)

    def _point(self, chosen: Any) -> Array:
        """The coordinates of a choice."""
        if isinstance(self.space, SearchSpace):
            return self.space.point(chosen)
        point: Array = self._choices.at(np.array([self._index(chosen)]))[0]
        return point

    def _describe_choice(self, place: int | Array) -> dict[str, Any]:
        if isinstance(self.space, SearchSpace):
            return {"params": self.space.params(place)}
        if not isinstance(place, int):
            place = int(self._choices.places(place[None])[0])
        return {"option": self.space.name(place)}

    def _describe_context(self, place: int | Array) -> Context:
        """A context as it was given, free of what scaling did to its numbers."""
        assert self.context is not None
        parameters, values = self.context.parameters, self.context.params(place)
        return {name: _tidy(parameters[name], value) for name, value in values.items()}


def _context_from_json(config: Mapping[str, Any]) -> SearchSpace | None:
    if config.get("context") is None:
        return None
    with relocated("space", "context"):
        return SearchSpace.from_json(config["context"])


def _tidy(parameter: Parameter, value: Value) -> Value:
    """A number of twelve digits, as many behind the point as the range leaves."""
    if not isinstance(parameter, Real) or parameter.count == 1:
        return value
    assert isinstance(value, float)
    low, high = parameter.low, parameter.high
    size = abs(value) if parameter.log else max(abs(low), abs(high))
    return min(max(round(value, _DIGITS - ceil(log10(size))), low), high)


def _middle(parameter: Parameter) -> Value:
    if isinstance(parameter, (Categorical, Boolean)):
        return parameter.value(0)
    return _tidy(parameter, parameter.decode(np.array([0.5])))
