"""The candidates of a replay: the paper's policies, ``auto``, and two of its own."""

from __future__ import annotations

from collections.abc import Mapping

from heliotrope.policies.registry import AUTO, BASELINE, DEFAULT, PRIOR, REGISTRY, PolicyEntry

LEARNING, FIXED, RANDOM = "learning", "fixed", "random"
"""The default policy that learns its drift, the best place of the past, and a random choice."""

ENTRIES: Mapping[str, PolicyEntry] = {
    RANDOM if entry is BASELINE else entry.name: entry
    for entry in REGISTRY.values()
    if entry is AUTO or entry.in_paper
} | {LEARNING: DEFAULT}
"""The registry's entry of each candidate; the best place of the past has none."""

CANDIDATES: Mapping[str, str] = {
    DEFAULT.name: DEFAULT.label,
    LEARNING: f"{DEFAULT.label}, learning",
    **{name: ENTRIES[name].label for name in ENTRIES if name not in (RANDOM, AUTO.name, LEARNING)},
    FIXED: "best of the past",
    RANDOM: BASELINE.label,
    AUTO.name: AUTO.label,
}
"""Labels by name, in the order of the saved trials."""

STOCHASTIC = tuple(name for name, entry in ENTRIES.items() if entry.stochastic)
"""Candidates whose choices depend on the seed: several seeds are played."""

TUNABLE = tuple(
    name for name, entry in ENTRIES.items() if entry.basis is PRIOR and name != LEARNING
)
"""Candidates whose beta is tuned on the first part of the log."""
