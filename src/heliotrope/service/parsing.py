"""Strict parsing of JSON: it rejects all JSON that two parsers could read differently."""

import json
from collections.abc import Sequence
from math import isfinite
from typing import Any, NoReturn

from heliotrope.service.errors import RequestError

_SURROGATE = rb"\ud"  # start of an escaped surrogate, which is not text without its other half


def loads(body: bytes, field: str = "body") -> Any:
    """Parse JSON in UTF-8. Duplicate keys, NaN and numbers beyond the floats are errors.

    Examples
    --------
    >>> loads(b'{"value": 1.5}')
    {'value': 1.5}
    """
    try:
        parsed = _decoder.decode(body.decode())
        if _SURROGATE in body.lower():
            json.dumps(parsed, ensure_ascii=False).encode()
    except RequestError as error:
        error.field = field
        raise
    except UnicodeError:
        raise _error("text in UTF-8", "other bytes", field) from None
    except RecursionError:
        raise _error("JSON", "brackets nested too deeply", field) from None
    except json.JSONDecodeError as error:
        what = error.msg[0].lower() + error.msg[1:]
        raise _error("JSON", f"an error at character {error.pos} ({what})", field) from None
    except ValueError:  # Python limits the digits of an integer
        raise _error("numbers below 1e100", "a larger one", field) from None
    return parsed


def _error(expected: str, got: str, field: str = "") -> RequestError:
    return RequestError(422, "json", expected, got, field=field)


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    parsed = dict(pairs)
    if len(parsed) < len(pairs):
        raise _error("unique keys in an object", "a duplicate key")
    return parsed


def _constant(name: str) -> NoReturn:
    raise _error("finite numbers", name)


def _float(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise _error("finite numbers", text[:40])
    return number


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_float)
