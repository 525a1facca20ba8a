"""Reproducible randomness: each generator depends only on a seed and a counter."""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from heliotrope.errors import InputError
from heliotrope.validation import as_whole

RNGFactory: TypeAlias = Callable[[], np.random.Generator]

_ZEROS = np.zeros(4, dtype=np.uint64)


class RNGStream:
    """One generator per counter, which depends only on the seed and the counter.

    Most asks need no generator, so :meth:`at` returns a factory. The counter-based Philox is
    re-keyed in place, which is much cheaper than seeding a new generator. Therefore finish with
    one generator before making the next.

    Examples
    --------
    >>> stream = RNGStream(seed=7)
    >>> first = stream.at(1)().random()
    >>> bool(stream.at(2)().random() != first), bool(stream.at(1)().random() == first)
    (True, True)
    """

    def __init__(self, seed: int) -> None:
        self.seed = as_whole(seed, "seed", least=0)
        if self.seed >= 2**63:
            raise InputError("a seed below 2**63", str(seed))
        self._bits = np.random.Philox(key=[0, 0])
        self._generator = np.random.Generator(self._bits)

    def at(self, counter: int, purpose: int = 0) -> RNGFactory:
        """Return a factory of the generator of a counter; purposes have independent generators."""
        return partial(self._generator_at, counter, purpose)

    def _generator_at(self, counter: int, purpose: int) -> np.random.Generator:
        self._bits.state = {
            "bit_generator": "Philox",
            "state": {
                "counter": np.array([0, 0, 0, purpose], dtype=np.uint64),
                "key": np.array([self.seed, counter], dtype=np.uint64),
            },
            "buffer": _ZEROS,
            "buffer_pos": len(_ZEROS),
            "has_uint32": 0,
            "uinteger": 0,
        }
        return self._generator
