"""What a tracker is told once: the choices, the rules, and the settings that it starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heliotrope.domains import DomainAdapter
from heliotrope.live.description import Live
from heliotrope.live.moving import Distances
from heliotrope.spaces import Options, SearchSpace
from heliotrope.validation import Array

__all__ = ["Setup"]


@dataclass(frozen=True, eq=False)
class Setup:
    """The rules of a running system over a domain.

    ``baseline`` and ``known`` are choices as coordinates. The ``known`` ones keep all limits,
    as the user says; the baseline is the first of them.
    """

    adapter: DomainAdapter
    live: Live
    distances: Distances
    baseline: Array | None
    known: tuple[Array, ...]

    @classmethod
    def of(
        cls,
        adapter: DomainAdapter,
        live: Live,
        baseline: Array | None,
        safe: Sequence[Array],
        space: SearchSpace | Options | None = None,
    ) -> Setup:
        """The setup of rules whose settings were translated to coordinates.

        The rules name the parameters of moves as the ``space`` does.
        """
        distances = Distances(live.rules.moves, adapter.domain, space)
        first = () if baseline is None else (baseline,)
        return cls(adapter, live, distances, baseline, (*first, *safe))
