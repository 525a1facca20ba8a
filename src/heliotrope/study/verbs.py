"""The methods that change a study, here or at a service: each builds a command."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

from heliotrope.errors import HeliotropeError
from heliotrope.study.commands import Add, Ask, Cancel, Command, Evaluation, Tell, as_choice, id_of

T = TypeVar("T")


class StudyVerbs(ABC):
    """Ask, tell, add and cancel, by way of :meth:`do`."""

    @abstractmethod
    def do(self, command: Command[T]) -> T:
        """Carry out a command, and return its result when it is on disk."""

    def ask(
        self,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Evaluation:
        """Suggest what to measure now, in the ``context`` if the study has contexts.

        A ``key`` makes the call safe to repeat. While the evaluation is open, the same key returns
        it again, in its first context. Later the key is refused with a ClosedSuggestionError.
        """
        return self.do(Ask(t, context, key))

    def tell(self, ask: Evaluation | str, value: float) -> None:
        """Tell the result of an evaluation, given itself or by its id.

        Telling the same value again is accepted, another value is refused.
        """
        self.do(Tell(id_of(ask), value))

    def tell_and_ask(
        self,
        ask: Evaluation | str,
        value: float,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Evaluation:
        """Tell a result and ask for the next evaluation: both are done, or neither."""
        try:
            suggested = self.do(Tell(id_of(ask), value, Ask(t, context, key)))
        except HeliotropeError as error:
            error.field = error.field.removeprefix("ask.")
            raise
        assert suggested is not None
        return suggested

    def add(
        self,
        params: Mapping[str, Any] | str,
        value: float,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Evaluation:
        """Add a result that was measured elsewhere, as if it had been asked for and told.

        ``params`` has a value for every parameter, or is the name of an option. A ``key`` makes
        the call safe to repeat: the same result is added once, and another result under the same
        key is refused with a ClosedSuggestionError.
        """
        return self.do(Add(value, t=t, context=context, key=key, **as_choice(params)))

    def cancel(self, ask: Evaluation | str) -> None:
        """Cancel an evaluation that failed, given itself or by its id; repeating is accepted."""
        self.do(Cancel(id_of(ask)))
