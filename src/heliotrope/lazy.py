"""Names of a package that are imported on first use, because they are slow to load."""

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module


def lazy_names(
    package: str, names: Mapping[str, Collection[str]], submodules: Collection[str] = ()
) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package; ``names`` are given by their submodule."""
    homes = {name: home for home, found in names.items() for name in found}

    def load(name: str) -> object:
        if name in submodules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
