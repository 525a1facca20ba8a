"""The bytes of an object and all that it holds."""

import gc
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

_SHARED = (type, ModuleType, BuiltinFunctionType)  # the program holds them anyway


def measured_bytes(root: object) -> int:
    """The bytes of an object and of all that it refers to, each counted once.

    Only the program is left out: modules, classes and the globals of functions. A view counts with
    the whole array that it is a view of. 10,000 objects take about 5 ms.
    """
    total, seen, left = 0, set[int](), [root]
    while left:
        value = left.pop()
        if id(value) in seen or isinstance(value, _SHARED):
            continue
        seen.add(id(value))
        total += sys.getsizeof(value)  # of an array: with its numbers, unless it is a view
        left.extend(_parts(value))
    return total


def _parts(value: object) -> list[Any]:
    if isinstance(value, FunctionType):
        return [value.__closure__, value.__defaults__, value.__kwdefaults__]
    if isinstance(value, np.ndarray):
        return [value.base, *gc.get_referents(value)]
    return gc.get_referents(value)
