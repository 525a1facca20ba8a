"""The package's own exceptions: each says what was expected, what came, and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager


class HeliotropeError(Exception):
    """Root of every error that this package raises on purpose.

    ``field`` says where in a larger input the fault lies, as in ``space.fan.low``; it may be empty.
    """

    def __init__(self, expected: str, got: str, advice: str = "", field: str = "") -> None:
        self.expected = expected
        self.got = got
        self.advice = advice
        self.field = field
        super().__init__(expected, got, advice, field)

    def __str__(self) -> str:
        where = f" in {self.field}" if self.field else ""
        advice = f" {self.advice}" if self.advice else ""
        return f"expected {self.expected}; got {self.got}{where}.{advice}"


class InputError(HeliotropeError, ValueError):
    """A value of the wrong kind, shape or range."""


class KernelError(InputError):
    """A kernel that is not positive definite, or not usable where it was put."""


class TimeError(InputError):
    """Time that runs backwards, or far ahead of the clock."""


class UnknownSuggestionError(HeliotropeError, LookupError):
    """A suggestion that this optimizer never made."""


class ClosedSuggestionError(HeliotropeError):
    """A suggestion that has its result already, or was cancelled."""


class NoBeliefError(HeliotropeError):
    """A belief asked of a policy that holds none."""


class FormatError(HeliotropeError):
    """A file that is truncated, foreign, or of a newer version."""


class StoreError(HeliotropeError):
    """A store that cannot be reached, read or written."""


class DamagedError(StoreError):
    """A log that is not what was written: its first ``sound`` events can still be read."""

    def __init__(
        self, expected: str, got: str, advice: str = "", field: str = "", sound: int = 0
    ) -> None:
        super().__init__(expected, got, advice, field)
        self.sound = sound


class StudyExistsError(HeliotropeError):
    """A new study under a name that is taken."""


class UnknownStudyError(HeliotropeError, LookupError):
    """A study that the store does not hold, or no longer."""


class ConflictError(HeliotropeError):
    """Events meant to follow one that is not the last any more: somebody else wrote."""


class ServiceError(HeliotropeError):
    """A service that cannot be reached, fails, wants a token, or answers what makes no sense."""


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
    """Say of an error that the block raises in which field it lies, from the outside inwards."""
    try:
        yield
    except HeliotropeError as error:
        error.field = ".".join(part for part in (field, error.field) if part)
        raise


@contextmanager
def relocated(old: str, new: str) -> Iterator[None]:
    """Say of an error that the block raises in one field that it lies in another."""
    try:
        yield
    except HeliotropeError as error:
        if error.field == old or error.field.startswith(f"{old}."):
            error.field = new + error.field.removeprefix(old)
        raise
