"""The kinds of parameters and their JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from heliotrope.errors import InputError
from heliotrope.spaces.checks import as_object, same_keys
from heliotrope.spaces.choices import Boolean, Categorical
from heliotrope.spaces.ranges import Integer, Real
from heliotrope.validation import short_repr

Parameter: TypeAlias = Real | Integer | Categorical | Boolean


def parameter_from_json(data: object) -> Parameter:
    """Read a parameter; an InputError names the field at fault.

    Examples
    --------
    >>> parameter_from_json({"type": "integer", "low": 1, "high": 8})
    Integer(low=1, high=8, log=False, step=1)
    """
    form = as_object(data, "a parameter's type and fields")
    kind = form.get("type")
    if not isinstance(kind, str) or kind not in _READERS:
        got = short_repr(kind) if "type" in form else "none"
        raise InputError(f"type to be one of {', '.join(_READERS)}", got, field="type")
    return _READERS[kind](form)


def _real(form: Mapping[Any, Any]) -> Real:
    same_keys(form, ("type", "low", "high"), ("scale",))
    return Real(form["low"], form["high"], _is_log(form))


def _integer(form: Mapping[Any, Any]) -> Integer:
    same_keys(form, ("type", "low", "high"), ("scale", "step"))
    return Integer(form["low"], form["high"], _is_log(form), form.get("step", 1))


def _categorical(form: Mapping[Any, Any]) -> Categorical:
    same_keys(form, ("type", "choices"))
    return Categorical(form["choices"])


def _boolean(form: Mapping[Any, Any]) -> Boolean:
    same_keys(form, ("type",))
    return Boolean()


_READERS: dict[str, Callable[[Mapping[Any, Any]], Parameter]] = {
    "real": _real,
    "integer": _integer,
    "categorical": _categorical,
    "boolean": _boolean,
}


def _is_log(form: Mapping[Any, Any]) -> bool:
    scale = form.get("scale", "linear")
    if not isinstance(scale, str) or scale not in ("linear", "log"):
        raise InputError("scale to be linear or log", short_repr(scale), field="scale")
    return scale == "log"
