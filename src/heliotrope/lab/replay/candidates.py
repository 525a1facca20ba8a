"""Candidates: the paper's policies, ``auto``, TV-GP-UCB that learns its drift, a fixed place."""

from collections.abc import Mapping

from heliotrope.policies.registry import (
    AUTO,
    BASELINE,
    PARAMETRIC,
    REGISTRY,
    PolicyEntry,
)

LEARNING, FIXED, RANDOM_CHOICE = "learning", "fixed", "random"
"""The default policy that learns its drift, the best place of the past, and a random choice."""

ENTRIES: Mapping[str, PolicyEntry] = {
    RANDOM_CHOICE if entry is BASELINE else entry.name: entry
    for entry in REGISTRY.values()
    if entry is AUTO or entry.in_paper
} | {LEARNING: PARAMETRIC}
"""The registry's entry of each candidate; the best place of the past has none."""

CANDIDATES: Mapping[str, str] = {
    PARAMETRIC.name: PARAMETRIC.label,
    LEARNING: f"{PARAMETRIC.label}, learning",
    **{
        name: ENTRIES[name].label
        for name in ENTRIES
        if name not in (RANDOM_CHOICE, AUTO.name, LEARNING)
    },
    FIXED: "best of the past",
    RANDOM_CHOICE: BASELINE.label,
    AUTO.name: AUTO.label,
}
"""Labels by name, in the order of the saved trials."""

STOCHASTIC = tuple(name for name, entry in ENTRIES.items() if entry.stochastic)
"""Candidates whose choices depend on the seed: several seeds are played."""

TUNABLE = tuple(name for name, entry in ENTRIES.items() if entry.has_prior and name != LEARNING)
"""Candidates whose beta is tuned on the first part of the log."""
