"""Answers of a study in words, for people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

_WORTH_SAYING = 0.05  # of a deviation


def facts(summary: Mapping[str, Any]) -> dict[str, str]:
    """A summary as a few named facts; those that do not apply are empty."""
    best = summary["best"]
    value = "" if best is None else f"{best['mean']:.4g} ± {best['std']:.2g}"
    return {
        "created": when(summary["created"]),
        "time now": f"{summary['t']:.6g}",
        "direction": str(summary["setup"]["direction"]),
        "told": f"{summary['told']:,} of {summary['asked']:,} asked",
        "context": listing(summary.get("context") or {}),
        "best now": "unknown" if best is None else place(best),
        "its value": value,
        "confidence": "" if best is None else confidence(best),
        "drift": summary["drift"]["words"],
        "accuracy": accuracy(summary.get("accuracy")),
        "warning": summary.get("warning") or "",
        "open": "\n".join(f"{ask['id']}: {place(ask)}{_given(ask)}" for ask in summary["open"]),
    }


def accuracy(errors: Mapping[str, float] | None) -> str:
    """How far the belief is from the exact one, if the error is large enough to mention."""
    if errors is None or max(errors.values()) < _WORTH_SAYING:
        return ""
    return f"deviations to about {errors['std']:.0%}, means to {errors['mean']:.0%} of a deviation"


def confidence(best: Mapping[str, Any]) -> str:
    """How sure it is that nothing is better."""
    if best["probability"] is None:
        return "unknown: too few results"
    rival = f"better by {best['margin']:.2g}" if best["margin"] else "better"
    return f"{best['probability']:.0%} that nothing is {rival}"


def place(chosen: Mapping[str, Any]) -> str:
    """An option, or parameters and their values."""
    return str(chosen["option"]) if "option" in chosen else listing(chosen["params"])


def listing(values: Mapping[str, Any]) -> str:
    """Names and values, with four digits."""
    return ", ".join(f"{name} {_number(value)}" for name, value in values.items())


def when(seconds: float) -> str:
    """A time since 1970 as local date and time."""
    return datetime.fromtimestamp(seconds).isoformat(" ", "seconds")


def _given(ask: Mapping[str, Any]) -> str:
    return f" (at {listing(ask['context'])})" if "context" in ask else ""


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
