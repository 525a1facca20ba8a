"""Protocols: a policy is a description that starts an agent; the agent chooses and learns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from heliotrope.domains import Choices, Domain, Places
from heliotrope.estimation import Model, Results
from heliotrope.notebook import facts_table
from heliotrope.posterior import Accuracy
from heliotrope.precision import USUAL, Precision
from heliotrope.serialization.codec import State
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array

TOLD_AT_ONCE = -1
"""Key of an evaluation that is told as soon as it is opened."""


@dataclass(frozen=True, eq=False)
class Belief:
    """Posterior mean and standard deviation of f_t at points.

    The deviation is that of f, without measurement noise.
    """

    t: float
    points: Array
    mean: Array
    std: Array

    def __repr__(self) -> str:
        return f"Belief({', '.join(f'{name} {words}' for name, words in self._facts().items())})"

    def _repr_html_(self) -> str:
        return facts_table("Belief", self._facts())

    def _facts(self) -> dict[str, str]:
        ranges = {"mean": self.mean, "std": self.std} if len(self.mean) else {}
        return {
            "t": f"{self.t:g}",
            "points": f"{len(self.points):,}",
            **{name: f"{row.min():.4g} to {row.max():.4g}" for name, row in ranges.items()},
        }


@dataclass(frozen=True, eq=False)
class Best:
    """The point of the best posterior mean at time ``t``, with that mean and its deviation.

    In a SearchSpace ``params`` are the values by name; among Options ``option`` is the name.
    Without names both are empty.
    """

    t: float
    x: Array
    index: int | None
    mean: float
    std: float
    params: dict[str, Any] = field(default_factory=dict)
    option: str = ""


@runtime_checkable
class Agent(Protocol):
    """The state of a running policy. Keys identify evaluations; places are the domain's."""

    def choose(self, t: float, make_rng: RNGFactory) -> Places:
        """Return one place to evaluate at time t; changes nothing."""

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation."""

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        """Take the value of an open evaluation; an agent without a noise model ignores it."""

    def cancel(self, key: int) -> None:
        """Forget an open evaluation."""

    def predict(self, t: float, places: Places, *, count_open: bool) -> tuple[Array, Array]:
        """Mean and variance of f_t; changes nothing."""

    def best(self, t: float, make_rng: RNGFactory) -> Places:
        """Return the one place of highest posterior mean at time t; changes nothing."""

    def state(self) -> State:
        """The agent's state as arrays."""

    def restore(self, state: State) -> None:
        """Continue from what :meth:`state` returned."""


@runtime_checkable
class Selective(Protocol):
    """An agent that can choose among some places of its domain, as contexts require."""

    def choose_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        """Return one of the choices to evaluate at time t; changes nothing."""

    def best_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        """Return the choice of highest posterior mean at time t; changes nothing."""


@runtime_checkable
class Sampling(Protocol):
    """An agent with a joint posterior of f at several places."""

    def sample(self, t: float, places: Places, rng: np.random.Generator, size: int) -> Array:
        """Joint posterior draws of f_t, (size, places); changes nothing."""

    @property
    def log_likelihood(self) -> float:
        """Log marginal likelihood of the observations that count."""

    def accuracy(self) -> Accuracy:
        """The error of the posterior that its engine has accepted."""


@runtime_checkable
class Weighing(Protocol):
    """An agent that weighs places against each other, as limits, baselines and costs require."""

    def scores(self, t: float, places: Places, make_rng: RNGFactory) -> Array:
        """The acquisition's scores of places, in the unit of the values; changes nothing."""

    def covariance(self, t: float, places: Places, others: Places | None = None) -> Array:
        """Posterior covariance of f_t at places with others, without open evaluations.

        By default it is the joint covariance of the places.
        """

    @property
    def noise(self) -> float:
        """The noise variance of a usual result."""


@runtime_checkable
class Policy(Protocol):
    """An immutable description of how to choose.

    ``grows = True`` says that its agents' state grows with every observation.
    """

    def start(self, domain: Domain) -> Agent:
        """Return a fresh agent over a domain; refuse a domain that does not fit."""


@runtime_checkable
class Signed(Protocol):
    """A policy or a recipe with parameters that have the sign of the values, such as a mean."""

    def negated(self) -> Any:
        """Return the same for values with the opposite sign."""


@runtime_checkable
class Doubting(Protocol):
    """An agent that takes some values for faults."""

    @property
    def doubted(self) -> set[int]:
        """The keys of the evaluations whose values count little."""


@runtime_checkable
class Recipe(Protocol):
    """How a model follows from results, and a policy from a learned model.

    Its policies choose in the unit cube, and time is in units of the pace. With ``counts`` it is
    the number of results; otherwise it begins when the user's does. ``doubts`` says that a value is
    taken for a fault if later results at its place contradict it.
    """

    @property
    def counts(self) -> bool: ...

    @property
    def doubts(self) -> bool: ...

    def estimate(self, results: Results, groups: Sequence[Sequence[int]], before: Model) -> Model:
        """The model of some results, given the one before.

        ``groups`` are the coordinates that may share a length scale.
        """

    def policy(self, model: Model, epsilon: float, domain: Domain) -> Policy:
        """The policy for a model, a drift per unit of time and a domain.

        Its values are those after the warp of the model's world.
        """
