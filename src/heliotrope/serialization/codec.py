"""Values to JSON and back, without pickle.

An optimizer consists of registered dataclasses, scikit-learn kernels, arrays and plain values.
Arrays are stored separately under a name, and the JSON tree refers to them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heliotrope.errors import FormatError, InputError

JsonTree = Any  # what the json module reads and writes
Arrays = dict[str, NDArray[Any]]

_REGISTERED: dict[str, type] = {}


def register(cls: Any = None, *, former: str = "") -> Any:
    """Let a dataclass be written and read under its own name, and read under a former one."""
    if cls is None:
        return partial(register, former=former)
    _REGISTERED.update(dict.fromkeys(filter(None, (former, cls.__name__)), cls))
    return cls


def encode(value: object, arrays: Arrays) -> JsonTree:
    """Convert a value to a JSON tree, and put its arrays into ``arrays``.

    Examples
    --------
    >>> encode((1, None, np.zeros(2)), arrays := {})
    [1, None, {'$array': 'array0'}]
    >>> arrays
    {'array0': array([0., 0.])}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, (list, tuple)):
        return [encode(item, arrays) for item in value]
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"$array": name}
    if _REGISTERED.get(type(value).__name__) is type(value):
        return {"$type": type(value).__name__, **_encode_fields(value, arrays)}
    if _sklearn_kernel(type(value).__name__) is type(value):
        return {"$kernel": type(value).__name__, **_encode_params(value, arrays)}
    raise InputError(
        "a policy that consists of this package's classes and scikit-learn kernels",
        f"a {type(value).__name__}",
        "A custom class cannot be written to a file unless it is registered.",
    )


def decode(tree: JsonTree, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Convert a JSON tree of :func:`encode` back to the value."""
    if isinstance(tree, list):
        return tuple(decode(item, arrays) for item in tree)
    if not isinstance(tree, dict):
        return tree
    fields = {key: item for key, item in tree.items() if not key.startswith("$")}
    if "$float" in tree:
        return float(tree["$float"])
    if "$array" in tree:
        return arrays[tree["$array"]]
    if "$type" in tree:
        return _named(_REGISTERED.get(tree["$type"]), tree["$type"])(
            **{key: decode(item, arrays) for key, item in fields.items()}
        )
    return _named(_sklearn_kernel(tree.get("$kernel", "")), tree.get("$kernel"))(
        **{key: decode(item, arrays) for key, item in fields.items()}
    )


def _encode_fields(value: Any, arrays: Arrays) -> JsonTree:
    fields = dataclasses.fields(value)
    return {f.name: encode(getattr(value, f.name), arrays) for f in fields if f.init}


def _encode_params(kernel: Any, arrays: Arrays) -> JsonTree:
    params = kernel.get_params(deep=False)
    return {name: encode(item, arrays) for name, item in params.items()}


def _sklearn_kernel(name: str) -> type | None:
    from sklearn.gaussian_process import kernels  # slow to load, and not needed by clients

    found = getattr(kernels, name, None)
    is_kernel = isinstance(found, type) and issubclass(found, kernels.Kernel)
    return found if is_kernel else None


def _named(cls: type | None, name: object) -> type:
    if cls is None:
        raise FormatError("a class that this version knows", repr(name), "Update heliotrope.")
    return cls
