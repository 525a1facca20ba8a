"""What stands in for a model, if the numerics fail while it is fitted, built or used.

The last model that works stays in use, the failure is logged and counted, and the next estimate
tries again. This holds for the errors in ``NUMERICAL_FAILURES``; any other passes through.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from heliotrope.errors import KernelError

__all__ = ["NUMERICAL_FAILURES", "count", "first_that_works", "raises", "trouble"]

T = TypeVar("T")
NUMERICAL_FAILURES = (KernelError, np.linalg.LinAlgError, ArithmeticError)
count = Counter[str]()
"""Number of fallbacks of this process, by what failed."""
raises = os.environ.get("HELIOTROPE_FALLBACKS") == "raise"
"""Whether failures are raised instead, as in tests that expect none."""
_log = logging.getLogger(__name__)


def first_that_works(what: str, *attempts: Callable[[], T]) -> tuple[T, str]:
    """Return the result of the first attempt that works, and why those before it failed.

    The reason is "" if the first attempt works. If all fail, the last failure is raised.

    Examples
    --------
    >>> first_that_works("the estimate", lambda: 1.0, lambda: 2.0)
    (1.0, '')
    """
    troubles = ""
    for attempt in attempts[:-1]:
        try:
            return attempt(), troubles
        except NUMERICAL_FAILURES as error:
            troubles = trouble(what, error)
    return attempts[-1](), troubles


def trouble(what: str, error: Exception) -> str:
    """Log and count a failure, and return it in words."""
    if raises:
        raise error
    cause = f"{what} failed ({type(error).__name__}: {error})"
    count[what] += 1
    _log.warning("%s", cause)
    return f"{cause}; the last model that works stays in use"
