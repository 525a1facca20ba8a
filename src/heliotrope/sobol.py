"""The Sobol sequence in base 2, without SciPy's statistics, which are slow to load.

Symbols
-------
d      dimension             n   points
V      (d, 30) direction numbers, as integers of 30 bits
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from heliotrope.lazy import lazy_module
from heliotrope.validation import Array

stats = lazy_module("scipy.stats")

_BITS = 30
_DIRECTIONS = """
3 1, 7 1 3, 11 1 3 1, 13 1 1 1, 19 1 1 3 3, 25 1 3 5 13, 37 1 1 5 5 17, 41 1 1 5 5 5,
47 1 1 7 11 19, 55 1 1 5 1 1, 59 1 1 1 3 11, 61 1 3 5 5 31, 67 1 3 3 9 7 49,
91 1 1 1 15 21 21, 97 1 3 1 13 27 49, 103 1 1 1 15 7 5, 109 1 3 1 15 13 25, 115 1 1 5 5 19 61,
131 1 3 7 11 23 15 103, 137 1 3 7 13 13 15 69, 143 1 1 3 13 7 35 63, 145 1 3 5 9 1 25 53,
157 1 3 1 13 9 35 107, 167 1 3 1 5 27 61 31, 171 1 1 5 11 19 41 61, 185 1 3 5 3 3 13 69,
191 1 1 7 13 1 19 1, 193 1 3 7 5 13 19 59, 203 1 1 3 9 25 29 41, 211 1 3 5 13 23 1 55,
213 1 3 7 3 13 59 17
"""
"""For dimension 2, 3, ...: a primitive polynomial and the first direction numbers, from Joe and Kuo
(2008), new-joe-kuo-6."""


def sobol(dimension: int, count: int) -> Array:
    """Return the first points (n, d) of the unscrambled Sobol sequence in [0, 1)^d, from 0 on.

    They are those of ``scipy.stats.qmc.Sobol``, which is loaded for dimensions without a table.

    Examples
    --------
    >>> sobol(2, 4).tolist()
    [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]
    """
    if dimension > len(_polynomials()) + 1:
        return np.asarray(stats.qmc.Sobol(dimension, scramble=False).random(count))
    V = np.array([_directions(j) for j in range(dimension)])
    number = np.arange(count)
    gray, points = number ^ (number >> 1), np.zeros((count, dimension), dtype=np.int64)
    for bit in range(int(count).bit_length()):
        points ^= np.where((gray >> bit & 1)[:, None], V[:, bit], 0)
    return np.asarray(points * 2.0**-_BITS)


def _directions(j: int) -> NDArray[np.int64]:
    """The direction numbers of coordinate j, (30,), from its polynomial's recurrence.

    m_k = m_{k-s} xor the sum (xor) of 2^i a_i m_{k-i} for i = 1 to s, where s is the degree and
    a_i the coefficients of the polynomial without the first; V_k = m_k 2^(29 - k).
    """
    polynomial, *m = _polynomials()[j - 1] if j else (1, *[1] * _BITS)
    degree = polynomial.bit_length() - 1
    for k in range(len(m), _BITS):
        new = m[k - degree]
        for i in range(1, degree + 1):
            new ^= (polynomial >> (degree - i) & 1) * (m[k - i] << i)
        m.append(new)
    return np.array([m[k] << (_BITS - 1 - k) for k in range(_BITS)])


@cache
def _polynomials() -> list[list[int]]:
    return [[int(number) for number in row.split()] for row in _DIRECTIONS.split(",")]
