"""How precise a single result is, where that is known."""

from dataclasses import dataclass, field

from heliotrope.serialization.codec import register
from heliotrope.validation import Checked, as_positive, as_whole, checked


@register
@dataclass(frozen=True)
class Precision(Checked):
    """The noise of one result: its own ``variance``, or the number of ``repeats`` that it averages.

    Without a variance, the noise is the usual one divided by the number of repeats.

    Examples
    --------
    >>> Precision(repeats=4).noise(usual=0.1)
    0.025
    >>> Precision(variance=0.5).noise(usual=0.1)
    0.5
    """

    variance: float | None = field(default=None, metadata=checked(as_positive))
    repeats: int = field(default=1, metadata=checked(as_whole, least=1))

    def noise(self, usual: float) -> float:
        """The noise variance of the result, where that of a usual result is given."""
        return usual / self.repeats if self.variance is None else self.variance


USUAL = Precision()
"""The precision of a usual result."""
