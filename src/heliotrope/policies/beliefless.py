"""What agents without a model of f share: they have no belief to show."""

from __future__ import annotations

from typing import NoReturn

from heliotrope.domains import Choices, Places
from heliotrope.errors import NoBeliefError
from heliotrope.rng import Draw


class Beliefless:
    """An agent that predicts nothing; ``policy`` is what its refusals call it."""

    policy: str

    def predict(self, t: float, places: Places, *, count_open: bool) -> NoReturn:
        """Refuse: there is no belief."""
        self._refuse()

    def best(self, t: float, draw: Draw) -> NoReturn:
        """Refuse: there is no belief."""
        self._refuse()

    def best_among(self, choices: Choices, t: float, draw: Draw) -> NoReturn:
        """Refuse: there is no belief."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise NoBeliefError("a policy with a model of f", self.policy, "Use tv_gp_ucb.")
