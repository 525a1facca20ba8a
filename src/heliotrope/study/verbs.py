"""The methods that change a study, here or at a service: each builds a command."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, Unpack, overload

from heliotrope.errors import HeliotropeError
from heliotrope.study.command_fields import Command
from heliotrope.study.commands import (
    Add,
    Applied,
    Ask,
    Cancel,
    Evaluation,
    Heartbeat,
    Hold,
    MetricNoise,
    Retime,
    Tell,
    Values,
    id_of,
)

T = TypeVar("T")


@contextmanager
def of_one_call() -> Iterator[None]:
    """Name a wrong field of the inner ask as the argument of the one call."""
    try:
        yield
    except HeliotropeError as error:
        error.field = error.field.removeprefix("ask.")
        raise


class StudyVerbs(ABC):
    """The changes of a study, by way of :meth:`do`."""

    @abstractmethod
    def do(self, command: Command[T]) -> T:
        """Carry out a command, and return its result when it is on disk."""

    @overload
    def ask(
        self,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
        lease: str | None = None,
        cost: None = None,
    ) -> Evaluation: ...
    @overload
    def ask(
        self,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
        lease: str | None = None,
        cost: float,
    ) -> Evaluation | Hold: ...
    def ask(
        self,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
        lease: str | None = None,
        cost: float | None = None,
    ) -> Evaluation | Hold:
        """Suggest what to measure now, in the ``context`` if the study has contexts.

        A ``key`` makes the call safe to repeat. While the evaluation is open, the same key returns
        it again, in its first context. Later the key is refused with a ClosedSuggestionError.

        With a ``lease`` such as "10min", the evaluation expires after that time without a result
        or a :meth:`heartbeat`, as if it was cancelled. A later result is still taken.

        Without ``t`` the time is that of the study's clock.

        ``cost`` is the price of a measurement: it weighs as much as a loss of this size in the
        objective over one unit of time. With it the answer may be a
        :class:`~heliotrope.study.commands.Hold`: no measurement before its ``until`` is worth that
        cost.
        """
        return self.do(Ask(t, context, key, lease=lease, cost=cost))

    def tell(
        self, ask: Evaluation | str, value: Values | None = None, **noise: Unpack[MetricNoise]
    ) -> None:
        """Tell the result of an evaluation, given itself or by its id.

        With several metrics, ``value`` has their values by name, and ``std`` the standard errors
        that are known, by name too. A metric may be missing.

        ``std`` is the standard error of the value, and ``n`` the number of repeats that it
        averages. Instead of a value, tell a proportion as ``successes`` and ``trials``, or a rate
        as ``count`` and ``exposure``. The same result can be told again; a different one is
        refused.
        """
        self.do(Tell.of(ask, value, **noise))

    def tell_and_ask(
        self,
        ask: Evaluation | str,
        value: Values | None = None,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
        lease: str | None = None,
        **noise: Unpack[MetricNoise],
    ) -> Evaluation:
        """Tell a result and ask for the next evaluation: both are done, or neither."""
        with of_one_call():
            following = Ask(t, context, key, lease=lease)
            suggested = self.do(Tell.of(ask, value, following, **noise))
        assert isinstance(suggested, Evaluation)
        return suggested

    def add(
        self,
        params: Mapping[str, Any] | str,
        value: Values | None = None,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
        **noise: Unpack[MetricNoise],
    ) -> Evaluation:
        """Add a result that was measured elsewhere, as if it had been asked for and told.

        ``params`` has a value for every parameter, or is the name of an option. The result has the
        forms of :meth:`tell`. A ``key`` makes the call safe to repeat: the same result is added
        once, and another result under the same key is refused with a ClosedSuggestionError.
        """
        return self.do(Add.of(params, value, t=t, context=context, key=key, **noise))

    def applied(self, params: Mapping[str, Any] | str) -> None:
        """Say that the system runs with these parameters, or this option, now.

        Moves are measured from there, until the next result or the next call.
        """
        self.do(Applied.of(params))

    def cancel(self, ask: Evaluation | str) -> None:
        """Cancel an evaluation that failed, given itself or by its id; repeating is accepted.

        The next asks avoid its place, for longer the more often evaluations fail there.
        """
        self.do(Cancel(id_of(ask)))

    def heartbeat(self, ask: Evaluation | str, lease: str | None = None) -> Evaluation:
        """Prolong the lease of an open evaluation by its length, or by a new one, from now on."""
        return self.do(Heartbeat(id_of(ask), lease))

    def retime(self, t: float | None = None) -> None:
        """Move all later times back to ``t`` (default: now), after a clock was ahead."""
        self.do(Retime(t))
