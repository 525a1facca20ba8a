"""The package's own exceptions: each says what was expected, what came, and what to do."""


class HeliotropeError(Exception):
    """Root of every error that this package raises on purpose."""

    def __init__(self, expected: str, got: str, advice: str = "") -> None:
        self.expected = expected
        self.got = got
        self.advice = advice
        super().__init__(f"expected {expected}; got {got}." + (f" {advice}" if advice else ""))


class InputError(HeliotropeError, ValueError):
    """A value of the wrong kind, shape or range."""


class KernelError(InputError):
    """A kernel that is not positive definite, or not usable where it was put."""


class TimeError(InputError):
    """Time that runs backwards."""


class UnknownSuggestionError(HeliotropeError, LookupError):
    """A suggestion that this optimizer never made."""


class ClosedSuggestionError(HeliotropeError):
    """A suggestion that has its result already, or was cancelled."""


class NoBeliefError(HeliotropeError):
    """A belief asked of a policy that holds none."""


class FormatError(HeliotropeError):
    """A file that is truncated, foreign, or of a newer version."""
