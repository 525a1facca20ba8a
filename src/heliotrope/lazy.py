"""Names and modules that are imported on first use, because they are slow to load."""

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, names: Mapping[str, Collection[str]], submodules: Collection[str] = ()
) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package; ``names`` are given by their submodule."""
    homes = {name: home for home, in_home in names.items() for name in in_home}

    def load(name: str) -> object:
        if name in submodules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


class _LazyModule:
    """A module that is imported when a name of it is first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> object:
        value = getattr(import_module(self._module), name)
        setattr(self, name, value)
        return value


def lazy_module(module: str) -> Any:
    """Return a module that is imported on first use.

    Examples
    --------
    >>> special = lazy_module("scipy.special")
    >>> special.expit(0.0)
    np.float64(0.5)
    """
    return _LazyModule(module)
