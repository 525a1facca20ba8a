"""Values to JSON and back, without pickle, and states of objects as arrays by name.

An optimizer consists of registered dataclasses, scikit-learn kernels, arrays and plain values.
Arrays are stored separately under a name, and the JSON tree refers to them. In the state of an
object, the arrays of its parts have a prefix.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from heliotrope.errors import FormatError, InputError

ITS_WRITER = "Open it with the version of heliotrope that wrote it."
"""What to do about saved data of another version."""
JsonTree = Any  # what the json module reads and writes
Arrays = dict[str, NDArray[Any]]
State = Arrays

T = TypeVar("T")

_REGISTERED: dict[str, type] = {}


def register(cls: type[T]) -> type[T]:
    """Let a dataclass be written and read under its name."""
    _REGISTERED[cls.__name__] = cls
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
    kind, fields = _taken_apart(value)
    encoded = {key: encode(item, arrays) for key, item in fields.items()}
    return {kind: type(value).__name__} | encoded


def decode(tree: JsonTree, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Convert a JSON tree of :func:`encode` back to the value."""
    if isinstance(tree, list):
        return tuple(decode(item, arrays) for item in tree)
    if not isinstance(tree, dict):
        return tree
    if "$float" in tree:
        return float(tree["$float"])
    if "$array" in tree:
        return arrays[tree["$array"]]
    name: str = tree.get("$type") or tree.get("$kernel", "")
    cls = _REGISTERED.get(name) if "$type" in tree else _sklearn_kernel(name)
    if cls is None and "$import" in tree:
        module = tree["$import"]
        raise FormatError(f"the class {name} of {module}", "none", f"Import {module} before.")
    if cls is None:
        raise FormatError("a class of this version", repr(name), ITS_WRITER)
    fields = {key: item for key, item in tree.items() if not key.startswith("$")}
    return cls(**{key: decode(item, arrays) for key, item in fields.items()})


def under(prefix: str, state: Mapping[str, NDArray[Any]]) -> State:
    """Return a part's state with a prefix before each name.

    Examples
    --------
    >>> list(under("engine/", {"mean": np.zeros(2)}))
    ['engine/mean']
    """
    return {f"{prefix}{name}": array for name, array in state.items()}


def part(state: State, prefix: str) -> State:
    """Return the entries whose names begin with a prefix, and remove it."""
    return {name.removeprefix(prefix): a for name, a in state.items() if name.startswith(prefix)}


def copied(state: State) -> State:
    """Return a deep copy of a state."""
    return {name: np.array(array) for name, array in state.items()}


class Stored:
    """An object whose state is that of the attributes that ``_stored`` names.

    They are arrays, numbers, lists of numbers, dictionaries from whole numbers to numbers or
    arrays, or parts with a state of their own.
    """

    _stored: tuple[str, ...] = ()

    def state(self) -> State:
        """Return the state as arrays, which must not be modified."""
        state: State = {}
        for name in self._stored:
            key, value = name.removeprefix("_"), getattr(self, name)
            if hasattr(value, "restore"):
                state |= under(f"{key}/", value.state())
            elif isinstance(value, dict):
                state[f"{key}/keys"] = np.array(list(value), dtype=np.int64)
                state[f"{key}/values"] = np.array(list(value.values()))
            else:
                state[key] = np.asarray(value)
        return state

    def restore(self, state: State) -> None:
        """Take over a saved :meth:`state`."""
        for name in self._stored:
            key, value = name.removeprefix("_"), getattr(self, name)
            inner = part(state, f"{key}/")
            if hasattr(value, "restore"):
                value.restore(inner)
            elif isinstance(value, dict):
                values = inner["values"].tolist() if inner["values"].ndim == 1 else inner["values"]
                setattr(self, name, dict(zip(inner["keys"].tolist(), values, strict=True)))
            elif isinstance(value, np.ndarray):
                setattr(self, name, state[key].copy())
            else:
                setattr(self, name, type(value)(state[key].tolist()))


def _taken_apart(value: Any) -> tuple[str, dict[str, Any]]:
    """Return the kind and the fields of a registered dataclass or a scikit-learn kernel."""
    cls, name = type(value), type(value).__name__
    if _REGISTERED.get(name) is cls:
        own = {} if cls.__module__.startswith("heliotrope.") else {"$import": cls.__module__}
        names = [field.name for field in dataclasses.fields(value) if field.init]
        return "$type", own | {name: getattr(value, name) for name in names}
    if cls.__module__.startswith("sklearn.") and _sklearn_kernel(name) is cls:
        return "$kernel", value.get_params(deep=False)
    raise InputError(
        "a policy that consists of this package's classes and scikit-learn kernels",
        f"a {name}",
        "A custom class cannot be written to a file unless it is registered.",
    )


def _sklearn_kernel(name: str) -> type | None:
    from sklearn.gaussian_process import kernels  # slow to load, and not needed by clients

    kernel = getattr(kernels, name, None)
    is_kernel = isinstance(kernel, type) and issubclass(kernel, kernels.Kernel)
    return kernel if is_kernel else None
