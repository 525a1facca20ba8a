"""Docstrings as Markdown: a role such as :class:`~heliotrope.Study` becomes code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":[a-z]+:`(~?)([\w.]+)`")


class Roles(griffe.Extension):
    """Replaces roles by the names that they show."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called for every documented object."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(_as_code, obj.docstring.value)


def _as_code(role: re.Match[str]) -> str:
    name = role[2].rpartition(".")[2] if role[1] else role[2]
    return f"`{name}`"
