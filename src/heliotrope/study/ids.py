"""Ids of evaluations: the start of the study's uid, a random mark, and a number.

The numbers of a study that was restored from a copy begin again where the copy ends. The marks
tell the asks since then from those before: a worker that still has one of the latter cannot tell
its result as that of another point.
"""

from __future__ import annotations

import re
from array import array

import numpy as np

from heliotrope.errors import FormatError, UnknownSuggestionError
from heliotrope.validation import Indices

_PREFIX = 12  # digits of the uid
_FORM = re.compile(r"[0-9a-f]{0,12}-([0-9a-f]{8})-([0-9]{1,15})")


class Ids:
    """The ids of all evaluations of a study, by number."""

    def __init__(self, uid: str) -> None:
        self._prefix = uid[:_PREFIX]
        self._marks = array("I")

    def next(self, mark: int) -> str:
        """The id of the next evaluation, not yet added, with a random mark."""
        return self._text(len(self._marks), mark)

    def add(self, id: str) -> None:
        """Add the id of the next evaluation, as it is in the log; FormatError."""
        mark, number = self._parts(id)
        if number != len(self._marks) or id != self._text(number, mark):
            raise FormatError(f"ask number {len(self._marks)} of this study next", repr(id)[:60])
        self._marks.append(mark)

    def of(self, number: int) -> str:
        """The id of an evaluation."""
        return self._text(number, self._marks[number])

    def number_of(self, id: str) -> int:
        """The number of an evaluation; UnknownSuggestionError."""
        _, number = self._parts(id)
        if not 0 <= number < len(self._marks) or id != self.of(number):
            raise UnknownSuggestionError(
                "the id of an ask of this study",
                repr(id)[:60],
                "Pass what ask returned; ask again if the study was restored from a copy since.",
                "id",
            )
        return number

    def to_array(self) -> Indices:
        return np.array(self._marks, dtype=np.int64)

    def restore(self, marks: Indices, asked: int) -> None:
        """Take over the array of a snapshot."""
        if len(marks) != asked:
            raise FormatError(f"marks of {asked} asks", str(len(marks)))
        self._marks = array("I", marks.tolist())

    def _text(self, number: int, mark: int) -> str:
        return f"{self._prefix}-{mark:08x}-{number}"

    def _parts(self, id: object) -> tuple[int, int]:
        """Mark and number; the number of anything else is -1."""
        match = _FORM.fullmatch(id) if isinstance(id, str) else None
        if match is None:
            return 0, -1
        return int(match[1], 16), int(match[2])
