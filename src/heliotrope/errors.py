"""The package's exceptions: each states what was expected, what it got, and what to do."""

import re
from collections.abc import Iterator
from contextlib import contextmanager


class HeliotropeError(Exception):
    """Base class of all errors that this package raises on purpose.

    ``field`` locates the error in a larger input, as in ``space.fan.low``; it may be empty.
    ``code`` names the kind of error for other programs, as in ``unknown_study``.
    """

    code = "error"

    def __init_subclass__(cls) -> None:
        cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__.removesuffix("Error")).lower()

    def __init__(self, expected: str, got: str, advice: str = "", field: str = "") -> None:
        self.expected, self.got, self.advice, self.field = expected, got, advice, field
        super().__init__(expected, got, advice, field)

    def __str__(self) -> str:
        where = f"{self.field}: " if self.field else ""
        advice = f" {self.advice}" if self.advice else ""
        return f"{where}expected {self.expected}; got {self.got}.{advice}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"  # as in the results of a batch

    def to_json(self) -> dict[str, str]:
        """The error as an answer to another program: ``code``, message and parts."""
        parts = ("code", "field", "expected", "got", "advice")
        return {"message": str(self), **{name: getattr(self, name) for name in parts}}


class InputError(HeliotropeError, ValueError):
    """A value has the wrong type, shape or range."""


class KernelError(InputError):
    """A kernel is not positive definite, or cannot be used here."""


class TimeError(InputError):
    """A time precedes the latest one, or is far ahead of the clock."""


class UnknownSuggestionError(HeliotropeError, LookupError):
    """The optimizer never made this suggestion."""


class ClosedSuggestionError(HeliotropeError):
    """The suggestion already has a result, or was cancelled."""


class NoBeliefError(HeliotropeError):
    """The policy has no posterior to query."""


class FormatError(HeliotropeError):
    """A file is truncated, of another format, or of a newer version."""


class MissingFileError(HeliotropeError, FileNotFoundError):
    """A file to read, or the folder of a file to write, does not exist."""


class StoreError(HeliotropeError):
    """A store cannot be reached, read or written."""


class DamagedError(StoreError):
    """A log was changed after it was written; its first ``sound`` events are intact."""

    def __init__(self, *fields: str, sound: int = 0) -> None:
        super().__init__(*fields)
        self.sound = sound


class StudyExistsError(HeliotropeError):
    """A study with this name already exists."""


class UnknownStudyError(HeliotropeError, LookupError):
    """The store has no such study."""


class ConflictError(HeliotropeError):
    """Another writer has appended events since the study was read."""


class ServiceError(HeliotropeError):
    """A service cannot be reached, fails, requires a token, or sends an invalid answer."""


@contextmanager
def requires_extra(name: str) -> Iterator[None]:
    """Turn a failed import in the block into an error that names the extra to install."""
    try:
        yield
    except ImportError as error:
        advice = f"Run: pip install 'heliotrope[{name}]'"
        raise InputError(f"the packages of the extra {name}", str(error), advice) from error


@contextmanager
def located(field: str) -> Iterator[None]:
    """Prepend a field to the location of errors that the block raises."""
    try:
        yield
    except HeliotropeError as error:
        error.field = ".".join(part for part in (field, error.field) if part)
        raise


@contextmanager
def relocated(old: str, new: str) -> Iterator[None]:
    """Move the location of errors that the block raises from one field to another."""
    try:
        yield
    except HeliotropeError as error:
        if error.field == old or error.field.startswith(f"{old}."):
            error.field = new + error.field.removeprefix(old)
        raise
