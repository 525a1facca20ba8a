"""The precision of a single result, and the forms in which it is told.

A result is one of

* a value, with the usual noise;
* a value with ``std``, its known standard error;
* a value with ``n``, the mean of n repeats: the usual noise variance divided by n;
* ``successes`` of ``trials``: the proportion y = s / n. Its variance is p (1 - p) / (n - 1), or
  p (1 - p) for one trial, where p = (s + 4) / (n + 8) adds four successes and four failures;
* ``count`` in ``exposure``: the rate y = c / E. Its variance is (c + 4) / E^2.

The last two are Gaussian approximations. Their values are the observed ones, without shrinkage:
the prior already shrinks them, and a second shrinkage would accumulate over many results. The
added counts affect the variance only, so that no result has a variance of 0. The interval
y +- 1.96 std covers the true proportion with a probability of at least 0.907 (for 5 or more trials)
and the true rate with at least 0.946.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isnan, nan
from typing import TYPE_CHECKING, Any, SupportsFloat, TypedDict, Unpack

from heliotrope.errors import InputError, located
from heliotrope.validation import LARGEST, Checked, as_number, as_positive, as_whole, checked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_ADDED = 4.0  # to successes, failures and counts: 1.96^2, rounded
_RANGE = (1e-45, 1e45)  # of standard errors and exposures, whose squares must not overflow
_LARGEST_RESULT = 1e45  # variances, which may exceed its square by far, must not overflow
_MOST_REPEATS = 2**53  # a history holds them as floating-point numbers
_EXPECTED = "a value (alone, with std or with n), successes and trials, or count and exposure"


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
        """The noise variance of the result; ``usual`` is that of a usual result."""
        return usual / self.repeats if self.variance is None else self.variance

    @property
    def row(self) -> tuple[float, float]:
        """The variance (NaN if unknown) and the repeats, as one row of an array."""
        return nan if self.variance is None else self.variance, float(self.repeats)

    @classmethod
    def from_row(cls, row: Sequence[float]) -> Precision:
        """Return the precision of a :attr:`row`."""
        variance, repeats = row
        if isnan(variance):
            return USUAL if repeats == 1.0 else cls(repeats=int(repeats))
        return cls(variance, int(repeats))


USUAL = Precision()
"""The precision of a usual result."""


class Noise(TypedDict, total=False):
    """The keyword arguments of ``tell`` that describe the noise."""

    std: float | None
    n: int | None
    successes: int | None
    trials: int | None
    count: int | None
    exposure: float | None


class NoiseColumns(TypedDict, total=False):
    """The same for several results: an array with NaN where nothing is given, or one number."""

    std: ArrayLike | None
    n: ArrayLike | None
    successes: ArrayLike | None
    trials: ArrayLike | None
    count: ArrayLike | None
    exposure: ArrayLike | None


def _as_size(value: object, name: str) -> float:
    number, (least, most) = as_positive(value, name), _RANGE
    if not least <= number <= most:
        raise InputError(f"{name} from {least:g} to {most:g}", repr(value), "Use another unit.")
    return number


def _as_repeats(value: object) -> int:
    number = as_whole(value, "n", least=1)
    if number > _MOST_REPEATS:
        raise InputError(f"n of at most {_MOST_REPEATS:,}", f"{number:,}")
    return number


CHECKS: Mapping[str, Callable[[object], Any]] = {
    "std": partial(_as_size, name="std"),
    "n": _as_repeats,
    "successes": partial(as_whole, name="successes", least=0),
    "trials": partial(as_whole, name="trials", least=1),
    "count": partial(as_whole, name="count", least=0),
    "exposure": partial(_as_size, name="exposure"),
}
"""The check of each keyword argument; it returns the checked number."""


def value_and_precision(
    value: SupportsFloat | None = None, **noise: Unpack[Noise]
) -> tuple[float, Precision]:
    """Return the value of a result and its precision, given in one of the forms above.

    Examples
    --------
    >>> value_and_precision(3.5, n=4)
    (3.5, Precision(variance=None, repeats=4))
    >>> value_and_precision(successes=3, trials=6)
    (0.5, Precision(variance=0.05, repeats=1))
    """
    advice = "Cancel the suggestion if its measurement failed."
    y = None if value is None else as_number(value, "y", advice)
    numbers = {"value": y, **_checked(noise)}
    match {name: number for name, number in numbers.items() if number is not None}:
        case {"value": y, **rest} if not rest:
            return y, USUAL
        case {"value": y, "std": std, **rest} if not rest:
            return y, Precision(std * std)
        case {"value": y, "n": n, **rest} if not rest:
            return y, Precision(repeats=n)
        case {"successes": s, "trials": n, **rest} if not rest:
            return _proportion(s, n)
        case {"count": c, "exposure": E, **rest} if not rest:
            return _rate(c, E)
        case other:
            raise InputError(_EXPECTED, ", ".join(other) or "nothing", "Give one of these forms.")


def values_and_precisions(
    length: int, values: Sequence[float] | None, **columns: Unpack[NoiseColumns]
) -> list[tuple[float, Precision]]:
    """Return the values and precisions of several results. An n of 1 counts as not given."""
    from heliotrope.validation import as_column  # numpy is slow to load, and clients have no arrays

    check_names(columns)
    lists = {
        name: as_column(column, name, length).tolist()  # type: ignore[arg-type]
        for name, column in columns.items()
        if column is not None
    }
    results = []
    for i in range(length):
        row = {name: _given(name, column[i]) for name, column in lists.items()}
        with located(f"row {i}"):
            results.append(value_and_precision(None if values is None else values[i], **row))  # type: ignore[arg-type]
    return results


def _checked(noise: Noise) -> dict[str, Any]:
    check_names(noise)
    numbers = {name: value for name, value in noise.items() if value is not None}
    return {name: CHECKS[name](value) for name, value in numbers.items()}


def check_names(noise: Mapping[str, object]) -> None:
    """Raise the TypeError of an argument that ``tell`` does not have."""
    for name in noise:
        if name not in CHECKS:
            raise TypeError(f"tell() got an unexpected keyword argument {name!r}")


def _given(name: str, number: float) -> float | None:
    return None if isnan(number) or (name == "n" and number == 1.0) else number


def _proportion(s: int, n: int) -> tuple[float, Precision]:
    if s > n:
        raise InputError(f"at most as many successes as trials ({n})", f"{s}", field="successes")
    p = (s + _ADDED) / (n + 2.0 * _ADDED)
    return s / n, Precision(p * (1.0 - p) / max(n - 1, 1))


def _rate(count: int, exposure: float) -> tuple[float, Precision]:
    rate, variance = count / exposure, (count + _ADDED) / exposure**2
    if max(rate, variance) > LARGEST:
        got = f"{count:g} / {exposure:g}"
        raise InputError(f"a rate with a variance below {LARGEST:g}", got, field="count")
    return rate, Precision(variance)


def check_size(y: float) -> float:
    """Return a result whose variance cannot overflow, or raise an InputError."""
    if abs(y) > _LARGEST_RESULT:
        raise InputError(
            f"values below {_LARGEST_RESULT:g} in size",
            f"a size of {abs(y):g}",  # the sign is turned where low values are good
            "Tell values in a larger unit; cancel the suggestion if its measurement failed.",
        )
    return y
