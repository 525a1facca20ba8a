"""PE-GP-UCB (Ziomek, Adachi and Osborne 2024): optimism over several priors, with elimination.

The prior with the highest confidence bound chooses. It is eliminated when the sum of its errors,
over the steps at which it chose, exceeds what noise and its own confidence intervals allow.

Symbols
-------
U       priors not yet eliminated, initially P          S_u   steps at which prior u chose
eta_i   y_i - mu_u(x_i), the error of the prior that chose at step i
xi_t    2 sigma^2 log(|P| pi^2 t^2 / (3 delta)): noise alone stays below sqrt(xi_t |S_u|) at all
        steps and for all priors with probability 1 - delta
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, pi, sqrt

import numpy as np

from heliotrope.acquisition import UCB, Beta, LogBeta, as_beta
from heliotrope.domains import Choices, Domain, Places, all_choices
from heliotrope.errors import InputError
from heliotrope.posterior import Engine, Learn, build
from heliotrope.posterior.mixture import Ensemble, Mixture
from heliotrope.precision import USUAL, Precision
from heliotrope.priors import Prior
from heliotrope.serialization.codec import State, part, register, under
from heliotrope.surroundings import RNGFactory
from heliotrope.validation import Array, as_share, short_repr

__all__ = ["PriorElimination", "pe_gp_ucb"]


@register
@dataclass(frozen=True, eq=False)
class PriorElimination:
    """GP-UCB with the most optimistic of several priors; priors with large errors are eliminated.

    ``delta`` bounds the probability that noise alone eliminates a prior. The last prior always
    stays.
    """

    priors: Sequence[Prior]
    beta: Beta
    delta: float = 0.1

    def __post_init__(self) -> None:
        object.__setattr__(self, "priors", tuple(self.priors))
        if not self.priors or not all(isinstance(prior, Prior) for prior in self.priors):
            raise InputError("at least one prior, and only priors", short_repr(self.priors))
        object.__setattr__(self, "beta", as_beta(self.beta))
        object.__setattr__(self, "delta", as_share(self.delta, "delta"))

    def start(self, domain: Domain) -> EliminationAgent:
        return EliminationAgent(self, domain)

    def negated(self) -> PriorElimination:
        return replace(self, priors=[prior.negated() for prior in self.priors])

    def allowed(self, prior: Prior, step: int, chosen: float) -> float:
        """Bound of the sum of ``chosen`` noise terms at a step: sqrt(xi_t |S_u|)."""
        xi = 2.0 * prior.noise * log(len(self.priors) * pi**2 * step**2 / (3.0 * self.delta))
        return sqrt(xi * chosen)


def pe_gp_ucb(
    prior: Prior,
    epsilons: Sequence[float],
    beta: Beta | float = LogBeta(),
    *,
    delta: float = 0.1,
) -> PriorElimination:
    """PE-GP-UCB (Ziomek et al. 2024): TV-GP-UCB with the most optimistic of several drift rates.

    Parameters
    ----------
    prior
        Prior of unknown epsilon; its time kernel must be Static or Forgetting.
    epsilons
        At least two different candidates.
    beta
        Width of the confidence intervals, for choosing and for elimination.
    delta
        Probability that noise alone eliminates a candidate.

    Notes
    -----
    The guarantee needs a beta under which the intervals of all candidates hold together, such as
    :class:`~heliotrope.acquisition.TVBeta` at a share of delta. A smaller beta tracks better and
    eliminates sooner.
    """
    if not isinstance(prior, Prior):
        raise InputError("a prior", repr(prior))
    candidates = Learn(epsilons)
    if not 1 < len(set(candidates.epsilons)) == len(candidates.epsilons):
        raise InputError("at least two epsilons, all different", str(candidates.epsilons))
    return PriorElimination(candidates.hypotheses(prior), as_beta(beta), delta)


class EliminationAgent:
    """An engine for each prior that is left, and a record of each prior's choices.

    A record is |S_u|, the sum of eta, and the sum of sqrt(beta) sigma. A result with its own noise
    adds sigma_i^2 / sigma^2 to |S_u|.
    """

    def __init__(self, policy: PriorElimination, domain: Domain) -> None:
        self._policy, self._domain, self._ucb = policy, domain, UCB(policy.beta)
        self._records = np.zeros((len(policy.priors), 3))
        self._told = 0
        self._open: dict[int, tuple[int, float, float]] = {}  # key: prior, mean, width
        self._take(list(range(len(policy.priors))))

    @property
    def left(self) -> list[Prior]:
        """The priors that are not eliminated."""
        return [self._policy.priors[u] for u in self._left]

    def choose(self, t: float, make_rng: RNGFactory) -> Places:
        return self.choose_among(all_choices(self._domain), t, make_rng)

    def choose_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        engines = self._ensemble.engines
        places = [self._ucb.choose(engine, choices, t, make_rng) for engine in engines]
        bounds = [self._bound(e, t, place) for e, place in zip(engines, places, strict=True)]
        return places[int(np.argmax(bounds))]

    def best(self, t: float, make_rng: RNGFactory) -> Places:
        return self.best_among(all_choices(self._domain), t, make_rng)

    def best_among(self, choices: Choices, t: float, make_rng: RNGFactory) -> Places:
        return UCB(0.0).choose(self._mixture(), choices, t, make_rng)

    def open(self, key: int, t: float, place: Places) -> None:
        """Begin an evaluation; it counts for the prior that is most optimistic there."""
        engines = self._ensemble.engines
        first = int(np.argmax([self._bound(engine, t, place) for engine in engines]))
        mean, variance = engines[first].predict(t, place, count_open=False)
        width = float(self._ucb.value(t, mean, np.sqrt(variance))[0] - mean[0])
        self._ensemble.take(lambda engine: engine.open(key, t, place))
        self._open[key] = self._left[first], float(mean[0]), width

    def tell(self, key: int, y: float, precision: Precision = USUAL) -> None:
        """Take a value, and test the sum of errors of the prior that chose."""
        self._ensemble.take(lambda engine: engine.tell(key, y, precision))
        u, mean, width = self._open.pop(key)
        self._told += 1
        sigma2 = self._policy.priors[u].noise
        self._records[u] += precision.noise(sigma2) / sigma2, y - mean, width
        chosen, errors, widths = self._records[u].tolist()
        allowed = self._policy.allowed(self._policy.priors[u], self._told, chosen)
        if abs(errors) > allowed + widths:
            self._eliminate(u)

    def cancel(self, key: int) -> None:
        self._ensemble.take(lambda engine: engine.cancel(key))
        del self._open[key]

    def predict(self, t: float, places: Places, *, count_open: bool) -> tuple[Array, Array]:
        """Mean and variance of f_t, mixed equally over the priors that are left."""
        return self._mixture().predict(t, places, count_open=count_open)

    def state(self) -> State:
        return {
            "told": np.array(self._told),
            "left": np.array(self._left, dtype=np.int64),
            "accounts": self._records.copy(),
            "keys": np.array(list(self._open), dtype=np.int64),
            "open": np.array(list(self._open.values()), dtype=float).reshape(-1, 3),
        } | under("engines/", self._ensemble.state())

    def restore(self, state: State) -> None:
        self._told = int(state["told"])
        self._take(state["left"].tolist())
        self._records = state["accounts"].copy()
        rows = zip(state["keys"].tolist(), state["open"].tolist(), strict=True)
        self._open = {key: (int(u), mean, width) for key, (u, mean, width) in rows}
        self._ensemble.restore(part(state, "engines/"))

    def _take(self, left: list[int]) -> None:
        self._left = left
        self._ensemble = Ensemble([build(prior, self._domain) for prior in self.left])

    def _eliminate(self, u: int) -> None:
        if u in self._left and len(self._left) > 1:
            self._ensemble.leave(self._left.index(u))
            self._left.remove(u)

    def _bound(self, engine: Engine, t: float, place: Places) -> float:
        mean, variance = engine.predict(t, place)
        return float(self._ucb.value(t, mean, np.sqrt(variance))[0])

    def _mixture(self) -> Mixture:
        share = 1.0 / len(self._left)
        return Mixture(np.full(len(self._left), share), self._ensemble.engines)
