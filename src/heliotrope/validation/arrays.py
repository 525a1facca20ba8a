"""Array types, and the checks of arrays."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heliotrope.errors import InputError
from heliotrope.validation import LARGEST, short_repr

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_BOOLEANS = (bool, np.bool_)


def real_number(value: object, name: str, advice: str = "") -> float:
    """Return a finite real number of any type, or raise an InputError."""
    number = _reals(value)
    if number is None:
        hint = "Use 1 or 0 instead." if isinstance(value, _BOOLEANS) else ""
        raise InputError(f"{name} to be a real number", short_repr(value), hint)
    if number.ndim:
        raise InputError(
            f"{name} to be one number",
            f"an array of shape {number.shape}",
            "Pass a scalar, for example value.item().",
        )
    if not np.isfinite(number):
        raise InputError(f"{name} to be finite", str(number), advice)
    if abs(number) > LARGEST:
        raise InputError(f"{name} to be below {LARGEST:g} in size", str(number))
    return float(number)


def as_array(values: ArrayLike, name: str, ndim: int) -> Array:
    """Return a read-only copy: a finite float array of ``ndim`` dimensions."""
    return _as_finite(_floats(values, name), name, ndim)


def _as_finite(array: Array, name: str, ndim: int) -> Array:
    """Make an array read-only, after a check of its dimensions and numbers."""
    if array.ndim != ndim:
        raise InputError(f"{name} to have {ndim} dimension(s)", f"shape {array.shape}")
    if not np.all(np.isfinite(array)):
        raise InputError(f"{name} to be finite", "NaN or infinity among the values")
    if np.abs(array).max(initial=0.0) > LARGEST:
        raise InputError(f"{name} to be below {LARGEST:g} in size", f"{np.abs(array).max():g}")
    array.flags.writeable = False
    return array


def as_table(values: ArrayLike, name: str) -> Array:
    """Return a new (n, m) array of real numbers, with NaN for missing or masked ones."""
    try:
        masked: np.ma.MaskedArray[Any, Any] = np.ma.array(values)
        real = _are_numbers(masked) and not _has_booleans(values)
        table = np.array(np.ma.filled(masked.astype(float), np.nan)) if real else None
    except (TypeError, ValueError, OverflowError):
        table = None
    if table is None:
        raise InputError(
            f"{name} to be a table of real numbers, with NaN for missing ones", short_repr(values)
        )
    if table.ndim != 2:
        raise InputError(f"{name} to have 2 dimension(s)", f"shape {table.shape}")
    return table


def as_vector(values: ArrayLike, name: str, length: int | None = None) -> Array:
    """Return a finite (length,) array; one number is repeated."""
    array = np.atleast_1d(_floats(values, name))
    if length is not None and array.shape not in ((1,), (length,)):
        raise InputError(f"{name} to be a number or {length} numbers", f"shape {array.shape}")
    if array.shape != (length,) and length is not None:
        array = np.repeat(array, length)
    return _as_finite(array, name, ndim=1)


def as_column(values: ArrayLike, name: str, length: int) -> Array:
    """Return a (length,) array with NaN for missing numbers; one number is repeated."""
    shape = np.asarray(values, dtype=object).shape
    if shape not in ((), (length,)):
        raise InputError(f"{name} to be a number or {length} numbers", f"shape {shape}")
    rows: Any = [values] if shape else [[values]]
    row = as_table(rows, name)[0]
    return np.broadcast_to(row, (length,))


def as_points(values: ArrayLike, name: str, dimension: int | None = None) -> Array:
    """Return an (n, d) array of points; a flat list of numbers is n points of one coordinate."""
    array = _floats(values, name)
    if array.ndim == 1 and dimension in (None, 1):
        array = array[:, None]
    points = _as_finite(array, name, ndim=2)
    if dimension is not None and points.shape[1] != dimension:
        raise InputError(f"{name} to have {dimension} column(s)", f"shape {points.shape}")
    return points


def as_indices(values: ArrayLike) -> Indices | None:
    """Return integers (n,) unchanged; None for anything else."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        return None
    whole = array.ndim == 1 and np.issubdtype(array.dtype, np.integer)
    return array if whole else None


def _floats(values: ArrayLike, name: str) -> Array:
    array = _reals(values)
    if array is None:
        raise InputError(f"{name} to be an array of real numbers", short_repr(values))
    return array


def _reals(values: object) -> Array | None:
    """Return a new float array, or None if any item is not a real number.

    numpy alone would accept strings, booleans, dates, None, masked values and complex numbers.
    """
    try:
        array = np.asarray(values)
        real = _are_numbers(array) and not _has_booleans(values)
        missing = np.ma.is_masked(values) or (array.dtype == object and None in array.flat)
        return np.array(array, dtype=float) if real and not missing else None
    except (TypeError, ValueError, OverflowError):
        return None


def _are_numbers(array: NDArray[Any]) -> bool:
    """Whether an array's items are real numbers, or objects that may be real numbers."""
    if array.dtype == object:
        return not any(isinstance(item, (str, bytes, *_BOOLEANS)) for item in array.flat)
    return array.dtype.kind in "iuf"


def _has_booleans(values: object) -> bool:
    """Whether True or False is among the values, which numpy would turn into 1 or 0."""
    if isinstance(values, (list, tuple)):
        return any(map(_has_booleans, values))
    return isinstance(values, _BOOLEANS)
