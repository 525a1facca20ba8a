"""The loop of ask, measure and tell around a function."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from inspect import signature
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from heliotrope.errors import ClosedSuggestionError, HeliotropeError, InputError
from heliotrope.precision import CHECKS
from heliotrope.study.commands import Evaluation
from heliotrope.study.results import setting
from heliotrope.validation import as_positive, as_whole, short_repr

if TYPE_CHECKING:
    from heliotrope.study.config import StudyConfig
    from heliotrope.study.everyday import EverydayStudy

Measured: TypeAlias = float | Mapping[str, Any]
"""What a function returns: a value, values by metric, or the arguments of ``tell`` by name."""
Callback: TypeAlias = Callable[["EverydayStudy", "Outcome"], object]
"""Called after each evaluation; it ends the run by raising StopIteration."""
Reason: TypeAlias = Literal["n", "timeout", "interrupted", "callback"]

_ARGUMENTS = {"value", *CHECKS}  # of tell
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """An ``evaluation`` of a run: what was ``measured``, or the ``error`` that cancelled it."""

    evaluation: Evaluation
    measured: Measured | None = None
    error: BaseException | None = None


@dataclass(frozen=True)
class Report:
    """How a run of ``optimize`` went: how many results were told, and why it ended.

    ``reason`` is "n", "timeout", "callback" or "interrupted".
    """

    told: int = 0
    cancelled: int = 0
    seconds: float = 0.0
    reason: Reason = "n"

    def __str__(self) -> str:
        why = {
            "n": "done",
            "timeout": "stopped at the timeout",
            "interrupted": "interrupted",
            "callback": "stopped by a callback",
        }
        counts = f"{self.told:,} told, {self.cancelled:,} cancelled"
        return f"{why[self.reason]} after {self.seconds:.1f} s: {counts}"


@dataclass(frozen=True)
class Run:
    """A run over a study: what to measure, when to stop, and whom to tell."""

    study: EverydayStudy
    function: Callable[..., Measured]
    n: int | None = None
    timeout: float | None = None
    callbacks: Sequence[Callback] = ()
    context: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None
    show: bool = True
    start: float = field(default_factory=monotonic)

    def __post_init__(self) -> None:
        _check_function(self.function, self.study.config.context is not None)
        if self.n is not None:
            as_whole(self.n, "n", least=0)
        if self.timeout is not None:
            as_positive(self.timeout, "timeout")

    def __call__(self) -> Report:
        """Evaluate until it is done, and say how it went."""
        report = Report()
        with _progress(self.n, self.show) as advance:
            try:
                for _ in range(self.n) if self.n is not None else count():
                    if self._is_late():
                        report = replace(report, reason="timeout")
                        break
                    outcome = self._evaluate()
                    report = _counted(report, outcome)
                    advance(outcome)
                    for callback in self.callbacks:
                        callback(self.study, outcome)
            except _Interrupted as error:
                report = replace(_counted(report, error.outcome), reason="interrupted")
            except KeyboardInterrupt:
                report = replace(report, reason="interrupted")
            except StopIteration:
                report = replace(report, reason="callback")
        report = replace(report, seconds=monotonic() - self.start)
        level = logging.INFO if report.reason in ("n", "callback") else logging.WARNING
        _log.log(level, "%s: %s", self.study.name, report)
        return report

    def _is_late(self) -> bool:
        return self.timeout is not None and monotonic() - self.start >= self.timeout

    def _evaluate(self) -> Outcome:
        """Ask, measure and tell; cancel what failed."""
        asked = self._ask()
        try:
            measured = self._measure(asked)
        except Exception as error:
            return self._cancelled(asked, error, "the function failed")
        except BaseException as error:
            with suppress(HeliotropeError):
                self.study.cancel(asked)
            if isinstance(error, KeyboardInterrupt):
                raise _Interrupted(Outcome(asked, error=error)) from None
            raise
        try:
            self._tell(asked, _told(measured, self.study.config), measured)
        except InputError as error:  # a NaN, or no number at all
            return self._cancelled(asked, error, "no result that can be told")
        except ClosedSuggestionError as error:  # someone else closed it meanwhile
            _log.warning("%s: %s: %s", self.study.name, asked.id, error)
            return Outcome(asked, measured, error)
        return Outcome(asked, measured)

    def _ask(self) -> Evaluation:
        """Ask; after an interrupt, cancel the evaluation that may have been opened."""
        context = self.context() if callable(self.context) else self.context
        key = self.study.surroundings.uid()
        try:
            return self.study.ask(context=context, key=key)
        except KeyboardInterrupt:
            with suppress(HeliotropeError):
                self.study.cancel(self.study.ask(context=context, key=key))
            raise

    def _tell(self, asked: Evaluation, told: Mapping[str, Any], measured: Measured) -> None:
        """Tell; repeat it after an interrupt, since the result is known."""
        try:
            self.study.tell(asked, **told)
        except KeyboardInterrupt:
            self.study.tell(asked, **told)
            raise _Interrupted(Outcome(asked, measured)) from None

    def _measure(self, asked: Evaluation) -> Measured:
        chosen = asked.option or asked.params
        if asked.context is None:
            return self.function(chosen)
        return self.function(chosen, asked.context)

    def _cancelled(self, asked: Evaluation, error: BaseException, why: str) -> Outcome:
        self.study.cancel(asked)
        words = " ".join(str(error).split())
        named = words if isinstance(error, InputError) else f"{type(error).__name__}: {words}"
        _log.warning(
            "%s: cancelled %s: %s (%s)", self.study.name, setting(asked.to_json()), why, named
        )
        _log.debug("the failure", exc_info=error)
        return Outcome(asked, error=error)


class _Interrupted(KeyboardInterrupt):
    """An interrupt during an evaluation, which was cancelled or told."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


def _check_function(function: object, has_contexts: bool) -> None:
    """Raise an InputError for a function that cannot be called with what it will get."""
    expected, count = "a function of the parameters", 1 + has_contexts
    if has_contexts:
        expected += " and the context"
    if not callable(function):
        raise InputError(expected, short_repr(function), "", "function")
    try:
        form = signature(function)
    except (TypeError, ValueError):  # of some functions in C
        return
    try:
        form.bind(*range(count))
    except TypeError as error:
        name = getattr(function, "__name__", type(function).__name__)
        advice = "It is called with one dictionary (or the name of an option)"
        advice += ", and the context." if has_contexts else "."
        raise InputError(expected, f"{name}{form}", advice, "function") from error


def as_callbacks(callbacks: object) -> Sequence[Callback]:
    """Return functions; one function counts as a list of one."""
    functions = [callbacks] if callable(callbacks) else callbacks
    listed: list[Any] = list(functions) if isinstance(functions, Iterable) else [functions]
    if not all(map(callable, listed)):
        expected = "functions of the study and an outcome"
        raise InputError(expected, short_repr(callbacks), "", "callbacks")
    return listed


def _told(measured: Measured, config: StudyConfig) -> Mapping[str, Any]:
    """The arguments of ``tell`` for what a function returned, which may be values by metric."""
    if measured is None:
        raise InputError("the function to return its result", "None")
    if not isinstance(measured, Mapping):
        return {"value": measured}
    names = ("value", *CHECKS)
    if config.goals is not None and measured.keys().isdisjoint(names):
        return {"value": measured}
    for name in measured:
        if name not in names:
            raise InputError(f"keys among {', '.join(names)}", short_repr(name))
    return measured


def _counted(report: Report, outcome: Outcome) -> Report:
    if outcome.error is None:
        return replace(report, told=report.told + 1)
    return replace(report, cancelled=report.cancelled + 1)


@contextmanager
def _progress(total: int | None, wanted: bool) -> Iterator[Callable[[Outcome], None]]:
    """A progress bar on a terminal or in a notebook; elsewhere nothing is shown."""
    from rich.console import Console  # slow to load
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not (wanted and (console.is_terminal or console.is_jupyter)):
        yield lambda _: None  # a disabled bar of earlier versions of rich prints an empty line
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=console) as bars:
        task = bars.add_task("", total=total, last="")

        def advance(outcome: Outcome) -> None:
            last = "cancelled" if outcome.error else f"latest {_short(outcome.measured)}"
            bars.update(task, advance=1, last=last)

        yield advance


def _short(measured: Measured | None) -> str:
    return f"{measured:.4g}" if isinstance(measured, (int, float)) else str(measured)[:40]
