"""``auto``: the policy to start with, TV-GP-UCB with a learned model and a constant beta."""

from dataclasses import dataclass

from heliotrope.acquisition import LogBeta, MeasurementUCB
from heliotrope.domains import Box, Contextual, Domain, Finite
from heliotrope.errors import InputError
from heliotrope.estimation import Model
from heliotrope.policies.adaptive import Adaptive
from heliotrope.policies.gp import GPPolicy
from heliotrope.policies.parameters import SLOWEST
from heliotrope.policies.protocol import Policy
from heliotrope.serialization.codec import register
from heliotrope.spaces import Options, SearchSpace
from heliotrope.validation import short_repr

__all__ = ["Tracking", "auto", "lasting_beta"]

_EARLIEST = 10.0  # step at which the paper's beta is taken, at the least
_SHARE_OF_MEMORY = 0.1  # of the steps that the memory reaches back


def auto(domain: Domain | Contextual | SearchSpace | Options) -> Adaptive:
    """The policy to start with: TV-GP-UCB that learns drift rate, length scale and noise.

    Examples
    --------
    >>> import heliotrope as ht
    >>> opt = ht.Optimizer(domain := ht.grid(20, 20), ht.auto(domain), seed=0)
    >>> opt.tell(opt.ask(), 3.5)
    """
    if not isinstance(domain, (Finite, Box, Contextual, SearchSpace, Options)):
        expected = "a Finite domain, a Box, a Contextual one, a SearchSpace or Options"
        raise InputError(expected, short_repr(domain))
    return Adaptive(Tracking())


@register
@dataclass(frozen=True)
class Tracking:
    """TV-GP-UCB for a world that never settles: the width of its bound does not grow with time.

    The bound counts what one measurement can show. The slower the drift, the wider it is.
    """

    def policy(self, model: Model, epsilon: float, domain: Domain) -> Policy:
        prior = model.prior(epsilon)
        beta = lasting_beta(model.per_result(epsilon))
        return GPPolicy(prior, MeasurementUCB(beta, prior.noise))


def lasting_beta(rate: float) -> float:
    """The paper's beta at a tenth of the steps that the memory reaches back, at least at step 10.

    ``rate`` is the drift between two results.

    Examples
    --------
    >>> [round(lasting_beta(rate), 2) for rate in (0.1, 0.01, 0.001, 0.0)]
    [2.95, 2.95, 4.79, 8.48]
    """
    return LogBeta()(max(_EARLIEST, _SHARE_OF_MEMORY / max(rate, SLOWEST)))
