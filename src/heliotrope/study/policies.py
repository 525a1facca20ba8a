"""The policy of a study, in Python and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heliotrope.errors import InputError
from heliotrope.policies.registry import AUTO, PARAMETRIC, REGISTRY, Named, PolicyEntry
from heliotrope.validation import as_python, short_repr

_KINDS = {name: entry for name, entry in REGISTRY.items() if entry.in_studies}


@dataclass(frozen=True, eq=False)
class PolicyChoice:
    """A kind of policy and its given parameters; the others are learned.

    Parameters are in the user's units: ``low``, ``high`` and ``mean`` are those of the values as
    they are told.
    """

    kind: str = AUTO.name
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in _KINDS:
            raise InputError(f"a kind among {', '.join(_KINDS)}", short_repr(self.kind), "", "kind")
        for name in self.parameters:
            if name not in self.entry.parameters:
                names = ", ".join(self.entry.parameters) or "none"
                raise InputError(f"parameters of {self.kind} ({names})", short_repr(name), "", name)
        for name in self.entry.required:
            if name not in self.parameters:
                raise InputError(f"{name} for {self.kind}", "none", "", name)
        if not self.learns_sums:
            self.recipe().check()

    @property
    def entry(self) -> PolicyEntry:
        return _KINDS[self.kind]

    @property
    def learns_sums(self) -> bool:
        """Whether the model is a sum of terms, all of whose parameters are learned."""
        return self.entry is AUTO

    @property
    def has_model(self) -> bool:
        """Whether the policy has a model of the values."""
        return self.learns_sums or self.entry.has_prior

    def recipe(self, independent: int = 0, **held: float) -> Named:
        """The recipe of a named policy, of which the first coordinates are independent options."""
        return Named(self.kind, {**self.parameters, **held}, independent)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.parameters}

    @classmethod
    def from_json(cls, data: object) -> PolicyChoice:
        """Read {"kind": NAME, "epsilon": 0.01, ...}; None is the default, with all learned.

        Parameters without a kind are those of auto, or else of the registry's ``PARAMETRIC``
        policy.
        """
        if data is None or data == {}:
            return cls()
        if not isinstance(data, Mapping):
            raise InputError(f'a policy such as {{"kind": "{AUTO.name}"}}', short_repr(data))
        parameters = {str(name): as_python(value) for name, value in data.items() if name != "kind"}
        usual = AUTO if set(parameters) <= set(AUTO.parameters) else PARAMETRIC
        return cls(data.get("kind", usual.name), parameters)
