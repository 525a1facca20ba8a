"""The methods that read and delete a study at a service: those of a study, by way of its calls."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from heliotrope.study import Study

_METHODS = (
    Study.delete,
    Study.events,
    Study.open_asks,
    Study.belief,
    Study.front,
    Study.summary,
    Study.track,
    Study.file,
    Study.export,
)


def reading() -> str:
    """The module with the methods of both clients."""
    return f'''"""The methods that read and delete a study at a service, with asyncio or without."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

from heliotrope.client.calls import StudyCalls
from heliotrope.client.transport import Calls
from heliotrope.storage.protocol import Event
from heliotrope.study.commands import Evaluation
from heliotrope.study.results import BeliefReport, Front, Summary, Track

T = TypeVar("T")


class ReadsAtService(ABC):
    """Reads and deletes a study, by way of its calls."""

    _calls: StudyCalls

    @abstractmethod
    def _run(self, calls: Calls[T]) -> T: ...

{_methods("", "")}

class AsyncReadsAtService(ABC):
    """The same for asyncio."""

    _calls: StudyCalls

    @abstractmethod
    async def _run(self, calls: Calls[T]) -> T: ...

{_methods("async ", "await ")}'''


def _methods(prefix: str, waiting: str) -> str:
    return "\n".join(_method(method, prefix, waiting) for method in _METHODS)


def _method(method: Callable[..., Any], prefix: str, waiting: str) -> str:
    name, described = method.__name__, signature(method)
    taken = [parameter for parameter in described.parameters.values() if parameter.name != "self"]
    passed = ", ".join(f"{parameter.name}={parameter.name}" for parameter in taken)
    done = "" if described.return_annotation == "None" else "return "
    return f'''    {prefix}def {name}({_declared(taken)}) -> {described.return_annotation}:
        """{method.__doc__}"""
        {done}{waiting}self._run(self._calls.{name}({passed}))
'''


def _declared(taken: list[Parameter]) -> str:
    declared, keywords = ["self"], False
    for parameter in taken:
        if parameter.kind is Parameter.KEYWORD_ONLY and not keywords:
            declared, keywords = [*declared, "*"], True
        default = "" if parameter.default is Parameter.empty else f" = {parameter.default!r}"
        declared.append(f"{parameter.name}: {parameter.annotation}{default}")
    return ", ".join(declared)
