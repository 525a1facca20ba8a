"""Clients of a simulation: each is a process with a clock, studies and estimates of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from faulty_store import FaultyStore
from heliotrope.policies.learner import Estimation, Update
from heliotrope.storage import Journal
from heliotrope.study import Evaluation, Study
from heliotrope.study.command_fields import Command
from heliotrope.study.estimators import Learn
from heliotrope.surroundings import Surroundings

Sent = tuple[str, Command[Any]]
"""The name of a study, and a command to it."""


class Estimates:
    """Estimates beside the studies of a client, each begun and written at its own step."""

    def __init__(self) -> None:
        self.waiting: dict[str, tuple[Callable[[], Estimation | None], Learn]] = {}
        self.finished: dict[str, tuple[Update, Learn]] = {}

    def consider(self, uid: str, due: Callable[[], Estimation | None], learn: Learn) -> None:
        if uid not in self.finished:
            self.waiting.setdefault(uid, (due, learn))

    def step(self) -> str:
        """Write what is finished, else begin what waits; return what was done."""
        if self.finished:
            uid, (update, learn) = self.finished.popitem()
            learn(update)
            return f"writes the model of {uid}"
        if not self.waiting:
            return "has nothing to estimate"
        uid, (due, learn) = self.waiting.popitem()
        estimation = due()
        if estimation is not None:
            self.finished[uid] = estimation.run_in_background(), learn
        return f"estimates the model of {uid}"


@dataclass
class Client:
    """A process with its own clock and its own objects of the studies."""

    name: str
    store: FaultyStore
    surroundings: Surroundings
    estimates_beside: bool
    studies: dict[str, Study] = field(default_factory=dict)
    mine: dict[str, list[Evaluation]] = field(default_factory=dict)  # to be told
    due: list[Sent] = field(default_factory=list)  # to be sent, or to be sent again

    def open(self, names: Sequence[str]) -> None:
        """Begin, or begin again after a crash of the process."""
        self.journal = Journal(self.store)
        self.estimates = Estimates() if self.estimates_beside else None
        for name in names:
            self.mine.setdefault(name, [])
            self.studies[name] = Study(
                self.store,
                name,
                journal=self.journal,
                estimators=self.estimates,
                surroundings=self.surroundings,
            )
