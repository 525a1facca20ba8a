"""Compare two traces of one setup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from math import inf, isclose
from typing import Any, Literal, TypeAlias

ROUNDING = 1e-9
"""Relative difference of numbers, and of beliefs as a share of the values' deviation."""

SEARCHED = 1e-5
"""Difference of coordinates at which the search for a flat maximum may stop after a rounding."""

Trace: TypeAlias = Mapping[str, Any]
Verdict: TypeAlias = Literal[
    "equal", "equal up to rounding", "tie", "search", "different", "failed"
]


@dataclass(frozen=True)
class Comparison:
    """How two traces differ.

    Attributes
    ----------
    step
        The first ask that differs by more than rounding; None if there is none.
    earlier, largest
        The largest difference of two beliefs, before that ask and in all: a share of the deviation
        of the told values.
    detail
        The first asks that differ, or the errors.
    """

    verdict: Verdict
    step: int | None = None
    earlier: float = 0.0
    largest: float = 0.0
    detail: str = ""

    @property
    def same(self) -> bool:
        return self.verdict in ("equal", "equal up to rounding")

    @property
    def words(self) -> str:
        if self.verdict in ("equal", "failed"):
            return f"{self.verdict}{self.detail}"
        beliefs = f"beliefs differ by up to {self.largest:.1e}"
        if self.step is None:
            return f"{self.verdict}: equal asks{self.detail}, {beliefs}"
        first = f"from ask {self.step} on{self.detail}"
        return f"{self.verdict} {first}; {beliefs}, before it by {self.earlier:.1e}"


def compare(old: Trace, new: Trace) -> Comparison:
    """Compare the trace of the other code with that of this code."""
    if "failed" in old or "failed" in new:
        return _failed(old, new)
    if old == new:
        return Comparison("equal")
    step, rows = _first_difference(old["asks"], new["asks"]), list(_beliefs(old, new))
    if step is None:
        return _of_equal_asks(old, new, max(size for _, size in rows))
    largest = max(size for _, size in rows)
    earlier = max((size for at, size in rows if at < step), default=0.0)
    one, other = old["asks"][step], new["asks"][step]
    verdict: Verdict = "different"
    if earlier <= ROUNDING and close(_choice(one), _choice(other), SEARCHED, SEARCHED):
        verdict = "search"
    elif earlier <= ROUNDING and _tied(one, other, new["spread"]):
        verdict = "tie"
    return Comparison(verdict, step, earlier, largest, f" ({_shown(one)}; now {_shown(other)})")


def _of_equal_asks(old: Trace, new: Trace, largest: float) -> Comparison:
    """Compare two traces whose asks are equal up to rounding."""
    looks = [
        (one["step"], one["best"], other["best"])
        for one, other in zip(old["looks"], new["looks"], strict=True)
        if not close([one["best"], one["error"]], [other["best"], other["error"]])
    ]
    detail = ", the best after ask {}: {}; now {}".format(*looks[0]) if looks else ""
    is_rounding = largest <= ROUNDING and not looks
    verdict: Verdict = "equal up to rounding" if is_rounding else "different"
    return Comparison(verdict, None, largest, largest, detail)


def close(
    one: Any, other: Any, relative: float = ROUNDING, absolute: float = 1e-3 * ROUNDING
) -> bool:
    """Whether two JSON trees are equal except for such differences of their numbers."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        same = one.keys() == other.keys()
        return same and all(close(one[key], other[key], relative, absolute) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(close(*pair, relative, absolute) for pair in pairs)
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=relative, abs_tol=absolute)
    return bool(one == other)


def _failed(old: Trace, new: Trace) -> Comparison:
    traces = {"before": old, "now": new}
    words = [f"{when}: {one['failed']}" for when, one in traces.items() if "failed" in one]
    return Comparison("failed", detail=f" ({'; '.join(words)})")


def _first_difference(old: list[Any], new: list[Any]) -> int | None:
    """The step of the first ask that differs; what was believed of its place does not count."""
    for step, (one, other) in enumerate(zip(old, new, strict=True)):
        if not close(_choice(one), _choice(other)):
            return step
    return None


def _choice(ask: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in ask.items() if name != "expected"}


def _tied(one: Mapping[str, Any], other: Mapping[str, Any], spread: Mapping[str, float]) -> bool:
    """Whether both places were believed alike, so that their order was left to rounding."""
    if not (one.get("expected") and other.get("expected")) or one["t"] != other["t"]:
        return False
    sizes = _differences(one["expected"], other["expected"], spread)
    return one["reason"] == other["reason"] and max(sizes, default=inf) <= ROUNDING


def _beliefs(old: Trace, new: Trace) -> Iterator[tuple[int, float]]:
    """The step and the difference of each two beliefs."""
    for one, other in zip(old["looks"], new["looks"], strict=True):
        sizes = _differences(one["belief"], other["belief"], new["spread"])
        yield one["step"], max(sizes, default=0.0)


def _differences(one: Any, other: Any, spread: Mapping[str, float]) -> Iterator[float]:
    """Differences of the numbers of each metric, as shares of its told values' deviation."""
    for metric in dict.fromkeys([*one, *other]):
        numbers = zip_longest(one.get(metric, []), other.get(metric, []))
        for a, b in numbers:
            yield inf if a is None or b is None else abs(a - b) / (spread[metric] or 1.0)


def _shown(ask: Mapping[str, Any]) -> str:
    parts = [ask.get("error") or ask["choice"], ask.get("reason")]
    return ", ".join(str(part) for part in parts if part is not None)
