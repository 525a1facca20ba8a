"""The methods that create a study, here and at a service."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import getdoc
from textwrap import indent

from heliotrope.study.creation import NewStudy
from surfaces.arguments import Argument, arguments, docstring, passed, signature

_EXIST_OK = Argument(
    "exist_ok",
    "bool",
    "Whether to continue an existing study of this name. If it has another configuration, a "
    "StudyExistsError says what differs.",
    "exist_ok",
    "False",
    keyword=True,
)
_STORE = Argument(
    "store",
    "Store | str",
    "A store or its URL: memory:, sqlite:///file.db, postgresql://...",
    "store",
    "DEFAULT_STORE",
    keyword=True,
)
_NOW = Argument("now", "Now", "The wall clock; tests replace it.", "now", "REAL.now", keyword=True)


def creating() -> str:
    """The module with the methods that create studies, here and at a service."""
    return f'''"""The methods that create a study, here or at a service."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from heliotrope.storage.protocol import DEFAULT_STORE
from heliotrope.surroundings import REAL

if TYPE_CHECKING:
    from heliotrope.directions import Direction
    from heliotrope.live.rules import Aim
    from heliotrope.spaces import Parameter, SearchSpace, SpaceLike
    from heliotrope.storage import Store
    from heliotrope.study.clocks import Clock
    from heliotrope.study.creation import Choice, NewStudy
    from heliotrope.surroundings import Now

S = TypeVar("S")


class CreatesInStore(ABC):
    """Creates studies in a store."""

    @classmethod
    @abstractmethod
    def _create(cls, new: NewStudy, store: Store | str, exist_ok: bool, now: Now) -> Self: ...

    @classmethod
{indent(_create("cls", [_STORE, _EXIST_OK, _NOW], "Self"), "    ")}

class CreatesAtService(ABC, Generic[S]):
    """Creates studies at a service."""

    @abstractmethod
    def _create(self, new: NewStudy, exist_ok: bool) -> S: ...

{indent(_create("self", [_EXIST_OK], "S"), "    ")}

class AsyncCreatesAtService(ABC, Generic[S]):
    """Creates studies at a service, for asyncio."""

    @abstractmethod
    async def _create(self, new: NewStudy, exist_ok: bool) -> S: ...

{indent(_create("self", [_EXIST_OK], "S", is_async=True), "    ")}'''


def _create(owner: str, more: Sequence[Argument], result: str, *, is_async: bool = False) -> str:
    """The method ``create``: ``more`` are its arguments that do not describe the study."""
    described = arguments(NewStudy)
    taken, settings = [*described, *more], passed(more)
    body = f"""from heliotrope.study.creation import NewStudy  # slow to load

new = NewStudy({passed(described)})
return {"await " if is_async else ""}{owner}._create(new, {settings})
"""
    first = signature("create", taken, result, is_async, owner)
    return f"{first}\n" + indent(f"{docstring(getdoc(NewStudy) or '', taken)}\n{body}\n", "    ")
