"""Translate between the space of a study and the domain of its optimizer.

Options without features have a coordinate each.
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
from heliotrope.ledger import Suggestion
from heliotrope.spaces import Boolean, Categorical, Options, Parameter, Real, SearchSpace, Value
from heliotrope.validation import Array, short_repr

_PAIRS = 5_000  # of a choice and a context: up to this many, a Finite domain lists them
_INDEPENDENT_PAIRS = 1_000  # the same for independent options, which need whole matrices
_DIGITS = 12  # of a number in a context; scaling changes the later ones

Context = dict[str, Value]
LoggedPlace: TypeAlias = int | list[float]
"""The place of an evaluation in the log: an index, or a canonical point."""


@dataclass(frozen=True, eq=False)
class SpaceAdapter:
    """The space of the choices, and that of the contexts if there are any."""

    space: SearchSpace | Options
    context: SearchSpace | None = None

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> SpaceAdapter:
        """Read the space or options, and the context, of a study's configuration."""
        if ("space" in config) == ("options" in config):
            both = "both" if "space" in config else "neither"
            raise InputError("either a space or options", both)
        kind, key = (SearchSpace, "space") if "space" in config else (Options, "options")
        space: SearchSpace | Options = kind.from_json(config[key])
        if config.get("context") is None:
            return cls(space)
        with relocated("space", "context"):
            return cls(space, SearchSpace.from_json(config["context"]))

    @property
    def is_independent(self) -> bool:
        """Whether the options are independent: they have no features."""
        return isinstance(self.space, Options) and self.space.features is None

    @cached_property
    def problem(self) -> Domain | Contextual:
        """The argument of an Optimizer: a domain, with contexts a Contextual."""
        if self.context is None:
            return self.space.domain
        choices, context = self.space.domain, self.context.domain
        if isinstance(choices, Finite) and isinstance(context, Finite):
            most = _INDEPENDENT_PAIRS if self.is_independent else _PAIRS
            if len(choices) * len(context) <= most:
                return Contextual(choices, context)
        choices = self.space.cube if isinstance(self.space, SearchSpace) else self.space.domain
        return Contextual(choices, self.context.cube)

    @property
    def domain(self) -> Domain:
        """The domain of the evaluations: with contexts, all pairs of a choice and a context."""
        return self.problem.joined if isinstance(self.problem, Contextual) else self.problem

    @property
    def choices(self) -> Domain:
        """The domain of the choices, as it is in :attr:`problem`."""
        return self.problem.choices if isinstance(self.problem, Contextual) else self.problem

    # ---- contexts

    def check_context(self, context: Any) -> Context | None:
        """Return a context as it is logged, or raise an InputError; None without contexts."""
        if self.context is None:
            if context is not None:
                raise InputError(
                    "no context, because the study has none", short_repr(context), "", "context"
                )
            return None
        if context is None:
            names = short_repr(list(self.context.parameters))
            raise InputError(f"a context of {names}", "none", "Pass context=...", "context")
        with relocated("params", "context"):
            return _described(self.context, self.context.point(context))

    def context_point(self, context: Context | None) -> Array | None:
        """The coordinates of a checked context."""
        return None if self.context is None or context is None else self.context.point(context)

    def context_of(self, x: Array) -> Array | None:
        """The coordinates of the context of a measured point."""
        return self.problem.context_of(x) if isinstance(self.problem, Contextual) else None

    # ---- places

    def canonical_choice(self, chosen: Any) -> Mapping[str, Value] | str:
        """The parameters or the option as an evaluation names them; InputError."""
        words = self._describe_choice(self.choice_place(chosen))
        choice: Mapping[str, Value] | str = words["params" if "params" in words else "option"]
        return choice

    def choice_place(self, chosen: Any) -> int | Array:
        """The place of parameters or of an option among :attr:`choices`; InputError."""
        return self._index(chosen) if isinstance(self.choices, Finite) else self._point(chosen)

    def choice_point(self, chosen: Any) -> Array:
        """The coordinates of parameters or of an option among :attr:`choices`; InputError."""
        place = self.choice_place(chosen)
        point: Array = self.choices.at(np.array([place]))[0]
        return point

    def describe_choice(self, point: Array) -> dict[str, Any]:
        """The ``params`` or the ``option`` of a choice given by its coordinates."""
        choices = self.choices
        place = int(choices.places(point[None])[0]) if isinstance(choices, Finite) else point
        return self._describe_choice(place)

    def place_of(self, chosen: Any, context: Any = None) -> LoggedPlace:
        """The place of parameters or of an option in a context; InputError."""
        checked = self.check_context(context)
        if isinstance(self.domain, Finite):
            index = self._index(chosen)
            if self.context is None or checked is None:
                return index
            return index * len(_listed_context(self.problem)) + self.context.index(checked)
        point = self.context_point(checked)
        return [*self._point(chosen).tolist(), *([] if point is None else point.tolist())]

    def place_of_suggestion(self, suggestion: Suggestion) -> LoggedPlace:
        """The place of a suggestion: its canonical point."""
        if suggestion.index is not None:
            return suggestion.index
        choice = suggestion.choice
        if isinstance(self.space, SearchSpace):
            choice = self.space.snapped(choice[None])[0]
        coordinates: list[float] = [] if suggestion.context is None else suggestion.context.tolist()
        return [*choice.tolist(), *coordinates]

    def describe(
        self, place: LoggedPlace | Array, context: Context | None = None
    ) -> dict[str, Any]:
        """The ``params`` or ``option`` of a place, and its ``context``, decoded unless given."""
        where = place if isinstance(place, int) else np.asarray(place)
        if self.context is None or not isinstance(self.problem, Contextual):
            return self._describe_choice(where)
        choice, coordinates = _parted(self.problem, where)
        words = _described(self.context, coordinates) if context is None else context
        return {**self._describe_choice(choice), "context": words}

    # ---- private

    def _index(self, chosen: Any) -> int:
        if isinstance(self.space, SearchSpace):
            return self.space.index(chosen)
        with located("option"):
            return self.space.index(chosen)

    def _point(self, chosen: Any) -> Array:
        if isinstance(self.space, SearchSpace):
            return self.space.point(chosen)
        point: Array = self.space.domain.at(np.array([self._index(chosen)]))[0]
        return point

    def _describe_choice(self, place: int | Array) -> dict[str, Any]:
        if isinstance(self.space, SearchSpace):
            if isinstance(place, int):
                return {"params": self.space.params(place)}
            return {"params": self.space.decoded(place)}
        if not isinstance(place, int):
            place = int(self.space.domain.places(place[None])[0])
        return {"option": self.space.name(place)}


def default_context(context: SearchSpace | None) -> Context | None:
    """The context before the first ask: middle values, and first choices."""
    if context is None:
        return None
    return {name: _middle(parameter) for name, parameter in context.parameters.items()}


def _listed_context(problem: Domain | Contextual) -> Finite:
    """The contexts, if all pairs are listed."""
    assert isinstance(problem, Contextual)
    assert isinstance(problem.context, Finite)
    return problem.context


def _parted(problem: Contextual, place: int | Array) -> tuple[int, int] | tuple[Array, Array]:
    """The choice and the context of a place."""
    if isinstance(place, int):
        return divmod(place, len(_listed_context(problem)))
    width = problem.choices.dimension
    return place[:width], place[width:]


def _described(context: SearchSpace, place: int | Array) -> Context:
    """A context in words, without the rounding errors of scaling."""
    parameters, values = context.parameters, context.params(place)
    return {name: _tidy(parameters[name], value) for name, value in values.items()}


def _tidy(parameter: Parameter, value: Value) -> Value:
    """A number rounded to twelve digits of its range."""
    if not isinstance(parameter, Real) or parameter.count is not None:
        return value
    assert isinstance(value, float)
    low, high = parameter.low, parameter.high
    size = abs(value) if parameter.log else max(abs(low), abs(high))
    return min(max(round(value, _DIGITS - ceil(log10(size))), low), high)


def _middle(parameter: Parameter) -> Value:
    if isinstance(parameter, (Categorical, Boolean)):
        return parameter.value(0)
    return _tidy(parameter, parameter.decode(np.array([0.5])))
