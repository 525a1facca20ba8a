"""Engine options; by default the prior and the domain determine the engine."""

from dataclasses import dataclass, field

from heliotrope.domains import Box, Domain, Finite
from heliotrope.errors import InputError
from heliotrope.posterior.box import BUDGET, BoxEngine
from heliotrope.posterior.dense import DenseEngine
from heliotrope.posterior.finite import FiniteEngine
from heliotrope.posterior.protocol import Engine
from heliotrope.posterior.reference import ReferenceEngine
from heliotrope.posterior.spacetime import SpaceTime
from heliotrope.priors import EXACT_MEASUREMENTS, LEAST_NOISE, LEAST_NOISE_IN_A_BOX, Prior
from heliotrope.serialization.codec import register
from heliotrope.validation import Checked, as_positive, as_whole, checked

_ROUNDING = 1e-12  # of the sum of the terms' variances


@register
@dataclass(frozen=True)
class FiniteOptions(Checked):
    """The recursion over a Finite domain; see :class:`~heliotrope.posterior.FiniteEngine`."""

    tolerance: float | None = field(default=None, metadata=checked(as_positive))

    def build(self, prior: Prior, domain: Domain) -> Engine:
        if not isinstance(domain, Finite):
            raise InputError("a Finite domain for the finite engine", "a Box")
        return FiniteEngine(prior, domain, self.tolerance)


def _as_budget(value: int | None, name: str) -> int | None:
    return None if value is None else as_whole(value, name, least=2)


@register
@dataclass(frozen=True)
class BoxOptions(Checked):
    """The dictionary tracker over a Box; see :class:`~heliotrope.posterior.BoxEngine`.

    With the budget None it drops nothing: it is exact, and grows with every new point.
    """

    budget: int | None = field(default=BUDGET, metadata=checked(_as_budget))

    def build(self, prior: Prior, domain: Domain) -> Engine:
        if not isinstance(domain, Box):
            raise InputError("a Box for the box engine", "a Finite domain")
        return BoxEngine(prior, domain, self.budget)


@register
@dataclass(frozen=True)
class DenseOptions(Checked):
    """The growing Cholesky factor; see :class:`~heliotrope.posterior.DenseEngine`."""

    window: int | None = field(default=None, metadata=checked(as_whole, least=1))

    def build(self, prior: Prior, domain: Domain) -> Engine:
        return DenseEngine(prior, domain, self.window)


@register
@dataclass(frozen=True)
class ReferenceOptions:
    """The formulas of the paper; see :class:`~heliotrope.posterior.ReferenceEngine`."""

    def build(self, prior: Prior, domain: Domain) -> Engine:
        return ReferenceEngine(prior, domain)


EngineOptions = FiniteOptions | BoxOptions | DenseOptions | ReferenceOptions

_BY_NAME: dict[str, EngineOptions] = {
    "finite": FiniteOptions(),
    "box": BoxOptions(),
    "box-exact": BoxOptions(budget=None),
    "dense": DenseOptions(),
    "reference": ReferenceOptions(),
}


def engine_options(engine: str | EngineOptions | None) -> EngineOptions | None:
    """Return engine options, given as an object or by name."""
    if engine is None or isinstance(engine, EngineOptions):
        return engine
    if not isinstance(engine, str) or engine not in _BY_NAME:
        raise InputError(f"one of the engines {', '.join(_BY_NAME)}, or options", repr(engine))
    return _BY_NAME[engine]


def build(prior: Prior, domain: Domain, options: EngineOptions | None = None) -> Engine:
    """Build the given engine, or by default the cheapest for the prior and domain.

    Over a Box that is the engine with a budget of points; "box-exact" is the one without.
    """
    if options is None and not prior.is_markov:
        options = DenseOptions()
    elif options is None:
        options = FiniteOptions() if isinstance(domain, Finite) else BoxOptions()
    least = LEAST_NOISE_IN_A_BOX if isinstance(options, BoxOptions) else LEAST_NOISE
    check_noise(prior, domain, least)
    return options.build(prior, domain)


def check_noise(prior: Prior, domain: Domain, share: float = LEAST_NOISE) -> None:
    """Raise an error if the noise variance is below a share of the variance of f."""
    least = SpaceTime(prior, domain).least_noise(share)
    if prior.noise < (1.0 - _ROUNDING) * least:
        raise InputError(
            f"a noise variance of at least {least:g}, for numerical stability",
            f"{prior.noise:g}",
            EXACT_MEASUREMENTS,
        )
