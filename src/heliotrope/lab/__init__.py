"""The lab: environments, plain worlds, trials, the paper's figures and theory, league, replay.

Its modules need the extra ``lab`` and load on first use.
"""

from importlib import import_module
from types import ModuleType

__all__ = [
    "demo",
    "environments",
    "league",
    "logs",
    "plain",
    "replay",
    "reproduction",
    "theory",
    "trials",
]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
